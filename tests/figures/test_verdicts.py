"""Verdicts in words."""

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
        "(467 of 500 requests met). faster_transformer, orca and vllm miss at every load tested "
        "(1–8 req/s). "
        "vllm, stopped at 60 s misses at every load tested (8 req/s)."
    )


def test_the_claim_is_named_and_never_blurred(study: Catalog) -> None:
    traffic = said(study, Asked.TRAFFIC, STALL)
    assert traffic.startswith("For traffic like this: sarathi carries up to 2 req/s")
    assert "up to 2 req/s, if no spell of common trouble holds more than 6 requests" in traffic
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
    found = verdicts.policy_sentences(envelopes(study, Asked.WORKLOAD, STALL), Asked.WORKLOAD)
    assert found[0][1] is Verdict.ACCEPTED
    assert {verdict for _, verdict in found[1:]} == {Verdict.REJECTED}


@pytest.mark.parametrize(("n_lines", "verb"), [(1, "where it misses."), (2, "where they miss.")])
def test_verbs_follow_their_number(tmp_path: Path, n_lines: int, verb: str) -> None:
    """Undecided at 1 req/s by one run, and rejected at 2 by five that all missed."""
    runs = []
    for name in ("a", "b")[:n_lines]:
        low = Load(LoadKind.OPEN, declared_rps=1)
        runs.append(make_run(offered(20, 20), f"{name}-1", load=low, policy=name))
        high = Load(LoadKind.OPEN, declared_rps=2)
        for place in range(5):
            rows = offered(20, 2, jitter_us=place)
            runs.append(make_run(rows, f"{name}-2{place}", load=high, policy=name, replicate=place))
    assert said(open_runs(tmp_path, *runs), Asked.WORKLOAD).endswith(verb)


def test_a_set_is_counted_in_runs_and_its_worst_one(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *replicates((174, 168, 161, 174, 173)))
    (judged,) = judge(opened)
    assert verdicts.met(judged) == "4 of 5 runs met; the worst 161 of 180 requests"
    words = said(opened)
    assert words.startswith("In each run: ")
    assert "850 of 900" not in words


def test_the_misses_are_counted_by_limit(study: Catalog) -> None:
    found = {each.title: each for each in judge(study, STALL)}
    assert verdicts.missed_by(found["sarathi · 6 req/s"]) == (
        "33 missed: 33 over TTFT, 0 over stall, 0 lost"
    )
    assert verdicts.missed_by(found["sarathi · 4 req/s"]) is None
    assert "(some count more than once)" in str(verdicts.missed_by(found["vllm · 6 req/s"]))
