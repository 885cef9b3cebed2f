"""Which unit a column of times is in: told by its name, by its values, or by another column.

Where several units are possible the answer is none: a wrong guess would move every number a
thousandfold.
"""

import polars as pl

from headway.importers.mapped.mapping import Kind, Unit
from headway.importers.mapped.profile import Profile
from headway.numbers import brief

# Unix times of 2001 to 2096 in each unit do not overlap.
_UNIX = {
    Unit.S: (1e9, 4e9),
    Unit.MS: (1e12, 4e12),
    Unit.US: (1e15, 4e15),
    Unit.NS: (1e18, 4e18),
}
# Medians that a service can have: gaps from 50 µs to 10 s, first tokens and answers from 0.5 ms to
# an hour; waits and parts of an answer can be of any length. Generous, so that what is excluded is
# implausible and not just unusual.
_LIKELY_S = {
    "chunk_gaps_us": (5e-5, 10.0),
    "ttft_us": (5e-4, 3600.0),
    "first_visible_us": (5e-4, 3600.0),
    "latency_us": (5e-4, 3600.0),
}
_PER_SECOND = {Unit.S: 1.0, Unit.MS: 1e3, Unit.US: 1e6, Unit.NS: 1e9}
_RATIO = 0.25


def unix_unit(column: Profile) -> Unit | None:
    """Return the unit in which a column's numbers are Unix times, if they are."""
    if not column.is_numeric:
        return None
    low, high = column.numbers.min(), column.numbers.max()
    for unit, (first, last) in _UNIX.items():
        if first <= low and high <= last:  # type: ignore[operator]
            return unit
    return None


def possible(column: Profile, target: str) -> list[Unit]:
    """Return the units in which the median of a column of durations can be that of a service."""
    median = column.median
    if not median or target not in _LIKELY_S:
        return []
    low, high = _LIKELY_S[target]
    return [unit for unit, per in _PER_SECOND.items() if low <= median / per <= high]


def agreeing(durations: pl.Series, instants_us: pl.Series) -> Unit | None:
    """Return the unit in which durations are those between two instants, if they agree."""
    both = pl.DataFrame({"said": durations.cast(pl.Float64), "us": instants_us.cast(pl.Float64)})
    both = both.drop_nulls().filter((pl.col("said") > 0) & (pl.col("us") > 0))
    if both.height < 3:
        return None
    ratio = float((both["us"] / both["said"]).median() or 0.0)  # type: ignore[arg-type]
    for unit, per in _PER_SECOND.items():
        if abs(ratio * per / 1e6 - 1) <= _RATIO:
            return unit
    return None


def seconds(value: float, unit: Unit) -> float:
    """Return a value of a unit in seconds."""
    return value * 60 if unit is Unit.MIN else value / _PER_SECOND[unit]


def in_words(column: Profile, unit: Unit) -> str:
    """Return what the median of a column is in a unit, in words."""
    value_s = seconds(column.median, unit)
    for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")):
        if value_s * factor >= 1:
            return f"{brief(value_s * factor)} {name}"
    return f"{brief(value_s)} s"


def told(
    column: Profile, target: str, kind: Kind | None, said: Unit | None
) -> tuple[Unit | None, str]:
    """Return the unit of a column of times and how it is known; None where it is open."""
    if said is not None:
        return said, f"its name says {said.value}"
    if column.is_moment:
        return Unit.ISO, "its values are dates and times"
    if kind in (Kind.INSTANT, Kind.INSTANTS):
        unit = unix_unit(column)
        if unit is None:
            return None, "its values are no Unix times, so that they do not tell the unit"
        return unit, f"its values are Unix times in {unit.value}"
    units = possible(column, target)
    if len(units) == 1:
        shown = in_words(column, units[0])
        return units[0], f"its median would be {shown}, and implausible in any other unit"
    if not units:
        return None, "its values do not tell the unit"
    ways = " or ".join(in_words(column, unit) for unit in units)
    return None, f"its median could be {ways}"
