"""Reading `vllm bench serve` results: recognised by their keys, checked once, then typed."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from headway.errors import ImportRefusedError
from headway.importers.gap_lists import GapLists
from headway.importers.json_stream import BLOCK_BYTES, DamagedJsonError, JsonStream
from headway.importers.outcomes import last_line
from headway.importers.source import (
    MAX_SECONDS,
    Source,
    as_number,
    as_text,
    as_whole,
    decode,
    head,
    not_utf8,
    read_bytes,
    tail,
    unreadable_sidecar,
)
from headway.model import Finding, Severity

WORKLOAD = "workload.json"

# Keys that vLLM writes and no other benchmark writes together; the second set other tools share.
_OWN = ("date", "model_id", "tokenizer_id", "num_prompts", "endpoint_type")
_SHARED = (
    "backend",
    "request_rate",
    "burstiness",
    "max_concurrency",
    "request_throughput",
    "output_throughput",
    "total_token_throughput",
    "ttfts",
    "itls",
)
_OTHERS = ("server_info", "accept_length", "random_input_len", "tag")
_KEY = re.compile(rb'"([A-Za-z_][\w.:]*)"\s*:')
_OWN_NAME = re.compile(r"run=\d+\.json(\.gz)?|.+-(inf|\d+(\.\d+)?)qps.*\.json(\.gz)?")
_NEVER = re.compile(r"warmup\.json|summary\.json|.*[.-]failure\.json")
_FEW_KEYS = 3

_REQUIRED = ("input_lens", "output_lens", "ttfts", "itls")
_OPTIONAL = ("latencies", "start_times", "queue_times", "errors")


@dataclass(frozen=True, slots=True)
class Bench:
    """One result object: its scalars, and one entry per request in each list.

    Times are in seconds; None where the tool has no number. A list that the tool's version does
    not write is None as a whole.
    """

    scalars: Mapping[str, Any]
    input_lens: list[int | None]
    output_lens: list[int | None]
    ttfts: list[float | None]
    itls: GapLists
    errors: list[str]
    latencies: list[float | None] | None
    start_times: list[float | None] | None
    queue_times: list[float | None] | None

    @property
    def n_rows(self) -> int:
        """How many requests the lists describe."""
        return len(self.ttfts)

    @property
    def is_chat(self) -> bool:
        """Whether the first stream event is a role announcement, not a token."""
        kind = self.scalars.get("backend") or self.scalars.get("endpoint_type")
        return "chat" in str(kind)

    def answered(self, row: int) -> bool:
        """Whether a first stream event arrived."""
        return bool(self.ttfts[row])

    def n_chunks(self, row: int) -> int:
        """How many stream events arrived."""
        return self.itls.count(row) + self.answered(row)


@dataclass(frozen=True, slots=True)
class Planned:
    """A request of the frozen workload."""

    request_id: str | None
    prompt_tokens: int | None
    output_tokens: int | None


def claims(path: Path) -> bool:
    """Decide from the name and both ends of a file whether `vllm bench` wrote it."""
    if _NEVER.fullmatch(path.name):
        return False
    start = head(path)
    keys = {key.decode() for key in _KEY.findall(start)}
    if _OWN_NAME.fullmatch(path.name) and len(keys) < _FEW_KEYS:
        return True
    if not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return False
    keys |= {key.decode() for key in _KEY.findall(tail(path))}
    own, shared = len(keys & set(_OWN)), len(keys & set(_SHARED))
    return (own >= 3 or (own >= 2 and shared >= 2)) and not keys & set(_OTHERS)


def read(source: Source, block_bytes: int = BLOCK_BYTES) -> Iterator[Bench]:
    """Yield every result object of a file, of which only what is needed is ever in memory.

    Raises
    ------
    ImportRefusedError
        The file is damaged, of another tool, without rows (`aggregate_only`), or contradicts
        itself (`inconsistent`).
    """
    with source.whole() as blocks:
        try:
            stream = JsonStream(blocks, block_bytes)
            while stream.next():
                yield _bench(source, _object(source, stream))
        except UnicodeDecodeError as error:
            raise not_utf8(source.name, error) from error
        except DamagedJsonError as error:
            raise ImportRefusedError(
                "damaged",
                f"{source.name} is not whole JSON: object {error.document}, which starts on line "
                f"{error.line}, breaks off or is invalid ({error.why}); copy the file again, or "
                "repeat the benchmark",
            ) from error


def _object(source: Source, stream: JsonStream) -> dict[str, Any]:
    value = _members(stream) if stream.is_object else stream.value()
    if not isinstance(value, dict) or not set(value) & {*_OWN, *_SHARED}:
        raise ImportRefusedError(
            "foreign",
            f"{source.name} is JSON, but not a result of `vllm bench serve`; expected an "
            "object with request_throughput, num_prompts and lists of one entry per request",
        )
    return value


def _members(stream: JsonStream) -> dict[str, Any]:
    """Read an object, of its lists those that have a meaning here: not the texts, above all."""
    value: dict[str, Any] = {}
    for key in stream.members():
        if not stream.is_list:
            value[key] = stream.value()
            continue
        kept: list[Any] | GapLists = GapLists() if key == "itls" else []
        for part in stream.elements():
            if isinstance(kept, GapLists):
                kept.add(part)
            elif key == "errors":
                kept += map(_error, part)
            elif key in _REQUIRED or key in _OPTIONAL:
                kept += part
        value[key] = kept
    return value


def _bench(source: Source, value: dict[str, Any]) -> Bench:
    missing = [name for name in _REQUIRED if not _is_list(value.get(name))]
    if missing and any(_is_list(value.get(name)) for name in (*_REQUIRED, "errors")):
        raise ImportRefusedError(
            "aggregate_only",
            f"{source.name} was saved in detail, but has no list {', '.join(missing)}: a benchmark "
            "of embeddings or pooling saves no time for each request, so that none can be read",
        )
    if missing:
        raise ImportRefusedError(
            "aggregate_only",
            f"{source.name} has totals but no list {', '.join(missing)}: no request can be read "
            "from it; run the benchmark again with --save-result --save-detailed",
        )
    lists = {name: value[name] for name in (*_REQUIRED, *_OPTIONAL) if name in value}
    _check_lengths(source, lists)
    return Bench(
        scalars={key: entry for key, entry in value.items() if not _is_list(entry)},
        input_lens=[as_whole(entry) for entry in lists["input_lens"]],
        output_lens=[as_whole(entry) for entry in lists["output_lens"]],
        ttfts=_seconds(source, "ttfts", lists["ttfts"]) or [],
        itls=_gaps(source, lists["itls"]),
        errors=lists.get("errors", [""] * len(lists["ttfts"])),
        latencies=_seconds(source, "latencies", lists.get("latencies")),
        start_times=_seconds(source, "start_times", lists.get("start_times")),
        queue_times=_seconds(source, "queue_times", lists.get("queue_times")),
    )


def _is_list(value: object) -> bool:
    return isinstance(value, list | GapLists)


def _check_lengths(source: Source, lists: Mapping[str, Any]) -> None:
    for name, values in lists.items():
        if not _is_list(values):
            raise _inconsistent(source, f"{name} is {type(values).__name__}; expected a list")
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise _inconsistent(source, f"the lists differ in length ({found})")
    if not lengths["ttfts"]:
        raise ImportRefusedError(
            "empty", f"{source.name} has lists without an entry; run the benchmark again"
        )


def _seconds(source: Source, name: str, values: list[Any] | None) -> list[float | None] | None:
    if values is None:
        return None
    numbers = [_second(value) for value in values]
    for row, number in enumerate(numbers):
        if number is not None and number < 0:
            raise _inconsistent(source, f"{name}[{row}] is {values[row]!r}; expected seconds")
    return numbers


def _second(value: Any) -> float | None:
    """Read a number of seconds; what is neither a number nor missing becomes one out of range."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return -1.0
    if math.isnan(value):
        return None
    return float(value) if abs(value) <= MAX_SECONDS else -1.0


def _gaps(source: Source, gaps: GapLists) -> GapLists:
    if gaps.wrong is not None:
        raise _inconsistent(source, f"itls[{gaps.wrong}] is no list of seconds")
    return gaps


def _error(value: Any) -> str:
    """Return the line of an error that names it: a traceback can be longer than all gaps."""
    return last_line(as_text(value if isinstance(value, str) or not value else str(value)) or "")


def _inconsistent(source: Source, what: str) -> ImportRefusedError:
    return ImportRefusedError(
        "inconsistent",
        f"{source.name}: {what}; expected one entry per request in every list, as the tool "
        "writes them",
    )


def read_workload(source: Source, bench: Bench) -> tuple[list[Planned] | None, list[Finding]]:
    """Read the frozen request list beside a result, if it is the list of this very result."""
    path = source.beside(WORKLOAD)
    if path is None:
        return None, []
    try:
        entries = orjson.loads(decode(read_bytes(path, path.name), path.name))
    except (ImportRefusedError, orjson.JSONDecodeError) as error:
        return None, [unreadable_sidecar(path, str(error))]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None, [unreadable_sidecar(path, "not a list of objects, one per request")]
    planned = [_planned(entry) for entry in _ordered(entries)]
    if len(planned) != bench.n_rows:
        what = f"it lists {len(planned)} requests and the result has {bench.n_rows}"
        return None, [_mismatch(path, what)]
    if not bench.is_chat and not _same_prompts(planned, bench):
        return None, [_mismatch(path, "its prompt lengths are not those of the result")]
    return planned, []


def _ordered(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    numbers = [as_whole(entry.get("i")) for entry in entries]
    if sorted(n for n in numbers if n is not None) != list(range(len(entries))):
        return entries
    place = {number: position for position, number in enumerate(numbers)}
    return [entries[place[number]] for number in range(len(entries))]


def _planned(entry: Mapping[str, Any]) -> Planned:
    identity = entry.get("request_id")
    return Planned(
        as_text(str(identity)) if identity is not None else None,
        as_whole(entry.get("prompt_len")),
        as_whole(entry.get("expected_output_len")),
    )


def _same_prompts(planned: list[Planned], bench: Bench) -> bool:
    """Allow a start token or two, not another request: the tool may count with the server."""
    pairs = [
        (plan.prompt_tokens, found)
        for plan, found in zip(planned, bench.input_lens, strict=True)
        if plan.prompt_tokens is not None and found
    ]
    near = sum(abs(plan - found) <= max(16, plan // 10) for plan, found in pairs)
    return 2 * near >= len(pairs)


def _mismatch(path: Path, what: str) -> Finding:
    return Finding(
        "sidecar_mismatch",
        Severity.WARNING,
        1,
        f"{path.name} beside the result was not used: {what}",
    )


def rate_rps(bench: Bench) -> float | None:
    """Return the request rate; infinity for "as fast as possible", None where it is not stated."""
    value = bench.scalars.get("request_rate")
    if value in ("inf", "Infinity", math.inf):
        return math.inf
    return as_number(value)
