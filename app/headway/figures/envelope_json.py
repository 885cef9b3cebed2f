"""The documents of `headway verdict --json`, envelope.json and `headway recheck` (docs/cli.md)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from headway.analyses import configurations, documents, naming, recheck, workload
from headway.analyses.acceptance import Judged
from headway.analyses.envelope import Envelope
from headway.analyses.judgement import Answer, Question
from headway.analyses.recheck import Change, Saved
from headway.catalog import Catalog
from headway.figures import answers, verdicts
from headway.model import Metric, Objective, RunInfo
from headway.stats.verdicts import Claim
from headway.version import __version__

Document = dict[str, Any]


def objective(declared: Objective) -> dict[str, float | None]:
    """Return the limits in milliseconds, and the share of offered requests to meet them."""
    limits = {metric.value: declared.limits().get(metric) for metric in Metric}
    del limits[Metric.GAP.value]
    return {**limits, "attainment": declared.attainment}


def verdict(answer: Answer) -> Document:
    """Return everything the command says, machine-readable."""
    return {
        "objective": objective(answer.question.objective),
        "declared": answer.is_declared,
        "claim": answer.question.claim.value,
        "runs": [_judged(each, answer) for each in answer.judged],
        "envelopes": [_envelope(each) for each in answer.envelopes],
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
        "runs": [_run(run, answer, catalog) for run in answer.runs],
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


def _claim(claim: Claim) -> Document:
    return {"verdict": claim.verdict.value, "low": claim.low, "high": claim.high}


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
        "claim": question.claim.value,
        "origin": question.origin.value,
        "window": {"start_us": question.window.start_us, "end_us": question.window.end_us},
    }


def _run(run: RunInfo, answer: Answer, catalog: Catalog) -> Document:
    measured = answer.measured_rps.get(run.run_id)
    load = documents.load(run.load, measured)
    del load["measured_rps"]  # it follows from the rows
    planned = workload.fingerprint_of(catalog, run.run_id)
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
