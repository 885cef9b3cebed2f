"""Pages, their addresses, and what stands around each of them."""

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from headway import sql
from headway.errors import HeadwayError
from headway.web import links, state

_PAGES = Path(__file__).parent / "pages"
_ICON = Path(__file__).parent / "icon.png"
# Title and icon, in the order of the menu; a page's file and its address carry its title.
_ENTRIES = (
    ("Home", "home"),
    ("Runs", "list"),
    ("Distributions", "show_chart"),
    ("Envelope", "verified"),
    ("Compare", "compare_arrows"),
    ("Import", "upload_file"),
    ("Methods", "menu_book"),
)


def run() -> None:
    """Draw the page that the address names.

    Home is the default page, and its own address cannot be linked; every page that is linked has
    a stable `url_path`.
    """
    st.set_page_config(page_title="Headway", page_icon=str(_ICON), layout="wide")
    page = st.navigation([_page(*each) for each in _ENTRIES])
    above = st.container()
    state.start_view()
    try:
        links.demand_page(title.lower() for title, _ in _ENTRIES)
        with state.one_library(), sql.recording():
            with above:
                state.warn_of_other_data()
            page.run()
    except links.WrongLinkError as error:
        with above:
            links.refuse(error, page)
        st.stop()
    except HeadwayError as error:
        st.error(state.escape(str(error)))
        st.stop()


def _page(title: str, icon: str) -> StreamlitPage:
    name = title.lower()
    home = title == "Home"
    return st.Page(
        _PAGES / f"{name}.py",
        title=title,
        icon=f":material/{icon}:",
        url_path=None if home else name,
        default=home,
    )
