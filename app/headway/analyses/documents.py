"""Results as plain JSON documents: the shapes that scripts rely on (docs/cli.md).

Milliseconds are numbers; unknown is null, never 0.
"""

from dataclasses import asdict
from typing import Any

from headway import sql
from headway.analyses.accounting import Account, Interval
from headway.analyses.distribution import Description, Percentile
from headway.analyses.reconcile import Comparison
from headway.analyses.summary import RunSummary
from headway.model import Basis, Load, Selection, Status


def load(offered: Load, measured_rps: float | None) -> dict[str, Any]:
    """Return the offered load; the measured rate stands beside the declared one."""
    return {
        "kind": offered.kind.value,
        "declared_rps": offered.declared_rps,
        "measured_rps": measured_rps,
        "concurrency": offered.concurrency,
        "arrivals": offered.arrivals,
        "burstiness": offered.burstiness,
    }


def outcomes(account: Account) -> dict[str, int]:
    """Return the counts of the nine outcomes; they sum to n_offered."""
    return {outcome.value: n for outcome, n in account.outcomes.items()}


def summary(selection: Selection, summaries: list[RunSummary]) -> dict[str, Any]:
    """Return the document of `headway summary --json`."""
    return {
        "method": selection.method.value,
        "basis": selection.basis.value,
        "runs": [_run(each) | {"basis_why": basis_why(selection, each)} for each in summaries],
    }


def _run(each: RunSummary) -> dict[str, Any]:
    interval = each.interval
    return {
        "run_id": each.run.run_id,
        "study": each.run.study,
        "policy": each.run.policy,
        "label": each.run.label,
        "load": load(each.run.load, interval.measured_rps if interval else None),
        "origin_used": interval.origin_used if interval else "none",
        "n_offered": each.account.n_offered,
        "outcomes": outcomes(each.account),
        "window": _window(interval),
        "completed_rps": each.rates.completed_rps,
        "goodput_rps": each.goodput_rps,
        "output_tokens_per_s": each.rates.output_tokens_per_s,
        "input_tokens_per_s": each.rates.input_tokens_per_s,
        "total_tokens_per_s": each.rates.total_tokens_per_s,
        "tokens_of": each.rates.tokens_of,
        "n_without_instant": each.rates.n_without_instant,
        "metrics": {metric.value: _metric(found) for metric, found in each.metrics.items()},
        "tool": _tool(each.tool.comparisons),
        "tool_why": each.tool.why,
    }


def basis_why(selection: Selection, each: RunSummary) -> str | None:
    """Return why a run has no numbers over the tool's own successes, where these are asked for."""
    statuses = {found.status for found in each.metrics.values()}
    if selection.basis is not Basis.SOURCE or statuses != {Status.NOT_MEASURED}:
        return None
    if each.run.mapping is not None:
        return (
            f"the mapping {each.run.mapping} does not say what the tool counted as a success; a "
            "mapping says it as [fields.source_success]"
        )
    return "the source does not say what it counted as a success"


def _window(interval: Interval | None) -> dict[str, int | None]:
    return {
        "start_us": interval.start_us if interval else None,
        "end_us": interval.end_us if interval else None,
    }


def _metric(found: Description) -> dict[str, Any]:
    return {
        "status": found.status.value,
        "n": found.n,
        "denominator": found.denominator,
        "n_not_applicable": found.n_not_applicable,
        "mean": found.mean_ms,
        "max": found.max_ms,
        "p": {percentile_name(point.share): _point(point) for point in found.percentiles},
    }


def query(stored: sql.Query) -> dict[str, Any]:
    """Return the contract of a stored query, as `headway query --json` lists it."""
    return {
        "name": stored.name,
        "summary": stored.summary,
        "params": [asdict(field) for field in stored.params],
        "columns": [asdict(field) for field in stored.columns],
    }


def percentile_name(share: float) -> str:
    """Return the percentile as people write it: 0.999 is "99.9"."""
    return f"{share * 100:.10g}"


def _point(point: Percentile) -> dict[str, Any]:
    return {
        "value": point.value_ms,
        "low": point.low_ms,
        "high": point.high_ms,
        "not_reached": point.not_reached,
    }


def _tool(comparisons: tuple[Comparison, ...]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for comparison in comparisons:
        found.setdefault(comparison.metric.value, {})[comparison.statistic] = {
            "reported": comparison.reported_ms,
            "recomputed": comparison.recomputed_ms,
            "agrees": comparison.agrees,
            "definition": comparison.definition,
        }
    return found
