"""A library for the pages, and a clean cache for every test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from headway import sql
from headway.serving import PATHS_VARIABLE
from pages import MAIN, SAMPLES, Open


@pytest.fixture(autouse=True)
def _empty_caches() -> Iterator[None]:
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the queries that run, as they run."""
    names: list[str] = []
    run = sql.Query.run

    def noted(query: sql.Query, *args: Any, **values: Any) -> pl.DataFrame:
        names.append(query.name)
        return run(query, *args, **values)

    monkeypatch.setattr(sql.Query, "run", noted)
    return names


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Return a function that runs a page over a library, with controls set by the address."""

    def run(page: str, library: Path = SAMPLES, **controls: str | list[str]) -> AppTest:
        monkeypatch.setenv(PATHS_VARIABLE, str(library))
        app = AppTest.from_file(str(MAIN), default_timeout=60)
        if page != "home":
            app.switch_page(f"../pages/{page}.py")
        for name, value in controls.items():
            app.query_params[name] = value
        return app.run()

    return run
