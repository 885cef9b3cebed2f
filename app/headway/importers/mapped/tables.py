"""Foreign files become tables: Parquet, CSV, JSON, DuckDB and SQLite, told by their first bytes."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import polars as pl

from headway.errors import ImportRefusedError
from headway.importers.mapped import databases, documents
from headway.importers.mapped.mapping import Format, Layout
from headway.importers.source import Source, head, open_stream

# What a compressed or re-encoded CSV may become: it is held in memory, as are its columns.
MOST_TEXT_BYTES = 4 << 30
_BLOCK = 1 << 20
_BLANK = "__blank__"
_SAMPLED = 200
_SEPARATORS = (",", ";", "\t", "|")
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


class Form(Enum):
    """How a file is written."""

    PARQUET = "Parquet"
    CSV = "CSV"
    JSON = "JSON"
    DUCKDB = "DuckDB"
    SQLITE = "SQLite"


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a file that were asked for; unknown columns are not among them.

    `n_damaged` lines could not be read, `lines` has the numbers of the first. `blank` says of each
    row whether none of the file's cells has anything, where that can be.
    """

    rows: pl.DataFrame
    n_damaged: int = 0
    lines: tuple[int, ...] = ()
    blank: pl.Series | None = None


def form_of(path: Path) -> Form:
    """Tell how a file is written from its first bytes."""
    try:
        with path.open("rb") as stream:
            start = stream.read(16)
    except OSError:
        start = b""
    if start.startswith(b"PAR1"):
        return Form.PARQUET
    if start.startswith(b"SQLite format 3\0"):
        return Form.SQLITE
    if start[8:12] == b"DUCK":
        return Form.DUCKDB
    text = head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    return Form.JSON if text[:1] in (b"{", b"[") else Form.CSV


def is_binary(path: Path) -> bool:
    """Return whether a file is a table that is no text."""
    return form_of(path) in (Form.PARQUET, Form.DUCKDB, Form.SQLITE)


def with_format(path: Path, form: Format) -> Format:
    """Return a format with what a CSV shows of itself: its encoding and what parts its cells."""
    if form_of(path) is not Form.CSV:
        return form
    start = head(path)
    encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    text = start.decode(encoding, "replace").removeprefix("\ufeff")
    line = text.split("\n", 1)[0]
    delimiter = max(_SEPARATORS, key=line.count)
    second = text.split("\n")[1:40]
    has_comma = any(_is_decimal(cell) for row in second for cell in row.split(delimiter))
    decimal = "," if delimiter != "," and has_comma else "."
    return replace(form, delimiter=delimiter, encoding=encoding, decimal=decimal)


def _is_decimal(cell: str) -> bool:
    whole, comma, part = cell.strip().strip('"').partition(",")
    return bool(comma) and whole.lstrip("-").isdecimal() and part.isdecimal()


def names(source: Source) -> list[str]:
    """Return the stored tables of a database.

    Raises
    ------
    ImportRefusedError
        The file cannot be opened.
    """
    if form_of(source.path) is Form.DUCKDB:
        return databases.duckdb_names(source)
    return databases.sqlite_names(source)


def columns(source: Source, form: Format, first: Sequence[tuple[int, Any]] = ()) -> list[str]:
    """Return the names of a file's columns; of JSON, the paths that its first rows have.

    `first` are the first documents of JSON where they were read before.

    Raises
    ------
    ImportRefusedError
        The file cannot be read as a table.
    """
    kind = form_of(source.path)
    if kind is Form.JSON:
        found = documents.first_rows(source, form, _SAMPLED, first)
        beside = documents.uneven(found) if form.layout is Layout.ARRAYS else set()
        return [path for path in _json_paths(found) if path not in beside]
    return _paths(_lazy(source, kind, form).collect_schema())


def _json_paths(stacks: Sequence[documents.Stack]) -> list[str]:
    found: dict[str, None] = {}
    for stack in stacks:
        for up, (value, _) in enumerate(reversed(stack)):
            _add_paths(found, value, "^" * up, depth=5 if up == 0 else 3)
            if up and len(stack) > 2:
                found[f"{'^' * up}#"] = None
    return list(found)


def _add_paths(found: dict[str, None], value: object, prefix: str, depth: int) -> None:
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if isinstance(inner, dict) and inner and depth > 1:
            _add_paths(found, inner, f"{prefix}{key}.", depth - 1)
        elif not prefix.startswith("^") or not isinstance(inner, list):
            found[f"{prefix}{key}"] = None


def read(source: Source, form: Format, wanted: Sequence[str], limit: int | None = None) -> Table:
    """Return the named columns of a file as far as it has them, in the order asked for.

    Parameters
    ----------
    source, form
        The file, and how it is written.
    wanted
        Columns, or paths into nested ones.
    limit
        How many rows to read at most; None reads all, and refuses a file that changed meanwhile.

    Raises
    ------
    ImportRefusedError
        The file cannot be read as a table.
    """
    kind = form_of(source.path)
    if kind is Form.JSON:
        rows, damage = documents.frame(source, form, wanted, limit)
        return Table(rows, damage.n, tuple(damage.lines))
    lazy = _lazy(source, kind, form)
    schema = lazy.collect_schema()
    found = {path: column for path in wanted if (column := _column(schema, path)) is not None}
    _check_once(source, schema, wanted)
    blank = pl.all_horizontal(pl.all().is_null()) if kind is Form.CSV else pl.lit(value=False)
    chosen = lazy.select(
        blank.alias(_BLANK), *(column.alias(path) for path, column in found.items())
    )
    try:
        rows = (chosen if limit is None else chosen.head(limit)).collect()
    except pl.exceptions.PolarsError as error:
        raise _damaged(source, kind, error) from error
    if limit is None:
        documents.check_unchanged(source)
    return Table(rows.drop(_BLANK), blank=rows[_BLANK])


def _check_once(source: Source, schema: pl.Schema, wanted: Sequence[str]) -> None:
    """Refuse a column that the header names twice: which of the two is meant nobody knows."""
    twice = [path for path in wanted if f"{path}_duplicated_0" in schema]
    if twice:
        raise ImportRefusedError(
            "inconsistent",
            f"{source.name} has several columns named {', '.join(twice)}; give each another name "
            "in its header",
        )


def _lazy(source: Source, kind: Form, form: Format) -> pl.LazyFrame:
    try:
        lazy = _OPENERS[kind](source, form)
        lazy.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise _damaged(source, kind, error) from error
    return lazy


def _damaged(source: Source, kind: Form, error: Exception) -> ImportRefusedError:
    reason = str(error).split("\n", 1)[0]
    if "utf-8" in reason.lower() or "utf8" in reason.lower():
        return ImportRefusedError(
            "not_utf8",
            f"{source.name} is not UTF-8 text; say its encoding in the mapping, for instance "
            'encoding = "cp1252" under [format], or save it as UTF-8',
        )
    expected = "the file as it was written: copy it again, whole"
    if kind is Form.CSV:
        expected = "as many cells in every row as in the header: copy it again, or say how it is "
        expected += "written under [format] of the mapping"
    return ImportRefusedError(
        "damaged", f"{source.name} is no whole {kind.value}: {reason}; expected {expected}"
    )


def _parquet(source: Source, form: Format) -> pl.LazyFrame:  # noqa: ARG001 one of several
    return pl.scan_parquet(source.path, glob=False)


def _csv(source: Source, form: Format) -> pl.LazyFrame:
    with source.path.open("rb") as stream:
        is_packed = stream.read(4).startswith(_PACKED)
    plain = not is_packed and form.encoding == "utf-8"
    content = source.path if plain else io.BytesIO(_text(source, form))
    lazy = pl.scan_csv(
        content, separator=form.delimiter, infer_schema=False, glob=False, low_memory=True
    )
    names = lazy.collect_schema().names()
    return lazy.rename({name: name.strip() for name in names if name != name.strip()})


def _text(source: Source, form: Format) -> bytes:
    """Return the content as UTF-8, as far as it may be held in memory."""
    parts, size = [], 0
    with open_stream(source.path, source.name) as stream:
        while block := stream.read(_BLOCK):
            parts.append(block)
            size += len(block)
            if size > MOST_TEXT_BYTES:
                raise ImportRefusedError(
                    "too_long",
                    f"{source.name} unpacks to more than {MOST_TEXT_BYTES >> 30} GiB; unpack it, "
                    "or cut it to the runs that matter",
                )
    data = b"".join(parts)
    if form.encoding == "utf-8":
        return data
    try:
        return data.decode(form.encoding).encode()
    except UnicodeDecodeError as error:
        raise ImportRefusedError(
            "not_utf8",
            f"{source.name} is not {form.encoding} text (byte {error.start}), as the mapping says; "
            "correct encoding under [format]",
        ) from error


def _duckdb(source: Source, form: Format) -> pl.LazyFrame:
    return databases.duckdb_table(source, form.table).lazy()


def _sqlite(source: Source, form: Format) -> pl.LazyFrame:
    return databases.sqlite_table(source, form.table).lazy()


_OPENERS: dict[Form, Callable[[Source, Format], pl.LazyFrame]] = {
    Form.PARQUET: _parquet,
    Form.CSV: _csv,
    Form.DUCKDB: _duckdb,
    Form.SQLITE: _sqlite,
}


def _paths(schema: pl.Schema) -> list[str]:
    found: list[str] = []
    for name, kind in schema.items():
        found += _nested(name, kind)
    return found


def _nested(name: str, kind: pl.DataType) -> list[str]:
    if not isinstance(kind, pl.Struct):
        return [name]
    return [path for field in kind.fields for path in _nested(f"{name}.{field.name}", field.dtype)]  # type: ignore[arg-type]


def _column(schema: pl.Schema, path: str) -> pl.Expr | None:
    """Return a column by its name, or a value inside a nested one by its path."""
    if path in schema:
        return pl.col(path)
    cut = path.find(".")
    while cut > 0:
        name, rest = path[:cut], path[cut + 1 :]
        if name in schema and (inside := _inside(pl.col(name), schema[name], rest)) is not None:
            return inside
        cut = path.find(".", cut + 1)
    return None


def _inside(column: pl.Expr, kind: pl.DataType, path: str) -> pl.Expr | None:
    if not isinstance(kind, pl.Struct):
        return None
    for field in kind.fields:
        deeper = column.struct.field(field.name)
        if path == field.name:
            return deeper
        if path.startswith(f"{field.name}."):
            rest = path.removeprefix(f"{field.name}.")
            found = _inside(deeper, field.dtype, rest)  # type: ignore[arg-type]
            if found is not None:
                return found
    return None
