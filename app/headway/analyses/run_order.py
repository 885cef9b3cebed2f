"""In which order were the runs of a comparison made, and did the machine change meanwhile?"""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.analyses import accounting, distribution
from headway.analyses.sessions import began_at
from headway.analyses.sides import Side
from headway.catalog import Catalog
from headway.model import Metric, Outcome, RunInfo, Selection
from headway.stats import order

_METRICS = (Metric.TTFT, Metric.TPOT, Metric.STALL)


@dataclass(frozen=True, slots=True)
class Placed:
    """A run in the order of time, with the medians of what it was offered; None: not reached."""

    place: int
    run: RunInfo
    n_completed: int
    medians_ms: dict[Metric, float | None]


def sequence(catalog: Catalog, a: Side, b: Side) -> str | None:
    """Return the runs of two sides in the order they were made, as letters; None where unknown.

    A run lasts at least until its last arrival.
    """
    if {run.run_id for run in a.runs} & {run.run_id for run in b.runs}:
        return None
    times = [_times(catalog, side) for side in (a, b)]
    first, second = times
    return None if first is None or second is None else order.sequence(first, second)


def _times(catalog: Catalog, side: Side) -> list[tuple[float, float]] | None:
    spans = accounting.intervals(catalog, Selection(side.run_ids))
    found = []
    for run in side.runs:
        began, span = began_at(run), spans.get(run.run_id)
        if began is None:
            return None
        lasted_us = (span.end_us if span is not None else None) or 0
        found.append((began.timestamp(), began.timestamp() + lasted_us / 1e6))
    return found


def in_order(catalog: Catalog, runs: Sequence[RunInfo]) -> tuple[Placed, ...]:
    """Return runs by when they began; none where one of them does not say when it did.

    Replicates made one after the other carry any drift of the machine into the comparison, which
    no interval between runs shows.
    """
    if any(run.started_at is None for run in runs):
        return ()
    ordered = sorted(runs, key=lambda run: run.started_at or "")
    selection = Selection(tuple(run.run_id for run in ordered))
    counted = accounting.accounts(catalog, selection)
    medians: dict[str, dict[Metric, float | None]] = {run.run_id: {} for run in ordered}
    for metric in _METRICS:
        for each in distribution.describe(catalog, selection, metric, (0.5,)):
            value = each.percentiles[0].value_ms if each.percentiles else None
            medians[each.run_id][metric] = value
    return tuple(
        Placed(
            place,
            run,
            counted[run.run_id].outcomes[Outcome.COMPLETED],
            medians[run.run_id],
        )
        for place, run in enumerate(ordered, 1)
    )
