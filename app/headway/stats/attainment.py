"""Which requests of a run met a set of limits, counted again whenever a limit moves.

Everything that does not depend on the limits is laid out once, in order of arrival; what is left
is one comparison per limit over contiguous numbers.
"""

from collections.abc import Mapping, Sequence
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
    requests alone (`is_open`), what each metric already came to at least; NaN where that is not
    known. `edges` are the bounds of the ten blocks of arrivals, none where fewer than ten are
    known. `n_placed` requests have a known arrival.
    """

    completed: Booleans
    values: dict[Metric, Floats]
    short: dict[Metric, Booleans]
    least: dict[Metric, Floats]
    is_open: Booleans
    edges: tuple[int, ...]
    n_placed: int

    @property
    def n(self) -> int:
        """Offered requests."""
        return len(self.completed)

    @property
    def n_open(self) -> int:
        """Requests that were open when the run ended."""
        return int(np.count_nonzero(self.is_open))


@dataclass(frozen=True, slots=True)
class Spells:
    """Misses in a row, by arrival: how many such spells, and how many requests the longest holds.

    `worst_tenth` counts from 1 and has `n_missed_worst` of the misses, the most of all tenths.
    """

    n_spells: int
    longest: int
    worst_tenth: int
    n_missed_worst: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests of a run that met the limits, and the open ones that still may.

    `by_block` are (offered, met) of the ten blocks of arrivals. `past` counts requests past each
    limit, and one may be past several; `n_unmeasured` completed ones that lack a value with a
    limit; `n_lost` those that ended without completing. `spells` is None where arrivals are not
    known.
    """

    n_met: int
    n_no_cadence: int
    n_open: int
    by_block: tuple[tuple[int, int], ...]
    past: dict[Metric, int]
    n_unmeasured: int
    n_lost: int
    spells: Spells | None


def sheet(
    values: Mapping[Metric, ArrayLike],
    completed: ArrayLike,
    applicable: Mapping[Metric, ArrayLike],
    least: Mapping[Metric, ArrayLike],
    is_open: ArrayLike,
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
    is_open
        Shape (n,), whether the run ended before it was known what becomes of the request.
    n_placed
        Requests whose arrival is known; they come first.
    """
    done = np.asarray(completed, bool)
    too_short = {metric: ~np.asarray(fits, bool) & done for metric, fits in applicable.items()}
    kept = {m: np.where(done, np.asarray(found, float), np.inf) for m, found in values.items()}
    for metric, mask in too_short.items():
        kept[metric][mask] = -np.inf
    edges = [0, *np.cumsum(blocks(n_placed)).tolist()]
    return Sheet(
        completed=done,
        values=kept,
        short={metric: mask for metric, mask in too_short.items() if mask.any()},
        least={metric: np.asarray(bound, float) for metric, bound in least.items()},
        is_open=np.asarray(is_open, bool),
        edges=tuple(edges) if n_placed >= N_BLOCKS else (),
        n_placed=n_placed,
    )


def count(on: Sheet, limits: Mapping[Metric, float]) -> Counts:
    """Count the requests that completed and keep every limit; a limit is kept at equality."""
    did_meet = met(on, limits)
    short = [on.short[metric] for metric in limits if metric in on.short]
    no_cadence = int(np.count_nonzero(did_meet & np.logical_or.reduce(short))) if short else 0
    by_block = tuple(
        (end - start, int(np.count_nonzero(did_meet[start:end])))
        for start, end in pairwise(on.edges)
    )
    return Counts(
        n_met=int(np.count_nonzero(did_meet)),
        n_no_cadence=no_cadence,
        n_open=int(np.count_nonzero(still_open(on, limits))),
        by_block=by_block,
        past={metric: _past(on, metric, limit) for metric, limit in limits.items()},
        n_unmeasured=_unmeasured(on, limits),
        n_lost=on.n - int(np.count_nonzero(on.completed)) - on.n_open,
        spells=_spells(did_meet[: on.n_placed], by_block),
    )


def _past(on: Sheet, metric: Metric, limit: float) -> int:
    """Count the requests past one limit: completed ones, and open ones that are past it already."""
    past = np.count_nonzero((on.values[metric] > limit) & np.isfinite(on.values[metric]))
    if metric in on.least:
        past += np.count_nonzero(on.least[metric] > limit)
    return int(past)


def _unmeasured(on: Sheet, limits: Mapping[Metric, float]) -> int:
    unknown = [on.completed & np.isposinf(on.values[metric]) for metric in limits]
    return int(np.count_nonzero(np.logical_or.reduce(unknown))) if unknown else 0


def _spells(met: Booleans, by_block: Sequence[tuple[int, int]]) -> Spells | None:
    """Return the runs of misses in order of arrival."""
    if not by_block:
        return None
    edges = np.flatnonzero(np.diff(np.concatenate(([False], ~met, [False])).astype(np.int8)))
    lengths = edges[1::2] - edges[::2]
    missed = [offered - n_met for offered, n_met in by_block]
    return Spells(
        n_spells=len(lengths),
        longest=int(lengths.max(initial=0)),
        worst_tenth=1 + int(np.argmax(missed)),
        n_missed_worst=max(missed),
    )


def met(on: Sheet, limits: Mapping[Metric, float]) -> Booleans:
    """Return which requests of a run completed and keep every limit, shape (n,)."""
    return meets(on.completed, on.values, limits)


def meets(
    completed: Booleans, values: Mapping[Metric, Floats], limits: Mapping[Metric, float]
) -> Booleans:
    """Return which requests completed and keep every limit; a limit is kept at equality.

    Parameters
    ----------
    completed
        Shape (n,), truth values.
    values
        By metric, shape (n,), milliseconds: +infinity for a value that is not known, −infinity for
        an answer too short for the metric, which keeps every limit.
    limits
        Largest acceptable value by metric, milliseconds.
    """
    kept = [values[metric] <= limit for metric, limit in limits.items()]
    return np.asarray(np.logical_and.reduce([completed, *kept]), bool)


def still_open(on: Sheet, limits: Mapping[Metric, float]) -> Booleans:
    """Return which requests were open and past no limit, shape (n,); what is unknown is past none.

    The mean time per token of an unfinished answer can still fall, so it decides nothing.
    """
    waiting = on.is_open.copy()
    for metric, limit in limits.items():
        if metric in on.least:
            waiting[on.is_open] &= ~(on.least[metric] > limit)
    return waiting
