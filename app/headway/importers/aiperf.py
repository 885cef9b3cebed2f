"""AIPerf (and AgentX, which writes the same): one JSON object per request, and its sidecars.

Rows stand in the order in which requests ended; `session_num`, the number of the credit, says in
which order they were offered. docs/formats.md has the outcome rules and what is put right.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from headway.errors import ImportRefusedError
from headway.importers import (
    aiperf_files,
    aiperf_findings,
    aiperf_raw,
    aiperf_report,
    run_json,
    server_samples,
)
from headway.importers.aiperf_files import Beside, Names
from headway.importers.aiperf_phase import Measured
from headway.importers.aiperf_rows import Entry, entry
from headway.importers.source import Source, as_text
from headway.model import Boundary, Clock, Load, RunInfo, TokenCounter
from headway.record import Run


@dataclass(frozen=True, slots=True)
class AIPerf:
    """Importer of AIPerf's records, or of its raw export where that is all there is."""

    name: str = "aiperf"
    version: int = 1

    def claims(self, path: Path) -> bool:
        """Claim by the keys of the first line.

        A raw export, or aggregates, only count where no records stand beside them: the one is then
        the source, the other is claimed to be refused.
        """
        names = Names.of(path)
        if aiperf_files.is_totals(path):
            names = Names(path.name.removesuffix(Names("").totals()))
            return not _any_beside(path, (*names.records(), *names.raw()))
        if ".jsonl" not in path.suffixes or not aiperf_files.is_records(path):
            return False
        return path.name not in names.raw() or not _any_beside(path, names.records())

    def sidecars(self, path: Path) -> list[Path]:
        """Return the raw export, aggregates, configuration, log, plan and samples beside it."""
        names = Names.of(path)
        wanted = (path.parent / name for name in names.beside())
        return [other for other in wanted if other.is_file() and other != path]

    def runs(self, source: Source) -> Iterator[Run]:
        """Yield one run per measured phase, nearly always one."""
        if aiperf_files.is_totals(source.path):
            raise ImportRefusedError(
                "aggregate_only",
                f"{source.name} has totals and no request; import the profile_export.jsonl that "
                "AIPerf writes beside it, or run again with --export-level records",
            )
        beside = aiperf_files.read(source)
        with _no_search_for_cycles():
            phases, n_damaged = _gather(source, beside)
        try:
            for place, index in enumerate(sorted(phases)):
                yield _run(source, beside, phases[index], place, n_damaged, len(phases))
        finally:
            for phase in phases.values():
                phase.close()


IMPORTER = AIPerf()


def _any_beside(path: Path, names: Iterable[str]) -> bool:
    return any(path.with_name(name).is_file() for name in names)


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Pause the collector: parsed lines have no cycles, and a search takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _gather(source: Source, beside: Beside) -> tuple[dict[int, Measured], int]:
    """Read every line into the phase it belongs to; return those and how many were damaged."""
    phases: dict[int, Measured] = {}
    n_damaged = 0
    is_raw = "_raw.jsonl" in source.path.name
    for _, line in source.lines():
        row = _object(line)
        known = None if row is None else entry(row)
        if row is None or known is None:
            n_damaged += 1
            continue
        stream = beside.streams.get(known.request_id or "")
        if is_raw:
            stream = aiperf_raw.of_row(row, times=True)
        if known.phase_index not in phases:
            phases[known.phase_index] = _phase(source, beside, known)
        phases[known.phase_index].add(known, stream)
    if not phases:
        raise ImportRefusedError(
            "damaged",
            f"{source.name} has no line that is a whole record of AIPerf ({n_damaged} damaged); "
            "copy the file again",
        )
    return phases, n_damaged


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _phase(source: Source, beside: Beside, first: Entry) -> Measured:
    return Measured(
        name=source.name,
        beside=beside,
        index=first.phase_index,
        by_server=source.counter is TokenCounter.SERVER,
    )


def _run(
    source: Source, beside: Beside, phase: Measured, place: int, n_damaged: int, n_phases: int
) -> Run:
    requests = phase.finish()
    state, noticed = server_samples.read(source, zero_us=phase.zero_us, end_us=phase.end_us)
    load = aiperf_report.load(beside, phase.index) or phase.inferred_load()
    info = _describe(source, beside, phase, place, load)
    findings = [
        *beside.findings,
        *aiperf_findings.of_rows(phase, n_damaged),
        *aiperf_findings.of_run(source, beside, phase),
        *noticed,
    ]
    label = phase.phase_name if n_phases > 1 else None
    info = replace(info, label=label, findings=tuple(findings))
    return Run(run_json.complete(info, beside.notes), requests, state)


def _describe(source: Source, beside: Beside, phase: Measured, place: int, load: Load) -> RunInfo:
    n_offered, basis = phase.offered()
    return RunInfo(
        run_id=source.run_id(place),
        study="",
        harness="aiperf",
        importer=IMPORTER.name,
        importer_version=IMPORTER.version,
        source_name=source.name,
        source_sha256=source.sha256,
        boundary=Boundary.CLIENT,
        clock=Clock.WALL,
        load=load,
        n_offered=n_offered,
        n_offered_basis=basis,
        n_warmup=phase.n_warmup,
        index_basis=phase.index_basis,
        token_basis=phase.token_basis(),
        completion_times=True,
        harness_version=as_text(beside.totals.get("aiperf_version")),
        started_at=_utc(phase.zero_us),
        time_limit_s=aiperf_report.time_limit_s(beside, phase.index),
        client_timeout_s=aiperf_report.deadline_s(beside),
        tool=aiperf_report.tool_report(beside.totals),
        manifest=aiperf_report.manifest(beside, phase.index),
    )


def _utc(wall_us: int) -> str | None:
    try:
        moment = datetime.fromtimestamp(wall_us / 1e6, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds")
