"""What a `vllm bench serve` result says of the whole run: load, manifest, totals, findings."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headway.importers.source import as_number, as_text, as_whole
from headway.importers.vllm_files import Bench, rate_rps
from headway.importers.vllm_outcomes import Lengths, Verdict
from headway.model import (
    Finding,
    Load,
    LoadKind,
    Manifest,
    Metric,
    Severity,
    ToolAggregate,
    ToolReport,
)
from headway.numbers import brief

_AGGREGATE = re.compile(r"(mean|median|p\d+(?:\.\d+)?)_(ttft|tpot|itl|e2el)_ms")
_METRICS = {
    "ttft": Metric.TTFT,
    "tpot": Metric.TPOT,
    "itl": Metric.GAP,
    "e2el": Metric.LATENCY,
}
_OVER = "over the tool's successes, percentiles by linear interpolation"
_DEFINITIONS = {
    "ttft": f"send to the first stream event that has choices, {_OVER}",
    "tpot": "(latency - TTFT) / (output tokens - 1), over the tool's successes of more than one "
    "token, percentiles by linear interpolation",
    "itl": f"gaps between stream events, pooled {_OVER}",
    "e2el": f"send to the last stream event that has choices, {_OVER}",
}
_THROUGHPUT = "output tokens of the tool's successes over its whole duration, drain included"
_LONG_WAIT_S = 0.1


def load(bench: Bench) -> Load:
    """Return how requests were offered."""
    rate, cap = rate_rps(bench), as_whole(bench.scalars.get("max_concurrency"))
    ramp = as_text(bench.scalars.get("ramp_up_strategy"))
    if ramp is not None:
        first = as_number(bench.scalars.get("ramp_up_start_rps"))
        last = as_number(bench.scalars.get("ramp_up_end_rps"))
        phases = f"{ramp} {_plain(first)}→{_plain(last)} req/s"
        return Load(LoadKind.OPEN, concurrency=cap, arrivals="ramp", phases=phases)
    if rate is None or math.isinf(rate):
        kind = LoadKind.UNLIMITED if cap is None else LoadKind.CLOSED
        return Load(kind, concurrency=cap)
    arrivals, burstiness = _arrivals(bench)
    return Load(LoadKind.OPEN, rate, cap, arrivals, burstiness)


def _arrivals(bench: Bench) -> tuple[str | None, float | None]:
    """Name the arrival process: gamma, of which Poisson and even spacing are the known cases."""
    value = bench.scalars.get("burstiness")
    if not isinstance(value, int | float | str):
        return None, None
    try:
        shape = float(value)
    except (ValueError, OverflowError):
        return None, None
    if math.isinf(shape):
        return "constant", None
    if math.isnan(shape):
        return None, None
    return ("poisson" if shape == 1 else "gamma"), shape


def _plain(value: float | None) -> str:
    return "?" if value is None else brief(value, 6)


def tool_report(bench: Bench) -> ToolReport:
    """Return the tool's own totals; the zeros it writes when nothing succeeded are no numbers."""
    scalars = bench.scalars
    return ToolReport(
        n_completed=as_whole(scalars.get("completed")),
        n_failed=as_whole(scalars.get("failed")),
        duration_s=as_number(scalars.get("duration")),
        requests_per_s=as_number(scalars.get("request_throughput")),
        output_tokens_per_s=as_number(scalars.get("output_throughput")),
        total_tokens_per_s=as_number(scalars.get("total_token_throughput")),
        throughput_counts=_THROUGHPUT,
        aggregates=() if scalars.get("completed") == 0 else tuple(_aggregates(scalars)),
    )


def _aggregates(scalars: Mapping[str, Any]) -> Iterator[ToolAggregate]:
    seen = set()
    for key, value in scalars.items():
        match, value_ms = _AGGREGATE.fullmatch(key), as_number(value)
        if match is None or value_ms is None:
            continue
        statistic = "p50" if match.group(1) == "median" else match.group(1)
        name = match.group(2)
        if (name, statistic) not in seen:
            seen.add((name, statistic))
            yield ToolAggregate(_METRICS[name], statistic, value_ms, _DEFINITIONS[name])


def manifest(bench: Bench, options: Mapping[str, str] | None) -> Manifest:
    """Return the manifest fields that the result, and the benchmark's command, state."""
    scalars, stated = bench.scalars, options or {}
    offered = load(bench)
    return Manifest(
        model=as_text(scalars.get("model_id")),
        tokenizer=as_text(scalars.get("tokenizer_id")),
        token_budget=as_whole(scalars.get("max_num_batched_tokens")),
        batch_cap=as_whole(scalars.get("max_num_seqs")),
        context_limit=as_whole(scalars.get("max_model_len")),
        decoding=_decoding(stated),
        arrival_process=_arrival_process(offered),
        dataset=_dataset(stated),
        seed=as_whole(stated.get("seed")),
        length_mix=_length_mix(stated),
        burst=f"gamma arrivals, shape {offered.burstiness:g}"
        if offered.arrivals == "gamma"
        else None,
        client_hosts=1,
    )


def _decoding(stated: Mapping[str, str]) -> str | None:
    named = ("temperature", "top-p", "top-k", "min-p")
    parts = [f"{name} {stated[name]}" for name in named if name in stated]
    if "ignore-eos" in stated:
        parts.append("ignore_eos")
    return ", ".join(parts) or None


def _dataset(stated: Mapping[str, str]) -> str | None:
    name = as_text(stated.get("dataset-name"))
    path = as_text(stated.get("dataset-path"))
    # The path's last part names the data set; the rest only says where it was.
    parts = [name, None if path is None else path.rstrip("/").rpartition("/")[2]]
    return " ".join(part for part in parts if part) or None


def _length_mix(stated: Mapping[str, str]) -> str | None:
    name = stated.get("dataset-name", "")
    wanted = {
        "input": stated.get(f"{name}-input-len"),
        "output": stated.get(f"{name}-output-len"),
        "range ratio": stated.get(f"{name}-range-ratio"),
    }
    return ", ".join(f"{key} {value}" for key, value in wanted.items() if value) or None


def _arrival_process(offered: Load) -> str | None:
    """Name the process without its rate: a sweep over rates is one configuration."""
    if offered.kind is LoadKind.CLOSED:
        return "closed loop"
    if offered.kind is LoadKind.UNLIMITED:
        return "all at once"
    if offered.arrivals == "gamma":
        return f"gamma, shape {offered.burstiness:g}"
    return offered.arrivals


def findings(
    bench: Bench,
    successes: Sequence[bool],
    verdicts: Sequence[Verdict],
    known: Lengths,
    has_workload: bool,
) -> list[Finding]:
    """Return what a reader should know of the times, counts and lengths of a result."""
    return [
        *_times(bench),
        *_counts(bench, successes),
        *_lengths(verdicts, known, has_workload),
    ]


def _times(bench: Bench) -> Iterator[Finding]:
    if bench.start_times is None:
        yield Finding(
            "no_send_times",
            Severity.WARNING,
            bench.n_rows,
            "send times are not in the file (vLLM records start_times since 0.16.0): nothing can "
            "be said over time, nor of the load really offered",
        )
    capped = as_whole(bench.scalars.get("max_concurrency")) is not None
    if bench.start_times is not None and bench.queue_times is None and capped:
        yield Finding(
            "no_queue_times",
            Severity.WARNING,
            bench.n_rows,
            "requests waited in the client for one of max_concurrency slots, and how long is not "
            "in the file (vLLM records queue_times since 0.32.0)",
        )
    waits_s = np.array([wait for wait in bench.queue_times or [] if wait is not None])
    n_long = int((waits_s > _LONG_WAIT_S).sum())
    if capped and n_long:
        yield Finding(
            "client_queue",
            Severity.WARNING,
            n_long,
            f"{n_long} of {bench.n_rows} requests waited over 100 ms in the client for one of "
            f"max_concurrency slots (median of all {brief(float(np.median(waits_s)))} s): "
            "latencies from send leave that out",
        )


def _counts(bench: Bench, successes: Sequence[bool]) -> Iterator[Finding]:
    declared = as_whole(bench.scalars.get("completed"))
    if declared is not None and declared != sum(successes):
        yield Finding(
            "count_mismatch",
            Severity.WARNING,
            abs(declared - sum(successes)),
            f"the tool says {declared} requests completed; its rows show {sum(successes)} "
            "without an error and with a first token",
        )
    planned = as_whole(bench.scalars.get("num_prompts"))
    if planned is not None and planned != bench.n_rows:
        surplus = planned < bench.n_rows
        yield Finding(
            "rows_surplus" if surplus else "rows_missing",
            Severity.WARNING if surplus else Severity.ERROR,
            abs(planned - bench.n_rows),
            f"num_prompts is {planned} and the lists have {bench.n_rows} entries: "
            + ("all of them are counted" if surplus else "the others are unaccounted for"),
        )


def _lengths(verdicts: Sequence[Verdict], known: Lengths, has_workload: bool) -> Iterator[Finding]:
    notes = Counter(verdict.note for verdict in verdicts)
    if notes["short"]:
        yield Finding(
            "short_success",
            Severity.WARNING,
            notes["short"],
            f"{notes['short']} requests that the tool counts as successes broke off early: they "
            "are truncated here",
        )
    recounted = notes["retokenised"] + sum("the tool counts" in (v.reason or "") for v in verdicts)
    if recounted:
        yield Finding(
            "length_retokenised",
            Severity.WARNING,
            recounted,
            f"the output length of {recounted} requests is a recount of their text, since the "
            "server sent no usage; whether they are whole is told by their chunks",
        )
    if notes["clamped"]:
        yield Finding(
            "output_clamped",
            Severity.INFO,
            notes["clamped"],
            f"{notes['clamped']} answers end at the context limit, short of what was asked",
        )
    if not known.expected:
        text = (
            "the frozen workload does not force output lengths"
            if has_workload
            else "the output lengths asked for are unknown (no workload.json beside the result)"
        )
        yield Finding(
            "short_answers_undetectable",
            Severity.INFO,
            len(verdicts),
            f"{text}: an answer that broke off without an error counts as completed",
        )


def peak(bench: Bench) -> Iterator[Finding]:
    """Yield that the tool's peak cannot be one of tokens, where that shows."""
    most = as_number(bench.scalars.get("max_output_tokens_per_s"))
    mean = as_number(bench.scalars.get("output_throughput"))
    if most is not None and mean is not None and 0 < most < mean:
        yield Finding(
            "peak_below_average",
            Severity.INFO,
            1,
            f"the tool's peak of {brief(most, 4)} output tok/s is below its mean of "
            f"{brief(mean, 4)}: the peak counts chunks, not tokens",
        )
