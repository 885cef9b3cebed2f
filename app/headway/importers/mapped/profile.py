"""What the first rows of a table show of each column: its type, range and values."""

from dataclasses import dataclass

import polars as pl

from headway.importers.mapped import convert

_MOST_VALUES = 60


@dataclass(frozen=True, slots=True)
class Profile:
    """What a sample of a column shows.

    `numbers` are its values as floats, of lists those of all their elements; `values` its distinct
    texts where they are few, most frequent first.
    """

    name: str
    n: int
    n_known: int
    is_list: bool
    is_moment: bool
    is_flag: bool
    numbers: pl.Series
    values: tuple[tuple[str, int], ...]
    n_distinct: int

    @property
    def is_numeric(self) -> bool:
        """Whether all that is known of it are numbers."""
        return self.numbers.len() > 0

    @property
    def median(self) -> float:
        """The median of its numbers that are not 0 or a sentinel below 0."""
        above = self.numbers.filter(self.numbers > 0)
        return float(above.median() or 0.0)  # type: ignore[arg-type]


def of(column: pl.Series, decimal: str = ".") -> Profile:
    """Return what a column shows."""
    listed = _listed(column)
    flat = listed.explode().drop_nulls() if listed is not None else column
    texts = _texts(column) if listed is None else pl.Series([], dtype=pl.String)
    known = column.drop_nulls() if listed is not None else texts.drop_nulls()
    numbers = _numbers(flat, decimal)
    values = known.value_counts(sort=True, name="__n__") if listed is None else None
    few = values is not None and values.height <= _MOST_VALUES
    return Profile(
        name=column.name,
        n=len(column),
        n_known=len(known),
        is_list=listed is not None,
        is_moment=_is_moment(column),
        is_flag=column.dtype == pl.Boolean,
        numbers=numbers,
        values=tuple(values.iter_rows()) if values is not None and few else (),
        n_distinct=0 if values is None else values.height,
    )


def _texts(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Null:
        return pl.Series(column.name, [], dtype=pl.String)
    return convert.evaluated(column, convert.text(pl.col("it"), column.dtype))


def _listed(column: pl.Series) -> pl.Series | None:
    if isinstance(column.dtype, pl.List | pl.Array):
        return convert.listed(column)
    if column.dtype != pl.String:
        return None
    known = column.drop_nulls()
    known = known.filter(known.str.strip_chars() != "")
    is_list = known.len() > 0 and bool(known.str.contains(r"^\s*\[").all())
    return convert.listed(column) if is_list else None


def _numbers(column: pl.Series, decimal: str) -> pl.Series:
    """Return a column's values as numbers if all that is known of it are some."""
    if column.dtype == pl.Boolean or column.dtype == pl.Null:
        return pl.Series([], dtype=pl.Float64)
    kind = column.dtype
    blank = convert.blanked(pl.col("it"), kind, ("null", "NaN", "None", "nan"), decimal)
    known = convert.evaluated(column, blank).drop_nulls()
    numbers = convert.evaluated(known, convert.number(pl.col("it"), known.dtype, decimal))
    usable = numbers.drop_nulls().filter(numbers.drop_nulls().is_finite())
    return usable if usable.len() == known.len() else pl.Series([], dtype=pl.Float64)


def _is_moment(column: pl.Series) -> bool:
    if column.dtype.is_temporal():
        return column.dtype != pl.Duration
    if column.dtype != pl.String:
        return False
    known = column.drop_nulls()
    known = known.filter(known.str.strip_chars() != "")
    moments = convert.evaluated(known, convert.has_zone(pl.col("it"), pl.String()))
    return known.len() > 0 and moments.null_count() == 0
