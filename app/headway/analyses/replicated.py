"""Do two policies differ by more than their own runs do? Claims from replicates, and the noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from headway.analyses import configurations, measured, replicates, shift, workload
from headway.analyses.shift import RunValues
from headway.analyses.sides import Side
from headway.catalog import Catalog
from headway.model import Metric, Origin, RunInfo, Window
from headway.stats.comparison import (
    BAND,
    MIN_RUNS,
    Difference,
    MeanDifference,
    Ratio,
    false_discovery,
    judge_difference,
    judge_share,
    share_difference,
    welch_ratio,
)
from headway.stats.intervals import LEVEL
from headway.stats.order import Order

TESTED_SHARES = (0.5, 0.9, 0.99)

Key = tuple[Metric, float]


@dataclass(frozen=True, slots=True)
class Tested:
    """One test of replicated runs: the share that met the objective, or a percentile of a metric.

    A percentile has a `ratio`, B over A, None where a run does not reach it. The share that met has
    a `difference`, B minus A. `q` is the p-value adjusted for all tests together. Better and worse
    need an interval beyond the band, q within 5%, and runs of both sides interleaved in time;
    `is_withheld` where the order alone forbids a verdict.
    """

    metric: Metric | None
    percentile: float | None
    n_a: int
    n_b: int
    ratio: Ratio | None
    difference: MeanDifference | None
    q: float | None
    verdict: Difference
    is_withheld: bool

    @property
    def found(self) -> Ratio | MeanDifference | None:
        """The estimate with its interval."""
        return self.ratio if self.metric is not None else self.difference


@dataclass(frozen=True, slots=True)
class MetShares:
    """The share of requests that met the objective in every run of two sides.

    `n_requests` is how many a run was offered, the fewest of all runs.
    """

    a: tuple[float, ...]
    b: tuple[float, ...]
    n_requests: int


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """How far two runs of one policy differ at this load: the largest over pairs of its runs.

    `relative` holds |b − a| ÷ the smaller of the two, by metric and percentile; one that a run did
    not reach has none. `policies` are those with repeated runs; there are `n_pairs` pairs in all.
    """

    policies: tuple[str, ...]
    n_pairs: int
    relative: Mapping[Key, float]


def is_replicated(a: Side, b: Side) -> bool:
    """Tell whether both sides have enough runs for a claim beyond these runs."""
    return min(len(a.runs), len(b.runs)) >= MIN_RUNS


def judged(
    a: Sequence[RunValues],
    b: Sequence[RunValues],
    metrics: Sequence[Metric],
    met: MetShares | None = None,
    *,
    band: float = BAND,
    order: Order = Order.INTERLEAVED,
) -> tuple[Tested, ...]:
    """Test the share that met the objective, then percentiles; all are adjusted together.

    Where the order of the runs is not interleaved, no test has a verdict: a drift of the machine
    could make a difference, or hide one.
    """
    of_a, of_b = ([shift.run_percentiles(run) for run in runs] for runs in (a, b))
    keys = [(metric, share) for metric in metrics for share in TESTED_SHARES]
    ratios = {key: welch_ratio(_column(of_a, key), _column(of_b, key)) for key in keys}
    tests = [] if met is None else [_of_share(met, len(a), len(b))]
    tests += [
        Tested(*key, len(a), len(b), ratio, None, None, judge_difference(ratio, band), False)
        for key, ratio in ratios.items()
    ]
    adjusted = iter(false_discovery([each.found.p for each in tests if each.found is not None]))
    with_q = [replace(each, q=next(adjusted) if each.found is not None else None) for each in tests]
    return tuple(_in_order(_discovered(each), order) for each in with_q)


def _of_share(met: MetShares, n_a: int, n_b: int) -> Tested:
    found = share_difference(met.a, met.b, met.n_requests)
    return Tested(None, None, n_a, n_b, None, found, None, judge_share(found), False)


def _discovered(tested: Tested) -> Tested:
    """Return a test with its verdict, which better and worse keep only within 5% of all tests."""
    beyond = tested.verdict in (Difference.BETTER, Difference.WORSE)
    if beyond and (tested.q is None or tested.q > 1 - LEVEL):
        return replace(tested, verdict=Difference.UNDECIDED)
    return tested


def _in_order(tested: Tested, order: Order) -> Tested:
    if order is Order.INTERLEAVED or tested.verdict is Difference.UNDECIDED:
        return tested
    return replace(tested, verdict=Difference.UNDECIDED, is_withheld=True)


def _column(runs: Sequence[Mapping[Key, float | None]], key: Key) -> list[float]:
    return [np.inf if (value := run[key]) is None else value for run in runs]


def noise_floor(catalog: Catalog, side: Side, window: Window, origin: Origin) -> NoiseFloor | None:
    """Return how far runs of one policy differ on this workload at this load, in the same study.

    Any policy's replicates count, those of the sides first of all. None where nothing repeats: a
    simulation would only repeat itself.
    """
    at_load = [
        run.run_id
        for run in catalog.of_study(side.run.study)
        if configurations.load_key(run) == configurations.load_key(side.run)
        and run.boundary is side.run.boundary
    ]
    sets = [
        runs
        for runs in replicates.sets(catalog, at_load)
        if len(runs) > 1
        and workload.match(catalog, side.run.run_id, runs[0].run_id).level in workload.REPEATED
    ]
    apart = [pair for runs in sets for pair in _apart(catalog, runs, window, origin)]
    if not apart:
        return None
    keys = {key for pair in apart for key in pair}
    return NoiseFloor(
        policies=tuple(runs[0].policy or "" for runs in sets),
        n_pairs=len(apart),
        relative={key: max(pair[key] for pair in apart if key in pair) for key in keys},
    )


def _apart(
    catalog: Catalog, runs: Sequence[RunInfo], window: Window, origin: Origin
) -> list[dict[Key, float]]:
    """Return the relative differences of every pair of runs of one set."""
    measured.requests(catalog, [run.run_id for run in runs], origin)  # all of them in one query
    found = [percentiles(catalog, run.run_id, window, origin) for run in runs]
    return [
        {key: max(x, y) / min(x, y) - 1 for key, x in first.items() if x and (y := second[key])}
        for first, second in combinations(found, 2)
    ]


def percentiles(
    catalog: Catalog, run_id: str, window: Window, origin: Origin
) -> dict[Key, float | None]:
    """Return the percentiles of one run, remembered with the catalog."""
    key = ("run percentiles", run_id, window, origin)
    return catalog.remember(
        key, lambda: shift.run_percentiles(shift.of_run(catalog, run_id, window, origin))
    )
