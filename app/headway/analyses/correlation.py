"""How many independent requests is a run worth, and did it keep steady and on schedule?

These parts depend on latencies only. They are computed once for a run, a window and an origin, and
stay when an objective changes.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import polars as pl

from headway.analyses import measured
from headway.analyses.measured import METRICS
from headway.catalog import Catalog, by_run
from headway.model import Metric, Origin, Outcome, Window
from headway.stats.attainment import Sheet, sheet
from headway.stats.effective import Floats, Integers, LatencyParts, in_flight, latency_parts
from headway.stats.reach import Pace, pace
from headway.stats.slip import Slip, lateness, slip
from headway.stats.steadiness import Steadiness, steadiness

_OPEN = [Outcome.CUT_OFF.value, Outcome.NOT_SENT.value, Outcome.UNACCOUNTED.value]
_LEAST = {
    Metric.TTFT: "ttft_least_ms",
    Metric.STALL: "stall_least_ms",
    Metric.LATENCY: "latency_least_ms",
}

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Correlation:
    """The latency parts of the design effect by metric, and whether the run was steady.

    `parts` is empty where arrivals are unknown: then there is no effective number of requests.
    `pace` is None there too, and with fewer than ten requests.
    """

    parts: dict[Metric, LatencyParts]
    steady: Steadiness
    pace: Pace | None


def correlations(
    catalog: Catalog,
    run_ids: Iterable[str],
    window: Window,
    origin: Origin,
    metrics: Iterable[Metric] = METRICS,
) -> dict[str, Correlation]:
    """Return how far each run's requests correlate, from the latencies of these metrics."""
    ids = list(dict.fromkeys(run_ids))
    paces = _of_each(catalog, ids, "pace", (window, origin), _pace_and_steadiness)
    parts = {metric: parts_of(catalog, ids, metric, window, origin) for metric in metrics}
    return {
        run_id: Correlation(
            {m: part for m, of_run in parts.items() if (part := of_run[run_id]) is not None},
            *paces[run_id],
        )
        for run_id in ids
    }


def parts_of(
    catalog: Catalog, run_ids: Iterable[str], metric: Metric, window: Window, origin: Origin
) -> dict[str, LatencyParts | None]:
    """Return what one metric of each run says about correlation; None where nothing arrived."""
    work = partial(_latency_parts, metric)
    return _of_each(catalog, run_ids, "latency parts", (window, origin, metric), work)


def _of_each(
    catalog: Catalog,
    run_ids: Iterable[str],
    what: str,
    asked: tuple[Window, Origin, *tuple[Hashable, ...]],
    work: Callable[[pl.DataFrame], _T],
) -> dict[str, _T]:
    """Return what follows from the placed requests of each run that arrived in the window."""
    window, origin, *_ = asked

    def measure(missing: list[str]) -> dict[str, _T]:
        found = placed(catalog, missing, origin)
        return {run_id: work(measured.inside(rows, window)) for run_id, rows in found.items()}

    return catalog.of_each(what, run_ids, asked, measure)


def placed(catalog: Catalog, run_ids: Iterable[str], origin: Origin) -> dict[str, pl.DataFrame]:
    """Return the requests of each run with a known arrival, and how many were in flight at each.

    What was under way before a window began is in flight inside it: the whole run is needed.
    """
    ids = list(run_ids)
    found = {
        run_id: rows.filter(pl.col("arrival_us").is_not_null())
        for run_id, rows in measured.requests(catalog, ids, origin).items()
    }

    def count(missing: list[str]) -> dict[str, Integers]:
        return {run_id: _flying(found[run_id]) for run_id in missing}

    at_arrival = catalog.of_each("flying", ids, (origin,), count)
    return {
        run_id: rows.with_columns(flying=pl.Series(at_arrival[run_id]))
        for run_id, rows in found.items()
    }


def sheets(
    catalog: Catalog, run_ids: Iterable[str], window: Window, origin: Origin
) -> dict[str, Sheet]:
    """Return each run laid out for counting who meets which limits."""

    def compute(missing: list[str]) -> dict[str, Sheet]:
        found = measured.requests(catalog, missing, origin)
        return {run_id: _sheet(measured.inside(rows, window)) for run_id, rows in found.items()}

    return catalog.of_each("sheet", run_ids, (window, origin), compute)


def slips(
    catalog: Catalog, run_ids: Iterable[str], ttft_limit_ms: float | None
) -> dict[str, Slip | None]:
    """Return how far the sends of each run lagged behind its schedule; None where it is unknown."""

    def compute(missing: list[str]) -> dict[str, Floats]:
        rows = catalog.query("acceptance/slip", run_ids=missing)
        return {
            run_id: lateness(mine["scheduled_us"].to_numpy(), mine["sent_us"].to_numpy())
            for run_id, mine in by_run(rows, missing).items()
        }

    limit_us = None if ttft_limit_ms is None else ttft_limit_ms * 1000
    found = catalog.of_each("lateness", run_ids, (), compute)
    return {run_id: slip(late_us, limit_us) for run_id, late_us in found.items()}


def _sheet(rows: pl.DataFrame) -> Sheet:
    is_open = rows["outcome"].is_in(_OPEN)
    least = rows.filter(is_open)
    return sheet(
        values={m: rows[m.value].fill_null(np.inf).to_numpy() for m in METRICS},
        completed=(rows["outcome"] == Outcome.COMPLETED.value).to_numpy(),
        applicable={m: rows[m.value].is_not_null().to_numpy() for m in (Metric.TPOT, Metric.STALL)},
        least={
            metric: least[column].fill_null(np.nan).to_numpy() for metric, column in _LEAST.items()
        },
        is_open=is_open.to_numpy(),
        n_placed=rows.height - rows["arrival_us"].null_count(),
    )


def _latency_parts(metric: Metric, rows: pl.DataFrame) -> LatencyParts | None:
    if rows.is_empty():
        return None
    return latency_parts(
        rows[metric.value].fill_null(0).to_numpy(),
        rows["flying"].to_numpy(),
        rows[metric.value].is_not_null().to_numpy(),
    )


def _pace_and_steadiness(rows: pl.DataFrame) -> tuple[Steadiness, Pace | None]:
    if rows.is_empty():
        return Steadiness.UNKNOWN, None
    return steadiness(rows[Metric.TTFT.value].to_numpy()), pace(rows["arrival_us"].to_numpy())


def _flying(rows: pl.DataFrame) -> Integers:
    """Return how many requests were in flight at each arrival, of a whole run."""
    return in_flight(rows["arrival_us"].to_numpy(), rows["left_us"].to_numpy())
