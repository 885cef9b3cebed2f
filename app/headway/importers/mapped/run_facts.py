"""The facts of a run: constants of the mapping, and columns that are the same for all its rows."""

from dataclasses import fields
from typing import Any

import polars as pl

from headway.errors import ImportRefusedError
from headway.importers.mapped import convert
from headway.importers.mapped.fields import matches
from headway.importers.mapped.mapping import Fact, Mapping, Scalar
from headway.importers.source import Source, as_number, as_whole
from headway.model import (
    Boundary,
    Clock,
    IndexBasis,
    Load,
    LoadKind,
    Manifest,
)

_ENUMS: dict[str, type[Boundary] | type[Clock] | type[IndexBasis] | type[LoadKind]] = {
    "boundary": Boundary,
    "clock": Clock,
    "index_basis": IndexBasis,
    "load.kind": LoadKind,
}
_TYPES = {
    **{f"load.{each.name}": str(each.type) for each in fields(Load)},
    **{f"manifest.{each.name}": str(each.type) for each in fields(Manifest)},
    "replicate": "int",
    "time_limit_s": "float",
}


def read(source: Source, mapping: Mapping, rows: pl.DataFrame) -> dict[str, Any]:
    """Return the facts of one run by key; what its rows do not say is left out.

    Raises
    ------
    ImportRefusedError
        The rows contradict each other, or a value does not fit its fact (`inconsistent`).
    """
    found = {}
    for fact in mapping.facts:
        value = fact.value if fact.source is None else _common(source, mapping, fact, rows)
        if value is not None and not _is_endless(fact, value):
            found[fact.key] = _typed(source, mapping, fact, value)
    return found


def _is_endless(fact: Fact, value: Scalar) -> bool:
    """Return whether a number is said to be infinite or none: then no number limits the run."""
    kind = _TYPES.get(fact.key, "str")
    if "int" not in kind and "float" not in kind:
        return False
    return str(value).strip().lower().lstrip("+") in ("inf", "infinity", "nan")


def _common(source: Source, mapping: Mapping, fact: Fact, rows: pl.DataFrame) -> Scalar | None:
    if fact.source not in rows.columns:
        return None
    column = rows[str(fact.source)]
    blank = convert.blanked(pl.col("it"), column.dtype, fact.unknown, mapping.format.decimal)
    texts = convert.evaluated(column, convert.text(blank, column.dtype))
    known = texts.drop_nulls().unique(maintain_order=True)
    if known.len() > 1:
        shown = ", ".join(repr(value[:40]) for value in known.head(5).to_list())
        raise ImportRefusedError(
            "inconsistent",
            f"{source.name}: {fact.source}, which is to be the {fact.key} of a run, has "
            f"{known.len()} values in one run ({shown}); add {fact.source!r} to split_by of the "
            "mapping, so that each value is a run",
        )
    if not known.len():
        return None
    return _meaning(source, fact, known[0])


def _meaning(source: Source, fact: Fact, value: str) -> str:
    if not fact.values:
        return value
    for pattern, meaning in fact.values:
        if matches(pattern.lower(), value.lower()):
            return meaning
    raise ImportRefusedError(
        "unknown_status",
        f"{source.name}: {fact.source} = {value[:60]!r} for {fact.key}; the mapping knows "
        f"{', '.join(pattern for pattern, _ in fact.values)}: add it to values",
    )


def _typed(source: Source, mapping: Mapping, fact: Fact, value: Scalar) -> Any:
    kind = _TYPES.get(fact.key, "str")
    if fact.key in _ENUMS:
        choices = _ENUMS[fact.key]
        if value not in list(choices):
            raise _misfit(source, fact, value, f"one of {', '.join(choices)}")
        return choices(value)
    if "int" in kind or "float" in kind:
        text = (
            value.replace(",", ".")
            if mapping.format.decimal == "," and isinstance(value, str)
            else value
        )
        number = as_whole(text) if "int" in kind else as_number(text)
        if number is None or number < 0:
            raise _misfit(source, fact, value, "a number that is not negative")
        return number
    return value if fact.key in ("offered", "finished") else str(value)


def _misfit(source: Source, fact: Fact, value: Scalar, expected: str) -> ImportRefusedError:
    where = f"column {fact.source}" if fact.source is not None else "the mapping"
    return ImportRefusedError(
        "inconsistent",
        f"{source.name}: {fact.key} = {value!r} (from {where}); expected {expected}",
    )
