"""Exact intervals for a share and for a percentile, and how many requests each of them needs.

All of them accept a real number of requests, so that the effective sample size of correlated
requests (`headway.stats.effective`) can stand where independent requests would.
"""

from enum import StrEnum

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95
EARLY_STOPPING_LEVEL = 0.99
_ROUNDING = 1e-9


class Side(StrEnum):
    """Which ends of an interval carry the error probability."""

    BOTH = "both"
    LOWER = "lower"
    UPPER = "upper"


def clopper_pearson(
    k: ArrayLike, n: ArrayLike, level: float = LEVEL, side: Side = Side.BOTH
) -> tuple[Floats, Floats]:
    """Return the exact interval for a share of which k out of n trials are known.

    Parameters
    ----------
    k, n
        Successes and trials, 0 ≤ k ≤ n; real numbers are allowed, of any shapes that broadcast.
        Without any trial the interval is [0, 1].
    level
        Confidence of the whole interval.
    side
        Whether the error probability is split over both ends or lies at one; the other end is then
        0 or 1.

    Returns
    -------
    low, high
        Shares, in the broadcast shape.

    Notes
    -----
    Clopper and Pearson (1934) in its beta form: low = B(α; k, n − k + 1) and
    high = B(1 − α; k + 1, n − k), where B is the quantile of the beta distribution. It is the
    inversion of the binomial test, and so the rule MLPerf LoadGen calls early stopping: "passes
    at level c" and "lower bound at level c reaches the target" are one statement.
    """
    successes, trials = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    alpha = (1 - level) / 2 if side is Side.BOTH else 1 - level
    failures = np.maximum(trials - successes, 0.0)
    low = np.zeros(successes.shape)
    high = np.ones(successes.shape)
    if side is not Side.UPPER:
        some = successes > 0
        low[some] = scipy.special.betaincinv(successes[some], failures[some] + 1, alpha)
    if side is not Side.LOWER:
        some = failures > 0
        high[some] = scipy.special.betainccinv(successes[some] + 1, failures[some], alpha)
    return low, high


def wilson(k: ArrayLike, n: ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return Wilson's score interval for a share: for a drawn band, never for a verdict.

    Notes
    -----
    Wilson (1927). Near a share of 0.99 it covers about 0.91 where 0.95 is promised, which is why
    verdicts use `clopper_pearson`. At least one trial is expected.
    """
    trials = np.asarray(n, float)
    share = np.asarray(k, float) / trials
    z = -scipy.special.ndtri((1 - level) / 2)
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    spread = np.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    half = z * spread / (1 + z**2 / trials)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def order_statistic_ranks(
    n_eff: float, n: int, p: float, level: float = LEVEL
) -> tuple[int | None, int | None]:
    """Return the ranks of the two values that bound a percentile.

    Parameters
    ----------
    n_eff
        Effective requests, at most `n`; equal to `n` where requests are independent.
    n
        Requests in the sorted list the ranks count in.
    p
        Percentile as a share in (0, 1).
    level
        Confidence of the two-sided interval.

    Returns
    -------
    low, high
        1-based ranks; None where no value of the list bounds the percentile on that side.

    Notes
    -----
    The number of m independent values below the percentile is binomial(m, p), so the values with
    ranks F⁻¹(α/2) and F⁻¹(1 − α/2) + 1 enclose it (David and Nagaraja, Order Statistics, 7.1). Here
    F is the binomial distribution continued to real numbers by the incomplete beta function, m is
    n_eff, and rank r of m is rank r · n / m of n. With n_eff = n these are the integer ranks. An
    upper end needs 1 − p^m ≥ 1 − α/2, whatever n is.
    """
    alpha = (1 - level) / 2
    scale = n / n_eff
    low = int(np.ceil(_count_below(alpha, n_eff, p) * scale - _ROUNDING))
    high = int(np.ceil((_count_below(1 - alpha, n_eff, p) + 1) * scale - _ROUNDING))
    return low if low >= 1 else None, high if high <= n else None


def _count_below(probability: float, n_eff: float, p: float) -> float:
    """Return the real count at which the continued binomial distribution reaches a probability."""
    if (1 - p) ** n_eff >= probability:  # already reached by "none at all"
        return 0.0
    return float(scipy.special.bdtrik(probability, n_eff, p))


def smallest_n(p: ArrayLike, level: float = LEVEL, side: Side = Side.UPPER) -> NDArray[np.int64]:
    """Return the fewest effective requests with which a percentile, or a share, can be bounded.

    Parameters
    ----------
    p
        Percentile as a share, or the target share of an objective; any shape.
    level
        Confidence of the interval.
    side
        UPPER: an upper bound of the percentile exists; it is also the least n at which an objective
        with this target can be accepted, when all n requests meet it. LOWER: a lower bound exists.
        BOTH: both ends of the two-sided interval do.

    Notes
    -----
    The largest of n values lies above the percentile with probability 1 − p^n, the smallest lies
    below it with probability 1 − (1 − p)^n.
    """
    share = np.asarray(p, float)
    alpha = (1 - level) / 2 if side is Side.BOTH else 1 - level
    upper = np.log(alpha) / np.log(share)
    lower = np.log(alpha) / np.log1p(-share)
    needed = {Side.UPPER: upper, Side.LOWER: lower, Side.BOTH: np.maximum(upper, lower)}[side]
    return _whole(needed)


def required_trials(n_failures: ArrayLike, target: ArrayLike, level: float = LEVEL) -> Floats:
    """Return the real number of trials at which the lower bound of the share reaches a target.

    Parameters
    ----------
    n_failures
        Trials that failed, real numbers allowed; any shape that broadcasts with `target`.
    target
        Share to be shown, in (0, 1).
    level
        One-sided confidence.

    Notes
    -----
    The n with binom.cdf(n_failures; n, 1 − target) = 1 − level.
    """
    failures = np.asarray(n_failures, float)
    share = np.asarray(target, float)
    return np.asarray(scipy.special.bdtrin(failures, 1 - level, 1 - share), float)


def required_n(n_failures: ArrayLike, target: ArrayLike, level: float = LEVEL) -> NDArray[np.int64]:
    """Return the fewest requests with which a target share can be accepted despite failures.

    Notes
    -----
    At level 0.99 this is the table of MLPerf LoadGen's early stopping criterion
    (mlcommons/inference, loadgen/early_stopping.cc, with tolerance 0).
    """
    return _whole(required_trials(n_failures, target, level))


def allowed_failures(n: ArrayLike, target: ArrayLike, level: float = LEVEL) -> NDArray[np.int64]:
    """Return the most failures among n requests with which a target is accepted; −1 if not even 0.

    Notes
    -----
    The largest t with binom.cdf(t; n, 1 − target) ≤ 1 − level.
    """
    trials = np.asarray(n)
    miss = 1 - np.asarray(target, float)
    first_too_many = scipy.stats.binom.ppf(1 - level, trials, miss)
    exact = scipy.stats.binom.cdf(first_too_many, trials, miss) <= 1 - level
    return np.where(exact, first_too_many, first_too_many - 1).astype(np.int64)


def planned_n(
    p: ArrayLike, margin: ArrayLike, level: float = EARLY_STOPPING_LEVEL
) -> NDArray[np.int64]:
    """Return how many independent requests estimate a share p to within a margin.

    Notes
    -----
    n = z² p (1 − p) / margin², the planning formula of the MLPerf inference rules, whose margin is
    a twentieth of 1 − p.
    """
    share = np.asarray(p, float)
    z = -scipy.special.ndtri((1 - level) / 2)
    needed = z**2 * share * (1 - share) / np.asarray(margin, float) ** 2
    return np.asarray(np.rint(needed), dtype=np.int64)


def _whole(real: ArrayLike) -> NDArray[np.int64]:
    """Return the next integer, forgiving the rounding of the last digits."""
    return np.asarray(np.ceil(np.asarray(real, float) - _ROUNDING), dtype=np.int64)
