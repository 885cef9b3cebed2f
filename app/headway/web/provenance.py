"""Where the numbers of a page come from: the queries behind them, and a link to the view."""

from urllib.parse import quote

import streamlit as st

from headway import sql
from headway.web import sections, state


def footer() -> None:
    """Offer the queries behind the page's numbers, and a link that shows the same view."""
    state.note_queries(sql.recorded())
    left, right = st.columns([5, 1], vertical_alignment="center")
    with left:
        sections.folded("The queries behind these numbers", "queries", _queries)
    with right:
        sections.alone(_link)


def _queries() -> None:
    for name in state.noted_queries():
        st.caption(f"`{name}`")
        st.code(sql.load(name).text, "sql")


def _link() -> None:
    """Show the link when it is asked for: a section may have changed a control since."""
    place = st.popover("Link to this view", width="stretch", key="link-open", on_change="rerun")
    if place.open:
        with place:
            st.markdown(_who_can_open())
            st.code(_address(), None, wrap_lines=True)


def _who_can_open() -> str:
    """Say whom the link shows this view: what a session has brought, nobody else has."""
    if not state.has_own_runs():
        return "This address shows the same view of the same data:"
    return (
        "**Only this browser session has the imported runs.** Elsewhere this address cannot show "
        "them. Send the run files too: download them on the Import page."
    )


def _address() -> str:
    """Return the page's address with every control of it, and the data's digest."""
    base = (st.context.url or "").split("?")[0]
    pairs = [
        f"{quote(key)}={quote(value)}" for key, values in state.noted().items() for value in values
    ]
    return f"{base}?{'&'.join([*pairs, f'data={state.catalog().digest}'])}"
