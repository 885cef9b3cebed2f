"""Packed content: told by its first bytes, unpacked in blocks that are counted."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from headway.errors import ImportRefusedError

# What is packed small can unpack to any size.
MOST_TEXT_BYTES = 1 << 30
# How many of the first bytes tell.
N_MAGIC = 4

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_BLOCK_BYTES = 1 << 20


def codec_of(start: bytes) -> str | None:
    """Return the compression that content begins with, if it is one of those known."""
    if start.startswith(_GZIP_MAGIC):
        return "gzip"
    return "zstd" if start.startswith(_ZSTD_MAGIC) else None


def unpack(data: bytes, codec: str, name: str) -> bytearray:
    """Decompress block by block, counting: what a file says of its size takes no memory."""
    unpacked = bytearray()
    with (
        undamaged(name, codec),
        pa.CompressedInputStream(pa.BufferReader(data), codec) as stream,
    ):
        while block := stream.read(_BLOCK_BYTES):
            unpacked += block
            if len(unpacked) > MOST_TEXT_BYTES:
                break
    if len(unpacked) > MOST_TEXT_BYTES:
        raise ImportRefusedError(
            "too_long",
            f"{name} unpacks to more than {MOST_TEXT_BYTES >> 20:,} MiB, and is read whole; "
            "expected a smaller file: unpack it first if you know what made it",
        )
    return unpacked


@contextmanager
def undamaged(name: str, codec: str) -> Iterator[None]:
    """Turn an error of decompression, which carries no number of the system, into a refusal."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ImportRefusedError(
            "damaged",
            f"{name} is a {codec} file that breaks off or is corrupt; copy it again, whole",
        ) from error
