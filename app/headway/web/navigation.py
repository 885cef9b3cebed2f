"""Pages, their addresses, and what stands around each of them."""

from pathlib import Path

import streamlit as st

from headway.errors import HeadwayError
from headway.web import state

_PAGES = Path(__file__).parent / "pages"
_ICON = Path(__file__).parent / "icon.png"


def run() -> None:
    """Draw the page that the address names.

    Home is the default page, and its own address cannot be linked; every page that is linked has
    a stable `url_path`.
    """
    st.set_page_config(page_title="Headway", page_icon=str(_ICON), layout="wide")
    page = st.navigation(
        [
            st.Page(_PAGES / "home.py", title="Home", icon=":material/home:", default=True),
            st.Page(_PAGES / "runs.py", title="Runs", icon=":material/list:", url_path="runs"),
            st.Page(
                _PAGES / "distributions.py",
                title="Distributions",
                icon=":material/show_chart:",
                url_path="distributions",
            ),
            st.Page(
                _PAGES / "envelope.py",
                title="Envelope",
                icon=":material/verified:",
                url_path="envelope",
            ),
            st.Page(
                _PAGES / "methods.py",
                title="Methods",
                icon=":material/menu_book:",
                url_path="methods",
            ),
        ]
    )
    state.start_link()
    try:
        page.run()
    except HeadwayError as error:
        st.error(state.escape(str(error)))
        st.stop()
