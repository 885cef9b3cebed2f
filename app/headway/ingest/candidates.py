"""Which files an import looks at: those named, those in folders, and those packed in a zip."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headway import importers, studies
from headway.errors import ImportRefusedError, legible
from headway.importers import Importer, mapped
from headway.importers.run_file import RunFile
from headway.importers.source import check_regular
from headway.importers.survival import survived
from headway.ingest import archives
from headway.ingest.archives import Unpacking


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to look at.

    Parameters
    ----------
    path
        Where its content is.
    shown
        How reports call it: for a file of a zip, the zip's path and its place inside.
    name
        How the record calls it: relative to what the user named.
    named
        Whether the user named it, and not a folder that it is in.
    importer
        What reads it; None where nothing claims it.
    damage
        What came of looking at it, where that failed.
    """

    path: Path
    shown: Path
    name: str
    named: bool
    importer: Importer | None
    damage: ImportRefusedError | None = None

    @property
    def is_passed_over(self) -> bool:
        """Whether it only lay in a folder and is nothing that Headway knows."""
        return self.importer is None and not self.named and self.damage is None


def find(
    paths: Iterable[Path],
    library: Path,
    reads: mapped.Readers,
    scratch: Path,
    allowed: Unpacking,
) -> tuple[list[Candidate], list[tuple[Path, ImportRefusedError]]]:
    """List the files to look at, each once, and the zips that cannot be unpacked.

    Parameters
    ----------
    paths
        What the user named; files that accompany another are not among those returned.
    library
        Where the runs will go: what is in it is none of the files to look at.
    reads
        What columns of tables mean; a stated mapping that is incomplete is misuse.
    scratch
        An empty folder for what is packed.
    allowed
        How much a zip may hold.
    """
    if reads.stated is not None:
        mapped.ask(reads.stated)
    found: dict[Path, Candidate] = {}
    refused: list[tuple[Path, ImportRefusedError]] = []
    for place, given in enumerate(paths):
        root = given
        if archives.is_zip(given):
            root = scratch / f"{place}" / given.stem
            try:
                archives.unpack(given, root, allowed)
            except ImportRefusedError as refusal:
                refused.append((given, refusal))
                continue
        for path in _walk(root, library):
            found.setdefault(path.resolve(), _candidate(path, root, given, reads))
    return _without_company(found), refused


def _candidate(path: Path, root: Path, given: Path, reads: mapped.Readers) -> Candidate:
    inside, named = path.relative_to(root), path == given
    name = legible(path.name if named else inside.as_posix())
    importer, damage = None, None
    try:
        with survived(name):
            check_regular(path, name)
            importer = _importer(path, reads, named=named)
    except ImportRefusedError as refusal:
        damage = refusal
    shown = path if root == given else given / inside
    return Candidate(path, shown, name, named, importer, damage)


def _without_company(found: dict[Path, Candidate]) -> list[Candidate]:
    accompanying = {
        beside.resolve()
        for candidate in found.values()
        if candidate.importer is not None
        for beside in _sidecars(candidate.importer, candidate.path)
    }
    accompanying |= {path for path in found if path.name == studies.FILE_NAME}
    return [entry for path, entry in found.items() if entry.named or path not in accompanying]


def _sidecars(importer: Importer, path: Path) -> list[Path]:
    try:
        with survived(path.name):
            return importer.sidecars(path)
    except ImportRefusedError:  # reading the file says so again, in its turn
        return []


def _importer(path: Path, reads: mapped.Readers, *, named: bool) -> Importer | None:
    """Return what reads a file: the mapping stated, else its importer, else what it fits alone."""
    if reads.stated is not None:
        reader = mapped.MappedImporter(reads.stated)
        if (named and path.is_file()) or reader.claims(path):
            return reader
    if RunFile().claims(path):
        return RunFile()
    return importers.find(path) or reads.alone(path, named=named)


def _walk(given: Path, library: Path) -> Iterator[Path]:
    """Yield a file itself, or the visible files under a folder in a fixed order."""
    if not given.is_dir():
        yield given
        return
    own = library.resolve()
    for folder, subfolders, names in os.walk(given):
        if Path(folder).resolve() == own:
            subfolders.clear()
            continue
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file():
                yield path
