"""Runs written by the engine, simulator or harness that measured them, request by request.

Nothing appears in the library until the run is complete and keeps every rule of the record.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from headway import record
from headway.errors import MisuseError, RecordError
from headway.ingest.library import Library, folders, remove_stale_staging, staging
from headway.ingest.noticed import noticed
from headway.model import (
    Boundary,
    Clock,
    Finding,
    IndexBasis,
    Load,
    Manifest,
    OutcomeBasis,
    Phase,
    RunInfo,
)
from headway.producer.description import Said, described, run_id_of
from headway.producer.plan import Counter, Plan
from headway.producer.values import checked_row, table_of_columns, table_of_rows
from headway.record import REQUESTS, ROW_GROUP_REQUESTS, STATE, Run, Spill

__all__ = ["RunWriter"]

_DEFAULTS = {"phase": Phase.MEASURED.value, "outcome_basis": OutcomeBasis.STATED.value}


class RunWriter:
    """Writes one run into a library, request by request; a context manager.

    Requests gather in a hidden file of the library, a few thousand at a time in memory. When the
    context ends, the run is checked against every rule of the record and put in place as a whole.
    When it ends by an exception nothing is written, and after a kill the next writer or import
    removes what is left.

    Parameters
    ----------
    library
        Folder of the library, made where there is none.
    study
        Study to file the run under: the name of its folder.
    harness
        What measured: the name of the engine, simulator or harness.
    boundary
        Where the clock that measured stood: client, gateway, server, in_process or simulator.
    policy
        Name of the scheduling policy.
    name
        Tells the run from others that have the very same rows. Rows and name make the run's id:
        writing them again replaces the run. Without a name it is the harness, policy and its
        parameters, label, replicate and load.
    load
        How requests were offered: fields of `headway.model.Load`, `kind` among them; else open.
    manifest
        What the result holds for: fields of `headway.model.Manifest`.
    policy_parameters, label, replicate, harness_version
        More that tells this run from others.
    started_at
        The run's zero: a datetime with its zone, or ISO 8601.
    time_limit_s
        The limit at which the run was to stop.
    clock
        What times count from: relative, monotonic, wall or none.
    index_basis
        What `request_index` rests on; plan and source_id pair the run with others.
    token_basis
        Who counted the tokens, in words.
    completion_times
        Whether every completed request says when it ended.
    n_offered
        How many measured requests were offered, where that is known otherwise than by counting
        them; the run is refused if there are not as many.
    workload
        The frozen workload: columns, an Arrow table or a data frame with a row for each request to
        be offered. Requests take from it what they leave out, and those that never came in are
        recorded as unaccounted for.
    findings
        What a reader of the run must know.

    Attributes
    ----------
    info : RunInfo
        The run's description; complete once the run is written.
    path : Path or None
        The run file, once it is written.

    Raises
    ------
    MisuseError
        What is said of the run does not fit.
    """

    def __init__(
        self,
        library: str | os.PathLike[str],
        *,
        study: str,
        harness: str,
        boundary: Boundary | str,
        policy: str | None = None,
        name: str | None = None,
        load: Load | Mapping[str, object] | None = None,
        manifest: Manifest | Mapping[str, object] | None = None,
        policy_parameters: Mapping[str, object] | None = None,
        label: str | None = None,
        replicate: int | None = None,
        started_at: datetime | str | None = None,
        time_limit_s: float | None = None,
        harness_version: str | None = None,
        clock: Clock | str = Clock.RELATIVE,
        index_basis: IndexBasis | str = IndexBasis.PLAN,
        token_basis: str = "as the producer counts",
        completion_times: bool = True,
        n_offered: int | None = None,
        workload: object = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        self._plan = None if workload is None else Plan(workload)
        if self._plan is not None and n_offered is None:
            n_offered = self._plan.n_requests
        said = Said(
            study, harness, boundary, policy, name, load, manifest, policy_parameters or {}, label,
            replicate, started_at, time_limit_s, harness_version, clock, index_basis, token_basis,
            completion_times, n_offered, findings,
        )  # fmt: skip
        self.info = described(said)
        self.path: Path | None = None
        self._name, self._n_offered, self._library = name, n_offered, Path(library)
        self._open: _Open | None = None

    def __enter__(self) -> "RunWriter":
        if self._open is not None or self.path is not None:
            raise MisuseError("this RunWriter was used already; make one for each run")
        self._open = _Open(self._library, self.info)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        opened = self._opened()
        if error is not None:
            opened.is_done = True
            opened.stack.__exit__(kind, error, trace)
            return
        with opened.stack:
            self._finish(opened)

    def request(self, **fields: Any) -> None:
        """Add a request; fields are the columns of the record, and what is left out is unknown.

        `outcome` is needed. `phase` is measured and `outcome_basis` stated unless said otherwise;
        `request_index` counts up in its phase; `n_chunks` and `max_gap_us` follow from
        `chunk_gaps_us`.

        Raises
        ------
        RecordError
            A field is not of the record or its value does not fit: the message names the request.
            A request that breaks a rule is reported when its batch is full, or at the end.
        """
        opened = self._opened()
        place = f"request {fields.get('request_index', f'number {opened.n_requests + 1}')}"
        row = _DEFAULTS | checked_row(fields, REQUESTS, place)
        if "outcome" not in row:
            raise RecordError("outcome", f"{place} has no outcome; expected what became of it")
        if "request_index" in row:
            opened.counter.give(row["phase"], row["request_index"])
        else:
            row["request_index"] = opened.counter.take(row["phase"])
        gaps = row.get("chunk_gaps_us")
        if gaps is not None:
            row.setdefault("n_chunks", len(gaps) + 1)
            row.setdefault("max_gap_us", max(gaps, default=None))
        opened.rows.append(row)
        if len(opened.rows) >= ROW_GROUP_REQUESTS:
            self._flush(opened)

    def requests(self, data: object) -> None:
        """Add many requests: columns by name, an Arrow table or batch, or a data frame.

        Columns that are not there are as for `request`; a column that is there is taken as it is.

        Raises
        ------
        RecordError
            A column is not of the record or does not fit, or a row breaks a rule.
        """
        opened = self._opened()
        self._flush(opened)
        place = f"requests from number {opened.n_requests + 1}"
        table = table_of_columns(data, REQUESTS, place)
        for start in range(0, table.num_rows, ROW_GROUP_REQUESTS):
            rows = opened.counter.number(_completed(table.slice(start, ROW_GROUP_REQUESTS)))
            self._append(opened, rows)

    def state(self, **fields: Any) -> None:
        """Add a sample of the server's state; fields are the columns of the companion.

        Raises
        ------
        RecordError
            A field is not of the record or its value does not fit.
        """
        opened = self._opened()
        place = f"sample {len(opened.samples) + opened.state.n_rows + 1}"
        opened.samples.append(checked_row(fields, STATE, place))
        if len(opened.samples) >= ROW_GROUP_REQUESTS:
            opened.flush_samples()

    def states(self, data: object) -> None:
        """Add many samples of the server's state: columns, an Arrow table, or a data frame."""
        opened = self._opened()
        opened.flush_samples()
        opened.state.append(
            table_of_columns(data, STATE, f"samples from {opened.state.n_rows + 1}")
        )

    def _opened(self) -> "_Open":
        if self._open is None or self._open.is_done:
            raise MisuseError("requests are written inside of: with headway.RunWriter(…) as run")
        return self._open

    def _flush(self, opened: "_Open") -> None:
        if opened.rows:
            rows, opened.rows = opened.rows, []
            self._append(opened, table_of_rows(rows, REQUESTS))

    def _append(self, opened: "_Open", table: pa.Table) -> None:
        """Write rows out that keep the rules of a row; a broken one ends the run early."""
        try:
            opened.append(table if self._plan is None else self._plan.fill(table))
        except RecordError as error:
            opened.error = error  # rows are lost with it: no run without them, whoever catches this
            raise

    def _finish(self, opened: "_Open") -> None:
        if opened.error is not None:
            raise opened.error
        self._flush(opened)
        for rows in () if self._plan is None else self._plan.missing():
            opened.append(rows)
        opened.flush_samples()
        opened.is_done = True
        with opened.requests.table() as requests, opened.state.table() as state:
            unsealed = Run(self._counted(opened), requests, state if state.num_rows else None)
            self._place(unsealed)

    def _counted(self, opened: "_Open") -> RunInfo:
        n_measured = opened.n_rows[Phase.MEASURED]
        n_offered = n_measured if self._n_offered is None else self._n_offered
        return replace(self.info, n_offered=n_offered, n_warmup=opened.n_rows[Phase.WARMUP])

    def _place(self, unsealed: Run) -> None:
        """Put the run into the library, if it keeps every rule."""
        shelf = Library(self._library)
        rows_sha256 = record.digest(unsealed.requests)
        info = replace(
            unsealed.info,
            run_id=run_id_of(unsealed.info, rows_sha256, self._name),
            source_sha256=rows_sha256,
            rows_sha256=rows_sha256,
        )
        notes = noticed(replace(unsealed, info=info), shelf)
        run = record.seal(replace(unsealed, info=replace(info, findings=(*info.findings, *notes))))
        _demand(record.problems(run))
        shelf.add([run])
        self.info = run.info
        self.path = self._library / run.info.study / f"{run.info.run_id}.parquet"


class _Open:
    """A run on its way: rows in memory, rows on disk, and what they have shown so far."""

    def __init__(self, library: Path, info: RunInfo) -> None:
        self.stack = ExitStack()
        self.rows: list[dict[str, Any]] = []
        self.samples: list[dict[str, Any]] = []
        self.n_rows = dict.fromkeys(Phase, 0)
        self.counter = Counter()
        self.is_done = False
        self.error: RecordError | None = None
        self._checker = record.Checker(info)
        remove_stale_staging(library)
        with ExitStack() as stack:
            stack.enter_context(folders(library))
            folder = stack.enter_context(staging(library))
            self.requests = Spill(folder / "requests.arrow", REQUESTS)
            stack.callback(self.requests.close)
            self.state = Spill(folder / "state.arrow", STATE)
            stack.callback(self.state.close)
            self.stack = stack.pop_all()

    @property
    def n_requests(self) -> int:
        return self.requests.n_rows + len(self.rows)

    def append(self, table: pa.Table) -> None:
        for batch in table.combine_chunks().to_batches():
            self._checker.add(batch)
        _demand(self._checker.row_problems())
        for phase in Phase:
            self.n_rows[phase] += table["phase"].to_pylist().count(phase.value)
        self.requests.append(table)

    def flush_samples(self) -> None:
        if self.samples:
            self.state.append(table_of_rows(self.samples, STATE))
            self.samples = []


def _completed(table: pa.Table) -> pa.Table:
    """Return requests with the defaults of columns that are not there."""
    for name, value in _DEFAULTS.items():
        if table[name].null_count == table.num_rows:
            place = REQUESTS.get_field_index(name)
            values = pa.array([value] * table.num_rows, pa.string())
            table = table.set_column(place, REQUESTS.field(place), values)
    return record.with_stream_summary(table)


def _demand(broken: Sequence[RecordError]) -> None:
    """Raise the first broken rule, with the others as notes."""
    if broken:
        for other in broken[1:]:
            broken[0].add_note(f"also: {other}")
        raise broken[0]
