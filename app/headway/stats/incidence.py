"""Which share has a first token by time t, when some requests were still in flight at the cut?

Where every request's fate is known, the share delivered by t of all offered is a count and needs no
estimator. These are for runs that were cut off.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Fate(IntEnum):
    """What ended the wait of a request."""

    IN_FLIGHT = 0
    DELIVERED = 1
    LOST = 2


@dataclass(frozen=True, slots=True)
class Incidence:
    """A step curve: at each time, the share of the offered requests delivered by then."""

    times: Floats
    shares: Floats

    def percentile(self, p: float) -> float | None:
        """Return the first time at which the share p is delivered; None if it never is."""
        reached = np.flatnonzero(self.shares >= p - 1e-12)
        return float(self.times[reached[0]]) if len(reached) else None


def aalen_johansen(waits: ArrayLike, fates: ArrayLike) -> Incidence:
    """Return the share delivered by each time, losses being final and requests in flight unknown.

    Parameters
    ----------
    waits
        Shape (n,), time from arrival to the first token, to the loss, or to the cut.
    fates
        Shape (n,), values of `Fate`.

    Returns
    -------
    Incidence
        One step for each distinct time.

    Notes
    -----
    Aalen and Johansen (1978): the sum over times u ≤ t of S(u−) · d(u) / Y(u), where Y counts those
    still waiting before u, d those delivered at u, and S is the product of 1 − decided / Y over the
    times before, decided being delivered or lost.
    Of equal times, a request in flight is taken to have waited longer. If none was in flight, the
    result is the plain share of the offered requests.
    """
    wait, fate = np.asarray(waits, float), np.asarray(fates)
    times, where = np.unique(wait, return_inverse=True)
    waiting = len(wait) - np.concatenate([[0], np.cumsum(np.bincount(where))[:-1]])
    delivered = np.bincount(where, weights=fate == Fate.DELIVERED)
    decided = np.bincount(where, weights=fate != Fate.IN_FLIGHT)
    survival = np.cumprod(1 - decided / waiting)
    before = np.concatenate([[1.0], survival[:-1]])
    return Incidence(times, np.cumsum(before * delivered / waiting))


def kaplan_meier(waits: ArrayLike, fates: ArrayLike) -> Incidence:
    """Return the share that would be delivered by each time if nobody had given up.

    Right only if leaving has nothing to do with the wait that remained. It is never right for
    rejections and failures, and cancellations out of impatience bias it; so it is an alternate
    with a warning, never a default.

    Notes
    -----
    Kaplan and Meier (1958), losses and requests in flight both taken as censored.
    """
    wait, delivered = np.asarray(waits, float), np.asarray(fates) == Fate.DELIVERED
    sample = scipy.stats.CensoredData(uncensored=wait[delivered], right=wait[~delivered])
    curve = scipy.stats.ecdf(sample).cdf
    return Incidence(np.asarray(curve.quantiles, float), np.asarray(curve.probabilities, float))
