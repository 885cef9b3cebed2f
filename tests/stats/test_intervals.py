import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headway.stats import intervals
from headway.stats.intervals import Side

SHARES = st.floats(0.001, 0.999)
LEVELS = st.floats(0.5, 0.999)


@pytest.mark.parametrize(
    ("k", "n", "level", "side", "low", "high"),
    [
        (495, 500, 0.95, Side.BOTH, 0.976819, 0.996745),
        (500, 500, 0.95, Side.LOWER, 0.994026, 1),
        (990, 1000, 0.95, Side.LOWER, 0.983097, 1),
        (990, 1000, 0.95, Side.BOTH, 0.981687, 0.995194),
        (0, 10, 0.95, Side.BOTH, 0, 0.308497),
        (0, 0, 0.95, Side.BOTH, 0, 1),
    ],
)
def test_the_exact_interval(
    k: int, n: int, level: float, side: Side, low: float, high: float
) -> None:
    assert np.allclose(intervals.clopper_pearson(k, n, level, side), (low, high), atol=5e-7)


def test_the_exact_interval_agrees_with_scipy_on_whole_numbers() -> None:
    for n in (1, 2, 10, 57):
        k = np.arange(n + 1)
        theirs = [stats.binomtest(int(i), n).proportion_ci(0.95, "exact") for i in k]
        assert np.allclose(np.transpose(intervals.clopper_pearson(k, n)), theirs)


def test_wilson() -> None:
    assert np.allclose(intervals.wilson(495, 500), (0.976807, 0.995721), atol=5e-7)


@given(n=st.floats(0.5, 1e5), share=st.floats(0, 1), level=LEVELS, side=st.sampled_from(Side))
def test_the_exact_interval_encloses_the_share(
    n: float, share: float, level: float, side: Side
) -> None:
    low, high = intervals.clopper_pearson(share * n, n, level, side)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1


@given(n=st.floats(1, 1e4), shares=st.tuples(st.floats(0, 1), st.floats(0, 1)), level=LEVELS)
def test_more_successes_never_lower_a_bound(
    n: float, shares: tuple[float, float], level: float
) -> None:
    few, many = sorted(shares)
    low, high = intervals.clopper_pearson([few * n, many * n], n, level)
    assert low[0] <= low[1] + 1e-9
    assert high[0] <= high[1] + 1e-9


@given(share=st.floats(0, 1), sizes=st.tuples(st.floats(1, 1e4), st.floats(1, 1e4)), level=LEVELS)
def test_more_trials_at_one_share_never_widen_the_interval(
    share: float, sizes: tuple[float, float], level: float
) -> None:
    n = np.sort(sizes)
    low, high = intervals.clopper_pearson(share * n, n, level, Side.BOTH)
    assert low[0] <= low[1] + 1e-7
    assert high[0] >= high[1] - 1e-7


@given(k=st.floats(0, 1e4), n=st.floats(1, 1e4), more=st.floats(0, 1e4))
def test_more_failures_never_raise_a_bound(k: float, n: float, more: float) -> None:
    successes = min(k, n)
    low, high = intervals.clopper_pearson(successes, [n, n + more])
    assert low[1] <= low[0] + 1e-9
    assert high[1] <= high[0] + 1e-9


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (100, {0.5: (40, 61), 0.9: (84, 96), 0.95: (90, 100), 0.99: (97, None)}),
        (1000, {0.5: (469, 532), 0.9: (881, 919), 0.95: (936, 964), 0.99: (983, 997)}),
        (10, {0.5: (2, 9)}),
    ],
)
def test_the_ranks_that_bound_a_percentile(
    n: int, expected: dict[float, tuple[int, int | None]]
) -> None:
    assert {p: intervals.order_statistic_ranks(n, n, p) for p in expected} == expected


def binomial_ranks(n: int, p: float) -> tuple[int | None, int | None]:
    low, high = int(stats.binom.ppf(0.025, n, p)), int(stats.binom.isf(0.025, n, p)) + 1
    return low if low >= 1 else None, high if high <= n else None


@given(n=st.integers(1, 20_000), p=SHARES)
def test_ranks_of_independent_requests_are_the_binomial_ones(n: int, p: float) -> None:
    assert intervals.order_statistic_ranks(n, n, p) == binomial_ranks(n, p)


@given(n=st.integers(10, 5000), p=SHARES, worth=st.floats(0.001, 1))
def test_correlation_only_widens_the_ranks(n: int, p: float, worth: float) -> None:
    low, high = intervals.order_statistic_ranks(n * worth, n, p)
    inner_low, inner_high = intervals.order_statistic_ranks(n, n, p)
    if low is not None:
        assert inner_low is not None
        assert 1 <= low <= inner_low
    if high is not None:
        assert inner_high is not None
        assert n >= high >= inner_high


def test_no_upper_bound_below_the_effective_minimum_however_many_requests() -> None:
    assert intervals.order_statistic_ranks(367.0, 100_000, 0.99)[1] is None
    assert intervals.order_statistic_ranks(367.1, 100_000, 0.99)[1] is not None


@pytest.mark.parametrize(
    ("p", "upper", "both", "early_stopping"),
    [
        (0.5, 5, 6, 7),
        (0.9, 29, 36, 44),
        (0.95, 59, 72, 90),
        (0.99, 299, 368, 459),
        (0.999, 2995, 3688, 4603),
    ],
)
def test_the_fewest_requests_that_bound_a_percentile(
    p: float, upper: int, both: int, early_stopping: int
) -> None:
    assert intervals.smallest_n(p) == upper
    assert intervals.smallest_n(p, side=Side.BOTH) == both
    assert intervals.smallest_n(p, intervals.EARLY_STOPPING_LEVEL) == early_stopping
    assert intervals.smallest_n(1 - p, side=Side.LOWER) == upper


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (0.90, [44, 64, 81, 127, 197, 1246]),
        (0.95, [90, 130, 165, 259, 398, 2504]),
        (0.97, [152, 219, 277, 433, 667, 4182]),
        (0.99, [459, 662, 838, 1307, 2010, 12571]),
    ],
)
def test_the_early_stopping_table(target: float, expected: list[int]) -> None:
    found = intervals.required_n([0, 1, 2, 5, 10, 100], target, intervals.EARLY_STOPPING_LEVEL)
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("n", "target", "expected"), [(270_336, 0.99, 2583), (24_576, 0.99, 209), (24_576, 0.9, 2348)]
)
def test_the_failures_early_stopping_allows(n: int, target: float, expected: int) -> None:
    assert intervals.allowed_failures(n, target, intervals.EARLY_STOPPING_LEVEL) == expected


def test_early_stopping_is_the_exact_lower_bound() -> None:
    level = intervals.EARLY_STOPPING_LEVEL
    for n in [*range(1, 700, 7), 1000, 5000]:
        t = np.arange(min(40, n))
        for target in (0.9, 0.95, 0.97, 0.99):
            stops = stats.binom.cdf(t, n, 1 - target) <= 1 - level
            low, _ = intervals.clopper_pearson(n - t, n, level, Side.LOWER)
            assert np.array_equal(stops, low >= target)
            assert np.array_equal(stops, intervals.required_n(t, target, level) <= n)
            assert np.array_equal(stops, t <= intervals.allowed_failures(n, target, level))


def test_nothing_can_be_accepted_with_too_few() -> None:
    assert intervals.allowed_failures([298, 299], 0.99).tolist() == [-1, 0]


def test_the_planning_table() -> None:
    p = np.array([0.9, 0.95, 0.97, 0.99])
    assert intervals.planned_n(p, (1 - p) / 20).tolist() == [23_886, 50_425, 85_811, 262_742]
