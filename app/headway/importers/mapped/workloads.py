"""A foreign table as a customer's trace: arrivals and lengths, no results."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from headway.errors import ImportRefusedError, MisuseError
from headway.importers.mapped import fields, requests, runs
from headway.importers.mapped.mapping import Mapping, Purpose
from headway.importers.mapped.problems import Problem, first, named
from headway.importers.source import Source
from headway.importers.traces import MAX_ROWS, Trace

_COUNTS = ("prompt_tokens", "output_tokens")


def workload(path: Path, mapping: Mapping, name: str | None = None) -> Trace:
    """Read a table as a trace through a mapping.

    Parameters
    ----------
    path, name
        The file, and what to call it.
    mapping
        A mapping of `kind = "workload"`.

    Raises
    ------
    MisuseError
        The mapping is not for a workload, or leaves something open.
    ImportRefusedError
        The table cannot be read, or has a length or an arrival that is none.
    """
    if mapping.purpose is not Purpose.WORKLOAD:
        raise MisuseError(
            f"mapping {mapping.name} is for runs; expected one with kind = 'workload'"
        )
    runs.ask(mapping)
    source = Source.open(path, name)
    table = requests.read(source, mapping, MAX_ROWS + 1)
    if table.rows.height > MAX_ROWS:
        raise ImportRefusedError(
            "too_long",
            f"{source.name} has more than {MAX_ROWS:,} rows; cut it to the days that matter",
        )
    done = fields.convert_all(mapping, table.rows)
    problems = [*table.problems, *done.problems, *_misfits(mapping, done)]
    # A plan with a length that cannot be read is another plan: nothing is left out of it.
    runs.refuse(source, mapping, [replace(each, refuses=True) for each in problems if _grave(each)])
    return Trace(f"mapping {mapping.name}", _rows(done), *_prefixes(done))


def _grave(problem: Problem) -> bool:
    return problem.refuses or problem.code in ("values_unreadable", "rows_unreadable")


def _misfits(mapping: Mapping, done: fields.Converted) -> list[Problem]:
    """Name lengths below 0, and prompts and arrivals that some rows do not have."""
    found = []
    for target, column in done.columns.items():
        wrong = column.is_null() if target in ("prompt_tokens", "scheduled_us") else None
        if target in _COUNTS:
            negative = (column.cast(pl.Int64) < 0).fill_null(value=False)
            wrong = negative if wrong is None else wrong | negative
        if wrong is None or not wrong.any():
            continue
        n, rows = int(wrong.sum()), first(done.rows.filter(wrong)[requests.ROW])
        source = ", ".join(getattr(mapping.field(target), "source", ()))
        message = f"{target}: {n} values of {source} are missing or below 0 ({named(rows, n)})"
        found.append(Problem("values_unreadable", message, n, target, rows, refuses=True))
    return found


def _rows(done: fields.Converted) -> pl.DataFrame:
    n = done.rows.height
    unknown = pl.Series([None] * n, dtype=pl.Int64)
    arrival = done.columns.get("scheduled_us")
    from_first = unknown if arrival is None else arrival - arrival.min()
    return pl.DataFrame(
        {
            "arrival_s": from_first.cast(pl.Float64) / 1e6,
            **{name: done.columns.get(name, unknown).cast(pl.Int64) for name in _COUNTS},
        }
    )


def _prefixes(done: fields.Converted) -> tuple[int | None, int | None]:
    """Return how many blocks all prompts have, and how many an earlier prompt had too."""
    blocks = done.columns.get(fields.PREFIX_BLOCKS)
    if blocks is None or blocks.null_count():
        return None, None
    every = blocks.explode().drop_nulls()
    return every.len(), every.len() - every.n_unique()
