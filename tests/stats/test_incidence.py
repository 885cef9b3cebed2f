import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.stats.incidence import Fate, aalen_johansen, kaplan_meier

D, L, F = Fate.DELIVERED, Fate.LOST, Fate.IN_FLIGHT
WAITS = [1, 2, 3, 4, 5, 6]
FATES = [D, L, D, F, D, L]


def test_aalen_johansen() -> None:
    curve = aalen_johansen(WAITS, FATES)
    expected = [0.1667, 0.1667, 0.3333, 0.3333, 0.5833, 0.5833]
    assert curve.times.tolist() == WAITS
    assert curve.shares.tolist() == pytest.approx(expected, abs=5e-5)


def test_kaplan_meier() -> None:
    curve = kaplan_meier(WAITS, FATES)
    expected = [0.1667, 0.1667, 0.375, 0.375, 0.6875, 0.6875]
    assert curve.shares.tolist() == pytest.approx(expected, abs=5e-5)
    assert curve.percentile(0.5) == 5
    assert curve.percentile(0.9) is None


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([D, L])), min_size=1, max_size=40))
def test_with_every_fate_known_it_is_the_share_of_the_offered(
    requests: list[tuple[int, Fate]],
) -> None:
    waits = np.array([wait for wait, _ in requests], float)
    delivered = np.array([fate is D for _, fate in requests])
    curve = aalen_johansen(waits, [fate for _, fate in requests])
    expected = [np.mean(delivered & (waits <= t)) for t in curve.times]
    assert np.allclose(curve.shares, expected)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(list(Fate))), min_size=1, max_size=40))
def test_a_competing_loss_never_counts_as_delivered(requests: list[tuple[int, Fate]]) -> None:
    waits, fates = [w for w, _ in requests], [f for _, f in requests]
    found, optimistic = aalen_johansen(waits, fates), kaplan_meier(waits, fates)
    assert np.all(np.diff(found.shares) >= 0)
    assert np.all(found.shares <= optimistic.shares + 1e-9)


def test_in_flight_requests_are_neither_lost_nor_dropped() -> None:
    """P(first token by 5 s) of a wait that grows lost at a constant rate, cut at random."""
    rng = np.random.default_rng(11)
    token, loss, cut = (
        rng.exponential(4, 40_000),
        rng.exponential(20, 40_000),
        rng.uniform(0, 30, 40_000),
    )
    waits = np.minimum(np.minimum(token, loss), cut)
    fates = np.select([waits == token, waits == loss], [D, L], F)
    curve = aalen_johansen(waits, fates)
    truth = (1 / 4) / (1 / 4 + 1 / 20) * (1 - np.exp(-5 * (1 / 4 + 1 / 20)))
    found = curve.shares[np.searchsorted(curve.times, 5, side="right") - 1]
    assert found == pytest.approx(truth, abs=0.01)
