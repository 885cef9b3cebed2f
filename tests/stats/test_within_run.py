"""The band within two runs: what it holds for, what it leaves open, and that it is steady."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.stats.within_run import MIN_PAIRS, Within, within_run

SHARES = (0.5, 0.9, 0.99)


def waits(n: int, seed: int = 0) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return correlated waits: a slow wave of load, and noise."""
    generator = np.random.default_rng(seed)
    wave = 1 + 0.8 * np.sin(np.arange(n) / n * 6 * np.pi)
    return np.asarray(100 * wave + generator.exponential(20, n))


def test_few_pairs_have_no_band() -> None:
    values = waits(MIN_PAIRS - 1)
    assert within_run(values, values, SHARES) == ()


def test_the_same_run_varies_by_nothing() -> None:
    values = waits(500)
    assert within_run(values, values, SHARES) == (Within(0.0, 0.0),) * 3


def test_a_constant_factor_is_found_without_width() -> None:
    values = waits(500)
    for each in within_run(values, 1.2 * values, SHARES):
        assert each.low == pytest.approx(0.2)
        assert each.high == pytest.approx(0.2)


def test_the_band_is_about_the_change_and_wider_for_noise() -> None:
    a = waits(1000, 1)
    calm, wild = 1.1 * a, 1.1 * a * np.random.default_rng(2).lognormal(0, 0.5, 1000)
    (narrow,) = within_run(a, calm, (0.5,))
    (wide,) = within_run(a, wild, (0.5,))
    assert narrow.low is not None
    assert narrow.high is not None
    assert wide.low is not None
    assert wide.high is not None
    assert wide.low < 0.1 < wide.high
    assert wide.high - wide.low > narrow.high - narrow.low


def test_correlation_widens_it_beyond_a_shuffled_run() -> None:
    """Blocks keep what queueing ties together; single requests would pretend to more."""
    a = waits(2000, 3)
    b = a * (1 + 0.5 * np.sin(np.arange(2000) / 2000 * 4 * np.pi))
    mixed = np.random.default_rng(4).permutation(2000)
    (blocks,) = within_run(a, b, (0.9,))
    (single,) = within_run(a[mixed], b[mixed], (0.9,))
    assert blocks.low is not None
    assert blocks.high is not None
    assert single.low is not None
    assert single.high is not None
    assert blocks.high - blocks.low > 1.5 * (single.high - single.low)


def test_it_is_that_of_a_plain_bootstrap() -> None:
    """Drawn block by block from the requests themselves, with another seed."""
    a = waits(1000, 5)
    b = a * np.random.default_rng(6).lognormal(0.1, 0.3, 1000)
    generator = np.random.default_rng(7)
    found = []
    for _ in range(2000):
        starts = generator.integers(0, 901, 10)
        chosen = np.concatenate([np.arange(start, start + 100) for start in starts])
        found.append(np.median(b[chosen]) / np.median(a[chosen]) - 1)
    low, high = np.percentile(found, [2.5, 97.5])
    (band,) = within_run(a, b, (0.5,))
    assert band.low == pytest.approx(low, abs=0.02)
    assert band.high == pytest.approx(high, abs=0.02)


def test_a_percentile_that_is_lost_in_some_draws_has_no_upper_bound() -> None:
    a = waits(1000)
    b = a.copy()
    b[300:420] = np.inf  # 12% lost in one stretch
    median, tail = within_run(a, b, (0.5, 0.9))
    assert median.high is not None
    assert tail.high is None


def test_lost_in_a_has_no_lower_bound() -> None:
    b = waits(1000)
    a = b.copy()
    a[300:420] = np.inf
    (tail,) = within_run(a, b, (0.9,))
    assert tail.low is None


def test_lost_on_both_sides_has_no_bounds() -> None:
    values = np.full(1000, np.inf)
    values[:200] = 1
    assert within_run(values, values, (0.9,)) == (Within(None, None),)


@given(st.integers(MIN_PAIRS, 3000), st.integers(0, 50))
def test_the_same_runs_give_the_same_ordered_bounds(n: int, seed: int) -> None:
    a, b = waits(n, seed), waits(n, seed + 1)
    found = within_run(a, b, SHARES)
    assert found == within_run(a, b, SHARES)
    for each in found:
        assert each.low is not None
        assert each.high is not None
        assert each.low <= each.high


def test_a_long_run_is_grouped_and_stays_close() -> None:
    a = waits(100_000, 8)
    (band,) = within_run(a, 1.5 * a, (0.9,))
    assert band.low == pytest.approx(0.5, abs=1e-3)
    assert band.high == pytest.approx(0.5, abs=1e-3)
