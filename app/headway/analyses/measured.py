"""What every number of a run is computed from: its requests, measured once.

The requests of all runs that a view needs come in one query, and stay in memory while they are used
(`headway.remembered`). Limits, shares and windows are applied to them here and in `headway.stats`.
"""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import polars as pl

from headway.catalog import Catalog
from headway.model import Metric, Origin, Window
from headway.stats.effective import Floats

METRICS = (Metric.TTFT, Metric.TPOT, Metric.STALL, Metric.LATENCY)


def requests(catalog: Catalog, run_ids: Iterable[str], origin: Origin) -> dict[str, pl.DataFrame]:
    """Return every offered request of each run, in order of arrival, unplaced ones last.

    Columns are those of the query acceptance/requests. A run that offered none has no rows.
    """
    return catalog.rows_of_each("acceptance/requests", run_ids, origin=origin.value)


def row_of_each(
    catalog: Catalog, name: str, run_ids: Iterable[str], **asked: Hashable
) -> dict[str, dict[str, Any]]:
    """Return the one row that a stored query has for each run; empty where it has none."""
    found = catalog.rows_of_each(name, run_ids, **asked)
    return {run_id: next(rows.iter_rows(named=True), {}) for run_id, rows in found.items()}


def inside(rows: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Return the requests that arrived in a window.

    Without any times a window cannot be applied, and every request counts. A request without a time
    in a run that has times counts only where no window was asked for.
    """
    if window == Window() or rows["arrival_us"].null_count() == rows.height:
        return rows
    kept = pl.lit(True)
    if window.start_us is not None:
        kept &= pl.col("arrival_us") >= window.start_us
    if window.end_us is not None:
        kept &= pl.col("arrival_us") < window.end_us
    return rows.filter(kept & pl.col("arrival_us").is_not_null())


def ordered(
    catalog: Catalog, run_ids: Iterable[str], metric: Metric, window: Window, origin: Origin
) -> dict[str, Floats]:
    """Return a metric of each run in ascending order, milliseconds, lost requests at +infinity.

    Every offered request of the window counts to which the metric applies: shape (n,).
    """

    def sort(missing: list[str]) -> dict[str, Floats]:
        found = requests(catalog, missing, origin)
        return {
            run_id: np.sort(inside(rows, window)[metric.value].drop_nulls().to_numpy())
            for run_id, rows in found.items()
        }

    return catalog.of_each("ordered", run_ids, (metric, window, origin), sort)
