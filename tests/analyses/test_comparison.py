"""Who gains and who pays on one workload, and what is refused."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headway import sql
from headway.analyses import comparison, distribution, sides
from headway.analyses.comparability import Part, Why
from headway.analyses.comparison import Claimed, Comparison, Question
from headway.analyses.measured import METRICS
from headway.analyses.pairs import Success, Transition
from headway.analyses.shift import Change, MetricShift
from headway.catalog import Catalog, open_catalog
from headway.model import (
    Boundary,
    Clock,
    IndexBasis,
    Load,
    LoadKind,
    Metric,
    Objective,
    Origin,
    Outcome,
    Selection,
    Status,
    Window,
)
from headway.stats.comparison import Difference
from headway.stats.fingerprint import Level
from headway.stats.within_run import Within
from libraries import make_run, offered, open_runs, run_of

COMPLETED, CUT_OFF, NOT_SENT = Outcome.COMPLETED, Outcome.CUT_OFF, Outcome.NOT_SENT
DECLARED = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)


def between(opened: Catalog, a: str, b: str, **changes: Any) -> Comparison:
    first, second = (sides.of_runs(opened, (run_id,)) for run_id in (a, b))
    return comparison.compare(opened, Question(first, second, **changes))


def at_load(study: Catalog, a: str, b: str, rps: float, **changes: Any) -> Comparison:
    return between(study, run_of(study, a, rps), run_of(study, b, rps), **changes)


def stopped(study: Catalog) -> str:
    (found,) = [run.run_id for run in study.runs.values() if run.time_limit_s is not None]
    return found


def pair(tmp_path: Path, rows: list[dict[str, Any]], **changes: Any) -> Comparison:
    """Compare a run of ten requests that all complete with one of other rows, changed as asked."""
    same = {name: changes[name] for name in ("index_basis", "load") if name in changes}
    runs = make_run(offered(10, 10), "a", **same), make_run(rows, "b", policy="other", **changes)
    return between(open_runs(tmp_path, *runs), "a", "b")


def whys(found: Comparison) -> list[Why]:
    return [each.why for each in found.reasons]


def shift_of(found: Comparison, metric: Metric) -> MetricShift:
    each = found.shift(metric)
    assert each is not None
    return each


# The sample study.


def test_at_4_requests_a_second_streams_gain_and_first_tokens_pay(study: Catalog) -> None:
    found = at_load(study, "vllm", "sarathi", 4)
    assert (found.match.level, found.match.paired) == (Level.IDENTICAL, 500)
    assert found.transitions == (Transition(COMPLETED, COMPLETED, 500),)
    assert found.is_comparable
    assert found.is_only_policy
    assert found.reasons == ()
    ttft = shift_of(found, Metric.TTFT)
    assert ttft.at(0.99).a_ms == pytest.approx(550, abs=0.5)
    assert ttft.at(0.99).b_ms == pytest.approx(673, abs=0.5)
    stall = shift_of(found, Metric.STALL).at(0.5)
    assert stall.relative == pytest.approx(-0.877, abs=0.0005)
    assert ttft.paired is not None
    assert (ttft.paired.n_worse, ttft.paired.n_same, ttft.paired.n) == (463, 1, 500)


def test_at_6_requests_a_second_the_tail_of_the_first_token_falls_too(study: Catalog) -> None:
    ttft = shift_of(at_load(study, "vllm", "sarathi", 6), Metric.TTFT)
    assert ttft.at(0.99).a_ms == pytest.approx(3596, abs=1)
    assert ttft.at(0.99).b_ms == pytest.approx(2650, abs=1)
    assert ttft.paired is not None
    assert ttft.paired.n_worse > ttft.paired.n_better
    assert ttft.dominance is not None
    assert ttft.dominance.crossings == (0.63,)


def test_a_run_against_itself_differs_in_nothing(study: Catalog) -> None:
    run_id = run_of(study, "sarathi", 4)
    found = between(study, run_id, run_id, objective=DECLARED)
    assert found.is_same_run
    assert found.changes == ()
    assert {point.delta_ms for each in found.shifts for point in each.points} == {0}
    assert {row.difference for row in found.scorecard if row.a is not None} == {0}
    assert [row.row for row in found.scorecard if row.a is None] == ["prefix_hit_share"]
    assert all(each.paired is not None and each.paired.n_same == 500 for each in found.shifts)
    assert [(each.a_only, each.b_only) for each in found.discordant] == [(0, 0), (0, 0)]


def test_a_run_that_was_stopped_loses_requests_and_no_percentile_survives_them(
    study: Catalog,
) -> None:
    found = between(study, run_of(study, "vllm", 8), stopped(study))
    assert [account.n_offered for account in found.accounts] == [500, 500]
    assert found.transitions == (
        Transition(COMPLETED, COMPLETED, 266),
        Transition(COMPLETED, CUT_OFF, 201),
        Transition(COMPLETED, NOT_SENT, 33),
    )
    latency = shift_of(found, Metric.LATENCY)
    assert latency.at(0.5).change is Change.MEASURED
    lost = [latency.at(share) for share in (0.75, 0.9, 0.95, 0.99)]
    assert {(point.change, point.b_ms, point.delta_ms) for point in lost} == {
        (Change.LOST, None, None)
    }
    assert latency.paired is not None
    assert (latency.paired.n_both, latency.paired.n_lost, latency.paired.n_worse) == (266, 234, 234)
    assert whys(found) == [Why.STOPPED_INSIDE]
    rates = [row for row in found.scorecard if row.row == "completed_rps"]
    assert [row.difference for row in rates] == [None]


def test_within_what_was_run_a_stopped_run_has_rates(study: Catalog) -> None:
    window = Window(0, 60_000_000)
    found = between(study, run_of(study, "vllm", 8), stopped(study), window=window)
    assert found.reasons == ()
    (row,) = [row for row in found.scorecard if row.row == "completed_rps"]
    assert row.difference == 0


def test_orca_differs_from_vllm_by_its_batch_cap_too(study: Catalog) -> None:
    found = at_load(study, "orca", "vllm", 4)
    assert not found.is_only_policy
    assert [(c.field, c.a, c.b) for c in found.changes if c.kind.value == "other"] == [
        ("batch_cap", 32, 128)
    ]


def test_another_load_is_another_workload(study: Catalog) -> None:
    found = between(study, run_of(study, "vllm", 4), run_of(study, "sarathi", 6))
    assert not found.is_comparable
    assert found.reasons[0].why is Why.OTHER_ARRIVALS
    assert found.transitions == (Transition(COMPLETED, COMPLETED, 500),)
    assert (found.shifts, found.classes, found.tests) == ((), (), ())
    assert {row.difference for row in found.scorecard if row.unit != "requests"} == {None}


def test_percentiles_are_those_of_the_distributions_page(study: Catalog) -> None:
    found = between(study, run_of(study, "vllm", 8), stopped(study))
    for metric in METRICS:
        points = shift_of(found, metric).points
        chosen = Selection((*found.question.a.run_ids, *found.question.b.run_ids))
        shares = [point.share for point in points]
        a, b = distribution.describe(study, chosen, metric, shares)
        assert [p.a_ms for p in points] == [p.value_ms for p in a.percentiles]
        assert [p.b_ms for p in points] == [p.value_ms for p in b.percentiles]


def met_by_definition(study: Catalog, run_id: str) -> list[bool]:
    """Return who met 2 s of TTFT and 100 ms of longest stall, read from the run file row by row."""
    times = ("scheduled_us", "sent_us", "ttft_us", "max_gap_us")
    columns = ["phase", "request_index", "outcome", *times, "output_tokens", "n_chunks"]
    rows = pq.read_table(study.files[run_id], columns=columns).to_pylist()
    measured = sorted(
        (row for row in rows if row["phase"] == "measured"), key=lambda row: row["request_index"]
    )

    def met(row: dict[str, Any]) -> bool:
        late_us = max(0, row["sent_us"] - row["scheduled_us"]) if row["sent_us"] is not None else 0
        is_short = row["output_tokens"] <= 1 or row["n_chunks"] <= 1
        return (
            row["ttft_us"] is not None
            and row["ttft_us"] + late_us <= 2_000_000
            and (is_short or row["max_gap_us"] <= 100_000)
        )

    return [row["outcome"] == "completed" and met(row) for row in measured]


@pytest.mark.parametrize("rps", [4, 6, 8])
def test_transitions_and_who_met_are_those_of_the_rows(study: Catalog, rps: float) -> None:
    a, b = run_of(study, "vllm", rps), run_of(study, "sarathi", rps)
    found = between(study, a, b, objective=DECLARED)
    paired = sql.load("comparison/pairs").run(
        study.connection, runs_a=[a], runs_b=[b], origin="scheduled", start_us=None, end_us=None
    )
    outcomes = Counter(zip(paired["a_outcome"], paired["b_outcome"], strict=True))
    assert outcomes == {
        (each.a and each.a.value, each.b and each.b.value): each.n for each in found.transitions
    }
    kept = comparison.requests(study, found.question)
    expected = {"a_met": met_by_definition(study, a), "b_met": met_by_definition(study, b)}
    for name, met in expected.items():
        assert kept[name].to_list() == met
    (met_row,) = [row for row in found.scorecard if row.row == "met"]
    assert (met_row.a, met_row.b) == (sum(expected["a_met"]), sum(expected["b_met"]))
    assert found.discordant[1].of is Success.MET
    assert (found.discordant[1].both + found.discordant[1].b_only) == met_row.b


def test_the_requests_behind_a_cell_are_listed(study: Catalog) -> None:
    found = between(study, run_of(study, "vllm", 8), stopped(study))
    for each in found.transitions:
        rows = comparison.members(study, found.question, each, n_rows=1000)
        assert rows.height == each.n
        assert rows["pair"].to_list() == [1] * each.n
        assert rows["n"].to_list() == [each.n] * each.n


# Refusals.


def test_different_requests_leave_nothing_to_compare(tmp_path: Path) -> None:
    rows = [row | {"prompt_tokens": 900, "requested_output_tokens": 3} for row in offered(10, 10)]
    found = pair(tmp_path, rows)
    assert whys(found)[0] is Why.DIFFERENT_REQUESTS
    assert found.allowed == frozenset()
    assert (found.transitions, found.discordant, found.shifts, found.classes) == ((), (), (), ())
    assert {row.difference for row in found.scorecard} == {None}
    assert [account.n_offered for account in found.accounts] == [10, 10]


def test_partly_the_same_requests_keep_their_outcomes(tmp_path: Path) -> None:
    found = pair(tmp_path, offered(10, 10)[:8])
    assert whys(found)[0] is Why.PARTLY_SAME
    assert found.transitions == (
        Transition(COMPLETED, COMPLETED, 8),
        Transition(COMPLETED, None, 2),
    )
    assert found.shifts == ()
    assert not found.is_comparable


@pytest.mark.parametrize(
    ("changes", "why", "forbidden"),
    [
        ({"boundary": Boundary.SERVER}, Why.BOUNDARY, Part.TTFT),
        ({"clock": Clock.WALL}, Why.CLOCK, Part.RATES),
        ({"token_basis": "another count"}, Why.TOKENS, Part.TPOT),
        ({"harness": "other"}, Why.HARNESS, Part.CLAIM),
    ],
    ids=str,
)
def test_what_differs_rules_out_what_it_would_falsify(
    tmp_path: Path, changes: dict[str, Any], why: Why, forbidden: Part
) -> None:
    found = pair(tmp_path, offered(10, 10, jitter_us=5), **changes)
    assert whys(found) == [why]
    assert forbidden not in found.allowed
    assert found.is_comparable is (why is not Why.BOUNDARY)
    assert found.transitions == (Transition(COMPLETED, COMPLETED, 10),)


def test_latencies_from_other_instants_are_compared_from_the_send_only(tmp_path: Path) -> None:
    rows = [row | {"scheduled_us": None} for row in offered(10, 10, jitter_us=5)]
    runs = make_run(offered(10, 10), "a"), make_run(rows, "b")
    opened = open_runs(tmp_path, *runs)
    assert Why.ORIGIN in whys(between(opened, "a", "b"))
    assert not between(opened, "a", "b").is_comparable
    from_send = between(opened, "a", "b", origin=Origin.SENT)
    assert whys(from_send) == [Why.ARRIVALS_UNKNOWN]
    assert from_send.is_comparable
    assert from_send.classes == ()


def test_unknown_arrivals_at_another_load_are_not_compared(tmp_path: Path) -> None:
    rows = [row | {"scheduled_us": None} for row in offered(10, 10)]
    opened = open_runs(
        tmp_path,
        make_run(rows, "a"),
        make_run(rows, "b", policy="other", load=Load(LoadKind.OPEN, declared_rps=6)),
    )
    assert whys(between(opened, "a", "b")) == [Why.OTHER_LOAD]
    assert not between(opened, "a", "b").is_comparable


def test_requests_paired_by_order_are_labelled_and_without_index_not_paired(
    tmp_path: Path,
) -> None:
    rows = offered(10, 10, jitter_us=5)
    by_order = pair(tmp_path / "order", rows, index_basis=IndexBasis.ORDER)
    assert whys(by_order) == [Why.PAIRED_BY_ORDER]
    assert by_order.is_comparable
    without = pair(tmp_path / "none", rows, index_basis=IndexBasis.NONE)
    assert whys(without) == [Why.NO_INDEX]
    assert (without.transitions, without.classes) == ((), ())


def test_lengths_that_no_side_records_prove_nothing(tmp_path: Path) -> None:
    bare = {"prompt_tokens": None, "requested_output_tokens": None}
    rows = [row | bare for row in offered(10, 10)]
    opened = open_runs(tmp_path, make_run(rows, "a"), make_run(rows, "b", policy="other"))
    found = between(opened, "a", "b")
    assert whys(found) == [Why.REQUESTS_UNKNOWN]
    assert found.classes == ()


def test_a_side_that_completed_1_of_10_has_no_latency_headline(tmp_path: Path) -> None:
    rows = offered(10, 10)
    for row in rows[1:]:
        row.update(outcome="rejected", ttft_us=None, latency_us=None, sent_us=None)
    found = pair(tmp_path, rows)
    assert whys(found) == [Why.INCOMPLETE]
    assert (found.reasons[0].a, found.reasons[0].b) == ("10 of 10", "1 of 10")
    assert Part.HEADLINE not in found.allowed
    assert found.is_comparable
    assert shift_of(found, Metric.TTFT).at(0.5).change is Change.LOST


def test_an_empty_window_compares_nothing(study: Catalog) -> None:
    found = at_load(study, "vllm", "sarathi", 4, window=Window(10**12, 2 * 10**12))
    assert whys(found) == [Why.EMPTY]
    assert found.allowed == frozenset()


def test_a_metric_that_a_side_does_not_record_has_no_percentile(tmp_path: Path) -> None:
    found = pair(tmp_path, offered(10, 10, jitter_us=5))
    stall = shift_of(found, Metric.STALL)
    assert (stall.a_status, stall.b_status) == (Status.NOT_RECORDED, Status.NOT_RECORDED)
    assert (stall.points, stall.paired, stall.dominance) == ((), None, None)
    assert {row.row: row.a for row in found.scorecard}["mean_waiting"] is None


def test_copies_of_one_measurement_are_the_same_run(tmp_path: Path) -> None:
    copy = make_run(offered(10, 10), "b", source_sha256="1" * 64)
    opened = open_runs(tmp_path, make_run(offered(10, 10), "a"), copy)
    assert between(opened, "a", "b").is_same_run


def test_one_run_a_side_is_facts_of_these_runs(study: Catalog) -> None:
    found = at_load(study, "vllm", "sarathi", 4)
    assert (found.claim, found.tests, found.noise) == (Claimed.FACTS, (), None)


def test_the_requests_behind_a_cell_come_from_every_pair_of_runs(tmp_path: Path) -> None:
    shed = {"outcome": "rejected", "output_tokens": None, "ttft_us": None, "latency_us": None}
    runs = [
        make_run(
            [
                row | shed if policy == "b" and i <= place else row
                for i, row in enumerate(offered(20, 20, jitter_us=place))
            ],
            f"{policy}{place}",
            policy=policy,
            replicate=place,
            source_sha256=f"{ord(policy) + place:064}",
        )
        for policy in "ab"
        for place in range(3)
    ]
    opened = open_runs(tmp_path, *runs)
    a, b = sides.every(opened, [run.info.run_id for run in runs])
    found = comparison.compare(opened, Question(a, b))
    (lost,) = [each for each in found.transitions if each.b is Outcome.REJECTED]
    rows = comparison.members(opened, found.question, lost)
    assert lost.n == rows.height == 1 + 2 + 3
    assert rows["pair"].to_list() == [1, 2, 2, 3, 3, 3]


ENGINE = Path(__file__).parents[2] / "sample_data" / "vllm-aiperf"


@pytest.fixture(scope="module")
def engine() -> Catalog:
    return open_catalog([ENGINE])


def policies(engine: Catalog, a: str, b: str, rps: float) -> Comparison:
    first, second = (sides.named(engine, name, rps, None) for name in (a, b))
    return comparison.compare(engine, Question(first, second, objective=Objective(ttft_ms=2000)))


def test_one_run_each_has_a_band_within_the_runs_and_no_claim(engine: Catalog) -> None:
    """TPOT p90 is 36% slower in one run each: a fact of these runs, with the band beside it."""
    found = policies(engine, "budget256", "budget2048", 2.4)
    assert found.claim is Claimed.FACTS
    assert found.tests == ()
    assert found.is_only_policy
    shift = found.shift(Metric.TPOT)
    assert shift is not None
    point = shift.at(0.9)
    assert point.relative == pytest.approx(0.363, abs=0.005)
    assert point.within is not None
    assert point.within.low is not None
    assert point.within.high is not None
    assert point.within.low < (point.relative or 0) < point.within.high
    lost = shift.at(0.99)
    assert (lost.relative, lost.within) == (None, Within(None, None))


def test_replicates_have_a_verdict_and_no_band_within_a_run(engine: Catalog) -> None:
    found = policies(engine, "budget256", "budget2048", 4.8)
    assert found.claim is Claimed.REPLICATED
    assert found.match.level is Level.IDENTICAL
    assert all(point.within is None for each in found.shifts for point in each.points)
    assert found.noise is not None
    assert found.noise.n_pairs == 20
    verdicts = {(each.metric, each.percentile): each.verdict for each in found.tests}
    assert verdicts[Metric.STALL, 0.5] is Difference.WORSE
    # The tail of TPOT is not reached in every run, so that it has no verdict at all.
    assert verdicts[Metric.TPOT, 0.99] is Difference.UNDECIDED


def test_the_same_run_has_no_band(engine: Catalog) -> None:
    run_id = next(iter(engine.runs))
    found = between(engine, run_id, run_id)
    assert all(point.within is None for each in found.shifts for point in each.points)


def test_the_tiny_cache_preempts_and_is_not_only_another_policy(engine: Catalog) -> None:
    found = policies(engine, "budget2048", "budget2048-kv96", 6.8)
    assert not found.is_only_policy
    assert "cache_policy" in {change.field for change in found.changes}
    rows = {row.row: row for row in found.scorecard}
    assert rows["preemptions"].a == 0
    assert (rows["preemptions"].b or 0) > 0
    assert rows["max_kv_fraction"].b == 1
