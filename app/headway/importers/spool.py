"""Rows of a long source, gathered batch by batch so that memory does not grow with the file.

Batches stay in memory while they are few. Beyond that they go to a temporary file that has no
name any more and is mapped: its pages are the system's to drop, and it is gone with the process,
however that ends.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from headway.importers.source import columns
from headway.record import requests_table

BATCH_ROWS = 4096
MAX_MEMORY_BYTES = 64 << 20


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
        self._path: Path | None = None
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

    def table(self) -> pa.Table:
        """Return all requests in the order they were added, and forget them."""
        self._close_batch()
        if self._writer is None or self._path is None:
            batches, self._batches = self._batches, []
            return pa.Table.from_batches(batches) if batches else requests_table({"run_id": []})
        self._writer.close()
        mapped = pa.memory_map(str(self._path), "r")
        self._path.unlink()  # the mapping keeps the content alive
        self._writer = self._path = None
        return pa.ipc.open_stream(mapped).read_all()

    def close(self) -> None:
        """Remove the temporary file of a source that could not be read to its end."""
        if self._writer is not None and self._path is not None:
            self._writer.close()
            self._path.unlink(missing_ok=True)
            self._writer = self._path = None

    def _close_batch(self) -> None:
        if not self._rows:
            return
        table = requests_table(columns(self._rows))
        self._rows = []
        for batch in table.combine_chunks().to_batches():
            self._n_bytes += batch.nbytes
            if self._writer is None:
                self._batches.append(batch)
            else:
                self._writer.write_batch(batch)
        if self._writer is None and self._n_bytes > self._max_memory_bytes:
            self._spill(table.schema)

    def _spill(self, schema: pa.Schema) -> None:
        handle, name = tempfile.mkstemp(prefix="headway-", suffix=".arrow")
        os.close(handle)
        self._path = Path(name)
        self._writer = pa.ipc.new_stream(name, schema)
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches = []
