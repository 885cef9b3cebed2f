"""The pieces of Home."""

from collections import Counter

import polars as pl
import streamlit as st

from headway.analyses import accounting
from headway.analyses.acceptance import Asked, Judged
from headway.analyses.overview import Point
from headway.figures import overview, text, verdicts
from headway.model import LoadKind, Manifest, Objective, RunInfo, Selection
from headway.stats.verdicts import InRun, Verdict
from headway.studies import Study
from headway.web import envelope_parts, judging, parts, state


def question(study: Study) -> None:
    """Show what the study asks."""
    if study.question:
        st.markdown(f"#### {state.escape(study.question)}")


def verdict(selection: Selection, objective: Objective | None) -> list[Judged]:
    """Say the verdict of each claim, side by side and never mixed; return what was judged."""
    if objective is None:
        return []
    for column, asked in zip(st.columns(3, gap="medium"), Asked, strict=True):
        with column:
            envelope_parts.sentences(judging.envelopes(selection, objective, asked), asked)
    trades = judging.trades(selection, objective)
    if trades:
        st.markdown(f"**{state.escape(verdicts.trade(trades[0]))}**")
    return judging.judged(selection, objective)


def chart(points: list[Point], objective: Objective | None, judged: list[Judged]) -> None:
    """Draw the share of offered requests by offered load, and concurrency apart from it."""
    what = "met the objective" if objective else "completed"
    title = f"offered requests that {what}"
    sets = {run.run_id: each for each in judged for run in each.runs}
    axes = {
        "offered load (req/s)": [p for p in points if p.run.load.kind is not LoadKind.CLOSED],
        "concurrency": [p for p in points if p.run.load.kind is LoadKind.CLOSED],
    }
    for axis, mine in axes.items():
        marks = [_mark(point, sets.get(point.run.run_id)) for point in mine if point.x is not None]
        if marks:
            st.plotly_chart(
                overview.shares_by_load(
                    marks, axis, title, state.look(), objective.attainment if objective else None
                ),
                key=f"shares-{axis}",
                config={"displayModeBar": False},
                alt=f"Share of offered requests that {what}, by {axis}",
            )
    off = [point for point in points if point.x is None]
    if objective:
        st.caption(
            "Solid marks hold for the workload, hollow marks for the run only; × missed in the "
            "run. Only tested loads have marks."
        )
    if off:
        names = ", ".join(f"{p.title} {text.share(p.share)}" for p in off)
        st.caption(f"Off the axis: {state.escape(names)}")


def _mark(point: Point, judged: Judged | None) -> overview.Mark:
    return overview.Mark(
        run_id=point.run.run_id,
        policy=point.policy,
        x=point.x or 0.0,
        share=point.share or 0.0,
        n=point.n,
        n_offered=point.n_offered,
        name=point.title,
        missed=judged is not None and judged.in_run is InRun.MISSED,
        solid=judged is None or judged.workload.verdict is Verdict.ACCEPTED,
    )


def matrix(points: list[Point], objective: Objective | None) -> None:
    """Show the counts behind the picture: policies down, loads across."""
    loads = list(dict.fromkeys(p.load for p in sorted(points, key=lambda p: p.x or float("inf"))))
    rows = []
    for policy in dict.fromkeys(point.policy for point in points):
        mine = [point for point in points if point.policy == policy]
        cells = {
            load: "  \n".join(_cell(p, objective) for p in mine if p.load == load) or "–"
            for load in loads
        }
        rows.append({"policy": state.escape(policy)} | cells)
    parts.table(pl.DataFrame(rows))


def _cell(point: Point, objective: Objective | None) -> str:
    mark = f"{verdicts.IN_RUN_MARKS[point.in_run(objective.attainment)]} " if objective else ""
    cut = f", {point.n_open} open" if point.n_open else ""
    return f"{mark}{text.share(point.share)} ({point.n}/{point.n_offered}{cut})"


def reasons_if_nothing_completed(account: accounting.Account, selection: Selection) -> None:
    """Show the reasons, large, when no request of the whole study completed."""
    reasons = state.analysed(accounting.reasons, selection)
    parts.everything_failed(account, [each for found in reasons.values() for each in found])


def loaded(runs: list[RunInfo]) -> None:
    """Say what is loaded, where it was measured, and what its manifest lacks."""
    st.subheader("What is loaded")
    recorded = [run.manifest.recorded() for run in runs]
    severities = Counter(f.severity.value for run in runs for f in run.findings)
    least, most = min(recorded), max(recorded)
    known = f"{least}" if least == most else f"{least} to {most}"
    facts = {
        "runs": f"{len(runs)}",
        "harness": _each(run.harness for run in runs),
        "boundary": _each(run.boundary.value for run in runs),
        "clock": _each(run.clock.value for run in runs),
        "manifest": f"{known} of {Manifest.size()} fields recorded",
        "findings": ", ".join(f"{n} {name}" for name, n in severities.items()) or "none",
    }
    parts.table(
        pl.DataFrame({"what": list(facts), "value": [state.escape(v) for v in facts.values()]}),
        hide_header=True,
    )
    if len(runs) == 1:
        st.info("One run. A second load would show where it stops; a second policy, who gains.")


def _each(values: object) -> str:
    return ", ".join(dict.fromkeys(values))  # type: ignore[call-overload]


def record(study: Study) -> None:
    """Show the decision on record, what is unresolved, and the study's notes."""
    st.subheader("On record")
    if study.recommendation:
        who = (
            f" ({study.decided_by or 'by not recorded'}, {study.decided_on or 'date not recorded'})"
        )
        st.markdown(f"**Decision** {state.escape(study.recommendation + who)}")
    else:
        st.markdown("**Decision** none yet")
    for title, items in (("Unresolved", study.unresolved), ("Notes", study.notes)):
        if items:
            lines = "\n".join(f"- {state.escape(item)}" for item in items)
            st.markdown(f"**{title}**\n{lines}")
