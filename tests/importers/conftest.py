"""Where the fixtures are, and the shortest way from a file to its sealed runs."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from headway import importers, record
from headway.importers.source import Source
from headway.record import Run

FIXTURES = Path(__file__).parent


def runs_of(path: Path, name: str) -> list[Run]:
    """Return the sealed runs of a file."""
    return [record.seal(run) for run in importers.load(name).runs(Source.open(path))]


def rows_of(run: Run) -> pl.DataFrame:
    """Return a run's requests as a frame."""
    frame = pl.from_arrow(run.requests)
    assert isinstance(frame, pl.DataFrame)
    return frame


@pytest.fixture
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture
def import_vllm() -> Callable[[Path], Run]:
    return lambda path: runs_of(path, "vllm")[0]


@pytest.fixture
def import_vidur() -> Callable[[Path], Run]:
    return lambda path: runs_of(path, "vidur")[0]


@pytest.fixture
def import_aiperf() -> Callable[[Path], Run]:
    return lambda path: runs_of(path, "aiperf")[0]


@pytest.fixture
def rows() -> Callable[[Run], pl.DataFrame]:
    return rows_of


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a fixture's folder to where it may be changed."""

    def copy(name: str) -> Path:
        target = tmp_path / Path(name).name
        shutil.copytree(FIXTURES / name, target)
        return target

    return copy


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a vLLM result with keys changed, added or (None) taken out."""

    def write(name: str, *without: str, **changes: Any) -> Path:
        value = json.loads((FIXTURES / "vllm" / name / "result.json").read_text("utf-8"))
        value = {key: entry for key, entry in (value | changes).items() if key not in without}
        path = tmp_path / "edited.json"
        path.write_text(json.dumps(value), "utf-8")
        return path

    return write
