"""Which requests of a run met a set of limits, counted again whenever a limit moves.

Everything that does not depend on the limits is laid out once, in order of arrival; what is left
is one comparison per limit over contiguous numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from headway.model import Metric
from headway.stats.effective import N_BLOCKS, Booleans, Floats, blocks


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A run's requests as limits see them, those with a known arrival first and in its order.

    `values` holds, by metric and in milliseconds, +infinity for a request that did not complete and
    −infinity for an answer too short for the metric: the first keeps no limit, the second keeps
    all. `short` marks those answers by metric, where there are any. `least` holds, for the open
    requests alone, what each metric already came to at least; NaN where that is not known. `edges`
    are the bounds of the ten blocks of arrivals, none where fewer than ten are known.
    """

    completed: Booleans
    values: dict[Metric, Floats]
    short: dict[Metric, Booleans]
    least: dict[Metric, Floats]
    edges: tuple[int, ...]
    n: int
    n_open: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests of a run that met the limits, and the open ones that still may.

    `by_block` are (offered, met) of the ten blocks of arrivals.
    """

    n_met: int
    n_no_cadence: int
    n_open: int
    by_block: tuple[tuple[int, int], ...]


def sheet(
    values: Mapping[Metric, ArrayLike],
    completed: ArrayLike,
    applicable: Mapping[Metric, ArrayLike],
    least: Mapping[Metric, ArrayLike],
    n_open: int,
    n_placed: int,
) -> Sheet:
    """Lay a run out for counting.

    Parameters
    ----------
    values
        By metric, shape (n,), milliseconds; lost or unknown is +infinity.
    completed
        Shape (n,), truth values: only a completed request can meet anything.
    applicable
        By metric, shape (n,): false for an answer too short for it.
    least
        By metric, shape (n_open,): lower bounds of the open requests, NaN where unknown.
    n_open, n_placed
        Open requests, and requests whose arrival is known; those stand first.
    """
    done = np.asarray(completed, bool)
    too_short = {metric: ~np.asarray(fits, bool) & done for metric, fits in applicable.items()}
    kept = {
        metric: np.where(done, np.asarray(found, float), np.inf) for metric, found in values.items()
    }
    for metric, mask in too_short.items():
        kept[metric][mask] = -np.inf
    edges = np.concatenate(([0], np.cumsum(blocks(n_placed))))
    return Sheet(
        completed=done,
        values=kept,
        short={metric: mask for metric, mask in too_short.items() if mask.any()},
        least={metric: np.asarray(bound, float) for metric, bound in least.items()},
        edges=tuple(int(edge) for edge in edges) if n_placed >= N_BLOCKS else (),
        n=len(done),
        n_open=n_open,
    )


def count(on: Sheet, limits: Mapping[Metric, float]) -> Counts:
    """Count the requests that completed and keep every limit; a limit is kept at equality."""
    met = _met(on, limits)
    short = [on.short[metric] for metric in limits if metric in on.short]
    no_cadence = int(np.count_nonzero(met & np.logical_or.reduce(short))) if short else 0
    by_block = tuple(
        (end - start, int(np.count_nonzero(met[start:end]))) for start, end in pairwise(on.edges)
    )
    return Counts(int(np.count_nonzero(met)), no_cadence, _still_open(on, limits), by_block)


def _met(on: Sheet, limits: Mapping[Metric, float]) -> Booleans:
    if not limits:
        return on.completed
    kept = [on.values[metric] <= limit for metric, limit in limits.items()]
    return np.logical_and.reduce(kept) if len(kept) > 1 else kept[0]


def _still_open(on: Sheet, limits: Mapping[Metric, float]) -> int:
    """Count the open requests that are past no limit: unknown bounds decide nothing."""
    past = np.zeros(on.n_open, bool)
    for metric, value in limits.items():
        if metric in on.least:
            past |= on.least[metric] > value
    return on.n_open - int(np.count_nonzero(past))
