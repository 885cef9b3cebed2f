"""Three claims side by side, on the sample study and on small libraries."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from headway.analyses import acceptance, correlation
from headway.analyses.acceptance import Asked, Judged
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Metric, Objective, Origin, Selection, Window
from headway.stats.attainment import Spells
from headway.stats.steadiness import Steadiness
from headway.stats.verdicts import InRun, Verdict, Why
from libraries import make_run, offered, open_runs, replicates, run_from

STALL = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)
TPOT = Objective(ttft_ms=2000, tpot_ms=50, attainment=0.95)
TTFT = Objective(ttft_ms=200, attainment=0.9)
YES, NO, UNSURE = Verdict.ACCEPTED, Verdict.REJECTED, Verdict.UNDECIDED


def judge(opened: Catalog, objective: Objective = TTFT, window: Window = Window()) -> list[Judged]:
    runs = [run for name in sorted(opened.studies) for run in opened.of_study(name)]
    selection = Selection(tuple(run.run_id for run in runs), window)
    return acceptance.judge(opened, selection, objective)


def judge_one(opened: Catalog, objective: Objective = TTFT, window: Window = Window()) -> Judged:
    (found,) = judge(opened, objective, window)
    return found


def at_load(judged: Iterable[Judged], policy: str) -> dict[float, Judged]:
    """Return the complete runs of a policy by load."""
    return {
        each.x: each
        for each in judged
        if each.run.policy == policy and each.run.time_limit_s is None and each.x is not None
    }


def traffic(judged: Iterable[Judged], policy: str) -> dict[float, Verdict]:
    return {x: each.traffic.verdict for x, each in at_load(judged, policy).items()}


# The sample study: every policy on the same 500 requests.


@pytest.mark.parametrize(
    ("objective", "policy", "load", "n_met"),
    [
        (TPOT, "vllm", 4, 499),
        (TPOT, "sarathi", 4, 500),
        (TPOT, "vllm", 6, 164),
        (TPOT, "sarathi", 6, 258),
        (STALL, "vllm", 4, 74),
        (STALL, "sarathi", 4, 500),
        (STALL, "vllm", 6, 7),
        (STALL, "sarathi", 6, 467),
    ],
)
def test_attainment_counts_every_offered_request(
    study: Catalog, objective: Objective, policy: str, load: float, n_met: int
) -> None:
    found = at_load(judge(study, objective), policy)[load]
    assert (found.n_met, found.n_offered) == (n_met, 500)


def test_a_deterministic_simulator_answers_for_its_workload_in_one_run(study: Catalog) -> None:
    found = judge(study, STALL)
    expected = dict.fromkeys((1, 2, 3, 4), YES) | dict.fromkeys((6, 8), NO)
    sarathi = at_load(found, "sarathi")
    assert {x: each.workload.verdict for x, each in sarathi.items()} == expected
    assert {x: each.verdict(Asked.RUN) for x, each in sarathi.items()} == expected
    assert {each.workload.why for each in sarathi.values()} == {Why.DETERMINISTIC}
    for policy in ("vllm", "orca"):
        others = at_load(found, policy).values()
        assert {each.workload.verdict for each in others} == {NO}
        assert {each.in_run for each in others} == {InRun.MISSED}


def test_a_stall_limit_for_traffic_needs_effective_requests(study: Catalog) -> None:
    found = judge(study, STALL)
    unsure = dict.fromkeys((3, 4, 6), UNSURE)
    assert traffic(found, "sarathi") == {1: YES, 2: YES, 8: NO} | unsure
    assert set(traffic(found, "vllm").values()) == {NO}
    assert set(traffic(found, "orca").values()) == {NO}


@pytest.mark.parametrize(
    ("load", "n_eff"), [(1, 143.9), (2, 77.3), (3, 34.2), (4, 19.9), (6, 8.39)]
)
def test_the_effective_number_falls_as_the_system_fills(
    study: Catalog, load: float, n_eff: float
) -> None:
    effective = at_load(judge(study, STALL), "sarathi")[load].effective
    assert effective is not None
    assert effective.n_eff == pytest.approx(n_eff, rel=0.02)


def test_the_worked_design_effect_comes_out(study: Catalog) -> None:
    effective = at_load(judge(study, STALL), "sarathi")[4].effective
    assert effective is not None
    assert effective.deff == pytest.approx(18.8, rel=0.02)


def test_a_limit_on_the_mean_for_traffic_gives_other_verdicts(study: Catalog) -> None:
    found = judge(study, TPOT)
    unsure = {2: UNSURE, 4: UNSURE}
    assert traffic(found, "sarathi") == {1: YES, 3: UNSURE, 6: NO, 8: NO} | unsure
    assert traffic(found, "vllm") == {1: YES, 3: UNSURE, 6: NO, 8: NO} | unsure
    assert traffic(found, "orca") == {1: YES, 8: NO} | unsure
    for policy in ("sarathi", "vllm", "orca"):
        effective = at_load(found, policy)[1].effective
        assert effective is not None
        assert effective.n_eff == pytest.approx(120, rel=0.05)


def test_no_load_is_accepted_for_traffic_at_99_percent(study: Catalog) -> None:
    found = judge(study, Objective(ttft_ms=2000, stall_ms=100, attainment=0.99))
    assert YES not in {each.traffic.verdict for each in found}
    best = at_load(found, "sarathi")[1]
    assert (best.traffic.verdict, best.traffic.why) == (UNSURE, Why.TOO_FEW_EFFECTIVE)


def test_open_requests_are_bounds_and_not_a_miss(study: Catalog) -> None:
    (limited,) = [each for each in judge(study, STALL) if each.run.time_limit_s is not None]
    assert limited.n_open > 0
    assert limited.attained.high > limited.attained.low
    assert limited.attained.high == (limited.n_met + limited.n_open) / 500
    kept = Objective(latency_ms=3_600_000, attainment=0.95)
    (open_ended,) = [each for each in judge(study, kept) if each.run.time_limit_s is not None]
    assert (open_ended.in_run, open_ended.workload.verdict) == (InRun.OPEN, UNSURE)
    assert open_ended.workload.why is Why.OPEN_REQUESTS
    assert open_ended.attained.high == 1


# Replicates: 180 offered each, target 90%.


@pytest.mark.parametrize(
    ("counts", "verdict", "n_met", "low"),
    [
        ((170, 167, 168, 170, 169), YES, 5, 0.549),
        ((160, 150, 149, 159, 158), NO, 0, 0),
        ((174, 168, 161, 174, 173), UNSURE, 4, 0.343),
        ((170, 167, 168), UNSURE, 3, 0.368),
    ],
)
def test_replicates_judge_the_workload(
    tmp_path: Path, counts: tuple[int, ...], verdict: Verdict, n_met: int, low: float
) -> None:
    found = judge_one(open_runs(tmp_path, *replicates(counts)))
    assert (found.n_met, found.n_offered) == (sum(counts), 180 * len(counts))
    assert found.workload.verdict is verdict
    assert found.n_runs_met == n_met
    assert found.repeats is not None
    assert found.repeats.low == pytest.approx(low, abs=5e-4)


def test_a_set_of_which_one_run_missed_is_not_accepted(tmp_path: Path) -> None:
    found = judge_one(open_runs(tmp_path, *replicates((174, 168, 161, 174, 173))))
    assert [round(each.low * 180) for each in found.per_run] == [174, 168, 161, 174, 173]
    assert (found.in_run, found.workload.verdict) == (InRun.MISSED, UNSURE)
    assert found.workload.why is Why.SOME_MISSED
    assert (found.worst.n_met, found.worst.n_offered) == (161, 180)


def test_the_share_of_runs_that_is_asked_for_decides(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *replicates((170, 167, 168)))
    lax = Objective(ttft_ms=200, attainment=0.9, repeats=0.36)
    assert judge_one(opened, lax).workload.verdict is YES


# Traffic: how long a spell of common trouble the run covers.


def test_an_acceptance_says_its_reach_and_a_declared_spell_is_demanded(tmp_path: Path) -> None:
    """2,000 requests at 5 req/s, 1% missed: 17.6 requests, 3.3 s; a spell of 2 s holds 11."""
    opened = open_runs(tmp_path, make_run(offered(2000, 1980)))
    bare = Objective(ttft_ms=200, attainment=0.95)
    found = judge_one(opened, bare)
    assert found.traffic.verdict is YES
    assert found.reach is not None
    assert found.reach.requests == pytest.approx(17.6, abs=0.05)
    assert found.reach.seconds == pytest.approx((found.reach.requests - 1) / 5)
    assert found.reach.needed == pytest.approx(found.reach.correlation)
    covered = judge_one(opened, replace(bare, spell_s=2))
    assert covered.reach is not None
    assert covered.reach.spell == pytest.approx(11)
    assert covered.traffic.verdict is YES
    longer = judge_one(opened, replace(bare, spell_s=6))
    assert (longer.traffic.verdict, longer.traffic.why) == (UNSURE, Why.LONG_SPELL)


def test_misses_in_a_row_are_shown_by_run(tmp_path: Path) -> None:
    rows = offered(400, 400)
    for place in (*range(100, 112), 300):
        rows[place]["ttft_us"], rows[place]["latency_us"] = 900_000, 990_000
    (counts,) = judge_one(open_runs(tmp_path, make_run(rows))).counts
    assert counts.spells == Spells(n_spells=2, longest=12, worst_tenth=3, n_missed_worst=12)


def test_half_known_arrivals_leave_no_claim_about_traffic(tmp_path: Path) -> None:
    """200 placed requests all met and 200 unplaced all missed: the share has no n_eff."""
    rows = offered(400, 400)
    for row in rows[200:]:
        del row["scheduled_us"], row["sent_us"]
        row["ttft_us"], row["latency_us"] = 900_000, 990_000
    found = judge_one(open_runs(tmp_path, make_run(rows)), Objective(ttft_ms=200, attainment=0.4))
    assert (found.n_met, found.n_offered) == (200, 400)
    assert (found.effective, found.reach) == (None, None)
    assert (found.traffic.verdict, found.traffic.why) == (UNSURE, Why.ARRIVALS_UNKNOWN)
    assert (found.traffic.low, found.traffic.high) == (None, None)


# What a miss is, and from where latency counts.


def test_every_miss_says_which_limit(tmp_path: Path) -> None:
    rows = offered(40, 35)
    del rows[1]["ttft_us"], rows[1]["latency_us"], rows[1]["output_tokens"]
    rows[1]["outcome"] = "failed"
    rows[2]["latency_us"] = 30_000_000
    found = judge_one(
        open_runs(tmp_path, make_run(rows)), Objective(ttft_ms=200, latency_ms=1050, attainment=0.9)
    )
    assert found.n_offered - found.n_met == 7
    assert found.past == {Metric.TTFT: 5, Metric.LATENCY: 6}
    assert (found.n_lost, found.n_unmeasured) == (1, 0)


def test_the_sample_study_says_which_limit_was_missed(study: Catalog) -> None:
    sarathi = at_load(judge(study, STALL), "sarathi")
    assert sarathi[6].past == {Metric.TTFT: 33, Metric.STALL: 0}
    assert sarathi[6].n_lost == 0


def test_the_other_origin_is_said_where_its_answer_differs(tmp_path: Path) -> None:
    rows = offered(400, 400)
    for row in rows:
        row["sent_us"] += 150_000
    found = judge_one(open_runs(tmp_path, make_run(rows)))
    assert (found.in_run, found.origin_used) == (InRun.MISSED, "scheduled")
    assert found.elsewise is not None
    assert found.elsewise.in_run is InRun.MET


def test_the_sessions_of_a_set_are_named(tmp_path: Path) -> None:
    runs = []
    for place, began in enumerate(("2026-05-12T10:02:00+00:00", "2026-05-12T13:40:00+02:00")):
        rows = offered(180, 180, jitter_us=place)
        runs.append(make_run(rows, f"r{place}", replicate=place, started_at=began))
    found = judge_one(open_runs(tmp_path / "known", *runs))
    assert found.made is not None
    (session,) = found.made
    assert (session.first.isoformat(), session.last.isoformat(), session.n_runs) == (
        "2026-05-12T10:02:00+00:00", "2026-05-12T11:40:00+00:00", 2,
    )  # fmt: skip
    assert judge_one(open_runs(tmp_path / "unknown", *replicates((180, 180)))).made is None


def test_a_single_run_is_met_in_the_run_and_no_more(tmp_path: Path) -> None:
    found = judge_one(open_runs(tmp_path, *replicates((170,))))
    assert (found.in_run, found.workload.verdict) == (InRun.MET, UNSURE)
    assert found.workload.why is Why.TOO_FEW_RUNS


def test_replicates_of_one_workload_never_add_effective_requests(tmp_path: Path) -> None:
    one = judge_one(open_runs(tmp_path / "one", *replicates((170,)))).effective
    five = judge_one(open_runs(tmp_path / "five", *replicates((170,) * 5))).effective
    assert one is not None
    assert five is not None
    assert five.n_eff == pytest.approx(one.n_eff)


# What is never accepted.


def test_half_rejected_is_missed_and_accepted_under_no_claim(tmp_path: Path) -> None:
    rows = offered(400, 400)
    for row in rows[::2]:
        del row["ttft_us"], row["latency_us"], row["output_tokens"]
        row["outcome"] = "rejected"
    found = judge_one(open_runs(tmp_path, make_run(rows)))
    assert (found.n_met, found.n_offered) == (200, 400)
    assert found.in_run is InRun.MISSED
    assert found.verdict(Asked.RUN) is NO
    assert found.verdict(Asked.WORKLOAD) is UNSURE
    assert found.verdict(Asked.TRAFFIC) is NO


def test_without_times_there_is_no_effective_number(tmp_path: Path) -> None:
    rows = offered(400, 400)
    for row in rows:
        del row["scheduled_us"], row["sent_us"]
    found = judge_one(open_runs(tmp_path, make_run(rows)))
    assert (found.effective, found.steady) == (None, Steadiness.UNKNOWN)
    assert (found.in_run, found.traffic.verdict) == (InRun.MET, UNSURE)
    assert found.traffic.why is Why.NO_EFFECTIVE_SIZE


def test_a_generator_behind_its_schedule_is_never_accepted(tmp_path: Path) -> None:
    runs = replicates((180,) * 5)
    kept = judge_one(open_runs(tmp_path / "kept", *runs))
    assert (kept.workload.verdict, kept.is_behind) == (YES, False)
    late = []
    for place in range(5):
        rows = offered(180, 180, jitter_us=place)
        for row in rows:
            row["sent_us"] += 3_000
        late.append(make_run(rows, f"r{place}", replicate=place))
    found = judge_one(open_runs(tmp_path / "late", *late))
    assert found.is_behind
    assert (found.in_run, found.workload.verdict) == (InRun.MET, UNSURE)
    assert found.workload.why is Why.BEHIND_SCHEDULE
    assert found.traffic.verdict is not YES


def test_a_run_that_is_not_steady_is_never_accepted_for_traffic(tmp_path: Path) -> None:
    rows = offered(1000, 1000)
    for place, row in enumerate(rows):
        row["ttft_us"] = 10_000 + 100 * place
        row["latency_us"] = row["ttft_us"] + 1
    found = judge_one(open_runs(tmp_path, make_run(rows)), Objective(ttft_ms=500, attainment=0.5))
    assert found.steady is Steadiness.NOT_STEADY
    assert (found.in_run, found.traffic.verdict) == (InRun.MET, UNSURE)


def test_an_answer_of_one_token_passes_a_cadence_limit_and_is_counted(tmp_path: Path) -> None:
    rows = offered(20, 20)
    for row in rows:
        row["output_tokens"] = 1
    found = judge_one(open_runs(tmp_path, make_run(rows)), Objective(tpot_ms=1, attainment=0.9))
    assert (found.n_met, found.n_no_cadence) == (20, 20)


def test_a_window_keeps_only_its_requests(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run(offered(100, 90)))
    found = judge_one(opened, window=Window(0, 10_000_000))
    assert found.n_offered == 50
    assert judge(opened, window=Window(90_000_000, 91_000_000)) == []


def test_a_request_that_arrives_as_the_window_ends_is_outside_it(tmp_path: Path) -> None:
    """All inside wait alike, a block ratio of 1; the one request at the end waits ten times it."""
    rows = offered(100, 100)
    rows[50]["ttft_us"], rows[50]["latency_us"] = 1_000_000, 1_090_000
    assert rows[50]["scheduled_us"] == 10_000_000
    opened = open_runs(tmp_path, make_run(rows))
    inside, beyond = (
        correlation.correlations(opened, ["r0"], Window(0, end_us), Origin.SCHEDULED)["r0"]
        for end_us in (10_000_000, 10_000_001)
    )
    assert inside.parts[Metric.TTFT].ranks == 1
    assert beyond.parts[Metric.TTFT].ranks != 1
    assert judge_one(opened, window=Window(0, 10_000_000)).n_met == 50


# Where a run stands.


def test_closed_loops_stand_on_concurrency_and_unlimited_loads_off_the_axes(
    tmp_path: Path,
) -> None:
    loads = {
        "r0": Load(LoadKind.OPEN, declared_rps=5),
        "r1": Load(LoadKind.CLOSED, concurrency=8),
        "r2": Load(LoadKind.UNLIMITED),
    }
    runs = [
        make_run(offered(20, 20, jitter_us=place), run_id, load=load)
        for place, (run_id, load) in enumerate(loads.items())
    ]
    found = {each.run.run_id: each.x for each in judge(open_runs(tmp_path, *runs))}
    assert found == {"r0": 5, "r1": 8, "r2": None}


def test_a_load_that_nobody_declared_is_measured_and_says_so(tmp_path: Path) -> None:
    run = make_run(offered(21, 21), load=Load(LoadKind.OPEN))
    found = judge_one(open_runs(tmp_path, run))
    assert found.x == pytest.approx(5)
    assert found.load_text == "5 req/s measured"


def test_real_runs_are_judged_in_the_run_whatever_else_is_missing(real: Catalog) -> None:
    found = judge(real, Objective(ttft_ms=2000, attainment=0.9))
    assert sum(len(each.runs) for each in found) == len(real.runs)
    assert {each.in_run for each in found} >= {InRun.MET, InRun.MISSED}
    burst = run_from(real, "rate4-burst0.1")
    (alone,) = [each for each in found if burst in [run.run_id for run in each.runs]]
    assert len(alone.runs) == 1
