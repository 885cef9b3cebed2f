"""How much the difference of two paired runs varies among the stretches of those very runs.

It describes the two runs and claims nothing of others: a bootstrap within one run does not hold its
level for what another pair of runs would show, which is why a claim takes replicates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headway.stats.intervals import LEVEL

Floats = NDArray[np.float64]

MIN_PAIRS = 100
N_RESAMPLES = 400
# A tenth of the run is a block, which may begin at any of its tenths.
_PARTS_OF_BLOCK = 10
_N_PARTS = 10 * _PARTS_OF_BLOCK
_MOST_STEPS = 2000
_SEED = 20261129


@dataclass(frozen=True, slots=True)
class Within:
    """Bounds of (b − a) ÷ a of one percentile; None where a redrawn run does not reach it."""

    low: float | None
    high: float | None


def within_run(
    a: ArrayLike, b: ArrayLike, shares: Sequence[float], level: float = LEVEL
) -> tuple[Within, ...]:
    """Return, for each percentile, how its relative change varies when blocks are drawn again.

    Parameters
    ----------
    a, b
        Shape (n,): one metric of each request on both sides, in order of arrival; lost requests
        at +infinity.
    shares
        Percentiles, 0 to 1.
    level
        Share of the redrawn runs between the bounds.

    Returns
    -------
    tuple of Within
        One for each share; empty with fewer than `MIN_PAIRS` pairs. A bound that falls among
        redrawn runs in which a side does not reach the percentile is None.

    Notes
    -----
    Moving-block bootstrap (Künsch 1989) with blocks of n / 10 consecutive requests, the same blocks
    on both sides so that pairs stay pairs; block starts lie on a grid of n / 100. Sorted values are
    grouped into at most 2,000 steps, so that a redrawn run costs the same however long it is.
    The draws are seeded: the same runs give the same bounds.
    """
    first, second = np.asarray(a, float), np.asarray(b, float)
    if len(first) < MIN_PAIRS:
        return ()
    weights = _draws()
    of_a, of_b = (_percentiles(each, shares, weights) for each in (first, second))
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = of_b / of_a - 1
    tail = (1 - level) / 2
    return tuple(_within(relative[:, place], tail) for place in range(len(shares)))


def _within(relative: Floats, tail: float) -> Within:
    # Lost in A is a gain without a number, lost in B a loss without one, on neither side both.
    known = np.sort(np.where(np.isnan(relative), np.inf, relative))
    low = known[int(tail * len(known))]
    high = known[int(np.ceil((1 - tail) * len(known))) - 1]
    unknown = bool((relative == -1).any() or np.isnan(relative).any())
    return Within(
        low=None if unknown or not np.isfinite(low) else float(low),
        high=None if not np.isfinite(high) else float(high),
    )


def _draws() -> Floats:
    """Return how often each part of the run is in each redrawn run, shape (resamples, parts)."""
    generator = np.random.default_rng(_SEED)
    n_starts = _N_PARTS - _PARTS_OF_BLOCK + 1
    starts = generator.integers(0, n_starts, (N_RESAMPLES, _N_PARTS // _PARTS_OF_BLOCK))
    weights = np.zeros((N_RESAMPLES, _N_PARTS))
    rows = np.arange(N_RESAMPLES)[:, None]
    for part in range(_PARTS_OF_BLOCK):
        np.add.at(weights, (np.broadcast_to(rows, starts.shape), starts + part), 1)
    return weights


def _percentiles(values: Floats, shares: Sequence[float], weights: Floats) -> Floats:
    """Return the nearest-rank percentiles of every redrawn run, shape (resamples, shares)."""
    n = len(values)
    part_of = np.arange(n) * _N_PARTS // n
    order = np.argsort(values, kind="stable")
    n_steps = min(n, _MOST_STEPS)
    step_of = np.arange(n) * n_steps // n
    cells = np.bincount(step_of * _N_PARTS + part_of[order], minlength=n_steps * _N_PARTS)
    counts = cells.reshape(n_steps, _N_PARTS)
    last = np.append(np.flatnonzero(np.diff(step_of)), n - 1)
    highest = values[order][last]
    cumulated = np.cumsum(counts @ weights.T, axis=0)
    totals = cumulated[-1]
    found = np.empty((weights.shape[0], len(shares)))
    for place, share in enumerate(shares):
        rank = np.maximum(np.ceil(share * totals), 1)
        found[:, place] = highest[(cumulated >= rank).argmax(axis=0)]
    return found
