import numpy as np
import pytest

from headway.stats.steadiness import Steadiness, steadiness


def test_a_growing_queue_is_not_steady() -> None:
    assert steadiness(np.linspace(100, 1000, 1000)) is Steadiness.NOT_STEADY


def test_a_constant_run_is_steady() -> None:
    assert steadiness(np.full(300, 5.0)) is Steadiness.STEADY


def test_a_falling_latency_is_steady() -> None:
    assert steadiness(np.linspace(1000, 100, 1000)) is Steadiness.STEADY


@pytest.mark.parametrize(
    ("rise", "expected"), [(0.4, Steadiness.STEADY), (0.8, Steadiness.NOT_STEADY)]
)
def test_a_small_drift_does_not_matter(rise: float, expected: Steadiness) -> None:
    drift = np.repeat(1 + rise * np.linspace(-0.5, 0.5, 10), 100)
    assert steadiness(drift) is expected


def test_one_bad_block_is_no_drift() -> None:
    assert steadiness(np.where(np.arange(1000) // 100 == 6, 900.0, 5.0)) is Steadiness.STEADY


def test_too_short_or_without_times_is_unknown() -> None:
    assert steadiness(np.arange(299.0)) is Steadiness.UNKNOWN
    assert steadiness(np.arange(300.0)) is Steadiness.NOT_STEADY
    assert steadiness(None) is Steadiness.UNKNOWN


def test_lost_requests_make_the_last_blocks_slow() -> None:
    ttft = np.linspace(1, 1.2, 1000)
    ttft[700:] = np.nan
    assert steadiness(ttft) is Steadiness.NOT_STEADY


def test_a_run_that_delivered_nothing_is_unknown() -> None:
    assert steadiness(np.full(500, np.inf)) is Steadiness.UNKNOWN


def queue(
    load: float, n: int, rng: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Waits of a queue with one server."""
    steps = rng.exponential(1, n) - rng.exponential(1 / load, n)
    walk = np.concatenate([[0], np.cumsum(steps)[:-1]])
    return walk - np.minimum.accumulate(walk)


def test_overload_is_flagged_and_half_load_is_not() -> None:
    rng = np.random.default_rng(7)
    flags = {
        load: [steadiness(queue(load, 3000, rng) + 0.1) for _ in range(40)] for load in (0.5, 1.2)
    }
    assert flags[0.5].count(Steadiness.NOT_STEADY) <= 2
    assert flags[1.2].count(Steadiness.NOT_STEADY) >= 38
