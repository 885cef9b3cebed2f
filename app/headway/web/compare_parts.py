"""The pieces of the Compare page."""

from functools import partial
from typing import Any

import polars as pl
import streamlit as st

from headway.analyses import comparison, distribution, overview, pairs, sides
from headway.analyses.classes import Split
from headway.analyses.comparability import Part
from headway.analyses.comparison import Comparison, Question
from headway.analyses.pairs import Transition
from headway.analyses.sides import Side
from headway.figures import compare as figures
from headway.figures import comparison_words as words
from headway.figures import distribution as distributions
from headway.figures import text, theme
from headway.model import Metric, Objective, RunInfo, Selection
from headway.studies import Study
from headway.web import links, objective, parts, sections, state

_SPLITS = {
    Split.PROMPT_LENGTH: "prompt length",
    Split.OUTPUT_LENGTH: "output length",
    Split.PREFIX: "cold or eligible prefix",
    Split.SEGMENT: "segment",
    Split.TURN: "turn",
    Split.ARRIVAL: "arrival",
}
_METRICS = {
    Metric.TTFT: "TTFT",
    Metric.TPOT: "TPOT",
    Metric.STALL: "Longest stall",
    Metric.LATENCY: "Completion",
}
_MEMBER_COLUMNS: dict[str, Any] = {
    "request_index": "request",
    "request_id": "id",
    "arrival_s": st.column_config.NumberColumn("arrival (s)", format="%.2f"),
    "prompt_tokens": "prompt tokens",
    "requested_output_tokens": "requested tokens",
    "a_reason": "reason in A",
    "b_reason": "reason in B",
    **{
        f"{side}_{metric}_ms": st.column_config.NumberColumn(
            f"{name} in {side.upper()} (ms)", format="%.1f"
        )
        for metric, name in (("ttft", "TTFT"), ("latency", "completion"))
        for side in ("a", "b")
    },
}


def ask(study: Study, limits: Objective | None) -> Question:
    """Let the reader choose two sides; replicates of a run stand together as one."""
    links.demand("by", "split", _SPLITS.values())
    links.demand("pair_metric", "metric", _METRICS.values())
    runs = state.runs_of(study)
    found = sides.every(state.catalog(), [run.run_id for run in runs])
    by_id = {side.run.run_id: side for side in found}
    if len(by_id) < 2:
        st.title("Compare")
        st.info("One run. Import a second run of the same workload to compare it with.")
        st.stop()
    first, second = _first_view(study, list(by_id))
    a = _side("A", by_id, first, "a")
    b = _side("B", by_id, second, "b")
    return Question(a, b, objective=limits)


def _first_view(study: Study, ids: list[str]) -> tuple[int, int]:
    """Return the places of two policies at one load, where there are two."""
    shown = [each for each in overview.default_runs(state.catalog(), study.name) if each in ids]
    if len(shown) < 2:
        return 0, 1
    return ids.index(shown[-1]), ids.index(shown[-2])


def _side(label: str, by_id: dict[str, Side], first: int, key: str) -> Side:
    links.demand(key, "run", [side.title for side in by_id.values()])
    chosen = st.sidebar.selectbox(
        f"Side {label}",
        list(by_id),
        index=first,
        format_func=lambda run_id: by_id[run_id].title,
        key=key,
        bind="query-params",
        persist_state="session",
    )
    state.note(key, by_id[chosen].title)
    return by_id[chosen]


def compared(question: Question) -> Comparison:
    """Return the comparison; it is remembered with the catalog."""
    return comparison.compare(state.catalog(), question)


def answer(found: Comparison, study: Study) -> None:
    """Say first what may be claimed, then who gains and who pays."""
    a, b = found.question.a, found.question.b
    st.title(state.escape(f"{a.title} → {b.title}"))
    objective.header(study, found.question.objective)
    st.markdown(f"#### {state.escape(words.sentence(found))}")
    st.markdown(
        state.escape(f"{words.workload(found)} · {words.changed(found)} · {_checks(found)}")
    )
    st.caption(state.escape(words.claim(found)))
    show = st.warning if found.is_comparable else st.error
    for reason in words.reasons(found):
        show(state.escape(reason))


def _checks(found: Comparison) -> str:
    """Say what must match for the numbers to mean the same, and whether it does."""
    differing = [each.check.value for each in found.checks if not each.matches]
    if differing:
        return f"another {text.listed(differing)}"
    return f"same {text.listed([each.check.value for each in found.checks])}"


def transitions(found: Comparison) -> None:
    """Show the outcomes first: every offered request of both sides, in one cell."""
    st.subheader("What became of each request")
    if not found.transitions:
        st.caption("Not shown: the requests of the two sides cannot be paired.")
        return
    parts.chart(
        "transitions",
        found.question.without_objective.key,
        lambda look: figures.transitions(found.transitions, look),
        "Outcomes in A against outcomes in B",
    )
    st.caption(state.escape(_which_runs(found)))
    for each in found.discordant:
        st.caption(state.escape(words.discordant(each)))


def _which_runs(found: Comparison) -> str:
    """Say which runs the matrix counts: runs are paired in order, one without a partner is out."""
    a, b = found.question.a.runs, found.question.b.runs
    n = found.n_pairs_of_runs
    if n > 1:
        left_out = f"; {abs(len(a) - len(b))} without a partner left out" * (len(a) != len(b))
        return f"Requests of {n} pairs of runs, in order{left_out}."
    if len(a) == len(b) == 1:
        return "Requests of the one run of each side."
    return f"Requests of {_replicate('A', a)} and {_replicate('B', b)} alone."


def _replicate(label: str, runs: tuple[RunInfo, ...]) -> str:
    first = runs[0]
    which = first.run_id if first.replicate is None else f"replicate {first.replicate}"
    return f"{label}'s one run" if len(runs) == 1 else f"{label}'s {which} of {len(runs)} runs"


def shifts(found: Comparison) -> None:
    """Show how each percentile of the offered shifts from A to B."""
    st.subheader("How percentiles of the offered shift")
    measured = [each for each in found.shifts if each.is_measured]
    if not measured:
        st.caption("Not shown: see the reasons above.")
        return
    places = st.columns(2)
    for place, each in enumerate(measured):
        with places[place % 2]:
            parts.chart(
                f"shift-{each.metric}",
                found.question.without_objective.key,
                partial(figures.shift, each),
                f"Change at each percentile: {text.METRIC_NAMES[each.metric]}",
            )
    st.caption(
        state.escape(f"▲ B is higher, ▼ B is lower; {words.noise(found.noise, found.question.a)}.")
    )
    if words.has_within(found):
        st.caption(state.escape(f"Bars: {words.WITHIN_RUN}."))
    said = [
        f"{text.METRIC_NAMES[each.metric]}: {words.crossing(each.dominance)}" for each in measured
    ]
    st.caption(state.escape("; ".join(said)))


def cell(found: Comparison) -> None:
    """Show the requests behind one cell of the matrix."""
    if not found.transitions:
        return
    by_name = {
        f"{figures.outcome_word(each.a)} → {figures.outcome_word(each.b)} ({each.n:,})": each
        for each in found.transitions
    }
    sections.folded("Requests behind a cell", "cell", lambda: _members(found, by_name))


def _members(found: Comparison, by_name: dict[str, Transition]) -> None:
    chosen = by_name[st.selectbox("Cell", list(by_name), key="cell")]
    rows = comparison.members(state.catalog(), found.question, chosen).with_columns(
        arrival_s=pl.col("arrival_us") / 1e6
    )
    recorded = [name for name in _MEMBER_COLUMNS if rows[name].null_count() < rows.height]
    st.dataframe(
        rows.select(*(["pair"] if found.n_pairs_of_runs > 1 else []), *recorded),
        hide_index=True,
        column_config=_MEMBER_COLUMNS,
        alt="The requests of the chosen cell",
    )
    if rows.height < chosen.n:
        st.caption(f"The first {rows.height:,} of {chosen.n:,}, by arrival.")


def classes(found: Comparison) -> None:
    """Show who gains and who pays, by class of request and metric."""
    measured = {each.metric for each in found.shifts if each.is_measured}
    shown = [row for row in found.classes if row.metric in measured]
    if not shown:
        return
    st.subheader("Who gains, who pays")
    known = {each.split for each in shown}
    splits = {split: name for split, name in _SPLITS.items() if split in known}
    wanted = st.segmented_control(
        "By",
        list(splits),
        format_func=lambda split: splits[split],
        default=next(iter(splits)),
        required=True,
        key="by",
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
    )
    chosen = wanted or next(iter(splits))
    state.note("by", splits[chosen])
    parts.chart(
        "classes",
        (*found.question.without_objective.key, chosen),
        lambda look: figures.classes([row for row in shown if row.split is chosen], look),
        "Median change by class and metric",
    )
    st.caption(
        "▲ most wait longer in B, or requests were lost on balance; ▼ most wait shorter. The "
        "median change of each request's own wait, and how many more or fewer completed in B."
    )


def requests(found: Comparison) -> None:
    """Draw a metric of both sides over what each offered, and request by request."""
    if not found.shifts:
        return
    st.subheader("Request by request")
    metric = _metric()
    if found.shift(metric) is None:
        st.caption("Not shown: see the reasons above.")
        return
    left, right = st.columns(2, gap="large")
    with left:
        _overlay(found, metric)
    if Part.PAIRS not in found.allowed:
        right.caption("No differences request by request: see the reasons above.")
        return
    rows = comparison.requests(state.catalog(), found.question)
    differences = pairs.differences(rows, metric)
    with right:
        if differences.is_empty():
            st.caption("No request completed on both sides.")
            return
        name = text.METRIC_NAMES[metric]
        parts.chart(
            "differences",
            (*found.question.without_objective.key, metric),
            lambda look: figures.differences(differences, metric, look),
            f"Distribution of each request's own difference in {name}, B minus A",
        )
        st.caption(state.escape(f"Each request's own difference: {_paired(found, metric)}."))
    sections.folded("Every pair", "pairs", partial(_scatter, found.question, metric))


def _scatter(question: Question, metric: Metric) -> None:
    # Asked for again, and not handed over: a section that waits to be opened would keep every pair.
    drawn = pairs.scatter(comparison.requests(state.catalog(), question), metric)
    parts.chart(
        "pairs",
        (*question.without_objective.key, metric),
        lambda look: figures.scatter(drawn, metric, look),
        "Every pair, A against B",
    )
    st.caption("Pairs that completed on both sides; above the line B is slower.")


def _metric() -> Metric:
    metric = (
        st.segmented_control(
            "Metric",
            list(_METRICS),
            format_func=lambda each: _METRICS[each],
            default=Metric.TTFT,
            required=True,
            key="pair_metric",
            bind="query-params",
            persist_state="session",
        )
        or Metric.TTFT
    )
    state.note("pair_metric", _METRICS[metric])
    return metric


def _overlay(found: Comparison, metric: Metric) -> None:
    """Draw the distributions of both sides over what each offered, lost requests in the plateau."""
    question = found.question
    series = {
        run.run_id: theme.Series(run.run_id, _name(label, side, place), label)
        for label, side in (("A", question.a), ("B", question.b))
        for place, run in enumerate(side.runs, 1)
    }
    picked = Selection(tuple(series), window=question.window, origin=question.origin)
    points = state.analysed(distribution.curve, picked, metric)
    if points.is_empty():
        st.caption("Neither side delivered a value of this metric.")
        return
    population = distributions.population("offered", gaps=False)
    name = text.METRIC_NAMES[metric]
    parts.chart(
        "overlay",
        (*question.key, metric),
        lambda look: distributions.ecdf(
            distributions.named(points, list(series.values()), metric),
            list(series.values()),
            distributions.Labels(metric=name, population=population, origin=""),
            look,
            question.objective.limits().get(metric) if question.objective else None,
        ),
        f"{name} of A and B by share of {population}",
    )


def _name(label: str, side: Side, place: int) -> str:
    return f"{label} {place}" if len(side.runs) > 1 else label


def _paired(found: Comparison, metric: Metric) -> str:
    shift = found.shift(metric)
    return (
        "not measured on both sides"
        if shift is None or shift.paired is None
        else words.pairs(shift.paired)
    )
