"""Run files become a DuckDB instance to query.

The instance is in memory and reads an explicit list of run files; nothing is written into the
library. It is rebuilt when the path, size or modification time of a file changes.
"""

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import polars as pl

from headway import record, sql, studies
from headway.errors import HeadwayError, MisuseError, RecordError
from headway.model import RunInfo
from headway.remembered import Remembered

Stamp = tuple[tuple[str, int, int], ...]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Broken:
    """A file of the library that could not be read as a run or a study, and why."""

    path: Path
    message: str


@dataclass(frozen=True, slots=True)
class Catalog:
    """The runs of a library, open for queries.

    `digest` names the data: it changes when the canonical rows or the description of any run does,
    and not when a file is merely copied or touched. `folders` holds, by study, where its
    `study.toml` and the files that it names lie; `files`, by run, the run file.

    `memory` keeps what was computed of this instance, and `shared` what was computed of single
    runs, for every instance that holds the same rows. `private` runs are never in `shared`.
    """

    connection: sql.Connection
    runs: dict[str, RunInfo]
    studies: dict[str, studies.Study]
    broken: tuple[Broken, ...]
    digest: str
    folders: dict[str, Path] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    memory: Remembered = field(default_factory=Remembered, compare=False, repr=False)
    shared: Remembered = field(default_factory=Remembered, compare=False, repr=False)
    private: frozenset[str] = frozenset()

    def remember(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return a value of this instance, computed once; the key says what it depends on."""
        return self.memory.value(key, compute)

    def of_each(
        self,
        what: str,
        run_ids: Iterable[str],
        asked: tuple[Hashable, ...],
        compute: Callable[[list[str]], Mapping[str, _T]],
    ) -> dict[str, _T]:
        """Return one value for each run, computed once for its rows and what is asked.

        `compute` gets all runs whose value is not known yet, so that one query answers for all of
        them. A value must follow from the rows of its run alone: neither from other runs nor from
        the description.
        """
        keys = {
            run_id: (what, run_id, self.runs[run_id].rows_sha256, *asked)
            for run_id in dict.fromkeys(run_ids)
        }
        own = {run_id: key for run_id, key in keys.items() if run_id in self.private}
        public = {run_id: key for run_id, key in keys.items() if run_id not in self.private}
        found = self.shared.values(public, compute) | self.memory.values(own, compute)
        return {run_id: found[run_id] for run_id in keys}

    def of_study(self, study: str) -> list[RunInfo]:
        """Return the runs of a study in reading order: policy, kind of load, load, replicate."""
        return sorted((run for run in self.runs.values() if run.study == study), key=_order)

    def run(self, run_id: str) -> RunInfo:
        """Return one run's description.

        Raises
        ------
        MisuseError
            The library has no such run.
        """
        if run_id not in self.runs:
            raise MisuseError(
                f"there is no run {run_id!r} in the library; "
                f"there are {len(self.runs)}: {', '.join(sorted(self.runs)) or 'none'}"
            )
        return self.runs[run_id]


def run_files(paths: Iterable[Path]) -> list[Path]:
    """Return the run files under library folders, and those named one by one.

    Raises
    ------
    MisuseError
        A path does not exist.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            files = sorted(Path(entry.path) for entry in _entries(path))
            found += [file for file in files if record.is_run_file(file)]
        elif path.is_file():
            found.append(path)
        else:
            raise MisuseError(f"{path} does not exist; expected a library folder or a run file")
    return list(dict.fromkeys(found))


def stamp(paths: Iterable[Path]) -> Stamp:
    """Return what tells whether files changed: path, size and modification time of each.

    Run files, their companions and `study.toml` files count. Folders are read once.
    """
    found: Stamp = ()
    for path in paths:
        if path.is_dir():
            found += tuple(sorted(_stamped(entry) for entry in _entries(path)))
        else:
            study = path.with_name(studies.FILE_NAME)
            companion = path.with_name(f"{path.stem}{record.STATE_SUFFIX}")
            found += _stamp(each for each in (path, companion, study) if each.is_file())
    return found


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Return the Parquet and study files under a folder; hidden folders are not entered."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith("."):
                    yield from _entries(Path(entry.path))
            elif entry.name.endswith(".parquet") or entry.name == studies.FILE_NAME:
                yield entry


def _stamped(entry: os.DirEntry[str]) -> tuple[str, int, int]:
    status = entry.stat()
    return entry.path, status.st_size, status.st_mtime_ns


def _stamp(files: Iterable[Path]) -> Stamp:
    return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def open_catalog(
    paths: Sequence[Path], shared: Remembered | None = None, private: Path | None = None
) -> Catalog:
    """Open an instance over the run files of libraries.

    A file that cannot be read, or whose rows are not those that its digest names, is listed in
    `broken` and leaves the others alone. Where two files hold the same run, the first is taken.
    What is computed of single runs goes to `shared`, which other instances may use too; of runs
    under `private` nothing does.
    """
    connection = sql.connect()
    infos: dict[str, RunInfo] = {}
    files: list[Path] = []
    broken: list[Broken] = []
    for path in run_files(paths):
        try:
            info = record.read_info(path)
            if info.run_id in infos:
                raise MisuseError(f"run {info.run_id} is already loaded from another file")
            # Other writers may leave the digest out; copies are known by it.
            info = replace(info, rows_sha256=_verified(path))
            _load(connection, path, info)
        except HeadwayError as error:
            broken.append(Broken(path, str(error)))
            continue
        infos[info.run_id] = info
        files.append(path)
    if infos:
        sql.insert_runs(connection, _run_rows(infos.values()))
    sql.finish(connection, files)
    folders = {info.study: path.parent for info, path in zip(infos.values(), files, strict=True)}
    # A run belongs to the study it names, whatever its folder is called.
    described = {name: _study(name, folder, broken) for name, folder in folders.items()}
    return Catalog(
        connection=connection,
        runs=infos,
        studies=described,
        broken=tuple(broken),
        digest=_digest(infos.values()),
        folders=folders,
        files=dict(zip(infos, files, strict=True)),
        shared=Remembered() if shared is None else shared,
        private=frozenset(
            run_id
            for run_id, path in zip(infos, files, strict=True)
            if private is not None and path.is_relative_to(private)
        ),
    )


def _study(name: str, folder: Path, broken: list[Broken]) -> studies.Study:
    """Return what a study says of itself; nothing where its file is broken, which is listed."""
    try:
        return replace(studies.read(folder), name=name)
    except MisuseError as error:
        broken.append(Broken(folder / studies.FILE_NAME, str(error)))
        return studies.Study(name)


def _verified(path: Path) -> str:
    """Return the digest of a run file's rows; every row is read, once as long as the file stays.

    Raises
    ------
    RecordError
        File or companion are not as they were written.
    """
    companion = path.with_name(f"{path.stem}{record.STATE_SUFFIX}")
    found = _verified_once(_stamp(each for each in (path, companion) if each.is_file()))
    if isinstance(found, RecordError):
        raise found
    return found


@lru_cache(maxsize=10_000)
def _verified_once(stamp: Stamp) -> str | RecordError:
    path = Path(stamp[0][0])
    try:
        return record.verify(path, record.read_info(path))
    except RecordError as error:
        return error


def _load(connection: sql.Connection, path: Path, info: RunInfo) -> None:
    companion = record.state_of(path, info)
    with sql.together(connection):
        sql.add_requests(connection, path)
        if companion is not None:
            sql.add_state(connection, companion)


def _run_rows(infos: Iterable[RunInfo]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "run_id": info.run_id,
                "study": info.study,
                "policy": info.policy,
                "label": info.label,
                "harness": info.harness,
                "boundary": info.boundary.value,
                "clock": info.clock.value,
                "load_kind": info.load.kind.value,
                "declared_rps": info.load.declared_rps,
                "concurrency": info.load.concurrency,
                "n_offered": info.n_offered,
                "n_warmup": info.n_warmup,
            }
            for info in infos
        ],
        schema={
            **dict.fromkeys(("run_id", "study", "policy", "label", "harness"), pl.String),
            **dict.fromkeys(("boundary", "clock", "load_kind"), pl.String),
            "declared_rps": pl.Float64,
            "concurrency": pl.Int32,
            "n_offered": pl.Int64,
            "n_warmup": pl.Int64,
        },
    )


def _digest(infos: Iterable[RunInfo]) -> str:
    lines = sorted(
        f"{info.run_id} {info.rows_sha256} {info.generation or info!r}" for info in infos
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def _order(info: RunInfo) -> tuple[str, str, float, float, int, str]:
    load = info.load
    return (
        info.policy or info.label or "~",
        load.kind.value,
        load.declared_rps or 0.0,
        load.concurrency or 0.0,
        info.replicate or 0,
        info.run_id,
    )
