"""A DuckDB instance that holds the requests of those runs that are looked at.

Runs are read from their files when a query first asks for them, so that opening a library costs
nothing for the runs that nobody looks at. Where many have been read, the instance is given up for a
new one; queries that still run keep the old one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from headway import sql
from headway.errors import RecordError

# Requests that stay in memory; a view of more than these reads all that it needs.
MOST_REQUESTS = 2_000_000

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """The file of a run and its companion, as they were when they were verified.

    `stamp` is that of the run file, followed by that of a companion, where there is one.
    """

    path: Path
    companion: Path | None
    n_requests: int
    stamp: Stamp


def stamp_of(files: Iterable[Path]) -> Stamp:
    """Return what tells whether files changed: path, size and modification time of each."""
    return tuple((str(file), (at := file.stat()).st_size, at.st_mtime_ns) for file in files)


class Instance:
    """Runs by id, in an instance that reads no other file. Several readers may ask at once."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = dict(sources)
        self._guard = Lock()
        self._loaded: dict[str, None] = {}
        self._connection = self._new()

    def connection(self, run_ids: Iterable[str]) -> sql.Connection:
        """Return a connection to an instance that holds these runs, and maybe others.

        Raises
        ------
        RecordError
            A file is no longer what it was when the library was opened.
        QueryError
            A row breaks a constraint of the schema.
        """
        wanted = [run_id for run_id in dict.fromkeys(run_ids) if run_id in self._sources]
        with self._guard:
            missing = [run_id for run_id in wanted if run_id not in self._loaded]
            if missing and self._n_requests([*self._loaded, *missing]) > MOST_REQUESTS:
                if self._loaded:
                    self._connection = self._new()
                missing = wanted
            if missing:
                self._load(missing)
            return self._connection

    def companion_stamp(self, run_id: str) -> Stamp:
        """Return the stamp of a run's companion; empty without one."""
        return self._sources[run_id].stamp[1:]

    def close(self) -> None:
        """Give the instance up; it cannot be asked again."""
        with self._guard:
            self._connection.close()

    def forget(self, run_id: str) -> None:
        """Read a run no more: its rows do not fit the schema."""
        with self._guard:
            del self._sources[run_id]

    def _n_requests(self, run_ids: Iterable[str]) -> int:
        return sum(self._sources[run_id].n_requests for run_id in run_ids)

    def _new(self) -> sql.Connection:
        self._loaded = {}
        connection = sql.connect()
        sql.show_chunks(connection, [])
        sources = self._sources.values()
        companions = [each.companion for each in sources if each.companion is not None]
        sql.lock(connection, [*(each.path for each in sources), *companions])
        return connection

    def _load(self, run_ids: Iterable[str]) -> None:
        sources = [self._sources[run_id] for run_id in run_ids]
        for each in sources:
            _demand_unchanged(each)
        companions = [each.companion for each in sources if each.companion is not None]
        sql.load_runs(self._connection, [each.path for each in sources], companions)
        self._loaded |= dict.fromkeys(run_ids)
        sql.show_chunks(self._connection, [self._sources[each].path for each in self._loaded])


def _demand_unchanged(source: Source) -> None:
    try:
        found = stamp_of(Path(path) for path, _, _ in source.stamp)
    except OSError:
        found = ()
    if found != source.stamp:
        raise RecordError(
            "readable",
            f"{source.path.name} changed after the library was opened; reload to read it again",
        )
