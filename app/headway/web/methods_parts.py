"""The pieces of the Methods page."""

import polars as pl
import streamlit as st

from headway.analyses import error_rates as rates
from headway.analyses.error_rates import Power, TrafficRate
from headway.figures import text
from headway.sql import Query
from headway.web import parts, state


def query(stored: Query) -> None:
    """Show what a stored query answers, and its text."""
    st.markdown(state.escape(stored.summary))
    st.code(stored.text, "sql")


def error_rates() -> None:
    """Show how often verdicts are wrong, on traffic and machines whose answer is known."""
    _traffic()
    _power()
    _workload()
    _same_policy()


def _traffic() -> None:
    found = rates.traffic()
    st.markdown(
        f"Simulated traffic, {found[0].repeats:,} runs a row, at the boundary: the long-run share "
        "equals the target, so every acceptance is a false one. C is how many requests fail "
        "together: the largest design effect over windows of up to ten runs. The promise is about "
        "acceptances whose reach is at least C; those with any reach are beside them. The naive "
        "rule takes requests as independent."
    )
    parts.table(pl.DataFrame([_row(each) for each in found]))
    above = sum(each.exceeds for each in found)
    st.caption(
        f"{above} of {len(found)} rows have more false accepts within reach than "
        f"{text.share(rates.TOLERATED)} and noise explain."
    )


def _row(each: TrafficRate) -> dict[str, str]:
    mark = " !" if each.exceeds else ""
    return {
        "traffic": each.traffic,
        "requests": text.count(each.n),
        "target": text.share(each.target),
        "C": text.significant(each.clustering),
        "false accept, reach ≥ C": f"{text.share(each.false_accept_within)}{mark}",
        "any reach": text.share(each.false_accept),
        "false reject": text.share(each.false_reject),
        "naive exact rule": text.share(each.naive_false_accept),
    }


def _power() -> None:
    st.markdown(
        "Power: how often a run is accepted of whose traffic 99% meets, and rejected of whose "
        "traffic 85% meets, against a target of 95%."
    )
    parts.table(pl.DataFrame([_power_row(each) for each in rates.power()]))


def _power_row(each: Power) -> dict[str, str]:
    return {
        "traffic": each.traffic,
        "requests": text.count(each.n),
        "accepts 99%": text.share(each.accepts),
        "rejects 85%": text.share(each.rejects),
    }


def _workload() -> None:
    found = rates.workload()
    st.markdown(
        f"Replicates, {found[0].sets:,} sets a row: how often all K runs meet, of a workload of "
        "which just fewer runs do than that shows."
    )
    rows = [
        {
            "machine": each.machine,
            "load": f"{each.load:g}",
            "runs": str(each.k),
            "shown by all met": text.share(each.shown),
            "fewer meet than shown": text.share(each.false_bound),
        }
        for each in found
    ]
    parts.table(pl.DataFrame(rows))


def _same_policy() -> None:
    found = rates.same_policy()
    st.markdown(
        f"One policy against itself, {found[0].pairs:,} pairs of sides a row: how often any test "
        "is better or worse. In blocks every verdict is withheld."
    )
    rows = [
        {
            "machine": each.machine,
            "load": f"{each.load:g}",
            "runs a side": str(each.k),
            "interleaved": text.share(each.interleaved),
            "in blocks": text.share(each.blocks),
        }
        for each in found
    ]
    parts.table(pl.DataFrame(rows))
