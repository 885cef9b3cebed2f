"""`run.json`: what a person or a script wrote beside a result about the run that made it.

docs/formats.md lists the keys. Everything here is optional and less trusted than the result file:
an importer takes from it only what the result does not say.
"""

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from headway.importers import engine_command
from headway.importers.source import Source, as_number, as_text, as_whole, dig, json_object
from headway.model import Finding, Load, LoadKind, Manifest, RunInfo, Severity

NAME = "run.json"
VLLM, AIPERF, VIDUR = "vllm", "aiperf", "vidur"

_WHOLE_FIELDS = {f.name for f in fields(Manifest) if "int" in str(f.type)}
_FIELDS = {f.name for f in fields(Manifest)}


@dataclass(frozen=True, slots=True)
class Notes:
    """What a `run.json` says, in Headway's words; empty where there is none."""

    policy: str | None = None
    label: str | None = None
    replicate: int | None = None
    declared_rps: float | None = None
    started_at: str | None = None
    vllm_version: str | None = None
    harness_version: str | None = None
    bench_options: dict[str, str] | None = None
    manifest: Manifest = field(default_factory=Manifest)
    findings: tuple[Finding, ...] = ()


def read(source: Source, tool: str) -> Notes:
    """Read the `run.json` beside a source, if there is one that describes a run of this tool.

    Files of several tools may lie in one folder, with the description of one of them.
    """
    path = source.beside(NAME)
    if path is None or path == source.path:
        return Notes()
    value, broken = json_object(path)
    if value is None:
        return Notes(findings=() if broken is None else (broken,))
    # A result that happens to be called run.json is a run of its own, not a description.
    if "ttfts" in value or "request_throughput" in value:
        return Notes()
    other = tool_of(value)
    if other not in (None, tool):
        return Notes(
            findings=(
                Finding(
                    "sidecar_mismatch",
                    Severity.WARNING,
                    1,
                    f"{NAME} beside the source was not used: it describes a run of {other}",
                ),
            )
        )
    return _notes(value)


def tool_of(value: dict[str, Any]) -> str | None:
    """Return the tool whose run a description is about, where it says so."""
    said = as_text(dig(value, "client", "tool"))
    if said is not None:
        return said.lower()
    command = as_text(value.get("bench_command")) or as_text(value.get("cli_equivalent")) or ""
    named = {"vllm bench": VLLM, "benchmark_serving": VLLM, "aiperf profile": AIPERF}
    return next((tool for words, tool in named.items() if words in command), None)


def _notes(value: dict[str, Any]) -> Notes:
    command = as_text(dig(value, "engine", "serve_cmd")) or as_text(dig(value, "engine", "command"))
    environment = as_text(dig(value, "engine", "env")) or ""
    version = as_text(value.get("vllm_version"))
    from_command = engine_command.manifest(command or "", environment)
    if from_command.engine is not None and version is not None:
        from_command = replace(from_command, engine_build=version)
    served = Manifest(
        artifact=_digest(as_text(dig(value, "model", "weights_sha256"))),
        engine=as_text(dig(value, "engine", "name")),
        engine_build=as_text(dig(value, "engine", "distribution"))
        or as_text(dig(value, "engine", "version")),
        devices=as_text(dig(value, "host", "cpu")),
        precision=as_text(dig(value, "model", "dtype")),
    )
    bench = as_text(value.get("bench_command")) or as_text(value.get("cli_equivalent"))
    return Notes(
        policy=as_text(value.get("policy")),
        label=as_text(value.get("label")),
        replicate=as_whole(value.get("replicate")),
        declared_rps=as_number(dig(value, "load", "offered_mean_rps")),
        started_at=_utc(as_number(value.get("wall_start_unix"))),
        vllm_version=version,
        harness_version=as_text(value.get("harness_version")),
        bench_options=None if bench is None else engine_command.options(bench),
        manifest=merge(merge(_stated(value.get("manifest")), served), from_command),
    )


def _digest(sha256: str | None) -> str | None:
    return None if sha256 is None else f"weights sha256 {sha256[:16]}"


def _stated(value: object) -> Manifest:
    """Take the manifest fields that a `run.json` spells out, ignoring what is not one."""
    if not isinstance(value, dict):
        return Manifest()
    known: dict[str, Any] = {}
    for name in _FIELDS & set(value):
        known[name] = as_whole(value[name]) if name in _WHOLE_FIELDS else as_text(value[name])
    return Manifest(**known)


def merge(first: Manifest, second: Manifest) -> Manifest:
    """Return a manifest with the first's fields, and the second's where the first has none."""
    missing = {
        f.name: getattr(second, f.name) for f in fields(Manifest) if getattr(first, f.name) is None
    }
    return replace(first, **missing)


def complete(info: RunInfo, notes: Notes) -> RunInfo:
    """Return a description with what the notes add where the source is silent."""
    load: Load = info.load
    paced = load.kind in (LoadKind.OPEN, LoadKind.TRACE)
    if paced and load.declared_rps is None and notes.declared_rps is not None:
        load = replace(load, declared_rps=notes.declared_rps)
    return replace(
        info,
        load=load,
        policy=info.policy or notes.policy,
        label=info.label or notes.label,
        replicate=info.replicate if info.replicate is not None else notes.replicate,
        started_at=info.started_at or notes.started_at,
        harness_version=info.harness_version or notes.harness_version,
        manifest=merge(info.manifest, notes.manifest),
        findings=info.findings + notes.findings,
    )


def _utc(unix_s: float | None) -> str | None:
    if unix_s is None:
        return None
    try:
        return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return None
