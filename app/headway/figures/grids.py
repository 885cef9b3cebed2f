"""Grids of verdict cells: colour, mark and count in each, nothing interpolated between them."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from headway.analyses.acceptance import Asked
from headway.analyses.sensitivity import Cell
from headway.analyses.strata import StratumCell
from headway.figures import text, theme
from headway.figures.distribution import Figure
from headway.figures.verdicts import IN_RUN_MARKS, MARKS, WORDS
from headway.model import Objective
from headway.stats.verdicts import InRun, Verdict

_AXIS = alt.Axis(labelAngle=0, labelOverlap=False, labelLimit=320)
_OF_RUN = {
    InRun.MET: Verdict.ACCEPTED,
    InRun.MISSED: Verdict.REJECTED,
    InRun.OPEN: Verdict.UNDECIDED,
}


def sensitivity(cells: Sequence[Cell], objective: Objective, look: theme.Look) -> Figure:
    """Draw the verdict under every pair of limits; the pair in force is framed."""
    in_force = (objective.ttft_ms, objective.stall_ms or objective.tpot_ms)
    rows = pl.DataFrame(
        {
            "ttft": [text.limit(cell.ttft_ms).replace("\u00a0", " ") for cell in cells],
            "ttft_ms": [cell.ttft_ms for cell in cells],
            "cadence": [text.limit(cell.cadence_ms).replace("\u00a0", " ") for cell in cells],
            "cadence_ms": [cell.cadence_ms for cell in cells],
            "verdict": [WORDS[cell.verdict] for cell in cells],
            "label": [f"{MARKS[cell.verdict]} {cell.n_met / cell.n_offered:.0%}" for cell in cells],
            "n": [f"{cell.n_met:,} of {cell.n_offered:,}" for cell in cells],
            "in_force": [(cell.ttft_ms, cell.cadence_ms) == in_force for cell in cells],
        }
    )
    name = "longest stall" if objective.stall_ms is not None else "mean time per output token"
    return _grid(
        rows,
        alt.X("ttft:N", sort=alt.SortField("ttft_ms"), title="TTFT limit", axis=_AXIS),
        alt.Y(
            "cadence:N",
            sort=alt.SortField("cadence_ms", "descending"),
            title=f"{name} limit",
            axis=_AXIS,
        ),
        look,
        height=300,
    )


def strata(cells: Sequence[StratumCell], asked: Asked, look: theme.Look) -> Figure:
    """Draw the verdict of every run and class, with the share that met and n_eff."""
    found = [_verdict(cell, asked) for cell in cells]
    marks = [
        IN_RUN_MARKS[cell.in_run] if asked is Asked.RUN else MARKS[verdict]
        for cell, verdict in zip(cells, found, strict=True)
    ]
    rows = pl.DataFrame(
        {
            "run": [cell.title for cell in cells],
            "place": list(range(len(cells))),
            "stratum": [cell.stratum for cell in cells],
            "order": [cell.order for cell in cells],
            "verdict": [WORDS[verdict] for verdict in found],
            "label": [_label(mark, cell) for mark, cell in zip(marks, cells, strict=True)],
            "n": [f"{cell.n_met:,} of {cell.n_offered:,}" for cell in cells],
            "in_force": [False for _ in cells],
        }
    )
    n_runs = len({cell.title for cell in cells})
    return _grid(
        rows,
        alt.X("stratum:N", sort=alt.SortField("order"), title=None, axis=_AXIS),
        alt.Y("run:N", sort=alt.SortField("place"), title=None, axis=_AXIS),
        look,
        height=60 + 26 * n_runs,
    )


def _verdict(cell: StratumCell, asked: Asked) -> Verdict:
    if asked is Asked.RUN:
        return _OF_RUN[cell.in_run]
    return cell.workload.verdict if asked is Asked.WORKLOAD else cell.traffic.verdict


def _label(mark: str, cell: StratumCell) -> str:
    effective = "" if cell.n_eff is None else f"  n_eff {cell.n_eff:.0f}"
    return f"{mark} {text.share(cell.n_met / cell.n_offered)}{effective}"


def _grid(rows: pl.DataFrame, x: alt.X, y: alt.Y, look: theme.Look, height: int) -> Figure:
    colours = {
        WORDS[Verdict.ACCEPTED]: look.palette[2],
        WORDS[Verdict.UNDECIDED]: look.band,
        WORDS[Verdict.REJECTED]: look.palette[1],
    }
    base = alt.Chart(rows).encode(
        x=x,
        y=y,
        tooltip=[alt.Tooltip("verdict:N"), alt.Tooltip("n:N", title="met, of offered")],
    )
    cells = base.mark_rect(opacity=0.55, stroke=look.paper, strokeWidth=2).encode(
        color=alt.Color(
            "verdict:N",
            scale=alt.Scale(domain=list(colours), range=list(colours.values())),
            legend=alt.Legend(title=None, orient="top"),
        )
    )
    frame = base.transform_filter("datum.in_force").mark_rect(
        fillOpacity=0, stroke=look.ink, strokeWidth=2.5
    )
    labels = base.mark_text(fontSize=12, color=look.ink).encode(text="label:N")
    layers = [cells, frame, labels] if rows["in_force"].any() else [cells, labels]
    return alt.layer(*layers).properties(height=height)
