import numpy as np
import pytest

from headway.stats.comparison import (
    Difference,
    Ratio,
    false_discovery,
    judge_difference,
    mcnemar,
    welch_ratio,
)


def test_welch_on_logarithms() -> None:
    found = welch_ratio([100, 102, 98], [110, 113, 108])
    assert found is not None
    assert found.p == pytest.approx(0.00518, abs=5e-6)
    assert (found.low, found.high) == pytest.approx((1.0506, 1.1586), abs=5e-5)
    assert judge_difference(found) is Difference.WORSE


def test_a_percentile_that_was_not_reached_has_no_ratio() -> None:
    assert welch_ratio([100, 102, 98], [110, 113, np.inf]) is None
    assert welch_ratio([100, 102, 0], [110, 113, 108]) is None
    assert welch_ratio([100, 102], [110, 113, 108]) is None
    assert judge_difference(None) is Difference.UNDECIDED


def test_runs_that_agree_exactly() -> None:
    assert welch_ratio([2, 2, 2], [2, 2, 2]) == Ratio(1, 1, 1, 1)
    found = welch_ratio([2, 2, 2], [4, 4, 4])
    assert found is not None
    assert found.ratio == pytest.approx(2)
    assert found.p == 0


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.8, 0.94, Difference.BETTER),
        (1.06, 1.2, Difference.WORSE),
        (0.96, 1.04, Difference.NO_MEANINGFUL_DIFFERENCE),
        (0.9, 1.0, Difference.UNDECIDED),
        (0.9, 1.2, Difference.UNDECIDED),
    ],
)
def test_the_practical_band(low: float, high: float, expected: Difference) -> None:
    assert judge_difference(Ratio(1, low, high, 0.5)) is expected


def test_mcnemar() -> None:
    assert mcnemar(12, 3) == mcnemar(3, 12) == pytest.approx(0.03515625)
    assert mcnemar(0, 0) == 1


def test_false_discovery() -> None:
    found = false_discovery([0.001, 0.01, 0.03, 0.04, 0.2])
    assert found == pytest.approx((0.005, 0.025, 0.05, 0.05, 0.2))
    assert false_discovery([]) == ()
