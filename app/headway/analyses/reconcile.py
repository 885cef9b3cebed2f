"""Our number beside the tool's own: do they agree, and if not, why?"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headway.analyses import accounting, distribution
from headway.catalog import Catalog
from headway.model import (
    Basis,
    Method,
    Metric,
    Origin,
    Outcome,
    RunInfo,
    Selection,
    Status,
    ToolAggregate,
)

TOLERANCE = 0.001
RESOLUTION_MS = 0.002


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number the tool printed, the same number from the record, and Headway's own.

    `recomputed_ms` repeats the tool's definition: its own population, linear interpolation,
    latencies from the send. `ours_ms` is the same statistic over the requests that Headway counts
    as completed.
    """

    metric: Metric
    statistic: str
    reported_ms: float
    recomputed_ms: float | None
    ours_ms: float | None
    agrees: bool
    definition: str

    @property
    def differs(self) -> bool:
        """Whether Headway's own number is not the tool's."""
        return self.ours_ms is None or not _close(self.ours_ms, self.reported_ms)


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """All the tool's numbers of one run, and one line of why they differ from Headway's."""

    run_id: str
    comparisons: tuple[Comparison, ...]
    why: str


def reconcile(catalog: Catalog, run_id: str) -> Reconciliation:
    """Compare every number that the run's tool printed with the record."""
    run = catalog.run(run_id)
    selection = Selection((run_id,), origin=Origin.SENT, method=Method.LINEAR)
    metrics = dict.fromkeys(aggregate.metric for aggregate in run.tool.aggregates)
    found: list[Comparison] = []
    for metric in metrics:
        mine = [a for a in run.tool.aggregates if a.metric is metric]
        theirs = _values(catalog, replace(selection, basis=Basis.SOURCE), metric, mine)
        ours = _values(catalog, replace(selection, basis=Basis.COMPLETED), metric, mine)
        found += [_compare(a, theirs[a.statistic], ours[a.statistic]) for a in mine]
    account = accounting.accounts(catalog, selection)[run_id]
    return Reconciliation(run_id, tuple(found), _why(run, account, found))


def _values(
    catalog: Catalog, selection: Selection, metric: Metric, wanted: Iterable[ToolAggregate]
) -> dict[str, float | None]:
    """Return the wanted statistics of a metric by name, such as mean, max or p99.9."""
    shares = sorted({_share(a.statistic) for a in wanted if a.statistic.startswith("p")})
    described = distribution.describe(catalog, selection, metric, shares)[0]
    if described.status is not Status.MEASURED:
        return {a.statistic: None for a in wanted}
    by_share = {point.share: point.value_ms for point in described.percentiles}
    whole = {"mean": described.mean_ms, "max": described.max_ms}
    return {
        a.statistic: by_share.get(_share(a.statistic))
        if a.statistic.startswith("p")
        else whole.get(a.statistic)
        for a in wanted
    }


def _share(statistic: str) -> float:
    return round(float(statistic.removeprefix("p")) / 100, 9)


def _compare(reported: ToolAggregate, theirs: float | None, ours: float | None) -> Comparison:
    agrees = theirs is not None and _close(theirs, reported.value_ms)
    return Comparison(
        metric=reported.metric,
        statistic=reported.statistic,
        reported_ms=reported.value_ms,
        recomputed_ms=theirs,
        ours_ms=ours,
        agrees=agrees,
        definition=reported.definition,
    )


def _close(ours_ms: float, reported_ms: float) -> bool:
    return abs(ours_ms - reported_ms) <= max(TOLERANCE * abs(reported_ms), RESOLUTION_MS)


def _why(run: RunInfo, account: accounting.Account, found: list[Comparison]) -> str:
    if not found:
        return "The source prints no numbers of its own to compare with."
    n_completed = account.outcomes[Outcome.COMPLETED]
    n_tool = run.tool.n_completed
    lost = ", ".join(
        f"{account.outcomes[o]} {o.value.replace('_', ' ')}"
        for o in Outcome
        if o is not Outcome.COMPLETED and account.outcomes[o]
    )
    population = (
        f"The tool counts {n_tool} of {account.n_offered} requests as good; Headway counts "
        f"{n_completed} completed{f' ({lost})' if lost else ''}"
    )
    unexplained = sum(not comparison.agrees for comparison in found)
    if unexplained:
        return (
            f"{population}. {unexplained} of the tool's {len(found)} numbers cannot be reproduced "
            "from its own requests."
        )
    if n_tool == n_completed:
        return f"{population}; all {len(found)} of the tool's numbers follow from them."
    return (
        f"{population}, so percentiles over the completed differ; over the tool's own population "
        f"all {len(found)} of its numbers are reproduced."
    )
