"""How long would a fresh run have to be so that it probably decides the claim about traffic?"""

import math
from functools import cache, lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from headway.stats.effective import N_BLOCKS, Effective, few_blocks
from headway.stats.intervals import LEVEL
from headway.stats.reach import ACCEPT_LEVEL

Floats = NDArray[np.float64]

SETTLES = 0.9
MOST_TIMES = 20
_FEWEST = 10
_N_DRAWS = 20_000
_N_POINTS = 32
_UNLIKELY = 0.8
_SEED = 20_261_201


@lru_cache(maxsize=4096)
def run_length(
    share: float, size: Effective, target: float, *, n_limits: int = 1, spell: float = 0.0
) -> int | None:
    """Return how many requests decide in 9 of 10 fresh runs if the share is the one seen.

    Parameters
    ----------
    share
        Share of requests that met in the run at hand, taken for the true one.
    size
        Its effective requests; its clustering is taken to stay.
    target
        Share of offered requests that must meet the objective, in (0, 1).
    n_limits
        Metrics with a limit. Each is one more place where a run can look clustered by chance.
    spell
        Requests that the longest spell may hold, where one is declared.

    Returns
    -------
    int or None
        None where that takes more than 20 times the run: the share is too close to the target.

    Notes
    -----
    The fresh run is judged once, with a design effect of its own. Ten block means of independent
    requests show one above 1 by chance, so the chance to decide is an average over those. A design
    effect that four of five runs of independent requests stay below is not taken for clustering.
    """
    by_ten, by_both = _chance_effects(n_limits)
    beyond_chance = max(size.deff, size.long_deff) - float(np.quantile(by_both, _UNLIKELY))
    clustering = 1 + max(0.0, beyond_chance) / float(np.median(by_both))
    fresh = _Fresh(share, target, clustering, by_ten, by_both, spell)
    return _shortest(fresh, MOST_TIMES * size.n)


def _shortest(fresh: "_Fresh", longest: int) -> int | None:
    """Return the shortest run that decides often enough, to half a per cent."""
    if fresh.decides(longest) < SETTLES:
        return None
    low, high = _FEWEST, longest
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        if fresh.decides(middle) >= SETTLES:
            high = middle
        else:
            low = middle
    return high


class _Fresh:
    """A run to come: the share it has, how requests cluster, and what it will be judged on."""

    def __init__(
        self,
        share: float,
        target: float,
        clustering: float,
        by_ten: Floats,
        by_both: Floats,
        spell: float,
    ) -> None:
        self.miss, self.target, self.clustering = 1 - share, target, clustering
        few = few_blocks(1)
        self.to_reject = few * np.maximum(1.0, clustering * by_ten)
        self.to_accept = np.maximum(few * np.maximum(1.0, clustering * by_both), spell)

    def decides(self, n: int) -> float:
        """Return the chance that n requests are accepted or rejected."""
        return float(np.mean(self._accepts(n) + self._rejects(n)))

    def _accepts(self, n: int) -> Floats:
        trials = n / self.to_accept
        allowed = scipy.special.bdtrik(1 - ACCEPT_LEVEL, trials, 1 - self.target) * self.to_accept
        some = self.target**trials <= 1 - ACCEPT_LEVEL
        return np.where(some, self._at_most(n, np.where(some, allowed, 0.0)), 0.0)

    def _rejects(self, n: int) -> Floats:
        trials = n / self.to_reject
        fewest = (1 + scipy.special.bdtrik(LEVEL, trials, 1 - self.target)) * self.to_reject
        possible = fewest < n
        below = self._at_most(n, np.where(possible, np.ceil(fewest) - 1, n))
        return np.where(possible, 1 - below, 0.0)

    def _at_most(self, n: int, n_missed: Floats) -> Floats:
        """Return the chance of so many misses at most, where they come in clusters."""
        if self.miss <= 0:
            return np.ones_like(n_missed)
        clusters = np.floor(n_missed) / self.clustering
        trials = max(n / self.clustering, 1.0)
        left = np.maximum(trials - clusters, np.finfo(float).tiny)
        return np.asarray(scipy.special.betainc(left, clusters + 1, 1 - self.miss), float)


@cache
def _chance_effects(n_limits: int) -> tuple[Floats, Floats]:
    """Return design effects that independent requests show, on ten blocks and on both lengths.

    One series is for "met the objective" and one for each limit's ranks.
    """
    rng = np.random.default_rng(_SEED)
    means = rng.standard_normal((_N_DRAWS, 1 + n_limits, N_BLOCKS))
    ten = means.var(axis=2, ddof=1)
    pairs = means.reshape(_N_DRAWS, 1 + n_limits, N_BLOCKS // 2, 2).mean(axis=3)
    five = pairs.var(axis=2, ddof=1) * 2
    by_ten = ten.max(axis=1)
    points = (np.arange(_N_POINTS) + 0.5) / _N_POINTS
    by_both = np.maximum(by_ten, five.max(axis=1))
    return np.quantile(by_ten, points), np.quantile(by_both, points)


def duration_s(n_requests: int, load_rps: float | None) -> float | None:
    """Return how long so many requests take at a load; None where the load is unknown."""
    if load_rps is None or not load_rps > 0 or not math.isfinite(load_rps):
        return None
    return n_requests / load_rps
