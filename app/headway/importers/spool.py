"""Rows of a long source, gathered batch by batch so that memory does not grow with the file.

Batches stay in memory while they are few. Beyond that they go to a temporary file that has no
name and is mapped in the end: its pages are the system's to drop, and it is gone with the process,
however that ends.
"""

import mmap
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

import pyarrow as pa

from headway.importers.gap_lists import list_column
from headway.importers.source import columns
from headway.record import requests_table

BATCH_ROWS = 4096
MAX_MEMORY_BYTES = 16 << 20


class Spool:
    """Collects requests as they are read and gives them back as one table.

    Parameters
    ----------
    max_memory_bytes
        Size of the batches from which on they are written to the temporary file.
    """

    def __init__(self, max_memory_bytes: int = MAX_MEMORY_BYTES) -> None:
        self._rows: list[dict[str, Any]] = []
        self._batches: list[pa.RecordBatch] = []
        self._n_bytes = 0
        self._max_memory_bytes = max_memory_bytes
        self._file: IO[bytes] | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a request, by the columns of the record that are known of it.

        Raises
        ------
        RecordError
            A column is not of the record, or a value does not fit its type.
        """
        self._rows.append(dict(row))
        if len(self._rows) >= BATCH_ROWS:
            self._close_batch()

    def extend(self, values: Mapping[str, Sequence[Any]]) -> None:
        """Add requests by the columns that are known of them; a few thousand at a time.

        Raises
        ------
        RecordError
            A column is not of the record, or a value does not fit its type.
        """
        self._close_batch()
        self._keep(requests_table(values))

    def table(self) -> pa.Table:
        """Return all requests in the order they were added, and forget them."""
        self._close_batch()
        if self._writer is None or self._file is None:
            batches, self._batches = self._batches, []
            return pa.Table.from_batches(batches) if batches else requests_table({"run_id": []})
        self._writer.close()
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()  # the mapping keeps the content alive
        self._writer = self._file = None
        pa.default_memory_pool().release_unused()  # it keeps the room of all batches
        return pa.ipc.open_stream(pa.py_buffer(mapped)).read_all()

    def close(self) -> None:
        """Give up what was gathered of a source that could not be read to its end."""
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.close()
            self._writer = self._file = None

    def _close_batch(self) -> None:
        if self._rows:
            values, self._rows = columns(self._rows), []
            if "chunk_gaps_us" in values:
                # All in one: Arrow would take them one by one, each number as an object.
                values["chunk_gaps_us"] = list_column(values["chunk_gaps_us"])
            self._keep(requests_table(values))

    def _keep(self, table: pa.Table) -> None:
        for batch in table.combine_chunks().to_batches():
            self._n_bytes += batch.nbytes
            if self._writer is None:
                self._batches.append(batch)
            else:
                self._writer.write_batch(batch)
        if self._writer is None and self._n_bytes > self._max_memory_bytes:
            self._spill(table.schema)

    def _spill(self, schema: pa.Schema) -> None:
        # Closed by `table` or `close`, and by the end of the process.
        self._file = tempfile.TemporaryFile(prefix="headway-")  # noqa: SIM115
        self._writer = pa.ipc.new_stream(self._file, schema)
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches = []
