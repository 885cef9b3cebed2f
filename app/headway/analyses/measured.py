"""What every number of a run is computed from: its requests, measured once.

The requests of all runs that a view needs come in one query, and stay in memory while they are used
(`headway.remembered`). Limits, shares and windows are applied to them here and in `headway.stats`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headway.catalog import Catalog
from headway.model import Metric, Origin, Window

Floats = NDArray[np.float64]

METRICS = (Metric.TTFT, Metric.TPOT, Metric.STALL, Metric.LATENCY)


def requests(catalog: Catalog, run_ids: Iterable[str], origin: Origin) -> dict[str, pl.DataFrame]:
    """Return every offered request of each run, in order of arrival, unplaced ones last.

    Columns are those of the query acceptance/requests. A run that offered none has no rows.
    """

    def read(missing: list[str]) -> dict[str, pl.DataFrame]:
        rows = catalog.query("acceptance/requests", run_ids=missing, origin=origin.value)
        return by_run(rows, missing)

    return catalog.of_each("requests", run_ids, (origin,), read)


def rows_of(catalog: Catalog, name: str, run_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the one row that a stored query has for each run; none where it has no row.

    The query takes `run_ids` alone, and a run's row follows from that run alone.
    """

    def read(missing: list[str]) -> dict[str, dict[str, Any]]:
        rows = catalog.query(name, run_ids=missing)
        found = {row["run_id"]: row for row in rows.iter_rows(named=True)}
        return {run_id: found.get(run_id, {}) for run_id in missing}

    return catalog.of_each(name, run_ids, (), read)


def by_run(rows: pl.DataFrame, run_ids: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return the rows of each run, in their order, without the column `run_id`."""
    parts = rows.partition_by("run_id", maintain_order=True, include_key=False, as_dict=True)
    none = rows.clear().drop("run_id")
    return {run_id: parts.get((run_id,), none) for run_id in run_ids}


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
