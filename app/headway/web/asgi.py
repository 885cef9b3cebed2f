"""The dashboard as an ASGI application: `streamlit run asgi.py`."""

from pathlib import Path

import streamlit as st

from headway.web.headers import MIDDLEWARE

app = st.App(Path(__file__).parent / "main.py", middleware=MIDDLEWARE)
