"""How long did requests wait, and how evenly did their answers stream?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from headway.analyses import correlation, measured
from headway.catalog import Catalog, by_run
from headway.model import Basis, Method, Metric, Selection, Status, Stratum
from headway.stats.effective import Floats, LatencyParts, effective_of_metric
from headway.stats.intervals import order_statistic_ranks
from headway.stats.percentiles import nearest_rank

DEFAULT_SHARES = (0.5, 0.9, 0.95, 0.99)
_EDGE = 1.25


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile of a metric; `low` and `high` bound it for traffic like this, where known."""

    share: float
    value_ms: float | None
    not_reached: bool
    low_ms: float | None = None
    high_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """A metric of one run and stratum.

    `n` values were delivered out of `denominator` requests of the population. `n_not_applicable`
    answers were too short for the metric and are in neither; `n_unknown` successes have a value
    that the source does not know. `n_eff` effective requests stand behind the bounds of the
    percentiles, where there are any.
    """

    run_id: str
    stratum: str
    metric: Metric
    status: Status
    n: int = 0
    denominator: int = 0
    n_not_applicable: int = 0
    n_unknown: int = 0
    n_eff: float | None = None
    mean_ms: float | None = None
    max_ms: float | None = None
    percentiles: tuple[Percentile, ...] = ()

    @property
    def delivered(self) -> float | None:
        """Share of the population that delivered the metric at all."""
        return self.n / self.denominator if self.denominator else None


def describe(
    catalog: Catalog,
    selection: Selection,
    metric: Metric,
    shares: Sequence[float] = DEFAULT_SHARES,
) -> list[Description]:
    """Describe a metric of every selected run, by stratum.

    Runs come in the order of the selection; a run without a population gets one description whose
    status says why there is no number. Percentiles come without bounds: `bounded` adds them.
    """
    counts = _counts(catalog, selection, metric)
    points = _from_sorted if _has_bounds(selection, metric) else _queried
    percentiles = points(catalog, selection, metric, shares)
    found: list[Description] = []
    for run_id, rows in counts.items():
        found += [
            _description(run_id, row, metric, percentiles) for row in rows.iter_rows(named=True)
        ]
        if rows.is_empty():
            found.append(_without_population(run_id, selection, metric))
    return found


def _description(
    run_id: str,
    row: dict[str, Any],
    metric: Metric,
    percentiles: dict[tuple[str, str], tuple[Percentile, ...]],
) -> Description:
    status = _status(row)
    known = percentiles.get((run_id, row["stratum"]), ()) if status is Status.MEASURED else ()
    return Description(run_id=run_id, metric=metric, status=status, percentiles=known, **row)


def _counts(catalog: Catalog, selection: Selection, metric: Metric) -> dict[str, pl.DataFrame]:
    """Return the rows of the query distribution/summary by run."""
    values = _values(selection, metric)
    if selection.stratum is Stratum.NONE:
        del values["run_ids"]
        return catalog.rows_of_each("distribution/summary", selection.run_ids, **values)
    # All selected runs cut the classes together.
    return by_run(catalog.query("distribution/summary", **values), selection.run_ids)


def _queried(
    catalog: Catalog, selection: Selection, metric: Metric, shares: Sequence[float]
) -> dict[tuple[str, str], tuple[Percentile, ...]]:
    rows = catalog.query(
        "distribution/percentiles",
        **_values(selection, metric),
        method=selection.method.value,
        shares=list(shares),
    )
    found: dict[tuple[str, str], tuple[Percentile, ...]] = {}
    for row in rows.iter_rows(named=True):
        point = Percentile(row["share"], row["value_ms"], row["not_reached"])
        key = (row["run_id"], row["stratum"])
        found[key] = (*found.get(key, ()), point)
    return found


def _from_sorted(
    catalog: Catalog, selection: Selection, metric: Metric, shares: Sequence[float]
) -> dict[tuple[str, str], tuple[Percentile, ...]]:
    """Return what `_queried` does for the offered, by rank in the sorted requests of each run."""
    found = _ordered(catalog, selection, metric)
    return {
        (run_id, "all"): tuple(
            Percentile(share, value, not_reached=value is None)
            for share in sorted(shares)
            for value in [_finite(nearest_rank(values, share))]
        )
        for run_id, values in found.items()
        if len(values)
    }


def _ordered(catalog: Catalog, selection: Selection, metric: Metric) -> dict[str, Floats]:
    return measured.ordered(catalog, selection.run_ids, metric, selection.window, selection.origin)


def _finite(value: ArrayLike) -> float | None:
    number = float(np.asarray(value))
    return number if np.isfinite(number) else None


def _has_bounds(selection: Selection, metric: Metric) -> bool:
    """Tell whether percentiles are nearest-rank ones of the offered, which have bounds."""
    return (
        selection.basis is Basis.OFFERED
        and selection.method is Method.NEAREST
        and selection.stratum is Stratum.NONE
        and metric is not Metric.GAP
    )


def described_with_bounds(
    catalog: Catalog,
    selection: Selection,
    metric: Metric,
    shares: Sequence[float] = DEFAULT_SHARES,
) -> list[Description]:
    """Describe a metric of every selected run, with bounds for traffic like this."""
    return bounded(catalog, selection, metric, describe(catalog, selection, metric, shares))


def bounded(
    catalog: Catalog, selection: Selection, metric: Metric, described: Sequence[Description]
) -> list[Description]:
    """Add to nearest-rank percentiles of the offered their bounds for traffic like this.

    The bounds are two observed values: 95% order statistics on the effective number of requests
    (`headway.stats.intervals`). Where requests are too few no bound exists, and it stays None.
    Other populations, strata and pooled gaps have none: their correlation was not studied.
    """
    if not _has_bounds(selection, metric):
        return list(described)
    found = correlation.parts_of(
        catalog, selection.run_ids, metric, selection.window, selection.origin
    )
    values = _ordered(catalog, selection, metric)
    return [
        _with_bounds(each, found[each.run_id], values[each.run_id]) if each.percentiles else each
        for each in described
    ]


def _with_bounds(described: Description, part: LatencyParts | None, values: Floats) -> Description:
    effective = None if part is None else effective_of_metric(part, len(values))
    if effective is None:
        return described
    bounds = tuple(_bounded(point, values, effective.n_eff) for point in described.percentiles)
    return replace(described, percentiles=bounds, n_eff=effective.n_eff)


def _bounded(point: Percentile, values: Floats, n_eff: float) -> Percentile:
    low, high = order_statistic_ranks(n_eff, len(values), point.share, 0.95)
    return replace(
        point,
        low_ms=None if low is None else _finite(values[low - 1]),
        high_ms=None if high is None else _finite(values[high - 1]),
    )


def curve(catalog: Catalog, selection: Selection, metric: Metric) -> pl.DataFrame:
    """Return the thinned empirical distributions, each with a closing row at the right edge.

    Columns are those of the query distribution/ecdf, and `label`: on the closing row of a curve
    that ends below its population, the share that never delivered. The closing rows carry the
    plateau to the right edge of the chart, so that lost requests are seen and not cut off. In the
    tail, a curve that delivered everything ends with its last request.
    """
    points = catalog.query("distribution/ecdf", **_values(selection, metric))
    edge_ms = pl.col("drawn_ms").max() * _EDGE
    last = points.group_by("run_id", "stratum", maintain_order=True).last()
    lost = pl.when(pl.col("share") < 1).then(1 - pl.col("share"))
    closing = (
        last.join(points.select(edge=edge_ms), how="cross")
        .with_columns(drawn_ms="edge", share_at_least=lost, label=lost)
        .drop("edge")
    )
    return pl.concat([points.with_columns(label=pl.lit(None, pl.Float64)), closing])


def worst(catalog: Catalog, selection: Selection, metric: Metric, n_rows: int = 20) -> pl.DataFrame:
    """Return the worst requests of each run: the lost in order of arrival, then the slowest."""
    values = _values(selection, metric)
    del values["stratum"]
    return catalog.query("distribution/worst", **values, n_rows=n_rows)


def _values(selection: Selection, metric: Metric) -> dict[str, Any]:
    return {
        "run_ids": list(selection.run_ids),
        "start_us": selection.window.start_us,
        "end_us": selection.window.end_us,
        "stratum": selection.stratum.value,
        "metric": metric.value,
        "basis": selection.basis.value,
        "origin": selection.origin.value,
    }


def _status(row: dict[str, int]) -> Status:
    """Tell why a number is there or not.

    Nothing delivered is a measurement (no percentile is reached); successes without a value are a
    source that does not record the metric.
    """
    if row["n"] > 0:
        return Status.MEASURED
    if row["denominator"] == 0:
        return Status.NOT_APPLICABLE
    return Status.NOT_RECORDED if row["n_unknown"] > 0 else Status.MEASURED


def _without_population(run_id: str, selection: Selection, metric: Metric) -> Description:
    """Describe a run that has no request, or no gap, in the population."""
    if metric is Metric.GAP and selection.basis is Basis.OFFERED:
        return Description(run_id, "all", metric, Status.NOT_APPLICABLE)
    return Description(run_id, "all", metric, Status.NOT_MEASURED)
