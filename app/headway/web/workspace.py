"""What one browser session has brought: its files, its library, and the import under way.

Nothing of it is shared: the folder has a random name, only the session knows it, and it is removed
when the session ends.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

import streamlit as st

from headway import ingest, record
from headway.importers import mapped
from headway.ingest import apart
from headway.ingest.apart import Apart
from headway.ingest.library import is_alive
from headway.ingest.settings import Settings

_PREFIX = "headway-session-"
_FLAG = "has workspace"


@dataclass(slots=True)
class Batch:
    """Files that were brought at once, and what became of them; `report` as `headway import`.

    `only` names the one of them that is imported, through a mapping.
    """

    folder: Path
    names: tuple[str, ...]
    settings: Settings
    only: str | None = None
    report: dict[str, Any] | None = None
    failure: str | None = None


@dataclass(slots=True)
class Workspace:
    """The folder of a session."""

    folder: Path
    batches: list[Batch] = field(default_factory=list)
    job: Apart | None = None

    @property
    def library(self) -> Path:
        """Where the session's runs are; there may be none yet."""
        return self.folder / "library"

    def run_files(self) -> list[Path]:
        """Return the run files of the session."""
        return sorted(path for path in self.library.glob("*/*") if record.is_run_file(path))

    def bring(self, files: Iterable[tuple[str, bytes]], settings: Settings) -> Batch:
        """Keep files under the names they came with, for an import now or under another mapping."""
        folder = self.folder / "incoming" / uuid4().hex
        names = []
        for name, content in files:
            inside = safe_name(name)
            target = folder / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            names.append(inside.as_posix())
        batch = Batch(folder, tuple(names), settings)
        self.batches.append(batch)
        return batch

    def start(self, batch: Batch, mapping: mapped.Mapping | None = None) -> None:
        """Import a batch in a process of its own."""
        # A zip is named, so that it is unpacked; the rest is one folder.
        packed = [batch.folder / name for name in batch.names if name.lower().endswith(".zip")]
        paths = [batch.folder, *packed] if batch.only is None else [batch.folder / batch.only]
        self.job = apart.importing(paths, self.library, self.scratch(), batch.settings, mapping)

    def again(self, batch: Batch, name: str, mapping: mapped.Mapping) -> None:
        """Import one file of a batch through a mapping."""
        self.batches.append(Batch(batch.folder, (name,), batch.settings, only=name))
        self.start(self.batches[-1], mapping)

    def scratch(self) -> Path:
        """Return the name of a new folder for a task's temporary files."""
        return self.folder / "scratch" / uuid4().hex

    def set_policy(self, policy: str, run_ids: Sequence[str]) -> None:
        """State the policy of runs of the session; their ids and rows stay.

        Run files are Headway's own, checked as they were written: they are read in this process.
        """
        files = [path for path in self.run_files() if path.stem in run_ids]
        ingest.import_paths(files, self.library, Settings(policy=policy))

    def remove(self, run_id: str) -> None:
        """Remove a run of the session and its companions."""
        for path in self.library.glob(f"*/{run_id}.*"):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove everything of the session."""
        if self.job is not None and not self.job.state.is_over:
            self.job.cancel()
        shutil.rmtree(self.folder, ignore_errors=True)


def safe_name(name: str) -> PurePosixPath:
    """Return the name a file is kept under: a relative one that leads nowhere else."""
    parts = [
        part.replace("\x00", "").strip() or "_"
        for part in PurePosixPath(name.replace("\\", "/")).parts
        if part not in ("/", "..", ".", "")
    ]
    visible = [part.lstrip(".")[:120] or "_" for part in parts]
    return PurePosixPath(*(visible or ["file"]))


@st.cache_resource(scope="session", show_spinner=False, on_release=Workspace.close)
def _workspace() -> Workspace:
    _remove_stale()
    return Workspace(Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")))


def open_workspace() -> Workspace:
    """Return the session's workspace, made when it is first needed."""
    st.session_state[_FLAG] = True
    return _workspace()


def existing() -> Workspace | None:
    """Return the session's workspace if it has one."""
    return _workspace() if st.session_state.get(_FLAG) else None


def _remove_stale() -> None:
    """Remove what servers that were killed have left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and int(owner) != os.getpid() and not is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
