"""Reading the files of one Vidur simulation: the request metrics and those beside them."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import polars as pl
import pyarrow as pa

from headway.errors import HeadwayError, ImportRefusedError
from headway.importers.source import (
    MAX_SECONDS,
    Source,
    as_seconds,
    as_whole,
    decode,
    dig,
    json_object,
    read_bytes,
    to_us,
    unreadable_sidecar,
)
from headway.model import Finding, Severity
from headway.record import state_table

REQUESTS = "request_metrics.csv"
CONFIG = "config.json"
TOKEN_TIMES = "requests_with_token_times.jsonl"
ITERATIONS = "iterations.csv"
SUMMARY = "summary.json"
WORKLOAD = "workload.csv"
SIDECARS = (
    CONFIG,
    TOKEN_TIMES,
    ITERATIONS,
    "batch_metrics.csv",
    SUMMARY,
    WORKLOAD,
    "run.json",
)

_ID = "Request Id"
_DELAY = "request_inter_arrival_delay"
_COLUMNS = {
    "prompt_tokens": "request_num_prefill_tokens",
    "decode_tokens": "request_num_decode_tokens",
    "latency_s": "request_e2e_time",
    "ttft_s": "prefill_e2e_time",
    "queue_s": "request_scheduling_delay",
    "prefill_s": "prefill_time_execution_plus_preemption",
    "preempted_s": "request_preemption_time",
    "restarts": "request_num_restarts",
}
_STATE = [
    "time",
    "replica_id",
    "num_requests_queue",
    "num_requests_paused",
    "num_requests_allocated",
    "kv_blocks_used",
    "kv_blocks_total",
    "batch_size",
    "batch_num_prefill_tokens",
    "batch_num_decode_tokens",
]
_SAME_INSTANT_S = 1e-3
# These schedulers set aside, at admission, the blocks of the longest request there could be.
_RESERVING = ("orca", "faster_transformer")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the request metrics; times in seconds, None where the cell is blank."""

    arrived_s: float
    prompt_tokens: int
    decode_tokens: int
    latency_s: float | None
    ttft_s: float | None
    queue_s: float | None
    prefill_s: float | None
    preempted_s: float | None
    restarts: int | None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request of the workload: when it is due and how long it is."""

    arrived_s: float
    prompt_tokens: int | None
    decode_tokens: int | None


@dataclass(frozen=True, slots=True)
class TokenTimes:
    """What an observer around the simulator saw of one request."""

    arrival: Arrival
    scheduled_at_s: float | None
    tokens_s: npt.NDArray[np.float64]
    preempted_s: float | None
    restarts: int | None


def read_requests(source: Source) -> dict[int, Row]:
    """Read the request metrics by request id.

    Raises
    ------
    ImportRefusedError
        The file breaks off (`damaged`), or its values contradict each other (`inconsistent`).
    """
    table = _request_table(source)
    ids = _required(source, table, _ID)
    if len(set(ids)) < len(ids):
        raise _inconsistent(source, "a Request Id appears twice; expected one row per request")
    arrivals = _arrivals(source, table[_DELAY].to_list())
    known = {name: table[column].to_list() for name, column in _COLUMNS.items()}
    _required(source, table, _COLUMNS["prompt_tokens"])
    _required(source, table, _COLUMNS["decode_tokens"])
    counts = {"prompt_tokens", "decode_tokens", "restarts"}
    rows = {}
    for position, index in enumerate(ids):
        values: dict[str, Any] = {
            name: as_whole(cells[position]) if name in counts else cells[position]
            for name, cells in known.items()
        }
        rows[int(index)] = Row(arrived_s=arrivals[position], **values)
    return rows


def _request_table(source: Source) -> pl.DataFrame:
    text = source.text()
    if not text.endswith("\n"):
        raise ImportRefusedError(
            "damaged",
            f"{source.name} ends in the middle of a line; Vidur writes whole lines: "
            "copy the file again, or repeat the simulation",
        )
    table = _csv(source, text)
    missing = sorted({_ID, _DELAY, *_COLUMNS.values()} - set(table.columns))
    if missing:
        raise ImportRefusedError(
            "foreign",
            f"{source.name} lacks the columns {', '.join(missing)}; expected the "
            f"{REQUESTS} of Vidur as the simulator wrote it",
        )
    if table.is_empty():
        raise ImportRefusedError(
            "empty", f"{source.name} has column names and no request; repeat the simulation"
        )
    return _numbers(source, table).sort(_ID)


def _csv(source: Source, text: str) -> pl.DataFrame:
    try:
        return pl.read_csv(io.StringIO(text), infer_schema=False)
    except (pl.exceptions.PolarsError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ImportRefusedError(
            "damaged", f"{source.name} is not a readable CSV file ({reason}); copy it again"
        ) from error


def _numbers(source: Source, table: pl.DataFrame) -> pl.DataFrame:
    """Turn the columns that are read into numbers; a cell that is none refuses the file."""
    needed = [_ID, _DELAY, *_COLUMNS.values()]
    text = table.select(needed)
    numbers = text.with_columns(pl.all().cast(pl.Float64, strict=False))
    for column in needed:
        fits = numbers[column].is_between(0, MAX_SECONDS).fill_null(value=False)
        wrong = text[column].filter(~fits & text[column].is_not_null())
        if wrong.len():
            raise _inconsistent(
                source, f"column {column} holds {wrong[0]!r}; expected a number from 0 to 1e9"
            )
    return numbers


def _required(source: Source, table: pl.DataFrame, column: str) -> list[float]:
    values = table[column].to_list()
    if any(as_whole(value) is None for value in values):
        raise _inconsistent(source, f"column {column} has a cell that is no whole number")
    return values


def _arrivals(source: Source, delays: list[float | None]) -> list[float]:
    """Add the delays up; the first request has none, and the epoch is lost with it."""
    if any(delay is None for delay in delays[1:]):
        raise _inconsistent(source, f"a request after the first has no {_DELAY}")
    return [float(total) for total in np.cumsum([delay or 0.0 for delay in delays])]


def _inconsistent(source: Source, what: str) -> ImportRefusedError:
    return ImportRefusedError(
        "inconsistent", f"{source.name}: {what}; import the file as Vidur wrote it"
    )


def read_token_times(
    source: Source, requests: Mapping[int, Row]
) -> tuple[dict[int, TokenTimes], list[Finding]]:
    """Read the times of every token by request id, where an observer wrote them down."""
    path = source.beside(TOKEN_TIMES, f"{TOKEN_TIMES}.gz")
    if path is None:
        return {}, []
    try:
        lines = decode(read_bytes(path, path.name), path.name).splitlines()
        found = dict(_token_times(orjson.loads(line)) for line in lines if line.strip())
    except (ImportRefusedError, orjson.JSONDecodeError, TypeError, ValueError) as error:
        return {}, [unreadable_sidecar(path, str(error))]
    strangers = [index for index, row in requests.items() if not _agrees(row, found.get(index))]
    if strangers:
        message = f"it disagrees with {source.path.name} about request {strangers[0]}"
        return {}, [_mismatch(path, len(strangers), message)]
    return found, []


def _token_times(line: Any) -> tuple[int, TokenTimes]:
    index, arrived_s = as_whole(dig(line, "request_id")), as_seconds(dig(line, "arrived_at"))
    if index is None or index < 0 or arrived_s is None:
        raise ValueError("a line lacks request_id or arrived_at")
    tokens_s = np.asarray(dig(line, "token_times") or [], dtype=np.float64)
    after = np.concatenate([[arrived_s], np.ravel(tokens_s)])
    rising = (np.diff(after) >= 0).all() and after[-1] <= MAX_SECONDS
    if tokens_s.ndim != 1 or not rising:
        raise ValueError(f"the token times of request {index} are not rising numbers")
    return index, TokenTimes(
        Arrival(
            arrived_s,
            as_whole(dig(line, "num_prefill_tokens")),
            as_whole(dig(line, "num_decode_tokens")),
        ),
        as_seconds(dig(line, "scheduled_at")),
        tokens_s,
        as_seconds(dig(line, "preempted_time")),
        as_whole(dig(line, "num_restarts")),
    )


def _agrees(row: Row, seen: TokenTimes | None) -> bool:
    if seen is None or abs(row.arrived_s - seen.arrival.arrived_s) > _SAME_INSTANT_S:
        return False
    complete = row.latency_s is None or len(seen.tokens_s) == row.decode_tokens
    return complete and seen.arrival.decode_tokens == row.decode_tokens


def _mismatch(path: Path, count: int, what: str) -> Finding:
    return Finding(
        "sidecar_mismatch",
        Severity.WARNING,
        count,
        f"{path.name} beside the source was not used: {what}",
    )


def read_plan(
    source: Source,
    config: Mapping[str, Any] | None,
    requests: Mapping[int, Row],
    tokens: Mapping[int, TokenTimes],
) -> tuple[dict[int, Arrival], int | None, list[Finding]]:
    """Return the workload by request id, the number of its requests, and what was noticed.

    The observer's file knows every request; else a workload.csv beside the source, scaled as the
    simulator scales it; else only a number, of the configuration or of a summary.
    """
    if tokens:
        plan = {index: seen.arrival for index, seen in tokens.items()}
        return plan, len(plan), []
    plan, findings = _workload(source, config, requests)
    if plan:
        return plan, len(plan), findings
    summary, unreadable = json_object(source.beside(SUMMARY))
    declared = as_whole(dig(config, "request_generator_config", "num_requests"))
    planned = declared if declared is not None else as_whole(dig(summary, "n"))
    return {}, planned, [*findings, *([unreadable] if unreadable else [])]


def _workload(
    source: Source, config: Mapping[str, Any] | None, requests: Mapping[int, Row]
) -> tuple[dict[int, Arrival], list[Finding]]:
    path = source.beside(WORKLOAD, f"{WORKLOAD}.gz")
    if path is None:
        return {}, []
    scale = as_seconds(dig(config, "request_generator_config", "time_scale_factor")) or 1.0
    needed = ["arrived_at", "num_prefill_tokens", "num_decode_tokens"]
    try:
        text = decode(read_bytes(path, path.name), path.name)
        table = pl.read_csv(io.StringIO(text)).select(pl.col(needed).cast(pl.Float64))
    except (ImportRefusedError, pl.exceptions.PolarsError) as error:
        return {}, [unreadable_sidecar(path, str(error).splitlines()[0])]
    due_s = (table["arrived_at"] - table["arrived_at"].first()) * scale
    if table.is_empty() or not due_s.is_between(0, MAX_SECONDS).fill_null(value=False).all():
        return {}, [unreadable_sidecar(path, "arrived_at is no list of seconds from the first on")]
    plan = {
        index: Arrival(due, as_whole(prompt), as_whole(decode_tokens))
        for index, (due, prompt, decode_tokens) in enumerate(
            table.with_columns(arrived_at=due_s).iter_rows()
        )
    }
    strangers = [index for index, row in requests.items() if not _planned(row, plan.get(index))]
    if strangers:
        message = f"it disagrees with {source.path.name} about request {strangers[0]}"
        return {}, [_mismatch(path, len(strangers), message)]
    return plan, []


def _planned(row: Row, due: Arrival | None) -> bool:
    return due is not None and abs(row.arrived_s - due.arrived_s) <= _SAME_INSTANT_S


def read_state(
    source: Source, config: Mapping[str, Any] | None
) -> tuple[pa.Table | None, list[Finding]]:
    """Read one sample of the scheduler's state per iteration, where an observer wrote them down."""
    path = source.beside(ITERATIONS, f"{ITERATIONS}.gz")
    if path is None:
        return None, []
    scheduler = dig(config, "cluster_config", "replica_scheduler_config")
    try:
        text = decode(read_bytes(path, path.name), path.name)
        samples = pl.read_csv(io.StringIO(text), infer_schema_length=None)
        samples = samples.select(pl.col(_STATE).cast(pl.Float64))
        fits = samples.select(pl.all().is_between(0, MAX_SECONDS).fill_null(value=False).all())
        if not all(fits.row(0)) or not samples["time"].is_sorted():
            return None, [unreadable_sidecar(path, "a cell is no number from 0 to 1e9")]
        reserving = dig(scheduler, "name") in _RESERVING
        table = _state(samples, as_whole(dig(scheduler, "block_size")), reserving)
    except (HeadwayError, pl.exceptions.PolarsError) as error:
        return None, [unreadable_sidecar(path, str(error).splitlines()[0])]
    return table, [_reserved(samples.height)] if reserving else []


def _state(samples: pl.DataFrame, block_size: int | None, reserving: bool) -> pa.Table:
    at_us = pl.Series(to_us(samples["time"].to_numpy()))
    whole = samples.select(pl.exclude("time").cast(pl.Int64)).with_columns(at_us=at_us)
    used, total = whole["kv_blocks_used"], whole["kv_blocks_total"]
    next_us = pl.col("at_us").shift(-1).over("replica_id")
    known: dict[str, Any] = {
        "at_us": at_us,
        "duration_us": whole.select(next_us - pl.col("at_us")).to_series(),
        "step": range(whole.height),
        "replica": whole["replica_id"].cast(pl.String),
        "running": whole["num_requests_allocated"] - whole["num_requests_paused"],
        "waiting": whole["num_requests_queue"],
        "paused": whole["num_requests_paused"],
        "kv_fraction": whole.select(used / pl.when(total > 0).then(total)).to_series(),
        "prefill_tokens": whole["batch_num_prefill_tokens"],
        "decode_tokens": whole["batch_num_decode_tokens"],
        "batch_size": whole["batch_size"],
    }
    if block_size is not None:
        known["kv_used"], known["kv_total"] = used * block_size, total * block_size
        known["kv_reserved"] = known["kv_used"] if reserving else None
    return state_table({name: values for name, values in known.items() if values is not None})


def _reserved(count: int) -> Finding:
    return Finding(
        "cache_reserved",
        Severity.INFO,
        count,
        "this scheduler sets aside the longest possible request's cache at admission: kv_used is "
        "what is set aside, not what is filled",
    )
