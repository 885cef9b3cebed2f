"""A small share of what `make fuzz` tries, always the same."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from libraries import make_run, offered, write

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    """Return the module of the benchmark."""
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "benchmarks" / "fuzz.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module
    spec.loader.exec_module(module)
    return module


def test_no_flipped_bit_gets_in_as_other_rows(fuzz: ModuleType, tmp_path: Path) -> None:
    rows = [row | {"chunk_gaps_us": [20_000, 30_000]} for row in offered(60, 57, jitter_us=3)]
    rows = [row | {"n_chunks": 3, "max_gap_us": 30_000} for row in rows]
    state = [{"at_us": at * 1000, "running": at % 7} for at in range(200)]
    path = write(make_run(rows, "r0", state=state), tmp_path / "whole")
    found = fuzz.flips(30, 7, [path], tmp_path)
    assert found.wrong == []
    assert found.n == 30
    assert found.kinds["refused"] > 15


def test_no_damaged_file_costs_its_neighbour(fuzz: ModuleType, tmp_path: Path) -> None:
    found = fuzz.packs(24, 7, tmp_path)
    assert found.wrong == []
    assert found.n == 24
    assert found.kinds["refused"] > 5


def test_rows_that_changed_are_noticed(fuzz: ModuleType, tmp_path: Path) -> None:
    one = write(make_run(offered(60, 57), "r0"), tmp_path / "one")
    other = write(make_run(offered(60, 56), "r0"), tmp_path / "other")
    found = fuzz.Found()
    fuzz._judge(found, other, fuzz._opened([one]), "here", tmp_path)
    assert any("imported with other rows" in each for each in found.wrong)
    assert any("opened with other rows" in each for each in found.wrong)
