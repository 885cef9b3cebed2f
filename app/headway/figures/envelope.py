"""The acceptance envelope over load: strips with the verdict of every tested load."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt
import polars as pl

from headway.analyses.acceptance import Asked
from headway.analyses.envelope import CONCURRENCY, Envelope
from headway.figures import theme
from headway.figures.distribution import Figure
from headway.figures.verdicts import MARKS, WORDS
from headway.numbers import brief
from headway.stats.verdicts import Verdict

_TESTED = {
    Verdict.ACCEPTED: "accepted",
    Verdict.UNDECIDED: "not enough evidence",
    Verdict.REJECTED: "rejected",
}
NOT_TESTED = "not tested"
UNSURE = "not tested: the edge lies here"
SELECTED = "mark"
_ROW_HEIGHT = 58


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a strip: round a tested load with its verdict, or between two, where it is None.

    `is_edge` marks what lies between the last accepted and the first rejected load.
    """

    start: float
    end: float
    verdict: Verdict | None
    is_edge: bool = False


def stretches(each: Envelope) -> list[Stretch]:
    """Return the tested loads of an envelope, each a short stretch, and what lies between them.

    A stretch reaches at most a third of the way to its neighbours, and no further than a
    fortieth of the greatest load: what was not tested keeps the most of the strip.
    """
    tested = sorted(load for load in each.verdicts if load != float("inf"))
    most = tested[-1] / 40 if tested else 0.0
    gaps = [after - before for before, after in pairwise(tested)]
    found: list[Stretch] = []
    for place, load in enumerate(tested):
        near = [gap / 3 for gap in gaps[max(place - 1, 0) : place + 1]]
        reach = min([most, *near])
        if found:
            before = tested[place - 1]
            found.append(Stretch(found[-1].end, load - reach, None, _is_edge(each, before, load)))
        found.append(Stretch(load - reach, load + reach, each.verdicts[load]))
    return found


def _is_edge(each: Envelope, before: float, after: float) -> bool:
    low, high = each.bracket.last_accepted, each.bracket.first_rejected
    return low is not None and high is not None and low <= before and after <= high


def strips(found: Sequence[Envelope], asked: Asked, look: theme.Look) -> Figure:
    """Draw one strip per configuration, with the verdict of every tested load on it.

    A mark can be chosen: the selection `SELECTED` has its `run_id`.
    """
    axis = "concurrency" if found and found[0].axis == CONCURRENCY else "offered load (req/s)"
    y = alt.Y(
        "line:N", title=None, sort=[each.line for each in found], axis=alt.Axis(labelLimit=320)
    )
    colours = _colours(look)
    kinds = alt.Scale(domain=list(colours), range=list(colours.values()))
    layers = [*_strip(_pieces(found), axis, y, kinds), *_mark(_marks(found, asked), y, kinds, look)]
    return alt.layer(*layers).properties(height=90 + _ROW_HEIGHT * len(found))


def _strip(pieces: pl.DataFrame, axis: str, y: alt.Y, kinds: alt.Scale) -> list[alt.Chart]:
    """Draw what was tested as bars, and what was not as lines between them."""
    base = alt.Chart(pieces).encode(
        x=alt.X("start:Q", title=axis, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=8)),
        x2="end:Q",
        y=y,
        tooltip=[alt.Tooltip("said:N", title="load"), alt.Tooltip("kind:N", title="verdict")],
    )
    untested = [NOT_TESTED, UNSURE]
    dashes = alt.Scale(domain=untested, range=[[2, 3], [7, 4]])
    widths = alt.Scale(domain=untested, range=[1, 3])
    between = (
        base.transform_filter("!datum.is_tested")
        .mark_rule()
        .encode(
            stroke=alt.Stroke("kind:N", scale=kinds, legend=None),
            strokeDash=alt.StrokeDash("kind:N", scale=dashes, legend=None),
            strokeWidth=alt.StrokeWidth("kind:N", scale=widths, legend=None),
        )
    )
    tested = (
        base.transform_filter("datum.is_tested")
        .mark_bar(opacity=0.6, height=alt.RelativeBandSize(band=0.55))
        .encode(fill=alt.Fill("kind:N", scale=kinds, legend=None))
    )
    return [between, tested]


def _mark(marks: pl.DataFrame, y: alt.Y, kinds: alt.Scale, look: theme.Look) -> list[alt.Chart]:
    """Draw each judged run as a disc with the sign of its verdict."""
    runs = alt.Chart(marks).encode(
        x="x:Q",
        y=y,
        tooltip=[
            alt.Tooltip("run:N"),
            alt.Tooltip("met:N", title="met"),
            alt.Tooltip("verdict:N"),
        ],
    )
    discs = runs.mark_point(size=480, filled=True, fill=look.paper, opacity=1)
    signs = runs.mark_text(fontSize=15, color=look.ink).encode(text="mark:N")
    # The ring lies on top, so that a click anywhere on the mark chooses it.
    rings = (
        runs.mark_point(size=480, strokeWidth=2, fill="transparent", opacity=1, cursor="pointer")
        .encode(stroke=alt.Stroke("kind:N", scale=kinds, legend=None))
        .add_params(alt.selection_point(name=SELECTED, fields=["run_id"]))
    )
    return [discs, signs, rings]


def _pieces(found: Sequence[Envelope]) -> pl.DataFrame:
    """Return the stretches of every strip, one a row."""
    rows = [(each.line, piece) for each in found for piece in stretches(each)]
    return pl.DataFrame(
        {
            "line": [line for line, _ in rows],
            "start": [piece.start for _, piece in rows],
            "end": [piece.end for _, piece in rows],
            "kind": [_kind(piece) for _, piece in rows],
            "is_tested": [piece.verdict is not None for _, piece in rows],
            "said": [_load(piece) for _, piece in rows],
        },
        schema_overrides={"start": pl.Float64, "end": pl.Float64},
    )


def _kind(piece: Stretch) -> str:
    if piece.verdict is not None:
        return _TESTED[piece.verdict]
    return UNSURE if piece.is_edge else NOT_TESTED


def _load(piece: Stretch) -> str:
    if piece.verdict is not None:
        return brief((piece.start + piece.end) / 2)
    return f"{brief(piece.start)} to {brief(piece.end)}"


def _marks(found: Sequence[Envelope], asked: Asked) -> pl.DataFrame:
    """Return the judged runs, or sets of replicates, that have a load on the axis."""
    tested = [
        (each.line, judged, judged.verdict(asked))
        for each in found
        for judged in each.judged
        if judged.x is not None
    ]
    return pl.DataFrame(
        {
            "line": [line for line, _, _ in tested],
            "x": [judged.x for _, judged, _ in tested],
            "mark": [MARKS[verdict] for _, _, verdict in tested],
            "kind": [_TESTED[verdict] for _, _, verdict in tested],
            "verdict": [WORDS[verdict] for _, _, verdict in tested],
            "run": [judged.title for _, judged, _ in tested],
            "met": [f"{judged.n_met:,} of {judged.n_offered:,}" for _, judged, _ in tested],
            "run_id": [judged.run.run_id for _, judged, _ in tested],
        },
        schema_overrides={"x": pl.Float64},
    )


def _colours(look: theme.Look) -> dict[str, str]:
    """Return blue-green for accepted, orange for rejected, grey for neither."""
    return {
        _TESTED[Verdict.ACCEPTED]: look.palette[2],
        _TESTED[Verdict.UNDECIDED]: look.band,
        _TESTED[Verdict.REJECTED]: look.palette[1],
        NOT_TESTED: look.muted,
        UNSURE: look.ink,
    }


def is_on_axis(each: Envelope) -> bool:
    """Tell whether an envelope has any load to stand on."""
    return any(judged.x is not None for judged in each.judged)
