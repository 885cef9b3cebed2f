"""The documents of `headway verdict --json` and of envelope.json (docs/cli.md)."""

from collections.abc import Sequence
from typing import Any

from headway.analyses import documents
from headway.analyses.acceptance import Asked, Judged
from headway.analyses.envelope import Envelope
from headway.figures import verdicts
from headway.model import Metric, Objective
from headway.stats.verdicts import Claim, Verdict


def objective(declared: Objective) -> dict[str, float | None]:
    """Return the limits in milliseconds, and the share of offered requests to meet them."""
    limits = {metric.value: declared.limits().get(metric) for metric in Metric}
    del limits[Metric.GAP.value]
    return {**limits, "attainment": declared.attainment}


def verdict(
    asked: Asked,
    declared: Objective,
    judged: Sequence[Judged],
    found: Sequence[Envelope],
    overall: Verdict,
    *,
    is_declared: bool,
    measured_rps: dict[str, float | None],
) -> dict[str, Any]:
    """Return everything the command says, machine-readable."""
    return {
        "objective": objective(declared),
        "declared": is_declared,
        "claim": asked.value,
        "runs": [_judged(each, asked, declared, measured_rps) for each in judged],
        "envelopes": [_envelope(each) for each in found],
        "verdict": overall.value,
        "sentence": verdicts.sentence(found, asked),
    }


def _judged(
    each: Judged, asked: Asked, declared: Objective, measured_rps: dict[str, float | None]
) -> dict[str, Any]:
    offered = each.n_offered or 1
    return {
        "run_id": each.run.run_id,
        "replicates": [run.run_id for run in each.runs],
        "policy": each.run.policy,
        "label": each.run.label,
        "load": documents.load(each.load, measured_rps.get(each.run.run_id)),
        "n_offered": each.n_offered,
        "n_met": each.n_met,
        "n_open": each.n_open,
        "attainment": each.n_met / offered,
        "attainment_high": (each.n_met + each.n_open) / offered,
        "steady": each.steady.value,
        "n_replicates": len(each.runs),
        "in_run": each.in_run.value,
        "workload": _claim(each.workload) | {"per_run": [run.low for run in each.per_run]},
        "traffic": _claim(each.traffic)
        | {
            "n_eff": each.effective.n_eff if each.effective else None,
            "deff": each.effective.deff if each.effective else None,
        },
        "verdict": each.verdict(asked).value,
        "reasons": verdicts.reasons(each, declared),
        "would_settle": verdicts.settles(each, asked, declared),
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {"verdict": claim.verdict.value, "low": claim.low, "high": claim.high}


def _envelope(each: Envelope) -> dict[str, Any]:
    return {
        "policy": each.judged[0].run.policy,
        "configuration": each.line,
        "workload": each.requests,
        "arrivals": each.arrivals,
        "axis": each.axis,
        "last_accepted": each.bracket.last_accepted,
        "first_rejected": each.bracket.first_rejected,
        "undecided": list(each.bracket.undecided),
        "non_monotone": each.bracket.non_monotone,
        "contradicted": list(each.bracket.contradicted),
        "holds_for": each.holds_for,
    }
