"""What happens along the load: one panel for each quantity, all with the same lines."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from headway.analyses.distribution import Percentile
from headway.analyses.load_curves import TAILS, LoadPoint
from headway.figures import text, theme
from headway.figures.distribution import Figure
from headway.model import Metric

USUAL_TAIL = text.percentile(TAILS[0])
_HEIGHT = 280
_LEGEND_LINE = 26
_LEGEND_COLUMNS = 2
_WITH_LEGEND = ("ttft", "stall")
_NUMBERS = ("load", "completed_rps", "x", "y", "low", "high")


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """A quantity along the load: rows to draw, one a run, and how.

    `lines` are the lines of all panels, so that each keeps its colour. A line joins its points
    where it has one for each load. Rates have the diagonal on which all that is offered is carried.
    """

    name: str
    title: str
    rows: pl.DataFrame
    lines: tuple[str, ...]
    is_latency: bool = False
    is_over_rate: bool = False
    has_diagonal: bool = False

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What the drawing depends on."""
        return self.name, self.title, self.lines, tuple(self.rows.rows())


def panels(points: Sequence[LoadPoint]) -> list[Panel]:
    """Return the panels in reading order: latencies, then rates."""
    ttft, stall = tail_names(points)
    lines = tuple(dict.fromkeys(point.line for point in points))
    carried = [point for point in points if point.completed_rps is not None]
    ttft_title = f"TTFT {ttft} of offered (s)"
    return [
        Panel("ttft", ttft_title, _latencies(points, Metric.TTFT), lines, is_latency=True),
        Panel(
            "stall",
            f"longest stall {stall} of offered (s)",
            _latencies(points, Metric.STALL),
            lines,
            is_latency=True,
        ),
        Panel(
            "ttft-by-rate",
            f"{ttft_title}, against the completed rate",
            _latencies(carried, Metric.TTFT).with_columns(x=pl.col("completed_rps")),
            lines,
            is_latency=True,
            is_over_rate=True,
        ),
        Panel(
            "completed",
            "completed in the window (req/s)",
            _rates(points, "completed_rps"),
            lines,
            has_diagonal=True,
        ),
        Panel(
            "goodput",
            "goodput: met the objective (req/s)",
            _rates(points, "goodput_rps"),
            lines,
            has_diagonal=True,
        ),
        Panel("tokens", "output tok/s in the window", _rates(points, "output_tokens_per_s"), lines),
    ]


def tail_names(points: Sequence[LoadPoint]) -> tuple[str, str]:
    """Return which percentile the tails of TTFT and of the longest stall show."""
    ttft = [p.share for point in points for p in point.ttft.percentiles]
    stall = [p.share for point in points for p in point.stall.percentiles]
    return text.percentile([*ttft, TAILS[0]][0]), text.percentile([*stall, TAILS[0]][0])


def draw(panel: Panel, look: theme.Look) -> Figure:
    """Draw a panel: latencies on a logarithmic axis with their bounds, rates from zero.

    A load at which a percentile is not reached leaves a gap in its line.
    """
    x_title = "completed rate (req/s)" if panel.is_over_rate else "offered load (req/s)"
    base = alt.Chart(panel.rows).encode(
        x=alt.X("x:Q", title=x_title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=8)),
        color=_colour(panel, look),
        tooltip=[alt.Tooltip("run:N"), alt.Tooltip("said:N", title=panel.title)],
    )
    scale = alt.Scale(type="log") if panel.is_latency else alt.Scale(zero=True)
    axis = _log_axis(panel.rows) if panel.is_latency else alt.Axis(format=",~r", tickCount=5)
    y = alt.Y("y:Q", title=None, scale=scale, axis=axis)
    layers: list[alt.Chart] = []
    if panel.has_diagonal:
        layers.append(_diagonal(panel.rows, look))
    if panel.is_latency:
        layers.append(base.mark_rule().encode(y=alt.Y("low:Q", title=None), y2="high:Q"))
    layers.append(
        base.transform_filter("datum.is_joined")
        .mark_line(strokeWidth=2, invalid="break-paths-show-path-domains")
        .encode(y=y, strokeDash=_dash(panel), order="load:Q")
    )
    layers.append(base.mark_point(size=55, filled=True, opacity=1).encode(y=y, shape=_shape(panel)))
    if panel.is_over_rate:
        layers.append(
            base.mark_text(dy=-9, fontSize=10, color=look.muted).encode(
                y=y, text=alt.Text("load:Q", format="~g"), color=alt.value(look.muted)
            )
        )
    return alt.layer(*layers).properties(height=_height(panel), title=panel.title)


def _log_axis(rows: pl.DataFrame) -> alt.Axis:
    """Return an axis with ticks at 1 and 3 of each power of ten that the data spans."""
    shown = pl.concat([rows["y"], rows["low"], rows["high"]]).drop_nulls()
    shown = shown.filter(shown > 0)
    if shown.is_empty():
        return alt.Axis(format="~g")
    logs = shown.log10().to_numpy()
    powers = range(math.floor(logs.min()), math.ceil(logs.max()) + 1)
    ticks = [tick * 10.0**power for power in powers for tick in (1, 3)]
    return alt.Axis(format="~g", values=[t for t in ticks if t <= 10.0 ** powers[-1]])


def _height(panel: Panel) -> int:
    """Return the height of a chart, of which the legend above takes its part."""
    n_legend_lines = -(-len(panel.lines) // _LEGEND_COLUMNS)
    return _HEIGHT + (n_legend_lines * _LEGEND_LINE + 20) * (panel.name in _WITH_LEGEND)


def _latencies(points: Sequence[LoadPoint], metric: Metric) -> pl.DataFrame:
    described = [point.ttft if metric is Metric.TTFT else point.stall for point in points]
    tails = [each.percentiles[-1] if each.percentiles else None for each in described]
    return _frame(
        points,
        [None if tail is None else _seconds(tail.value_ms) for tail in tails],
        [_said(tail) for tail in tails],
        [_bounds(tail) for tail in tails],
    )


def _rates(points: Sequence[LoadPoint], name: str) -> pl.DataFrame:
    values: list[float | None] = [getattr(point, name) for point in points]
    said = ["no rate" if value is None else text.significant(value) for value in values]
    return _frame(points, values, said, [(None, None)] * len(values))


def _frame(
    points: Sequence[LoadPoint],
    values: Sequence[float | None],
    said: Sequence[str],
    bounds: Sequence[tuple[float | None, float | None]],
) -> pl.DataFrame:
    """Return one row a run, each line by itself and in the order of the load."""
    frame = pl.DataFrame(
        {
            "line": [point.line for point in points],
            "run": [point.title for point in points],
            "load": [point.x for point in points],
            "completed_rps": [point.completed_rps for point in points],
            "x": [point.x for point in points],
            "y": values,
            "low": [low for low, _ in bounds],
            "high": [high for _, high in bounds],
            "said": said,
        },
        schema_overrides=dict.fromkeys(_NUMBERS, pl.Float64),
    )
    joined = (pl.col("load").n_unique() == pl.len()).over("line")
    return frame.with_columns(is_joined=joined).sort("line", "load", maintain_order=True)


def _seconds(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms / 1000


def _bounds(tail: Percentile | None) -> tuple[float | None, float | None]:
    """Return from where to where the bounds are drawn; an open bound ends at the value."""
    if tail is None or tail.value_ms is None:
        return None, None
    low = tail.value_ms if tail.low_ms is None else tail.low_ms
    high = tail.value_ms if tail.high_ms is None else tail.high_ms
    return low / 1000, high / 1000


def _said(tail: Percentile | None) -> str:
    if tail is None:
        return text.NOT_RECORDED
    if tail.value_ms is None:
        return f"{text.percentile(tail.share)} not reached"
    low = "no lower bound" if tail.low_ms is None else text.duration(tail.low_ms)
    high = "no upper bound" if tail.high_ms is None else text.duration(tail.high_ms)
    value = f"{text.percentile(tail.share)} {text.duration(tail.value_ms)}"
    return f"{value}; for traffic like this {low} to {high}"


def _diagonal(rows: pl.DataFrame, look: theme.Look) -> alt.Chart:
    """Return the line on which everything offered is carried."""
    most = pl.concat([pl.Series([0.0]), rows["x"].drop_nulls()]).max()
    ends = pl.DataFrame({"x": [0.0, most], "y": [0.0, most]})
    drawn: alt.Chart = (
        alt.Chart(ends)
        .mark_line(color=look.muted, strokeDash=[2, 3], strokeWidth=1.5)
        .encode(x="x:Q", y="y:Q", tooltip=alt.value("completed = offered"))
    )
    return drawn


def _legend(panel: Panel) -> alt.Legend | None:
    """Return the legend of the first two panels, side by side; it is that of the others too."""
    if panel.name not in _WITH_LEGEND:
        return None
    return alt.Legend(
        title=None,
        orient="top",
        columns=_LEGEND_COLUMNS,
        labelLimit=240,
        symbolStrokeWidth=0,
        symbolSize=90,
    )


def _colour(panel: Panel, look: theme.Look) -> alt.Color:
    colours = [look.palette[place % len(look.palette)] for place in range(len(panel.lines))]
    scale = alt.Scale(domain=list(panel.lines), range=colours)
    return alt.Color("line:N", scale=scale, legend=_legend(panel))


def _dash(panel: Panel) -> alt.StrokeDash:
    dashes = [list(theme.DASHES[place % len(theme.DASHES)]) for place in range(len(panel.lines))]
    scale = alt.Scale(domain=list(panel.lines), range=dashes)
    return alt.StrokeDash("line:N", scale=scale, legend=None)


def _shape(panel: Panel) -> alt.Shape:
    shapes = [theme.SYMBOLS[place % 6] for place in range(len(panel.lines))]
    scale = alt.Scale(domain=list(panel.lines), range=shapes)
    return alt.Shape("line:N", scale=scale, legend=_legend(panel))
