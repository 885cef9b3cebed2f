"""What an import did, for people and, as JSON, for scripts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headway.errors import legible
from headway.ingest import policy_names
from headway.ingest.policy_names import Proposal
from headway.model import Load, Outcome, Phase, RunInfo


@dataclass(frozen=True, slots=True)
class Imported:
    """A run that now stands in the library."""

    info: RunInfo
    source: Path
    outcomes: Mapping[Outcome, int]
    measured_rps: float | None
    replaced: bool
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A source that was named or recognised and could not become a run."""

    source: Path
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file in a folder that was passed over: why, and the mapping that it would fit.

    `is_result` says whether it looks like a result: then one was left out.
    """

    source: Path
    why: str
    mapping: str | None = None
    is_result: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Everything an import looked at; what was good is kept whatever else was refused."""

    imported: tuple[Imported, ...]
    skipped: tuple[Skipped, ...]
    refused: tuple[Refused, ...]

    @property
    def left_out(self) -> tuple[Skipped, ...]:
        """What was passed over and looks like a result."""
        return tuple(each for each in self.skipped if each.is_result)

    @property
    def proposed_policies(self) -> tuple[Proposal, ...]:
        """Names for the runs that state no policy, by what their folders and files are called."""
        return policy_names.proposed((run.source, run.info) for run in self.imported)


def outcome_counts(requests: pa.Table) -> dict[Outcome, int]:
    """Count the measured requests by outcome, every outcome named."""
    measured = _measured(requests, "outcome")
    counts = Counter(
        {each["values"]: each["counts"] for each in measured["outcome"].value_counts().to_pylist()}
    )
    return {outcome: counts[outcome] for outcome in Outcome}


def measured_rps(requests: pa.Table) -> float | None:
    """Return the rate at which measured requests were due, in requests per second.

    It is (n − 1) ÷ (last − first) over scheduled times, sent times where earlier or alone known;
    None when fewer than two are known or all are the same.
    """
    measured = _measured(requests, "scheduled_us", "sent_us")
    due_us = pc.drop_null(pc.min_element_wise(measured["scheduled_us"], measured["sent_us"]))
    if len(due_us) < 2:
        return None
    bounds = pc.min_max(due_us)
    span_us = bounds["max"].as_py() - bounds["min"].as_py()
    return (len(due_us) - 1) / span_us * 1e6 if span_us else None


def _measured(requests: pa.Table, *names: str) -> pa.Table:
    """Return these columns of the measured requests: the others, of a large run, stay on disk."""
    return requests.select(names).filter(pc.equal(requests["phase"], Phase.MEASURED.value))


def report_json(report: Report) -> dict[str, Any]:
    """Return the document that `headway import --json` prints."""
    return {
        "imported": [_imported(run) for run in report.imported],
        "skipped": [
            {
                "source": legible(str(each.source)),
                "why": each.why,
                "mapping": each.mapping,
                "is_result": each.is_result,
            }
            for each in report.skipped
        ],
        "refused": [
            {"source": legible(str(entry.source)), "code": entry.code, "message": entry.message}
            for entry in report.refused
        ],
        "proposed_policies": [
            {
                "policy": proposal.policy,
                "sources": [str(source) for source in proposal.sources],
                "run_ids": list(proposal.run_ids),
            }
            for proposal in report.proposed_policies
        ],
    }


def _imported(run: Imported) -> dict[str, Any]:
    info = run.info
    return {
        "run_id": info.run_id,
        "source": legible(str(run.source)),
        "harness": info.harness,
        "mapping": info.mapping,
        "study": info.study,
        "policy": info.policy,
        "label": info.label,
        "boundary": info.boundary.value,
        "clock": info.clock.value,
        "index_basis": info.index_basis.value,
        "load": load_json(info.load, run.measured_rps),
        "n_offered": info.n_offered,
        "n_offered_basis": info.n_offered_basis.value,
        "n_warmup": info.n_warmup,
        "outcomes": {outcome.value: count for outcome, count in run.outcomes.items()},
        "replaced": run.replaced,
        "changes": list(run.changes),
        "findings": [
            {
                "code": finding.code,
                "severity": finding.severity.value,
                "count": finding.count,
                "message": finding.message,
            }
            for finding in info.findings
        ],
    }


def load_json(load: Load, measured: float | None) -> dict[str, Any]:
    """Return a load as the JSON documents show it."""
    return {
        "kind": load.kind.value,
        "declared_rps": load.declared_rps,
        "measured_rps": measured,
        "concurrency": load.concurrency,
        "arrivals": load.arrivals,
        "burstiness": load.burstiness,
    }
