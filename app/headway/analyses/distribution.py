"""How long did requests wait, and how evenly did their answers stream?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from headway import sql
from headway.analyses import correlation
from headway.catalog import Catalog
from headway.model import Basis, Method, Metric, Selection, Status
from headway.stats.effective import effective_of_metric
from headway.stats.intervals import order_statistic_ranks

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
    values = _values(selection, metric)
    counts = sql.load("distribution/summary").run(catalog.connection, **values)
    points = sql.load("distribution/percentiles").run(
        catalog.connection, **values, method=selection.method.value, shares=list(shares)
    )
    percentiles: dict[tuple[str, str], list[Percentile]] = {}
    for row in points.iter_rows(named=True):
        point = Percentile(row["share"], row["value_ms"], row["not_reached"])
        percentiles.setdefault((row["run_id"], row["stratum"]), []).append(point)
    found: dict[str, list[Description]] = {run_id: [] for run_id in selection.run_ids}
    for row in counts.iter_rows(named=True):
        key = (row["run_id"], row["stratum"])
        status = _status(row)
        known = tuple(percentiles.get(key, ())) if status is Status.MEASURED else ()
        found[row["run_id"]].append(
            Description(metric=metric, status=status, percentiles=known, **row)
        )
    return [
        description
        for run_id, descriptions in found.items()
        for description in descriptions or [_without_population(run_id, selection, metric)]
    ]


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
    if selection.basis is not Basis.OFFERED or selection.method is not Method.NEAREST:
        return list(described)
    return [
        each
        if each.stratum != "all" or not each.percentiles or metric is Metric.GAP
        else _with_bounds(catalog, selection, metric, each)
        for each in described
    ]


def _with_bounds(
    catalog: Catalog, selection: Selection, metric: Metric, described: Description
) -> Description:
    known = correlation.correlation(catalog, described.run_id, selection.window, selection.origin)
    part, n = known.parts.get(metric), described.denominator
    effective = None if part is None else effective_of_metric(part, n)
    if effective is None:
        return described
    bounds = _bounds(catalog, selection, metric, described, effective.n_eff)
    return replace(described, percentiles=bounds, n_eff=effective.n_eff)


def _bounds(
    catalog: Catalog, selection: Selection, metric: Metric, described: Description, n_eff: float
) -> tuple[Percentile, ...]:
    n = described.denominator
    ranks = [order_statistic_ranks(n_eff, n, point.share, 0.95) for point in described.percentiles]
    # The middle of a rank's interval of shares asks for exactly that rank.
    wanted = {rank: (rank - 0.5) / n for pair in ranks for rank in pair if rank is not None}
    one = replace(selection, run_ids=(described.run_id,))
    values = {
        point.share: point.value_ms
        for each in describe(catalog, one, metric, sorted(set(wanted.values())))
        for point in each.percentiles
    }
    return tuple(
        replace(
            point,
            low_ms=None if low is None else values[wanted[low]],
            high_ms=None if high is None else values[wanted[high]],
        )
        for point, (low, high) in zip(described.percentiles, ranks, strict=True)
    )


def curve(catalog: Catalog, selection: Selection, metric: Metric) -> pl.DataFrame:
    """Return the thinned empirical distributions, each with a closing row at the right edge.

    Columns are those of the query distribution/ecdf, and `label`: on the closing row of a curve
    that ends below its population, the share that never delivered. The closing rows carry the
    plateau to the right edge of the chart, so that lost requests are seen and not cut off. In the
    tail, a curve that delivered everything ends with its last request.
    """
    points = sql.load("distribution/ecdf").run(catalog.connection, **_values(selection, metric))
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
    return sql.load("distribution/worst").run(catalog.connection, **values, n_rows=n_rows)


def _values(selection: Selection, metric: Metric) -> dict[str, object]:
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
