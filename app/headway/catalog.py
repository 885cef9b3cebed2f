"""Run files become a DuckDB instance to query.

The instance is in memory and reads an explicit list of run files, each when it is first asked for.
Nothing is written into the library. It is rebuilt when the path, size or modification time of a
file changes.
"""

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from headway import library_index, record, sql, studies
from headway.errors import HeadwayError, MisuseError
from headway.instance import Instance, Source, Stamp, stamp_of
from headway.library_index import Entry, Index
from headway.model import RunInfo
from headway.remembered import Remembered

_T = TypeVar("_T")
# The parameters of stored queries that name runs.
_RUN_PARAMETERS = ("run_ids", "runs_a", "runs_b")
_LOADED_AT_ONCE = 100
# What a session computes of its own runs; each session has such a memory.
_PRIVATE_BYTES = 32 * 1024 * 1024


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

    instance: Instance
    runs: dict[str, RunInfo]
    studies: dict[str, studies.Study]
    broken: tuple[Broken, ...]
    digest: str
    folders: dict[str, Path] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    memory: Remembered = field(default_factory=Remembered, compare=False, repr=False)
    shared: Remembered = field(default_factory=Remembered, compare=False, repr=False)
    private: frozenset[str] = frozenset()

    @property
    def connection(self) -> sql.Connection:
        """A connection to an instance that holds the requests of all runs."""
        return self.instance.connection(self.runs)

    def query(self, name: str, **values: Any) -> pl.DataFrame:
        """Run a stored query; the runs that it names are read when they are first asked for.

        Raises
        ------
        QueryError
            There is no such query, or a value does not fit.
        """
        run_ids = [run_id for each in _RUN_PARAMETERS for run_id in values.get(each) or ()]
        return sql.load(name).run(self.instance.connection(run_ids), **values)

    def rows_of_each(
        self, name: str, run_ids: Iterable[str], **asked: Hashable
    ) -> dict[str, pl.DataFrame]:
        """Return the rows of a stored query by run, in the query's order, without `run_id`.

        One query answers for all runs whose rows are not known yet. The rows of a run must follow
        from this run alone.
        """

        def read(missing: list[str]) -> dict[str, pl.DataFrame]:
            return by_run(self.query(name, run_ids=missing, **asked), missing)

        return self.of_each(name, run_ids, tuple(asked.items()), read)

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
        """Return one value for each run, computed once for its data and what is asked.

        `compute` gets all runs whose value is not known yet, so that one query answers for all of
        them. A value must follow from the rows and the samples of its run alone: neither from other
        runs nor from the description.
        """
        keys = {run_id: (what, *self._data(run_id), *asked) for run_id in dict.fromkeys(run_ids)}
        own = {run_id: key for run_id, key in keys.items() if run_id in self.private}
        public = {run_id: key for run_id, key in keys.items() if run_id not in self.private}
        found = self.shared.values(public, compute) | self.memory.values(own, compute)
        return {run_id: found[run_id] for run_id in keys}

    def _data(self, run_id: str) -> tuple[Hashable, ...]:
        """Return what names the data of a run: the digest of its rows, its companion's stamp."""
        return run_id, self.runs[run_id].rows_sha256, self.instance.companion_stamp(run_id)

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


def by_run(rows: pl.DataFrame, run_ids: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return the rows of each run, in their order, without the column `run_id`."""
    parts = rows.partition_by("run_id", maintain_order=True, include_key=False, as_dict=True)
    none = rows.clear().drop("run_id")
    return {run_id: parts.get((run_id,), none) for run_id in run_ids}


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
            found += _stamp_of_run(path) + stamp_of(each for each in (study,) if each.is_file())
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


def open_catalog(
    paths: Sequence[Path], shared: Remembered | None = None, private: Path | None = None
) -> Catalog:
    """Open an instance over the run files of libraries.

    A file that cannot be read, or whose rows are not those that its digest names, is listed in
    `broken` and leaves the others alone. Where two files hold the same run, the first is taken.
    What is computed of single runs goes to `shared`, which other instances may use too; of runs
    under `private` nothing does, and nothing of them is kept on disk.
    """
    known = _Entries(paths, private)
    sources, infos, broken = _sources(known.by_path)
    instance = Instance(sources)
    fresh = [run_id for run_id, source in sources.items() if source.path in known.fresh]
    for run_id, message in _misfits(instance, fresh).items():
        path = sources.pop(run_id).path
        known.refuse(path, message)
        broken.append(Broken(path, message))
        del infos[run_id]
    known.keep()
    files = {run_id: source.path for run_id, source in sources.items()}
    folders = {info.study: files[run_id].parent for run_id, info in infos.items()}
    # A run belongs to the study it names, whatever its folder is called.
    described = {name: _study(name, folder, broken) for name, folder in folders.items()}
    return Catalog(
        instance=instance,
        runs=infos,
        studies=described,
        broken=tuple(broken),
        digest=_digest(infos.values()),
        folders=folders,
        files=files,
        memory=Remembered() if private is None else Remembered(_PRIVATE_BYTES),
        shared=Remembered() if shared is None else shared,
        private=frozenset(
            run_id
            for run_id, path in files.items()
            if private is not None and path.is_relative_to(private)
        ),
    )


class _Entries:
    """What is known of the run files of libraries; those that are not known are read."""

    def __init__(self, paths: Sequence[Path], private: Path | None) -> None:
        self.by_path: dict[Path, tuple[Stamp, Entry]] = {}
        self.fresh: set[Path] = set()
        self._indexes = [
            (Index(None if path == private else path), run_files([path])) for path in paths
        ]
        for index, files in self._indexes:
            for file in files:
                stamp = _stamp_of_run(file)
                entry = index.get(stamp)
                if entry is None:
                    self.fresh.add(file)
                    entry = library_index.read_file(file)
                self.by_path.setdefault(file, (stamp, entry))

    def refuse(self, path: Path, message: str) -> None:
        """Note that a file's rows do not fit the schema."""
        stamp, _ = self.by_path[path]
        self.by_path[path] = stamp, Entry(wrong=message)

    def keep(self) -> None:
        """Keep what is known for the next time."""
        for index, files in self._indexes:
            index.keep(dict(self.by_path[file] for file in files))


def _stamp_of_run(path: Path) -> Stamp:
    return stamp_of(each for each in (path, record.companion_of(path)) if each.is_file())


def _sources(
    entries: Mapping[Path, tuple[Stamp, Entry]],
) -> tuple[dict[str, Source], dict[str, RunInfo], list[Broken]]:
    """Return the source and the description of each run, and what is broken."""
    sources: dict[str, Source] = {}
    infos: dict[str, RunInfo] = {}
    broken: list[Broken] = []
    for path, (stamp, entry) in entries.items():
        if entry.wrong is not None:
            broken.append(Broken(path, entry.wrong))
            continue
        info = entry.info
        if info.run_id in infos:
            message = f"run {info.run_id} is already loaded from another file"
            broken.append(Broken(path, message))
            continue
        infos[info.run_id] = info
        n_requests = info.n_offered + info.n_warmup
        sources[info.run_id] = Source(path, entry.companion(path), n_requests, stamp)
    return sources, infos, broken


def _misfits(instance: Instance, run_ids: Sequence[str]) -> dict[str, str]:
    """Return the runs whose rows do not fit the schema, and why; they are taken out."""
    wrong: dict[str, str] = {}
    for start in range(0, len(run_ids), _LOADED_AT_ONCE):
        batch = run_ids[start : start + _LOADED_AT_ONCE]
        try:
            instance.connection(batch)
        except HeadwayError:
            for run_id in batch:
                try:
                    instance.connection([run_id])
                except HeadwayError as error:
                    wrong[run_id] = str(error)
                    instance.forget(run_id)
    return wrong


def _study(name: str, folder: Path, broken: list[Broken]) -> studies.Study:
    """Return what a study says of itself; nothing where its file is broken, which is listed."""
    try:
        return replace(studies.read(folder), name=name)
    except MisuseError as error:
        broken.append(Broken(folder / studies.FILE_NAME, str(error)))
        return studies.Study(name)


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
