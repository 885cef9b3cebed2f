"""Do two policies differ by more than their runs differ among themselves?"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from headway.stats.intervals import LEVEL

MIN_RUNS = 3
BAND = 0.05
SHARE_BAND = 0.01


class Difference(StrEnum):
    """What replicated runs say about B against A, for a quantity where less is better."""

    BETTER = "better"
    WORSE = "worse"
    NO_MEANINGFUL_DIFFERENCE = "no_meaningful_difference"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Ratio:
    """B over A, with a 95% interval and the p-value of "no difference"."""

    ratio: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """B minus A, with a 95% interval and the p-value of "no difference"."""

    difference: float
    low: float
    high: float
    p: float


def welch_ratio(a: ArrayLike, b: ArrayLike, level: float = LEVEL) -> Ratio | None:
    """Compare a positive quantity of replicated runs, such as a percentile, by its logarithm.

    Parameters
    ----------
    a, b
        Shapes (k,) and (m,): one value for each run.

    Returns
    -------
    Ratio or None
        None with fewer than three runs on a side, or where a value is not finite and positive: a
        percentile that was not reached in one run has no logarithm. Compare shares then. Runs that
        agree exactly on both sides give an interval without width, and p of 0 or 1.

    Notes
    -----
    Welch (1947) on logarithms, so that the interval is one of ratios.
    """
    logs = [np.log(x) for x in (np.asarray(a, float), np.asarray(b, float)) if _has_logs(x)]
    if len(logs) < 2:
        return None
    first, second = logs
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        difference = float(second.mean() - first.mean())
        ratio = float(np.exp(difference))
        return Ratio(ratio, ratio, ratio, float(difference == 0))
    found = _welch(first, second, level)
    ratio, low, high = (float(np.exp(x)) for x in (found.difference, found.low, found.high))
    return Ratio(ratio, low, high, found.p)


def _welch(
    a: NDArray[np.float64], b: NDArray[np.float64], level: float, least_sd: float = 0.0
) -> MeanDifference:
    """Return b minus a; the spread within a side counts as `least_sd` at least."""
    of_means = [max(float(x.var(ddof=1)), least_sd**2) / len(x) for x in (a, b)]
    variance = sum(of_means)
    df = variance**2 / sum(v**2 / (len(x) - 1) for v, x in zip(of_means, (a, b), strict=True))
    difference, error = float(b.mean() - a.mean()), float(np.sqrt(variance))
    half = float(scipy.special.stdtrit(df, (1 + level) / 2)) * error
    p = 2 * float(scipy.special.stdtr(df, -abs(difference) / error))
    return MeanDifference(difference, difference - half, difference + half, p)


def _has_logs(values: NDArray[np.float64]) -> bool:
    return len(values) >= MIN_RUNS and bool(np.all(np.isfinite(values) & (values > 0)))


def judge_difference(found: Ratio | None, band: float = BAND) -> Difference:
    """Judge a ratio by a practical band that was declared before.

    Inside the band: no meaningful difference; wholly outside: better or worse; else undecided.
    The band is [1 − band, 1 + band].
    """
    if found is None:
        return Difference.UNDECIDED
    if found.high < 1 - band:
        return Difference.BETTER
    if found.low > 1 + band:
        return Difference.WORSE
    if found.low >= 1 - band and found.high <= 1 + band:
        return Difference.NO_MEANINGFUL_DIFFERENCE
    return Difference.UNDECIDED


def share_difference(
    a: ArrayLike, b: ArrayLike, n_requests: int, level: float = LEVEL
) -> MeanDifference | None:
    """Compare the shares of requests that met the objective in replicated runs.

    Parameters
    ----------
    a, b
        Shapes (k,) and (m,): one share for each run.
    n_requests
        Requests of a run. The spread within a side counts as one request at least: runs that agree
        exactly still could have differed by one.

    Returns
    -------
    MeanDifference or None
        None with fewer than three runs on a side.

    Notes
    -----
    Welch (1947) on the shares themselves.
    """
    shares = [np.asarray(x, float) for x in (a, b)]
    if min(len(x) for x in shares) < MIN_RUNS or n_requests < 1:
        return None
    return _welch(shares[0], shares[1], level, least_sd=1 / n_requests)


def judge_share(found: MeanDifference | None, band: float = SHARE_BAND) -> Difference:
    """Judge a difference of shares, more is better, by a band of one percentage point."""
    if found is None:
        return Difference.UNDECIDED
    if found.low > band:
        return Difference.BETTER
    if found.high < -band:
        return Difference.WORSE
    if found.low >= -band and found.high <= band:
        return Difference.NO_MEANINGFUL_DIFFERENCE
    return Difference.UNDECIDED


def false_discovery(p: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted for how many there are.

    Notes
    -----
    Benjamini and Hochberg (1995).
    """
    return tuple(float(q) for q in scipy.stats.false_discovery_control(p)) if p else ()
