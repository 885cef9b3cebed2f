"""What the server does before it says that it is ready, so that no reader waits for it."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

import anyio
import streamlit as st

from headway.analyses import accounting, overview
from headway.analyses.acceptance import Asked
from headway.errors import HeadwayError
from headway.figures import overview as charts
from headway.figures import theme
from headway.model import Selection
from headway.web import judging, state

_PAGES = ("home", "run", "distribution", "envelope", "evidence", "compare")
# What Streamlit imports for its first table, and Plotly for its first chart.
_BEHIND_PAGES = ("pandas", "plotly.graph_objects")
_log = logging.getLogger(__name__)


@asynccontextmanager
async def ready(_app: st.App) -> AsyncIterator[None]:
    """Warm up, then let readers in; what goes wrong is for the page to say."""
    # It is right that no browser session runs this, and Streamlit would warn of it.
    sessions = logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context")
    sessions.disabled = True
    try:
        await anyio.to_thread.run_sync(first_views)
    except (HeadwayError, OSError) as error:
        _log.warning("The first visit will take longer: %s", error)
    finally:
        sessions.disabled = False
    yield


def first_views() -> None:
    """Import what pages use, open the library, and measure the study that Home shows first.

    The numbers go where the pages look for them.
    """
    for module in (*(f"headway.web.{page}_parts" for page in _PAGES), *_BEHIND_PAGES):
        import_module(module)
    charts.shares_by_load([], "", "", theme.LIGHT_LOOK)
    with state.shared_library():
        opened = state.catalog()
        if not opened.runs:
            return
        study = opened.studies[min(opened.studies)]
        selection = Selection(tuple(run.run_id for run in state.runs_of(study)))
        objective = study.objective
        state.analysed(overview.points, selection, objective)
        state.analysed(accounting.accounts, selection)
        state.analysed(accounting.reasons, selection)
        if objective is None:
            return
        for asked in Asked:
            judging.envelopes(selection, objective, asked)
        judging.trades(selection, objective)
        judging.load_points(selection, objective)
