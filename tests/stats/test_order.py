"""Runs of two sides in time: interleaved, in blocks, or unknown."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.stats.order import Order, order, plan, sequence


def orders(n_a: int, n_b: int) -> list[str]:
    """Return every order of so many runs."""
    places = range(n_a + n_b)
    return [
        "".join("A" if place in of_a else "B" for place in places)
        for of_a in combinations(places, n_a)
    ]


@pytest.mark.parametrize(("k", "n_interleaved", "n_all"), [(3, 8, 20), (5, 32, 252)])
def test_how_many_orders_are_interleaved(k: int, n_interleaved: int, n_all: int) -> None:
    found = [order(letters) for letters in orders(k, k)]
    assert len(found) == n_all
    assert found.count(Order.INTERLEAVED) == n_interleaved


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("ABABAB", Order.INTERLEAVED),
        ("ABBAAB", Order.INTERLEAVED),
        ("ABBABA", Order.INTERLEAVED),
        ("AABBAB", Order.BLOCKS),
        ("AAABBB", Order.BLOCKS),
        ("ABBBAA", Order.BLOCKS),
        ("AABAABAAB", Order.INTERLEAVED),
        ("AAAABAABB", Order.BLOCKS),
        ("AAABAAABAAAB", Order.BLOCKS),
        (None, Order.UNKNOWN),
    ],
)
def test_orders(letters: str | None, expected: Order) -> None:
    assert order(letters) is expected


def test_the_sequence_needs_distinct_starts_and_no_overlap() -> None:
    a, b = [(0.0, 10.0), (20.0, 30.0)], [(10.0, 20.0), (40.0, 50.0)]
    assert sequence(a, b) == "ABAB"
    assert sequence(a, [(0.0, 5.0)]) is None
    assert sequence(a, [(9.0, 19.0)]) is None
    assert sequence(a, []) is None


@given(n_a=st.integers(1, 12), n_b=st.integers(1, 12))
def test_the_plan_is_interleaved(n_a: int, n_b: int) -> None:
    letters = plan(n_a, n_b)
    assert order(letters) is Order.INTERLEAVED
    if max(n_a, n_b) <= 2 * min(n_a, n_b):
        assert (letters.count("A"), letters.count("B")) == (n_a, n_b)


def test_equal_sides_take_turns_at_going_first() -> None:
    assert plan(5, 5) == "ABBAABBAAB"
