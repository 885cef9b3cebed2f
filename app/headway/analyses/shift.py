"""How far does each percentile move from A to B, on the offered basis, and in which classes?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import polars as pl

from headway.analyses import measured, pairs
from headway.analyses.measured import METRICS
from headway.analyses.pairs import Paired
from headway.analyses.sides import Side
from headway.catalog import Catalog
from headway.model import Metric, Origin, Outcome, Status, Window
from headway.stats.dominance import Dominance, dominance
from headway.stats.effective import Floats
from headway.stats.percentiles import percentiles_of
from headway.stats.within_run import Within, within_run

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_CLASS_SHARES = (0.5, 0.99)


class Change(StrEnum):
    """What happens to a percentile from A to B."""

    MEASURED = "measured"
    LOST = "lost"
    GAINED = "gained"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class ShiftPoint:
    """One percentile on both sides, and its change.

    A percentile that falls among requests that never delivered is None, and so is its change: LOST
    is reached in A only, GAINED in B only, NEITHER on no side. Over replicates a value is the
    geometric mean of the runs, reached only where each run reaches it; `a_runs` and `b_runs` are
    theirs. `relative` is (b − a) ÷ a. `noise` is the largest relative difference between two runs
    of one policy at this load, where the study has any. `within` bounds `relative` over blocks of
    two single runs drawn again: variation within them, not between runs.
    """

    share: float
    a_ms: float | None
    b_ms: float | None
    change: Change
    delta_ms: float | None
    relative: float | None
    a_runs: tuple[float | None, ...]
    b_runs: tuple[float | None, ...]
    noise: float | None = None
    within: Within | None = None


@dataclass(frozen=True, slots=True)
class MetricShift:
    """One metric on both sides: percentiles over all offered requests it applies to.

    `paired` is None where requests must not be paired. `dominance` describes the pooled requests
    of each side.
    """

    metric: Metric
    a_status: Status
    b_status: Status
    points: tuple[ShiftPoint, ...]
    dominance: Dominance | None
    paired: Paired | None

    @property
    def is_measured(self) -> bool:
        """Whether both sides measured it."""
        return self.a_status is self.b_status is Status.MEASURED

    def at(self, share: float) -> ShiftPoint:
        """Return one of the percentiles."""
        return next(point for point in self.points if point.share == share)


@dataclass(frozen=True, slots=True)
class Taken:
    """A metric of one run: all its values, and how many completed requests lack one."""

    values: Floats
    n_unknown: int

    @property
    def status(self) -> Status:
        """Why there is a number, or not."""
        if len(self.values) == 0:
            return Status.NOT_APPLICABLE
        if not np.isfinite(self.values).any() and self.n_unknown:
            return Status.NOT_RECORDED
        return Status.MEASURED


RunValues = Mapping[Metric, Taken]


def of_frame(rows: pl.DataFrame, side: str) -> RunValues:
    """Return the metrics of one side of one pair of runs."""
    completed = rows[f"{side}_outcome"] == Outcome.COMPLETED.value
    return {metric: _taken(rows[f"{side}_{metric.value}"], completed) for metric in METRICS}


def of_run(catalog: Catalog, run_id: str, window: Window, origin: Origin) -> RunValues:
    """Return the metrics of a run that has no partner."""
    rows = measured.inside(measured.requests(catalog, (run_id,), origin)[run_id], window)
    completed = rows["outcome"] == Outcome.COMPLETED.value
    return {metric: _taken(rows[metric.value], completed) for metric in METRICS}


def _taken(column: pl.Series, completed: pl.Series) -> Taken:
    unknown = (completed & column.is_infinite()).fill_null(False)
    return Taken(column.drop_nulls().to_numpy(), int(unknown.sum()))


def of_side(
    catalog: Catalog, side: Side, rows: pl.DataFrame, name: str, window: Window, origin: Origin
) -> list[RunValues]:
    """Return the metrics of every run of a side: of those in the pairs, and of those left over."""
    in_pairs = rows.partition_by("pair", maintain_order=True)
    rest = side.runs[len(in_pairs) :]
    return [
        *(of_frame(pair, name) for pair in in_pairs),
        *(of_run(catalog, run.run_id, window, origin) for run in rest),
    ]


def shift(
    metric: Metric,
    a: Sequence[RunValues],
    b: Sequence[RunValues],
    compared: Paired | None,
    noise: Mapping[tuple[Metric, float], float],
    within: Sequence[Within] = (),
) -> MetricShift:
    """Return the change of every percentile of one metric, with its bands where there are any."""
    ours, theirs = ([run[metric] for run in runs] for runs in (a, b))
    statuses = _status(ours), _status(theirs)
    measured = statuses == (Status.MEASURED, Status.MEASURED)
    return MetricShift(
        metric=metric,
        a_status=statuses[0],
        b_status=statuses[1],
        points=_points(metric, ours, theirs, noise, within) if measured else (),
        dominance=dominance(_pooled(ours), _pooled(theirs)) if measured else None,
        paired=compared if measured else None,
    )


def within(rows: pl.DataFrame, metrics: Sequence[Metric]) -> dict[Metric, tuple[Within, ...]]:
    """Return the band of every percentile within one pair of runs, by metric."""
    names = [f"{side}_{metric.value}" for side in "ab" for metric in metrics]
    known = pairs.both(rows).select("arrival_us", "request_index", *names)
    if known["arrival_us"].null_count():
        return {}  # without times there are no stretches of a run
    ordered = known.sort("arrival_us", "request_index")
    return {metric: within_run(*pairs.values(ordered, metric), SHARES) for metric in metrics}


def _status(runs: Sequence[Taken]) -> Status:
    found = [run.status for run in runs]
    for worst in (Status.NOT_RECORDED, Status.NOT_APPLICABLE):
        if worst in found:
            return worst
    return Status.MEASURED


def _pooled(runs: Sequence[Taken]) -> Floats:
    return runs[0].values if len(runs) == 1 else np.concatenate([run.values for run in runs])


def _points(
    metric: Metric,
    a: Sequence[Taken],
    b: Sequence[Taken],
    noise: Mapping[tuple[Metric, float], float],
    within: Sequence[Within],
) -> tuple[ShiftPoint, ...]:
    of_a = np.array([percentiles_of(run.values, SHARES) for run in a])
    of_b = np.array([percentiles_of(run.values, SHARES) for run in b])
    return tuple(
        replace(
            _point(share, of_a[:, place], of_b[:, place], noise.get((metric, share))),
            within=within[place] if within else None,
        )
        for place, share in enumerate(SHARES)
    )


def _point(share: float, a: Floats, b: Floats, noise: float | None) -> ShiftPoint:
    first, second = _middle(a), _middle(b)
    delta, relative, change = moved(first, second)
    return ShiftPoint(
        share=share,
        a_ms=first,
        b_ms=second,
        change=change,
        delta_ms=delta,
        relative=relative,
        a_runs=tuple(_finite(value) for value in a),
        b_runs=tuple(_finite(value) for value in b),
        noise=noise,
    )


def moved(a: float | None, b: float | None) -> tuple[float | None, float | None, Change]:
    """Return b − a, (b − a) ÷ a, and what happened; a lost side has neither number."""
    if a is None or b is None:
        if a is None and b is None:
            return None, None, Change.NEITHER
        return None, None, Change.LOST if b is None else Change.GAINED
    return b - a, (b - a) / a if a > 0 else None, Change.MEASURED


def _middle(runs: Floats) -> float | None:
    """Return the geometric mean of the runs; None where one of them does not reach the value."""
    if not np.isfinite(runs).all():
        return None
    if len(runs) == 1 or (runs <= 0).any():
        return float(runs.mean())
    return float(np.exp(np.log(runs).mean()))


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def run_percentiles(runs: RunValues) -> dict[tuple[Metric, float], float | None]:
    """Return every percentile of a run; None where it is not reached or not measured."""
    return {
        (metric, share): _finite(value)
        for metric, taken in runs.items()
        for share, value in zip(SHARES, percentiles_of(taken.values, SHARES), strict=True)
    }


def at_shares(
    a: Floats, b: Floats, shares: Sequence[float] = _CLASS_SHARES
) -> tuple[ShiftPoint, ...]:
    """Return the change of a few percentiles of two lists of requests."""
    if len(a) == 0 or len(b) == 0:
        return ()
    of_a, of_b = percentiles_of(a, shares), percentiles_of(b, shares)
    return tuple(
        _point(share, of_a[[place]], of_b[[place]], None) for place, share in enumerate(shares)
    )


def pooled_values(rows: pl.DataFrame, metric: Metric) -> tuple[Floats, Floats]:
    """Return a metric of all offered requests of each side in these rows."""
    return pairs.side_values(rows, "a", metric), pairs.side_values(rows, "b", metric)
