"""Mappings to use again: those that come with Headway, and those saved in a library.

A library keeps its mappings in the folder `.mappings`, one TOML file each.
"""

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from headway.errors import HeadwayError, ImportRefusedError, MisuseError
from headway.importers.mapped import documents, events, requests, tables, toml_files
from headway.importers.mapped.mapping import Layout, Mapping, Scalar
from headway.importers.source import Source

FOLDER = ".mappings"
BUILT_IN = "built-in"
_SAMPLED = 200
_BUILTIN = Path(__file__).parent / "builtin"
_FORBIDDEN = set('/\\:*?"<>|')


@dataclass(frozen=True, slots=True)
class Saved:
    """A mapping that can be named: `origin` is `built-in`, or the file in the library."""

    mapping: Mapping
    origin: str

    @property
    def name(self) -> str:
        """What it is called."""
        return self.mapping.name


@dataclass(frozen=True, slots=True)
class Broken:
    """A file among the saved mappings that is none, and why."""

    path: Path
    message: str


@cache
def builtin() -> tuple[Saved, ...]:
    """Return the mappings that come with Headway, by name."""
    found = (toml_files.read(path) for path in sorted(_BUILTIN.glob("*.toml")))
    return tuple(Saved(mapping, BUILT_IN) for mapping in found)


def listed(library: Path | None) -> tuple[list[Saved], list[Broken]]:
    """Return the mappings of a library and the built-in ones, and the files that are broken.

    A mapping of the library takes the place of a built-in one of its name.
    """
    own: list[Saved] = []
    broken: list[Broken] = []
    for path in sorted((library / FOLDER).glob("*.toml")) if library is not None else []:
        try:
            own.append(Saved(toml_files.read(path), str(path)))
        except MisuseError as error:
            broken.append(Broken(path, str(error)))
    names = {saved.name for saved in own}
    return [*own, *(saved for saved in builtin() if saved.name not in names)], broken


def find(name: str, library: Path | None) -> Mapping:
    """Return the mapping of a file, or else of a name.

    Raises
    ------
    MisuseError
        There is neither, or the file is no mapping.
    """
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        return toml_files.read(path)
    known, _ = listed(library)
    for saved in known:
        if saved.name == name:
            return saved.mapping
    where = f" and {library / FOLDER}" if library is not None else ""
    raise MisuseError(
        f"there is no mapping {name!r}; expected a TOML file, or one of "
        f"{', '.join(saved.name for saved in known)} (built-in{where})"
    )


def save(mapping: Mapping, library: Path) -> Path:
    """Write a mapping into a library, in place of one of its name, and return its file.

    Raises
    ------
    MisuseError
        Its name cannot be the name of a file.
    OSError
        The disk refuses.
    """
    name = mapping.name
    if not name.isprintable() or _FORBIDDEN & set(name) or name != name.strip(" .") or not name:
        raise MisuseError(
            f"mapping {name!r} cannot be saved under its name; expected printable characters "
            'without / \\ : * ? " < > | and without a dot or blank at either end'
        )
    folder = library / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    staged = folder / f".{uuid4().hex}"
    try:
        staged.write_text(toml_files.dumps(mapping), encoding="utf-8")
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
    return path


def fits(mapping: Mapping, path: Path) -> bool:
    """Return whether a file has the columns that a mapping was made for."""
    source = _opened(path)
    return source is not None and _fits(mapping, source, _first(source))


def _opened(path: Path) -> Source | None:
    try:
        return Source.open(path) if path.is_file() else None
    except ImportRefusedError:
        return None


def _first(source: Source) -> Sequence[tuple[int, Any]]:
    """Return the first documents of a JSON file; nothing of another, or of one that is damaged."""
    try:
        is_json = tables.form_of(source.path) is tables.Form.JSON
        return documents.first(source) if is_json else ()
    except HeadwayError:
        return ()


def _fits(mapping: Mapping, source: Source, first: Sequence[tuple[int, Any]]) -> bool:
    try:
        found = set(tables.columns(source, mapping.format, first))
    except HeadwayError:
        return False
    return bool(found) and set(shape(mapping)) <= found


def shape(mapping: Mapping) -> Sequence[str]:
    """Return the columns that a fitting file has: as recorded, else those it must have."""
    if mapping.made_for:
        return mapping.made_for
    optional = {column for field in mapping.fields if field.optional for column in field.source}
    optional |= {fact.source for fact in mapping.facts if fact.source and fact.optional}
    needed = [column for column in mapping.columns() if column not in optional]
    is_events = mapping.format.layout is Layout.EVENTS
    return [events.raw(column) for column in needed] if is_events else needed


def fitting(path: Path, library: Path | None) -> list[Saved]:
    """Return the saved and built-in mappings that a file fits, those of the library first."""
    source = _opened(path)
    if source is None:
        return []
    first = _first(source)
    known, _ = listed(library)
    found = [saved for saved in known if _fits(saved.mapping, source, first)]
    # Two mappings of one tool may tell its files by a value instead of by their columns.
    apt = [saved for saved in found if _has_rows(saved.mapping, source)]
    return apt or found


def _has_rows(mapping: Mapping, source: Source) -> bool:
    """Return whether the rows that a mapping wants are among the first of a file."""
    if not mapping.format.only:
        return True
    try:
        return requests.read(source, mapping, _SAMPLED).rows.height > 0
    except HeadwayError:
        return False


def alone(path: Path, library: Path | None, said: Dict[str, Scalar]) -> Mapping | None:
    """Return the built-in mapping that a file fits if no other does and it leaves nothing open."""
    found = fitting(path, library)
    if len(found) != 1 or found[0].origin != BUILT_IN:
        return None
    mapping = found[0].mapping.answered(said)
    return None if mapping.missing() else mapping
