"""The only module that talks to DuckDB: connections, and queries with checked contracts.

A query is one SELECT in `queries/<topic>/<name>.sql`. Its header says what it answers and declares
every input and output::

    -- @param name TYPE meaning
    -- @column name TYPE meaning

`Query.run` binds named parameters, refuses missing or surplus ones, and compares the relation's
names and types with the header before any row is returned.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import polars as pl

from headway.errors import QueryError

Connection = duckdb.DuckDBPyConnection
SqlError = duckdb.Error

_TAG = re.compile(r"^-- @(param|column)\s+(\w+)\s+(\S+)\s+(.+)$")
_SETUP = ("schema", "macros", "views")
_QUERY_TIMEOUT_MS = 60_000
_PACKAGE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Field:
    """A declared parameter or column of a query."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Query:
    """A stored SELECT and its contract."""

    name: str
    summary: str
    text: str
    params: tuple[Field, ...]
    columns: tuple[Field, ...]

    def run(self, connection: Connection, **values: object) -> pl.DataFrame:
        """Run the query on a cursor of its own and return its rows.

        Raises
        ------
        QueryError
            A parameter is missing or surplus, the result differs from the header, or DuckDB
            refuses the values.
        """
        self._check_params(values)
        note([self.name])
        cursor = connection.cursor()
        try:
            relation = cursor.sql(self.text, params=values or None)
            if relation is None:
                raise QueryError(f"query {self.name} returns no table; expected one SELECT")
            self._check_columns(relation)
            rows: pl.DataFrame = relation.pl()
            return rows
        except duckdb.Error as error:
            raise QueryError(f"query {self.name}: {error}") from error
        finally:
            cursor.close()

    def _check_params(self, values: dict[str, object]) -> None:
        declared = {param.name for param in self.params}
        missing, surplus = sorted(declared - set(values)), sorted(set(values) - declared)
        if missing or surplus:
            raise QueryError(
                f"query {self.name}: missing parameters {', '.join(missing) or 'none'}; "
                f"surplus {', '.join(surplus) or 'none'}; "
                f"it takes {', '.join(sorted(declared)) or 'none'}"
            )

    def _check_columns(self, relation: duckdb.DuckDBPyRelation) -> None:
        found = [
            (name, str(kind)) for name, kind in zip(relation.columns, relation.types, strict=True)
        ]
        declared = [(column.name, column.type) for column in self.columns]
        if found != declared:
            raise QueryError(f"query {self.name} returns {found}; its header declares {declared}")


_Names = dict[str, None]
_recorders: ContextVar[tuple[_Names, ...]] = ContextVar("recorders", default=())


@contextmanager
def recording() -> Iterator[_Names]:
    """Note the names of the queries that run inside, each once, in order."""
    names: _Names = {}
    token = _recorders.set((*_recorders.get(), names))
    try:
        yield names
    finally:
        _recorders.reset(token)


def note(names: Iterable[str]) -> None:
    """Note queries whose remembered result is used again, as if they ran now."""
    for recorder in _recorders.get():
        recorder.update(dict.fromkeys(names))


def recorded() -> tuple[str, ...]:
    """Return the queries noted since the outermost recording began."""
    recorders = _recorders.get()
    return tuple(recorders[0]) if recorders else ()


def root() -> Path:
    """Return the folder of the stored SQL: the checkout's where there is one, else the package's.

    The checkout comes first because an editable install may leave a stale copy in the package.
    """
    checkout = _PACKAGE.parents[1] / "queries"
    return checkout if checkout.is_dir() else _PACKAGE / "queries"


@cache
def names() -> tuple[str, ...]:
    """Return the names of all queries, `<topic>/<name>`, sorted."""
    topics = (path for path in root().iterdir() if path.is_dir() and path.name not in _SETUP)
    return tuple(
        sorted(f"{topic.name}/{file.stem}" for topic in topics for file in topic.glob("*.sql"))
    )


@cache
def load(name: str) -> Query:
    """Read a query and its header.

    Raises
    ------
    QueryError
        There is no such query, or a header line cannot be read.
    """
    if name not in names():
        raise QueryError(f"there is no query {name!r}; there are: {', '.join(names())}")
    text = (root() / f"{name}.sql").read_text(encoding="utf-8")
    return parse(name, text)


def parse(name: str, text: str) -> Query:
    """Read the header of a query's text."""
    summary: list[str] = []
    fields: dict[str, list[Field]] = {"param": [], "column": []}
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        tag = _TAG.match(line)
        if tag:
            fields[tag[1]].append(Field(tag[2], tag[3], tag[4]))
        elif line.startswith("-- @"):
            raise QueryError(
                f"query {name}: cannot read {line!r}; expected '-- @param name TYPE …'"
            )
        else:
            summary.append(line.removeprefix("--").strip())
    if not fields["column"]:
        raise QueryError(f"query {name}: its header declares no columns")
    described = "\n".join(summary).strip()
    return Query(name, described, text, tuple(fields["param"]), tuple(fields["column"]))


def connect() -> Connection:
    """Open an empty in-memory instance with the schema and macros of `queries/`."""
    connection = duckdb.connect(
        config={
            "max_execution_time": _QUERY_TIMEOUT_MS,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "threads": 2,
        }
    )
    for kind in ("schema", "macros"):
        _execute_folder(connection, kind)
    return connection


def load_runs(connection: Connection, files: Sequence[Path], companions: Sequence[Path]) -> None:
    """Load the scalar columns of run files, and the samples of companions.

    Raises
    ------
    QueryError
        A row breaks a constraint of `queries/schema/`; nothing of these files is kept.
    """
    try:
        with _together(connection):
            _view(connection, "new_files", files)
            connection.execute(_read("schema/load/requests.sql"))
            connection.execute(_read("schema/load/bounds.sql"))
            if companions:
                _view(connection, "new_state_files", companions)
                connection.execute(_read("schema/load/state.sql"))
    except duckdb.Error as error:
        names = ", ".join(file.name for file in files)
        raise QueryError(f"{names} does not fit the schema: {error}") from error


@contextmanager
def _together(connection: Connection) -> Iterator[None]:
    """Keep everything that is loaded inside, or nothing of it if something is refused."""
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def show_chunks(connection: Connection, files: Sequence[Path]) -> None:
    """Let queries read the stream chunks of run files, which stay in the files."""
    if files:
        _view(connection, "request_files", files)
    else:
        connection.execute(_read("schema/load/no_files.sql"))


def lock(connection: Connection, files: Sequence[Path]) -> None:
    """Build the views, and lock the instance to these files."""
    _execute_folder(connection, "views")
    connection.execute("SET allowed_paths = $1", [[str(path) for path in files]])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def foreign_tables(path: Path) -> list[str]:
    """Return the names of the stored tables of a foreign DuckDB file; views are left out.

    Raises
    ------
    QueryError
        The file cannot be opened.
    """
    with _foreign(path) as connection:
        tables = connection.execute(_read("schema/foreign/tables.sql")).fetchall()
    return [name for (name,) in tables]


def foreign_table(path: Path, name: str) -> pl.DataFrame:
    """Return the rows of a stored table of a foreign DuckDB file.

    Raises
    ------
    QueryError
        The file cannot be opened, or has no such table.
    """
    quoted = '"' + name.replace('"', '""') + '"'
    with _foreign(path) as connection:
        rows: pl.DataFrame = connection.table(quoted).pl()
    return rows


@contextmanager
def _foreign(path: Path) -> Iterator[Connection]:
    """Open a file from elsewhere: read-only, and nothing in it can reach a file or an extension."""
    try:
        connection = duckdb.connect(
            str(path),
            read_only=True,
            config={
                "enable_external_access": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "allow_community_extensions": False,
                "lock_configuration": True,
                "max_execution_time": _QUERY_TIMEOUT_MS,
                "threads": 2,
            },
        )
        with closing(connection):
            yield connection
    except duckdb.Error as error:
        raise QueryError(str(error).split("\n", 1)[0]) from error


def _view(connection: Connection, name: str, files: Sequence[Path]) -> None:
    connection.read_parquet([str(path) for path in files]).create_view(name, replace=True)


def _execute_folder(connection: Connection, kind: str) -> None:
    for path in sorted((root() / kind).glob("*.sql")):
        connection.execute(path.read_text(encoding="utf-8"))


def _read(relative: str) -> str:
    return (root() / relative).read_text(encoding="utf-8")
