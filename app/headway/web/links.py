"""What an address asks for: refused in words where it names what is not here."""

import math
from collections.abc import Iterable
from difflib import get_close_matches

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from headway.errors import HeadwayError
from headway.figures import text

_MOST_NAMED = 5
_CUTOFF = 0.4


class WrongLinkError(HeadwayError):
    """The address names something that is not here: nothing else may be shown in its place."""

    code = "wrong_link"


def given(key: str) -> list[str]:
    """Return the values that the address gives a control."""
    return st.query_params.get_all(key)


def demand(key: str, what: str, options: Iterable[str]) -> None:
    """Refuse an address that names what is none of a control's options.

    Raises
    ------
    WrongLinkError
        With the nearest names that there are.
    """
    known = list(dict.fromkeys(options))
    for value in given(key):
        if value not in known:
            many = len(known) > _MOST_NAMED + 1
            near = get_close_matches(value, known, _MOST_NAMED, _CUTOFF) if many else []
            raise WrongLinkError(
                f"This link names the {what} {value!r}, which is not here; "
                f"{'nearest' if near else 'there are'}: {_listed(near or known)}."
            )


def demand_number(key: str, what: str, low: float | None = None, high: float | None = None) -> None:
    """Refuse an address that gives a control no number, or one outside of its range.

    Raises
    ------
    WrongLinkError
        With what was expected.
    """
    for value in given(key):
        number = _number(value)
        is_low = low is not None and number is not None and number < low
        if number is None or is_low or (high is not None and number > high):
            bounds = [
                f"{word} {bound:g}"
                for word, bound in (("at least", low), ("at most", high))
                if bound is not None
            ]
            expected = " of ".join(["a number", *([" and ".join(bounds)] if bounds else [])])
            raise WrongLinkError(f"This link gives {what} as {value!r}; expected {expected}.")


def demand_page(known: Iterable[str]) -> None:
    """Refuse an address whose path is no page; Streamlit would show the default page for it.

    Raises
    ------
    WrongLinkError
        With the pages that there are.
    """
    context = get_script_run_ctx()
    # What the browser asked for: behind a proxy, the path on the address bar has more in it.
    name = None if context is None else context.pages_manager.intended_page_name
    pages = list(known)
    if name and name not in pages:
        near = get_close_matches(name, pages, 1, _CUTOFF)
        said = f"; did you mean {near[0]!r}?" if near else f"; there are: {_listed(pages)}."
        raise WrongLinkError(f"There is no page {name!r}{said}")


def refuse(error: WrongLinkError, page: StreamlitPage) -> None:
    """Say why the link is not shown, and offer the page as it opens without one."""
    st.error(text.escape(str(error)), icon=":material/link_off:")
    st.page_link(page, label="Open the default view", icon=":material/arrow_forward:")


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _listed(names: list[str]) -> str:
    shown = names if len(names) <= _MOST_NAMED + 1 else names[:_MOST_NAMED]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return (", ".join(repr(name) for name in shown) or "none") + more
