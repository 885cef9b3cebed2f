"""Values as an engine hands them over become rows of the record, or errors that name them."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from headway.errors import RecordError
from headway.record import plain

Row = Mapping[str, Any]

_LIMITS = {
    kind: (np.iinfo(name).min, np.iinfo(name).max)
    for kind, name in ((pa.int32(), "int32"), (pa.int64(), "int64"))
}


def checked_row(row: Row, schema: pa.Schema, place: str) -> dict[str, Any]:
    """Return a row's values in the record's types; what is None is left out, as unknown.

    Raises
    ------
    RecordError
        A field is not of the record, or a value does not fit it: the message names both.
    """
    check_names(row, schema, place)
    return {
        name: _checked(value, schema.field(name), place)
        for name, value in row.items()
        if value is not None
    }


def check_names(names: Iterable[str], schema: pa.Schema, place: str) -> None:
    """Refuse names that are not those of a column, with the nearest one that is."""
    for name in names:
        if name not in schema.names or name == "run_id":
            near = get_close_matches(name, schema.names, 1)
            hint = f"did you mean {near[0]}? " if near and near[0] != "run_id" else ""
            known = ", ".join(known for known in schema.names if known != "run_id")
            raise RecordError(
                "columns", f"{place}: there is no field {name}; {hint}expected some of {known}"
            )


def table_of_rows(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """Return checked rows as a table of the record."""
    return pa.Table.from_arrays(
        [
            pa.array([row.get(name) for row in rows], schema.field(name).type)
            for name in schema.names
        ],
        schema=schema,
    )


def table_of_columns(data: object, schema: pa.Schema, place: str) -> pa.Table:
    """Return columns, an Arrow table or a data frame as a table of the record.

    Columns that are not there are unknown.

    Raises
    ------
    RecordError
        A column is not of the record, or does not fit its type.
    """
    found = _table(data, place)
    check_names(found.column_names, schema, place)
    columns = []
    for field in schema:
        if field.name in found.column_names:
            columns.append(_cast(found[field.name], field, place))
        else:
            columns.append(pa.nulls(found.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _table(data: object, place: str) -> pa.Table:
    try:
        if isinstance(data, Mapping):
            return pa.table({str(name): _column(values) for name, values in data.items()})
        if isinstance(data, pa.RecordBatch):
            return plain(pa.Table.from_batches([data]))
        return plain(pa.table(data))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise RecordError(
            "columns",
            f"{place}: found {type(data).__name__} ({error}); expected columns of equal length by "
            "name, an Arrow table or batch, or a data frame",
        ) from error


def _column(values: Any) -> Any:
    return values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)


def _cast(column: pa.ChunkedArray, field: pa.Field, place: str) -> pa.ChunkedArray:
    if _sort(column.type) not in (_sort(field.type), "unknown"):
        raise RecordError(
            "columns", f"{place}: column {field.name} is {column.type}; expected {field.type}"
        )
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise RecordError("columns", f"{place}: column {field.name}: {error}") from error


def _sort(kind: pa.DataType) -> str:
    """Return what sort of values a type holds: a cast within one changes nothing or fails."""
    if pa.types.is_list(kind):
        inner = _sort(kind.value_type)
        return "lists" if inner in ("numbers", "unknown") else f"lists of {inner}"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    return {pa.string(): "text", pa.bool_(): "truth", pa.null(): "unknown"}.get(kind, str(kind))


def _checked(value: Any, field: pa.Field, place: str) -> Any:
    kind = field.type
    if pa.types.is_integer(kind):
        return _whole(value, field, place)
    if pa.types.is_list(kind):
        return _wholes(value, field, place)
    fits = {pa.string(): str, pa.bool_(): bool | np.bool_, pa.float64(): float | int}[kind]
    if not isinstance(value, fits) or (kind == pa.float64() and isinstance(value, bool)):
        raise _wrong(value, field, place)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _whole(value: Any, field: pa.Field, place: str) -> int:
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if not is_whole or isinstance(value, bool | np.bool_):
        raise _wrong(value, field, place)
    smallest, largest = _LIMITS[field.type]
    if not smallest <= value <= largest:
        raise _wrong(value, field, place)
    return int(value)


def _wholes(values: Any, field: pa.Field, place: str) -> list[int]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise _wrong(values, field, place)
    numbers = np.asarray(values)
    if numbers.ndim == 1 and numbers.dtype.kind in "iu" and len(numbers):
        smallest, largest = _LIMITS[field.type.value_type]
        if smallest <= numbers.min() and numbers.max() <= largest:
            whole: list[int] = numbers.tolist()
            return whole
    element = field.type.value_field.with_name(field.name)
    return [_whole(value, element, f"{place}, element {at}") for at, value in enumerate(values)]


def _wrong(value: object, field: pa.Field, place: str) -> RecordError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
    unit = " of microseconds" if field.name.endswith("_us") else ""
    expected = {
        pa.int32(): f"a whole number{unit} of up to 32 bits",
        pa.int64(): f"a whole number{unit} of up to 64 bits",
        pa.string(): "text",
        pa.bool_(): "True or False",
        pa.float64(): "a number",
    }.get(field.type, f"a list of whole numbers{unit}")
    return RecordError("columns", f"{place}: {field.name} is {shown}; expected {expected}")
