"""AIPerf's raw export: every stream event of every request, those of failed requests included."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from headway.importers.source import as_text, as_whole, dig, open_stream

_LENGTH_KEYS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_END = "[DONE]"


@dataclass(frozen=True, slots=True)
class Stream:
    """What one request's stream held; times in nanoseconds from its send.

    `is_ended` says whether the protocol's end arrived, `error` is an error event in the stream.
    """

    status: int | None
    content_ns: npt.NDArray[np.int64]
    is_ended: bool
    error: str | None
    finish_reason: str | None
    requested_output_tokens: int | None
    prompt_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


def read(path: Path) -> tuple[dict[str, Stream], int]:
    """Read a raw export.

    Returns
    -------
    dict, int
        Streams by `x_request_id`, those of requests without error without their times, which the
        other export has; and how many lines were damaged.

    Raises
    ------
    ImportRefusedError
        The file cannot be read, or its compression breaks off.
    """
    streams, n_damaged = {}, 0
    for row in lines(path):
        request_id = as_text(dig(row, "metadata", "x_request_id"))
        if row is None or request_id is None:
            n_damaged += 1
            continue
        streams[request_id] = of_row(row, times=bool(row.get("error")))
    return streams, n_damaged


def lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield each line's object, None for a damaged one, one line in memory at a time."""
    with open_stream(path, path.name) as stream:
        for line in stream:
            if not line.strip():
                continue
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                value = None
            yield value if isinstance(value, dict) else None


def of_row(row: dict[str, Any], *, times: bool) -> Stream:
    """Read the events of one request; its texts are looked at for being there, and dropped."""
    events = list(_events(row))
    start_ns = as_int(row.get("start_perf_ns"))
    seen = [perf_ns for perf_ns, event in events if _has_content(event)]
    content_ns = np.array(seen if times and start_ns is not None else [], dtype=np.int64)
    bodies = [event for _, event in events if isinstance(event, dict)]
    usage = next((body["usage"] for body in reversed(bodies) if body.get("usage")), None)
    errors = [body["error"] for body in bodies if body.get("error")]
    reasons = (as_text(choice.get("finish_reason")) for body in bodies for choice in _choices(body))
    payload = row.get("payload")
    return Stream(
        status=as_whole(row.get("status")),
        content_ns=content_ns - (start_ns or 0),
        is_ended=any(event == _END for _, event in events),
        error=_message(errors[0]) if errors else None,
        finish_reason=next((reason for reason in reasons if reason), None),
        requested_output_tokens=next(
            (as_whole(dig(payload, key)) for key in _LENGTH_KEYS if dig(payload, key)), None
        ),
        prompt_tokens=as_whole(dig(usage, "prompt_tokens")),
        output_tokens=as_whole(dig(usage, "completion_tokens")),
        cached_tokens=as_whole(dig(usage, "prompt_tokens_details", "cached_tokens")),
    )


def as_int(value: object) -> int | None:
    """Return a whole number of any size, which nanoseconds of the wall clock need."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _events(row: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """Yield when each event was read and its data: an object, or the text of the protocol's end."""
    for response in row.get("responses") or ():
        perf_ns = as_int(dig(response, "perf_ns"))
        if perf_ns is None:
            continue
        for packet in response.get("packets") or ():
            if dig(packet, "name") == "data":
                yield perf_ns, _body(packet.get("value"))
        if response.get("text"):  # an answer that is not a stream
            yield perf_ns, _body(response["text"])


def _body(value: object) -> Any:
    if not isinstance(value, str) or value.strip() == _END:
        return _END if isinstance(value, str) else None
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None


def _choices(body: dict[str, Any]) -> list[dict[str, Any]]:
    choices = body.get("choices")
    return [c for c in choices if isinstance(c, dict)] if isinstance(choices, list) else []


def _has_content(event: object) -> bool:
    """Say whether an event counts as output for AIPerf: not the role, the usage or the end."""
    if not isinstance(event, dict):
        return False
    for choice in _choices(event):
        said = choice.get("delta") or choice.get("message") or {}
        if choice.get("text") or dig(said, "content") or dig(said, "reasoning_content"):
            return True
        if dig(said, "reasoning") or dig(said, "tool_calls"):
            return True
    return False


def _message(error: object) -> str:
    return as_text(dig(error, "message")) or as_text(error) or "error event without a message"
