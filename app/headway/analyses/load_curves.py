"""How do latency, completions and outcomes change with the offered load?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headway.analyses import accounting, distribution, rates
from headway.analyses.acceptance import Judged
from headway.analyses.distribution import Description
from headway.catalog import Catalog
from headway.model import Metric, Outcome, Selection
from headway.stats import envelope
from headway.stats.envelope import Knee


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """One run on its load axis: latency tails with bounds, rates over the window, outcomes.

    `shares` are of the offered requests, by outcome, and add up to one.
    """

    run_id: str
    line: str
    title: str
    x: float
    measured_rps: float | None
    ttft: Description
    stall: Description
    completed_rps: float | None
    goodput_rps: float | None
    output_tokens_per_s: float | None
    shares: dict[Outcome, float]


# The tail to show, and what to fall back to where no run reaches it.
TAILS = (0.99, 0.95, 0.9, 0.5)


def points(catalog: Catalog, selection: Selection, judged: Sequence[Judged]) -> list[LoadPoint]:
    """Return one point per run that stands on a load axis, in the order of the judged sets.

    Tails are the highest percentile of `TAILS` that at least one run reaches, the same for all.
    """
    runs = [(each, run) for each in judged if each.x is not None for run in each.runs]
    chosen = Selection(
        tuple(run.run_id for _, run in runs), selection.window, origin=selection.origin
    )
    spans = accounting.intervals(catalog, chosen)
    counted = accounting.accounts(catalog, chosen)
    speeds = rates.rates(catalog, chosen)
    tails = {metric: _tails(catalog, chosen, metric) for metric in (Metric.TTFT, Metric.STALL)}
    return [
        LoadPoint(
            run_id=run.run_id,
            line=each.line,
            title=each.title,
            x=each.x or 0.0,
            measured_rps=spans[run.run_id].measured_rps,
            ttft=tails[Metric.TTFT][run.run_id],
            stall=tails[Metric.STALL][run.run_id],
            completed_rps=speeds[run.run_id].completed_rps,
            goodput_rps=_goodput(each, speeds[run.run_id]),
            output_tokens_per_s=speeds[run.run_id].output_tokens_per_s,
            shares=_shares(counted[run.run_id]),
        )
        for each, run in runs
    ]


def knees(found: Sequence[LoadPoint]) -> dict[str, Knee]:
    """Return, by line, where completions stop following the measured load, and the plateau.

    Offered and completed are measured over the same window of arrivals.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in found:
        if point.measured_rps is not None and point.completed_rps is not None:
            lines.setdefault(point.line, []).append((point.measured_rps, point.completed_rps))
    return {
        line: envelope.knee([offered for offered, _ in both], [done for _, done in both])
        for line, both in lines.items()
    }


def _tails(catalog: Catalog, selection: Selection, metric: Metric) -> dict[str, Description]:
    """Return the tail to show of each run; it rests on no limit, and is kept while limits move."""

    def describe() -> dict[str, Description]:
        found = distribution.described_with_bounds(catalog, selection, metric, TAILS)
        values = {p.share: p.value_ms for each in found for p in each.percentiles if p.value_ms}
        share = next((share for share in TAILS if share in values), TAILS[0])
        return {
            each.run_id: replace(
                each, percentiles=tuple(p for p in each.percentiles if p.share == share)
            )
            for each in found
        }

    return catalog.remember(("tails", selection, metric), describe)


def _goodput(judged: Judged, speed: rates.Rates) -> float | None:
    """Return the set's mean of requests that met the objective, per second of one window."""
    if speed.window_s is None or speed.completed_rps is None:
        return None
    return judged.n_met / len(judged.runs) / speed.window_s


def _shares(account: accounting.Account) -> dict[Outcome, float]:
    offered = account.n_offered or 1
    return {outcome: n / offered for outcome, n in account.outcomes.items()}
