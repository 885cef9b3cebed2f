"""Importers: one module per format, each with an `IMPORTER`.

Built-in formats are modules of this package; others come from installed packages that declare an
entry point in the group `headway.importers`. docs/extending.md shows how to write one.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol, runtime_checkable

from headway.errors import MisuseError
from headway.importers.source import Source
from headway.record import Run

BUILTIN = ("vllm", "vidur", "aiperf")
ENTRY_POINTS = "headway.importers"


@runtime_checkable
class Importer(Protocol):
    """What Headway needs to read one format."""

    @property
    def name(self) -> str:
        """Name of the format, stored in every run it made."""

    @property
    def version(self) -> int:
        """Number that rises whenever the same file would become another record."""

    def claims(self, path: Path) -> bool:
        """Decide from the name and the first bytes whether a file is of this format.

        A damaged file that is of this format is claimed too: it must be refused, not passed over.
        """

    def sidecars(self, path: Path) -> list[Path]:
        """Return the files beside a claimed one that are read along with it."""

    def runs(self, source: Source) -> Iterator[Run]:
        """Yield the runs in a file, unsealed and without a study.

        Raises
        ------
        ImportRefusedError
            The file cannot become a run.
        """


def names() -> list[str]:
    """Return the names of all importers, the built-in ones first."""
    return [*BUILTIN, *sorted(set(_installed()) - set(BUILTIN))]


def load(name: str) -> Importer:
    """Return an importer by name.

    Raises
    ------
    MisuseError
        There is no importer of this name, or the package that offers it is broken.
    """
    if name in BUILTIN:
        return _checked(name, import_module(f"{__name__}.{name}").IMPORTER)
    installed = _installed()
    if name not in installed:
        raise MisuseError(f"there is no importer {name!r}; installed: {', '.join(names())}")
    try:
        return _checked(name, installed[name].load())
    except (ImportError, AttributeError) as error:
        raise MisuseError(
            f"importer {name!r} of {installed[name].value} cannot be loaded: {error}; "
            "update or remove the package that provides it"
        ) from error


def find(path: Path) -> Importer | None:
    """Return the importer that claims a file, if any."""
    importers = (load(name) for name in names())
    return next((importer for importer in importers if importer.claims(path)), None)


@cache
def _installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _checked(name: str, candidate: object) -> Importer:
    if not isinstance(candidate, Importer):
        raise MisuseError(
            f"importer {name!r} lacks part of the interface of headway.importers.Importer"
        )
    return candidate
