"""How many independent requests is a run worth, and did it keep steady and on schedule?

These parts depend on latencies only. They are computed once for a run, a window and an origin, and
stay when an objective changes.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import sql
from headway.catalog import Catalog
from headway.model import Metric, Origin, Outcome, Window
from headway.stats.attainment import Sheet, sheet
from headway.stats.effective import LatencyParts, in_flight, latency_parts
from headway.stats.reach import Pace, pace
from headway.stats.slip import Slip, slip
from headway.stats.steadiness import Steadiness, steadiness

_OPEN = [Outcome.CUT_OFF.value, Outcome.NOT_SENT.value, Outcome.UNACCOUNTED.value]
_LEAST = {
    Metric.TTFT: "ttft_least_ms",
    Metric.STALL: "stall_least_ms",
    Metric.LATENCY: "latency_least_ms",
}
_METRICS = (Metric.TTFT, Metric.TPOT, Metric.STALL, Metric.LATENCY)


@dataclass(frozen=True, slots=True)
class Correlation:
    """The latency parts of the design effect by metric, and whether the run was steady.

    `parts` is empty where arrivals are unknown: then there is no effective number of requests.
    `pace` is None there too, and with fewer than ten requests.
    """

    parts: dict[Metric, LatencyParts]
    steady: Steadiness
    pace: Pace | None


def correlation(catalog: Catalog, run_id: str, window: Window, origin: Origin) -> Correlation:
    """Return what a run's latencies say about correlation, remembered with the catalog."""
    key = ("correlation", run_id, window, origin)
    return catalog.remember(key, lambda: _correlation(catalog, run_id, window, origin))


def sheet_of(catalog: Catalog, run_id: str, window: Window, origin: Origin) -> Sheet:
    """Return a run laid out for counting who meets which limits, remembered with the catalog."""
    key = ("sheet", run_id, window, origin)
    return catalog.remember(key, lambda: _sheet(catalog, run_id, window, origin))


def slip_of(catalog: Catalog, run_id: str, ttft_limit_ms: float | None) -> Slip | None:
    """Return how far the sends of a run lagged behind its schedule; None where it is unknown."""
    limit_us = None if ttft_limit_ms is None else ttft_limit_ms * 1000
    key = ("slip", run_id, limit_us)
    return catalog.remember(key, lambda: _slip(catalog, run_id, limit_us))


def _slip(catalog: Catalog, run_id: str, limit_us: float | None) -> Slip | None:
    rows = sql.load("acceptance/slip").run(catalog.connection, run_id=run_id)
    return slip(rows["scheduled_us"].to_numpy(), rows["sent_us"].to_numpy(), limit_us)


def _sheet(catalog: Catalog, run_id: str, window: Window, origin: Origin) -> Sheet:
    rows = sql.load("acceptance/requests").run(
        catalog.connection,
        run_id=run_id,
        start_us=window.start_us,
        end_us=window.end_us,
        origin=origin.value,
    )
    is_open = rows["outcome"].is_in(_OPEN)
    least = rows.filter(is_open)
    return sheet(
        values={m: rows[m.value].fill_null(np.inf).to_numpy() for m in _METRICS},
        completed=(rows["outcome"] == Outcome.COMPLETED.value).to_numpy(),
        applicable={m: rows[m.value].is_not_null().to_numpy() for m in (Metric.TPOT, Metric.STALL)},
        least={
            metric: least[column].fill_null(np.nan).to_numpy() for metric, column in _LEAST.items()
        },
        n_open=least.height,
        n_placed=rows.height - rows["arrival_us"].null_count(),
    )


def _correlation(catalog: Catalog, run_id: str, window: Window, origin: Origin) -> Correlation:
    rows = sql.load("acceptance/requests").run(
        catalog.connection, run_id=run_id, start_us=None, end_us=None, origin=origin.value
    )
    placed = rows.filter(pl.col("arrival_us").is_not_null())
    if placed.is_empty():
        return Correlation({}, Steadiness.UNKNOWN, None)
    # What was under way before the window began is in flight inside it: the whole run comes first.
    flying = in_flight(placed["arrival_us"].to_numpy(), placed["left_us"].to_numpy())
    inside = _inside(placed["arrival_us"], window)
    parts = {
        metric: latency_parts(
            placed[metric.value].fill_null(0).to_numpy()[inside],
            flying[inside],
            placed[metric.value].is_not_null().to_numpy()[inside],
        )
        for metric in _METRICS
    }
    return Correlation(
        parts=parts,
        steady=steadiness(placed[Metric.TTFT.value].to_numpy()[inside]),
        pace=pace(placed["arrival_us"].to_numpy()[inside]),
    )


def _inside(arrival_us: pl.Series, window: Window) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    arrivals = arrival_us.to_numpy()
    kept = np.ones(len(arrivals), bool)
    if window.start_us is not None:
        kept &= arrivals >= window.start_us
    if window.end_us is not None:
        kept &= arrivals < window.end_us
    return kept
