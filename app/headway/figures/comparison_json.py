"""The document of `headway diff --json` (docs/cli.md)."""

from typing import Any

from headway.analyses import documents
from headway.analyses.accounting import Account
from headway.analyses.classes import ClassRow
from headway.analyses.comparison import Comparison
from headway.analyses.pairs import Discordant, Paired, Success
from headway.analyses.replicated import NoiseFloor, Tested
from headway.analyses.scorecard import ScoreRow
from headway.analyses.shift import MetricShift, ShiftPoint
from headway.analyses.sides import Side
from headway.figures import comparison_words, envelope_json

Document = dict[str, Any]


def difference(found: Comparison) -> Document:
    """Return everything the command says, machine-readable."""
    question = found.question
    return {
        "a": _side(question.a, found.accounts[0]),
        "b": _side(question.b, found.accounts[1]),
        "same_run": found.is_same_run,
        "objective": envelope_json.objective(question.objective) if question.objective else None,
        **_grounds(found),
        "transitions": [
            {"a": each.a and each.a.value, "b": each.b and each.b.value, "n": each.n}
            for each in found.transitions
        ],
        "mcnemar": _headline(found.discordant),
        "mcnemar_all": [_discordant(each) for each in found.discordant],
        "shift": {each.metric.value: [_point(p) for p in each.points] for each in found.shifts},
        "status": {each.metric.value: _status(each) for each in found.shifts},
        "pairs": {each.metric.value: _paired(each.paired) for each in found.shifts if each.paired},
        "classes": [_class(each) for each in found.classes],
        "scorecard": [_score(each) for each in found.scorecard],
        "claim": found.claim.value,
        "claim_caption": comparison_words.claim(found),
        "order": found.order.value,
        "sequence": found.sequence,
        "tests": [_tested(each) for each in found.tests],
        "noise": _noise(found.noise),
        "sentence": comparison_words.sentence(found),
    }


def _grounds(found: Comparison) -> Document:
    """Return what the comparison stands on: the workload, what changed, and what must match."""
    match = found.match
    return {
        "workload": {
            "level": match.level.value,
            "arrivals": "known" if found.arrivals_known else "unknown",
            "paired": match.paired,
            "only_a": match.only_a,
            "only_b": match.only_b,
        },
        "manifest_changes": [
            {"field": each.field, "a": each.a, "b": each.b, "kind": each.kind.value}
            for each in found.changes
        ],
        "only_policy": found.is_only_policy,
        "must_match": [
            {"check": each.check.value, "a": each.a, "b": each.b, "matches": each.matches}
            for each in found.checks
        ],
        "comparable": found.is_comparable,
        "reasons": comparison_words.reasons(found),
    }


def _score(each: ScoreRow) -> Document:
    return {
        "row": each.row,
        "a": each.a,
        "b": each.b,
        "difference": each.difference,
        "unit": each.unit,
    }


def _side(side: Side, account: Account) -> Document:
    return {
        "runs": list(side.run_ids),
        "policy": side.run.policy,
        "label": side.run.label,
        "load": documents.load(side.run.load, side.measured_rps),
        "n_offered": account.n_offered,
        "outcomes": documents.outcomes(account),
    }


def _headline(found: tuple[Discordant, ...]) -> Document | None:
    """Return the counts of who met the objective where there is one, else on who completed."""
    wanted = {each.of: each for each in found}
    chosen = wanted.get(Success.MET) or wanted.get(Success.COMPLETED)
    return None if chosen is None else _discordant(chosen)


def _discordant(each: Discordant) -> Document:
    return {
        "of": each.of.value,
        "both": each.both,
        "a_only": each.a_only,
        "b_only": each.b_only,
        "neither": each.neither,
    }


def _point(point: ShiftPoint) -> Document:
    return {
        "p": float(documents.percentile_name(point.share)),
        "a": point.a_ms,
        "b": point.b_ms,
        "delta": point.delta_ms,
        "relative": point.relative,
        "change": point.change.value,
        "noise": point.noise,
        "within_run": None
        if point.within is None
        else {"low": point.within.low, "high": point.within.high},
    }


def _status(each: MetricShift) -> Document:
    return {
        "a": each.a_status.value,
        "b": each.b_status.value,
        "crossing": comparison_words.crossing(each.dominance) if each.dominance else None,
    }


def _paired(of: Paired) -> Document:
    return {
        "n": of.n,
        "both": of.n_both,
        "lost": of.n_lost,
        "gained": of.n_gained,
        "neither": of.n_neither,
        "better": of.n_better,
        "worse": of.n_worse,
        "same": of.n_same,
        "median_delta": of.median_delta_ms,
        "median_relative": of.median_relative,
    }


def _class(each: ClassRow) -> Document:
    return {
        "split": each.split.value,
        "class": each.label,
        "metric": each.metric.value,
        **_paired(each.paired),
        "shift": [_point(point) for point in each.points],
    }


def _tested(each: Tested) -> Document:
    """Return one test; the share that met has a difference as a share, a percentile a ratio."""
    found = each.found
    return {
        "metric": "met" if each.metric is None else each.metric.value,
        "percentile": None
        if each.percentile is None
        else float(documents.percentile_name(each.percentile)),
        "ratio": each.ratio and each.ratio.ratio,
        "difference": each.difference and each.difference.difference,
        "low": found and found.low,
        "high": found and found.high,
        "p": found and found.p,
        "q": each.q,
        "verdict": each.verdict.value,
        "why": "order" if each.is_withheld else None,
    }


def _noise(found: NoiseFloor | None) -> Document | None:
    if found is None:
        return None
    return {"policies": list(found.policies), "pairs": found.n_pairs}
