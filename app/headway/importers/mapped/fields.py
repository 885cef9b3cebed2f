"""The fields of the record, converted from the columns a mapping names: whole columns at a time."""

from dataclasses import dataclass
from dataclasses import field as member

import polars as pl

from headway.importers.mapped import convert
from headway.importers.mapped.checks import CHOICES
from headway.importers.mapped.mapping import (
    COUNT_LISTS,
    COUNTS,
    ENUMS,
    FLAGS,
    LISTS,
    TIMES,
    Field,
    Mapping,
    Unit,
)
from headway.importers.mapped.problems import Problem, first, named
from headway.importers.mapped.requests import ROW
from headway.model import OutcomeBasis

_MOST_VALUES = 12
_MOST_TEXT = 200
PREFIX_BLOCKS = "prefix_blocks"

_EXPECTED = {
    **dict.fromkeys(COUNTS, "a whole number"),
    **dict.fromkeys(FLAGS, "true or false"),
}


@dataclass(slots=True)
class Converted:
    """The columns of the record that a mapping gives, as they come from the table.

    Instants are absolute: the run's own zero is taken off later. `basis` is how each outcome is
    known, `zoned` whether each instant of a field said its zone.
    """

    rows: pl.DataFrame
    columns: dict[str, pl.Series] = member(default_factory=dict)
    zoned: dict[str, pl.Series] = member(default_factory=dict)
    basis: pl.Series | None = None
    problems: list[Problem] = member(default_factory=list)


def convert_all(mapping: Mapping, rows: pl.DataFrame) -> Converted:
    """Return every field that a mapping gives, with the problems of its values."""
    done = Converted(rows)
    for each in mapping.fields:
        if each.source and not _present(each, rows):
            done.columns[each.target] = _constant(each, mapping, rows.height)
            continue
        done.columns[each.target] = _convert(each, mapping, done)
    return done


def _present(each: Field, rows: pl.DataFrame) -> bool:
    return any(column in rows.columns for column in each.source)


def _constant(each: Field, mapping: Mapping, n_rows: int) -> pl.Series:
    """Return a column of the constant, or of the default where an optional column is missing."""
    value = each.value if each.value is not None else each.default
    if value is None:
        return pl.Series([None] * n_rows, dtype=pl.Null)
    single = pl.Series([value])
    if each.target in TIMES:
        single = pl.Series([str(value)])
    done = _typed(each, mapping, single)
    return done.new_from_index(0, n_rows)


def _typed(each: Field, mapping: Mapping, column: pl.Series) -> pl.Series:
    """Return one column of a table in the type of the record; unreadable values become NULL."""
    if each.target in (*LISTS, *COUNT_LISTS, PREFIX_BLOCKS):
        column = convert.listed(column)
    return convert.evaluated(column, _expression(each, mapping, column.dtype))


def _expression(each: Field, mapping: Mapping, kind: pl.DataType) -> pl.Expr:
    decimal, column = mapping.format.decimal, pl.col("it")
    if isinstance(kind, pl.List) and each.target in (*LISTS, *COUNT_LISTS):
        inner: pl.DataType = kind.inner  # type: ignore[assignment]
        if each.target in LISTS:
            element = convert.microseconds(pl.element(), inner, _unit(each), decimal)
        else:
            element = convert.count(pl.element(), inner, decimal)
        return column.list.eval(element)
    if each.target == PREFIX_BLOCKS:
        return column.cast(pl.List(pl.String), strict=False)
    if each.target in TIMES:
        return convert.microseconds(column, kind, _unit(each), decimal)
    if each.target in COUNTS:
        return convert.count(column, kind, decimal)
    if each.target in FLAGS and not each.values:
        return convert.flag(column, kind)
    return convert.text(column, kind)


def _unit(each: Field) -> Unit:
    return each.unit or Unit.S


def _convert(each: Field, mapping: Mapping, done: Converted) -> pl.Series:
    if not each.source:
        column = _constant(each, mapping, done.rows.height)
        if each.target == "outcome":
            done.basis = _bases(each, column, column)
        return column
    result: pl.Series | None = None
    for name in each.source:
        if name in done.rows.columns:
            found = _source(each, mapping, name, done)
            result = found if result is None else _first_known(result, found)
    assert result is not None  # noqa: S101 one of the columns is there
    if each.minus is not None:
        result = result - _source(each, mapping, each.minus, done)
    if each.target in (*ENUMS, *FLAGS) and (each.values or each.target in ENUMS):
        return _meant(each, result, done)
    if each.default is not None:
        default = _constant(Field(each.target, value=each.default, unit=each.unit), mapping, 1)
        result = result.fill_null(default[0])
    return result.str.slice(0, _MOST_TEXT) if result.dtype == pl.String else result


def _first_known(known: pl.Series, other: pl.Series) -> pl.Series:
    return pl.select(pl.coalesce(known, other)).to_series()


def _source(each: Field, mapping: Mapping, name: str, done: Converted) -> pl.Series:
    """Convert one source column; what is there and cannot be read is counted as a problem."""
    raw = done.rows[name]
    if raw.dtype == pl.Null:
        return _typed(each, mapping, raw)
    is_list = each.target in (*LISTS, *COUNT_LISTS, PREFIX_BLOCKS)
    column = convert.listed(raw) if is_list else raw
    blank = convert.blanked(pl.col("it"), column.dtype, each.unknown, mapping.format.decimal)
    blanked = convert.evaluated(column, blank)
    typed = _typed(each, mapping, blanked)
    if each.unit is Unit.ISO:
        zone = convert.has_zone(pl.col("it"), blanked.dtype)
        done.zoned[each.target] = convert.evaluated(blanked, zone)
    unread = _unread(raw, blanked, typed, is_list=is_list)
    _note_unread(each, name, raw, unread, done)
    return _lists(typed, unread) if is_list else typed


def _lists(typed: pl.Series, unread: pl.Series) -> pl.Series:
    return pl.select(pl.when(~unread).then(typed)).to_series()


def _unread(raw: pl.Series, blanked: pl.Series, typed: pl.Series, *, is_list: bool) -> pl.Series:
    if not is_list:
        return blanked.is_not_null() & typed.is_null()
    no_list = raw.is_not_null() & blanked.is_null()
    if raw.dtype == pl.String:
        no_list &= raw.str.strip_chars() != ""
    broken = typed.list.eval(pl.element().is_null()).list.any()
    return no_list | broken.fill_null(value=False)


def _note_unread(
    each: Field, name: str, raw: pl.Series, unread: pl.Series, done: Converted
) -> None:
    n = int(unread.sum())
    if not n:
        return
    expected = _EXPECTED.get(each.target) or (
        f"a time in {_unit(each).value}" if each.target in TIMES else "text"
    )
    rows = first(done.rows.filter(unread)[ROW])
    examples = ", ".join(repr(str(value)[:40]) for value in raw.filter(unread).head(3).to_list())
    n_present = int(raw.is_not_null().sum())
    message = (
        f"{each.target}: {n} of {n_present} values of {name} are not {expected} ({examples}; "
        f"{named(rows, n)})"
    )
    if n == n_present:
        message += "; correct the column, its unit, or the decimal mark"
        done.problems.append(
            Problem("values_unreadable", message, n, each.target, rows, refuses=True)
        )
        return
    message += "; they are unknown"
    done.problems.append(Problem("values_unreadable", message, n, each.target, rows))


def _meant(each: Field, texts: pl.Series, done: Converted) -> pl.Series:
    """Return what the values of a source mean; a value without a meaning is refused by name."""
    found = texts.drop_nulls().unique(maintain_order=True).to_list()
    meaning = {value: _meaning(each, value) for value in found}
    meant = (
        texts.replace_strict(
            list(meaning), list(meaning.values()), default=None, return_dtype=pl.String
        )
        if found
        else texts.cast(pl.String)
    )
    is_unmeant = texts.is_not_null() & meant.is_null()
    if is_unmeant.any():
        _note_unmeant(each, texts, is_unmeant, done)
    filled = meant if each.default is None else meant.fill_null(str(each.default).lower())
    if each.target in FLAGS:
        return convert.evaluated(filled, convert.flag(pl.col("it"), pl.String()))
    is_blank = filled.is_null() & ~is_unmeant
    if each.target == "outcome":
        done.basis = _bases(each, texts, meant)
        _note_blank(each, is_blank, done)
    return filled


def _bases(each: Field, texts: pl.Series, meant: pl.Series) -> pl.Series:
    if each.basis is not None or not each.source:
        basis = each.basis or OutcomeBasis.INFERRED
        return pl.Series([basis.value]).new_from_index(0, len(texts))
    stated = pl.lit(OutcomeBasis.STATED.value)
    return pl.select(
        pl.when(meant.is_not_null()).then(stated).otherwise(pl.lit(OutcomeBasis.INFERRED.value))
    ).to_series()


def _meaning(each: Field, value: str) -> str | None:
    lower = value.lower()
    for pattern, meaning in each.values:
        if matches(pattern.lower(), lower):
            return meaning
    if not each.values and each.otherwise is None:
        # The words of the record itself need no translation.
        return lower if lower in set(CHOICES.get(each.target, ())) else None
    return each.otherwise


def matches(pattern: str, text: str) -> bool:
    """Return whether a text is of a pattern, in which `*` stands for any text."""
    if "*" not in pattern:
        return pattern == text
    start, *middle, end = pattern.split("*")
    if len(text) < len(start) + len(end) or not text.startswith(start) or not text.endswith(end):
        return False
    rest = text[len(start) : len(text) - len(end)]
    for part in middle:
        at = rest.find(part)
        if at < 0:
            return False
        rest = rest[at + len(part) :]
    return True


def _note_unmeant(each: Field, texts: pl.Series, unmeant: pl.Series, done: Converted) -> None:
    counts = texts.filter(unmeant).value_counts(sort=True, name="__n__")
    shown = ", ".join(f"{value[:60]!r} ({n})" for value, n in counts.head(_MOST_VALUES).iter_rows())
    more = f" and {counts.height - _MOST_VALUES} more" if counts.height > _MOST_VALUES else ""
    n = int(unmeant.sum())
    message = (
        f"{each.target}: {n} rows have a value of {', '.join(each.source)} that the mapping does "
        f"not know: {shown}{more}; say what each means in values, or what all others mean in "
        "otherwise"
    )
    rows = first(done.rows.filter(unmeant)[ROW])
    done.problems.append(Problem("unknown_status", message, n, each.target, rows, refuses=True))


def _note_blank(each: Field, blank: pl.Series, done: Converted) -> None:
    n = int(blank.sum())
    if not n:
        return
    rows = first(done.rows.filter(blank)[ROW])
    message = (
        f"{each.target}: {n} rows have no value in {', '.join(each.source)} ({named(rows, n)}); "
        "say in default what that means"
    )
    done.problems.append(Problem("unknown_status", message, n, each.target, rows, refuses=True))
