"""The sidebar's controls: which requests the numbers of a page count, and how."""

from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from headway.analyses import accounting, naming, overview
from headway.model import Basis, Method, Origin, RunInfo, Selection, Window
from headway.studies import Study
from headway.web import links, state

_Choice = TypeVar("_Choice", Basis, Origin, Method)

# The words stand in the address: a link keeps its meaning only while they stay.
_BASIS_WORDS = {
    Basis.OFFERED: "offered",
    Basis.COMPLETED: "completed",
    Basis.SOURCE: "source",
}
_ORIGIN_WORDS = {Origin.SCHEDULED: "scheduled", Origin.SENT: "sent"}
_METHOD_WORDS = {Method.NEAREST: "nearest", Method.LINEAR: "linear"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The reader's selection: a title for every run, and a shorter name under a shared load."""

    selection: Selection
    titles: dict[str, str]
    names: dict[str, str]
    load: str | None
    runs: list[RunInfo]


def sidebar(study: Study) -> Chosen:
    """Draw the controls for a study; every one of them is in the address."""
    runs = state.runs_of(study)
    run_ids = tuple(run.run_id for run in runs)
    spans = state.analysed(accounting.intervals, Selection(run_ids))
    measured = {run_id: span.measured_rps for run_id, span in spans.items()}
    chosen = _runs(study, runs, measured)
    with st.sidebar.expander("How numbers are counted", expanded=True):
        selection = Selection(
            run_ids=tuple(run.run_id for run in chosen),
            window=_window(),
            basis=_choice("Population", _BASIS_WORDS, "basis"),
            origin=_choice("Latency counts from", _ORIGIN_WORDS, "origin"),
            method=_choice("Percentile", _METHOD_WORDS, "method"),
        )
    titles = state.titles(chosen, measured)
    load, names = naming.without_common_load(chosen, titles, measured)
    return Chosen(selection, titles, names, load, chosen)


def _runs(study: Study, runs: list[RunInfo], measured: dict[str, float | None]) -> list[RunInfo]:
    """Choose runs by policy and load; the first view is one comparison."""
    first = {
        run.run_id: run
        for run in runs
        if run.run_id in state.analysed(overview.default_runs, study.name)
    }
    loads = {run.run_id: naming.load_text(run.load, measured.get(run.run_id)) for run in runs}
    policies = list(dict.fromkeys(state.policy_of(run) for run in runs))
    links.demand("policy", "policy", policies)
    links.demand("load", "load", loads.values())
    wanted = st.sidebar.multiselect(
        "Policy",
        policies,
        default=_first_view("policy", [state.policy_of(run) for run in first.values()]),
        key="policy",
        bind="query-params",
        persist_state="session",
    )
    offered = st.sidebar.multiselect(
        "Offered load",
        list(dict.fromkeys(loads.values())),
        default=_first_view("load", [loads[run_id] for run_id in first]),
        key="load",
        bind="query-params",
        persist_state="session",
    )
    state.note("policy", *wanted)
    state.note("load", *offered)
    found = [run for run in runs if state.policy_of(run) in wanted and loads[run.run_id] in offered]
    if not found:
        st.info(
            "No run has one of these policies at one of these loads. Choose both in the sidebar."
        )
        st.stop()
    return found


def _first_view(key: str, values: list[str]) -> list[str] | None:
    """Return the default of a control, unless another page has already set its value."""
    return None if key in st.session_state else list(dict.fromkeys(values))


def _window() -> Window:
    """Ask for the window over scheduled times, in seconds; empty ends are each run's own."""
    links.demand_number("from_s", "the start of the window")
    links.demand_number("to_s", "the end of the window")
    left, right = st.columns(2)
    start = left.number_input(
        "Window from (s)",
        value=None,
        step=1.0,
        key="from_s",
        bind="query-params",
        placeholder="first arrival",
        persist_state="session",
    )
    end = right.number_input(
        "to (s)",
        value=None,
        step=1.0,
        key="to_s",
        bind="query-params",
        placeholder="last arrival",
        persist_state="session",
    )
    state.note("from_s", start)
    state.note("to_s", end)
    if start is not None and end is not None and start >= end:
        st.error(
            f"The window from {start:g} s to {end:g} s is empty: it must start before its end."
        )
        st.stop()
    return Window(_microseconds(start), _microseconds(end))


def _microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1_000_000)


def _choice(label: str, words: dict[_Choice, str], key: str) -> _Choice:
    """Ask for one of a few words; the first is the default."""
    links.demand(key, label.lower(), words.values())
    chosen = st.selectbox(
        label,
        list(words),
        format_func=lambda option: words[option],
        key=key,
        bind="query-params",
        persist_state="session",
    )
    state.note(key, words[chosen])
    return chosen
