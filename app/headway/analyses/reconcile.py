"""Our number beside the tool's own: do they agree, and if not, why?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway.analyses import accounting, distribution
from headway.analyses.distribution import Description
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
    return reconcile_all(catalog, (run_id,))[run_id]


def reconcile_all(catalog: Catalog, run_ids: Sequence[str]) -> dict[str, Reconciliation]:
    """Compare every number that the tools of runs printed with the record."""
    runs = [catalog.run(run_id) for run_id in run_ids]
    theirs = _described(catalog, runs, Basis.SOURCE)
    ours = _described(catalog, runs, Basis.COMPLETED)
    selection = Selection(tuple(run_ids), origin=Origin.SENT)
    accounts = accounting.accounts(catalog, selection)
    return {run.run_id: _reconciled(run, accounts[run.run_id], theirs, ours) for run in runs}


def _described(
    catalog: Catalog, runs: Sequence[RunInfo], basis: Basis
) -> dict[tuple[str, Metric], Description]:
    """Describe each metric that the tools of these runs print, in two queries a metric."""
    printed: dict[Metric, dict[str, set[float]]] = {}
    for run in runs:
        for aggregate in run.tool.aggregates:
            asked = printed.setdefault(aggregate.metric, {}).setdefault(run.run_id, set())
            if aggregate.statistic.startswith("p"):
                asked.add(_share(aggregate.statistic))
    found = {}
    for metric, by_run in printed.items():
        chosen = Selection(tuple(by_run), basis=basis, origin=Origin.SENT, method=Method.LINEAR)
        shares = sorted(set().union(*by_run.values()))
        for each in distribution.describe(catalog, chosen, metric, shares):
            found[each.run_id, metric] = each
    return found


def _reconciled(
    run: RunInfo,
    account: accounting.Account,
    theirs: dict[tuple[str, Metric], Description],
    ours: dict[tuple[str, Metric], Description],
) -> Reconciliation:
    found: list[Comparison] = []
    for metric in dict.fromkeys(aggregate.metric for aggregate in run.tool.aggregates):
        mine = [a for a in run.tool.aggregates if a.metric is metric]
        source, completed = (_values(side[run.run_id, metric], mine) for side in (theirs, ours))
        found += [_compare(a, source[a.statistic], completed[a.statistic]) for a in mine]
    return Reconciliation(run.run_id, tuple(found), _why(run, account, found))


def _values(described: Description, wanted: Iterable[ToolAggregate]) -> dict[str, float | None]:
    """Return the wanted statistics of a metric by name, such as mean, max or p99.9."""
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
