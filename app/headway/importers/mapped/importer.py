"""A mapping in the place of an importer: what ingest uses for the files that it is applied to."""

from collections.abc import Iterator
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from headway.importers.mapped import runs, saved, seen, vocabulary
from headway.importers.mapped.mapping import Mapping, Scalar
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

    def sidecars(self, path: Path) -> list[Path]:
        """Return the files that the tool writes beside a table; they say the same again."""
        names = vocabulary.load().companions.get(self.mapping.name, [])
        beside = (path.parent / name for name in names)
        return [each for each in beside if each.is_file()]

    def runs(self, source: Source) -> Iterator[Run]:
        """Yield the runs in a table; raises as `headway.importers.mapped.apply` does."""
        yield from runs.apply(source, self.mapping)


@dataclass(frozen=True, slots=True)
class Readers:
    """The mappings of an import: the one stated, if any, and the built-in ones.

    Parameters
    ----------
    stated
        The mapping that the user named.
    library
        Where mappings are saved.
    said
        What the user says over the files, by key.
    """

    stated: Mapping | None = None
    library: Path | None = None
    said: Dict[str, Scalar] = field(default_factory=dict)

    def alone(self, path: Path, *, named: bool) -> MappedImporter | None:
        """Return the built-in mapping that a file fits if no other does and nothing is open."""
        if not path.is_file() or not (named or seen.may_be_table(path)):
            return None
        fitting = saved.alone(path, self.library, self.said)
        return None if fitting is None else MappedImporter(fitting)


def advice(path: Path, name: str, library: Path | None) -> str:
    """Return what to do with a table that no importer claims."""
    found = saved.fitting(path, library)
    shown = quote(name)
    if found:
        ways = [f"headway import --mapping {quote(each.name)} {shown}" for each in found[:3]]
        opened = found[0].mapping.missing() if len(found) == 1 else ()
        asked = ", ".join(f"--set {question.key}=…" for question in opened)
        more = f", with {asked}" if asked else ""
        return f"its columns fit a saved mapping: {' or '.join(ways)}{more}"
    known = ", ".join(each.name for each in saved.builtin())
    return (
        f"if it is a table with a row for each request, say what its columns mean: headway mapping "
        f"propose {shown} -o mapping.toml, answer what it asks, then headway import --mapping "
        f"mapping.toml {shown}; the mappings that come with Headway ({known}) do not fit it"
    )
