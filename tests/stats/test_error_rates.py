"""The published error rates still hold, and stand where they are published."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from headway.analyses.error_rates import RATES, SEED, ErrorRate

ROOT = Path(__file__).parents[2]
REPEATS = 250


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    path = ROOT / "benchmarks" / "simulate.py"
    spec = importlib.util.spec_from_file_location("simulate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that its worker processes find the functions again
    spec.loader.exec_module(module)
    return module
