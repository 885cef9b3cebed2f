"""What holds of every comparison: swapped sides mirror it, and a lost request is never a number."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses import pairs, shift
from headway.analyses.shift import Change
from headway.model import Metric, Outcome

LOST = [outcome.value for outcome in Outcome if outcome is not Outcome.COMPLETED]
latencies = st.floats(0.001, 1e7)


@st.composite
def sides(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return requests of both sides: offered on either or both, completed or lost on each."""

    def side(name: str, offered: bool) -> dict[str, Any]:
        if not offered:
            return {f"{name}_outcome": None, f"{name}_latency_ms": None}
        outcome = draw(st.sampled_from([Outcome.COMPLETED.value] * 5 + LOST))
        completed = outcome == Outcome.COMPLETED.value
        value = draw(latencies) if completed else np.inf
        return {f"{name}_outcome": outcome, f"{name}_latency_ms": value}

    def row() -> dict[str, Any]:
        a, b = draw(st.sampled_from([(True, True)] * 6 + [(True, False), (False, True)]))
        return side("a", a) | side("b", b)

    return [row() for _ in range(draw(st.integers(1, 25)))]


SCHEMA = {
    name: kind
    for side in ("a", "b")
    for name, kind in ((f"{side}_outcome", pl.String), (f"{side}_latency_ms", pl.Float64))
}


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA)


def swapped(rows: pl.DataFrame) -> pl.DataFrame:
    other = {"a": "b", "b": "a"}
    return rows.rename({name: other[name[0]] + name[1:] for name in rows.columns})


def points(rows: pl.DataFrame) -> tuple[shift.ShiftPoint, ...]:
    return shift.at_shares(*shift.pooled_values(rows, Metric.LATENCY), shift.SHARES)


@given(sides())
def test_swapped_sides_transpose_the_transitions(rows: list[dict[str, Any]]) -> None:
    one, other = (pairs.transitions(each) for each in (frame(rows), swapped(frame(rows))))
    assert {(t.a, t.b, t.n) for t in one} == {(t.b, t.a, t.n) for t in other}
    assert sum(t.n for t in one) == len(rows)


@given(sides())
def test_swapped_sides_negate_every_difference(rows: list[dict[str, Any]]) -> None:
    one, other = points(frame(rows)), points(swapped(frame(rows)))
    mirrored = {
        Change.MEASURED: Change.MEASURED,
        Change.LOST: Change.GAINED,
        Change.GAINED: Change.LOST,
        Change.NEITHER: Change.NEITHER,
    }
    assert [mirrored[point.change] for point in one] == [point.change for point in other]
    for first, second in zip(one, other, strict=True):
        assert (first.delta_ms is None) == (second.delta_ms is None)
        assert (first.delta_ms or 0) == -(second.delta_ms or 0)


@given(sides())
def test_swapped_sides_swap_winners_and_losers(rows: list[dict[str, Any]]) -> None:
    one, other = (
        pairs.paired(each, Metric.LATENCY) for each in (frame(rows), swapped(frame(rows)))
    )
    assert (one.n_better, one.n_worse, one.n_lost) == (
        other.n_worse, other.n_better, other.n_gained,
    )  # fmt: skip
    assert (one.n, one.n_both, one.n_neither, one.n_same) == (
        other.n, other.n_both, other.n_neither, other.n_same,
    )  # fmt: skip
    assert one.median_delta_ms == pytest.approx(
        None if other.median_delta_ms is None else -other.median_delta_ms
    )


@given(sides())
def test_pairs_add_up_and_a_lost_request_is_never_a_number(rows: list[dict[str, Any]]) -> None:
    table = frame(rows)
    found = pairs.paired(table, Metric.LATENCY)
    assert found.n == pairs.both(table).height
    assert found.n_both + found.n_lost + found.n_gained + found.n_neither == found.n
    assert found.n_better + found.n_worse + found.n_same == found.n
    assert pairs.differences(table, Metric.LATENCY)["delta_ms"].is_finite().all()
    for point in points(table):
        numbers = (point.a_ms, point.b_ms, point.delta_ms, point.relative)
        assert all(number is None or np.isfinite(number) for number in numbers)
        assert (point.delta_ms is not None) is (point.change is Change.MEASURED)


@given(sides())
def test_a_side_against_itself_moves_nothing(rows: list[dict[str, Any]]) -> None:
    table = frame(rows).filter(pl.col("a_outcome").is_not_null())
    same = table.with_columns(b_outcome="a_outcome", b_latency_ms="a_latency_ms")
    assert {point.delta_ms for point in points(same)} <= {0, None}
    found = pairs.paired(same, Metric.LATENCY)
    assert found.n_same == found.n


def test_what_is_drawn_of_many_pairs_is_thinned_and_keeps_the_extremes() -> None:
    n = 50_000
    rng = np.random.default_rng(3)
    a, b = rng.lognormal(5, 1, n), rng.lognormal(5, 1, n)
    table = pl.DataFrame(
        {
            "request_index": np.arange(n),
            "arrival_us": np.arange(n),
            "prompt_tokens": np.full(n, 10),
            "a_outcome": ["completed"] * n,
            "b_outcome": ["completed"] * n,
            "a_latency_ms": a,
            "b_latency_ms": b,
        }
    )
    curve = pairs.differences(table, Metric.LATENCY)
    assert curve.height <= 600
    assert curve["delta_ms"].to_list()[:: curve.height - 1] == [(b - a).min(), (b - a).max()]
    assert curve["share"].to_list()[-1] == 1
    drawn = pairs.scatter(table, Metric.LATENCY)
    assert drawn.height <= 2000
    assert drawn["request_index"].is_unique().all()
    assert np.abs(b - a).max() in drawn["delta_ms"].abs().to_list()
