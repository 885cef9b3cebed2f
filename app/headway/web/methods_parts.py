"""The pieces of the Methods page."""

import polars as pl
import streamlit as st

from headway.analyses.error_rates import NOMINAL, RATES, REPLICATED, ErrorRate
from headway.figures import text
from headway.web import parts


def error_rates() -> None:
    """Show how often the verdict about traffic is wrong, on servers whose answer is known."""
    repeats = RATES[0].repeats
    st.markdown(
        f"Simulated servers, {repeats:,} runs each, at the boundary: the long-run share equals the "
        "target, so every acceptance is a false one. The naive rule takes requests as independent."
    )
    parts.table(pl.DataFrame([_row(each) for each in RATES]))
    above = sum(each.exceeds for each in RATES)
    said = (
        f"! marks the {above} of {len(RATES)} cells in which Headway accepts more often than "
        f"{text.share(NOMINAL)} and noise explain."
        if above
        else f"In none of the {len(RATES)} cells does Headway accept more often than "
        f"{text.share(NOMINAL)} and noise explain."
    )
    st.caption(
        f"{said} Vacuous: no run had enough effective requests to be accepted, so nothing was "
        "tested there."
    )
    _replicated()


def _replicated() -> None:
    st.markdown(
        "The claim about the workload, on replicates of a machine whose speed varies by 2%:"
    )
    parts.table(
        pl.DataFrame(
            [
                {
                    "load": f"{each.load:g}",
                    "replicates": str(each.replicates),
                    "false accept": text.share(each.false_accept),
                    "false reject": text.share(each.false_reject),
                    "A/A p50 differs": text.share(each.p50_differs),
                    "A/A p90 differs": text.share(each.p90_differs),
                    "A/A p99 differs": text.share(each.p99_differs),
                }
                for each in REPLICATED
            ]
        ),
    )


def _row(each: ErrorRate) -> dict[str, str]:
    return {
        "server": each.server,
        "requests": text.count(each.n),
        "target": text.share(each.target),
        "false accept": _false_accept(each),
        "naive exact rule": text.share(each.naive_false_accept),
        "MLPerf early stopping": text.share(each.early_stopping_false_accept),
        "false reject": text.share(each.false_reject),
        "coverage": text.share(each.coverage),
        "accepts well above": text.share(each.accepts_above),
        "rejects well below": text.share(each.rejects_below),
    }


def _false_accept(each: ErrorRate) -> str:
    if each.vacuous:
        return "vacuous"
    return f"{text.share(each.false_accept)}{' !' if each.exceeds else ''}"
