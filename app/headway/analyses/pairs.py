"""What became of each request on both sides: transitions, and who waits longer."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl

from headway.analyses.sides import Side
from headway.catalog import Catalog
from headway.model import Metric, Objective, Origin, Outcome, Window
from headway.stats.attainment import meets
from headway.stats.effective import Booleans, Floats

_CURVE_POINTS = 600
_SCATTER_POINTS = 2000


class Success(StrEnum):
    """What counts as a success of a request."""

    COMPLETED = "completed"
    MET = "met"


@dataclass(frozen=True, slots=True)
class Transition:
    """How many requests had one outcome in A and one in B; None is not offered on that side."""

    a: Outcome | None
    b: Outcome | None
    n: int


@dataclass(frozen=True, slots=True)
class Discordant:
    """Requests that succeeded on one side only, of those that both sides offered.

    A count and no test: requests of one run fail together, so that a p-value over them finds a
    difference between two runs of one policy in up to 94% of pairs.
    """

    of: Success
    both: int
    a_only: int
    b_only: int
    neither: int


@dataclass(frozen=True, slots=True)
class Paired:
    """One metric of the requests that both sides offered and that it applies to on both.

    `n` pairs are `n_both` delivered on both sides, `n_lost` in A only, `n_gained` in B only, and
    `n_neither`. A lost request waits longer than any that was delivered, so `n_worse` counts the
    lost and `n_better` the gained; the medians are over the delivered on both sides alone.
    `median_relative` is the median of each request's own change, (b − a) ÷ a.
    """

    metric: Metric
    n: int
    n_both: int
    n_lost: int
    n_gained: int
    n_neither: int
    n_better: int
    n_worse: int
    n_same: int
    median_delta_ms: float | None
    median_relative: float | None


def frame(
    catalog: Catalog, a: Side, b: Side, window: Window, origin: Origin, objective: Objective | None
) -> pl.DataFrame:
    """Return the requests of both sides, runs paired in order, as comparison/pairs has them.

    `pair` numbers the pair of runs. A run that the other side has no partner for is left out. With
    an objective, `a_met` and `b_met` say who met it; without, who completed.
    """
    n_pairs = min(len(a.runs), len(b.runs))
    runs_a, runs_b = a.run_ids[:n_pairs], b.run_ids[:n_pairs]
    rows = _rows(catalog, runs_a, runs_b, window, origin)
    limits = {} if objective is None else objective.limits()
    return rows.with_columns(_met(rows, "a", limits), _met(rows, "b", limits))


def _rows(
    catalog: Catalog,
    runs_a: tuple[str, ...],
    runs_b: tuple[str, ...],
    window: Window,
    origin: Origin,
) -> pl.DataFrame:
    """Return the pairs of runs, remembered: limits move, and the requests stay."""
    return catalog.remember(
        ("pairs", runs_a, runs_b, window, origin),
        lambda: catalog.query(
            "comparison/pairs",
            runs_a=list(runs_a),
            runs_b=list(runs_b),
            start_us=window.start_us,
            end_us=window.end_us,
            origin=origin.value,
        ),
    )


def _met(rows: pl.DataFrame, side: str, limits: dict[Metric, float]) -> pl.Series:
    """Return who completed and kept every limit; what has no cadence keeps its limit."""
    completed = rows[f"{side}_outcome"].eq_missing(Outcome.COMPLETED.value).to_numpy()
    values = {m: rows[f"{side}_{m.value}"].fill_null(-np.inf).to_numpy() for m in limits}
    return pl.Series(f"{side}_met", meets(completed, values, limits))


def both(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the requests that both sides offered."""
    return rows.filter(pl.col("a_outcome").is_not_null() & pl.col("b_outcome").is_not_null())


def transitions(rows: pl.DataFrame) -> tuple[Transition, ...]:
    """Count every offered request of either side by what became of it, in the order of outcomes."""
    counted = rows.group_by("a_outcome", "b_outcome").len("n")
    found = [
        Transition(_outcome(row["a_outcome"]), _outcome(row["b_outcome"]), row["n"])
        for row in counted.iter_rows(named=True)
    ]
    order = [*Outcome, None]
    return tuple(sorted(found, key=lambda each: (order.index(each.a), order.index(each.b))))


def discordant(rows: pl.DataFrame, of: Success) -> Discordant:
    """Count the requests that succeeded on one side only."""
    names = ("a_met", "b_met") if of is Success.MET else ("a_outcome", "b_outcome")
    known = both(rows)
    first, second = (_succeeded(known[name]) for name in names)
    a_only, b_only = int((first & ~second).sum()), int((second & ~first).sum())
    return Discordant(
        of=of,
        both=int((first & second).sum()),
        a_only=a_only,
        b_only=b_only,
        neither=int((~first & ~second).sum()),
    )


def _succeeded(column: pl.Series) -> Booleans:
    found = column if column.dtype == pl.Boolean else column == Outcome.COMPLETED.value
    return found.to_numpy()


def paired(rows: pl.DataFrame, metric: Metric) -> Paired:
    """Compare one metric request by request, over those that both sides offered."""
    a, b = values(both(rows), metric)
    in_a, in_b = np.isfinite(a), np.isfinite(b)
    delivered = in_a & in_b
    first, second = a[delivered], b[delivered]
    delta = second - first
    positive = first > 0
    return Paired(
        metric=metric,
        n=len(a),
        n_both=int(delivered.sum()),
        n_lost=int((in_a & ~in_b).sum()),
        n_gained=int((in_b & ~in_a).sum()),
        n_neither=int((~in_a & ~in_b).sum()),
        n_better=int((b < a).sum()),
        n_worse=int((b > a).sum()),
        n_same=int((b == a).sum()),
        median_delta_ms=_median(delta),
        median_relative=_median(delta[positive] / first[positive]),
    )


def values(rows: pl.DataFrame, metric: Metric) -> tuple[Floats, Floats]:
    """Return a metric on both sides where it applies on both; lost requests at +infinity."""
    a, b = rows[f"a_{metric.value}"], rows[f"b_{metric.value}"]
    if a.null_count() or b.null_count():
        applies = a.is_not_null() & b.is_not_null()
        a, b = a.filter(applies), b.filter(applies)
    return a.to_numpy(), b.to_numpy()


def side_values(rows: pl.DataFrame, side: str, metric: Metric) -> Floats:
    """Return a metric of every offered request of one side that it applies to."""
    return rows[f"{side}_{metric.value}"].drop_nulls().to_numpy()


def _median(found: Floats) -> float | None:
    """Return the middle request's value; of two middle ones, their mean."""
    return float(np.median(found)) if len(found) else None


def differences(rows: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    """Return the distribution of b − a over the pairs delivered on both sides, thinned.

    Columns `delta_ms` and `share` (of these pairs at or below it); both ends are kept.
    """
    a, b = values(both(rows), metric)
    delivered = np.isfinite(a) & np.isfinite(b)
    delta = np.sort(b[delivered] - a[delivered])
    n = len(delta)
    places = np.unique(np.linspace(0, max(n - 1, 0), min(n, _CURVE_POINTS)).astype(int))
    return pl.DataFrame(
        {"delta_ms": delta[places], "share": (places + 1) / max(n, 1)},
        schema={"delta_ms": pl.Float64, "share": pl.Float64},
    )


def scatter(rows: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    """Return pairs delivered on both sides to draw, at most about 2,000: the widest and a sample.

    Columns `request_index`, `arrival_us`, `prompt_tokens`, `a_ms`, `b_ms`, `delta_ms`.
    """
    a_ms, b_ms = f"a_{metric.value}", f"b_{metric.value}"
    known = both(rows).filter(pl.col(a_ms).is_finite() & pl.col(b_ms).is_finite())
    drawn = known.select(
        "request_index",
        "arrival_us",
        "prompt_tokens",
        a_ms=pl.col(a_ms),
        b_ms=pl.col(b_ms),
        delta_ms=pl.col(b_ms) - pl.col(a_ms),
    )
    if drawn.height <= _SCATTER_POINTS:
        return drawn
    widest = drawn.top_k(_SCATTER_POINTS // 10, by=pl.col("delta_ms").abs())
    step = drawn.height // (_SCATTER_POINTS - widest.height) + 1
    return pl.concat([drawn.gather_every(step), widest]).unique(
        "request_index", maintain_order=True
    )


def _outcome(value: str | None) -> Outcome | None:
    return None if value is None else Outcome(value)


def members(
    catalog: Catalog,
    a: Side,
    b: Side,
    window: Window,
    origin: Origin,
    cell: tuple[Outcome | None, Outcome | None],
    n_rows: int = 200,
) -> pl.DataFrame:
    """Return the requests behind one cell of the transitions, pair by pair and by arrival.

    At most `n_rows` of each pair of runs.
    """
    n_pairs = min(len(a.runs), len(b.runs))
    a_outcome, b_outcome = (None if outcome is None else outcome.value for outcome in cell)
    return catalog.query(
        "comparison/cell",
        runs_a=list(a.run_ids[:n_pairs]),
        runs_b=list(b.run_ids[:n_pairs]),
        start_us=window.start_us,
        end_us=window.end_us,
        origin=origin.value,
        a_outcome=a_outcome,
        b_outcome=b_outcome,
        n_rows=n_rows,
    )
