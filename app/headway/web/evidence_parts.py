"""The evidence under the envelope: limits observed, what it holds for, the review, how close."""

from functools import partial

import polars as pl
import streamlit as st

from headway.analyses import checklist
from headway.analyses.acceptance import Judged
from headway.analyses.envelope import Envelope
from headway.analyses.limits import Observed
from headway.analyses.trace_mix import Unread
from headway.figures import grids, mixes, text, verdicts
from headway.model import Manifest, Selection, Stratum
from headway.studies import Study
from headway.web import judging, links, parts, sections, state
from headway.web.objective import Edited

_STATES = {
    checklist.State.PASSES: "✓ passes",
    checklist.State.FAILS: "✗ fails",
    checklist.State.NOT_RECORDED: "? not recorded",
}
_CLASSES = {
    Stratum.PROMPT_LENGTH: "prompt length",
    Stratum.OUTPUT_LENGTH: "output length",
    Stratum.PREFIX: "cold or warm prefix",
    Stratum.SEGMENT: "segment",
}


def check_link(judged: list[Judged]) -> None:
    """Refuse a link to a run or a class that is not here, before anything is shown."""
    links.demand("close", "run", [each.title for each in judged])
    links.demand("class", "class", _CLASSES.values())


def limits(selection: Selection, edited: Edited) -> None:
    """Show what was observed at the last accepted and the first rejected load."""
    found = judging.observed(selection, edited.objective, edited.asked)
    if not found:
        return
    st.subheader("Observed limits")
    parts.table(pl.DataFrame([_limit(each) for each in found]))


def _limit(each: Observed) -> dict[str, str]:
    cache = None if each.max_kv_fraction is None else text.share(each.max_kv_fraction)
    return {
        "run": state.escape(f"{each.line}, {each.judged.load_text}"),
        "edge": each.edge,
        "most in flight": text.count(each.max_in_flight),
        "most waiting": text.count(each.max_waiting),
        "most paused": text.count(each.max_paused),
        "peak cache": cache or text.NOT_RECORDED,
        "preemptions": text.count(each.n_preemptions),
        "completed": text.rate(each.completed_rps, "req/s"),
        "output tok/s": _number(each.output_tokens_per_s),
        "lost": text.share(each.lost_share),
        "first lost": "none" if each.first_lost is None else text.outcome(each.first_lost),
    }


def _number(value: float | None) -> str:
    return "no rate" if value is None else text.significant(value)


def holds_for(found: list[Envelope]) -> None:
    """Show the configuration and the workload that every envelope holds for."""
    sections.folded("What each envelope holds for", "holds-for", lambda: _configurations(found))


def _configurations(found: list[Envelope]) -> None:
    for each in found:
        st.markdown(
            f"**{state.escape(each.line)}** "
            f"{each.n_recorded} of {Manifest.size()} manifest fields recorded"
        )
        known = each.holds_for | {
            "requests (fingerprint)": f"{each.requests[:16]}…",
            "arrivals": each.arrivals or text.NOT_RECORDED,
        }
        parts.table(
            pl.DataFrame(
                {
                    "field": [state.escape(name) for name in known],
                    "value": [state.escape(value) for value in known.values()],
                }
            ),
            hide_header=True,
        )


def unresolved(study: Study) -> None:
    """Show the trade-offs that the study leaves open: they qualify every verdict above."""
    if study.unresolved:
        lines = "\n".join(f"- {state.escape(item)}" for item in study.unresolved)
        st.markdown(f"**Unresolved**\n{lines}")


def review(selection: Selection, edited: Edited, study: Study) -> None:
    """Show what an acceptance decision needs, and what this study has or lacks of it."""
    lines = judging.review(selection, edited.objective, edited.asked, study)
    passed = sum(line.state is checklist.State.PASSES for line in lines)
    st.subheader(f"Review: {passed} of {len(lines)} lines pass")
    parts.table(
        pl.DataFrame(
            {
                "what a decision needs": [state.escape(line.name) for line in lines],
                "this study": [_STATES[line.state] for line in lines],
                "found": [state.escape(line.found) for line in lines],
                "see": [f"[{line.page}]({_address(line.page)})" for line in lines],
            }
        ),
    )


def traffic(selection: Selection, study: Study) -> None:
    """Show the mix of the customer's trace over the study's, or how to attach one."""
    mix = judging.traffic(selection, study)
    if mix is None:
        st.caption(
            "To draw a customer's traffic over the study's, put a trace into the study's folder "
            'and name it at the top of study.toml: trace = "file name".'
        )
        return
    st.subheader("Against the customer's trace")
    if isinstance(mix, Unread):
        st.warning(f"The trace is not drawn: {state.escape(mix.why)}")
        return
    st.markdown(state.escape(mixes.sentence(mix)))
    shown = mixes.quantities(mix)
    for column, quantity in zip(st.columns(len(shown)), shown, strict=True):
        with column:
            parts.chart(
                f"traffic_{quantity.value}",
                (selection, study.name, judging.attached(study)),
                partial(mixes.panel, mix, quantity),
                f"Distribution: {mixes.TITLES[quantity]}",
            )
    st.caption(state.escape(mixes.caption(mix)))


def _address(page: str) -> str:
    return "." if page == "home" else page


def sensitivity(judged: list[Judged], selection: Selection, edited: Edited) -> None:
    """Show how close the call is at one load, as both limits move."""
    by_id = {each.run.run_id: each for each in judged}
    chosen = st.selectbox(
        "At",
        list(by_id),
        index=_closest(judged, edited.objective.attainment),
        format_func=lambda run_id: by_id[run_id].title,
        key="close",
        bind="query-params",
    )
    state.note("close", by_id[chosen].title)
    cells = judging.sensitivity_of(selection, edited.objective, chosen, edited.asked)
    if not cells:
        st.caption("The map needs a TTFT limit and a cadence limit.")
        return
    parts.chart(
        "sensitivity",
        (selection, edited, chosen),
        lambda look: grids.sensitivity(cells, edited.objective, look),
        "Verdict by TTFT limit and cadence limit",
    )
    st.caption(f"Verdicts {verdicts.CLAIMS[edited.asked]}; the framed cell is the one in force.")


def _closest(judged: list[Judged], target: float) -> int:
    """Return the run whose share lies nearest to the target: there the limits matter most."""
    gaps = [abs(each.attained.low - target) + (each.attained.low == 1) for each in judged]
    return gaps.index(min(gaps))


def by_class(selection: Selection, edited: Edited) -> None:
    """Show the verdicts by load and class of requests, one grid cell each."""
    wanted = st.selectbox(
        "Class",
        list(_CLASSES),
        format_func=lambda each: _CLASSES[each],
        key="class",
        bind="query-params",
    )
    state.note("class", _CLASSES[wanted])
    cells = judging.strata(selection, edited.objective, wanted)
    claim = edited.asked
    if not cells:
        st.caption("No run stands on a load axis.")
        return
    parts.chart(
        "strata",
        (selection, edited, wanted),
        lambda look: grids.strata(cells, claim, look),
        "Verdict by load and class",
    )
    st.caption(
        f"Verdicts {verdicts.CLAIMS[claim]}. Each cell stands on its own requests at its own "
        "5%: among many cells some are wrong by chance; error rates by class were not simulated."
    )
