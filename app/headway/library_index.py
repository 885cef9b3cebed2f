"""What is known of run files that were read before: the description, or what is wrong.

Reading a run file to its end proves that it is whole, and takes time. It is done once for a path,
size and modification time; what was found is kept in memory and in a file of the user's cache
folder (`HEADWAY_CACHE`, else `XDG_CACHE_HOME`, else `~/.cache`). The file is derived: without it,
with a damaged one or with another version's, run files are read again. Nothing is written into a
library, which may be shared, read-only or under version control.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from headway import record
from headway.errors import RecordError
from headway.instance import Stamp
from headway.model import RunInfo
from headway.version import __version__

_FOLDER_VARIABLE = "HEADWAY_CACHE"
# A change of what is stored, or of what makes a run file sound, needs another number.
_FORMAT = f"1 {record.SCHEMA_VERSION} {__version__}"
_SCHEMA = pa.schema(
    {
        "stamp": pa.binary(),
        "said": pa.binary(),
        "rows_sha256": pa.string(),
        "wrong": pa.string(),
    }
)
_MOST_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A run file: its description as JSON and the digest of its rows, or what is wrong with it."""

    said: bytes = b""
    rows_sha256: str = ""
    wrong: str | None = None

    def companion(self, path: Path) -> Path | None:
        """Return the companion that was written together with the run file, if there is one."""
        return record.state_of(path, _parsed(self.said))

    @property
    def info(self) -> RunInfo:
        """The description; the digest is filled in where another writer left it out."""
        return replace(_parsed(self.said), rows_sha256=self.rows_sha256)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _parsed(said: bytes) -> RunInfo:
    return record.parse_info(said)


def read_file(path: Path) -> Entry:
    """Read a run file and its companion to their ends."""
    try:
        said, info = record.read_described(path)
        found = record.verify(path, info)
    except RecordError as error:
        return Entry(wrong=str(error))
    return Entry(said, found)


class Index:
    """The entries of a library's run files, by stamp; without a library nothing is kept."""

    def __init__(self, library: Path | None) -> None:
        self._file = None if library is None else _file_of(library)
        self._known: dict[Stamp, Entry] = {}
        if self._file is not None:
            if self._file not in _memory:
                _memory[self._file] = _read(self._file)
            self._known = _memory[self._file]

    def get(self, stamp: Stamp) -> Entry | None:
        """Return what is known of a file; None where it was not read since it changed."""
        return self._known.get(stamp)

    def keep(self, found: Mapping[Stamp, Entry]) -> None:
        """Keep these entries and no others; a folder that cannot be written to is no fault."""
        if self._file is None or found == self._known:
            return
        _memory[self._file] = dict(found)
        rows = {
            "stamp": [orjson.dumps(stamp) for stamp in found],
            "said": [each.said for each in found.values()],
            "rows_sha256": [each.rows_sha256 for each in found.values()],
            "wrong": [each.wrong for each in found.values()],
        }
        schema = _SCHEMA.with_metadata({b"format": _FORMAT.encode()})
        with suppress(OSError):
            _write(pa.table(rows, schema=schema), self._file)


_memory: dict[Path, dict[Stamp, Entry]] = {}


def _file_of(library: Path) -> Path | None:
    try:
        folder = _folder()
    except RuntimeError:  # nobody's home
        return None
    name = hashlib.sha256(os.fsencode(library.resolve())).hexdigest()[:16]
    return folder / f"library-{name}.parquet"


def _folder() -> Path:
    named = os.environ.get(_FOLDER_VARIABLE)
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "headway"


def _read(file: Path) -> dict[Stamp, Entry]:
    try:
        # Not by read_table, which imports pandas where it is installed.
        with pq.ParquetFile(file, page_checksum_verification=True) as opened:
            table = opened.read()
        if (table.schema.metadata or {}).get(b"format") != _FORMAT.encode():
            return {}
        return {
            tuple(tuple(each) for each in orjson.loads(row.pop("stamp"))): Entry(**row)
            for row in table.to_pylist()
        }
    except (pa.ArrowException, OSError, ValueError, TypeError):
        return {}


def _write(table: pa.Table, file: Path) -> None:
    """Replace the file as a whole: other processes read the old one or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.stem}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            pq.write_table(table, stream, compression="zstd", write_page_checksum=True)
        os.replace(name, file)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
