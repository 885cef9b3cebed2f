"""The pieces of the Distributions page."""

from collections.abc import Sequence

import polars as pl
import streamlit as st

from headway.analyses import accounting, distribution
from headway.analyses import still_waiting as analysis
from headway.analyses.definitions import DEFINITIONS
from headway.analyses.distribution import Description
from headway.figures import distribution as figures
from headway.figures import sentences, text, theme
from headway.model import Basis, Metric, Objective, Origin, RunInfo, Selection, Stratum
from headway.web import links, parts, sections, state
from headway.web.selection import Chosen

_METRICS = {
    Metric.TTFT: "TTFT",
    Metric.TPOT: "TPOT",
    Metric.STALL: "Longest stall",
    Metric.GAP: "Gaps",
    Metric.LATENCY: "Completion",
}
_VIEWS = ["ECDF", "tail"]
_STRATA = {
    Stratum.NONE: "none",
    Stratum.PROMPT_LENGTH: "prompt length",
    Stratum.OUTPUT_LENGTH: "output length",
    Stratum.PREFIX: "cold or warm prefix",
    Stratum.PREFIX_HIT: "prefix hit",
    Stratum.SEGMENT: "segment",
    Stratum.PHASE: "phase",
}


def controls() -> tuple[Metric, str, Stratum]:
    """Choose the metric, the view of it, and a split; all three are in the address."""
    links.demand("metric", "metric", _METRICS.values())
    links.demand("view_as", "view", _VIEWS)
    links.demand("split", "split", _STRATA.values())
    left, middle, right = st.columns([5, 2, 2], vertical_alignment="bottom")
    metric = left.segmented_control(
        "Metric",
        list(_METRICS),
        format_func=lambda m: _METRICS[m],
        default=Metric.TTFT,
        required=True,
        key="metric",
        bind="query-params",
        persist_state="session",
    )
    view = middle.segmented_control(
        "View",
        _VIEWS,
        default="ECDF",
        required=True,
        key="view_as",
        bind="query-params",
        persist_state="session",
    )
    stratum = right.selectbox(
        "Split by",
        list(_STRATA),
        format_func=lambda s: _STRATA[s],
        key="split",
        bind="query-params",
        persist_state="session",
    )
    state.note("metric", _METRICS[metric or Metric.TTFT])
    state.note("view_as", view or "ECDF")
    state.note("split", _STRATA[stratum])
    return metric or Metric.TTFT, view or "ECDF", stratum


def headline(
    chosen: Chosen, selection: Selection, metric: Metric, described: Sequence[Description]
) -> None:
    """Say what the chart shows, in numbers, before it shows it."""
    what = figures.population(selection.basis.value, gaps=metric is Metric.GAP)
    name = text.METRIC_NAMES[metric]
    st.title(
        f"{name[0].upper()}{name[1:]} of {what}" if metric is not Metric.GAP else what.capitalize()
    )
    said = [
        sentences.tail_sentence(described, chosen.names, chosen.load),
        sentences.delivery_sentence(described, metric),
    ]
    if any(said):
        st.markdown(f"#### {state.escape(' · '.join(each for each in said if each))}")
    if selection.basis is Basis.COMPLETED and metric is not Metric.GAP:
        st.warning("Survivors only: requests that never completed are not in these percentiles.")
    if metric is Metric.GAP:
        st.info(
            "Gaps between stream chunks, pooled: long answers weigh more, a chunk may carry "
            "several tokens, and gaps have no offered basis."
        )


def chart(
    chosen: Chosen,
    selection: Selection,
    metric: Metric,
    view: str,
    points: pl.DataFrame,
    objective: Objective | None,
) -> None:
    """Draw the curves, or say why there are none."""
    if points.is_empty():
        accounts = state.analysed(accounting.accounts, selection)
        found = state.analysed(accounting.reasons, selection)
        parts.everything_failed(
            accounting.pooled(accounts), [each for mine in found.values() for each in mine]
        )
        st.info("No value to draw: the table below says why for each run.")
        return
    series = [_series(chosen, run) for run in chosen.runs]
    draw = figures.ecdf if view == "ECDF" else figures.tail
    origins = {
        span.origin_used for span in state.analysed(accounting.intervals, selection).values()
    }
    labels = figures.Labels(
        metric=text.METRIC_NAMES[metric],
        population=figures.population(selection.basis.value, gaps=metric is Metric.GAP),
        origin=_origin(metric, origins),
    )
    limit_ms = objective.limits().get(metric) if objective else None
    parts.chart(
        "distribution",
        (selection, metric, view, limit_ms),
        lambda look: draw(figures.named(points, series, metric), series, labels, look, limit_ms),
        f"{labels.metric} by share of {labels.population}",
    )


def _series(chosen: Chosen, run: RunInfo) -> theme.Series:
    return theme.Series(run.run_id, chosen.titles[run.run_id], state.policy_of(run))


def _origin(metric: Metric, origins: set[str]) -> str:
    """Say what latencies count from; cadence has no origin."""
    if metric not in (Metric.TTFT, Metric.LATENCY):
        return ""
    words = {
        Origin.SCHEDULED.value: "the scheduled arrival",
        Origin.SENT.value: "the send",
        "none": "the send, times not recorded",
    }
    return f", from {text.listed(words[origin] for origin in sorted(origins))}"


def percentiles(
    chosen: Chosen, selection: Selection, metric: Metric, described: Sequence[Description]
) -> None:
    """Show the percentile table and, under it, how its numbers are defined."""
    parts.table(parts.percentile_table(described, chosen.titles))
    method = {"nearest": "nearest rank", "linear": "linear interpolation"}[selection.method.value]
    definition = DEFINITIONS[metric]
    st.caption(f"{definition.formula}. {definition.counts} Percentiles by {method}.")
    if any(each.n_eff is not None for each in described):
        st.caption(sentences.bounds_note(described))


def worst(chosen: Chosen, selection: Selection, metric: Metric) -> None:
    """Show the slowest and the lost requests of each run, with the reason they left."""
    if metric is Metric.GAP:
        return
    title = "Worst 20 requests of each run: the lost, then the slowest"
    sections.folded(title, "worst", lambda: _worst(chosen, selection, metric))


def _worst(chosen: Chosen, selection: Selection, metric: Metric) -> None:
    found = state.analysed(distribution.worst, selection, metric)
    st.dataframe(
        found.with_columns(
            run=pl.col("run_id").replace_strict(chosen.titles, default=None),
            value=pl.Series(
                ["lost" if v is None else text.duration(v) for v in found["value_ms"]],
                dtype=pl.String,
            ),
            arrival_s=pl.col("arrival_us") / 1e6,
        ).select(
            "run",
            "request_index",
            "request_id",
            "outcome",
            "reason",
            "value",
            "arrival_s",
            "prompt_tokens",
            "output_tokens",
            "requested_output_tokens",
        ),
        hide_index=True,
        column_config={
            "request_index": "request",
            "request_id": "id",
            "value": text.METRIC_NAMES[metric],
            "arrival_s": st.column_config.NumberColumn("arrival (s)", format="%.2f"),
            "prompt_tokens": "prompt tokens",
            "output_tokens": "output tokens",
            "requested_output_tokens": "requested tokens",
        },
        alt="The worst requests",
    )


def still_waiting(chosen: Chosen, selection: Selection, metric: Metric) -> None:
    """Show what following the requests that still waited at the cut would change."""
    if metric is not Metric.TTFT or selection.basis is not Basis.OFFERED:
        return
    found = state.analysed(analysis.still_waiting, selection)
    if not found:
        return
    title = "Requests that still waited for a first token when the run ended"
    sections.folded(title, "waiting", lambda: _followed(found, chosen))


def _followed(found: Sequence[analysis.StillWaiting], chosen: Chosen) -> None:
    parts.table(pl.DataFrame([_waiting(each, chosen) for each in found]))
    st.caption(
        "Of requests that were sent. As lost: the offered basis, cautious. Followed: each "
        "counts for as long as it was seen (Aalen and Johansen), losses stay losses."
    )
    st.warning(
        "If nobody had left (Kaplan and Meier) is right only where leaving has nothing to do "
        "with the wait; it is never right for rejections and failures."
    )


def _waiting(each: analysis.StillWaiting, chosen: Chosen) -> dict[str, str]:
    def said(value_ms: float | None) -> str:
        return "not reached" if value_ms is None else text.duration(value_ms)

    return {
        "run": state.escape(chosen.titles[each.run_id]),
        "percentile": text.percentile(each.share),
        "waiting at the end": text.count(each.n_waiting),
        "lost": text.count(each.n_lost),
        "as lost": said(each.as_lost_ms),
        "followed": said(each.followed_ms),
        "if nobody had left": said(each.nobody_left_ms),
    }
