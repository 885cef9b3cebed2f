"""A digest of a table's values that does not depend on how the table is stored or cut in pieces.

docs/formats.md spells it out for writers in other languages.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.record.schema import batches


def digest(table: pa.Table) -> str:
    """Return a sha256 over a table's values, independent of file encoding, chunks and run_id."""
    return digest_of_batches(table.schema, batches(table))


def digest_of_batches(schema: pa.Schema, rows: Iterable[pa.RecordBatch]) -> str:
    """Return the digest of a table whose rows come in batches of any size."""
    columns = {field.name: _Column() for field in schema if field.name != "run_id"}
    for batch in rows:
        for name, column in columns.items():
            column.update(batch.column(name))
    whole = hashlib.sha256()
    for name, column in columns.items():
        whole.update(f"{name}\n".encode() + column.digest())
    return whole.hexdigest()


class _Column:
    """One column: which values are known, how long they are, and the values themselves.

    Each of the three has a hash of its own, so that rows may arrive in pieces of any size.
    """

    def __init__(self) -> None:
        self._known = hashlib.sha256()
        self._lengths = hashlib.sha256()
        self._values = hashlib.sha256()

    def update(self, column: pa.Array) -> None:
        self._known.update(_bytes(column.is_valid()))
        if pa.types.is_list(column.type):
            self._lengths.update(_bytes(pc.list_value_length(column).drop_null()))
            self._values.update(_bytes(column.flatten()))
        elif pa.types.is_string(column.type):
            known = column.drop_null()
            self._lengths.update(_bytes(pc.binary_length(known)))
            self._values.update(_text(known))
        else:
            self._values.update(_bytes(column.drop_null()))

    def digest(self) -> bytes:
        return self._known.digest() + self._lengths.digest() + self._values.digest()


def _bytes(values: pa.Array) -> bytes:
    """Return numbers or truth values, each in its own width, least byte first."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())
    numbers: np.ndarray[tuple[int], np.dtype[np.generic]] = values.to_numpy(zero_copy_only=False)
    return numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes()


def _text(texts: pa.Array) -> bytes:
    """Return texts one after another, in UTF-8."""
    _, offsets, content = texts.buffers()
    if not len(texts) or content is None:
        return b""
    places = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return bytes(memoryview(content)[places[0] : places[-1]])
