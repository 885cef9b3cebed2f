"""Stored queries against a second computation in plain Python and numpy, over made-up runs."""

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses import accounting, distribution, rates
from headway.catalog import Catalog
from headway.model import (
    Basis,
    Method,
    Metric,
    Objective,
    Origin,
    Outcome,
    Selection,
    Status,
    Stratum,
    Window,
)
from libraries import make_run, open_runs

Row = dict[str, Any]

SHARES = (0.05, 0.5, 0.55, 0.9, 0.99)
PER_REQUEST = [metric for metric in Metric if metric is not Metric.GAP]
LENGTHS = st.sampled_from([None, 0, 1, 2, 13])
# Few different values, so that ties are common; one of them is huge.
TIMES = st.sampled_from([0, 1, 250_000, 400_000, 1_000_000, 2_500_000, 10**12])
GAPS = st.lists(st.sampled_from([0, 1, 20_000, 2_000_000]), max_size=4)
LIMITS_MS = st.none() | st.sampled_from([0.001, 250.0, 650.0, 1000.0, 1e9])


@st.composite
def requests(draw: st.DrawFn, *, timed: bool, scheduled: bool, warm: bool = True) -> Row:
    """Draw a request that keeps the rules of the record."""
    outcome = draw(st.sampled_from(list(Outcome)))
    row: Row = {
        "outcome": outcome.value,
        "phase": draw(st.sampled_from(["measured", "measured", "warmup"])) if warm else "measured",
        "prompt_tokens": draw(LENGTHS),
        "source_success": draw(st.sampled_from([None, False, True])),
    }
    if timed and scheduled:
        row["scheduled_us"] = draw(TIMES)
    if outcome is Outcome.NOT_SENT:
        return row | {"source_success": None}
    if timed:
        row["sent_us"] = row.get("scheduled_us", draw(TIMES)) + draw(
            st.sampled_from([-5_000, 0, 5_000])
        )
    if outcome is Outcome.COMPLETED or draw(st.booleans()):
        row |= draw(answers(latency=outcome is Outcome.COMPLETED or bool(row["source_success"])))
    return row


@st.composite
def answers(draw: st.DrawFn, *, latency: bool) -> Row:
    """Draw what came back: chunks that start at the first token and end with the answer."""
    gaps = draw(GAPS)
    ttft_us = draw(st.sampled_from([0, 1, 100_000, 250_000]))
    row: Row = {"ttft_us": ttft_us, "output_tokens": draw(LENGTHS), "chunk_gaps_us": gaps}
    return row | ({"latency_us": ttft_us + sum(gaps)} if latency else {})


@st.composite
def runs(draw: st.DrawFn) -> list[Row]:
    """Draw the rows of a run, with at least one of them measured."""
    timed, scheduled = draw(st.booleans()), draw(st.booleans())
    first = draw(requests(timed=timed, scheduled=scheduled, warm=False))
    return [first, *draw(st.lists(requests(timed=timed, scheduled=scheduled), max_size=12))]


windows = st.builds(
    Window,
    st.none() | st.sampled_from([0, 250_000, 1_000_000]),
    st.none() | st.sampled_from([1_000_001, 2_500_000, 2_500_001]),
)


def arrival(row: Row) -> int | None:
    known = [row[name] for name in ("scheduled_us", "sent_us") if name in row]
    return min(known, default=None)


def in_window(rows: Sequence[Row], window: Window) -> list[Row]:
    """Return the measured requests of a window, in the way the Methods page words it."""
    measured = [row for row in rows if row["phase"] == "measured"]
    known = [us for row in measured if (us := arrival(row)) is not None]
    if not known:
        return measured
    start = min(known) if window.start_us is None else window.start_us
    end = max(known) + 1 if window.end_us is None else window.end_us
    whole = window == Window()
    return [
        row for row in measured if (whole if (us := arrival(row)) is None else start <= us < end)
    ]


def slip_us(rows: Sequence[Row], row: Row, origin: Origin) -> int:
    """Return what the origin adds: the schedule counts only where every send has one."""
    measured = [each for each in rows if each["phase"] == "measured"]
    scheduled = any("scheduled_us" in each for each in measured) and not any(
        "sent_us" in each and "scheduled_us" not in each for each in measured
    )
    if origin is Origin.SENT or not scheduled or "sent_us" not in row:
        return 0
    return max(0, int(row["sent_us"] - row["scheduled_us"]))


def value_ms(row: Row, metric: Metric, slip: int) -> float | None:
    gaps, ttft, latency = row.get("chunk_gaps_us"), row.get("ttft_us"), row.get("latency_us")
    tokens = row.get("output_tokens")
    if metric is Metric.TTFT:
        return None if ttft is None else (ttft + slip) / 1000
    if metric is Metric.LATENCY:
        return None if latency is None else (latency + slip) / 1000
    if metric is Metric.STALL:
        return max(gaps) / 1000 if gaps else None
    known = None not in (tokens, latency, ttft)
    return (latency - ttft) / (tokens - 1) / 1000 if known and tokens != 1 else None  # type: ignore[operator]


def applies(row: Row, metric: Metric) -> bool:
    """Tell whether the answer is long enough to have the metric; unknown lengths are."""
    tokens, gaps = row.get("output_tokens"), row.get("chunk_gaps_us")
    short = tokens is not None and tokens <= 1
    if metric is Metric.STALL:
        return not short and gaps != []
    return metric is not Metric.TPOT or not short


def samples(rows: Sequence[Row], selection: Selection, metric: Metric) -> list[float]:
    """Return the sorted population of a metric, the lost at infinity."""
    found = []
    for row in in_window(rows, selection.window):
        completed = row["outcome"] == "completed"
        mine = {
            Basis.OFFERED: True,
            Basis.COMPLETED: completed,
            Basis.SOURCE: bool(row["source_success"]),
        }[selection.basis]
        delivered = metric is Metric.TTFT or selection.basis is Basis.SOURCE or completed
        if not mine or (delivered and not applies(row, metric)):
            continue
        value = value_ms(row, metric, slip_us(rows, row, selection.origin)) if delivered else None
        if value is not None:
            found.append(value)
        elif selection.basis is Basis.OFFERED:
            found.append(math.inf)
    return sorted(found)


def nearest(values: Sequence[float], share: float) -> float:
    rank = math.ceil(Fraction(str(share)) * len(values))
    return values[max(rank, 1) - 1]


def linear(values: Sequence[float], share: float) -> float:
    position = Fraction(str(share)) * (len(values) - 1)
    below = int(position)
    if position == below:
        return values[below]
    if math.isinf(values[below + 1]):
        return math.inf
    return values[below] + float(position - below) * (values[below + 1] - values[below])


def opened(rows: Sequence[Row], folder: str) -> Catalog:
    found = open_runs(Path(folder), make_run(rows))
    assert found.broken == ()
    return found


@given(runs(), windows, st.sampled_from(Basis), st.sampled_from(Origin), st.sampled_from(Method))
def test_percentiles_counts_and_means_are_those_of_the_sorted_population(
    rows: list[Row], window: Window, basis: Basis, origin: Origin, method: Method
) -> None:
    selection = Selection(("r0",), window, basis, origin, method)
    percentile = {Method.NEAREST: nearest, Method.LINEAR: linear}[method]
    with TemporaryDirectory() as folder:
        catalog = opened(rows, folder)
        for metric in PER_REQUEST:
            (found,) = distribution.describe(catalog, selection, metric, SHARES)
            values = samples(rows, selection, metric)
            finite = [value for value in values if math.isfinite(value)]
            assert found.n == len(finite)
            if not values or found.status is not Status.MEASURED:
                assert not finite
                continue
            expected = [percentile(values, share) for share in SHARES]
            assert [p.not_reached for p in found.percentiles] == [math.isinf(e) for e in expected]
            assert [p.value_ms for p in found.percentiles] == [
                None if math.isinf(e) else pytest.approx(e, rel=1e-9, abs=1e-9) for e in expected
            ]
            lost = len(finite) < len(values)
            assert found.mean_ms == (None if lost else pytest.approx(np.mean(values), rel=1e-9))
            assert found.max_ms == (max(finite) if finite else None)


@given(runs(), windows, st.sampled_from([Basis.COMPLETED, Basis.SOURCE]))
def test_pooled_gaps_are_those_of_the_population(
    rows: list[Row], window: Window, basis: Basis
) -> None:
    selection = Selection(("r0",), window, basis, method=Method.LINEAR)
    pooled = sorted(
        gap / 1000
        for row in in_window(rows, window)
        for gap in row.get("chunk_gaps_us", ())
        if (row["outcome"] == "completed" if basis is Basis.COMPLETED else row["source_success"])
    )
    with TemporaryDirectory() as folder:
        (found,) = distribution.describe(opened(rows, folder), selection, Metric.GAP, SHARES)
    assert found.n == len(pooled)
    if pooled:
        expected = np.quantile(pooled, SHARES)
        assert [p.value_ms for p in found.percentiles] == pytest.approx(expected, rel=1e-9)


@given(runs(), windows)
def test_the_nine_outcomes_add_up_to_the_offered_of_any_window(
    rows: list[Row], window: Window
) -> None:
    inside = in_window(rows, window)
    with TemporaryDirectory() as folder:
        account = accounting.accounts(opened(rows, folder), Selection(("r0",), window))["r0"]
    assert account.n_offered == sum(account.outcomes.values()) == len(inside)
    assert account.outcomes == {
        outcome: sum(row["outcome"] == outcome for row in inside) for outcome in Outcome
    }
    assert account.balanced


@given(runs(), windows, st.sampled_from(Origin), LIMITS_MS, LIMITS_MS, LIMITS_MS, LIMITS_MS)
def test_attainment_counts_completed_requests_within_every_limit(
    rows: list[Row],
    window: Window,
    origin: Origin,
    ttft: float | None,
    tpot: float | None,
    stall: float | None,
    latency: float | None,
) -> None:
    objective = Objective(ttft, tpot, stall, latency)
    selection = Selection(("r0",), window, origin=origin)
    inside = in_window(rows, window)

    def met(row: Row) -> bool:
        if row["outcome"] != "completed":
            return False
        slip = slip_us(rows, row, origin)
        for metric, limit in objective.limits().items():
            value = value_ms(row, metric, slip)
            if applies(row, metric) and (value is None or value > limit):
                return False
        return True

    with TemporaryDirectory() as folder:
        found = rates.attainments(opened(rows, folder), selection, objective)
    assert set(found) == ({"r0"} if inside else set())
    if inside:
        n_completed = sum(row["outcome"] == "completed" for row in inside)
        assert found["r0"].n_met == sum(map(met, inside)) <= n_completed
        assert found["r0"].attained == found["r0"].n_met / len(inside)


@given(runs(), windows)
def test_rates_count_completions_and_delivered_tokens_by_their_own_time(
    rows: list[Row], window: Window
) -> None:
    selection = Selection(("r0",), window)
    with TemporaryDirectory() as folder:
        catalog = opened(rows, folder)
        span = accounting.intervals(catalog, selection)["r0"]
        found = rates.rates(catalog, selection)["r0"]
    if span.start_us is None or span.end_us is None or span.end_us - span.start_us < 1_000_000:
        assert found.output_tokens_per_s is None
        assert found.completed_rps is None
        return
    seconds = (span.end_us - span.start_us) / 1e6
    n_completed, n_tokens = 0, 0.0
    for row in rows:
        if row["phase"] == "warmup" or "ttft_us" not in row:
            continue
        sent = row["sent_us"]
        instants = sent + row["ttft_us"] + np.cumsum([0, *row["chunk_gaps_us"]])
        inside = (instants >= span.start_us) & (instants < span.end_us)
        n_tokens += (row["output_tokens"] or 0) * float(np.mean(inside))
        if row["outcome"] == "completed":
            n_completed += span.start_us <= sent + row["latency_us"] < span.end_us
    unknown = any(
        row["outcome"] == "completed" and row["output_tokens"] is None
        for row in rows
        if row["phase"] == "measured"
    )
    assert found.n_completed == n_completed
    assert found.completed_rps == pytest.approx(n_completed / seconds)
    if unknown:
        assert found.output_tokens_per_s is None
    else:
        assert found.output_tokens_per_s == pytest.approx(n_tokens / seconds)


@settings(max_examples=25)
@given(runs(), st.sampled_from(Stratum), st.sampled_from(Metric), st.sampled_from(Basis))
def test_a_curve_rises_to_the_share_that_was_delivered(
    rows: list[Row], stratum: Stratum, metric: Metric, basis: Basis
) -> None:
    selection = Selection(("r0",), basis=basis, stratum=stratum)
    with TemporaryDirectory() as folder:
        catalog = opened(rows, folder)
        points = distribution.curve(catalog, selection, metric)
        described = {d.stratum: d for d in distribution.describe(catalog, selection, metric)}
    for (name,), mine in points.group_by("stratum", maintain_order=True):
        assert mine["n_at_most"].is_sorted()
        assert mine["value_ms"].is_sorted()
        assert mine["share"].is_sorted()
        last = mine.row(-1, named=True)
        assert last["n_at_most"] == described[str(name)].n
        assert last["share"] == last["n_at_most"] / last["denominator"]
