"""Does a longer run of the same load give the same answer, or does the queue grow?"""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import scipy
from numpy.typing import ArrayLike

from headway.stats.effective import N_BLOCKS, Floats, blocks
from headway.stats.percentiles import nearest_rank, with_lost_last

MIN_PER_BLOCK = 30
SIGNIFICANCE = 0.01
MAX_RISE = 0.5


class Steadiness(StrEnum):
    """Whether latencies drift upwards over a run."""

    STEADY = "steady"
    NOT_STEADY = "not_steady"
    UNKNOWN = "unknown"


def steadiness(ttft: ArrayLike | None) -> Steadiness:
    """Tell whether the time to first token rises over a run.

    Parameters
    ----------
    ttft
        Shape (n,), in order of arrival, any unit; requests without a first token are +infinity or
        NaN. None: arrivals are not known.

    Returns
    -------
    Steadiness
        NOT_STEADY if the medians of 10 consecutive blocks rise, by Kendall's test at 1% one-sided,
        and by more than half of their median from the first block to the last (Theil and Sen's
        slope). UNKNOWN without times, with fewer than 30 requests a block, and where no block has
        a median because most of its requests never got a token.

    Notes
    -----
    Kendall (1938), Sen (1968). A test on single requests would call most steady runs unsteady,
    because requests that queue together rise and fall together; the second condition keeps long
    runs from being flagged for a drift that does not matter. STEADY is no proof: a load just above
    capacity is missed about half the time.
    """
    if ttft is None:
        return Steadiness.UNKNOWN
    values = with_lost_last(ttft)
    if len(values) < N_BLOCKS * MIN_PER_BLOCK:
        return Steadiness.UNKNOWN
    edges = np.cumsum(blocks(len(values)))[:-1]
    medians = np.array([nearest_rank(np.sort(block), 0.5) for block in np.split(values, edges)])
    if np.all(np.isinf(medians)):
        return Steadiness.UNKNOWN
    return Steadiness.NOT_STEADY if _rises(medians) else Steadiness.STEADY


def worst(found: Sequence[Steadiness]) -> Steadiness:
    """Return what may be said of several runs together: one that is not steady spoils all."""
    for state in (Steadiness.NOT_STEADY, Steadiness.UNKNOWN):
        if state in found:
            return state
    return Steadiness.STEADY


def _rises(medians: Floats) -> bool:
    if np.all(medians == medians[0]):
        return False
    position = np.arange(len(medians))
    test = scipy.stats.kendalltau(position, medians, alternative="greater")
    if not test.pvalue < SIGNIFICANCE:
        return False
    if np.any(np.isinf(medians)):  # a rising series that ends with nothing delivered
        return True
    slope = scipy.stats.theilslopes(medians, position).slope
    return bool(slope * (len(medians) - 1) > MAX_RISE * np.median(medians))
