"""What AIPerf's configuration and aggregates say of a run: load, manifest, its own totals."""

from collections.abc import Iterator, Mapping
from typing import Any

from headway.importers.aiperf_files import Beside
from headway.importers.source import as_number, as_text, as_whole, dig
from headway.model import Load, LoadKind, Manifest, Metric, ToolAggregate, ToolReport
from headway.numbers import brief

_ARRIVALS = {"poisson": "poisson", "constant": "constant", "gamma": "gamma"}
_TRACES = {"fixed_schedule", "trace", "trace_replay"}
_STATISTICS = ("p50", "p75", "p90", "p95", "p99", "max")
_OVER = "over the tool's successes, percentiles by linear interpolation"
_DEFINITIONS = {
    "time_to_first_token": (Metric.TTFT, f"send to the first event with content, {_OVER}"),
    "inter_token_latency": (
        Metric.TPOT,
        "(latency - TTFT) / (output tokens - 1), over the tool's successes of more than one token, "
        "percentiles by linear interpolation",
    ),
    "inter_chunk_latency": (Metric.GAP, f"gaps between events with content, pooled {_OVER}"),
    "request_latency": (Metric.LATENCY, f"send to the last event with content, {_OVER}"),
}
_THROUGHPUT = (
    "output tokens of the tool's successes over its whole benchmark duration, drain included"
)


def phase_of(beside: Beside, index: int) -> Mapping[str, Any]:
    """Return the configuration of a measured phase by its place; empty where it is not known."""
    measured = [p for p in beside.phases if as_text(p.get("kind")) != "warmup"]
    return measured[index] if index < len(measured) else {}


def load(beside: Beside, index: int) -> Load | None:
    """Return how requests were offered; None where no file says."""
    phase = phase_of(beside, index)
    kind, cap = as_text(phase.get("type")), as_whole(phase.get("concurrency"))
    rate = as_number(phase.get("rate"))
    if kind in _TRACES:
        return Load(LoadKind.TRACE, beside.notes.declared_rps, cap, "trace", None, _phases(beside))
    if kind == "concurrency" or (rate is None and cap is not None):
        return Load(LoadKind.CLOSED, concurrency=cap)
    if kind is None and rate is None:
        return None
    if rate is None:
        return Load(LoadKind.UNLIMITED, concurrency=cap)
    arrivals = _ARRIVALS.get(kind or "")
    shape = as_number(phase.get("smoothness") or phase.get("arrival_smoothness"))
    burstiness = 1.0 if arrivals == "poisson" else shape if arrivals == "gamma" else None
    return Load(LoadKind.OPEN, rate, cap, arrivals, burstiness)


def _phases(beside: Beside) -> str | None:
    parts = [f"{name} {count}" for name, count in beside.segments]
    return f"{', '.join(parts)} requests" if parts else None


def tool_report(totals: Mapping[str, Any]) -> ToolReport:
    """Return the tool's own totals."""

    def mean(name: str) -> float | None:
        return as_number(dig(totals, name, "avg"))

    return ToolReport(
        n_completed=as_whole(mean("request_count")),
        n_failed=as_whole(mean("error_request_count")),
        duration_s=mean("benchmark_duration"),
        requests_per_s=mean("request_throughput"),
        output_tokens_per_s=mean("output_token_throughput"),
        total_tokens_per_s=mean("total_token_throughput"),
        throughput_counts=_THROUGHPUT if totals else None,
        aggregates=tuple(_aggregates(totals)),
    )


def _aggregates(totals: Mapping[str, Any]) -> Iterator[ToolAggregate]:
    for name, (metric, definition) in _DEFINITIONS.items():
        entry = totals.get(name)
        if not isinstance(entry, dict) or entry.get("unit") != "ms":
            continue
        for statistic, key in {"mean": "avg", **{s: s for s in _STATISTICS}}.items():
            value_ms = as_number(entry.get(key))
            if value_ms is not None:
                yield ToolAggregate(metric, statistic, value_ms, definition)


def manifest(beside: Beside, index: int) -> Manifest:
    """Return the manifest fields that the configuration states."""
    config, phase = beside.config, phase_of(beside, index)
    dataset = _first(config.get("datasets")) or {}
    extra = dig(config, "endpoint", "extra")
    return Manifest(
        model=as_text(dig(_first(dig(config, "models", "items")), "name")),
        tokenizer=as_text(dig(config, "tokenizer", "name")),
        decoding=_decoding(extra if isinstance(extra, dict) else {}),
        arrival_process=_arrival_process(phase),
        dataset=_dataset(dataset),
        seed=as_whole(dataset.get("random_seed")),
        length_mix=_length_mix(dataset),
        client_hosts=1 if config else None,
    )


def _first(value: object) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _decoding(extra: Mapping[str, Any]) -> str | None:
    named = ("temperature", "top_p", "top_k", "min_p")
    parts = [f"{name} {extra[name]:g}" for name in named if as_number(extra.get(name)) is not None]
    if extra.get("ignore_eos") is True:
        parts.append("ignore_eos")
    return ", ".join(parts) or None


def forces_length(beside: Beside) -> bool:
    """Say whether the server was told to go on to the length asked for."""
    return dig(beside.config, "endpoint", "extra", "ignore_eos") is True


def deadline_s(beside: Beside) -> float | None:
    """Return the client's deadline for a request; the tool's default is not one."""
    seconds = as_number(dig(beside.config, "endpoint", "timeout"))
    return seconds if seconds is not None and 0 < seconds < _DEFAULT_TIMEOUT_S else None


_DEFAULT_TIMEOUT_S = 21600.0


def _arrival_process(phase: Mapping[str, Any]) -> str | None:
    """Name the process without its rate, so that a sweep over rates is one configuration."""
    kind = as_text(phase.get("type"))
    return None if kind is None else kind.replace("_", " ")


def _dataset(dataset: Mapping[str, Any]) -> str | None:
    path = as_text(dataset.get("path"))
    # The path's last part names the data set; the rest only says where it was.
    parts = [
        as_text(dataset.get("format")) or as_text(dataset.get("type")),
        None if path is None else path.rstrip("/").rpartition("/")[2],
    ]
    return " ".join(part for part in parts if part) or None


def _length_mix(dataset: Mapping[str, Any]) -> str | None:
    parts = []
    for name, key in (("input", "isl"), ("output", "osl")):
        mean = as_number(dig(dataset, "prompts", key, "mean"))
        spread = as_number(dig(dataset, "prompts", key, "stddev"))
        if mean is not None:
            parts.append(f"{name} {brief(mean, 6)}" + (f" ± {brief(spread, 6)}" if spread else ""))
    return ", ".join(parts) or None


def time_limit_s(beside: Beside, index: int) -> float | None:
    """Return the duration at which a phase was to stop."""
    return as_number(phase_of(beside, index).get("duration"))
