"""Headway's own run files: taken into another library as they are, checked like any other run."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway import record
from headway.errors import ImportRefusedError, RecordError
from headway.importers.source import Source
from headway.record import Run


@dataclass(frozen=True, slots=True)
class RunFile:
    """Importer of run files, whoever wrote them; it changes nothing of what they say."""

    name: str = "headway"
    version: int = 1

    def claims(self, path: Path) -> bool:
        """Claim Parquet files that carry the description of a run."""
        return record.is_run_file(path) and path.is_file() and record.describes_run(path)

    def sidecars(self, path: Path) -> list[Path]:
        """Return the samples of the server's state that were written together with the run."""
        companion = path.with_name(f"{path.stem}{record.STATE_SUFFIX}")
        return [companion] if companion.is_file() else []

    def runs(self, source: Source) -> Iterator[Run]:
        """Yield the run.

        Raises
        ------
        ImportRefusedError
            The file breaks a rule of the record: `headway validate` lists all that it breaks.
        """
        try:
            yield record.read(source.path)
        except RecordError as error:
            raise ImportRefusedError(
                "invalid_record", f"{error}; `headway validate` lists every rule it breaks"
            ) from error
