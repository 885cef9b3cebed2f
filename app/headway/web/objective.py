"""The objective editor: limits that a reader may move, and how far they are from the declared."""

from dataclasses import dataclass

import streamlit as st

from headway.analyses.acceptance import Asked
from headway.figures.verdicts import CLAIMS
from headway.model import Metric, Objective
from headway.studies import Study
from headway.web import parts, state

_CADENCE = {"longest stall": Metric.STALL, "mean per token": Metric.TPOT, "none": None}
_CLAIM_WORDS = {
    Asked.RUN: "run",
    Asked.WORKLOAD: "workload",
    Asked.TRAFFIC: "traffic",
}


@dataclass(frozen=True, slots=True)
class Edited:
    """The objective in force, the claim asked, and whether the objective is the declared one."""

    objective: Objective
    asked: Asked
    is_declared: bool


def editor(study: Study) -> Edited:
    """Draw the editor; every limit is in the address, and the declared ones are the defaults."""
    declared = study.objective or Objective()
    left, cadence, limit, completion, share, claim = st.columns(
        [1.1, 1.5, 1.1, 1.2, 1, 1.4], vertical_alignment="bottom"
    )
    with left:
        ttft_ms = _limit("TTFT ≤ (ms)", declared.ttft_ms, "ttft")
    kind = cadence.selectbox(
        "Cadence", list(_CADENCE), index=_cadence_of(declared), key="cadence", bind="query-params"
    )
    state.note("cadence", kind)
    named = _CADENCE[kind]
    with limit:
        of_cadence = declared.stall_ms or declared.tpot_ms
        cadence_ms = _limit("≤ (ms)", of_cadence, "cadence_ms", disabled=named is None)
    with completion:
        latency_ms = _limit("Completion ≤ (ms)", declared.latency_ms, "completion")
    with share:
        attainment = _share(declared)
    objective = Objective(
        ttft_ms=ttft_ms,
        tpot_ms=cadence_ms if named is Metric.TPOT else None,
        stall_ms=cadence_ms if named is Metric.STALL else None,
        latency_ms=latency_ms,
        attainment=attainment,
    )
    with claim:
        asked = _asked()
    return Edited(objective, asked, _say(study, objective))


def _share(declared: Objective) -> float:
    """Ask for the share of offered requests; all of them is more than any number can prove."""
    said = st.number_input(
        "% of offered",
        min_value=1.0,
        max_value=99.99,
        value=min(declared.attainment * 100, 99.99),
        step=0.5,
        key="share",
        bind="query-params",
    )
    state.note("share", said)
    return round(said / 100, 6)


def _asked() -> Asked:
    chosen: Asked = st.selectbox(
        "Claim",
        list(_CLAIM_WORDS),
        index=1,
        format_func=lambda each: _CLAIM_WORDS[each],
        key="claim",
        bind="query-params",
        help="; ".join(f"{_CLAIM_WORDS[each]}: {CLAIMS[each]}" for each in Asked),
    )
    state.note("claim", _CLAIM_WORDS[chosen])
    return chosen


def _limit(label: str, default: float | None, key: str, *, disabled: bool = False) -> float | None:
    said: float | None = st.number_input(
        label,
        min_value=0.001,
        value=default,
        step=10.0,
        format="%g",
        placeholder="none",
        key=key,
        bind="query-params",
        disabled=disabled,
    )
    state.note(key, said)
    return said


def _cadence_of(declared: Objective) -> int:
    if declared.stall_ms is not None:
        return 0
    return 1 if declared.tpot_ms is not None else 2


def _say(study: Study, objective: Objective) -> bool:
    """Say whether the objective is the declared one; stop where there is no limit at all."""
    if not objective.limits():
        st.info("No limit is set: give at least one of TTFT, cadence and completion.")
        st.stop()
    if study.objective is None:
        st.warning("No objective is declared for this study: these limits are yours alone.")
        return False
    if objective == study.objective:
        when = study.declared_at or "date not recorded"
        who = study.declared_by or "by not recorded"
        st.caption(f"= declared ✓ ({state.escape(f'{when}, {who}')})")
        return True
    st.warning(
        "Not the declared objective. Every verdict below is on these limits; declared is: "
        f"{state.escape(parts.objective_text(study.objective))}."
    )
    return False
