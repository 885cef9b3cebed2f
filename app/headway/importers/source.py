"""What every importer needs: the source file, its identity, and refusals in plain words."""

import gzip
import hashlib
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from headway.errors import ImportRefusedError
from headway.model import Finding, Severity

SNIFF_BYTES = 8192
# Thirty years: a time beyond it is damage, and would not fit the record's integers.
MAX_SECONDS = 1e9

_GZIP_MAGIC = b"\x1f\x8b"

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Source:
    """A request-level file, read once so that its identity and its content cannot part.

    Parameters
    ----------
    path
        Where the file is.
    name
        How Headway calls it in messages and in the record: relative to what the user named, so
        that it never tells where the file was.
    data
        The bytes as on disk.
    sha256
        Their digest.
    """

    path: Path
    name: str
    data: bytes = field(repr=False)
    sha256: str

    @classmethod
    def open(cls, path: Path, name: str | None = None) -> "Source":
        """Read a file.

        Raises
        ------
        ImportRefusedError
            The file cannot be read (`unreadable`) or has no bytes (`empty`).
        """
        name = name or path.name
        data = read_bytes(path, name)
        if not data.strip():
            raise ImportRefusedError(
                "empty", f"{name} is empty; expected a result file: was the run interrupted?"
            )
        return cls(path, name, data, hashlib.sha256(data).hexdigest())

    def run_id(self, place: int) -> str:
        """Return the id of the run at a place in this file, the same at every import."""
        text = f"headway-run-v1\n{self.sha256}\n{place}"
        return "r" + hashlib.sha256(text.encode()).hexdigest()[:12]

    def text(self) -> str:
        """Return the content as text, decompressed where it is gzip.

        Raises
        ------
        ImportRefusedError
            The content is `damaged` or `not_utf8`.
        """
        return decode(self.data, self.name)

    def beside(self, *names: str) -> Path | None:
        """Return the first of these files that stands in the same folder."""
        found = (self.path.with_name(name) for name in names)
        return next((path for path in found if path.is_file()), None)


def read_bytes(path: Path, name: str) -> bytes:
    """Return a file's bytes or refuse with code `unreadable`."""
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ImportRefusedError(
            "unreadable", f"{name} cannot be read ({reason}); check the path and its permissions"
        ) from error


def decode(data: bytes, name: str) -> str:
    """Return bytes as text, decompressed where they are gzip.

    Raises
    ------
    ImportRefusedError
        The gzip stream is broken (`damaged`) or the text is not UTF-8 (`not_utf8`).
    """
    if data.startswith(_GZIP_MAGIC):
        data = _gunzip(data, name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportRefusedError(
            "not_utf8",
            f"{name} is not UTF-8 text (byte {error.start}); expected the file as the tool wrote "
            "it: copy it again without re-encoding",
        ) from error


def _gunzip(data: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ImportRefusedError(
            "damaged",
            f"{name} is a gzip file that breaks off or is corrupt; copy it again, whole",
        ) from error


def head(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed where possible; empty when unreadable."""
    try:
        with path.open("rb") as stream:
            start = stream.read(SNIFF_BYTES)
    except OSError:
        return b""
    if not start.startswith(_GZIP_MAGIC):
        return start
    try:
        return zlib.decompressobj(wbits=31).decompress(start, SNIFF_BYTES)
    except zlib.error:
        return b""


def tail(path: Path) -> bytes:
    """Return the last bytes of a file as on disk; empty when unreadable."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - SNIFF_BYTES))
            return stream.read()
    except OSError:
        return b""


def json_object(path: Path | None) -> tuple[dict[str, Any] | None, Finding | None]:
    """Read a JSON object that accompanies a source; a broken one becomes a finding."""
    if path is None:
        return None, None
    try:
        value = orjson.loads(decode(read_bytes(path, path.name), path.name))
    except (ImportRefusedError, orjson.JSONDecodeError) as error:
        return None, unreadable_sidecar(path, str(error))
    if isinstance(value, dict):
        return value, None
    return None, unreadable_sidecar(path, "not a JSON object")


def unreadable_sidecar(path: Path, why: str) -> Finding:
    """Return the finding that a file beside the source was not used because it is broken."""
    return Finding(
        "sidecar_unreadable",
        Severity.WARNING,
        1,
        f"{path.name} beside the source was not used: {why}",
    )


def dig(value: object, *keys: str) -> Any:
    """Follow keys into nested objects; None as soon as one is missing."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def as_text(value: object) -> str | None:
    """Return a value if it is text with content, in valid Unicode, else None."""
    if not isinstance(value, str) or not value.strip():
        return None
    return value.strip().encode("utf-8", "replace").decode()


def as_number(value: object) -> float | None:
    """Return a value if it is a finite number or reads as one, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_seconds(value: object) -> float | None:
    """Return a value if it is a time from 0 to `MAX_SECONDS` or reads as one, else None."""
    number = as_number(value)
    return number if number is not None and 0 <= number <= MAX_SECONDS else None


def as_whole(value: object) -> int | None:
    """Return a value if it is a whole number that fits 32 bits or reads as one, else None."""
    number = as_number(value)
    fits = number is not None and number.is_integer() and abs(number) < 2**31
    return int(number) if fits and number is not None else None


def to_us(seconds: npt.ArrayLike) -> Times:
    """Round instants in seconds to integer microseconds.

    Round instants and subtract afterwards: durations then add up exactly.
    """
    return np.rint(np.asarray(seconds, dtype=np.float64) * 1e6).astype(np.int64)


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows that each state only what they know into columns."""
    names: Iterable[str] = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
