"""Right values of distributions over real runs, and properties of percentiles and curves."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import sql
from headway.analyses import distribution
from headway.analyses.distribution import Description
from headway.catalog import Catalog
from headway.model import Basis, Method, Metric, Origin, Selection, Status, Stratum, Window
from libraries import make_run, open_runs, run_from, run_of

CASES = Path(__file__).parents[1] / "importers" / "vllm"
CASE_01 = "01-vllm-failed-rows-look-like-zero-ttft"
CASE_04 = "04-vllm-chunk-gaps-are-not-token-gaps"
CASE_11 = "11-closed-loop-startup-burst"
SECOND = 1_000_000


def expected_of(folder: str) -> dict[str, float]:
    """Return a case's right values, in one level."""
    content = json.loads((CASES / folder / "expected.json").read_text(encoding="utf-8"))
    inner = {key: value for name in content for key, value in _items(content[name])}
    return {key: value for key, value in content.items() if not isinstance(value, dict)} | inner


def _items(value: object) -> Iterator[tuple[str, float]]:
    yield from value.items() if isinstance(value, dict) else ()


def described(
    opened: Catalog, run_id: str, metric: Metric, shares: tuple[float, ...] = (0.5,), **how: object
) -> Description:
    selection = Selection((run_id,), **how)  # type: ignore[arg-type]
    (found,) = distribution.describe(opened, selection, metric, shares)
    return found


def values(found: Description) -> list[float | None]:
    return [point.value_ms for point in found.percentiles]


# The cases of failed rows, chunk gaps and the start-up burst.


@pytest.mark.parametrize("basis", [Basis.COMPLETED, Basis.SOURCE])
def test_failed_rows_do_not_enter_the_survivors_as_zero(real: Catalog, basis: Basis) -> None:
    right = expected_of(CASE_01)
    run_id = run_from(real, CASE_01)
    linear = described(real, run_id, Metric.TTFT, (0.5, 0.99), basis=basis, method=Method.LINEAR)
    assert (linear.n, linear.denominator) == (right["n"], right["completed"])
    assert (linear.mean_ms, linear.max_ms) == (right["mean"], right["max"])
    assert values(linear) == pytest.approx([right["p50"], right["p99_linear"]])
    nearest = described(real, run_id, Metric.TTFT, (0.5, 0.99), basis=basis)
    assert values(nearest) == [140, 200]


def test_failures_stand_at_infinity_among_the_offered(real: Catalog) -> None:
    right = expected_of(CASE_01)
    run_id = run_from(real, CASE_01)
    linear = described(real, run_id, Metric.TTFT, (0.5, 0.9), method=Method.LINEAR)
    assert linear.denominator == right["offered"]
    assert values(linear) == [right["p50_failures_as_inf_ms"], right["p90_failures_as_inf_ms"]]
    assert [point.not_reached for point in linear.percentiles] == [False, True]
    assert linear.mean_ms is None
    nearest = described(real, run_id, Metric.TTFT, (0.5, 0.6, 0.7, 0.71))
    assert values(nearest) == [180, 200, 350, None]


def test_a_stream_that_died_has_a_first_token_and_no_completion(real: Catalog) -> None:
    run_id = run_from(real, CASE_01)
    assert described(real, run_id, Metric.TTFT).n == 7
    assert described(real, run_id, Metric.LATENCY).n == 6
    assert described(real, run_id, Metric.TTFT, basis=Basis.COMPLETED).max_ms == 200


def test_chunk_gaps_are_not_the_time_per_token(real: Catalog) -> None:
    right = expected_of(CASE_04)
    run_id = run_from(real, CASE_04)
    tpot = described(real, run_id, Metric.TPOT)
    assert values(tpot) == [right["tpot_ms"]]
    assert tpot.n == right["completed"]
    gaps = described(real, run_id, Metric.GAP, basis=Basis.COMPLETED)
    assert values(gaps) == [right["gap_ms_median"]]
    assert (gaps.n, gaps.denominator) == (8, 8)


def test_chunks_of_several_tokens_and_an_impossible_peak_are_findings(real: Catalog) -> None:
    findings = {f.code: f.message for f in real.run(run_from(real, CASE_04)).findings}
    assert "2.6 tokens per chunk" in findings["chunks_not_tokens"]
    assert "gaps are between chunks, not tokens" in findings["chunks_not_tokens"]
    assert "10 output tok/s is below its mean of 26" in findings["peak_below_average"]


def test_four_requests_of_the_startup_burst_make_the_tail(real: Catalog) -> None:
    right = expected_of(CASE_11)
    found = described(
        real, run_from(real, CASE_11), Metric.TTFT, (0.5, 0.9, 0.99), method=Method.LINEAR
    )
    assert (found.n, found.denominator, found.max_ms) == (40, 40, right["max"])
    assert values(found) == pytest.approx([right["p50"], right["p90_linear"], right["p99_linear"]])


def test_a_window_after_the_burst_says_how_many_it_counts(real: Catalog) -> None:
    right = expected_of(CASE_11)
    window = Window(2_500_000, None)
    run_id = run_from(real, CASE_11)
    found = described(real, run_id, Metric.TTFT, (0.99,), window=window, method=Method.LINEAR)
    assert found.n == found.denominator == 36
    assert found.max_ms == 209
    assert values(found) == pytest.approx([right["p99_linear_ms"]])


# Real runs.


def test_short_successes_are_not_among_the_completed(real: Catalog) -> None:
    run_id = run_from(real, "faults-proxy-rate5")
    how = {"method": Method.LINEAR, "origin": Origin.SENT}
    ours = described(real, run_id, Metric.TTFT, (0.99,), basis=Basis.COMPLETED, **how)
    theirs = described(real, run_id, Metric.TTFT, (0.99,), basis=Basis.SOURCE, **how)
    assert (ours.n, theirs.n) == (82, 86)
    assert values(ours) == pytest.approx([1487.3], abs=0.1)
    assert values(theirs) == pytest.approx([1464.5], abs=0.1)


def test_sarathi_at_4_is_fast(real: Catalog, study: Catalog) -> None:
    runs = ((real, run_from(real, "sarathi-qps4")), (study, run_of(study, "sarathi", 4.0)))
    for opened, run_id in runs:
        found = described(opened, run_id, Metric.TTFT, (0.5, 0.99), basis=Basis.COMPLETED)
        assert values(found) == pytest.approx([112.6, 673.0], abs=0.1)
        assert (found.n, found.denominator) == (500, 500)


def test_vllm_at_4_stalls_for_over_a_second(study: Catalog) -> None:
    run_id = run_of(study, "vllm", 4.0)
    for metric in (Metric.STALL, Metric.GAP):
        found = described(study, run_id, metric, basis=Basis.COMPLETED)
        assert found.max_ms == pytest.approx(1625, abs=0.5)


def test_orca_at_8_makes_half_wait_18_seconds(study: Catalog) -> None:
    found = described(study, run_of(study, "orca", 8.0), Metric.TTFT)
    assert (found.n, found.denominator) == (500, 500)
    assert values(found) == pytest.approx([18_237], abs=1)


def test_a_run_that_was_cut_off_keeps_everyone_in_the_denominator(real: Catalog) -> None:
    run_id = run_from(real, "vllm-qps8-limit60s")
    found = described(real, run_id, Metric.TTFT, (0.5, 0.71, 0.72))
    assert (found.n, found.denominator) == (355, 500)
    assert found.delivered == 0.71
    assert found.percentiles[0].value_ms == pytest.approx(9077, abs=1)
    assert [point.not_reached for point in found.percentiles] == [False, False, True]


def test_those_due_before_the_end_are_a_smaller_denominator(real: Catalog) -> None:
    run_id = run_from(real, "vllm-qps8-limit60s")
    found = described(real, run_id, Metric.TTFT, window=Window(0, 60 * SECOND))
    assert (found.n, found.denominator) == (355, 466)
    assert values(found) == pytest.approx([8090], abs=1)


def test_the_survivors_of_the_cut_look_much_better(real: Catalog) -> None:
    run_id = run_from(real, "vllm-qps8-limit60s")
    for method, p99_ms in ((Method.NEAREST, 12_104), (Method.LINEAR, 11_944)):
        found = described(real, run_id, Metric.TTFT, (0.99,), basis=Basis.COMPLETED, method=method)
        assert found.denominator == 266
        assert values(found) == pytest.approx([p99_ms], abs=1)


# Why there is no number.


def status(opened: Catalog, metric: Metric, basis: Basis = Basis.OFFERED) -> Status:
    return described(opened, "r0", metric, basis=basis).status


def test_gaps_have_no_offered_basis(real: Catalog) -> None:
    found = described(real, run_from(real, "chat-rate7"), Metric.GAP)
    assert found.status is Status.NOT_APPLICABLE
    assert found.delivered is None


def test_successes_without_a_value_are_not_recorded(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"latency_us": 5}]))
    assert status(opened, Metric.TTFT) is Status.NOT_RECORDED
    assert status(opened, Metric.GAP, Basis.COMPLETED) is Status.NOT_RECORDED
    assert status(opened, Metric.LATENCY) is Status.MEASURED


def test_where_everything_failed_no_percentile_is_reached(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"outcome": "failed"}] * 3))
    for metric in (Metric.TTFT, Metric.TPOT, Metric.STALL, Metric.LATENCY):
        found = described(opened, "r0", metric)
        assert (found.status, found.n, found.denominator) == (Status.MEASURED, 0, 3)
        assert [point.not_reached for point in found.percentiles] == [True]
    assert status(opened, Metric.TTFT, Basis.COMPLETED) is Status.NOT_MEASURED


def test_one_token_answers_have_no_cadence(tmp_path: Path) -> None:
    row = {"ttft_us": 5, "latency_us": 5, "output_tokens": 1, "chunk_gaps_us": []}
    opened = open_runs(tmp_path, make_run([row]))
    found = described(opened, "r0", Metric.TPOT)
    assert (found.status, found.n_not_applicable) == (Status.NOT_APPLICABLE, 1)
    assert status(opened, Metric.STALL) is Status.NOT_APPLICABLE


def test_a_single_request_is_every_percentile(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"ttft_us": 7000}]))
    for method in Method:
        found = described(opened, "r0", Metric.TTFT, (0.01, 0.5, 0.99), method=method)
        assert values(found) == [7, 7, 7]


def test_runs_come_in_the_order_they_were_chosen(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *(make_run([{}], name) for name in ("r0", "r1", "r2")))
    found = distribution.describe(opened, Selection(("r2", "r0", "r1")), Metric.TTFT)
    assert [each.run_id for each in found] == ["r2", "r0", "r1"]


@pytest.mark.parametrize("stratum", list(Stratum))
def test_classes_of_a_split_add_up_to_the_whole(study: Catalog, stratum: Stratum) -> None:
    run_id = run_of(study, "sarathi", 8.0)
    found = distribution.describe(study, Selection((run_id,), stratum=stratum), Metric.TTFT)
    assert sum(each.denominator for each in found) == 500
    assert len({each.stratum for each in found}) == len(found)


def test_one_workload_falls_into_the_same_classes_in_every_run(study: Catalog) -> None:
    run_ids = (run_of(study, "sarathi", 8.0), run_of(study, "orca", 1.0))
    selection = Selection(run_ids, stratum=Stratum.PROMPT_LENGTH)
    found = distribution.describe(study, selection, Metric.TTFT)
    classes = [
        [(d.stratum, d.denominator) for d in found if d.run_id == run_id] for run_id in run_ids
    ]
    assert len(classes[0]) == 4
    assert classes[0] == classes[1]


# The worst requests.


def test_the_lost_come_first_then_the_slowest(real: Catalog) -> None:
    run_id = run_from(real, CASE_01)
    found = distribution.worst(real, Selection((run_id,)), Metric.LATENCY, 6)
    assert found["request_index"].to_list() == [1, 4, 7, 9, 8, 6]
    assert found["value_ms"].to_list() == [None, None, None, None, 400, 380]
    assert found["reason"][0] == "Service Unavailable"


# Curves.


def test_a_curve_that_lost_requests_ends_in_a_plateau_that_says_so(real: Catalog) -> None:
    run_id = run_from(real, "vllm-qps8-limit60s")
    points = distribution.curve(real, Selection((run_id,)), Metric.TTFT)
    last, closing = points.row(-2, named=True), points.row(-1, named=True)
    assert closing["share"] == last["share"] == 355 / 500
    assert closing["drawn_ms"] == pytest.approx(last["drawn_ms"] * 1.25)
    assert closing["label"] == closing["share_at_least"] == pytest.approx(145 / 500)


def test_a_curve_that_delivered_everything_ends_at_one_without_a_label(real: Catalog) -> None:
    run_id = run_from(real, "sarathi-qps4")
    closing = distribution.curve(real, Selection((run_id,)), Metric.TTFT).row(-1, named=True)
    assert (closing["share"], closing["label"], closing["share_at_least"]) == (1, None, None)


def test_all_curves_reach_the_same_right_edge(study: Catalog) -> None:
    run_ids = (run_of(study, "sarathi", 1.0), run_of(study, "faster_transformer", 8.0))
    points = distribution.curve(study, Selection(run_ids), Metric.TTFT)
    ends = points.group_by("run_id", maintain_order=True).last()["drawn_ms"]
    assert ends.n_unique() == 1


def test_nothing_delivered_is_no_curve(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"outcome": "failed"}]))
    assert distribution.curve(opened, Selection(("r0",)), Metric.TTFT).is_empty()


def test_a_thinned_curve_is_within_a_400th_of_the_whole(tmp_path: Path) -> None:
    ttft_us = np.random.default_rng(7).lognormal(12, 1.5, 3001).astype(int)
    rows = [{"ttft_us": int(value)} for value in ttft_us] + [{"outcome": "failed"}] * 99
    opened = open_runs(tmp_path, make_run(rows))
    points = distribution.curve(opened, Selection(("r0",)), Metric.TTFT)
    assert len(points) <= 601
    values_ms = np.sort(ttft_us) / 1000
    whole = np.searchsorted(values_ms, values_ms, side="right") / 3100
    drawn = points.head(-1)
    place = np.searchsorted(drawn["value_ms"].to_numpy(), values_ms, side="right") - 1
    thinned = drawn["share"].to_numpy()[place]
    assert np.max(whole - thinned) <= 1 / 400
    assert np.min(whole - thinned) >= 0
    assert drawn["n_at_most"].to_list()[-3:] == [2999, 3000, 3001]


@pytest.mark.parametrize("metric", list(Metric))
def test_curves_of_real_runs_rise_and_end_at_what_was_delivered(
    study: Catalog, metric: Metric
) -> None:
    basis = Basis.COMPLETED if metric is Metric.GAP else Basis.OFFERED
    selection = Selection(tuple(study.runs), basis=basis)
    points = distribution.curve(study, selection, metric)
    for each in distribution.describe(study, selection, metric):
        mine = points.filter(pl.col("run_id") == each.run_id)
        assert mine["share"].is_sorted()
        assert mine["drawn_ms"].is_sorted()
        assert mine["share"][-1] == pytest.approx(each.delivered, abs=1e-12)


# Percentiles of any list.


@pytest.fixture(scope="module")
def connection() -> sql.Connection:
    return sql.connect()


def percentile(
    connection: sql.Connection, ordered: list[float], share: float, method: Method
) -> float:
    row = connection.execute(
        "SELECT percentile_of($values::DOUBLE[], $share::DOUBLE, $method)",
        {"values": ordered, "share": share, "method": method.value},
    ).fetchone()
    assert row is not None
    return float(row[0])


finite = st.lists(
    st.floats(0, 1e9) | st.sampled_from([0.0, 1.0, 1e15]), min_size=1, max_size=60
).map(sorted)
# Shares with an exact binary form, so that numpy's own rounding of n·p plays no part.
dyadic = st.integers(1, 1023).map(lambda k: k / 1024)


@given(finite, dyadic)
def test_nearest_rank_is_the_inverted_distribution(
    connection: sql.Connection, ordered: list[float], share: float
) -> None:
    expected = np.quantile(ordered, share, method="inverted_cdf")
    assert percentile(connection, ordered, share, Method.NEAREST) == expected


@given(finite, dyadic)
def test_linear_is_the_default_of_numpy(
    connection: sql.Connection, ordered: list[float], share: float
) -> None:
    found = percentile(connection, ordered, share, Method.LINEAR)
    assert found == pytest.approx(np.quantile(ordered, share), rel=1e-9, abs=1e-6)


@given(st.integers(1, 400), st.integers(1, 999), st.sampled_from(Method))
def test_decimal_shares_do_not_slip_a_rank(
    connection: sql.Connection, n: int, per_mille: int, method: Method
) -> None:
    ordered = [float(value) for value in range(1, n + 1)]
    nearest, linear = -(-n * per_mille // 1000), 1 + (n - 1) * per_mille / 1000
    found = percentile(connection, ordered, per_mille / 1000, method)
    assert found == pytest.approx(nearest if method is Method.NEAREST else linear, abs=1e-6)


@given(finite, st.integers(1, 30), dyadic, st.sampled_from(Method))
def test_losing_requests_never_lowers_a_percentile(
    connection: sql.Connection, ordered: list[float], n_lost: int, share: float, method: Method
) -> None:
    before = percentile(connection, ordered, share, method)
    after = percentile(connection, [*ordered, *[math.inf] * n_lost], share, method)
    assert after >= before
    instead = [*ordered[:-n_lost], *[math.inf] * min(n_lost, len(ordered))]
    assert percentile(connection, instead, share, method) >= before
