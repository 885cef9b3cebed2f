"""The files that AIPerf writes beside its records, and those a study adds to them."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from headway.errors import ImportRefusedError
from headway.importers import aiperf_raw, run_json
from headway.importers.source import (
    Source,
    as_number,
    as_text,
    as_whole,
    decode,
    dig,
    head,
    json_object,
    read_bytes,
    unreadable_sidecar,
)
from headway.model import Finding

DIGEST = "raw_digest.csv"
PLAN = "trace.jsonl"
LOG = "logs/aiperf.log"
CONFIG = "run_config.json"
INPUTS = "inputs.json"

_EXPORT = re.compile(r"(?P<stem>.+?)(?P<raw>_raw)?\.jsonl(\.gz|\.zst)?")
_STARTED = re.compile(
    r"Phase (?P<name>.+?) \((?P<kind>\w+)\) started \|.*?target: (?P<target>[^|]*)"
)
_COUNTS = re.compile(
    r"Phase (?P<name>.+?) \((?P<kind>\w+)\) (?P<event>sending complete|complete) \| (?P<rest>.*)"
)
_COUNT = re.compile(r"(\w+)=(\d+)")
_REQUESTS = re.compile(r"(\d+) requests?\b")


@dataclass(frozen=True, slots=True)
class Names:
    """What the files of one run are called; AIPerf lets its user choose the stem."""

    stem: str

    @classmethod
    def of(cls, path: Path) -> "Names":
        """Return the names that belong to a file of records or a raw export."""
        match = _EXPORT.fullmatch(path.name)
        return cls(match["stem"] if match else path.stem)

    def records(self) -> tuple[str, ...]:
        """Return the names the records may have."""
        return tuple(f"{self.stem}.jsonl{packed}" for packed in ("", ".gz", ".zst"))

    def raw(self) -> tuple[str, ...]:
        """Return the names the raw export may have."""
        return tuple(f"{self.stem}_raw.jsonl{packed}" for packed in ("", ".gz", ".zst"))

    def totals(self) -> str:
        """Return the name of the aggregates."""
        return f"{self.stem}_aiperf.json"

    def beside(self) -> tuple[str, ...]:
        """Return every name that is read, or known to add nothing, along with the records."""
        metrics = [f"server_metrics_export.{kind}" for kind in ("json", "csv", "jsonl")]
        return (
            *self.raw(),
            self.totals(),
            f"{self.stem}_aiperf.csv",
            f"{self.stem}_console.txt",
            *metrics,
            *(f"{name}.gz" for name in metrics),
            "server_timeseries.csv",
            *(LOG, CONFIG, INPUTS, DIGEST, PLAN, run_json.NAME),
        )


def is_records(path: Path) -> bool:
    """Decide from the first line whether a file has AIPerf's records, or its raw export."""
    start = head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b'{"metadata"') and (
        b'"credit_issued_ns"' in start or b'"benchmark_phase"' in start
    )


def is_totals(path: Path) -> bool:
    """Decide whether a file has AIPerf's aggregates, which have no request in them."""
    return path.name.endswith("_aiperf.json") and b'"aiperf_version"' in head(path)


@dataclass(frozen=True, slots=True)
class Count:
    """What the tool's log counts in one phase; None where it does not say."""

    n_target: int | None = None
    n_sent: int | None = None
    n_cancelled: int = 0


@dataclass(frozen=True, slots=True)
class Planned:
    """A request of the plan: its place, when it is due after the first, and its size."""

    index: int
    due_ms: float
    prompt_tokens: int | None
    output_tokens: int | None
    prefix_group: int | None


@dataclass(frozen=True, slots=True)
class Partial:
    """What a study's digest keeps of a raw export: how much of an answer arrived, and when."""

    n_events: int
    first_ms: float | None


@dataclass(frozen=True, slots=True)
class Beside:
    """Everything that the files beside the records say; empty where they are not there."""

    config: Mapping[str, Any] = field(default_factory=dict)
    totals: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Count] = field(default_factory=dict)
    streams: Mapping[str, aiperf_raw.Stream] = field(default_factory=dict)
    partials: Mapping[str, Partial] = field(default_factory=dict)
    plan: Mapping[str, Planned] = field(default_factory=dict)
    notes: run_json.Notes = field(default_factory=run_json.Notes)
    segments: tuple[tuple[str, int], ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def phases(self) -> list[Mapping[str, Any]]:
        """Return the phases of the configuration, in order."""
        phases = self.config.get("phases")
        return [p for p in phases if isinstance(p, dict)] if isinstance(phases, list) else []


def read(source: Source) -> Beside:
    """Read what stands beside a source; a broken file becomes a finding."""
    names, noticed = Names.of(source.path), []
    totals, broken = json_object(source.beside(names.totals()))
    noticed.append(broken)
    cell, broken = json_object(source.beside(CONFIG))
    noticed.append(broken)
    described, _ = json_object(source.beside(run_json.NAME))
    if run_json.tool_of(described or {}) not in (None, run_json.AIPERF):
        described = None
    plan, broken = _plan(source.beside(PLAN))
    noticed.append(broken)
    partials, broken = _digest(source.beside(DIGEST))
    noticed.append(broken)
    streams, broken = _streams(source, names)
    noticed.append(broken)
    config = dig(totals, "input_config") or dig(cell, "cfg")
    return Beside(
        config=config if isinstance(config, dict) else {},
        totals=totals or {},
        counts=_counts(source, described),
        streams=streams,
        partials=partials,
        plan=plan,
        notes=run_json.read(source, run_json.AIPERF),
        segments=_segments(described),
        findings=tuple(finding for finding in noticed if finding is not None),
    )


def not_run(source: Source) -> list[str]:
    """Name the cells of the same sweep that were declared and have no records."""
    own, _ = json_object(source.beside(CONFIG))
    sweep = as_text(dig(own, "sweep_id"))
    if sweep is None:
        return []
    missing = []
    for path in sorted(source.path.parent.parent.glob(f"*/{CONFIG}")):
        records = [
            name for name in Names.of(source.path).records() if (path.parent / name).exists()
        ]
        cell, _ = json_object(path)
        if not records and dig(cell, "sweep_id") == sweep:
            missing.append(path.parent.name)
    return missing


def _streams(source: Source, names: Names) -> tuple[dict[str, aiperf_raw.Stream], Finding | None]:
    path = source.beside(*names.raw())
    if path is None or path == source.path:
        return {}, None
    try:
        streams, n_damaged = aiperf_raw.read(path)
    except ImportRefusedError as refusal:
        return {}, unreadable_sidecar(path, str(refusal))
    if n_damaged:
        return streams, unreadable_sidecar(path, f"{n_damaged} damaged lines were passed over")
    return streams, None


def _counts(source: Source, described: Mapping[str, Any] | None) -> dict[str, Count]:
    path = source.beside(LOG)
    if path is not None:
        lines = path.read_text("utf-8", errors="replace").splitlines()
        return read_counts(lines)
    kept = dig(described, "client", "phase_log")
    return read_counts([str(line) for line in kept]) if isinstance(kept, list) else {}


def read_counts(lines: Iterable[str]) -> dict[str, Count]:
    """Read what the tool's log says of each measured phase.

    Examples
    --------
    >>> read_counts(["Phase profiling (profiling) sending complete | sent=9, completed=7 | x"])
    {'profiling': Count(n_target=None, n_sent=9, n_cancelled=0)}
    """
    found: dict[str, dict[str, int]] = {}
    for line in lines:
        started = _STARTED.search(line)
        if started:
            target = _REQUESTS.search(started["target"])
            if target:
                found.setdefault(started["name"], {})["n_target"] = int(target[1])
        counted = _COUNTS.search(line)
        if counted:
            # The counts of sessions follow behind a bar.
            numbers = dict(_COUNT.findall(counted["rest"].partition("|")[0]))
            entry = found.setdefault(counted["name"], {})
            if "sent" in numbers:
                entry["n_sent"] = int(numbers["sent"])
            if counted["event"] == "complete":
                entry["n_cancelled"] = int(numbers.get("cancelled", 0))
    return {name: Count(**entry) for name, entry in found.items()}


def _plan(path: Path | None) -> tuple[dict[str, Planned], Finding | None]:
    """Read the schedule that was replayed: one request a line, by conversation."""
    if path is None:
        return {}, None
    try:
        text = decode(read_bytes(path, path.name), path.name)
        rows = [orjson.loads(line) for line in text.splitlines() if line.strip()]
        plan = _planned(rows)
    except (ImportRefusedError, orjson.JSONDecodeError) as error:
        return {}, unreadable_sidecar(path, str(error))
    if plan is None:
        return {}, unreadable_sidecar(
            path, "expected session_id and timestamp in every line, and no session twice"
        )
    return plan, None


def _planned(rows: Sequence[object]) -> dict[str, Planned] | None:
    names = [as_text(dig(row, "session_id")) for row in rows]
    due_ms = [as_number(dig(row, "timestamp")) for row in rows]
    if None in names or None in due_ms or len(set(names)) < len(names):
        return None
    groups = _groups([dig(row, "hash_ids") for row in rows])
    first_ms = min((due for due in due_ms if due is not None), default=0.0)
    return {
        name: Planned(
            index,
            due - first_ms,
            as_whole(dig(row, "input_length")),
            as_whole(dig(row, "output_length")),
            groups[index],
        )
        for index, (name, due, row) in enumerate(zip(names, due_ms, rows, strict=True))
        if name is not None and due is not None
    }


def _groups(prompts: Sequence[object]) -> list[int | None]:
    """Return the group of requests that begin with the same block; None for those alone."""
    first = [str(blocks[0]) if isinstance(blocks, list) and blocks else None for blocks in prompts]
    shared: dict[str, int] = {}
    for block in first:
        if block is not None and first.count(block) > 1:
            shared.setdefault(block, len(shared))
    return [None if block is None else shared.get(block) for block in first]


def _digest(path: Path | None) -> tuple[dict[str, Partial], Finding | None]:
    if path is None:
        return {}, None
    try:
        rows = list(csv.DictReader(io.StringIO(decode(read_bytes(path, path.name), path.name))))
    except (ImportRefusedError, csv.Error) as error:
        return {}, unreadable_sidecar(path, str(error))
    found = {}
    for row in rows:
        request_id, events = as_text(row.get("x_request_id")), as_whole(row.get("content_events"))
        if request_id is not None and events is not None and events >= 0:
            found[request_id] = Partial(events, as_number(row.get("first_content_ms")))
    return found, None


def _segments(described: Mapping[str, Any] | None) -> tuple[tuple[str, int], ...]:
    """Return the parts of the load in order of time, each with how many requests it has."""
    parts = dig(described, "workload", "phases")
    if not isinstance(parts, dict):
        return ()
    known = [
        (as_number(dig(part, "start_ms")), name, as_whole(dig(part, "requests")))
        for name, part in parts.items()
    ]
    return tuple(
        (name, count)
        for start, name, count in sorted(known, key=lambda entry: entry[0] or 0.0)
        if start is not None and count is not None
    )
