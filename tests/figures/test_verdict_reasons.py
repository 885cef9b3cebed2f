"""The reasons under a verdict, and what would settle a doubt."""

from pathlib import Path

import pytest

from headway.analyses import acceptance
from headway.analyses.acceptance import Asked, Judged
from headway.analyses.settlement import Remedy, settlement
from headway.catalog import Catalog
from headway.figures import verdict_reasons
from headway.model import Load, LoadKind, Objective, Selection
from headway.stats.verdicts import Verdict
from libraries import make_run, offered, open_runs, replicates

STALL = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)
TTFT = Objective(ttft_ms=200, attainment=0.9)


def judge(opened: Catalog, objective: Objective = TTFT) -> list[Judged]:
    runs = [run for name in sorted(opened.studies) for run in opened.of_study(name)]
    return acceptance.judge(opened, Selection(tuple(run.run_id for run in runs)), objective)


def reasons(judged: Judged, objective: Objective = TTFT) -> str:
    return "\n".join(verdict_reasons.reasons(judged, objective))


def test_reasons_begin_with_the_count(tmp_path: Path) -> None:
    (judged,) = judge(open_runs(tmp_path, make_run(offered(20, 17))))
    first, *rest = verdict_reasons.reasons(judged, TTFT)
    assert first == "17 of 20 offered requests met (85%; target 90%)"
    assert any(reason.startswith("repeatable on this workload: ") for reason in rest)
    assert any(reason.startswith("for traffic like this: ") for reason in rest)
    assert rest[-1] == "latencies count from the scheduled arrival"


def test_replicates_say_how_many_met_and_what_that_shows(tmp_path: Path) -> None:
    (judged,) = judge(open_runs(tmp_path, *replicates((174, 168, 161, 174, 173))))
    words = reasons(judged)
    assert "4 of 5 runs met: with 95% confidence between 34.3% and 99% of such runs" in words
    assert "after a miss no further run accepts this set" in words
    assert "start times are not recorded" in words


def test_an_acceptance_for_traffic_names_its_premise(study: Catalog) -> None:
    found = {each.title: each for each in judge(study, STALL)}
    words = verdict_reasons.traffic(found["sarathi · 1 req/s"], STALL)
    assert "if no spell of common trouble holds more than 6 requests (4.99 s)" in words


def test_a_spell_that_is_not_covered_is_named_in_requests(tmp_path: Path) -> None:
    demanding = Objective(ttft_ms=200, attainment=0.95, spell_s=6)
    (judged,) = judge(open_runs(tmp_path, make_run(offered(2000, 1980))), demanding)
    words = verdict_reasons.traffic(judged, demanding)
    assert "31 requests at the busiest load; this run covers 17" in words
    found = settlement(judged, Asked.TRAFFIC, demanding)
    assert found is not None
    assert found.n_requests is not None
    assert found.n_requests > 3000
    assert found.duration_s == pytest.approx(found.n_requests / 5)


@pytest.mark.parametrize("asked", list(Asked))
def test_a_decided_verdict_needs_nothing(study: Catalog, asked: Asked) -> None:
    for judged in judge(study, STALL):
        settled = verdict_reasons.settles(judged, asked, STALL)
        assert (settled is None) == (judged.verdict(asked) is not Verdict.UNDECIDED)


def test_every_undecided_claim_says_what_would_settle_it(study: Catalog) -> None:
    for judged in judge(study, STALL):
        undecided = [asked for asked in Asked if judged.verdict(asked) is Verdict.UNDECIDED]
        lines = " ".join(verdict_reasons.settlements(judged, STALL))
        assert bool(lines) == bool(undecided)


def test_a_single_run_needs_four_more_that_meet(tmp_path: Path) -> None:
    (judged,) = judge(open_runs(tmp_path, make_run(offered(20, 20), harness="vllm-bench")))
    found = settlement(judged, Asked.WORKLOAD, TTFT)
    assert found is not None
    assert (found.remedy, found.n_runs) == (Remedy.MORE_RUNS, 4)
    settled = str(verdict_reasons.settles(judged, Asked.WORKLOAD, TTFT))
    assert "vllm bench serve …" in settled
    assert "--request-rate 5 " in settled
    assert "--burstiness" not in settled


def test_after_a_miss_only_a_new_set_accepts(tmp_path: Path) -> None:
    (judged,) = judge(open_runs(tmp_path, *replicates((174, 168, 161, 174, 173))))
    found = settlement(judged, Asked.WORKLOAD, TTFT)
    assert found is not None
    assert found.remedy is Remedy.NEW_SET
    # 4 of 5 met. With 10 more misses, 4 of 15, the high bound is 51.1%; with 11 more 48.4%.
    assert found.n_runs == 11


def test_a_bursty_run_is_run_again_with_its_burst(tmp_path: Path) -> None:
    load = Load(LoadKind.OPEN, declared_rps=4, arrivals="gamma", burstiness=0.1)
    (judged,) = judge(
        open_runs(tmp_path, make_run(offered(20, 20), harness="vllm-bench", load=load))
    )
    settled = str(verdict_reasons.settles(judged, Asked.WORKLOAD, TTFT))
    assert "--request-rate 4 --burstiness 0.1 " in settled


def test_too_few_effective_requests_need_a_longer_run(study: Catalog) -> None:
    judged = {each.title: each for each in judge(study, STALL)}["sarathi · 4 req/s"]
    found = settlement(judged, Asked.TRAFFIC, STALL)
    assert found is not None
    assert found.n_requests is not None
    assert 500 < found.n_requests <= 10_000
    assert found.duration_s == pytest.approx(found.n_requests / 4)
    settled = str(verdict_reasons.settles(judged, Asked.TRAFFIC, STALL))
    assert "if the true share is 100%" in settled


def test_a_share_too_close_to_the_target_gets_no_length(study: Catalog) -> None:
    judged = {each.title: each for each in judge(study, STALL)}["sarathi · 6 req/s"]
    found = settlement(judged, Asked.TRAFFIC, STALL)
    assert found is not None
    assert (found.remedy, found.n_requests) == (Remedy.TOO_CLOSE, None)


def test_a_late_generator_is_named_as_the_reason(tmp_path: Path) -> None:
    rows = offered(20, 20)
    for row in rows:
        row["sent_us"] += 5_000
    (judged,) = judge(open_runs(tmp_path, make_run(rows)))
    assert "fell behind its schedule (p99 5.00 ms late)" in reasons(judged)


def test_short_answers_and_open_requests_are_counted(tmp_path: Path) -> None:
    rows = offered(20, 20)
    for row in rows[:3]:
        row["output_tokens"] = 1
    rows[19] = {"outcome": "not_sent", "scheduled_us": 19 * 200_000}
    (judged,) = judge(open_runs(tmp_path, make_run(rows)), Objective(tpot_ms=20, attainment=0.9))
    words = reasons(judged)
    assert "3 answers are too short to have a cadence and pass its limit" in words
    assert "1 was open when the run ended and could have gone either way" in words


def test_an_unknown_arrival_leaves_no_claim(tmp_path: Path) -> None:
    rows = offered(400, 400)
    del rows[7]["scheduled_us"], rows[7]["sent_us"]
    (judged,) = judge(open_runs(tmp_path, make_run(rows)))
    assert "the arrival of 1 of 400 requests is not recorded" in reasons(judged)
    found = settlement(judged, Asked.TRAFFIC, TTFT)
    assert found is not None
    assert found.remedy is Remedy.RECORD_ARRIVALS
