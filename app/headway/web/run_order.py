"""The runs of a comparison in the order they were made."""

import polars as pl
import streamlit as st

from headway.analyses import run_order
from headway.analyses.comparison import Comparison
from headway.analyses.run_order import Placed
from headway.catalog import Catalog
from headway.figures import text
from headway.model import Metric
from headway.web import parts, state

_MEDIANS = {
    Metric.TTFT: "TTFT p50",
    Metric.TPOT: "time per output token p50",
    Metric.STALL: "longest stall p50",
}


def table(found: Comparison) -> None:
    """List the runs of both sides by time where a side has replicates, so that drift shows."""
    sides = {"A": found.question.a, "B": found.question.b}
    labels = {run.run_id: label for label, side in sides.items() for run in side.runs}
    if found.is_same_run or len(labels) <= len(sides):
        return
    st.subheader("Runs in the order they were made")
    runs = [run for side in sides.values() for run in side.runs]
    placed = state.analysed(_placed, tuple(run.run_id for run in runs))
    if not placed:
        st.caption("Not recorded when the runs were made: a drift of the machine would not show.")
        return
    parts.table(pl.DataFrame([_row(each, labels[each.run.run_id]) for each in placed]))
    st.caption(
        "Of the requests offered, over each whole run. Where a side is better early or late "
        "rather than throughout, the machine may have changed and not the policy."
    )


def _placed(catalog: Catalog, run_ids: tuple[str, ...]) -> tuple[Placed, ...]:
    return run_order.in_order(catalog, [catalog.runs[run_id] for run_id in run_ids])


def _row(each: Placed, side: str) -> dict[str, str]:
    known = {
        name: "not reached"
        if each.medians_ms.get(metric) is None
        else text.duration(each.medians_ms[metric])
        for metric, name in _MEDIANS.items()
    }
    run = each.run
    return {
        "order": f"{each.place}",
        "started (UTC)": text.moment(run.started_at),
        "side": side,
        "replicate": "–" if run.replicate is None else f"{run.replicate}",
        "completed": f"{each.n_completed:,} of {run.n_offered:,}",
        **known,
    }
