"""The study at a glance: a share of the offered requests by offered load, one line per policy."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from headway.figures import text, theme

_LABEL_GAP = 0.06
_HIGHEST_LABEL = 1.09  # just inside the plot, whose axis ends at 1.12
_MOST_LABELS = 5
_LONGEST_LABEL = 24


@dataclass(frozen=True, slots=True)
class Mark:
    """One run on the chart: where it stands, and the counts behind its share."""

    run_id: str
    policy: str
    x: float
    share: float
    n: int
    n_offered: int
    name: str
    missed: bool = False
    solid: bool = True


def shares_by_load(
    marks: Sequence[Mark],
    x_title: str,
    y_title: str,
    look: theme.Look,
    target: float | None = None,
) -> go.Figure:
    """Draw each policy's share against its load; only tested loads carry a mark.

    A line joins a policy's marks where it has one run per load; replicates stand as marks alone.
    """
    figure = go.Figure()
    policies = list(dict.fromkeys(mark.policy for mark in marks))
    ends = []
    for place, policy in enumerate(policies):
        mine = sorted((m for m in marks if m.policy == policy), key=lambda m: (m.x, m.share))
        ends.append((mine[-1].x, mine[-1].share))
        figure.add_trace(_line(policy, mine, place, look))
    direct = len(policies) <= _MOST_LABELS and max(map(len, policies), default=0) <= _LONGEST_LABEL
    for place, (x, y) in enumerate(spread(ends) if direct else ()):
        figure.add_trace(_label(policies[place], x, y, place, look))
    if target is not None and marks:
        figure.add_trace(_target([mark.x for mark in marks], target, look))
    figure.update_layout(
        height=330,
        margin={"l": 10, "r": 150 if direct else 10, "t": 12, "b": 10},
        showlegend=not direct,
        legend={"orientation": "h", "y": 1.04, "yanchor": "bottom"},
        hovermode="closest",
        xaxis={"title": x_title, "rangemode": "tozero", "tickvals": _ticks(marks)},
        yaxis={"title": y_title, "tickformat": ".0%", "range": [-0.04, 1.12]},
    )
    return figure


def _ticks(marks: Sequence[Mark]) -> list[float]:
    return sorted({mark.x for mark in marks})


def _line(policy: str, marks: Sequence[Mark], place: int, look: theme.Look) -> go.Scatter:
    colour = look.palette[place % len(look.palette)]
    joined = len({mark.x for mark in marks}) == len(marks)
    return go.Scatter(
        x=[mark.x for mark in marks],
        y=[mark.share for mark in marks],
        mode="lines+markers" if joined else "markers",
        name=text.plain(policy),
        cliponaxis=False,
        line={"color": colour, "dash": theme.PLOTLY_DASHES[place % 6], "width": 2.5},
        marker={
            "symbol": [_symbol(mark, theme.SYMBOLS[place % 6]) for mark in marks],
            "size": 10,
            "color": colour,
            "line": {"width": 2.5, "color": colour},
        },
        customdata=[[text.plain(m.name), text.count(m.n), text.count(m.n_offered)] for m in marks],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]} of %{customdata[2]} offered"
        "<br>%{y:.1%}<extra></extra>",
    )


def _symbol(mark: Mark, symbol: str) -> str:
    if mark.missed:
        return "x"
    return symbol if mark.solid else f"{symbol}-open"


def spread(ends: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return places for labels at line ends, moved apart where lines end at the same load."""
    placed = dict(enumerate(ends))
    for x in {x for x, _ in ends}:
        upwards = sorted((p for p in placed if ends[p][0] == x), key=lambda p: ends[p][1])
        lowest, highest = -1.0, _HIGHEST_LABEL + _LABEL_GAP
        for place in upwards:
            lowest = max(ends[place][1], lowest + _LABEL_GAP)
            placed[place] = (x, lowest)
        for place in reversed(upwards):
            highest = min(placed[place][1], highest - _LABEL_GAP)
            placed[place] = (x, highest)
    return [placed[place] for place in range(len(ends))]


def _label(policy: str, x: float, y: float, place: int, look: theme.Look) -> go.Scatter:
    return go.Scatter(
        x=[x],
        y=[y],
        mode="text",
        text=[f"   {text.plain(policy)}"],
        textposition="middle right",
        textfont={"color": look.palette[place % len(look.palette)], "size": 13},
        cliponaxis=False,
        hoverinfo="skip",
    )


def _target(xs: Sequence[float], target: float, look: theme.Look) -> go.Scatter:
    """Return the share to reach as a trace: layout shapes do not follow the dark theme."""
    return go.Scatter(
        x=[0, max(xs)],
        y=[target, target],
        mode="lines+text",
        text=[f"target: {text.share(target)}", ""],
        textposition="bottom right",
        textfont={"color": look.muted, "size": 12},
        line={"color": look.muted, "dash": "dash", "width": 1.5},
        hoverinfo="skip",
        name="target share",
    )
