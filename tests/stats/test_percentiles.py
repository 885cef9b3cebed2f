import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from headway.stats.percentiles import Bounds, nearest_rank, percentile_bounds, with_lost_last

TENS = np.arange(10.0, 101, 10)


@pytest.mark.parametrize(("p", "value"), [(0.5, 50), (0.9, 90), (0.95, 100), (0.99, 100)])
def test_nearest_rank(p: float, value: float) -> None:
    assert nearest_rank(TENS, p) == value


def test_rounding_moves_no_rank() -> None:
    assert nearest_rank(np.arange(1.0, 101), [0.07, 0.29, 0.57]).tolist() == [7, 29, 57]


def test_lost_requests_are_last_and_may_be_the_percentile() -> None:
    ordered = np.sort(with_lost_last([3, np.nan, 1, 2]))
    assert nearest_rank(ordered, [0.5, 0.75, 0.9]).tolist() == [2, 3, np.inf]


@given(
    values=npst.arrays(float, st.integers(1, 60), elements=st.floats(0, 1e9)),
    p=st.floats(0.01, 1),
)
def test_nearest_rank_is_numpys_inverted_distribution(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], p: float
) -> None:
    ordered = np.sort(values)
    share = round(p, 2)
    found = nearest_rank(ordered, share)
    assert found in ordered
    assert np.mean(ordered <= found) >= share - 1e-9
    assert np.mean(ordered < found) < share


def test_the_bounds_of_a_median_with_a_lost_request() -> None:
    ordered = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, np.inf])
    assert percentile_bounds(ordered, 0.5) == Bounds(5, 2, 9)


def test_a_bound_that_does_not_exist_is_none() -> None:
    assert percentile_bounds(np.arange(1.0, 101), 0.99) == Bounds(99, 97, None)


def test_fewer_effective_requests_widen_the_bounds() -> None:
    assert percentile_bounds(np.arange(1.0, 1001), 0.9) == Bounds(900, 881, 919)
    assert percentile_bounds(np.arange(1.0, 1001), 0.9, n_eff=100) == Bounds(900, 833, 960)
