"""The documents of `headway verdict --json`, envelope.json and `headway recheck` (docs/cli.md)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from headway.analyses import configurations, documents, naming, recheck, settlement, workload
from headway.analyses.acceptance import Asked, Judged, Verdicts
from headway.analyses.envelope import Envelope
from headway.analyses.judgement import Answer, Question
from headway.analyses.recheck import Change, Saved
from headway.catalog import Catalog
from headway.figures import answers, verdict_reasons
from headway.model import Metric, Objective, RunInfo
from headway.stats.attainment import Spells
from headway.stats.fingerprint import Fingerprint
from headway.version import __version__

Document = dict[str, Any]

_LIMITED = (Metric.TTFT, Metric.TPOT, Metric.STALL, Metric.LATENCY)


def objective(declared: Objective) -> dict[str, float | None]:
    """Return the limits in milliseconds, and the share of offered requests to meet them."""
    limits = {metric.value: declared.limits().get(metric) for metric in Metric}
    del limits[Metric.GAP.value]
    return {
        **limits,
        "attainment": declared.attainment,
        "repeats": declared.repeats,
        "spell_s": declared.spell_s,
    }


def verdict(answer: Answer) -> Document:
    """Return everything the command says, machine-readable."""
    return {
        "objective": objective(answer.question.objective),
        "declared": answer.is_declared,
        "claim": answer.question.claim.value,
        "runs": [_judged(each, answer) for each in answer.judged],
        "envelopes": [_envelope(each) for each in answer.envelopes],
        "judged": {
            "loads": answers.judged_loads(answer),
            "policies": list(dict.fromkeys(each.line for each in answer.judged)),
        },
        "verdict": answer.verdict.value,
        "sentence": answers.sentence(answer),
    }


def saved(answer: Answer, catalog: Catalog, at: datetime) -> Document:
    """Return the verdict with all it rests on, to be checked again later."""
    return {
        "schema": recheck.SCHEMA,
        "headway": __version__,
        "date": at.isoformat(timespec="seconds"),
        "catalog_digest": catalog.digest,
        "selection": _selection(answer.question),
        "runs": _runs(answer, catalog),
        "verdict": verdict(answer),
    }


def rechecked(found: Sequence[Change], was: Saved) -> Document:
    """Return whether an envelope holds, and every field that changed."""
    return {
        "answer": "lapsed" if found else "holds",
        "judged_on": was.date,
        "changes": [
            {"about": each.about, "field": each.field, "was": each.was, "is": each.now}
            for each in found
        ],
        "sentence": answers.recheck_sentence(found, was),
    }


def _judged(each: Judged, answer: Answer) -> Document:
    offered = each.n_offered or 1
    asked, declared = answer.question.claim, answer.question.objective
    return {
        "run_id": each.run.run_id,
        "replicates": [run.run_id for run in each.runs],
        "policy": each.run.policy,
        "label": each.run.label,
        "load": documents.load(each.load, answer.measured_rps.get(each.run.run_id)),
        "n_offered": each.n_offered,
        "n_met": each.n_met,
        "n_open": each.n_open,
        "missed_by": {metric.value: None for metric in _LIMITED}
        | {metric.value: n for metric, n in each.past.items()}
        | {"lost": each.n_lost, "not_recorded": each.n_unmeasured},
        "attainment": each.n_met / offered,
        "attainment_high": (each.n_met + each.n_open) / offered,
        "steady": each.steady.value,
        "n_replicates": len(each.runs),
        "in_run": each.in_run.value,
        "origin": each.origin_used,
        "other_origin": each.elsewise and _verdicts(each.elsewise),
        "workload": _workload(each),
        "traffic": _traffic(each, declared),
        "spells": [_spells(count.spells) for count in each.counts],
        "verdict": each.verdict(asked).value,
        "reasons": verdict_reasons.reasons(each, declared),
        "would_settle": _settlement(each, asked, declared),
    }


def _workload(each: Judged) -> Document:
    """Return the claim about the workload; `low` and `high` are the least and the largest share."""
    of, shares = each.repeats, each.per_run
    return {
        "verdict": each.workload.verdict.value,
        "why": each.workload.why.value,
        "low": min(share.low for share in shares),
        "high": max(share.high for share in shares),
        "per_run": [share.low for share in shares],
        "n_runs": len(shares),
        "n_runs_met": each.n_runs_met,
        "repeats": of.asked if of else None,
        "repeats_low": of.low if of else None,
        "repeats_high": of.high if of else None,
        "made": None
        if each.made is None
        else [
            {"from": session.first.isoformat(), "to": session.last.isoformat()}
            for session in each.made
        ],
    }


def _traffic(each: Judged, declared: Objective) -> Document:
    size, reach, pace = each.effective, each.reach, each.pace
    return {
        "verdict": each.traffic.verdict.value,
        "why": each.traffic.why.value,
        "low": each.traffic.low,
        "high": each.traffic.high,
        "n_eff": size and size.n_eff,
        "deff": size and size.deff,
        "reach_requests": reach and reach.requests,
        "reach_s": reach and reach.seconds,
        "reach_needed": reach and reach.needed,
        "spell_s": declared.spell_s,
        "duration_s": pace and pace.duration_s,
        "slowest_rps": pace and pace.slowest_rps,
        "busiest_rps": pace and pace.busiest_rps,
    }


def _spells(of: Spells | None) -> Document | None:
    """Return how the misses of one run cluster; None where its arrivals are unknown."""
    if of is None:
        return None
    return {
        "n": of.n_spells,
        "longest": of.longest,
        "worst_tenth": of.worst_tenth,
        "missed_in_worst_tenth": of.n_missed_worst,
    }


def _verdicts(found: Verdicts) -> Document:
    return {
        "in_run": found.in_run.value,
        "workload": found.workload.value,
        "traffic": found.traffic.value,
    }


def _settlement(each: Judged, asked: Asked, declared: Objective) -> Document | None:
    found = settlement.settlement(each, asked, declared)
    if found is None:
        return None
    return {
        "remedy": found.remedy.value,
        "text": verdict_reasons.settled(each, found),
        "n_requests": found.n_requests,
        "duration_s": found.duration_s,
        "n_runs": found.n_runs,
        "command": verdict_reasons.again(each, found),
    }


def _envelope(each: Envelope) -> Document:
    return {
        "policy": each.judged[0].run.policy,
        "configuration": each.line,
        "run_ids": [run.run_id for judged in each.judged for run in judged.runs],
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


def _selection(question: Question) -> Document:
    return {
        "study": question.study,
        "policy": question.policy,
        "load": question.load,
        "up_to": question.up_to,
        "claim": question.claim.value,
        "origin": question.origin.value,
        "window": {"start_us": question.window.start_us, "end_us": question.window.end_us},
    }


def _runs(answer: Answer, catalog: Catalog) -> list[Document]:
    planned = workload.fingerprints(catalog, [run.run_id for run in answer.runs])
    return [_run(run, answer, catalog, planned[run.run_id]) for run in answer.runs]


def _run(run: RunInfo, answer: Answer, catalog: Catalog, planned: Fingerprint) -> Document:
    measured = answer.measured_rps.get(run.run_id)
    load = documents.load(run.load, measured)
    del load["measured_rps"]  # it follows from the rows
    return {
        "run_id": run.run_id,
        "policy": configurations.name_of(catalog, run),
        "load_text": naming.load_text(run.load, measured),
        "load": load,
        "rows_sha256": run.rows_sha256,
        "source_sha256": run.source_sha256,
        "workload": {"requests": planned.requests, "arrivals": planned.arrival},
        "configuration": dict(configurations.fields_of(run)),
    }
