"""Distributions: the share of requests delivered by a time, and the tail, both on a log axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt
import polars as pl

from headway.figures import text, theme
from headway.model import Metric

Figure = alt.Chart | alt.LayerChart | alt.FacetChart

_HEIGHT = 400
_MOST_ABOVE = 6
_LEGEND_LINE = 21
_WORDS = {
    "offered": "offered requests",
    "completed": "completed requests",
    "source": "requests the tool counts as good",
}


@dataclass(frozen=True, slots=True)
class Labels:
    """What the axes say: the metric, the population, the origin, and the unit counted."""

    metric: str
    population: str
    origin: str


def population(basis: str, *, gaps: bool) -> str:
    """Return what a share is of, in words."""
    return f"gaps of {_WORDS[basis]}" if gaps else _WORDS[basis]


def ecdf(
    points: pl.DataFrame,
    series: Sequence[theme.Series],
    labels: Labels,
    look: theme.Look,
    limit_ms: float | None = None,
) -> Figure:
    """Draw the share of the population delivered within x; a curve below 100% ends in a plateau.

    Parameters
    ----------
    points
        Rows of the query distribution/ecdf, with the series' name in `series`, and one closing
        row per curve that carries the plateau to the right edge (`label` says what is missing).
    """
    y = alt.Y(
        "share:Q",
        title=f"share of {labels.population}",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 0.9, 1]),
    )
    return _chart(points, series, labels, look, limit_ms, y, "step-after")


def tail(
    points: pl.DataFrame,
    series: Sequence[theme.Series],
    labels: Labels,
    look: theme.Look,
    limit_ms: float | None = None,
) -> Figure:
    """Draw the share of the population at or beyond x, both axes logarithmic."""
    y = alt.Y(
        "share_at_least:Q",
        title=f"share of {labels.population} at or beyond",
        scale=alt.Scale(type="log", domainMax=1),
        axis=alt.Axis(format="~%", values=[1, 0.5, 0.1, 0.05, 0.01, 0.001, 0.0001]),
    )
    return _chart(points, series, labels, look, limit_ms, y, "step-before")


def _chart(
    points: pl.DataFrame,
    series: Sequence[theme.Series],
    labels: Labels,
    look: theme.Look,
    limit_ms: float | None,
    y: alt.Y,
    interpolate: Literal["step-after", "step-before"],
) -> Figure:
    base = alt.Chart().encode(
        x=alt.X(
            "drawn_ms:Q",
            title=f"{labels.metric} (ms, log scale){labels.origin}",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(format=",~r", labelOverlap=True),
        ),
        y=y,
        color=_colour(series, look),
        strokeDash=_dash(series),
        order="n_at_most:Q",
        tooltip=_tooltip(labels),
    )
    layers = [
        base.mark_line(interpolate=interpolate, strokeWidth=2),
        base.transform_filter("datum.label != null")
        .mark_text(align="right", dy=-9, fontSize=12, fontWeight="bold")
        .encode(text="label:N"),
    ]
    if limit_ms is not None:
        layers.append(_limit(limit_ms, look))
    layered = alt.layer(*layers, data=points)
    panels = points["stratum"].unique(maintain_order=True).to_list()
    if len(panels) <= 1:
        return layered.properties(height=max(_HEIGHT, _LEGEND_LINE * len(series)))
    return layered.properties(height=_HEIGHT // 2, width=420).facet(
        facet=alt.Facet("stratum:N", title=None, sort=panels), columns=2
    )


def _colour(series: Sequence[theme.Series], look: theme.Look) -> alt.Color:
    return alt.Color(
        "series:N",
        scale=alt.Scale(
            domain=[each.name for each in series], range=theme.colours(series, look.palette)
        ),
        legend=_legend(len(series)),
    )


def _legend(n_series: int) -> alt.Legend:
    """Return the legend: above the chart for a few curves, beside it for many."""
    many = n_series > _MOST_ABOVE
    return alt.Legend(
        title=None,
        orient="right" if many else "top",
        columns=1 if many else 2,
        labelLimit=480,
        symbolType="stroke",
        symbolSize=500,
    )


def _dash(series: Sequence[theme.Series]) -> alt.StrokeDash:
    dashes = [list(theme.DASHES[place % len(theme.DASHES)]) for place in theme.places(series)]
    return alt.StrokeDash(
        "series:N",
        scale=alt.Scale(domain=[each.name for each in series], range=dashes),
        legend=_legend(len(series)),
    )


def _tooltip(labels: Labels) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("series:N", title="run"),
        alt.Tooltip("stratum:N", title="class"),
        alt.Tooltip("value_ms:Q", title=f"{labels.metric} (ms)", format=",.3~f"),
        alt.Tooltip("share:Q", title=f"share of {labels.population}", format=".2%"),
        alt.Tooltip("n_at_most:Q", title="delivered within it", format=","),
        alt.Tooltip("denominator:Q", title="counted", format=","),
    ]


def _limit(limit_ms: float, look: theme.Look) -> Figure:
    """Return the declared limit as marks with data, which survive log axes and dark mode."""
    # One row per panel: without it every point of the curves would draw the rule and the label.
    base = alt.Chart().transform_aggregate(n="count()", groupby=["stratum"])
    rule = base.mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=look.muted).encode(
        x=alt.datum(limit_ms)
    )
    label = base.mark_text(align="left", dx=6, y=16, color=look.muted, fontSize=12).encode(
        x=alt.datum(limit_ms), text=alt.datum(f"limit {text.limit(limit_ms)}")
    )
    return alt.layer(rule, label)


def named(points: pl.DataFrame, series: Sequence[theme.Series], metric: Metric) -> pl.DataFrame:
    """Add the series' names, and put the closing labels into words."""
    names = {each.key: each.name for each in series}
    verb = "without a first token" if metric is Metric.TTFT else "never completed"
    words = [None if lost is None else f"{text.share(lost)} {verb}" for lost in points["label"]]
    return points.with_columns(
        series=pl.col("run_id").replace_strict(names, return_dtype=pl.String),
        label=pl.Series(words, dtype=pl.String),
    )
