"""The pieces of the Import page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import streamlit as st

from headway.analyses import accounting
from headway.figures import text
from headway.ingest.settings import Settings
from headway.model import RunInfo, Selection, TokenCounter
from headway.studies import DEFAULT
from headway.web import parts, state, uploads
from headway.web.workspace import Batch, Workspace

PROMISE = (
    "Result files of vLLM, AIPerf and Vidur, Headway's own run files, and any table with a row for "
    "each request: JSON, CSV, Parquet, DuckDB or SQLite, packed or not. They are read in a process "
    "of their own, **stay private to this session**, appear on every page beside what is there, "
    "and are gone when the session ends."
)
_RUNS = str(Path(__file__).parent / "pages" / "runs.py")
_EVERY_S = 0.5
_MOST_NAMED = 12
_REASONS = {
    "aggregate_only": "totals only",
    "damaged": "damaged",
    "empty": "empty",
    "foreign": "not recognised",
    "inconsistent": "contradicts itself",
    "invalid_record": "breaks a rule of the record",
    "not_utf8": "not UTF-8 text",
    "too_long": "too large",
    "unreadable": "not readable",
}


class _Brought(Protocol):
    """A file as Streamlit hands it over."""

    @property
    def name(self) -> str:
        """Its name, with the folders it was in."""

    def getvalue(self) -> bytes:
        """Return its content."""


def bring(here: Workspace) -> None:
    """Take files, a folder or a zip, and what they do not say."""
    # A new key empties the uploaders once their files are kept.
    place = len(here.batches)
    files, folder = st.tabs(["Files or a zip", "A folder"])
    with files:
        brought = st.file_uploader(
            "Drop result files here, together with the files beside them",
            accept_multiple_files=True,
            key=f"files-{place}",
        )
    with folder:
        inside = st.file_uploader(
            "Choose the folder of one run, of a sweep, or of a whole study",
            accept_multiple_files="directory",
            key=f"folder-{place}",
        )
    found: list[_Brought] = [*(brought or []), *(inside or [])]
    said = _said(place)
    problem = _too_much(found)
    if problem:
        st.error(problem)
    busy = here.job is not None and not here.job.state.is_over
    if st.button(
        "Import", type="primary", disabled=not found or bool(problem) or busy, key="import"
    ):
        batch = here.bring(((file.name, file.getvalue()) for file in found), said)
        here.start(batch)
        st.rerun()
    if not here.batches:
        _samples(here)


def _samples(here: Workspace) -> None:
    """Offer files to try with, where the samples have some."""
    folders = [Path(path) / "raw" for path in state.library_paths()]
    folder = next((each for each in folders if each.is_dir()), None)
    if folder is None:
        return
    st.caption("Nothing at hand? One result of each tool, as it was written:")
    if st.button("Try with sample files", key="samples"):
        files = sorted(
            path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md"
        )
        named = ((path.relative_to(folder).as_posix(), path.read_bytes()) for path in files)
        here.start(here.bring(named, Settings(study="tried")))
        st.rerun()


def _too_much(found: Sequence[_Brought]) -> str | None:
    n_bytes = sum(len(file.getvalue()) for file in found)
    if len(found) <= uploads.MAX_FILES and n_bytes <= uploads.quota_bytes():
        return None
    return (
        f"{len(found):,} files of {n_bytes / 1e6:,.0f} MB in all; expected at most "
        f"{uploads.MAX_FILES} files and {uploads.quota_bytes() / 1e6:,.0f} MB at once. Bring them "
        "in parts or as a zip; on a machine of your own, `headway import` takes any size."
    )


def _said(place: int) -> Settings:
    """Let the user state what the files do not say; empty means what the files say."""
    with st.expander("What the files do not say"):
        first, second, third, fourth = st.columns(4)
        study = first.text_input(
            "Study", placeholder="as study.toml says, else default", key=f"study-{place}"
        )
        policy = second.text_input("Policy", placeholder="as recorded", key=f"policy-{place}")
        rate = third.number_input(
            "Offered load (req/s)",
            min_value=0.0,
            value=None,
            placeholder="as recorded",
            key=f"rate-{place}",
        )
        counter = fourth.selectbox(
            "Token counts of",
            list(TokenCounter),
            format_func=_whose,
            key=f"counter-{place}",
            help="Where a file has both the tool's count and the server's.",
        )
    stated: dict[str, Any] = {} if not rate else {"load.declared_rps": rate}
    if counter is TokenCounter.SERVER:
        stated["token_counter"] = counter.value
    return Settings(study=study.strip() or None, policy=policy.strip() or None, set=stated)


def _whose(counter: TokenCounter) -> str:
    return f"the {counter.value}"


def under_way(here: Workspace) -> None:
    """Show how far the import is, and end it if asked."""
    if here.job is None:
        return
    if here.job.state.is_over:
        _over(here)
        return
    _progress(here)


@st.fragment(run_every=_EVERY_S)
def _progress(here: Workspace) -> None:
    if here.job is None or here.job.state.is_over:
        st.rerun()
    said = here.job.state
    share = (said.n_done + said.share) / said.n_sources if said.n_sources else 0.0
    which = (
        f"{said.n_done + 1} of {said.n_sources}: {said.name}"
        if said.n_sources
        else "starts in its turn"
    )
    left, right = st.columns([6, 1], vertical_alignment="bottom")
    left.progress(min(share, 1.0), text=f"Importing {state.escape(which)}")
    if right.button("Cancel", key="cancel", width="stretch"):
        here.job.cancel()
        st.rerun()


def _over(here: Workspace) -> None:
    """Note what became of the batch that was under way."""
    if here.job is None:
        return
    said, here.job = here.job.state, None
    here.batches[-1].report, here.batches[-1].failure = said.result, said.failure
    st.rerun()


def outcome(batch: Batch) -> None:
    """Say what was recognised, imported, refused and passed over, and why."""
    if batch.failure is not None:
        st.error(state.escape(batch.failure))
        return
    if batch.report is None:
        return
    runs = [entry for entry in batch.report["imported"] if entry["run_id"] in state.catalog().runs]
    refused = batch.report["refused"]
    st.subheader(_headline(batch, len(batch.report["imported"]), len(refused)))
    if runs:
        _imported(runs, batch)
    if refused:
        _refused(refused, batch)
    _passed_over(batch)


def _headline(batch: Batch, n_imported: int, n_refused: int) -> str:
    parts_of = [f"{n_imported} run{'s' * (n_imported != 1)} imported"]
    if n_refused:
        parts_of.append(f"{n_refused} refused")
    n_files = len(batch.names)
    return f"{', '.join(parts_of)} from {n_files:,} file{'s' * (n_files != 1)}"


def _imported(runs: Sequence[Mapping[str, Any]], batch: Batch) -> None:
    """Show a run with its accounting and findings, below a table where there are many."""
    titles = _titles([state.catalog().runs[entry["run_id"]] for entry in runs])
    if len(runs) > 1:
        parts.table(pl.DataFrame([_line(entry, titles, batch) for entry in runs]))
    by_id = {entry["run_id"]: entry for entry in runs}
    chosen = next(iter(by_id))
    if len(runs) > 1:
        chosen = st.selectbox(
            "Look at", list(by_id), format_func=lambda run_id: titles[run_id], key=batch.folder.name
        )
    entry, run = by_id[chosen], state.catalog().runs[chosen]
    account = state.analysed(accounting.accounts, Selection((chosen,)))[chosen]
    left, right = st.columns([1, 2], gap="large")
    with left:
        st.markdown(f"**{state.escape(titles[chosen])}**")
        parts.accounting(account)
        st.page_link(_RUNS, label="Open on Runs", query_params=_address(run))
    with right:
        st.markdown("**What was noticed**")
        parts.findings(run.findings)
        st.caption(state.escape(_provenance(entry, run, batch)))


def _titles(runs: Sequence[RunInfo]) -> dict[str, str]:
    selection = Selection(tuple(run.run_id for run in runs))
    spans = state.analysed(accounting.intervals, selection)
    measured = {run_id: span.measured_rps for run_id, span in spans.items()}
    return state.titles(runs, measured)


def _address(run: RunInfo) -> dict[str, str]:
    """Return what opens a run on Runs, which calls it by its title among all runs of its study."""
    title = _titles(state.catalog().of_study(run.study))[run.run_id]
    return {"study": run.study, "run": title}


def _line(entry: Mapping[str, Any], titles: Mapping[str, str], batch: Batch) -> dict[str, str]:
    outcomes = {name: n for name, n in entry["outcomes"].items() if n}
    said = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in outcomes.items())
    return {
        "run": state.escape(titles[entry["run_id"]]),
        "recognised as": state.escape(entry["harness"]),
        "offered": f"{entry['n_offered']:,}",
        "outcomes": said,
        "findings": f"{len(entry['findings'])}",
        "file": state.escape(_name(entry["source"], batch)),
    }


def _provenance(entry: Mapping[str, Any], run: RunInfo, batch: Batch) -> str:
    study = f"study {run.study}" if run.study != DEFAULT else "no study was named"
    again = " · replaces an earlier import" if entry["replaced"] else ""
    reader = f"{run.importer}, through the mapping {run.mapping}" if run.mapping else run.importer
    return f"{_name(entry['source'], batch)} · read by {reader} · {study}{again}"


def _refused(refused: Sequence[Mapping[str, Any]], batch: Batch) -> None:
    """Say of each refused file why, in the words of the import without its folders."""
    parts.table(
        pl.DataFrame(
            [
                {
                    "file": state.escape(_name(entry["source"], batch)),
                    "refused": _REASONS.get(entry["code"], entry["code"].replace("_", " ")),
                    "why, and what to do": state.escape(
                        entry["message"].replace(f"{batch.folder}/", "")
                    ),
                }
                for entry in refused
            ]
        )
    )


def _passed_over(batch: Batch) -> None:
    """Name the files that lay beside: those that look like results with what to do, then others."""
    if batch.report is None:
        return
    skipped = batch.report["skipped"]
    for entry in (entry for entry in skipped if entry["is_result"]):
        why = entry["why"].replace(f"{batch.folder}/", "")
        st.warning(state.escape(f"{_name(entry['source'], batch)} was left out: {why}"))
    left_out = {_name(entry["source"], batch) for entry in skipped if entry["is_result"]}
    names = [name for name in passed_over(batch) if name not in left_out]
    if not names:
        return
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    said = f"Passed over, nothing in them looks like requests: {', '.join(names[:_MOST_NAMED])}"
    st.caption(state.escape(f"{said}{more}."))


def passed_over(batch: Batch) -> list[str]:
    """Return the names of a batch's files that no importer claims."""
    if batch.report is None:
        return []
    names = [_name(entry["source"], batch) for entry in batch.report["skipped"]]
    return [name for name in names if not name.lower().endswith(".zip")]


def _name(source: str, batch: Batch) -> str:
    """Return a file's name as the user knows it."""
    path = Path(source)
    return (
        path.relative_to(batch.folder).as_posix() if path.is_relative_to(batch.folder) else source
    )


def kept(here: Workspace) -> None:
    """List the session's own runs, to download or remove."""
    files = {path.stem: path for path in here.run_files()}
    runs = [run for run_id, run in state.catalog().runs.items() if run_id in files]
    if not runs:
        return
    st.subheader("Runs of this session")
    titles = _titles(runs)
    chosen = st.selectbox(
        "Run", [run.run_id for run in runs], format_func=lambda each: titles[each], key="kept"
    )
    left, middle, _ = st.columns([1, 1, 3])
    left.download_button(
        "Download the run file",
        data=lambda: files[chosen].read_bytes(),
        file_name=files[chosen].name,
        mime="application/vnd.apache.parquet",
        key="download",
        help="Parquet, complete by itself: import it again here, or put it in a library.",
        width="stretch",
    )
    if middle.button("Remove it", key="remove", width="stretch"):
        here.remove(chosen)
        st.rerun()
    st.caption(
        f"{text.count(len(runs))} run{'s' * (len(runs) != 1)}, visible to nobody else. They are "
        "removed when this browser session ends: download what you want to keep."
    )
