"""A library's folder: which runs it holds, and how new ones get in whole or not at all.

Runs are written to a hidden staging folder and renamed into place, companions first and the run
file last. A reader pairs a companion with its run file by generation, so an import that is killed
between two renames leaves whole runs only.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from headway import record, studies
from headway.errors import RecordError
from headway.ingest.interrupts import uninterrupted
from headway.model import RunInfo
from headway.record import Run

_STAGING = re.compile(r"\.staging-(\d+)-[0-9a-f]{32}")

# Staging folders of imports under way in this process, on other threads.
_active: set[str] = set()


class Library:
    """The runs under one folder, as found when it was opened and as imports change it.

    Attributes
    ----------
    n_added
        How many runs were put in place since it was opened.
    """

    def __init__(self, folder: Path) -> None:
        self.n_added = 0
        self._folder = folder
        self._runs: dict[Path, RunInfo] = {}
        for path in sorted(folder.glob("*/*.parquet")):
            if record.is_run_file(path):
                # A file that cannot be read is the validator's to report, not an obstacle here.
                with suppress(RecordError):
                    self._runs[path] = record.read_info(path)

    @property
    def folder(self) -> Path:
        """Where the library is."""
        return self._folder

    def find(self, run_id: str) -> RunInfo | None:
        """Return the description of a run the library holds."""
        return next((info for info in self._runs.values() if info.run_id == run_id), None)

    def same_rows(self, info: RunInfo) -> RunInfo | None:
        """Return another run that has the very same rows."""
        return next(
            (
                other
                for other in self._runs.values()
                if other.rows_sha256 == info.rows_sha256 and other.run_id != info.run_id
            ),
            None,
        )

    def describe(self, study: str, folder: Path) -> None:
        """Take over a study's `study.toml` and the files it names, where the library has none.

        What the library has stays as it is: it may have been edited since.
        """
        target = self._folder / study
        if (target / studies.FILE_NAME).exists():
            return
        said = studies.read(folder)
        for name in (*said.files(), studies.FILE_NAME):
            if (folder / name).is_file():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                # Renamed into place: a reader never sees half of it.
                staged = target / f".{uuid4().hex}"
                shutil.copyfile(folder / name, staged)
                staged.replace(target / name)

    def add(self, runs: Sequence[Run]) -> None:
        """Write sealed runs, each in place of its former version in whatever study.

        Raises
        ------
        RecordError
            A run breaks a rule of the record; nothing is written.
        OSError
            The disk refuses.
        """
        with self.adding(runs) as place, uninterrupted():
            place()

    @contextmanager
    def adding(self, runs: Sequence[Run]) -> Iterator[Callable[[], None]]:
        """Write sealed runs aside, and give what puts them in place: `add` in two steps.

        Raises
        ------
        RecordError
            A run breaks a rule of the record; nothing is written.
        OSError
            The disk refuses.
        """
        with folders(self._folder) as made, staging(self._folder) as staged:
            written = [record.write(run, staged) for run in runs]
            for path in (path for paths in written for path in paths):
                _flush(path)

            def place() -> None:
                for run, paths in zip(runs, written, strict=True):
                    study = self._folder / run.info.study
                    made(study)
                    self._place(run, paths, study)

            yield place

    def withdraw(self, source_sha256: str, kept: Sequence[str]) -> None:
        """Remove the runs that a mapping once made of a source and that it no longer makes."""
        gone = {
            path: info
            for path, info in self._runs.items()
            if info.source_sha256 == source_sha256
            and info.mapping is not None
            and info.run_id not in kept
        }
        for path in gone:
            for part in sorted(path.parent.glob(f"{path.stem}.*")):
                part.unlink()
            self._runs.pop(path)

    def _place(self, run: Run, staged: Sequence[Path], study: Path) -> None:
        for path in staged:
            path.replace(study / path.name)
        _flush(study)
        kept = {study / path.name for path in staged}
        # Sorted, a run file comes before its companions, which mean nothing without it.
        for path in sorted(self._folder.glob(f"*/{run.info.run_id}.*")):
            if path not in kept and not path.parent.name.startswith("."):
                path.unlink()
                self._runs.pop(path, None)
        self._runs[study / staged[-1].name] = run.info
        self.n_added += 1


def remove_stale_staging(folder: Path) -> None:
    """Remove what imports that were killed have left behind."""
    for path in folder.glob(".staging-*"):
        match = _STAGING.fullmatch(path.name)
        if match and path.name not in _active and not is_alive(int(match.group(1))):
            shutil.rmtree(path, ignore_errors=True)


def is_alive(pid: int) -> bool:
    """Say whether a process runs that is not this one."""
    if pid == os.getpid():  # not in _active: an earlier process had the same number
        return False
    if sys.platform == "win32":  # there, signal 0 would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@contextmanager
def folders(library: Path) -> Iterator["Maker"]:
    """Make folders as needed; after a failure, remove those made that are still empty."""
    maker = Maker()
    try:
        maker(library)
        yield maker
    except BaseException:
        maker.undo()
        raise


class Maker:
    """Makes folders, and remembers which were not there."""

    def __init__(self) -> None:
        self._made: list[Path] = []

    def __call__(self, folder: Path) -> None:
        """Make a folder and those above it."""
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            self._made.append(path)

    def undo(self) -> None:
        """Remove the folders made that are still empty."""
        for path in reversed(self._made):
            with suppress(OSError):
                path.rmdir()


@contextmanager
def staging(library: Path) -> Iterator[Path]:
    """Make a hidden folder for what is being written, and remove it whatever happens.

    After a kill it stays, until `remove_stale_staging` finds that its process is gone.
    """
    folder = library / f".staging-{os.getpid()}-{uuid4().hex}"
    _active.add(folder.name)
    try:
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _active.discard(folder.name)


def _flush(path: Path) -> None:
    """Bring a file or a folder's entries to the disk, where the system can."""
    with suppress(PermissionError):  # some systems cannot open a folder
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
