"""The objective of the session: the declared limits, or those that the reader tries out.

Every page that judges takes it from here, says it under its title, and has it in its address.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from headway.analyses.acceptance import Asked
from headway.figures import answers
from headway.figures.verdicts import CLAIMS
from headway.model import Metric, Objective
from headway.studies import Study
from headway.web import links, state

_CADENCE = {"longest stall": Metric.STALL, "mean per token": Metric.TPOT, "none": None}
_CLAIM_WORDS = {
    Asked.RUN: "run",
    Asked.WORKLOAD: "workload",
    Asked.TRAFFIC: "traffic",
}
_LIMITS = {"ttft": "the TTFT limit", "cadence_ms": "the cadence limit", "completion": "the limit"}
_LEAST_MS = 0.001
_SHARES = (1.0, 99.99)  # all of them is more than any number can prove
_OF = "objective of study"


@dataclass(frozen=True, slots=True)
class Edited:
    """The objective in force, and the claim asked."""

    objective: Objective
    asked: Asked


def in_force(study: Study) -> Objective | None:
    """Draw the limits in the sidebar and return them; None where there is none."""
    with st.sidebar.expander("Objective"):
        objective = _limits(study, [st.container] * 5)
    return objective if objective.limits() else None


def editor(study: Study, name_page: Callable[[], None]) -> Edited:
    """Draw the limits side by side, with the claim; stop where there is no limit at all."""
    *places, claim = st.columns([1.1, 1.5, 1.1, 1.2, 1, 1.4], vertical_alignment="bottom")
    objective = _limits(study, [place.container for place in places])
    with claim:
        asked = _asked()
    if not objective.limits():
        name_page()
        st.info("No limit is set: give at least one of TTFT, cadence and completion.")
        st.stop()
    return Edited(objective, asked)


def header(study: Study, objective: Objective | None) -> None:
    """Say which objective the numbers of the page are judged by, and whether it is declared."""
    declared = study.objective
    if objective is None:
        missing = "declared for this study" if declared is None else "in force"
        st.caption(
            f"No objective is {missing}: set a limit in the sidebar or on Envelope, or declare one "
            "in study.toml. Without one, requests that completed are counted."
        )
        return
    said = state.escape(answers.objective(objective))
    if objective == declared:
        when = f"declared {study.declared_at}" if study.declared_at else "declared, date unknown"
        who = f" by {study.declared_by}" if study.declared_by else ""
        st.markdown(f"Objective: **{said}** · {state.escape(when + who)} ✓")
        return
    known = (
        "none is declared"
        if declared is None
        else f"declared: {state.escape(answers.objective(declared))}"
    )
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.markdown(f"Objective: **{said}** · :orange[**what-if**]; {known}")
    right.button("Reset", key="reset-objective", on_click=_put, args=(_declared(study),))


def _limits(study: Study, places: list[Callable[[], Any]]) -> Objective:
    """Ask for the five parts of an objective, each in a place of its own."""
    _check_link()
    _start(study)
    declared = study.objective or Objective()
    first, cadence, limit, completion, share = places
    with first():
        ttft_ms = _limit("TTFT ≤ (ms)", "ttft")
    with cadence():
        named = _CADENCE[_cadence()]
    with limit():
        cadence_ms = _limit("≤ (ms)", "cadence_ms", disabled=named is None)
    with completion():
        latency_ms = _limit("Completion ≤ (ms)", "completion")
    with share():
        attainment = _share()
    return Objective(
        ttft_ms=ttft_ms,
        tpot_ms=cadence_ms if named is Metric.TPOT else None,
        stall_ms=cadence_ms if named is Metric.STALL else None,
        latency_ms=latency_ms,
        attainment=attainment,
        repeats=declared.repeats,
        spell_s=declared.spell_s,
    )


def _check_link() -> None:
    for key, what in _LIMITS.items():
        links.demand_number(key, what, low=_LEAST_MS)
    links.demand_number("share", "the share", *_SHARES)
    links.demand("cadence", "cadence", _CADENCE)
    links.demand("claim", "claim", _CLAIM_WORDS.values())


def _start(study: Study) -> None:
    """Set the declared limits where neither the session nor the address has set others.

    An address that Headway made names the share and the cadence always: there, a limit that is
    missing is none. One typed by hand changes what it names. Another study has limits of its own.
    """
    before = st.session_state.get(_OF)
    if before == study.name and st.session_state.get("share") is not None:
        # Put again what is there: on another page the same control would begin without it.
        _put({key: st.session_state.get(key) for key in _declared(study)})
        return
    linked = set() if before is not None else {key for key in _declared(study) if links.given(key)}
    if not linked >= {"share", "cadence"}:
        _put({key: value for key, value in _declared(study).items() if key not in linked})
    st.session_state[_OF] = study.name


def _declared(study: Study) -> dict[str, Any]:
    """Return the declared objective as the values of the controls."""
    declared = study.objective or Objective()
    kind = "longest stall" if declared.stall_ms is not None else "none"
    return {
        "ttft": declared.ttft_ms,
        "cadence": "mean per token" if declared.tpot_ms is not None else kind,
        "cadence_ms": declared.stall_ms or declared.tpot_ms,
        "completion": declared.latency_ms,
        "share": min(declared.attainment * 100, _SHARES[1]),
    }


def _put(values: dict[str, Any]) -> None:
    for key, value in values.items():
        st.session_state[key] = value


def _cadence() -> str:
    # No default of its own, so that the address always names it.
    kind: str | None = st.selectbox(
        "Cadence",
        list(_CADENCE),
        index=None,
        placeholder="none",
        key="cadence",
        bind="query-params",
        persist_state="session",
    )
    state.note("cadence", kind or "none")
    return kind or "none"


def _share() -> float:
    """Ask for the share of offered requests."""
    said = st.number_input(
        "% of offered",
        min_value=_SHARES[0],
        max_value=_SHARES[1],
        value=None,
        step=0.5,
        key="share",
        bind="query-params",
        persist_state="session",
    )
    share = Objective().attainment * 100 if said is None else said
    state.note("share", share)
    return round(share / 100, 6)


def _asked() -> Asked:
    chosen: Asked = st.selectbox(
        "Claim",
        list(_CLAIM_WORDS),
        index=1,
        format_func=lambda each: _CLAIM_WORDS[each],
        key="claim",
        bind="query-params",
        persist_state="session",
        help="; ".join(f"{_CLAIM_WORDS[each]}: {CLAIMS[each]}" for each in Asked),
    )
    state.note("claim", _CLAIM_WORDS[chosen])
    return chosen


def _limit(label: str, key: str, *, disabled: bool = False) -> float | None:
    said: float | None = st.number_input(
        label,
        min_value=_LEAST_MS,
        value=None,
        step=10.0,
        format="%g",
        placeholder="none",
        key=key,
        bind="query-params",
        persist_state="session",
        disabled=disabled,
    )
    state.note(key, said)
    return said
