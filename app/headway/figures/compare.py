"""Two sides at a glance: what became of each request, how percentiles shift, who gains and pays."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from headway.analyses.classes import Balance, ClassRow
from headway.analyses.pairs import Transition
from headway.analyses.shift import Change, MetricShift, ShiftPoint
from headway.figures import comparison_words, text, theme
from headway.figures.distribution import Figure
from headway.model import Metric, Outcome

ABSENT = "not offered"
_SAME, _LOSS, _GAIN, _OTHER = (
    "same outcome",
    "completed in A only",
    "completed in B only",
    "another outcome",
)
# What axes, title and legend take of a grid's height, which Streamlit counts in.
_AROUND = 110
_LINE = 15
_NAMES = {
    Metric.TTFT: "TTFT",
    Metric.TPOT: "TPOT",
    Metric.STALL: "longest stall",
    Metric.LATENCY: "completion",
}
_LOST_WORDS = {Change.LOST: "lost", Change.GAINED: "gained"}
_WAYS = {-1: "B lower", 0: "the same", 1: "B higher"}
_BALANCE = {
    Balance.WINS: ("gains", "▼"),
    Balance.PAYS: ("pays", "▲"),
    Balance.EVEN: ("even", "="),
}


def outcome_word(outcome: Outcome | None) -> str:
    """Return an outcome in words; None is a request that a side was not offered."""
    return ABSENT if outcome is None else text.outcome(outcome)


def transitions(found: Sequence[Transition], look: theme.Look) -> Figure:
    """Draw the outcomes of A against those of B, every offered request in one cell."""
    order = [outcome_word(outcome) for outcome in (*Outcome, None)]
    rows = _transition_rows(found)
    # Names of outcomes are too wide to stand side by side above more than a few cells.
    angle = 0 if rows["b"].n_unique() <= 3 else -40
    above = alt.Axis(labelAngle=angle, labelOverlap=False, orient="top")
    base = alt.Chart(rows).encode(
        x=alt.X("b:N", sort=order, title="in B", axis=above),
        y=alt.Y("a:N", sort=order, title="in A"),
        tooltip=[
            alt.Tooltip("a:N", title="in A"),
            alt.Tooltip("b:N", title="in B"),
            alt.Tooltip("n:Q", title="requests", format=","),
        ],
    )
    colours = {
        _LOSS: look.palette[1],
        _GAIN: look.palette[2],
        _OTHER: look.palette[3],
        _SAME: look.band,
    }
    shown = [kind for kind in colours if kind in set(rows["kind"])]
    cells = base.mark_rect(stroke=look.paper, strokeWidth=2, opacity=0.55).encode(
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=shown, range=[colours[kind] for kind in shown]),
            legend=alt.Legend(title=None, orient="bottom", columns=2),
        )
    )
    labels = base.mark_text(fontSize=15, fontWeight="bold", color=look.ink).encode(text="label:N")
    height = _AROUND + (30 if angle else 0) + 52 * rows["a"].n_unique()
    return alt.layer(cells, labels).properties(height=height)


def _transition_rows(found: Sequence[Transition]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "a": [outcome_word(each.a) for each in found],
            "b": [outcome_word(each.b) for each in found],
            "n": [each.n for each in found],
            "label": [f"{each.n:,}" for each in found],
            "kind": [_kind(each) for each in found],
        }
    )


def _kind(each: Transition) -> str:
    """Return what a change of outcome means: a request that only one side completed, or neither."""
    if each.a is each.b:
        return _SAME
    if each.a is Outcome.COMPLETED:
        return _LOSS
    return _GAIN if each.b is Outcome.COMPLETED else _OTHER


def shift(found: MetricShift, look: theme.Look) -> Figure:
    """Draw the relative change from A to B at each percentile, with the noise floor behind it.

    A percentile that one side does not reach has no number: it is written at the edge in words.
    """
    base = alt.Chart(_shifted(found)).encode(
        x=alt.X("p:O", sort=alt.SortField("order"), title=None, axis=alt.Axis(labelAngle=0)),
        tooltip=[
            alt.Tooltip("p:N", title="percentile"),
            alt.Tooltip("a:N", title="A"),
            alt.Tooltip("b:N", title="B"),
            alt.Tooltip("relative:Q", title="change", format="+.1%"),
            alt.Tooltip("within:N", title="within the runs"),
        ],
    )
    y = alt.Y("relative:Q", title="change from A to B", axis=alt.Axis(format="+.3~p"))
    zero = base.mark_rule(color=look.muted, strokeDash=[4, 3]).encode(y=alt.datum(0.0))
    line = base.mark_line(color=look.palette[0], strokeWidth=2).encode(y=y)
    ways = list(_WAYS.values())
    tints = [look.palette[2], look.muted, look.palette[1]]
    marks = base.mark_point(size=70, filled=True, opacity=1).encode(
        y=y,
        color=alt.Color("way:N", scale=alt.Scale(domain=ways, range=tints), legend=None),
        shape=alt.Shape(
            "way:N",
            scale=alt.Scale(domain=ways, range=["triangle-down", "circle", "triangle-up"]),
            legend=None,
        ),
    )
    words = (
        base.transform_filter("datum.word != null")
        .mark_text(y=10, fontSize=12, fontWeight="bold", color=look.ink)
        .encode(text="word:N")
    )
    return alt.layer(*_bands(base, look), zero, line, marks, words).properties(
        height=190, title=text.METRIC_NAMES[found.metric]
    )


def _bands(base: alt.Chart, look: theme.Look) -> tuple[alt.Chart, alt.Chart]:
    """Draw what runs of one policy differ by, and what the two runs themselves vary by."""
    noise = base.mark_area(opacity=0.25, color=look.band)
    within = base.mark_rule(color=look.palette[0], strokeWidth=6, opacity=0.3)
    return (
        noise.encode(y=alt.Y("noise_low:Q"), y2="noise:Q"),
        within.encode(y=alt.Y("within_low:Q"), y2="within_high:Q"),
    )


def _shifted(found: MetricShift) -> pl.DataFrame:
    points = found.points
    return pl.DataFrame(
        {
            "p": [text.percentile(point.share) for point in points],
            "order": [point.share for point in points],
            "relative": [point.relative for point in points],
            "way": [_WAYS[_sign(point.relative)] for point in points],
            "within_low": [_bound(point, "low") for point in points],
            "within_high": [_bound(point, "high") for point in points],
            "within": [comparison_words.within(point) for point in points],
            "noise": [point.noise for point in points],
            "noise_low": [None if point.noise is None else -point.noise for point in points],
            "a": [_value(point.a_ms) for point in points],
            "b": [_value(point.b_ms) for point in points],
            "word": [_LOST_WORDS.get(point.change) for point in points],
        },
        schema_overrides={
            **dict.fromkeys(_FLOATS, pl.Float64),
            "word": pl.String,
        },
    )


_FLOATS = ("relative", "noise", "noise_low", "within_low", "within_high")


def _bound(point: ShiftPoint, end: str) -> float | None:
    """Return an end of the band within the runs where both have a number, and so can be drawn."""
    if point.within is None or None in (point.within.low, point.within.high):
        return None
    bound: float = getattr(point.within, end)
    return bound


def _sign(relative: float | None) -> int:
    return 0 if not relative else (1 if relative > 0 else -1)


def _value(value_ms: float | None) -> str:
    return "not reached" if value_ms is None else text.duration(value_ms)


def classes(found: Sequence[ClassRow], look: theme.Look) -> Figure:
    """Draw who gains and who pays: a cell per class and metric, with its median change."""
    rows = _class_rows(found)
    names = dict.fromkeys(_NAMES[each.metric] for each in found)
    base = alt.Chart(rows).encode(
        x=alt.X(
            "metric:N", sort=list(names), title=None, axis=alt.Axis(labelAngle=0, orient="top")
        ),
        y=alt.Y("label:N", sort=alt.SortField("order"), title=None, axis=alt.Axis(labelLimit=300)),
        tooltip=[alt.Tooltip("label:N", title="class"), alt.Tooltip("n:N", title="requests")],
    )
    colours = {"gains": look.palette[2], "pays": look.palette[1], "even": look.band}
    cells = base.mark_rect(opacity=0.55, stroke=look.paper, strokeWidth=2).encode(
        color=alt.Color(
            "balance:N",
            scale=alt.Scale(domain=list(colours), range=list(colours.values())),
            legend=alt.Legend(title=None, orient="bottom"),
        )
    )
    n_lines = max((words.count("\n") + 1 for words in rows["text"]), default=1)
    labels = base.mark_text(
        fontSize=11,
        color=look.ink,
        lineBreak="\n",
        lineHeight=_LINE,
        dy=-_LINE * (n_lines - 1) / 2,  # Vega centres the first line only
    ).encode(text="text:N")
    height = _AROUND + (12 + _LINE * n_lines) * rows["label"].n_unique()
    return alt.layer(cells, labels).properties(height=height)


def _class_rows(found: Sequence[ClassRow]) -> pl.DataFrame:
    loses = any(each.paired.n_lost or each.paired.n_gained for each in found)
    return pl.DataFrame(
        {
            "label": [each.label for each in found],
            "order": [each.order for each in found],
            "metric": [_NAMES[each.metric] for each in found],
            "balance": [_BALANCE[each.balance][0] for each in found],
            "text": [_class_text(each, loses=loses) for each in found],
            "n": [
                f"{each.paired.n_better:,} better, {each.paired.n_worse:,} worse of "
                f"{each.paired.n:,}; {each.paired.n_both:,} completed on both sides, "
                f"{each.paired.n_lost:,} in A only, {each.paired.n_gained:,} in B only"
                for each in found
            ],
        }
    )


def _class_text(each: ClassRow, *, loses: bool) -> str:
    """Return a cell's words, in lines; all cells of a grid have as many.

    If one side completed requests that the other lost, show the median change of those both
    completed and the net number lost or gained. The median alone would hide the lost ones.
    """
    paired = each.paired
    change = paired.median_relative
    said = f"{_BALANCE[each.balance][1]} {'no pairs' if change is None else _percent(change)}"
    if not loses:
        return f"{said}\n{paired.n_worse:,} worse of {paired.n:,}"
    net = f"{paired.n_gained - paired.n_lost:+,}".replace("-", "−")
    return f"{said} for those\nboth completed\nnet {net if net != '+0' else '0'} completed"


def _percent(share: float) -> str:
    said = f"{share:+.0%}".replace("-", "−")
    return "0%" if said in ("+0%", "−0%") else said


def differences(rows: pl.DataFrame, metric: Metric, look: theme.Look) -> Figure:
    """Draw the share of pairs whose own difference, B minus A, is at most x."""
    base = alt.Chart(rows)
    curve = base.mark_line(color=look.palette[0], strokeWidth=2, interpolate="step-after").encode(
        x=alt.X("delta_ms:Q", title=f"{_NAMES[metric]}, B − A (ms); left of 0 B is faster"),
        y=alt.Y(
            "share:Q",
            title="share of pairs",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%"),
        ),
        tooltip=[
            alt.Tooltip("delta_ms:Q", title="B − A (ms)", format="+,.1f"),
            alt.Tooltip("share:Q", title="share at most", format=".1%"),
        ],
    )
    none = base.mark_rule(color=look.muted, strokeDash=[4, 3]).encode(x=alt.datum(0.0))
    return alt.layer(none, curve).properties(height=400)


def scatter(rows: pl.DataFrame, metric: Metric, look: theme.Look) -> Figure:
    """Draw every pair that completed on both sides, A against B, with the line of no change."""
    name = _NAMES[metric]
    base = alt.Chart(rows.with_columns(a_drawn=_drawn("a_ms"), b_drawn=_drawn("b_ms")))
    log = alt.Scale(type="log", nice=False)
    points = base.mark_circle(size=28, opacity=0.45, color=look.palette[0]).encode(
        x=alt.X("a_drawn:Q", scale=log, title=f"{name} in A (ms, log scale)"),
        y=alt.Y("b_drawn:Q", scale=log, title=f"{name} in B (ms, log scale)"),
        tooltip=[
            alt.Tooltip("request_index:Q", title="request"),
            alt.Tooltip("a_ms:Q", title="A (ms)", format=",.1f"),
            alt.Tooltip("b_ms:Q", title="B (ms)", format=",.1f"),
            alt.Tooltip("prompt_tokens:Q", title="prompt tokens"),
        ],
    )
    same = base.mark_line(color=look.muted, strokeDash=[4, 3]).encode(
        x=alt.X("a_drawn:Q", scale=log), y=alt.Y("a_drawn:Q", scale=log)
    )
    return alt.layer(same, points).properties(height=340)


def _drawn(column: str) -> pl.Expr:
    """Return a value on a logarithmic axis: at least the record's resolution."""
    return pl.col(column).clip(lower_bound=0.001)
