"""Zip files of results: unpacked within limits, by names that cannot lead anywhere else."""

import lzma
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from headway.errors import ImportRefusedError

_BLOCK_BYTES = 1 << 20
# What zipfile and the decompressors raise over damage: names that are no text and values that
# cannot be, too. bz2 raises OSError and ValueError.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError,
    OSError, ValueError, OverflowError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unpacking:
    """How much a zip may hold: a small one can be made to unpack to any size."""

    n_files: int = 2_000
    n_bytes: int = 8 << 30


def is_zip(path: Path) -> bool:
    """Decide from its first bytes and its end whether a file is a zip."""
    return path.suffix.lower() == ".zip" and path.is_file() and _has_directory(path)


def _has_directory(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path)
    except _DAMAGE:
        return False


def unpack(path: Path, folder: Path, allowed: Unpacking) -> None:
    """Unpack the files of a zip into a folder.

    Entries that are folders, links or hidden are passed over, and so is what macOS adds.

    Raises
    ------
    ImportRefusedError
        It is `damaged` or encrypted, has a name that leads out of it (`inconsistent`), or holds
        more than is allowed (`too_long`).
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if _is_wanted(entry)]
            _check(path.name, entries, allowed)
            left = allowed.n_bytes
            for entry in entries:
                left -= _write(archive, entry, folder / _inside(path.name, entry), path.name, left)
    except _DAMAGE as error:
        raise ImportRefusedError(
            "damaged",
            f"{path.name} cannot be unpacked ({error}); pack it again, without a password",
        ) from error


def _is_wanted(entry: zipfile.ZipInfo) -> bool:
    is_link = (entry.external_attr >> 16) & 0o170000 == 0o120000
    parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
    hidden = any(part.startswith(".") and part not in ("..", ".") for part in parts)
    return not (entry.is_dir() or is_link or hidden or "__MACOSX" in parts)


def _check(name: str, entries: list[zipfile.ZipInfo], allowed: Unpacking) -> None:
    n_bytes = sum(entry.file_size for entry in entries)
    if len(entries) > allowed.n_files or n_bytes > allowed.n_bytes:
        raise ImportRefusedError(
            "too_long",
            f"{name} holds {len(entries):,} files of {n_bytes / 1e6:,.0f} MB in all; expected at "
            f"most {allowed.n_files:,} files and {allowed.n_bytes / 1e6:,.0f} MB: import its "
            "folders one by one",
        )


def _inside(name: str, entry: zipfile.ZipInfo) -> PurePosixPath:
    path = PurePosixPath(entry.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        raise ImportRefusedError(
            "inconsistent",
            f"{name} holds {entry.filename[:80]!r}, a name that leads out of it; pack it again "
            "from the folder of the results",
        )
    return path


def _write(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, name: str, left: int
) -> int:
    """Write one entry, counting what comes out: the directory of a zip may lie about it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with archive.open(entry) as packed, target.open("wb") as stream:
        while block := packed.read(_BLOCK_BYTES):
            written += len(block)
            if written > left:
                raise ImportRefusedError(
                    "too_long", f"{name} unpacks to more than it says; it was not read further"
                )
            stream.write(block)
    return written
