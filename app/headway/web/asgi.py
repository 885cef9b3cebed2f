"""The dashboard as an ASGI application: `streamlit run asgi.py`."""

from pathlib import Path

import streamlit as st

from headway.web import warm_up
from headway.web.compression import COMPRESSED
from headway.web.headers import HEADERS
from headway.web.uploads import QUOTA

# The entry has a folder of its own: beside `pages/`, Streamlit would take those for its own kind of
# pages and run one alone, without navigation, when the first visit is to its address.
app = st.App(
    Path(__file__).parent / "entry" / "main.py",
    middleware=[HEADERS, COMPRESSED, QUOTA],
    lifespan=warm_up.ready,
)
