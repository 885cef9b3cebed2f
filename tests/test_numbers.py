"""Numbers are never in scientific notation."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.numbers import brief

APP = Path(__file__).parents[1] / "app"
# Formats of Python that write 10,000 as 1e+04. What is left writes probabilities, shares and
# loads as they were typed, none of which reaches a million.
SCIENTIFIC = re.compile(r"\{([^{}]*):,?\.(\d+)g\}")
MEANT = {"value", "size", "x", "y", "ratio.p", "each.q", "accept", "LEVEL", "share * 100"} | {
    "question.load",
    "question.up_to",
}


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (10_303.9, 4, "10,304"),
        (10_000, 3, "10,000"),
        (1234.5, 6, "1,234.5"),
        (99.96, 3, "100"),
        (4.0, 3, "4"),
        (2.5, 3, "2.5"),
        (0.05, 3, "0.05"),
        (0.0000123, 3, "0.0000123"),
        (-1500, 3, "-1,500"),
        (0, 3, "0"),
        (float("inf"), 3, "inf"),
    ],
)
def test_a_number_in_brief(value: float, digits: int, expected: str) -> None:
    assert brief(value, digits) == expected


@given(st.floats(1e-6, 1e12) | st.floats(-1e12, -1e-6), st.integers(1, 6))
def test_no_number_has_an_exponent_and_each_is_near(value: float, digits: int) -> None:
    said = brief(value, digits)
    assert "e" not in said
    assert float(said.replace(",", "")) == pytest.approx(value, rel=10 ** (1 - digits))


def test_no_duration_or_rate_is_written_with_an_exponent() -> None:
    found = {
        (path.name, match[1])
        for path in APP.rglob("*.py")
        for match in SCIENTIFIC.finditer(path.read_text(encoding="utf-8"))
    }
    assert {name for _, name in found} <= MEANT, found
