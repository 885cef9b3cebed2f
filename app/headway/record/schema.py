"""The columns of the record, and tables built from what a source knows of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

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

# Rows that are held at once, whatever the size of the run, and rows of a row group of its file.
ROW_GROUP_REQUESTS = 8192


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run: description, requests, and samples of the server's state if any."""

    info: RunInfo
    requests: pa.Table
    state: pa.Table | None = None


def requests_table(columns: Mapping[str, Sequence[Any] | pl.Series]) -> pa.Table:
    """Build a requests table from the columns a source knows; the others are unknown.

    `n_chunks` and `max_gap_us` are derived from `chunk_gaps_us` where they are not given.

    Raises
    ------
    RecordError
        A column is not of the record, or a value does not fit its type.
    """
    return with_stream_summary(_table(columns, REQUESTS), set(columns))


def with_stream_summary(table: pa.Table, given: Collection[str] = ()) -> pa.Table:
    """Return requests whose `n_chunks` and `max_gap_us` follow from `chunk_gaps_us`.

    They are left alone where they are given, or known of any request.
    """
    gaps = pl.Series(table["chunk_gaps_us"])
    if gaps.null_count() == len(gaps):
        return table
    derived = {
        "n_chunks": (gaps.list.len().cast(pl.Int32) + 1).to_arrow(),
        "max_gap_us": gaps.list.max().cast(pl.Int64).to_arrow(),
    }
    for name, values in derived.items():
        if name not in given and table[name].null_count == table.num_rows:
            position = REQUESTS.get_field_index(name)
            table = table.set_column(position, REQUESTS.field(name), values)
    return table


def state_table(columns: Mapping[str, Sequence[Any] | pl.Series]) -> pa.Table:
    """Build a table of server-state samples from the columns a source knows."""
    return _table(columns, STATE)


def _table(columns: Mapping[str, Sequence[Any] | pl.Series], schema: pa.Schema) -> pa.Table:
    unknown = sorted(set(columns) - set(schema.names))
    if unknown:
        raise RecordError("columns", f"columns {', '.join(unknown)} are not of the record")
    n_rows = len(next(iter(columns.values())))
    arrays = []
    for field in schema:
        try:
            values = columns.get(field.name)
            arrays.append(
                pa.nulls(n_rows, field.type) if values is None else _array(values, field.type)
            )
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise RecordError("columns", f"column {field.name}: {error}") from error
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any] | pl.Series, kind: pa.DataType) -> pa.Array:
    """Return values as a column of the record.

    A series of the same kind is taken as a whole: value by value it would take ten times as long. A
    number with decimals is no integer.
    """
    if not isinstance(values, pl.Series):
        return pa.array(values, kind)
    whole = values.to_arrow()
    if _is_number(whole.type) and _is_number(kind):
        return whole.cast(kind)
    if _is_text(whole.type) and _is_text(kind):
        return whole.cast(kind)
    return pa.array(values.to_list(), kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield a table's rows, `ROW_GROUP_REQUESTS` at a time however the table is chunked.

    A table that is mapped from a file is read as it is yielded, and never held as a whole.
    """
    for start in range(0, table.num_rows, ROW_GROUP_REQUESTS):
        yield from table.slice(start, ROW_GROUP_REQUESTS).combine_chunks().to_batches()


def stamped(table: pa.Table, run_id: str) -> pa.Table:
    """Return a table whose first column, `run_id`, names the run in every row."""
    whole, rest = divmod(table.num_rows, ROW_GROUP_REQUESTS)
    # One chunk, many times: the column takes no space of its own, however long it is.
    name = pa.repeat(run_id, min(table.num_rows, ROW_GROUP_REQUESTS))
    column = pa.chunked_array([name] * whole + [name.slice(0, rest)], pa.string())
    return table.set_column(0, table.schema.field(0), column)


def plain(table: pa.Table) -> pa.Table:
    """Return a table in the types of the record where it only holds text and lists another way.

    Parquet knows one kind of text and one of lists. Arrow knows several, and a file remembers which
    of them its writer used. What else a file says of its columns is left behind: damaged, it makes
    other readers of Arrow's tables fail.
    """
    schema = pa.schema([(field.name, _plain_type(field.type)) for field in table.schema])
    if schema.types == table.schema.types:
        return pa.Table.from_arrays(table.columns, schema=schema)
    return pa.Table.from_arrays(
        [_spelt_out(column) for column in table.columns], table.column_names
    ).cast(schema)


def _spelt_out(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with its values in place of references to a dictionary of them."""
    if not pa.types.is_dictionary(column.type):
        return column
    kind = _plain_type(column.type)
    # Arrow cannot take from every kind of text, so that the dictionary is made plain first.
    chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_list(kind):
        return pa.list_(kind.value_field)
    return kind
