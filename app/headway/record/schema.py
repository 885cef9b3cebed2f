"""The columns of the record, and tables built from what a source knows of them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from headway.errors import RecordError
from headway.model import RunInfo

_INT_LIST = pa.list_(pa.field("element", pa.int32(), nullable=False))

REQUESTS = pa.schema(
    [
        ("run_id", pa.string()),
        ("request_index", pa.int32()),
        ("request_id", pa.string()),
        ("session_id", pa.string()),
        ("turn_index", pa.int32()),
        ("prefix_group", pa.int32()),
        ("phase", pa.string()),
        ("segment", pa.string()),
        ("attempt", pa.int32()),
        ("scheduled_us", pa.int64()),
        ("sent_us", pa.int64()),
        ("ended_us", pa.int64()),
        ("ttft_us", pa.int64()),
        ("latency_us", pa.int64()),
        ("first_visible_us", pa.int64()),
        ("prompt_tokens", pa.int32()),
        ("cached_tokens", pa.int32()),
        ("requested_output_tokens", pa.int32()),
        ("output_tokens", pa.int32()),
        ("reasoning_tokens", pa.int32()),
        ("outcome", pa.string()),
        ("outcome_basis", pa.string()),
        ("source_success", pa.bool_()),
        ("reason", pa.string()),
        ("http_status", pa.int32()),
        ("finish_reason", pa.string()),
        ("queue_us", pa.int64()),
        ("prefill_us", pa.int64()),
        ("decode_us", pa.int64()),
        ("preemptions", pa.int32()),
        ("preempted_us", pa.int64()),
        ("recomputed_tokens", pa.int32()),
        ("replica", pa.string()),
        ("n_chunks", pa.int32()),
        ("max_gap_us", pa.int64()),
        ("chunk_gaps_us", _INT_LIST),
        ("chunk_tokens", _INT_LIST),
    ]
)

STATE = pa.schema(
    [
        ("run_id", pa.string()),
        ("at_us", pa.int64()),
        ("duration_us", pa.int64()),
        ("step", pa.int32()),
        ("replica", pa.string()),
        ("running", pa.int32()),
        ("waiting", pa.int32()),
        ("paused", pa.int32()),
        ("waiting_reason", pa.string()),
        ("kv_used", pa.int64()),
        ("kv_reserved", pa.int64()),
        ("kv_total", pa.int64()),
        ("kv_fraction", pa.float64()),
        ("prefill_tokens", pa.int32()),
        ("decode_tokens", pa.int32()),
        ("batch_size", pa.int32()),
        ("preemptions_total", pa.int64()),
        ("prefix_hits_total", pa.int64()),
        ("prefix_queries_total", pa.int64()),
    ]
)

LIST_COLUMNS = ("chunk_gaps_us", "chunk_tokens")


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run: description, requests, and samples of the server's state if any."""

    info: RunInfo
    requests: pa.Table
    state: pa.Table | None = None


def requests_table(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Build a requests table from the columns a source knows; the others are unknown.

    `n_chunks` and `max_gap_us` are derived from `chunk_gaps_us` where they are not given.

    Raises
    ------
    RecordError
        A column is not of the record, or a value does not fit its type.
    """
    table = _table(columns, REQUESTS)
    if "chunk_gaps_us" not in columns:
        return table
    gaps = pl.Series(table["chunk_gaps_us"])
    derived = {
        "n_chunks": (gaps.list.len().cast(pl.Int32) + 1).to_arrow(),
        "max_gap_us": gaps.list.max().cast(pl.Int64).to_arrow(),
    }
    for name, values in derived.items():
        if name not in columns:
            position = REQUESTS.get_field_index(name)
            table = table.set_column(position, REQUESTS.field(name), values)
    return table


def state_table(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Build a table of server-state samples from the columns a source knows."""
    return _table(columns, STATE)


def _table(columns: Mapping[str, Sequence[Any]], schema: pa.Schema) -> pa.Table:
    unknown = sorted(set(columns) - set(schema.names))
    if unknown:
        raise RecordError("columns", f"columns {', '.join(unknown)} are not of the record")
    n_rows = len(next(iter(columns.values())))
    arrays = []
    for field in schema:
        try:
            values = columns.get(field.name)
            arrays.append(
                pa.nulls(n_rows, field.type) if values is None else pa.array(values, field.type)
            )
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise RecordError("columns", f"column {field.name}: {error}") from error
    return pa.Table.from_arrays(arrays, schema=schema)


def digest(table: pa.Table) -> str:
    """Return a sha256 over a table's values, independent of file encoding and of run_id."""
    hasher = hashlib.sha256()
    for field in table.schema:
        if field.name != "run_id":
            hasher.update(f"{field.name}:{field.type}\n".encode())
            _hash_column(hasher, table[field.name].combine_chunks())
    return hasher.hexdigest()


def _hash_column(hasher: "hashlib._Hash", column: pa.Array) -> None:
    hasher.update(np.packbits(column.is_valid().to_numpy(zero_copy_only=False)).tobytes())
    if pa.types.is_list(column.type):
        lengths = pc.fill_null(pc.list_value_length(column), -1)
        hasher.update(lengths.to_numpy(zero_copy_only=False).astype("<i8").tobytes())
        column = column.flatten()
    if pa.types.is_string(column.type):
        texts = [text or "" for text in column.to_pylist()]
        hasher.update(b"".join(len(t.encode()).to_bytes(8, "little") + t.encode() for t in texts))
        return
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    kind = "<f8" if pa.types.is_floating(column.type) else "<i8"
    hasher.update(pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(kind).tobytes())
