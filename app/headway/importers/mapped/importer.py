"""A mapping in the place of an importer: what ingest uses for the files that it is applied to."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from headway.importers.mapped import runs, saved
from headway.importers.mapped.mapping import Mapping
from headway.importers.source import Source
from headway.record import Run


@dataclass(frozen=True, slots=True)
class MappedImporter:
    """An importer that reads every file through one mapping."""

    mapping: Mapping

    @property
    def name(self) -> str:
        """The importer's name in the runs it makes."""
        return runs.NAME

    @property
    def version(self) -> int:
        """Number that rises whenever the same file would become another record."""
        return runs.VERSION

    def claims(self, path: Path) -> bool:
        """Decide whether a file has the columns that the mapping was made for."""
        return saved.fits(self.mapping, path)

    def sidecars(self, path: Path) -> list[Path]:  # noqa: ARG002 no file is read beside a table
        """Return nothing: a table is read alone."""
        return []

    def runs(self, source: Source) -> Iterator[Run]:
        """Yield the runs in a table; raises as `headway.importers.mapped.apply` does."""
        yield from runs.apply(source, self.mapping)


def advice(path: Path, name: str, library: Path | None) -> str:
    """Return what to do with a table that no importer claims."""
    found = saved.fitting(path, library)
    if found:
        ways = [f"headway import --mapping {quote(each.name)} {quote(name)}" for each in found[:3]]
        return f"its columns fit a saved mapping: {' or '.join(ways)}"
    shown = quote(name)
    return (
        f"if it is a table with a row for each request, say what its columns mean: headway mapping "
        f"propose {shown} -o mapping.toml, answer what it asks, then headway import --mapping "
        f"mapping.toml {shown}"
    )
