"""Do two policies differ by more than their own runs do? Claims from replicates, and the noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from headway.analyses import configurations, replicates, shift, workload
from headway.analyses.shift import RunValues
from headway.analyses.sides import Side
from headway.catalog import Catalog
from headway.model import Metric, Origin, RunInfo, Window
from headway.stats.comparison import (
    MIN_RUNS,
    Difference,
    Ratio,
    false_discovery,
    judge_difference,
    welch_ratio,
)
from headway.stats.intervals import LEVEL

TESTED_SHARES = (0.5, 0.9, 0.99)

Key = tuple[Metric, float]


@dataclass(frozen=True, slots=True)
class Tested:
    """A percentile of replicated runs, B over A.

    `q` is the p-value adjusted for the number of secondary metrics; the primary one, declared
    before, keeps its own. `ratio` is None where a run does not reach the percentile. Better and
    worse need an interval beyond the band and q within 5%.
    """

    metric: Metric
    share: float
    n_a: int
    n_b: int
    ratio: Ratio | None
    q: float | None
    verdict: Difference
    is_primary: bool


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
    band: float,
    primary: Key | None,
) -> tuple[Tested, ...]:
    """Test the percentiles of replicated runs; all but the primary one are adjusted together."""
    of_a, of_b = ([shift.run_percentiles(run) for run in runs] for runs in (a, b))
    keys = [(metric, share) for metric in metrics for share in TESTED_SHARES]
    ratios = {key: welch_ratio(_column(of_a, key), _column(of_b, key)) for key in keys}
    secondary = [key for key in keys if key != primary and ratios[key] is not None]
    adjusted = false_discovery([ratio.p for key in secondary if (ratio := ratios[key])])
    q = dict(zip(secondary, adjusted, strict=True))
    if primary in ratios and (declared := ratios[primary]) is not None:
        q[primary] = declared.p
    return tuple(
        Tested(
            metric=key[0],
            share=key[1],
            n_a=len(a),
            n_b=len(b),
            ratio=ratios[key],
            q=q.get(key),
            verdict=_verdict(ratios[key], q.get(key), band),
            is_primary=key == primary,
        )
        for key in keys
    )


def _column(runs: Sequence[Mapping[Key, float | None]], key: Key) -> list[float]:
    return [np.inf if (value := run[key]) is None else value for run in runs]


def _verdict(ratio: Ratio | None, q: float | None, band: float) -> Difference:
    found = judge_difference(ratio, band)
    beyond = found in (Difference.BETTER, Difference.WORSE)
    return Difference.UNDECIDED if beyond and (q is None or q > 1 - LEVEL) else found


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
