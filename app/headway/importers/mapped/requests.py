"""A table as a mapping reads it: one row for each request, one column for each that is named."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from headway.errors import ImportRefusedError
from headway.importers.mapped import events, places, tables, totals
from headway.importers.mapped.mapping import Layout, Mapping
from headway.importers.mapped.problems import Problem, first
from headway.importers.source import Source
from headway.model import Severity

ROW = "__row__"
_MOST_NAMED = 30


@dataclass(frozen=True, slots=True)
class Requests:
    """The rows of a table that are requests.

    `rows` has the columns that the mapping names as far as the table has them, and `ROW`, the
    number of the row in the table from 1. `problems` says what could not be read.
    """

    rows: pl.DataFrame
    problems: tuple[Problem, ...]


def read(source: Source, mapping: Mapping, limit: int | None = None) -> Requests:
    """Read the requests of a table.

    Raises
    ------
    ImportRefusedError
        The file cannot be read, lacks a column that the mapping names (`missing_column`), or has
        no request (`empty`).
    """
    is_events = mapping.format.layout is Layout.EVENTS
    wanted = events.raw_columns(mapping) if is_events else mapping.columns()
    table = tables.read(source, mapping.format, wanted, limit)
    rows = table.rows.with_row_index(ROW, offset=1).with_columns(pl.col(ROW).cast(pl.Int64))
    _check_columns(source, mapping, rows)
    if table.blank is not None:
        rows = rows.filter(~table.blank)
    n_blank = table.rows.height - rows.height
    if rows.is_empty():
        raise ImportRefusedError("empty", f"{source.name} has no row; expected one per request")
    rows, problems = _only(mapping, rows)
    if table.n_damaged:
        problems.append(_damaged(table))
    if n_blank:
        message = f"{n_blank} rows have no value in any column and were left out"
        problems.append(Problem("rows_left_out", message, n_blank, severity=Severity.INFO))
    if rows.is_empty():
        raise ImportRefusedError(
            "empty", f"{source.name} has no row that is a request: {problems[0].message}"
        )
    if is_events:
        rows, lost = events.requests(rows, mapping, ROW)
        problems += lost
    return Requests(rows, tuple(problems))


def _damaged(table: tables.Table) -> Problem:
    where = ", ".join(str(line) for line in table.lines)
    return Problem(
        "rows_unreadable",
        f"{table.n_damaged} lines are no JSON and could not be read (first: line {where}): what "
        "they said of requests is lost",
        table.n_damaged,
        severity=Severity.ERROR,
    )


def _only(mapping: Mapping, rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Leave out the rows that the mapping says are no requests, and count them."""
    kept = rows
    for column, values in mapping.format.only:
        kept = kept.filter(pl.col(column).cast(pl.String, strict=False).is_in(values))
    n_left = rows.height - kept.height
    if not n_left:
        return kept, []
    asked = "; ".join(
        f"{column} is {' or '.join(values)}" for column, values in mapping.format.only
    )
    message = (
        f"{n_left} of {rows.height} rows are no requests of these runs: kept are those whose "
        f"{asked}"
    )
    return kept, [Problem("rows_left_out", message, n_left, severity=Severity.INFO)]


def _check_columns(source: Source, mapping: Mapping, rows: pl.DataFrame) -> None:
    """Refuse a table without a column that the mapping cannot do without."""
    doubtful = [column for column in _needed(mapping) if not _known(rows, column)]
    if not doubtful:
        return
    found = tables.columns(source, mapping.format)  # a column without any value is there
    missing = [column for column in doubtful if column not in found]
    if not missing:
        return
    if not found and _holds_totals(source):
        raise totals.refusal(source)
    near = [f"{column!r}{_like(column, found)}" for column in missing]
    shown = ", ".join(_printable(name) for name in found[:_MOST_NAMED]) or "no object with keys"
    shown += ", …" if len(found) > _MOST_NAMED else ""
    if len(found) == 1:
        shown += "; if its cells are parted otherwise, say delimiter under [format]"
    raise ImportRefusedError(
        "missing_column",
        f"{source.name} has no column {', '.join(near)}; the mapping {mapping.name} reads it. "
        f"The file has: {shown}",
    )


def _holds_totals(source: Source) -> bool:
    """Return whether the lists of requests are empty, and totals stand around them."""
    if tables.form_of(source.path) is not tables.Form.JSON:
        return False
    form, _ = places.find(source)
    return totals.are_named(tables.columns(source, form))


def _printable(name: str) -> str:
    """Return a name from a file without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name[:60])


def _like(column: str, found: Sequence[str]) -> str:
    close = difflib.get_close_matches(column, found, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _needed(mapping: Mapping) -> list[str]:
    """Return the columns that must be there; of alternatives, the first names them all."""
    form = mapping.format
    needed = [each for each in (form.id, form.event, form.order) if each is not None]
    needed += [column for column, _ in form.only]
    needed += mapping.split_by
    needed += [fact.source for fact in mapping.facts if fact.source and not fact.optional]
    for field in mapping.fields:
        if not field.optional:
            needed += field.source
            needed += [] if field.minus is None else [field.minus]
    is_events = form.layout is Layout.EVENTS
    return [events.raw(column) if is_events else column for column in dict.fromkeys(needed)]


def _known(rows: pl.DataFrame, column: str) -> bool:
    return column in rows.columns and rows.schema[column] != pl.Null


__all__ = ["ROW", "Requests", "first", "read"]
