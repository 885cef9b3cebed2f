"""How much trouble in common could an acceptance bear that the run did not show?

Requests that fail together, in an outage or behind a slow pod, tell less than independent ones. A
run cannot show an outage that it did not meet, so the claim about traffic rests on a premise: such
spells are short and come independently. The reach states the premise as a number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from headway.stats.effective import N_BLOCKS, blocks

# Accepting traffic asks for more than rejecting it: a run shows too little of its own correlation
# when it happens to be calm, and a calm run is just the one that would be accepted. At 95% one such
# run in ten was accepted at the boundary of a 90% target; docs/error-rates.md has the rates.
ACCEPT_LEVEL = 0.975
_US_PER_S = 1_000_000
_SMALLEST_LOG = -30.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the arrivals of a run lasted, and the load of its slowest and busiest tenth.

    The tenths hold equally many requests. A load is None where all requests of a tenth arrived at
    one instant.
    """

    duration_s: float
    slowest_rps: float | None
    busiest_rps: float | None

    def spell_requests(self, spell_s: float) -> float:
        """Return how many requests a spell of this length can hold at the busiest load."""
        if self.busiest_rps is None:
            return math.inf
        return 1 + spell_s * self.busiest_rps

    def spell_seconds(self, n_requests: float) -> float | None:
        """Return how long a spell of so many requests lasts at the busiest load."""
        return None if self.busiest_rps is None else max(0.0, n_requests - 1) / self.busiest_rps


@dataclass(frozen=True, slots=True)
class Reach:
    """Up to which design effect a run could be accepted, and up to which it has to be.

    All are design effects: how many requests fail together. `requests` is the largest at which the
    run's share still reaches the target. `correlation` is what the run itself shows, `spell` what
    the study demands; 0 where it demands nothing. `seconds` is how long `requests` of them take at
    the load of the busiest tenth; None where that load is unknown.
    """

    requests: float
    correlation: float
    spell: float = 0.0
    seconds: float | None = None

    @property
    def needed(self) -> float:
        """The design effect that an acceptance has to bear."""
        return max(self.correlation, self.spell)


def reach(n: float, n_missed: float, target: float, level: float = ACCEPT_LEVEL) -> float:
    """Return the largest design effect at which a run still reaches a target.

    Parameters
    ----------
    n, n_missed
        Requests offered and those that missed, open ones among them; real numbers are allowed.
    target
        Share of offered requests that must meet the objective, in (0, 1).
    level
        One-sided confidence of the bound.

    Returns
    -------
    float
        The largest D at which the exact lower bound of n/D trials with n_missed/D failures reaches
        the target. 0 where the share itself does not exceed the target. Below 1 not even
        independent requests would be enough.

    Notes
    -----
    The bound of Clopper and Pearson in its beta form falls as D grows, so that one D divides what
    is enough from what is not. Without a miss, D = n · ln(target) / ln(1 − level).
    """
    if n <= 0 or n - n_missed <= target * n:
        return 0.0
    most = n * math.log(target) / math.log(1 - level)
    if n_missed <= 0:
        return most

    def excess(log_d: float) -> float:
        d = math.exp(log_d)
        return float(scipy.special.betainc((n - n_missed) / d, n_missed / d + 1, target)) - (
            1 - level
        )

    highest = math.log(most)
    if excess(_SMALLEST_LOG) > 0:
        return 0.0
    return math.exp(float(scipy.optimize.brentq(excess, _SMALLEST_LOG, highest)))


def bears(
    n: ArrayLike, n_missed: ArrayLike, target: float, design_effect: ArrayLike
) -> NDArray[np.bool_]:
    """Tell whether runs reach at least a design effect; arrays that broadcast."""
    trials = np.asarray(n, float) / np.asarray(design_effect, float)
    failures = np.asarray(n_missed, float) / np.asarray(design_effect, float)
    met = np.maximum(trials - failures, np.finfo(float).tiny)
    bound = scipy.special.betainc(met, failures + 1, target) <= 1 - ACCEPT_LEVEL
    return np.asarray(bound & (trials > failures))


def pace(arrival_us: ArrayLike) -> Pace | None:
    """Return the pace of arrivals; None with fewer than ten of them.

    Parameters
    ----------
    arrival_us
        Shape (n,), in order, microseconds.
    """
    arrivals = np.asarray(arrival_us, float)
    if len(arrivals) < N_BLOCKS:
        return None
    sizes = blocks(len(arrivals))
    starts = np.cumsum(sizes) - sizes
    # A tenth lasts until the next one begins. The last has no next: it has one gap less.
    lasted_us = np.diff(np.append(arrivals[starts], arrivals[-1]))
    gaps = sizes - (np.arange(N_BLOCKS) == N_BLOCKS - 1)
    known = gaps > 0
    is_instant = bool(np.any(lasted_us[known] <= 0))
    with np.errstate(divide="ignore"):
        loads = gaps[known] / (lasted_us[known] / _US_PER_S)
    slowest = float(loads.min())
    return Pace(
        duration_s=float(arrivals[-1] - arrivals[0]) / _US_PER_S,
        slowest_rps=slowest if math.isfinite(slowest) else None,
        busiest_rps=None if is_instant else float(loads.max()),
    )


def busiest(found: Sequence[Pace | None]) -> Pace | None:
    """Return the pace of a set: that of its run with the busiest tenth; None if one is unknown."""
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return max(
        known,
        key=lambda each: float("inf") if each.busiest_rps is None else each.busiest_rps,
        default=None,
    )
