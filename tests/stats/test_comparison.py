import numpy as np
import pytest
from scipy import stats

from headway.stats.comparison import (
    Difference,
    MeanDifference,
    Ratio,
    false_discovery,
    judge_difference,
    judge_share,
    share_difference,
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


def test_welch_agrees_with_scipy() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.lognormal(0, 0.1, 4), rng.lognormal(0.05, 0.3, 6)
    found = welch_ratio(a, b)
    known = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    interval = known.confidence_interval(0.95)
    assert found is not None
    assert found.p == pytest.approx(known.pvalue)
    assert (found.low, found.high) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))


def test_shares_that_agree_exactly_could_have_differed_by_a_request() -> None:
    """Two sides of three runs, 100 and 99 of 100: one request more or less is no difference."""
    found = share_difference([1.0, 1.0, 1.0], [0.99, 0.99, 0.99], 100)
    assert found is not None
    # The spread counts as 0.01: standard error 0.01 · √(2/3), t(0.975; 4) = 2.776.
    assert (found.low, found.high) == pytest.approx((-0.01 - 0.02267, -0.01 + 0.02267), abs=1e-4)
    assert judge_share(found) is Difference.UNDECIDED


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.02, 0.1, Difference.BETTER),
        (-0.1, -0.02, Difference.WORSE),
        (-0.009, 0.009, Difference.NO_MEANINGFUL_DIFFERENCE),
        (-0.1, 0.005, Difference.UNDECIDED),
    ],
)
def test_the_band_of_one_point(low: float, high: float, expected: Difference) -> None:
    assert judge_share(MeanDifference(0, low, high, 0.5)) is expected


def test_two_runs_a_side_have_no_share_test() -> None:
    assert share_difference([1.0, 1.0], [0.5, 0.5, 0.5], 100) is None
    assert judge_share(None) is Difference.UNDECIDED


def test_false_discovery() -> None:
    found = false_discovery([0.001, 0.01, 0.03, 0.04, 0.2])
    assert found == pytest.approx((0.005, 0.025, 0.05, 0.05, 0.2))
    assert false_discovery([]) == ()
