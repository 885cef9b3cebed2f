"""One line of AIPerf's records: what became of the request, and when.

AIPerf's rows of requests that did not succeed have wrong instants: docs/formats.md says which,
and how each is put right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headway.importers import outcomes
from headway.importers.aiperf_files import Partial
from headway.importers.aiperf_raw import Stream, as_int
from headway.importers.source import as_number, as_text, as_whole, dig
from headway.model import Outcome, OutcomeBasis, Phase

_CLIENT_CANCELLED = 499
_CANCELLED = "RequestCancellationError"

Instants = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line, typed; instants in nanoseconds of the client's wall clock."""

    phase: Phase
    phase_name: str
    phase_index: int
    session_num: int | None
    request_id: str | None
    conversation_id: str | None
    turn_index: int | None
    credit_ns: int | None
    start_ns: int | None
    end_ns: int | None
    was_cancelled: bool
    error: Mapping[str, Any] | None
    metrics: Mapping[str, Any]

    @property
    def is_success(self) -> bool:
        """Whether the tool counts it as a success."""
        return not self.error and not self.was_cancelled

    @property
    def sent_ns(self) -> int | None:
        """When it was sent: a row that was cancelled has its cancellation there."""
        return self.credit_ns if self.is_shifted else self.start_ns

    @property
    def is_shifted(self) -> bool:
        """Whether start and end stand one delay late, as in rows of cancelled requests.

        The start is then the instant of the cancellation: it lies as far after the credit as the
        end lies after it.
        """
        if not self.was_cancelled or self.credit_ns is None or self.start_ns is None:
            return False
        return 2 * (self.start_ns - self.credit_ns) > (self.end_ns or self.start_ns) - self.start_ns

    def metric(self, name: str) -> Any:
        """Return a metric's value as it stands."""
        try:
            return self.metrics[name]["value"]
        except (KeyError, TypeError):
            return None


def entry(row: Mapping[str, Any]) -> Entry | None:
    """Type a line's object; None if it has no metadata, and so is no record."""
    meta = row.get("metadata")
    if not isinstance(meta, dict):
        return None
    error, metrics = row.get("error"), row.get("metrics")
    named = as_text(meta.get("benchmark_phase")) or "profiling"
    is_warmup = "warmup" in (named, as_text(meta.get("phase_kind")))
    return Entry(
        phase=Phase.WARMUP if is_warmup else Phase.MEASURED,
        phase_name=as_text(meta.get("phase_name")) or named,
        phase_index=as_whole(meta.get("profiling_index")) or 0,
        session_num=as_whole(meta.get("session_num")),
        request_id=as_text(meta.get("x_request_id")),
        conversation_id=as_text(meta.get("conversation_id")),
        turn_index=as_whole(meta.get("turn_index")),
        credit_ns=as_int(meta.get("credit_issued_ns")),
        start_ns=as_int(meta.get("request_start_ns")),
        end_ns=as_int(meta.get("request_end_ns")),
        was_cancelled=meta.get("was_cancelled") is True
        or (isinstance(error, dict) and _is_cancellation(error)),
        error=error if isinstance(error, dict) and error else None,
        metrics=metrics if isinstance(metrics, dict) else {},
    )


def _is_cancellation(error: Mapping[str, Any]) -> bool:
    return error.get("type") == _CANCELLED or error.get("code") == _CLIENT_CANCELLED


def outcome(row: Entry, stream: Stream | None) -> dict[str, Any]:
    """Say what became of a request and how that is known.

    A success whose usage is missing is only judged when all rows are known: see `aiperf`.
    """
    if row.was_cancelled:
        return _stated(Outcome.CANCELLED, _reason(row), None)
    if row.error is not None:
        return _failure(row)
    if stream is not None and stream.error is not None:
        return _inferred(Outcome.TRUNCATED, f"error event in the stream: {stream.error}")
    if stream is not None and not stream.is_ended and stream.output_tokens is None:
        return _inferred(Outcome.TRUNCATED, "the stream was closed without its end")
    has_stream = stream is not None and len(stream.content_ns) > 0
    if row.metric("request_latency") is None and not has_stream:
        return _inferred(Outcome.FAILED, "no content received and no error recorded")
    status = None if stream is None else stream.status
    return _stated(Outcome.COMPLETED, None, status)


def _failure(row: Entry) -> dict[str, Any]:
    code = as_whole(dig(row.error, "code"))
    if code is not None and 400 <= code < 600:
        return _stated(outcomes.of_status(code), _reason(row), code)
    kind = as_text(dig(row.error, "type")) or ""
    return _stated(outcomes.of_exception(kind), _reason(row), None)


def _reason(row: Entry) -> str | None:
    kind, message = as_text(dig(row.error, "type")), as_text(dig(row.error, "message"))
    if message is None or kind is None or message.startswith(kind):
        return outcomes.last_line(message or kind or "") or None
    return outcomes.shortened(f"{kind}: {outcomes.last_line(message)}")


def _stated(what: Outcome, reason: str | None, status: int | None) -> dict[str, Any]:
    basis = OutcomeBasis.STATED
    return {"outcome": what, "outcome_basis": basis, "reason": reason, "http_status": status}


def _inferred(what: Outcome, reason: str) -> dict[str, Any]:
    return {
        "outcome": what,
        "outcome_basis": OutcomeBasis.INFERRED,
        "reason": outcomes.shortened(reason),
    }


def times(
    row: Entry, stream: Stream | None, partial: Partial | None, deadline_s: float | None
) -> dict[str, Any]:
    """Place a request on the wall clock, in whole microseconds of it.

    Instants are rounded first and subtracted afterwards, so that durations add up.
    """
    sent_ns = row.sent_ns
    if sent_ns is None:
        return {}
    known: dict[str, Any] = {"sent_us": _us(sent_ns)}
    seen_us = _content_ns(row, stream)
    if len(seen_us):
        seen_us += sent_ns + 500  # in place, as `_us` rounds: these are most of an import's numbers
        seen_us //= 1000
        known["ttft_us"] = int(seen_us[0]) - known["sent_us"]
        if row.metric("inter_chunk_latency") is not None or len(seen_us) > 1:
            gaps_us = seen_us[1:] - seen_us[:-1]
            known["chunk_gaps_us"], known["n_chunks"] = gaps_us, len(seen_us)
            known["max_gap_us"] = int(np.maximum.reduce(gaps_us)) if len(gaps_us) else None
        if row.is_success:
            known["latency_us"] = _latency_us(row, sent_ns, seen_us)
    elif row.is_success and (latency_ms := as_number(row.metric("request_latency"))) is not None:
        known["latency_us"] = int(_us(sent_ns + round(latency_ms * 1e6))) - known["sent_us"]
    elif partial is not None and partial.n_events and partial.first_ms is not None:
        known["ttft_us"] = int(_us(sent_ns + round(partial.first_ms * 1e6))) - known["sent_us"]
        known["n_chunks"] = partial.n_events
    known["ended_us"] = _ended_us(row, known, deadline_s)
    return known


def _content_ns(row: Entry, stream: Stream | None) -> Instants:
    """Return when output arrived, in nanoseconds from the send, in an array of its own."""
    ttft_ms = as_number(row.metric("time_to_first_token"))
    if ttft_ms is None:
        return np.array([], np.int64) if stream is None else stream.content_ns.copy()
    gaps = row.metric("inter_chunk_latency")
    steps_ms = np.array([ttft_ms, *gaps] if isinstance(gaps, list) else [ttft_ms], np.float64)
    steps_ms *= 1e6
    return np.rint(steps_ms, out=steps_ms).astype(np.int64).cumsum()


def _latency_us(row: Entry, sent_ns: int, seen_us: Instants) -> int:
    """Return the time to the last output, or to the end stated where gaps are not recorded."""
    stated_ms = as_number(row.metric("request_latency"))
    if row.metric("inter_chunk_latency") is None and stated_ms is not None:
        return int(_us(sent_ns + round(stated_ms * 1e6)) - _us(sent_ns))
    return int(seen_us[-1]) - int(_us(sent_ns))


def _ended_us(row: Entry, known: Mapping[str, Any], deadline_s: float | None) -> int | None:
    """Return the last thing known of a request; None where its row only repeats its start."""
    sent_us: int = known["sent_us"]
    if "latency_us" in known:
        return sent_us + int(known["latency_us"])
    if row.is_shifted:
        return int(_us(row.start_ns or 0))
    kind = as_text(dig(row.error, "type")) or ""
    if outcomes.of_exception(kind) is Outcome.TIMED_OUT and deadline_s is not None:
        # The row ends with the last event, and the request went on to the client's deadline.
        return sent_us + round(deadline_s * 1e6)
    ended_us = None if row.end_ns is None else int(_us(row.end_ns))
    return ended_us if ended_us is not None and ended_us > sent_us else None


def _us(ns: Any) -> Any:
    """Round nanoseconds, a number or an array, to the nearest microsecond."""
    return (ns + 500) // 1000


def tokens(row: Entry, stream: Stream | None, *, by_server: bool) -> dict[str, Any]:
    """Return the token counts; failures have none that can be trusted."""
    known: dict[str, Any] = {
        "prompt_tokens": _count(row, by_server, "input_sequence_length", "usage_prompt_tokens"),
        "output_tokens": _count(
            row, by_server, "output_sequence_length", "usage_completion_tokens"
        ),
        "cached_tokens": as_whole(row.metric("usage_prompt_cache_read_tokens")),
        "reasoning_tokens": as_whole(row.metric("reasoning_token_count")),
        "first_visible_us": _first_visible_us(row),
    }
    if stream is None:
        return known
    seen = {
        "prompt_tokens": stream.prompt_tokens,
        "output_tokens": stream.output_tokens,
        "cached_tokens": stream.cached_tokens,
    }
    known |= {name: count for name, count in seen.items() if known[name] is None}
    known["requested_output_tokens"] = stream.requested_output_tokens
    known["finish_reason"] = stream.finish_reason
    return known


def _count(row: Entry, by_server: bool, tool: str, server: str) -> int | None:
    """Return the tool's count or the server's, whichever was asked for, else the other."""
    counts = [as_whole(row.metric(name)) for name in (tool, server)]
    first, second = reversed(counts) if by_server else counts
    return first if first is not None else second


def _first_visible_us(row: Entry) -> int | None:
    """Return the time to the first token that is not reasoning, where that is another one."""
    visible_ms = as_number(row.metric("time_to_first_output_token"))
    ttft_ms = as_number(row.metric("time_to_first_token"))
    if visible_ms is None or ttft_ms is None or abs(visible_ms - ttft_ms) < 1e-6:
        return None
    return round(visible_ms * 1e3)
