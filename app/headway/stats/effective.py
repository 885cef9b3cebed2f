"""How many independent requests the correlated requests of a run are worth.

Requests that queue together fail together, so that a formula for independent requests takes a burst
of bad luck for a fact, and the absence of one for a proof. The design effect says how much more a
mean over the run varies than independent requests would make it vary, and n_eff = n / design effect
stands in every exact interval where n would.

The parts that depend on latencies only are computed once for each run, window and metric
(`latency_parts`). A changed limit changes one part alone: the ratio for "met the objective", which
needs nothing but the ten counts of `effective_from_blocks`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
import scipy
from numpy.typing import ArrayLike, NDArray

from headway.stats.percentiles import with_lost_last

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

N_BLOCKS = 10
# Correlation that outlasts a block hides between the blocks; blocks twice as long show more of it.
N_LONG_BLOCKS = 5
_TAIL = 20  # the slowest one in twenty


@dataclass(frozen=True, slots=True)
class LatencyParts:
    """What one metric says about the correlation within a run, whatever the limits are.

    `ranks` is the block ratio of the metric's ranks, `in_flight` the weighted block ratio of the
    requests in flight, and `weight` how far the slowest requests coincide with a full system.
    `long_ranks` and `long_in_flight` are the first two on five blocks twice as long.
    """

    ranks: float
    in_flight: float
    weight: float
    long_ranks: float = 1.0
    long_in_flight: float = 1.0


@dataclass(frozen=True, slots=True)
class Effective:
    """Effective sample size of a run, or of several runs together.

    `n` counts offered requests, `deff` ≥ 1 is the design effect, and `n_eff` ≤ n already allows for
    the few blocks that the design effect was estimated from. `long_deff` is the design effect on
    blocks twice as long; an acceptance has to stand on both.
    """

    n: int
    deff: float
    n_eff: float
    long_deff: float = 1.0

    @property
    def n_accept(self) -> float:
        """Effective requests that an acceptance may count on: the fewer of both block lengths."""
        return self.n_eff * min(1.0, self.deff / self.long_deff)


def blocks(n: int, n_blocks: int = N_BLOCKS) -> Integers:
    """Return the sizes of consecutive blocks of n requests; the first ones take the remainder."""
    return np.full(n_blocks, n // n_blocks) + (np.arange(n_blocks) < n % n_blocks)


def block_ratio(z: ArrayLike, n_blocks: int = N_BLOCKS) -> float:
    """Return how much more the mean of z varies than it would with independent requests.

    Parameters
    ----------
    z
        Shape (n,), in order of arrival; numbers or truth values.
    n_blocks
        Consecutive blocks to cut it into.

    Returns
    -------
    float
        (variance of the block means / n_blocks) / (variance of z / n), both with n − 1 below the
        line.
        1 where z is constant or shorter than the number of blocks: nothing can be seen then.

    Notes
    -----
    The method of batch means (Law, Simulation Modeling and Analysis, 9.5.3) as a design effect
    (Kish, Survey Sampling, 8.2).
    """
    values = np.asarray(z, float)
    if len(values) < N_BLOCKS or np.all(values == values[0]):
        return 1.0
    sizes = blocks(len(values), n_blocks)
    starts = np.cumsum(sizes) - sizes
    means = np.add.reduceat(values, starts) / sizes
    return float(means.var(ddof=1) / n_blocks / (values.var(ddof=1) / len(values)))


def block_ratio_of_counts(n_true: ArrayLike, n_by_block: ArrayLike) -> float:
    """Return `block_ratio` of a truth value from its counts in the blocks.

    Parameters
    ----------
    n_true, n_by_block
        Shape (b,): requests of each block for which it holds, and all of them.
    """
    counts, sizes = np.asarray(n_true, float), np.asarray(n_by_block, float)
    n, k = sizes.sum(), counts.sum()
    if np.any(sizes == 0) or k in (0, n):
        return 1.0
    variance = k * (n - k) / (n * (n - 1))
    return float((counts / sizes).var(ddof=1) / len(sizes) / (variance / n))


def in_flight(arrival: ArrayLike, end: ArrayLike) -> Integers:
    """Return, for every arrival, how many earlier requests had not ended.

    Parameters
    ----------
    arrival
        Shape (n,), ascending: scheduled times (sends where the schedule is unknown).
    end
        Shape (n,), the same clock: when each request ended. `ends` fills what is not recorded.

    Returns
    -------
    ndarray
        Shape (n,). A request does not count itself, and one that ended as it arrived (it was never
        sent, or refused at once) was never in flight. Of simultaneous arrivals the earlier in the
        list are in flight for the later.

    Notes
    -----
    For a window, compute this over the whole run and then take the window's requests: what was
    under way before the window began is in flight inside it.
    """
    arrivals, ended = np.asarray(arrival), np.asarray(end)
    took_time = ended > arrivals
    earlier: Integers = np.cumsum(took_time, dtype=np.int64) - took_time
    return earlier - np.searchsorted(np.sort(ended[took_time]), arrivals, side="right")


def ends(arrival: ArrayLike, ended: ArrayLike, last_known: ArrayLike, is_open: ArrayLike) -> Floats:
    """Return the end of every request as `in_flight` needs it.

    Parameters
    ----------
    arrival
        Shape (n,), when each request arrived.
    ended
        Shape (n,), when it ended, completed or not; NaN where that is not recorded.
    last_known
        Shape (n,), the last sign of it (its completion or first token); NaN where there is none.
    is_open
        Shape (n,), whether it was sent and still open when the run ended, or nothing is known of
        it. A request that was never sent is not open.

    Returns
    -------
    ndarray
        The recorded end; else +infinity for an open request, which was in flight until the run
        ended; else the last sign of it; else its arrival: a request that was never sent, or was
        lost without a trace, was never in flight. Never before the arrival.
    """
    arrivals = np.asarray(arrival, float)
    otherwise = np.where(np.asarray(is_open, bool), np.inf, np.asarray(last_known, float))
    found = np.where(np.isnan(np.asarray(ended, float)), otherwise, np.asarray(ended, float))
    return np.asarray(np.fmax(found, arrivals), float)


def latency_parts(
    values: ArrayLike, flying: ArrayLike, applicable: ArrayLike | None = None
) -> LatencyParts:
    """Return what one metric says about correlation.

    Parameters
    ----------
    values
        Shape (n,), one metric in order of arrival; lost requests are +infinity or NaN.
    flying
        Shape (n,), requests in flight at each arrival, of `in_flight`.
    applicable
        Shape (n,), false for answers of one token, which have no cadence: they leave the ranks and
        the tail, and stay in the requests in flight. None: the metric applies to all.

    Notes
    -----
    Ranks are mean ranks with lost requests last. The weight is max(0, 2·AUC − 1), where AUC is the
    probability that a request among the slowest ⌈n/20⌉ met more requests in flight than one of the
    rest, a draw counting one half (Mann and Whitney 1947). Of equal values the later arrival is
    the slower. Requests in flight vary with the load even where no request misses, so they show
    correlation that the few failures of a good run cannot; the weight keeps them out where a full
    system does not make requests slow.
    """
    metric, load = with_lost_last(values), np.asarray(flying, float)
    kept = slice(None) if applicable is None else np.asarray(applicable, bool)
    weight = _tail_weight(metric[kept], load[kept])
    ranks = _mean_ranks(metric[kept])
    return LatencyParts(
        ranks=block_ratio(ranks),
        in_flight=1 + weight * (block_ratio(load) - 1),
        weight=weight,
        long_ranks=block_ratio(ranks, N_LONG_BLOCKS),
        long_in_flight=1 + weight * (block_ratio(load, N_LONG_BLOCKS) - 1),
    )


def _mean_ranks(values: Floats) -> Floats:
    """Return ranks from 1; equal values share the mean of theirs.

    By Polars, which is here already: scipy.stats takes a second to import.
    """
    return pl.Series(values).rank("average").to_numpy()


def _tail_weight(metric: Floats, load: Floats) -> float:
    """Return max(0, 2·AUC − 1) of the load met by the slowest requests against the rest."""
    n = len(metric)
    n_slow = -(-n // _TAIL)
    if n_slow == n:  # one request, or none: there is no rest
        return 0.0
    slowest = np.argsort(metric, kind="stable")[n - n_slow :]
    wins = _mean_ranks(load)[slowest].sum() - n_slow * (n_slow + 1) / 2
    return max(0.0, 2 * float(wins) / (n_slow * (n - n_slow)) - 1)


def effective(parts: Sequence[LatencyParts], met: ArrayLike) -> Effective | None:
    """Return the effective sample size of a run for one objective.

    Parameters
    ----------
    parts
        One for each metric with a limit.
    met
        Shape (n,), whether each offered request met every limit, in order of arrival; a request
        that is still open has not.

    Returns
    -------
    Effective or None
        None with fewer requests than blocks: nothing can be said about correlation.
    """
    n = len(np.asarray(met))
    return _effective(parts, n, block_ratio(met), block_ratio(met, N_LONG_BLOCKS))


def effective_from_blocks(
    parts: Sequence[LatencyParts], n_met: ArrayLike, n_by_block: ArrayLike
) -> Effective | None:
    """Return `effective` from the counts of the ten blocks by arrival, each of shape (10,)."""
    sizes, counts = np.asarray(n_by_block), np.asarray(n_met)
    if len(sizes) != N_BLOCKS:
        return None
    longer = block_ratio_of_counts(counts.reshape(-1, 2).sum(1), sizes.reshape(-1, 2).sum(1))
    return _effective(parts, int(sizes.sum()), block_ratio_of_counts(counts, sizes), longer)


def effective_of_metric(part: LatencyParts, n: int) -> Effective | None:
    """Return the effective sample size for one metric alone, without an objective.

    Parameters
    ----------
    part
        The metric's latency parts.
    n
        Requests of its population.
    """
    return _effective([part], n, 1.0, 1.0)


def _effective(
    parts: Sequence[LatencyParts], n: int, of_met: float, long_of_met: float
) -> Effective | None:
    if n < N_BLOCKS:
        return None
    ratios = [ratio for part in parts for ratio in (part.ranks, part.in_flight)]
    longer = [ratio for part in parts for ratio in (part.long_ranks, part.long_in_flight)]
    deff = max(1.0, of_met, *ratios)
    return Effective(n, deff, n / deff / few_blocks(1), max(1.0, long_of_met, *longer))


def pool_replicates(runs: Sequence[Effective]) -> Effective:
    """Return the effective sample size of several runs of the same requests and arrivals.

    Repeating one workload tells of the machine and not of the traffic, so it adds nothing: n_eff
    and the design effect are means over the runs, and n is the mean number of requests.
    """
    return Effective(
        n=round(float(np.mean([run.n for run in runs]))),
        deff=float(np.mean([run.deff for run in runs])),
        n_eff=float(np.mean([run.n_eff for run in runs])),
        long_deff=float(np.mean([run.long_deff for run in runs])),
    )


def pool_draws(runs: Sequence[Effective]) -> Effective:
    """Return the effective sample size of several runs, each with its own draw of the same mix.

    The requests add up, the design effect is the mean, and it rests on 10 blocks of every run.
    """
    n = sum(run.n for run in runs)
    deff = float(np.mean([run.deff for run in runs]))
    longer = float(np.mean([run.long_deff for run in runs]))
    return Effective(n, deff, n / deff / few_blocks(len(runs)), longer)


@cache
def few_blocks(n_runs: int) -> float:
    """Return (t / z)² at 0.975: the price of a variance estimated from n_runs · 9 differences."""
    quantile = scipy.special.stdtrit(n_runs * (N_BLOCKS - 1), 0.975) / scipy.special.ndtri(0.975)
    return float(quantile) ** 2
