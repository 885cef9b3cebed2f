"""Percentiles of a list in which lost requests stand at +infinity."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headway.stats.intervals import LEVEL, order_statistic_ranks

Floats = NDArray[np.float64]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Bounds:
    """A percentile's interval; an end is None where no observed value bounds it on that side.

    An end may be infinite: the bound is then a request that never delivered.
    """

    value: float
    low: float | None
    high: float | None


def with_lost_last(values: ArrayLike) -> Floats:
    """Return a copy in which unknown values (NaN) are lost requests, at +infinity."""
    found = np.array(values, dtype=float)
    found[np.isnan(found)] = np.inf
    return found


def nearest_rank(ordered: Floats, p: ArrayLike) -> Floats:
    """Return the smallest value of a sorted list that at least the share p does not exceed.

    Parameters
    ----------
    ordered
        Shape (n,), ascending, n ≥ 1; lost requests at +infinity.
    p
        Shares in (0, 1]; any shape.

    Notes
    -----
    The inverse of the empirical distribution (Hyndman and Fan, definition 1): rank ⌈p·n⌉. The
    allowance of 1e-9 keeps 0.07 · 100 = 7.000000000000001 at rank 7.
    """
    ranks = np.ceil(np.asarray(p, float) * len(ordered) - _ROUNDING).astype(np.int64)
    return ordered[np.clip(ranks, 1, len(ordered)) - 1]


def percentile_bounds(
    ordered: Floats, p: float, n_eff: float | None = None, level: float = LEVEL
) -> Bounds:
    """Return a percentile and the two observed values that bound it.

    Parameters
    ----------
    ordered
        Shape (n,), ascending, n ≥ 1; lost requests at +infinity.
    p
        Percentile as a share in (0, 1).
    n_eff
        Effective requests; None takes the requests as independent.
    """
    n = len(ordered)
    low, high = order_statistic_ranks(n if n_eff is None else n_eff, n, p, level)
    return Bounds(
        float(nearest_rank(ordered, p)),
        None if low is None else float(ordered[low - 1]),
        None if high is None else float(ordered[high - 1]),
    )


def percentiles_of(values: ArrayLike, shares: ArrayLike) -> Floats:
    """Return nearest-rank percentiles of an unsorted list without sorting all of it.

    Parameters
    ----------
    values
        Shape (n,); lost requests at +infinity, no NaN. With n = 0 every percentile is NaN.
    shares
        Shape (k,), each in (0, 1].
    """
    found, wanted = np.asarray(values, float), np.asarray(shares, float)
    n = len(found)
    if n == 0:
        return np.full(len(wanted), np.nan)
    places = np.clip(np.ceil(wanted * n - _ROUNDING).astype(np.int64), 1, n) - 1
    return np.partition(found, np.unique(places))[places]
