"""Columns become integers, texts and flags: vectorised, exact, and unreadable values become NULL.

Times go through whole nanoseconds wherever the source writes decimals or integers, never through
a float: a Unix time in nanoseconds has more digits than a float holds.
"""

import polars as pl

from headway.importers.mapped.mapping import Scalar, Unit

# A time beyond it is damage, and would not fit: 2286 as an instant, 317 years as a duration.
_MOST_SECONDS = 10_000_000_000
_PER_SECOND = {Unit.S: 1, Unit.MS: 10**3, Unit.US: 10**6, Unit.NS: 10**9}
_NS_DIGITS = {Unit.S: 9, Unit.MS: 6, Unit.US: 3, Unit.NS: 0}
_MINUTE_US = 60_000_000
_MOST_COUNT = 2**31

_NUMBER = r"^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$"
_PLAIN = r"^\s*[+-]?\d+(?:\.\d*)?\s*$"
_ISO = (
    r"^\s*(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?\s*"
    r"(Z|z|UTC|[+-]\d\d:?\d\d)?\s*$"
)
_TRUE = ("true", "t", "yes", "y", "1", "1.0")
_FALSE = ("false", "f", "no", "n", "0", "0.0")


def evaluated(column: pl.Series, expression: pl.Expr) -> pl.Series:
    """Return what an expression over the column `it` gives, one value for each of the column's."""
    return (
        pl.DataFrame({"it": column}).with_columns(__out__=expression)["__out__"].alias(column.name)
    )


def blanked(
    column: pl.Expr, kind: pl.DataType, unknown: tuple[Scalar, ...], decimal: str = "."
) -> pl.Expr:
    """Return a column with what means "not known" as NULL: NaN, empty text, and what is named."""
    if isinstance(kind, pl.List):
        inner = blanked(pl.element(), kind.inner, unknown, decimal)  # type: ignore[arg-type]
        return column.list.eval(inner).list.drop_nulls()
    numbers = [float(each) for each in unknown if isinstance(each, int | float)]
    if kind == pl.String:
        texts = ["", *(str(each) for each in unknown if not isinstance(each, bool))]
        text = column.str.strip_chars()
        said = [str(each).lower() for each in unknown if isinstance(each, bool)]
        is_blank = text.is_in(texts) | text.str.to_lowercase().is_in(said)
        if numbers:
            as_number = number(column, kind, decimal)
            is_blank |= as_number.is_in(numbers) | as_number.is_nan()
        return pl.when(is_blank.fill_null(value=False)).then(None).otherwise(column)
    if kind.is_float():
        is_blank = column.is_nan() | column.is_in(numbers)
        return pl.when(is_blank).then(None).otherwise(column)
    if kind.is_integer():
        whole = [int(each) for each in numbers if each.is_integer()]
        return pl.when(column.is_in(whole)).then(None).otherwise(column) if whole else column
    if kind == pl.Boolean:
        flags = [each for each in unknown if isinstance(each, bool)]
        return pl.when(column.is_in(flags)).then(None).otherwise(column) if flags else column
    return column


def number(column: pl.Expr, kind: pl.DataType, decimal: str = ".") -> pl.Expr:
    """Return a column as floats; what is no number is NULL."""
    if kind == pl.String:
        text = _pointed(column, decimal).str.strip_chars()
        return text.cast(pl.Float64, strict=False)
    if kind.is_numeric():
        return column.cast(pl.Float64, strict=False)
    return pl.lit(None, pl.Float64)


def _pointed(column: pl.Expr, decimal: str) -> pl.Expr:
    return column.str.replace(",", ".", literal=True) if decimal == "," else column


def microseconds(column: pl.Expr, kind: pl.DataType, unit: Unit, decimal: str = ".") -> pl.Expr:
    """Return times as whole microseconds, halves rounded up; what is no time is NULL."""
    if isinstance(kind, pl.Datetime):
        return _us_of_ns(column.dt.cast_time_unit("ns").dt.epoch("ns"))
    if isinstance(kind, pl.Duration):
        return _us_of_ns(column.dt.total_nanoseconds())
    if kind == pl.Date:
        return column.cast(pl.Datetime("us")).dt.epoch("us")
    if kind == pl.String:
        return _us_of_text(_pointed(column, decimal), unit)
    if unit is Unit.ISO:
        return pl.lit(None, pl.Int64)
    if kind.is_integer():
        return _us_of_whole(column.cast(pl.Int64, strict=False), unit)
    if kind.is_float():
        return _us_of_float(column.cast(pl.Float64), unit)
    if kind.is_decimal():
        return _us_of_text(column.cast(pl.String), unit)
    return pl.lit(None, pl.Int64)


def _us_of_ns(ns: pl.Expr) -> pl.Expr:
    return (ns + 500) // 1000


def _within(column: pl.Expr, most: int) -> pl.Expr:
    return pl.when(column.is_between(-most, most)).then(column)


def _us_of_whole(whole: pl.Expr, unit: Unit) -> pl.Expr:
    if unit is Unit.MIN:
        return _within(whole, _MOST_SECONDS // 60) * _MINUTE_US
    if unit is Unit.NS:
        return _us_of_ns(_within(whole, 2**63 - 1000))
    within = _within(whole, _MOST_SECONDS * _PER_SECOND[unit])
    return within * (10**6 // _PER_SECOND[unit])


def _us_of_float(value: pl.Expr, unit: Unit) -> pl.Expr:
    if unit is Unit.MIN:
        scaled = value * _MINUTE_US
    elif unit is Unit.NS:
        scaled = value / 1000
    else:
        scaled = value * (10**6 // _PER_SECOND[unit])
    within = _within(scaled, _MOST_SECONDS * 10**6)
    return (within + 0.5).floor().cast(pl.Int64, strict=False)


def _us_of_text(text: pl.Expr, unit: Unit) -> pl.Expr:
    if unit is Unit.ISO:
        return _us_of_iso(text)
    is_plain = text.str.contains(_PLAIN)
    floats = _us_of_float(text.str.strip_chars().cast(pl.Float64, strict=False), unit)
    if unit is Unit.MIN:
        return floats
    digits = _NS_DIGITS[unit]
    # Split a plain number at its decimal point: a regular expression takes ten times as long.
    bare = text.str.strip_chars()
    parts = bare.str.strip_chars_start("+-").str.splitn(".", 2).struct
    whole = parts.field("field_0").cast(pl.Int64, strict=False)
    part = parts.field("field_1").fill_null("")
    if digits:
        padded = (part + pl.lit("0" * digits)).str.slice(0, digits).cast(pl.Int64, strict=False)
    else:
        padded = pl.lit(0, pl.Int64)
    most = 9_000_000_000 * _PER_SECOND[unit]  # so that nanoseconds fit 64 bits
    ns = _within(whole, most) * 10**digits + padded
    signed = pl.when(bare.str.starts_with("-")).then(-ns).otherwise(ns)
    return pl.when(is_plain).then(_us_of_ns(signed)).otherwise(floats)


def _us_of_iso(text: pl.Expr) -> pl.Expr:
    clock = text.str.extract(_ISO, 2)
    full = pl.when(clock.str.len_chars() == 5).then(clock + ":00").otherwise(clock)
    local = (text.str.extract(_ISO, 1) + " " + full).str.to_datetime(
        "%Y-%m-%d %H:%M:%S", time_unit="us", strict=False
    )
    part = text.str.extract(_ISO, 3).fill_null("")
    ns = (part + "000000000").str.slice(0, 9).cast(pl.Int64, strict=False)
    return local.dt.epoch("us") + _us_of_ns(ns) - _zone_us(text)


def _zone_us(text: pl.Expr) -> pl.Expr:
    zone = text.str.extract(_ISO, 4).str.replace(":", "", literal=True)
    hours = zone.str.slice(1, 2).cast(pl.Int64, strict=False).fill_null(0)
    minutes = zone.str.slice(3, 2).cast(pl.Int64, strict=False).fill_null(0)
    shift_us = (hours * 60 + minutes) * _MINUTE_US
    return pl.when(zone.str.starts_with("-")).then(-shift_us).otherwise(shift_us)


def has_zone(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Return whether a date and time says its zone; NULL where there is none."""
    if isinstance(kind, pl.Datetime):
        return pl.when(column.is_not_null()).then(pl.lit(kind.time_zone is not None))
    if kind != pl.String:
        return pl.lit(None, pl.Boolean)
    known = column.str.contains(_ISO)
    return pl.when(known).then(column.str.extract(_ISO, 4).is_not_null())


def count(column: pl.Expr, kind: pl.DataType, decimal: str = ".") -> pl.Expr:
    """Return whole numbers that fit 32 bits; anything else is NULL."""
    if kind.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        return _within(whole, _MOST_COUNT - 1).cast(pl.Int32, strict=False)
    value = number(column, kind, decimal)
    fits = (value == value.floor()) & (value.abs() < _MOST_COUNT)
    return pl.when(fits).then(value).cast(pl.Int32, strict=False)


def text(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Return texts without blanks at their ends; whole numbers have no decimals, empty is NULL."""
    if kind == pl.String:
        bare = column.str.strip_chars()
        return pl.when(bare != "").then(bare)
    if kind.is_float():
        is_whole = (column == column.floor()) & (column.abs() < 2**53)
        whole = pl.when(is_whole).then(column).cast(pl.Int64, strict=False).cast(pl.String)
        return pl.coalesce(whole, column.cast(pl.String))
    if isinstance(kind, pl.Struct):
        return pl.when(column.is_not_null()).then(column.struct.json_encode())
    if kind == pl.Binary:
        return pl.lit(None, pl.String)  # bytes are nobody's words
    if isinstance(kind, pl.Array):
        return text(column.arr.to_list(), pl.List(kind.inner))
    if isinstance(kind, pl.List):
        joined = column.cast(pl.List(pl.String), strict=False).list.join(", ", ignore_nulls=True)
        return pl.when(joined != "").then(joined)
    if isinstance(kind, pl.Duration):
        return column.dt.total_microseconds().cast(pl.String)
    return column.cast(pl.String, strict=False)


def flag(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Return true and false; what says neither is NULL."""
    if kind == pl.Boolean:
        return column
    lower = text(column, kind).str.to_lowercase()
    return (
        pl.when(lower.is_in(_TRUE)).then(pl.lit(True)).when(lower.is_in(_FALSE)).then(pl.lit(False))
    )


def listed(series: pl.Series) -> pl.Series:
    """Return a column of lists: those of a table as they are, those of text read as JSON.

    A text that is no list of numbers becomes NULL.
    """
    if isinstance(series.dtype, pl.List):
        return series
    if isinstance(series.dtype, pl.Array):
        return series.arr.to_list()
    if series.dtype != pl.String:
        return pl.Series(series.name, [None] * len(series), pl.List(pl.Float64))
    is_list = series.str.contains(r"^\s*\[(?:[-+0-9.eE,\s]|null)*\]\s*$")
    texts = series.str.strip_chars().str.strip_chars("[]").str.split(",")
    # Texts, which the conversion reads exactly: a float would lose digits of a nanosecond.
    parts = texts.list.eval(pl.element().str.strip_chars()).list.eval(
        pl.element().filter(~pl.element().is_in(["", "null"]))
    )
    return (
        pl.select(pl.when(is_list.fill_null(value=False)).then(parts))
        .to_series()
        .alias(series.name)
    )
