"""Where does a higher load buy throughput with requests that nobody would accept?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from headway.analyses import measured, rates
from headway.analyses.acceptance import Judged
from headway.analyses.envelope import Envelope
from headway.catalog import Catalog
from headway.model import Selection

_LEAST_DROP = 0.01


@dataclass(frozen=True, slots=True)
class Trade:
    """Two neighbouring tested loads: what the higher one gains in tokens and loses in requests.

    Changes are relative; `window_change` is None where the window has no rate. Shares are of the
    offered requests that met the objective.
    """

    line: str
    low: float
    high: float
    makespan_change: float
    window_change: float | None
    share_low: float
    share_high: float


def trades(catalog: Catalog, selection: Selection, found: Sequence[Envelope]) -> list[Trade]:
    """Return, for every envelope that has one, the step that costs most acceptable requests.

    Only steps that raise the output tokens per second over the makespan count: the headline rises
    while the service gets worse. Envelopes come in order of the loss, the greatest first.
    """
    run_ids = tuple(run.run_id for each in found for judged in each.judged for run in judged.runs)
    rows = measured.row_of_each(catalog, "rates/makespan", run_ids)
    makespan = {run_id: row.get("output_tokens_per_s") for run_id, row in rows.items()}
    chosen = Selection(run_ids, selection.window, origin=selection.origin)
    window = {
        run_id: rate.output_tokens_per_s for run_id, rate in rates.rates(catalog, chosen).items()
    }
    worst = [_worst(each, makespan, window) for each in found]
    return sorted(
        (trade for trade in worst if trade is not None),
        key=lambda trade: trade.share_high - trade.share_low,
    )


def _worst(
    each: Envelope, makespan: dict[str, float | None], window: dict[str, float | None]
) -> Trade | None:
    on_axis = [judged for judged in each.judged if judged.x is not None]
    steps = [_trade(each.line, low, high, makespan, window) for low, high in pairwise(on_axis)]
    costly = [
        step
        for step in steps
        if step is not None
        and step.makespan_change > 0
        and step.share_low - step.share_high > _LEAST_DROP
    ]
    return min(costly, key=lambda step: step.share_high - step.share_low, default=None)


def _trade(
    line: str,
    low: Judged,
    high: Judged,
    makespan: dict[str, float | None],
    window: dict[str, float | None],
) -> Trade | None:
    over_makespan = _change(makespan, low, high)
    if over_makespan is None:
        return None
    return Trade(
        line=line,
        low=low.x or 0.0,
        high=high.x or 0.0,
        makespan_change=over_makespan,
        window_change=_change(window, low, high),
        share_low=low.n_met / low.n_offered if low.n_offered else 0.0,
        share_high=high.n_met / high.n_offered if high.n_offered else 0.0,
    )


def _change(rate: dict[str, float | None], low: Judged, high: Judged) -> float | None:
    before, after = rate.get(low.run.run_id), rate.get(high.run.run_id)
    return after / before - 1 if before and after is not None else None
