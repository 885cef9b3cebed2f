"""How long a spell of common trouble an acceptance can bear."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.stats.intervals import Side, clopper_pearson
from headway.stats.reach import ACCEPT_LEVEL, Pace, bears, pace, reach

TARGETS = st.sampled_from([0.5, 0.9, 0.95, 0.99])


@pytest.mark.parametrize(
    ("n", "n_missed", "target", "expected"),
    [
        (500, 0, 0.95, 6.95),
        (10_000, 0, 0.95, 139),
        (2000, 20, 0.95, 17.6),
        (10_000, 100, 0.95, 88),
        (500, 25, 0.95, 0),
        (500, 500, 0.95, 0),
        (0, 0, 0.95, 0),
    ],
)
def test_the_reach_of_a_run(n: int, n_missed: int, target: float, expected: float) -> None:
    assert reach(n, n_missed, target) == pytest.approx(expected, rel=0.006)


@given(n=st.integers(10, 20_000), missed=st.floats(0, 0.5), target=TARGETS)
def test_the_bound_meets_the_target_at_the_reach(n: int, missed: float, target: float) -> None:
    n_missed = round(missed * n)
    found = reach(n, n_missed, target)
    assume(found > 1e-3)
    trials, met = n / found, (n - n_missed) / found
    low = float(clopper_pearson(met, trials, ACCEPT_LEVEL, Side.LOWER)[0])
    assert low == pytest.approx(target, abs=1e-6)
    assert bears(n, n_missed, target, found * 0.999)
    assert not bears(n, n_missed, target, found * 1.001)


@given(n=st.integers(10, 5000), n_missed=st.integers(0, 100), target=TARGETS)
def test_a_miss_never_adds_reach(n: int, n_missed: int, target: float) -> None:
    assume(n_missed < n)
    assert reach(n, n_missed + 1, target) <= reach(n, n_missed, target) + 1e-9


def test_the_pace_of_even_arrivals() -> None:
    found = pace(np.arange(200) * 250_000)
    assert found is not None
    assert found.duration_s == pytest.approx(49.75)
    assert (found.slowest_rps, found.busiest_rps) == pytest.approx((4, 4))
    assert found.spell_requests(7) == pytest.approx(29)
    assert found.spell_seconds(29) == pytest.approx(7)


def test_the_busiest_tenth_by_hand() -> None:
    """Twenty arrivals a second apart, but the fifth tenth, two of them, within half a second."""
    arrivals = np.arange(20) * 1_000_000.0
    arrivals[9:] -= 500_000
    arrivals[10:] -= 500_000
    found = pace(arrivals)
    assert found is not None
    assert (found.slowest_rps, found.busiest_rps) == pytest.approx((1, 2))


def test_arrivals_at_one_instant_have_no_load() -> None:
    found = pace(np.zeros(30))
    assert found == Pace(0, None, None)
    assert found.spell_requests(1) == math.inf
    assert found.spell_seconds(5) is None
    assert pace(np.arange(9)) is None
