"""Everything `headway summary` prints of a run, and the Runs page shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.analyses import accounting, distribution, rates, reconcile
from headway.catalog import Catalog
from headway.model import Metric, Objective, RunInfo, Selection


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run over one window: accounting, rates, metrics, and the tool's own numbers."""

    run: RunInfo
    account: accounting.Account
    interval: accounting.Interval | None
    rates: rates.Rates
    goodput_rps: float | None
    metrics: dict[Metric, distribution.Description]
    tool: reconcile.Reconciliation


def summarise(
    catalog: Catalog,
    selection: Selection,
    objective: Objective | None = None,
    shares: Sequence[float] = distribution.DEFAULT_SHARES,
) -> list[RunSummary]:
    """Summarise every selected run; goodput needs an objective.

    The objective is the one the caller declares, else the one of the run's own study.
    """
    counted = accounting.accounts(catalog, selection)
    spans = accounting.intervals(catalog, selection)
    speeds = rates.rates(catalog, selection)
    described = {
        metric: {
            d.run_id: d
            for d in distribution.described_with_bounds(catalog, selection, metric, shares)
        }
        for metric in Metric
    }
    met = _attained(catalog, selection, objective)
    tools = reconcile.reconcile_all(catalog, selection.run_ids)
    return [
        RunSummary(
            run=catalog.runs[run_id],
            account=counted[run_id],
            interval=spans.get(run_id),
            rates=speeds[run_id],
            goodput_rps=rates.goodput_rps(met.get(run_id), speeds[run_id]),
            metrics={metric: described[metric][run_id] for metric in Metric},
            tool=tools[run_id],
        )
        for run_id in selection.run_ids
    ]


def _attained(
    catalog: Catalog, selection: Selection, objective: Objective | None
) -> dict[str, rates.Attainment]:
    by_study: dict[str, list[str]] = {}
    for run_id in selection.run_ids:
        by_study.setdefault(catalog.runs[run_id].study, []).append(run_id)
    found: dict[str, rates.Attainment] = {}
    for study, run_ids in by_study.items():
        declared = objective or catalog.studies[study].objective
        if declared is not None:
            chosen = Selection(tuple(run_ids), selection.window, origin=selection.origin)
            found |= rates.attainments(catalog, chosen, declared)
    return found
