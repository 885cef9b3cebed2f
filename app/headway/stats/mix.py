"""What a mix of requests is like: its middle, its upper end, and how varied it is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headway.stats.percentiles import percentiles_of

Floats = NDArray[np.float64]

_EVEN, _TAIL = 400, 200


@dataclass(frozen=True, slots=True)
class Summary:
    """A quantity of a mix; `spread` is standard deviation ÷ mean, None for fewer than two."""

    n: int
    median: float
    p90: float
    largest: float
    spread: float | None


def summary(values: ArrayLike) -> Summary | None:
    """Describe the known values of a quantity; None where there is none."""
    known = np.asarray(values, float)
    if not len(known):
        return None
    median, p90, largest = percentiles_of(known, [0.5, 0.9, 1.0]).tolist()
    mean = float(known.mean())
    spread = float(known.std(ddof=1)) / mean if len(known) > 1 and mean else None
    return Summary(len(known), median, p90, largest, spread)


def gaps_by_mean(arrivals: ArrayLike) -> Floats:
    """Return the times between arrivals ÷ their mean, from arrivals in any order.

    Empty where there are fewer than two arrivals, or all of them at one instant.
    """
    gaps = np.diff(np.sort(np.asarray(arrivals, float)))
    mean = gaps.mean() if len(gaps) else 0.0
    return gaps / mean if mean else np.empty(0)


def curve(values: ArrayLike) -> tuple[Floats, NDArray[np.int64]]:
    """Return points of the empirical distribution, at most 600: values, and how many are at most.

    Ranks are taken evenly and ever denser towards the end, as in the query distribution/ecdf; the
    count of every point is exact, whatever was left out between points.
    """
    ordered = np.sort(np.asarray(values, float))
    n = len(ordered)
    if not n:
        return np.empty(0), np.empty(0, np.int64)
    even = np.ceil(n * np.arange(_EVEN + 1) / _EVEN).astype(np.int64)
    tail = n + 1 - np.ceil(n ** (np.arange(_TAIL) / _TAIL)).astype(np.int64)
    ranks = np.clip(np.concatenate([even, tail]), 1, n)
    drawn = np.unique(ordered[ranks - 1])
    return drawn, np.searchsorted(ordered, drawn, side="right")


def n_beyond(values: ArrayLike, limit: float) -> int:
    """Return how many values are larger than a limit."""
    return int((np.asarray(values, float) > limit).sum())
