"""What a mix is like, against values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.stats import mix
from headway.stats.mix import Summary

values = st.lists(st.floats(0, 1e6), min_size=1, max_size=2000)


def test_a_summary_by_hand() -> None:
    found = mix.summary([10, 30, 20])
    assert found == Summary(3, median=20, p90=30, largest=30, spread=0.5)


def test_few_values_have_no_spread() -> None:
    assert mix.summary([]) is None
    assert mix.summary([5]) == Summary(1, 5, 5, 5, None)
    assert mix.summary([0, 0]) == Summary(2, 0, 0, 0, None)


def test_times_between_arrivals_are_by_their_mean() -> None:
    assert mix.gaps_by_mean([3, 0, 4]).tolist() == [1.5, 0.5]
    assert mix.gaps_by_mean([3]).tolist() == []
    assert mix.gaps_by_mean([3, 3]).tolist() == []


@given(values)
def test_a_curve_is_short_exact_and_ends_at_all(found: list[float]) -> None:
    drawn, n_at_most = mix.curve(found)
    assert 0 < len(drawn) <= 600
    assert (drawn[0], drawn[-1], n_at_most[-1]) == (min(found), max(found), len(found))
    assert n_at_most.tolist() == [int((np.asarray(found) <= each).sum()) for each in drawn]


@pytest.mark.parametrize("n", [1, 7, 400, 601, 100_000])
def test_a_long_curve_keeps_its_tail(n: int) -> None:
    drawn, _ = mix.curve(np.arange(n))
    assert len(drawn) <= 600
    assert drawn[-3:].tolist() == list(range(n))[-3:]


def test_nothing_has_no_curve() -> None:
    assert [len(each) for each in mix.curve([])] == [0, 0]


def test_beyond_is_larger_and_not_equal() -> None:
    assert mix.n_beyond([1, 2, 3], 2) == 1
