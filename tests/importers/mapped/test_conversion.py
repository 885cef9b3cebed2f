"""Times become whole microseconds exactly, whatever they are written in and as."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import floor

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.importers.mapped import convert
from headway.importers.mapped.mapping import Scalar, Unit

PER_SECOND = {Unit.S: 1, Unit.MS: 10**3, Unit.US: 10**6, Unit.NS: 10**9}
UNITS = st.sampled_from(list(PER_SECOND))
# Until the year 2096: microseconds of seconds as a float stay whole up to there.
US = st.integers(min_value=-(10**15), max_value=4 * 10**15)
NS = st.integers(min_value=-(4 * 10**18), max_value=4 * 10**18)


def us(values: list[object], unit: Unit, decimal: str = ".") -> list[int | None]:
    column = pl.DataFrame({"it": pl.Series(values)})
    kind = column.schema["it"]
    done = column.select(convert.microseconds(pl.col("it"), kind, unit, decimal))
    return done.to_series().to_list()


def rounded(value: Fraction) -> int:
    """Round half up, the rule of the conversion."""
    return floor(value + Fraction(1, 2))


@given(st.lists(NS, min_size=1))
def test_nanoseconds_never_go_through_a_float(values: list[int]) -> None:
    expected = [rounded(Fraction(value, 1000)) for value in values]
    assert us(list(values), Unit.NS) == expected
    assert us([str(value) for value in values], Unit.NS) == expected


@given(US, UNITS)
def test_decimals_round_trip_to_the_microsecond(value: int, unit: Unit) -> None:
    written = Decimal(value) * PER_SECOND[unit] / 10**6
    assert us([f"{written:f}"], unit) == [value]
    assert us([f"{written:f}".replace(".", ",")], unit, ",") == [value]


@given(US)
def test_seconds_as_floats_round_trip_to_the_microsecond(value: int) -> None:
    assert us([value / 10**6], Unit.S) == [value]


@given(st.integers(min_value=-(10**9), max_value=10**9), UNITS)
def test_whole_numbers_are_exact(value: int, unit: Unit) -> None:
    assert us([value], unit) == [rounded(Fraction(value * 10**6, PER_SECOND[unit]))]


@given(
    st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2100, 1, 1)),
    st.integers(min_value=-14 * 4, max_value=14 * 4),
)
def test_dates_round_trip_in_every_zone(moment: datetime, quarters: int) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=15 * quarters)))
    expected = (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert us([zoned.isoformat()], Unit.ISO) == [expected]
    assert us([zoned.isoformat(sep=" ")], Unit.ISO) == [expected]


def test_what_is_no_time_is_unknown() -> None:
    assert us(["x", "1e3", " 7 ", "inf", "1,5", None], Unit.S) == [
        None,
        1_000_000_000,
        7_000_000,
        None,
        None,
        None,
    ]
    assert us([float("inf"), 1e300, 2.5], Unit.MS) == [None, None, 2500]
    assert us(["16/11/2023", "2023-11-16", "2023-11-16 25:00:00"], Unit.ISO) == [None] * 3
    assert us([2, 3], Unit.MIN) == [120_000_000, 180_000_000]


def test_typed_times_keep_their_own_unit() -> None:
    moment = datetime(2026, 11, 29, 1, 2, 3, 4)
    expected = [(moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)]
    assert us([moment], Unit.ISO) == expected
    assert us([timedelta(milliseconds=5)], Unit.S) == [5000]
    assert us([Decimal("1795976816303152501")], Unit.NS) == [1_795_976_816_303_153]


@pytest.mark.parametrize(
    ("values", "unknown", "expected"),
    [
        (["-1", "-1.0", "null", "", None, "5"], (-1, "null"), [None] * 5 + ["5"]),
        ([0, -1, 5], (-1,), [0, None, 5]),
        ([0.0, float("nan"), 5.0], (0,), [None, None, 5.0]),
        ([True, False], (False,), [True, None]),
        (["True", "false"], (False,), ["True", None]),
        ([[1, -1], [], None], (-1,), [[1], [], None]),
    ],
)
def test_sentinels(values: list[object], unknown: tuple[Scalar, ...], expected: object) -> None:
    column = pl.DataFrame({"it": pl.Series(values)})
    kind = column.schema["it"]
    assert (
        column.select(convert.blanked(pl.col("it"), kind, unknown)).to_series().to_list()
        == expected
    )


def test_counts_are_whole_and_fit() -> None:
    def count(values: list[object]) -> list[int | None]:
        column = pl.DataFrame({"it": pl.Series(values)})
        return column.select(convert.count(pl.col("it"), column.schema["it"])).to_series().to_list()

    assert count(["7", "7.0", "7.5", "x", "3000000000"]) == [7, 7, None, None, None]
    assert count([7, 2**31, 2**40]) == [7, None, None]
    assert count([7.0, 0.5]) == [7, None]
