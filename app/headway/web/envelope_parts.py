"""The pieces of the Envelope page: the answer, the picture, and the verdict of every load."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headway.analyses import envelope, load_curves
from headway.analyses.acceptance import Asked, Judged
from headway.analyses.envelope import CONCURRENCY, OFFERED, Envelope
from headway.analyses.load_curves import LoadPoint
from headway.figures import answers, load_panels, outcomes, text, verdict_reasons, verdicts
from headway.figures import envelope as figures
from headway.model import Metric, Objective, RunInfo, Selection
from headway.stats.steadiness import Steadiness
from headway.stats.verdicts import Verdict
from headway.studies import Study
from headway.web import judging, links, parts, sections, state
from headway.web.objective import Edited

_SHOWN = {"displayModeBar": False}
_MOST_TRADES = 2
_DISTRIBUTIONS = Path(__file__).parent / "pages" / "distributions.py"
_STEADY_WORDS = {
    Steadiness.NOT_STEADY: "not steady",
    Steadiness.UNKNOWN: "steadiness unknown",
}


def choose(runs: list[RunInfo]) -> list[RunInfo]:
    """Choose policies; all of them at first, since what is rejected stays on record."""
    policies = list(dict.fromkeys(state.policy_of(run) for run in runs))
    links.demand("policies", "policy", policies)
    wanted = st.sidebar.multiselect(
        "Policy",
        policies,
        default=policies,
        key="policies",
        bind="query-params",
        persist_state="session",
    )
    state.note("policies", *wanted)
    found = [run for run in runs if state.policy_of(run) in wanted]
    if not found:
        st.info("No policy is chosen. Choose one in the sidebar.")
        st.stop()
    return found


def title_in(place: DeltaGenerator, study: Study) -> None:
    """Name the page and the question it answers."""
    place.title("Acceptance envelope")
    if study.question:
        place.markdown(f"#### {state.escape(study.question)}")


def sentences(found: list[Envelope], asked: Asked) -> None:
    """Write the verdict sentences of one claim."""
    said = verdicts.policy_sentences(found, asked)
    lines = [f"- {verdicts.MARKS[verdict]} {state.escape(words)}" for words, verdict in said]
    if not any(verdict is Verdict.ACCEPTED for _, verdict in said):
        lines.insert(0, "- **No load tested is acceptable.**")
    name = verdicts.claim_name(asked, [judged for each in found for judged in each.judged])
    st.markdown(f"**{name.capitalize()}**\n" + "\n".join(lines))


def strips(found: list[Envelope], selection: Selection, edited: Edited) -> None:
    """Draw the verdict strips, concurrency apart from offered load."""
    for axis in (OFFERED, CONCURRENCY):
        mine = [each for each in found if each.axis == axis and figures.is_on_axis(each)]
        if mine:
            chosen = parts.chart_to_choose_from(
                f"strips-{axis}",
                (selection, edited),
                partial(figures.strips, mine, edited.asked),
                f"Verdict of every tested load, {verdicts.CLAIMS[edited.asked]}",
                figures.SELECTED,
            )
            _link_chosen(mine, {point["run_id"] for point in chosen})
    marks = ", ".join(f"{verdicts.MARKS[each]} {words}" for each, words in verdicts.WORDS.items())
    st.caption(
        f"Marks: {marks}, "
        f"{verdicts.CLAIMS[edited.asked]}. Only tested loads have a colour: a dotted line was not "
        "tested, a dashed one was not tested either and has the edge in it. "
        "Choose a mark for its distributions."
    )
    for policy, changed in envelope.differences(found).items():
        st.warning(
            f"{state.escape(policy)} has more than one envelope: an envelope lapses when its "
            f"configuration changes, and these differ in {state.escape(text.listed(changed))}."
        )
    for each in found:
        if each.bracket.non_monotone:
            st.warning(
                f"{state.escape(each.line)}: the share that met the objective does not fall "
                "steadily with the load."
            )


def _link_chosen(found: list[Envelope], run_ids: set[str]) -> None:
    """Offer the distributions of the run whose mark was clicked.

    A link and not a jump: Streamlit refuses to switch pages while controls are bound to the
    address.
    """
    chosen = [each for group in found for each in group.judged if each.run.run_id in run_ids]
    for each in chosen:
        st.page_link(
            _DISTRIBUTIONS,
            label=f"Distributions of {state.escape(each.title)}",
            icon=":material/arrow_forward:",
            query_params={
                "study": each.run.study,
                "policy": state.policy_of(each.run),
                "load": each.load_text,
            },
        )


def throughput(selection: Selection, edited: Edited) -> None:
    """Say where a higher load buys throughput with acceptance, the costliest steps first."""
    for each in judging.trades(selection, edited.objective)[:_MOST_TRADES]:
        st.markdown(state.escape(verdicts.trade(each)))


def table(judged: list[Judged], edited: Edited) -> None:
    """Show every judged run: the three claims side by side, and what would settle a doubt."""
    st.subheader("Verdict per load")
    rows = [_row(each, edited) for each in judged]
    parts.table(pl.DataFrame(rows, infer_schema_length=None))
    sections.folded(
        "The reasons under each verdict", "reasons", lambda: _reasons(judged, edited.objective)
    )


def _reasons(judged: list[Judged], objective: Objective) -> None:
    for each in judged:
        said = verdict_reasons.reasons(each, objective)
        lines = "\n".join(f"- {state.escape(reason)}" for reason in said)
        st.markdown(f"**{state.escape(each.title)}**\n{lines}")


def _row(each: Judged, edited: Edited) -> dict[str, str]:
    settled = verdict_reasons.settlements(each, edited.objective)
    notes = [] if each.steady is Steadiness.STEADY else [_STEADY_WORDS[each.steady]]
    if each.is_behind:
        notes.append("load generator behind its schedule")
    return {
        "run": state.escape(each.title),
        "met": state.escape(
            f"{verdicts.met(each)}" + (f" ({each.n_open:,} open)" if each.n_open else "")
        ),
        "missed by": state.escape(verdicts.missed_by(each) or "–"),
        "in the run": f"{verdicts.IN_RUN_MARKS[each.in_run]} {each.in_run.value}",
        "repeatable on this workload": _claim(each, Asked.WORKLOAD),
        "for traffic like this": _claim(each, Asked.TRAFFIC),
        "reach": state.escape(answers.reach(each)),
        "notes": state.escape(", ".join(notes) or "–"),
        "what would settle it": "  \n".join(state.escape(line) for line in settled) or "–",
    }


def _claim(each: Judged, asked: Asked) -> str:
    words = f"{verdicts.MARKS[each.verdict(asked)]} {verdicts.WORDS[each.verdict(asked)]}"
    bound = verdict_reasons.bound(each, asked)
    return words if bound is None else f"{words}  \n:gray[{state.escape(bound)}]"


def other_cadence(judged: list[Judged], selection: Selection, edited: Edited) -> None:
    """Say which cadence is in force, and what the same number would say on the other one."""
    objective = edited.objective
    if objective.stall_ms is None and objective.tpot_ms is None:
        return
    limit = objective.stall_ms if objective.stall_ms is not None else objective.tpot_ms
    swapped = (
        replace(objective, stall_ms=None, tpot_ms=limit)
        if objective.stall_ms is not None
        else replace(objective, tpot_ms=None, stall_ms=limit)
    )
    force, other = (Metric.STALL, Metric.TPOT)
    if objective.stall_ms is None:
        force, other = other, force
    theirs = judging.judged(selection, swapped)
    flips = [
        (mine, its)
        for mine, its in zip(judged, theirs, strict=True)
        if mine.in_run is not its.in_run
    ]
    st.caption(
        f"Cadence in force: {text.METRIC_NAMES[force]} ≤ {text.limit(limit or 0)}. "
        f"The same limit on {text.METRIC_NAMES[other]} changes {len(flips)} of {len(judged)} runs"
        + (f": {state.escape(_flips(flips))}." if flips else ".")
    )


def _flips(flips: list[tuple[Judged, Judged]]) -> str:
    said = [
        f"{mine.title} {text.share(mine.attained.low)} → {text.share(its.attained.low)}"
        for mine, its in flips[:4]
    ]
    more = f" and {len(flips) - 4} more" if len(flips) > 4 else ""
    return ", ".join(said) + more


def along_load(selection: Selection, edited: Edited) -> None:
    """Draw latency tails, completions, goodput and outcomes along the load."""
    points = judging.load_points(selection, edited.objective)
    if not points:
        return
    st.subheader("Along the load")
    found = load_panels.panels(points)
    for first in range(0, len(found), 2):
        for column, panel in zip(st.columns(2), found[first : first + 2], strict=True):
            with column:
                parts.chart(
                    f"along-{panel.name}",
                    panel.key,
                    partial(load_panels.draw, panel),
                    f"{panel.title} by offered load",
                )
    said = [
        f"{line} keeps up to {text.significant(knee.keeps_up)} req/s measured"
        + (f", plateau {text.significant(knee.plateau)} req/s" if knee.plateau is not None else "")
        for line, knee in load_curves.knees(points).items()
        if knee.keeps_up is not None
    ]
    usual, tails = load_panels.USUAL_TAIL, load_panels.tail_names(points)
    for metric, tail in zip(("TTFT", "longest stall"), tails, strict=True):
        if tail != usual:
            st.caption(
                f"{metric}: no run reaches {usual} of the requests offered, for too many never got "
                f"there; {tail} is drawn."
            )
    st.caption(
        f"Bars: bounds for traffic like this; no upper bar, no upper bound. "
        f"{state.escape('; '.join(said))}"
    )
    sections.folded("Outcomes of every run", "outcomes", lambda: _outcomes(points))


def _outcomes(points: list[LoadPoint]) -> None:
    st.plotly_chart(
        outcomes.bars(points, state.look()),
        key="outcomes",
        config=_SHOWN,
        alt="Shares of the outcomes of every run",
    )
