"""Which importers there are, and what a broken one does."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from headway import importers
from headway.errors import MisuseError
from headway.importers import Importer


class Plugin:
    name = "plugin"
    version = 3

    def claims(self, path: Path) -> bool:
        return path.suffix == ".plugin"

    def sidecars(self, path: Path) -> list[Path]:
        return []

    def runs(self, source: object) -> Iterator[object]:
        yield from ()


IMPORTER = Plugin()
INCOMPLETE = object()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    points: list[EntryPoint] = []
    monkeypatch.setattr(importers, "entry_points", lambda group: points)
    importers._installed.cache_clear()
    yield points
    importers._installed.cache_clear()


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, importers.ENTRY_POINTS)


@pytest.mark.parametrize("name", importers.BUILTIN)
def test_a_built_in_importer_has_its_modules_name(name: str) -> None:
    importer = importers.load(name)
    assert isinstance(importer, Importer)
    assert importer.name == name
    assert importer.version >= 1


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(MisuseError, match="no importer 'nope'; installed: vllm, vidur, aiperf"):
        importers.load("nope")


def test_a_package_can_add_one(
    installed: list[EntryPoint], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    added = point("plugin", "somewhere:IMPORTER")
    monkeypatch.setattr(EntryPoint, "load", lambda self: IMPORTER)
    installed.append(added)
    assert importers.names() == ["vllm", "vidur", "aiperf", "plugin"]
    found = importers.find(tmp_path / "a.plugin")
    assert (found and found.version) == 3
    assert importers.find(tmp_path / "a.txt") is None


def test_a_package_cannot_replace_a_built_in_one(installed: list[EntryPoint]) -> None:
    installed.append(point("vllm", "nowhere:IMPORTER"))
    assert importers.names() == ["vllm", "vidur", "aiperf"]
    assert importers.load("vllm").name == "vllm"


def test_a_broken_package_is_named(installed: list[EntryPoint]) -> None:
    installed.append(point("plugin", "not_a_module_at_all:IMPORTER"))
    with pytest.raises(MisuseError, match="'plugin' of not_a_module_at_all:IMPORTER"):
        importers.load("plugin")


def test_half_an_importer_is_refused(
    installed: list[EntryPoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EntryPoint, "load", lambda self: INCOMPLETE)
    installed.append(point("plugin", "somewhere:INCOMPLETE"))
    with pytest.raises(MisuseError, match="lacks part of the interface"):
        importers.load("plugin")
