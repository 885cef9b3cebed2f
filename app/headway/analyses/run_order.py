"""In which order were the runs of a comparison made, and did the machine change meanwhile?"""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.analyses import accounting, distribution
from headway.catalog import Catalog
from headway.model import Metric, Outcome, RunInfo, Selection

_METRICS = (Metric.TTFT, Metric.TPOT, Metric.STALL)


@dataclass(frozen=True, slots=True)
class Placed:
    """A run in the order of time, with the medians of what it was offered; None: not reached."""

    place: int
    run: RunInfo
    n_completed: int
    medians_ms: dict[Metric, float | None]


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
