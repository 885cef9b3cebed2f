"""A study's frozen workload: which requests every run of it was to offer.

A run whose source has no plan of its own is held against it. What agrees gets its place in the
plan, and what only the plan has was offered, or was to be, and is unaccounted for.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.importers import mapped, traces
from headway.importers.plans import is_same_pace
from headway.importers.source import columns
from headway.model import (
    Finding,
    IndexBasis,
    OfferedBasis,
    Outcome,
    OutcomeBasis,
    Phase,
    RunInfo,
    Severity,
)
from headway.record import REQUESTS, Run, requests_table
from headway.studies import Study

_WITHOUT_PLAN = (IndexBasis.ORDER, IndexBasis.SOURCE_ID)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Frozen:
    """The requests of a workload in order of arrival; NULL where the file does not say."""

    name: str
    arrival_us: pa.Array
    prompt_tokens: pa.Array
    output_tokens: pa.Array

    @property
    def n_requests(self) -> int:
        """How many there are."""
        return len(self.prompt_tokens)


def read(study: Study, folder: Path) -> Frozen | None:
    """Read the workload that a study names, if it names one.

    Raises
    ------
    ImportRefusedError
        The file is no workload that Headway knows, or is not there.
    """
    if study.workload is None:
        return None
    path = folder / study.workload
    if study.workload_mapping is None:
        found = traces.read(path, study.workload)
    else:
        found = mapped.workload(path, mapped.read(folder / study.workload_mapping), study.workload)
    rows = found.rows if found.rows["arrival_s"].null_count() else found.rows.sort("arrival_s")
    arrival_us = (rows["arrival_s"] * 1e6).round().cast(int)
    return Frozen(
        study.workload,
        arrival_us.to_arrow(),
        rows["prompt_tokens"].to_arrow(),
        rows["output_tokens"].to_arrow(),
    )


def held_against(run: Run, plan: Frozen) -> Run:
    """Return a run with its requests in their places of the plan, and those that it lacks.

    A run that has a plan of its own, or whose requests are others, is returned as it is, the latter
    with a finding.
    """
    if run.info.index_basis not in _WITHOUT_PLAN:
        return run
    measured = pc.equal(run.requests["phase"], Phase.MEASURED.value)
    own, rest = run.requests.filter(measured), run.requests.filter(pc.invert(measured))
    index = np.asarray(own["request_index"], np.int64)
    why = _why_not(own, index, plan)
    if why is not None:
        message = f"the study's workload {plan.name} was not used: {why}"
        finding = Finding("sidecar_mismatch", Severity.WARNING, 1, message)
        return replace(run, info=_with(run.info, [finding]))
    filled = _filled(own, index, plan)
    absent = np.setdiff1d(np.arange(plan.n_requests), index)
    missing = _missing(absent, plan, _paced(own, index, plan))
    info = replace(
        run.info,
        n_offered=own.num_rows + len(absent),
        n_offered_basis=OfferedBasis.DECLARED,
        index_basis=IndexBasis.PLAN,
    )
    tables = [rest, filled, *([missing] if missing is not None else [])]
    requests = pa.concat_tables([table.cast(REQUESTS) for table in tables])
    return replace(run, info=_with(info, _noticed(len(absent), plan)), requests=requests)


def _with(info: RunInfo, findings: Iterable[Finding]) -> RunInfo:
    return replace(info, findings=(*info.findings, *findings))


def _noticed(n_absent: int, plan: Frozen) -> list[Finding]:
    if not n_absent:
        return []
    message = (
        f"{n_absent} of the {plan.n_requests} requests of the study's workload {plan.name} have no "
        "row: unaccounted for"
    )
    return [Finding("rows_missing", Severity.ERROR, n_absent, message)]


def _why_not(own: pa.Table, index: Ints, plan: Frozen) -> str | None:
    """Say why the requests are not those of the plan, if they are not."""
    if len(index) and index.max() >= plan.n_requests:
        return f"it has {plan.n_requests} requests, and the run has request {index.max()}"
    prompts = np.asarray(pc.fill_null(own["prompt_tokens"], -1), np.int64)
    planned = np.asarray(pc.fill_null(plan.prompt_tokens, -1), np.int64)[index]
    known = (prompts >= 0) & (planned >= 0)
    other = known & (prompts != planned)
    if other.any():
        place = int(other.argmax())
        return (
            f"request {index[place]} has {prompts[place]} prompt tokens in the run and "
            f"{planned[place]} in the workload"
        )
    return None


def _paced(own: pa.Table, index: Ints, plan: Frozen) -> bool:
    """Say whether the run offered its requests at the times of the plan."""
    sent = pc.coalesce(own["scheduled_us"], own["sent_us"])
    if plan.arrival_us.null_count or sent.null_count or len(index) < 2:
        return False
    meant_us = np.asarray(plan.arrival_us, np.int64)[index]
    return is_same_pace(meant_us, np.asarray(sent, np.int64))


def _filled(own: pa.Table, index: Ints, plan: Frozen) -> pa.Table:
    """Put in what the plan knows where the run says nothing."""
    places = pa.array(index)
    known = {
        "prompt_tokens": plan.prompt_tokens.take(places),
        "requested_output_tokens": plan.output_tokens.take(places),
    }
    for name, values in known.items():
        at = REQUESTS.get_field_index(name)
        field = REQUESTS.field(name)
        filled = pc.coalesce(own[name], pa.chunked_array([values.cast(field.type)]))
        own = own.set_column(at, field, filled)
    return own


def _missing(absent: Ints, plan: Frozen, paced: bool) -> pa.Table | None:
    if not len(absent):
        return None
    places = pa.array(absent)
    arrivals = plan.arrival_us.take(places).to_pylist() if paced else [None] * len(absent)
    prompts = plan.prompt_tokens.take(places).to_pylist()
    outputs = plan.output_tokens.take(places).to_pylist()
    rows = [
        {
            "request_index": int(index),
            "phase": Phase.MEASURED,
            "scheduled_us": arrival,
            "prompt_tokens": prompt,
            "requested_output_tokens": output,
            "outcome": Outcome.UNACCOUNTED,
            "outcome_basis": OutcomeBasis.INFERRED,
            "reason": f"in the study's workload {plan.name}, missing from the results",
        }
        for index, arrival, prompt, output in zip(absent, arrivals, prompts, outputs, strict=True)
    ]
    return requests_table(columns(rows))
