"""Tables of DuckDB and SQLite files: only stored tables, and nothing of the file runs."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from urllib.parse import quote

import polars as pl

from headway import sql
from headway.errors import ImportRefusedError, QueryError
from headway.importers.mapped import documents
from headway.importers.source import Source

_BATCH_ROWS = 65_536


def duckdb_names(source: Source) -> list[str]:
    """Return the stored tables of a DuckDB file; raises as `duckdb_table` does."""
    _finished(source, ".wal")
    with _readable(source, "DuckDB"):
        return sql.foreign_tables(source.path)


def duckdb_table(source: Source, table: str | None) -> pl.DataFrame:
    """Return a stored table of a DuckDB file.

    Raises
    ------
    ImportRefusedError
        The file cannot be opened (`damaged`), was not closed (`unfinished`), or which of its
        tables is meant is not said (`no_table`).
    """
    name = _chosen(source, table, duckdb_names(source))
    with _readable(source, "DuckDB"):
        return sql.foreign_table(source.path, name)


@contextmanager
def _readable(source: Source, kind: str) -> Iterator[None]:
    try:
        yield
    except (QueryError, sqlite3.Error) as error:
        raise ImportRefusedError(
            "damaged", f"{source.name} is a {kind} file that cannot be read: {error}"
        ) from error


def sqlite_names(source: Source) -> list[str]:
    """Return the stored tables of a SQLite file; raises as `duckdb_table` does."""
    with _sqlite(source) as connection:
        return _sqlite_names(connection)


def sqlite_table(source: Source, table: str | None) -> pl.DataFrame:
    """Return a stored table of a SQLite file; raises as `duckdb_table` does."""
    with _sqlite(source) as connection:
        return _sqlite_rows(connection, _chosen(source, table, _sqlite_names(connection)))


@contextmanager
def _sqlite(source: Source) -> Iterator[sqlite3.Connection]:
    _finished(source, "-wal")
    _finished(source, "-journal")
    # immutable: the very bytes that name the run are read, and nothing beside them is.
    address = f"file:{quote(str(source.path))}?mode=ro&immutable=1"
    with _readable(source, "SQLite"), closing(sqlite3.connect(address, uri=True)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        yield connection


def _sqlite_names(connection: sqlite3.Connection) -> list[str]:
    # A virtual table is code of an extension, not rows of the file.
    found = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
        "AND upper(ltrim(sql)) NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    )
    return [name for (name,) in found]


def _sqlite_rows(connection: sqlite3.Connection, table: str) -> pl.DataFrame:
    quoted = '"' + table.replace('"', '""') + '"'
    # The name is one of the file's own tables: SQLite binds values, not names.
    cursor = connection.execute(f"SELECT * FROM {quoted}")  # noqa: S608
    names = [column[0] for column in cursor.description]
    parts: list[list[pl.Series]] = [[] for _ in names]
    while rows := cursor.fetchmany(_BATCH_ROWS):
        for place, values in enumerate(zip(*rows, strict=True)):
            parts[place].append(documents.series(_without_bytes(values)))
    empty = [pl.Series([], dtype=pl.Null)]
    return pl.DataFrame(
        [documents.joined(name, part or empty) for name, part in zip(names, parts, strict=True)]
    )


def _without_bytes(values: Sequence[object]) -> list[object]:
    return [None if isinstance(value, bytes) else value for value in values]


def _chosen(source: Source, table: str | None, names: Sequence[str]) -> str:
    if table in names:
        return str(table)
    if table is None and len(names) == 1:
        return names[0]
    asked = "which table is meant" if table is None else f"a table {table!r}"
    raise ImportRefusedError(
        "no_table",
        f"{source.name} does not say {asked}; it has {', '.join(names) or 'no stored table'} "
        "(views are not read): say table under [format] of the mapping",
    )


def _finished(source: Source, suffix: str) -> None:
    beside = source.path.with_name(source.path.name + suffix)
    if beside.is_file() and beside.stat().st_size:
        raise ImportRefusedError(
            "unfinished",
            f"{source.name} has rows that stand in {beside.name} only, or is still written; close "
            "the database, so that it is one file, and import it again",
        )
