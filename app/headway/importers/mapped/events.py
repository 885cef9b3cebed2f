"""Rows that are events: grouped into one row for each request.

A column of events is named with what to take of it: `time@first_token` is its value in the first
event of that kind, `time@token[]` the values of all of them in order, `time[]` those of all events,
`[-1]` the last, `[+]` their sum and `[n]` how many there are.
"""

import re
from collections.abc import Sequence

import polars as pl

from headway.importers.mapped.mapping import Mapping
from headway.importers.mapped.problems import Problem, first
from headway.model import Severity

_NAME = re.compile(r"(?P<column>.+?)(?:@(?P<event>[^\[\]]+))?(?:\[(?P<take>-1|\+|n|)\])?$")


def raw(name: str) -> str:
    """Return the column of the table that a name of events reads."""
    match = _NAME.fullmatch(name)
    return name if match is None else match["column"]


def raw_columns(mapping: Mapping) -> Sequence[str]:
    """Return the columns of the table that a mapping of events reads, each once."""
    return list(dict.fromkeys(raw(name) for name in mapping.columns()))


def requests(rows: pl.DataFrame, mapping: Mapping, row: str) -> tuple[pl.DataFrame, list[Problem]]:
    """Return one row for each request, in the order in which requests first appear.

    Events that name no request are left out and counted.
    """
    form = mapping.format
    identity = str(form.id)
    known = rows.filter(pl.col(identity).is_not_null())
    problems = _nameless(rows, identity, row, rows.height - known.height)
    if form.order is not None:
        number = known[form.order].cast(pl.Float64, strict=False)
        # Dates sort as text; among numbers, what is none comes last.
        is_text = number.null_count() == known.height
        by = known[form.order] if is_text else number
        known = known.sort(by, maintain_order=True, nulls_last=True)
    keys = [identity, *_split(mapping, identity)]
    names = [name for name in mapping.columns() if name not in keys]
    grouped = known.group_by(keys, maintain_order=True).agg(
        *(_taken(name, form.event).alias(name) for name in names),
        pl.col(row).min(),
    )
    return grouped.sort(row), problems


def _split(mapping: Mapping, identity: str) -> list[str]:
    # Two runs of one table may use the same ids; what an event says of its request parts no ids.
    return [column for column in mapping.split_by if column == raw(column) != identity]


def _nameless(rows: pl.DataFrame, identity: str, row: str, n: int) -> list[Problem]:
    if not n:
        return []
    numbers = rows.filter(pl.col(identity).is_null())[row]
    message = f"{n} rows name no request in {identity} and were left out"
    return [Problem("rows_left_out", message, n, rows=first(numbers), severity=Severity.INFO)]


def _taken(name: str, event: str | None) -> pl.Expr:
    match = _NAME.fullmatch(name)
    assert match is not None  # noqa: S101 every text has a first group
    column = pl.col(match["column"])
    if match["event"] is not None and event is not None:
        column = column.filter(pl.col(event).cast(pl.String, strict=False) == match["event"])
    present = column.drop_nulls()
    taken = {
        "": present.implode(),
        "-1": present.last(),
        "+": pl.when(present.len() > 0).then(present.cast(pl.Float64, strict=False).sum()),
        "n": present.len(),
        None: present.first(),
    }
    return taken[match["take"]]
