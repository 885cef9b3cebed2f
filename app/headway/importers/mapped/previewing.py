"""The first rows of a table through a mapping, field by field: pure data for a page or a table."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from headway.errors import HeadwayError
from headway.importers.mapped import derive, fields, requests, runs
from headway.importers.mapped.mapping import INSTANTS, Field, Mapping, Question
from headway.importers.mapped.problems import Problem
from headway.importers.source import Source
from headway.importers.survival import survived

SAMPLED_ROWS = 20_000
_MOST_TEXT = 80


@dataclass(frozen=True, slots=True)
class FieldPreview:
    """What one field of the record becomes.

    Parameters
    ----------
    target
        Column of the record; derived ones, such as `ended_us`, have no `source`.
    source
        Columns it comes from, in the order in which they are tried.
    found
        What the table has in the first rows, as text, by source column; None where it has nothing.
    becomes
        What the record gets in the same rows; None is unknown. Instants count from the first.
    n_known
        In how many of the rows that were read the field is known.
    problems
        What is wrong with the values of all rows that were read.
    """

    target: str
    source: tuple[str, ...]
    found: tuple[tuple[str | None, ...], ...]
    becomes: tuple[Any, ...]
    n_known: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class RunPreview:
    """A run that the rows become: its place in the table, what it is split by, its rows."""

    place: int
    split: tuple[tuple[str, str | None], ...]
    n_rows: int


@dataclass(frozen=True, slots=True)
class Preview:
    """A table through a mapping.

    Parameters
    ----------
    row_numbers
        Numbers of the rows shown, from 1; of events, those of each request's first row.
    fields
        Every field that the mapping gives, and those that follow from them.
    runs
        The runs among the rows that were read.
    problems
        What is wrong or doubtful, of the table and of every field; those that refuse it first.
    questions
        What the mapping leaves open; fields without a unit are not converted.
    n_read
        How many rows were read.
    is_sample
        Whether the table may have more.
    """

    row_numbers: tuple[int, ...]
    fields: tuple[FieldPreview, ...]
    runs: tuple[RunPreview, ...]
    problems: tuple[Problem, ...]
    questions: tuple[Question, ...]
    n_read: int
    is_sample: bool

    @property
    def is_usable(self) -> bool:
        """Whether nothing is open and nothing among the rows refuses the table."""
        return not self.questions and not any(problem.refuses for problem in self.problems)


def preview(path: Path, mapping: Mapping, n: int = 20, limit: int | None = SAMPLED_ROWS) -> Preview:
    """Return the first rows of a table through a mapping, complete or not.

    Parameters
    ----------
    path, mapping
        The file, and what its columns mean.
    n
        How many rows to show.
    limit
        How many rows to read and check; None reads all.

    Returns
    -------
    Preview
        What becomes of the rows. A table that cannot be read through the mapping at all is a
        preview without rows, whose problem says why; nothing is raised for it.
    """
    try:
        with survived(path.name):
            source = Source.open(path)
            usable = _with_units(mapping)
            table = requests.read(source, usable, limit)
            return _shown(mapping, usable, table, n, limit)
    except HeadwayError as error:
        return _nothing(mapping, error)


def _shown(
    mapping: Mapping, usable: Mapping, table: requests.Requests, n: int, limit: int | None
) -> Preview:
    done = fields.convert_all(usable, table.rows)
    derived = derive.derive(usable, done)
    problems = sorted([*table.problems, *done.problems], key=lambda each: not each.refuses)
    shown, _ = runs.from_zero(derived.head(n))
    names = [name for name in derived.columns if name != requests.ROW]
    by_target = {field.target: field for field in mapping.fields}
    previews = [
        _field(name, by_target.get(name), table.rows.head(n), shown, derived, problems)
        for name in names
        if name in by_target or name in (*INSTANTS, "ttft_us")
    ]
    return Preview(
        row_numbers=tuple(table.rows[requests.ROW].head(n).to_list()),
        fields=tuple(previews),
        runs=tuple(_runs(usable, table.rows)),
        problems=tuple(problems),
        questions=mapping.missing(),
        n_read=table.rows.height,
        is_sample=limit is not None and table.rows.height >= limit,
    )


def _with_units(mapping: Mapping) -> Mapping:
    """Leave out the times without a unit: nothing is shown that rests on a guess."""
    known = [field for field in mapping.fields if field.unit is not None or not field.needs_unit]
    return replace(mapping, fields=tuple(known))


def _nothing(mapping: Mapping, error: HeadwayError) -> Preview:
    problem = Problem(error.code, str(error), refuses=True)
    return Preview((), (), (), (problem,), mapping.missing(), 0, is_sample=False)


def _field(
    name: str,
    field: Field | None,
    raw: pl.DataFrame,
    shown: pl.DataFrame,
    derived: pl.DataFrame,
    problems: list[Problem],
) -> FieldPreview:
    source = () if field is None else field.source
    becomes = shown[name].to_list() if name in shown.columns else [None] * shown.height
    return FieldPreview(
        target=name,
        source=source,
        found=tuple(_texts(raw, column) for column in source),
        becomes=tuple(becomes),
        n_known=derived.height - derived[name].null_count(),
        problems=tuple(problem for problem in problems if problem.target == name),
    )


def _texts(raw: pl.DataFrame, column: str) -> tuple[str | None, ...]:
    if column not in raw.columns:
        return (None,) * raw.height
    return tuple(None if value is None else _text(value) for value in raw[column].to_list())


def _text(value: object) -> str:
    text = str(value)
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"


def _runs(mapping: Mapping, rows: pl.DataFrame) -> list[RunPreview]:
    if not mapping.split_by:
        return [RunPreview(0, (), rows.height)]
    keys = [pl.col(column).cast(pl.String, strict=False) for column in mapping.split_by]
    counted = rows.group_by(keys, maintain_order=True).agg(pl.len().alias("__n__"))
    return [
        RunPreview(place, tuple(zip(mapping.split_by, values, strict=True)), n)
        for place, (*values, n) in enumerate(counted.iter_rows())
    ]
