"""The version of Headway, as the installed package states it."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("headway")
except PackageNotFoundError:  # run straight from a checkout: `streamlit run app/streamlit_app.py`
    __version__ = "0.0.0+checkout"
