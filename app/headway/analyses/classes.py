"""Whose wait improves, and who pays: pairs of requests by class, metric by metric."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from headway.analyses import pairs, shift
from headway.analyses.measured import METRICS
from headway.analyses.pairs import Paired
from headway.analyses.shift import ShiftPoint
from headway.model import Metric

ALL = "all"
_MOST_TURNS = 4


class Split(StrEnum):
    """What the requests of a comparison are cut by."""

    PROMPT_LENGTH = "prompt_length"
    OUTPUT_LENGTH = "output_length"
    PREFIX = "prefix"
    SEGMENT = "segment"
    TURN = "turn"
    ARRIVAL = "arrival"


class Balance(StrEnum):
    """Which way most requests of a class go."""

    WINS = "wins"
    PAYS = "pays"
    EVEN = "even"


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One class of requests and one metric: counts, and percentiles of the class on both sides.

    `low` and `high` are the class's shortest and longest length, where it is one of length.
    `points` are p50 and p99 of the offered requests of the class.
    """

    split: Split
    label: str
    order: int
    low: int | None
    high: int | None
    metric: Metric
    paired: Paired
    points: tuple[ShiftPoint, ...]

    @property
    def balance(self) -> Balance:
        """Whether more of its requests wait shorter in B (wins) or longer (pays).

        A class that loses requests on balance pays, however much shorter the others wait.
        """
        if self.paired.n_lost > self.paired.n_gained:
            return Balance.PAYS
        if self.paired.n_better == self.paired.n_worse:
            return Balance.EVEN
        return Balance.WINS if self.paired.n_better > self.paired.n_worse else Balance.PAYS


@dataclass(frozen=True, slots=True)
class _Cut:
    """How a split cuts: the column of the class, and of the length it is a class of."""

    column: pl.Expr
    length: str | None = None


_CUTS = {
    Split.PROMPT_LENGTH: _Cut(pl.col("prompt_class"), "prompt_tokens"),
    Split.OUTPUT_LENGTH: _Cut(pl.col("output_class"), "output_tokens"),
    Split.PREFIX: _Cut(pl.col("prefix")),
    Split.SEGMENT: _Cut(pl.col("segment")),
    Split.TURN: _Cut(pl.col("turn_index").clip(0, _MOST_TURNS - 1)),
    Split.ARRIVAL: _Cut(pl.col("tenth")),
}
_ORDER = ("cold", "eligible", "steady", "burst", "recovery", "ramp")


def rows_of(frame: pl.DataFrame, metrics: tuple[Metric, ...] = METRICS) -> tuple[ClassRow, ...]:
    """Compare every class that two or more classes of a split tell apart, over offered pairs.

    A request whose class is not recorded is in no row of that split.
    """
    known = pairs.both(frame)
    return tuple(
        row for split in Split for row in _rows(known.with_columns(_class(split)), split, metrics)
    )


def _class(split: Split) -> pl.Expr:
    return _CUTS[split].column.alias("_class")


def _rows(frame: pl.DataFrame, split: Split, metrics: tuple[Metric, ...]) -> Iterator[ClassRow]:
    found = frame.filter(pl.col("_class").is_not_null()).partition_by("_class", as_dict=True)
    if len(found) < 2:
        return
    for (key,), rows in sorted(found.items(), key=lambda each: _place(each[0][0])):
        low, high = _lengths(rows, split)
        for metric in metrics:
            yield ClassRow(
                split=split,
                label=_label(split, key, low, high),
                order=_place(key),
                low=low,
                high=high,
                metric=metric,
                paired=pairs.paired(rows, metric),
                points=shift.at_shares(*shift.pooled_values(rows, metric)),
            )


def _place(key: object) -> int:
    return key if isinstance(key, int) else _ORDER.index(str(key))


def _lengths(rows: pl.DataFrame, split: Split) -> tuple[int | None, int | None]:
    column = _CUTS[split].length
    if column is None:
        return None, None
    return int(rows[column].min()), int(rows[column].max())  # type: ignore[arg-type]


def _label(split: Split, key: object, low: int | None, high: int | None) -> str:
    if low is not None:
        return f"{low}–{high} tokens" if low != high else f"{low} tokens"
    if split is Split.TURN:
        turn = int(str(key)) + 1
        return f"turn {turn}" if turn < _MOST_TURNS else f"turn {turn} and later"
    if split is Split.ARRIVAL:
        return f"tenth {key}"
    return {
        "cold": "cold: first of its prefix group",
        "eligible": "eligible for a warm prefix",
    }.get(str(key), str(key))
