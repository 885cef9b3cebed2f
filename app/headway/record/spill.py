"""Rows of a run that may be larger than memory: appended to a file, and mapped in the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa


class Spill:
    """An Arrow file that grows by tables of one schema."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.n_rows = 0
        self._path = path
        self._schema = schema
        self._writer = pa.ipc.new_file(str(path), schema)

    def append(self, table: pa.Table) -> None:
        """Write rows out, whose columns are those of the schema."""
        self._writer.write_table(table)
        self.n_rows += table.num_rows

    def close(self) -> None:
        """End the file; twice is as good as once."""
        self._writer.close()

    @contextmanager
    def table(self) -> Iterator[pa.Table]:
        """Give all rows as a table that stays on disk, for as long as the context lasts."""
        self.close()
        with pa.memory_map(str(self._path)) as mapped:
            yield pa.ipc.open_file(mapped).read_all()
