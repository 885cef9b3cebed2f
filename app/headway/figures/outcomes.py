"""What became of the requests of every run, as shares of those offered."""

from collections.abc import Sequence

import plotly.graph_objects as go

from headway.analyses.load_curves import LoadPoint
from headway.figures import text, theme
from headway.model import Outcome

_SHADES = {
    Outcome.COMPLETED: 2,
    Outcome.TRUNCATED: 3,
    Outcome.REJECTED: 1,
    Outcome.TIMED_OUT: 4,
    Outcome.CANCELLED: 5,
    Outcome.FAILED: 0,
}


def bars(points: Sequence[LoadPoint], look: theme.Look) -> go.Figure:
    """Draw the shares of the outcomes of every run, each bar the whole of what was offered."""
    shown = [o for o in Outcome if any(point.shares[o] for point in points)]
    traces = []
    for outcome in shown:
        shade = _SHADES.get(outcome)
        traces.append(
            go.Bar(
                y=[text.plain(point.title) for point in points],
                x=[point.shares[outcome] for point in points],
                orientation="h",
                name=text.outcome(outcome),
                marker={
                    "color": look.band if shade is None else look.palette[shade],
                    "pattern": {"shape": "" if outcome is Outcome.COMPLETED else "/"},
                },
                hovertemplate="%{y}: %{x:.1%} " + text.outcome(outcome) + "<extra></extra>",
            )
        )
    layout = {
        "barmode": "stack",
        "height": 90 + 26 * len(points),
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
        "xaxis": {"tickformat": ".0%", "range": [0, 1], "title": "share of offered requests"},
        "yaxis": {"autorange": "reversed", "type": "category"},
    }
    return go.Figure(traces, layout)
