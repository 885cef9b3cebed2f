"""How one distribution lies to another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.stats.dominance import SHARES, Dominance, Relation, dominance
from headway.stats.percentiles import nearest_rank, percentiles_of

values = st.lists(st.one_of(st.floats(0, 1e6), st.just(np.inf)), min_size=1, max_size=40)


def test_the_same_requests_are_equal() -> None:
    assert dominance([3, 1, 2], [1, 2, 3]) == Dominance(Relation.EQUAL)


def test_lower_everywhere_is_lower() -> None:
    found = dominance(np.arange(1, 101), np.arange(0, 100))
    assert found == Dominance(Relation.B_LOWER, (), True)


def test_a_crossing_is_named_by_its_percentile() -> None:
    a = 10 * np.arange(1, 101)
    b = np.where(a < 830, a + 1, a - 1)
    assert dominance(a, b) == Dominance(Relation.CROSSES, (0.83,), False)


def test_lost_on_one_side_is_higher_there_and_on_both_is_neither() -> None:
    half = [1.0] * 50 + [np.inf] * 50
    assert dominance([1.0] * 100, half).relation is Relation.B_HIGHER
    assert dominance(half, half).relation is Relation.EQUAL


@given(values, values)
def test_swapped_sides_are_mirrored(a: list[float], b: list[float]) -> None:
    mirrored = {
        Relation.EQUAL: Relation.EQUAL,
        Relation.CROSSES: Relation.CROSSES,
        Relation.B_LOWER: Relation.B_HIGHER,
        Relation.B_HIGHER: Relation.B_LOWER,
    }
    one, other = dominance(a, b), dominance(b, a)
    assert mirrored[one.relation] is other.relation
    assert one.crossings == other.crossings


@given(values)
def test_percentiles_without_sorting_are_those_of_the_sorted_list(a: list[float]) -> None:
    ordered = np.sort(np.array(a))
    assert percentiles_of(a, SHARES).tolist() == nearest_rank(ordered, SHARES).tolist()


def test_no_values_have_no_percentiles() -> None:
    assert np.isnan(percentiles_of([], [0.5, 0.99])).tolist() == [True, True]


@pytest.mark.parametrize(("share", "value"), [(0.07, 7), (0.99, 99), (1, 100), (0.001, 1)])
def test_percentiles_are_nearest_rank(share: float, value: float) -> None:
    assert percentiles_of(np.arange(100, 0, -1), [share]).tolist() == [value]
