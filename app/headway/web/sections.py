"""Sections of a page that are drawn again by themselves."""

from collections.abc import Callable

import streamlit as st

from headway import sql
from headway.errors import HeadwayError
from headway.web import state

Draw = Callable[[], object]


def alone(draw: Draw) -> None:
    """Draw a section; a control inside it draws this section again, and not the page.

    Other sections may not depend on the controls inside. Where the library has changed since the
    page was drawn, the whole page is drawn again.
    """
    digest = state.catalog().digest

    @st.fragment
    def section() -> None:
        with state.one_library(), sql.recording() as queries:
            if state.catalog().digest != digest:
                st.rerun()
            try:
                draw()
            except HeadwayError as error:
                st.error(state.escape(str(error)))
        state.note_queries(queries)

    section()


def folded(title: str, key: str, draw: Draw) -> None:
    """Draw what an expander holds once a reader opens it; closed, it computes and sends nothing.

    Whether it is open is in the address, so that a link shows it as it was.
    """
    name = f"{key}-open"

    def section() -> None:
        place = st.expander(title, key=name, bind="query-params")
        state.note(name, *(["true"] * bool(place.open)))
        if place.open:
            with place:
                draw()

    alone(section)
