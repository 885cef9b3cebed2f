"""What every importer needs: the source file, its identity, and refusals in plain words."""

import hashlib
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from headway.errors import ImportRefusedError, legible
from headway.importers import packed
from headway.model import Finding, Severity, TokenCounter

SNIFF_BYTES = 8192
# Thirty years: a time beyond it is damage, and would not fit the record's integers.
MAX_SECONDS = 1e9
# What UTF-8 with a byte order mark begins with.
MARK = b"\xef\xbb\xbf"

_BLOCK_BYTES = 1 << 20

Times = npt.NDArray[np.int64]
Watch = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Source:
    """A request-level file: where it is, what it is called, and what identifies it.

    The content is read by `text`, `lines`, `whole` or `stream`. All but the last refuse a file
    that is no longer the one whose digest names the run, so that identity and content cannot part.

    Parameters
    ----------
    path
        Where the file is.
    name
        How Headway calls it in messages and in the record: relative to what the user named, so
        that it never tells where the file was.
    sha256
        Digest of the bytes as on disk.
    counter
        Whose token counts to take where the file has two.
    watch
        Called with the share of the file that was read, 0 to 1, as it is read.
    """

    path: Path
    name: str
    sha256: str
    counter: TokenCounter = TokenCounter.TOOL
    watch: Watch | None = field(default=None, compare=False, repr=False)

    @classmethod
    def open(
        cls,
        path: Path,
        name: str | None = None,
        counter: TokenCounter = TokenCounter.TOOL,
        watch: Watch | None = None,
    ) -> "Source":
        """Identify a file, in one pass that holds a block of it at a time.

        Raises
        ------
        ImportRefusedError
            The file cannot be read (`unreadable`) or has no bytes (`empty`).
        """
        name = name or legible(path.name)
        check_regular(path, name)
        digest, is_blank = hashlib.sha256(), True
        with _refusing(name), path.open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                digest.update(block)
                is_blank = is_blank and not block.strip()
        if is_blank:
            raise ImportRefusedError(
                "empty", f"{name} is empty; expected a result file: was the run interrupted?"
            )
        return cls(path, name, digest.hexdigest(), counter, watch)

    def run_id(self, place: int) -> str:
        """Return the id of the run at a place in this file, the same at every import."""
        text = f"headway-run-v1\n{self.sha256}\n{place}"
        return "r" + hashlib.sha256(text.encode()).hexdigest()[:12]

    def text(self) -> str:
        """Return the content as text, decompressed where it is gzip or zstd.

        Raises
        ------
        ImportRefusedError
            The content is `damaged`, `not_utf8`, or has `changed` since it was identified.
        """
        data = read_bytes(self.path, self.name)
        self._check_unchanged(hashlib.sha256(data).hexdigest())
        return decode(data, self.name)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line of the `whole` content that is not blank, with its number from 1."""
        with self.whole() as stream:
            for number, line in enumerate(stream, start=1):
                content = line.removeprefix(MARK) if number == 1 else line
                if content.strip():
                    yield number, content

    @contextmanager
    def stream(self) -> Iterator[io.BufferedReader]:
        """Open the content for reading in blocks, decompressed where it is gzip or zstd.

        Raises
        ------
        ImportRefusedError
            The content cannot be read (`unreadable`), or is `damaged`.
        """
        with open_stream(self.path, self.name, self.watch) as stream:
            yield stream

    @contextmanager
    def whole(self) -> Iterator[io.BufferedReader]:
        """Open the content as `stream` does, to be read to its end.

        Raises
        ------
        ImportRefusedError
            As `stream`; or it has `changed`, which is then the reason for any other refusal.
        """
        refusal = None
        try:
            with self.stream() as stream:
                yield stream
        except ImportRefusedError as error:
            refusal = error
        # Only what was read to its end is known to be the file that was identified.
        with _refusing(self.name), self.path.open("rb") as raw:
            self._check_unchanged(hashlib.file_digest(raw, "sha256").hexdigest())
        if refusal is not None:
            raise refusal

    def _check_unchanged(self, found: str) -> None:
        if found != self.sha256:
            raise ImportRefusedError(
                "changed",
                f"{self.name} changed while it was read; expected a file that is complete: import "
                "it again when the benchmark has ended",
            )

    def beside(self, *names: str) -> Path | None:
        """Return the first of these files that there is, named from the folder of this one."""
        found = (self.path.parent / name for name in names)
        return next((path for path in found if path.is_file()), None)


def check_regular(path: Path, name: str) -> None:
    """Refuse, without opening it, what is no file: to read a FIFO or a device may never end.

    Raises
    ------
    ImportRefusedError
        The path is a FIFO, a device or a socket (`unreadable`).
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ImportRefusedError(
            "unreadable",
            f"{name} is not a regular file but a FIFO, a device or a socket; save the result to a "
            "file, then name that",
        )


def read_bytes(path: Path, name: str) -> bytes:
    """Return a file's bytes or refuse with code `unreadable`."""
    check_regular(path, name)
    with _refusing(name):
        return path.read_bytes()


@contextmanager
def open_stream(path: Path, name: str, watch: Watch | None = None) -> Iterator[io.BufferedReader]:
    """Open a file for reading in blocks, decompressed where it is gzip or zstd.

    Raises
    ------
    ImportRefusedError
        The file cannot be read (`unreadable`), or its compression breaks off (`damaged`).
    """
    with _refusing(name), _opened(path, watch) as raw:
        codec = packed.codec_of(raw.peek(packed.N_MAGIC))
        if codec is None:
            yield raw
            return
        unpacked = pa.CompressedInputStream(raw, codec)
        with packed.undamaged(name, codec), io.BufferedReader(unpacked, _BLOCK_BYTES) as stream:
            yield stream


def _opened(path: Path, watch: Watch | None) -> io.BufferedReader:
    if watch is None:
        return path.open("rb")
    return io.BufferedReader(_Watched(path, watch), _BLOCK_BYTES)


class _Watched(io.FileIO):
    """A file that tells how much of it was read."""

    def __init__(self, path: Path, watch: Watch) -> None:
        super().__init__(path)
        self._n_bytes = path.stat().st_size
        self._watch = watch

    def readinto(self, buffer: Any) -> int:
        """Read a block and tell."""
        n_read = super().readinto(buffer)
        self._watch(self.tell() / self._n_bytes if self._n_bytes else 1.0)
        return n_read


def decode(data: bytes, name: str) -> str:
    """Return bytes as text, decompressed where they are gzip or zstd.

    Raises
    ------
    ImportRefusedError
        The compressed stream is broken (`damaged`), unpacks to more than is held in memory at once
        (`too_long`), or the text is not UTF-8 (`not_utf8`).
    """
    codec = packed.codec_of(data)
    unpacked = data if codec is None else packed.unpack(data, codec, name)
    try:
        return unpacked.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(name, error) from error


def not_utf8(name: str, error: UnicodeDecodeError) -> ImportRefusedError:
    """Return the refusal of a file that is not UTF-8."""
    return ImportRefusedError(
        "not_utf8",
        f"{name} is not UTF-8 text (byte {error.start}); expected the file as the tool wrote "
        "it: copy it again without re-encoding",
    )


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Turn an error of the file system into a refusal with code `unreadable`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ImportRefusedError(
            "unreadable", f"{name} cannot be read ({reason}); check the path and its permissions"
        ) from error


def head(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed where possible; empty when unreadable."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as stream:
            start = stream.read(SNIFF_BYTES)
    except OSError:
        return b""
    codec = packed.codec_of(start)
    if codec is None:
        return start
    try:
        return _first_bytes(path, codec)
    except (OSError, pa.ArrowException):
        return b""


def _first_bytes(path: Path, codec: str) -> bytes:
    """Decompress as much as there is at the start of a file, whether or not it is whole."""
    found = b""
    with path.open("rb") as raw:
        unpacked = pa.CompressedInputStream(raw, codec)
        with suppress(OSError):  # it breaks off
            while len(found) < SNIFF_BYTES and (block := unpacked.read(256)):
                found += block
    return found[:SNIFF_BYTES]


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
        # What a parser made is a dict, which is told much faster than any mapping.
        if not isinstance(value, dict) and not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def as_text(value: object) -> str | None:
    """Return a value if it is text with content, in valid Unicode, else None."""
    text = value.strip() if isinstance(value, str) else ""
    return (text if text.isascii() else text.encode("utf-8", "replace").decode()) or None


def as_number(value: object) -> float | None:
    """Return a value if it is a finite number or reads as one, else None."""
    if type(value) is float:
        return value if math.isfinite(value) else None
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
    if type(value) is int:
        return value if -(2**31) < value < 2**31 else None
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
    names: dict[str, Any] = {}
    for row in rows:
        names.update(row)
    return {name: [row.get(name) for row in rows] for name in names}
