"""What if the requests that still waited for a first token when the run ended had gone on?

The offered basis counts them as lost, which is the cautious answer. Two alternates follow them for
as long as they were seen.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.analyses import measured
from headway.catalog import Catalog
from headway.model import Outcome, Selection
from headway.stats.incidence import Fate, aalen_johansen, kaplan_meier

_OPEN = [Outcome.CUT_OFF.value, Outcome.UNACCOUNTED.value]


@dataclass(frozen=True, slots=True)
class StillWaiting:
    """A percentile of TTFT in milliseconds under three treatments; None where it is not reached.

    `n_waiting` requests had no first token when the run ended and are followed until then. Requests
    that were never sent are in none of the three.
    """

    run_id: str
    share: float
    n_waiting: int
    n_lost: int
    as_lost_ms: float | None
    followed_ms: float | None
    nobody_left_ms: float | None


def still_waiting(
    catalog: Catalog, selection: Selection, shares: tuple[float, ...] = (0.5, 0.9)
) -> list[StillWaiting]:
    """Return the treatments of every selected run that ended with requests still waiting."""
    found: list[StillWaiting] = []
    read = measured.requests(catalog, selection.run_ids, selection.origin)
    for run_id, rows in read.items():
        found += _of_run(run_id, measured.inside(rows, selection.window), shares)
    return found


def _of_run(run_id: str, offered: pl.DataFrame, shares: tuple[float, ...]) -> list[StillWaiting]:
    rows = offered.filter(
        (pl.col("outcome") != Outcome.NOT_SENT.value) & pl.col("arrival_us").is_not_null()
    )
    delivered = np.isfinite(rows["ttft_ms"].to_numpy())
    waiting = rows["outcome"].is_in(_OPEN).to_numpy() & ~delivered
    if not waiting.any():
        return []
    gone_ms = ((rows["left_us"] - rows["arrival_us"]) / 1000).to_numpy()
    waits = np.where(delivered, rows["ttft_ms"].to_numpy(), gone_ms)
    fates = np.where(delivered, Fate.DELIVERED, np.where(waiting, Fate.IN_FLIGHT, Fate.LOST))
    lost = np.where(delivered, Fate.DELIVERED, Fate.LOST)
    curves = (aalen_johansen(waits, lost), aalen_johansen(waits, fates), kaplan_meier(waits, fates))
    n_lost = int(np.count_nonzero(fates == Fate.LOST))
    return [
        StillWaiting(
            run_id,
            share,
            int(waiting.sum()),
            n_lost,
            *(curve.percentile(share) for curve in curves),
        )
        for share in shares
    ]
