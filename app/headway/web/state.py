"""What pages share: the open catalog, cached analyses, the selection, and what a view notes."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from headway import catalog as catalogs
from headway.analyses import configurations, naming
from headway.catalog import Catalog
from headway.figures import text, theme
from headway.model import RunInfo
from headway.remembered import Remembered
from headway.serving import PATHS_VARIABLE
from headway.studies import Study
from headway.web import links
from headway.web import workspace as workspaces

_SAMPLES = Path(__file__).parents[3] / "sample_data"

_T = TypeVar("_T")
_LINK = "link to this view"
_QUERIES = "queries behind this view"
# Controls whose options are the runs and policies of one study.
_OF_STUDY = ("policy", "load", "policies", "a", "b", "run", "close")
# Relative to the entry script's folder, as Streamlit wants it.
IMPORT_PAGE = str(Path(__file__).parent / "pages" / "import.py")

escape = text.escape


def library_paths() -> tuple[str, ...]:
    """Return the folders and files to show: those `headway serve` names, else the samples."""
    named = _named_paths()
    return _sample_paths() if st.session_state.get("show_samples") or not named else named


def _named_paths() -> tuple[str, ...]:
    said = os.environ.get(PATHS_VARIABLE, "")
    return tuple(said.split(os.pathsep)) if said else ()


def _sample_paths() -> tuple[str, ...]:
    return (str(_SAMPLES),) if _SAMPLES.is_dir() else ()


@st.cache_resource(show_spinner=False)
def _shared() -> Remembered:
    """Return what was computed of the public runs, for all sessions of the server."""
    return Remembered()


@st.cache_resource(max_entries=2, show_spinner="Reading the run files …")
def _opened(paths: tuple[str, ...], stamp: str) -> Catalog:  # noqa: ARG001 the stamp is the key
    return catalogs.open_catalog([Path(path) for path in paths], _shared())


@st.cache_resource(max_entries=1, scope="session", show_spinner="Reading the run files …")
def _opened_here(paths: tuple[str, ...], stamp: str) -> Catalog:  # noqa: ARG001 as above
    return catalogs.open_catalog([Path(path) for path in paths], _shared(), Path(paths[0]))


def has_own_runs() -> bool:
    """Tell whether this session has brought runs that others do not see."""
    return bool(_brought())


def _brought() -> tuple[str, ...]:
    """Return the library of what this session has brought, if there is a run in it."""
    workspace = workspaces.existing()
    return (str(workspace.library),) if workspace and workspace.run_files() else ()


_current: ContextVar[Catalog | None] = ContextVar("catalog", default=None)


@contextmanager
def one_library() -> Iterator[None]:
    """Read the library once for everything that is drawn inside."""
    with _using(catalog()):
        yield


@contextmanager
def shared_library() -> Iterator[None]:
    """Read the library that all sessions see, outside of any session."""
    with _using(_at(_opened, _named_paths() or _sample_paths())):
        yield


@contextmanager
def _using(opened: Catalog) -> Iterator[None]:
    token = _current.set(opened)
    try:
        yield
    finally:
        _current.reset(token)


def catalog() -> Catalog:
    """Return the open catalog, built anew when a file of the library changed.

    A session that has brought runs of its own has an instance of its own: in a shared one, others
    would see them.
    """
    return _current.get() or _catalog()


def _catalog() -> Catalog:
    shown, brought = library_paths(), _brought()
    # A run that is both here and brought is shown as it was brought, study and all.
    paths = (*brought, *shown)
    return _at(_opened_here if brought else _opened, paths)


def _at(opened: Callable[[tuple[str, ...], str], Catalog], paths: tuple[str, ...]) -> Catalog:
    stamp = catalogs.stamp(Path(path) for path in paths)
    # As one digest, for Streamlit takes long to hash thousands of paths.
    return opened(paths, sha256(repr(stamp).encode(errors="surrogateescape")).hexdigest())


def analysed(analysis: Callable[..., _T], *args: Any) -> _T:
    """Run an analysis over the catalog, once per data and arguments.

    The key holds the arguments themselves, which are frozen dataclasses and plain values: nothing
    is sampled, and equal keys mean equal results. Nobody may change a result.
    """
    opened = catalog()
    key = (analysis.__module__, analysis.__qualname__, args)
    return opened.remember(key, lambda: analysis(opened, *args))


def look() -> theme.Look:
    """Return the look of the reader's mode."""
    return theme.look(dark=st.context.theme.type == "dark")


def require_runs() -> None:
    """Stop the page with what to do next when the library holds no runs."""
    opened = catalog()
    left_out = [f"{escape(b.path.name)} is left out: {escape(b.message)}" for b in opened.broken]
    if left_out:
        st.warning("\n\n".join(left_out))
    if opened.runs:
        return
    st.title("No runs yet")
    st.markdown("Bring result files here, for this session only:")
    st.page_link(IMPORT_PAGE, label="Import result files", icon=":material/upload_file:")
    st.markdown("Or import them into the library, then reload this page:")
    st.code("headway import RESULTS --library library\nheadway serve library", "bash")
    st.caption(
        "Headway reads vLLM, AIPerf and Vidur results, and any table through a mapping; "
        "docs/formats.md says how."
    )
    if _SAMPLES.is_dir() and not st.session_state.get("show_samples"):
        st.button("Show the sample studies", on_click=_show_samples, type="primary")
    st.stop()


def _show_samples() -> None:
    st.session_state["show_samples"] = True


def study() -> Study:
    """Let the reader choose a study in the sidebar and return it."""
    require_runs()
    opened = catalog()
    names = sorted(opened.studies)
    links.demand("study", "study", names)
    chosen = st.sidebar.selectbox(
        "Study",
        names,
        on_change=_forget_choices,
        key="study",
        bind="query-params",
        persist_state="session",
    )
    note("study", chosen)
    return opened.studies[chosen]


def _forget_choices() -> None:
    """Forget which runs were chosen: another study has other ones."""
    for key in _OF_STUDY:
        st.session_state.pop(key, None)


def policy_of(run: RunInfo) -> str:
    """Return what a run's configuration is called."""
    return configurations.name_of(catalog(), run)


def titles(runs: Sequence[RunInfo], measured_rps: Mapping[str, float | None]) -> dict[str, str]:
    """Return a different name for every run."""
    return naming.titles(runs, measured_rps, configurations.names_of(catalog(), runs))


def runs_of(chosen: Study) -> list[RunInfo]:
    """Return the runs of a study in reading order."""
    return catalog().of_study(chosen.name)


def start_view() -> None:
    """Forget the controls and the queries of the last run; those of this one note themselves."""
    st.session_state[_LINK] = {}
    st.session_state[_QUERIES] = []


def note(key: str, *values: object) -> None:
    """Note a control's value for the link to this view.

    The address in the browser leaves defaults out, and a later default may be another: the link
    spells every control out.
    """
    st.session_state[_LINK][key] = [f"{value}" for value in values if value is not None]


def noted() -> Mapping[str, list[str]]:
    """Return the controls of this view and their values."""
    found: dict[str, list[str]] = st.session_state[_LINK]
    return found


def note_queries(names: Iterable[str]) -> None:
    """Note queries that numbers on this view rest on."""
    st.session_state[_QUERIES] = list(dict.fromkeys([*noted_queries(), *names]))


def noted_queries() -> list[str]:
    """Return the queries that the numbers on this view rest on."""
    found: list[str] = st.session_state.get(_QUERIES, [])
    return found


def warn_of_other_data() -> None:
    """Say, before any number, that a link was made from other data than these."""
    linked = st.query_params.get("data")
    if linked and linked != (digest := catalog().digest):
        st.error(
            f"This link was made from other data (digest {escape(linked)}; here {digest}). The "
            "numbers below are not those that it was meant to show.",
            icon=":material/difference:",
        )
