"""The acceptance envelope over load: verdict strips, and what happens along the load axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from headway.analyses.acceptance import Asked
from headway.analyses.distribution import Percentile
from headway.analyses.envelope import CONCURRENCY, Envelope
from headway.analyses.load_curves import TAILS, LoadPoint
from headway.figures import text, theme
from headway.figures.verdicts import MARKS, WORDS
from headway.model import Metric
from headway.numbers import brief
from headway.stats.verdicts import Verdict

_TESTED = {
    # Colour, hatch and words: a verdict is never told by its colour alone.
    Verdict.ACCEPTED: ("accepted", ""),
    Verdict.UNDECIDED: ("not enough evidence", "/"),
    Verdict.REJECTED: ("rejected", "x"),
}
Trace = dict[str, Any]

NOT_TESTED = "not tested"
UNSURE = "not tested: the edge lies here"
_ROW_HEIGHT = 58
_LOG_TICKS = [m * 10.0**k for k in range(-4, 5) for m in (1, 3)]


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


def strips(found: Sequence[Envelope], asked: Asked, look: theme.Look) -> go.Figure:
    """Draw one strip per configuration, with the verdict of every tested load on it."""
    traces: list[Trace] = []
    seen: set[str] = set()
    for each in found:
        for stretch in stretches(each):
            trace = (
                _tested(each, stretch, look) if stretch.verdict else _between(each, stretch, look)
            )
            traces.append(trace | {"showlegend": trace["name"] not in seen})
            seen.add(trace["name"])
    traces += [_marks(found, asked, verdict, look) for verdict in Verdict]
    axis = "concurrency" if found and found[0].axis == CONCURRENCY else "offered load (req/s)"
    layout = {
        "height": 110 + _ROW_HEIGHT * len(found),
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "barmode": "overlay",
        "bargap": 0.45,
        "hovermode": "closest",
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "xaxis": {"title": axis, "rangemode": "tozero"},
        "yaxis": {"autorange": "reversed", "type": "category"},
    }
    return go.Figure(traces, layout)


def _scatter(**said: Any) -> Trace:
    """Return a trace as plain values: the figure checks them all at once, which is quicker."""
    return {"type": "scatter"} | said


def _bar(**said: Any) -> Trace:
    return {"type": "bar"} | said


def _tested(each: Envelope, stretch: Stretch, look: theme.Look) -> Trace:
    """Return the stretch round a tested load, in the colour and hatch of its verdict."""
    verdict = stretch.verdict or Verdict.UNDECIDED
    name, hatch = _TESTED[verdict]
    return _bar(
        x=[stretch.end - stretch.start],
        base=[stretch.start],
        y=[text.plain(each.line)],
        orientation="h",
        name=name,
        legendgroup=name,
        opacity=0.6,
        marker={
            "color": _colour(verdict, look),
            "pattern": {
                "shape": hatch,
                "bgcolor": _colour(verdict, look),
                "fgcolor": look.ink,
                "fgopacity": 0.5,
                "size": 7,
            },
        },
        hovertemplate=f"{name} at {(stretch.start + stretch.end) / 2:g}<extra></extra>",
    )


def _between(each: Envelope, stretch: Stretch, look: theme.Look) -> Trace:
    """Return a thin line where nothing was tested; dashed where the edge must lie."""
    name = UNSURE if stretch.is_edge else NOT_TESTED
    return _scatter(
        x=[stretch.start, stretch.end],
        y=[text.plain(each.line)] * 2,
        mode="lines",
        name=name,
        legendgroup=name,
        line={
            "color": look.ink if stretch.is_edge else look.muted,
            "dash": "dash" if stretch.is_edge else "dot",
            "width": 3 if stretch.is_edge else 1,
        },
        hovertemplate=f"{name}, {brief(stretch.start)} to {brief(stretch.end)}<extra></extra>",
    )


def _colour(verdict: Verdict, look: theme.Look) -> str:
    """Return blue-green for accepted, orange for rejected, grey for neither."""
    return {
        Verdict.ACCEPTED: look.palette[2],
        Verdict.REJECTED: look.palette[1],
        Verdict.UNDECIDED: look.band,
    }[verdict]


def _marks(found: Sequence[Envelope], asked: Asked, verdict: Verdict, look: theme.Look) -> Trace:
    tested = [
        (each.line, judged)
        for each in found
        for judged in each.judged
        if judged.x is not None and judged.verdict(asked) is verdict
    ]
    return _scatter(
        x=[judged.x for _, judged in tested],
        y=[text.plain(line) for line, _ in tested],
        mode="markers+text",
        text=[MARKS[verdict]] * len(tested),
        textfont={"size": 15, "color": look.ink},
        textposition="middle center",
        marker={
            "size": 24,
            "color": look.paper,
            "line": {"width": 2, "color": _colour(verdict, look)},
        },
        name=f"{MARKS[verdict]} {WORDS[verdict]}",
        showlegend=bool(tested),
        customdata=[
            [text.plain(judged.title), judged.n_met, judged.n_offered, judged.run.run_id]
            for _, judged in tested
        ],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]:,} of %{customdata[2]:,} met"
        f"<br>{WORDS[verdict]}<extra></extra>",
    )


USUAL_TAIL = text.percentile(TAILS[0])


def along_load(points: Sequence[LoadPoint], look: theme.Look) -> go.Figure:
    """Draw what changes with the load, and latency against what was really carried."""
    ttft, stall = tail_names(points)
    traces: list[Trace] = []
    for place, line in enumerate(dict.fromkeys(point.line for point in points)):
        mine = sorted((p for p in points if p.line == line), key=lambda p: p.x)
        # In the order of the load, so a server that carries less when offered more bends back.
        carried = [point for point in mine if point.completed_rps is not None]
        traces.append(_tail(mine, Metric.TTFT, place, look) | _in_panel(1))
        traces.append(_tail(mine, Metric.STALL, place, look) | _in_panel(2))
        if carried:
            traces.append(_hockey_stick(carried, place, look) | _in_panel(3))
        traces.append(_rate(mine, "completed_rps", place, look) | _in_panel(4))
        traces.append(_rate(mine, "goodput_rps", place, look) | _in_panel(5))
        traces.append(_rate(mine, "output_tokens_per_s", place, look) | _in_panel(6))
    most = max((point.x for point in points), default=1.0)
    traces += [_diagonal(most, look) | _in_panel(panel) for panel in (4, 5)]
    figure = go.Figure(traces, _panels())
    titles = (
        f"TTFT {ttft} of offered (s)",
        f"longest stall {stall} of offered (s)",
        f"TTFT {ttft} of offered (s), against the completed rate",
        "completed in the window (req/s)",
        "goodput: met the objective (req/s)",
        "output tok/s in the window",
    )
    for annotation, title in zip(figure.layout.annotations, titles, strict=True):
        annotation.text = title
    return figure


def _in_panel(number: int) -> Trace:
    """Return the axes of a panel, counted from 1, row by row."""
    which = "" if number == 1 else number
    return {"xaxis": f"x{which}", "yaxis": f"y{which}"}


@cache
def _panels() -> dict[str, Any]:
    """Return the layout of the panels: latencies are logarithmic, rates start at zero.

    It is the same for all data, and takes longer to make than the chart.
    """
    figure = make_subplots(
        rows=3,
        cols=2,
        vertical_spacing=0.12,
        horizontal_spacing=0.09,
        subplot_titles=[f"{panel}" for panel in range(1, 7)],
    )
    figure.update_xaxes(title="offered load (req/s)", rangemode="tozero")
    figure.update_xaxes(title="completed rate (req/s)", row=2, col=1)
    figure.update_yaxes(rangemode="tozero")
    for row, column in ((1, 1), (1, 2), (2, 1)):
        figure.update_yaxes(type="log", tickvals=_LOG_TICKS, tickformat="~g", row=row, col=column)
    figure.update_layout(
        height=860,
        margin={"l": 10, "r": 10, "t": 60, "b": 10},
        legend={"orientation": "h", "y": 1.05, "yanchor": "bottom"},
        hovermode="closest",
    )
    layout: dict[str, Any] = figure.layout.to_plotly_json()
    del layout["template"]  # the usual one, which every figure gets
    return layout


def tail_names(points: Sequence[LoadPoint]) -> tuple[str, str]:
    """Return which percentile the tails of TTFT and of the longest stall show."""
    ttft = [p.share for point in points for p in point.ttft.percentiles]
    stall = [p.share for point in points for p in point.stall.percentiles]
    return text.percentile([*ttft, TAILS[0]][0]), text.percentile([*stall, TAILS[0]][0])


def _hockey_stick(points: Sequence[LoadPoint], place: int, look: theme.Look) -> Trace:
    """Draw the TTFT tail against the completed rate; each point says which load it was."""
    trace = _tail(points, Metric.TTFT, place, look)
    loads = [f"{point.x:g}" for point in points]
    return trace | {
        "x": [point.completed_rps for point in points],
        "mode": "lines+markers+text",
        "text": loads,
        "textposition": "top center",
        "textfont": {"size": 10, "color": look.muted},
        "showlegend": False,
    }


def _style(place: int, look: theme.Look) -> dict[str, object]:
    colour = look.palette[place % len(look.palette)]
    return {
        "line": {"color": colour, "dash": theme.PLOTLY_DASHES[place % 6], "width": 2},
        "marker": {"symbol": theme.SYMBOLS[place % 6], "size": 8, "color": colour},
    }


def _tail(points: Sequence[LoadPoint], metric: Metric, place: int, look: theme.Look) -> Trace:
    """Draw a percentile with its bounds; a load where it is not reached has a gap in the line."""
    described = [point.ttft if metric is Metric.TTFT else point.stall for point in points]
    tails = [each.percentiles[-1] if each.percentiles else None for each in described]
    values = [_seconds(tail.value_ms) if tail else None for tail in tails]
    upper = [_seconds(tail.high_ms) if tail else None for tail in tails]
    lower = [_seconds(tail.low_ms) if tail else None for tail in tails]
    joined = len({point.x for point in points}) == len(points)
    return _scatter(
        x=[point.x for point in points],
        y=values,
        mode="lines+markers" if joined else "markers",
        name=text.plain(points[0].line),
        legendgroup=points[0].line,
        showlegend=metric is Metric.TTFT,
        connectgaps=False,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [_above(v, u) for v, u in zip(values, upper, strict=True)],
            "arrayminus": [_above(low, v) for v, low in zip(values, lower, strict=True)],
            "thickness": 1,
            "width": 3,
        },
        customdata=[
            [text.plain(point.title), _said(tail)]
            for point, tail in zip(points, tails, strict=True)
        ],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}<extra></extra>",
        **_style(place, look),
    )


def _seconds(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms / 1000


def _above(low: float | None, high: float | None) -> float:
    return 0.0 if low is None or high is None else high - low


def _said(tail: Percentile | None) -> str:
    if tail is None:
        return text.NOT_RECORDED
    if tail.value_ms is None:
        return f"{text.percentile(tail.share)} not reached"
    low = "no lower bound" if tail.low_ms is None else text.duration(tail.low_ms)
    high = "no upper bound" if tail.high_ms is None else text.duration(tail.high_ms)
    value = f"{text.percentile(tail.share)} {text.duration(tail.value_ms)}"
    return f"{value}; for traffic like this {low} to {high}"


def _rate(points: Sequence[LoadPoint], name: str, place: int, look: theme.Look) -> Trace:
    joined = len({point.x for point in points}) == len(points)
    return _scatter(
        x=[point.x for point in points],
        y=[getattr(point, name) for point in points],
        mode="lines+markers" if joined else "markers",
        name=text.plain(points[0].line),
        legendgroup=points[0].line,
        showlegend=False,
        customdata=[[text.plain(point.title)] for point in points],
        hovertemplate="%{customdata[0]}<br>%{y:,.4g}<extra></extra>",
        **_style(place, look),
    )


def _diagonal(most: float, look: theme.Look) -> Trace:
    """Return the line on which everything offered is carried, as a trace that follows the theme."""
    return _scatter(
        x=[0, most],
        y=[0, most],
        mode="lines",
        line={"color": look.muted, "dash": "dot", "width": 1.5},
        name="all that is offered",
        legendgroup="diagonal",
        showlegend=False,
        hovertemplate="completed = offered<extra></extra>",
    )


def is_on_axis(each: Envelope) -> bool:
    """Tell whether an envelope has any load to stand on."""
    return any(judged.x is not None for judged in each.judged)
