"""Verdicts in words."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headway import record
from headway.analyses import acceptance, envelope
from headway.analyses.acceptance import Asked, Judged
from headway.analyses.envelope import Envelope
from headway.catalog import Catalog
from headway.figures import verdicts
from headway.model import Load, LoadKind, Objective, Selection
from headway.stats.verdicts import Verdict
from libraries import make_run, offered, open_runs, replicates

STALL = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)
TTFT = Objective(ttft_ms=200, attainment=0.9)


def judge(opened: Catalog, objective: Objective = TTFT) -> list[Judged]:
    runs = [run for name in sorted(opened.studies) for run in opened.of_study(name)]
    return acceptance.judge(opened, Selection(tuple(run.run_id for run in runs)), objective)


def envelopes(
    opened: Catalog, asked: Asked = Asked.RUN, objective: Objective = TTFT
) -> list[Envelope]:
    return envelope.envelopes(opened, judge(opened, objective), asked)


def said(opened: Catalog, asked: Asked = Asked.RUN, objective: Objective = TTFT) -> str:
    return verdicts.sentence(envelopes(opened, asked, objective), asked)


def sweep(counts: Sequence[int], **changes: Any) -> list[record.Run]:
    """Return one run of 20 requests at 1, 2, 3 … req/s for each count of requests that met."""
    prefix = str(changes.get("policy", "r"))
    return [
        make_run(
            offered(20, n_met, jitter_us=rps),
            f"{prefix}{rps}",
            load=Load(LoadKind.OPEN, declared_rps=rps),
            **changes,
        )
        for rps, n_met in enumerate(counts, start=1)
    ]


# The sentence.


def test_the_sample_study_in_one_sentence(study: Catalog) -> None:
    assert said(study, Asked.WORKLOAD, STALL) == (
        "Repeatable on this workload: sarathi carries up to 4 req/s; it misses at 6 req/s "
        "(467 of 500). faster_transformer, orca and vllm miss at every load tested (1–8 req/s). "
        "vllm, stopped at 60 s misses at every load tested (8 req/s)."
    )


def test_the_claim_is_named_and_never_blurred(study: Catalog) -> None:
    traffic = said(study, Asked.TRAFFIC, STALL)
    assert traffic.startswith("For traffic like this: sarathi carries up to 2 req/s")
    assert "not enough evidence at 3, 4 and 6 req/s" in traffic
    assert said(study, Asked.RUN, STALL).startswith("In this run: ")


def test_where_nothing_is_acceptable_it_says_exactly_that(tmp_path: Path) -> None:
    assert said(open_runs(tmp_path, *sweep((17, 3)))) == (
        "In this run: No load tested is acceptable. policy misses at every load tested (1–2 req/s)."
    )


def test_a_lack_of_evidence_is_not_a_rejection(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *sweep((20, 20)))
    assert said(opened, Asked.WORKLOAD) == (
        "Repeatable on this workload: No load tested can be accepted. "
        "policy has not enough evidence at any load tested (1–2 req/s)."
    )


def test_several_configurations_have_a_plural(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *sweep((20,), policy="a"), *sweep((20,), policy="b"))
    assert "a and b have not enough evidence at any load" in said(opened, Asked.WORKLOAD)


def test_an_unlimited_load_may_be_all_that_is_accepted(tmp_path: Path) -> None:
    run = make_run(offered(20, 20), load=Load(LoadKind.UNLIMITED))
    assert said(open_runs(tmp_path, run)) == "In this run: policy at unlimited load: accepted."


def test_closed_loops_are_counted_in_users(tmp_path: Path) -> None:
    run = make_run(offered(20, 20), load=Load(LoadKind.CLOSED, concurrency=8))
    assert "carries up to 8 concurrent" in said(open_runs(tmp_path, run))


def test_no_run_is_no_verdict() -> None:
    assert verdicts.sentence([], Asked.RUN) == "No run was judged."


def test_policies_come_with_their_verdict(study: Catalog) -> None:
    found = verdicts.policy_sentences(envelopes(study, Asked.WORKLOAD, STALL))
    assert found[0][1] is Verdict.ACCEPTED
    assert {verdict for _, verdict in found[1:]} == {Verdict.REJECTED}


# Reasons, and what would settle a doubt.


def test_reasons_begin_with_the_count(tmp_path: Path) -> None:
    (judged,) = judge(open_runs(tmp_path, make_run(offered(20, 17))))
    first, *rest = verdicts.reasons(judged, TTFT)
    assert first == "17 of 20 offered requests met the objective (85%; target 90%)"
    assert any(reason.startswith("repeatable on this workload: ") for reason in rest)
    assert any(reason.startswith("for traffic like this: ") for reason in rest)


@pytest.mark.parametrize("asked", list(Asked))
def test_a_decided_verdict_needs_nothing(study: Catalog, asked: Asked) -> None:
    for judged in judge(study, STALL):
        settled = verdicts.settles(judged, asked, STALL)
        assert (settled is None) == (judged.verdict(asked) is not Verdict.UNDECIDED)


def test_a_single_run_needs_two_more_replicates(tmp_path: Path) -> None:
    (judged,) = judge(open_runs(tmp_path, make_run(offered(20, 20), harness="vllm-bench")))
    settled = verdicts.settles(judged, Asked.WORKLOAD, TTFT)
    assert settled is not None
    assert settled.startswith("2 more replicates of the same requests: vllm bench serve … ")
    assert "--request-rate 5 " in settled
    assert "--burstiness" not in settled


def test_a_bursty_run_is_run_again_with_its_burst(tmp_path: Path) -> None:
    load = Load(LoadKind.OPEN, declared_rps=4, arrivals="gamma", burstiness=0.1)
    (judged,) = judge(
        open_runs(tmp_path, make_run(offered(20, 20), harness="vllm-bench", load=load))
    )
    assert "--request-rate 4 --burstiness 0.1 " in str(
        verdicts.settles(judged, Asked.WORKLOAD, TTFT)
    )


def test_too_few_effective_requests_need_a_longer_run(study: Catalog) -> None:
    found = {each.title: each for each in judge(study, STALL)}
    judged = found["sarathi · 4 req/s"]
    settled = verdicts.settles(judged, Asked.TRAFFIC, STALL)
    assert settled is not None
    assert judged.effective is not None
    # All 500 met it: as many effective requests as make 0.95 ** n_eff no more than 0.025.
    needed = math.ceil(500 * math.log(0.025, 0.95) / judged.effective.n_accept)
    assert settled.startswith(f"about {needed:,} requests")
    assert "requests of the same mix at this load" in settled


def test_a_late_generator_is_named_as_the_reason(tmp_path: Path) -> None:
    rows = offered(20, 20)
    for row in rows:
        row["sent_us"] += 5_000
    (judged,) = judge(open_runs(tmp_path, make_run(rows)))
    assert any(
        "fell behind its schedule (p99 5.00 ms late)" in r for r in verdicts.reasons(judged, TTFT)
    )


def test_short_answers_and_open_requests_are_counted(tmp_path: Path) -> None:
    rows = offered(20, 20)
    for row in rows[:3]:
        row["output_tokens"] = 1
    rows[19] = {"outcome": "not_sent", "scheduled_us": 19 * 200_000}
    (judged,) = judge(open_runs(tmp_path, make_run(rows)), Objective(tpot_ms=20, attainment=0.9))
    said = " ".join(verdicts.reasons(judged, TTFT))
    assert "3 answers are too short to have a cadence and pass its limit" in said
    assert "1 were open when the run ended and could have gone either way" in said


def test_replicates_too_close_to_the_target_say_how_many_more(tmp_path: Path) -> None:
    (judged,) = judge(open_runs(tmp_path, *replicates((165, 160, 163))))
    assert judged.workload.verdict is Verdict.UNDECIDED
    settled = verdicts.settles(judged, Asked.WORKLOAD, TTFT)
    assert settled is not None
    assert "more replicates of the same requests" in settled
