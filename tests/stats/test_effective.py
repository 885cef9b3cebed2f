import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from headway.stats import effective as module
from headway.stats.effective import (
    Effective,
    LatencyParts,
    block_ratio,
    block_ratio_of_counts,
    blocks,
    effective,
    effective_from_blocks,
    ends,
    in_flight,
    latency_parts,
)

Floats = NDArray[np.float64]

FEW_BLOCKS = 1.3321385  # (t(0.975, 9) / z(0.975))²
LATENCIES = npst.arrays(
    float, st.integers(10, 80), elements=st.sampled_from([1.0, 2.0, 3.0, 5.0, np.inf, np.nan])
)


def flying_like(values: Floats) -> Floats:
    return np.cumsum(np.isinf(values)).astype(float)


def test_blocks_are_even_and_the_first_take_the_rest() -> None:
    assert blocks(500).tolist() == [50] * 10
    assert blocks(23).tolist() == [3, 3, 3, 2, 2, 2, 2, 2, 2, 2]


def test_the_block_ratio_by_hand() -> None:
    # One block of ten all true: means 1, 0, … 0 with variance 0.1; var(z) = 100·0.09/99.
    z = np.repeat([1, *[0] * 9], 10)
    assert block_ratio(z) == pytest.approx((0.1 / 10) / ((9 / 99) / 100))


def test_single_requests_as_blocks_show_no_correlation() -> None:
    assert block_ratio(np.arange(10)) == pytest.approx(1)


@given(value=st.floats(-1e300, 1e300), n=st.integers(1, 50))
def test_a_constant_has_ratio_one(value: float, n: int) -> None:
    assert block_ratio(np.full(n, value)) == 1


@given(met=npst.arrays(bool, st.integers(10, 200)))
def test_counts_by_block_say_the_same_as_the_requests(met: NDArray[np.bool_]) -> None:
    sizes = blocks(len(met))
    counts = np.add.reduceat(met, np.cumsum(sizes) - sizes, dtype=int)
    assert block_ratio_of_counts(counts, sizes) == pytest.approx(block_ratio(met))
    by_counts, by_requests = effective_from_blocks([], counts, sizes), effective([], met)
    assert by_counts is not None
    assert by_requests is not None
    assert by_counts.n_eff == pytest.approx(by_requests.n_eff)


def test_in_flight_counts_earlier_requests_that_have_not_ended() -> None:
    arrival = [0, 1, 2, 3, 3, 9]
    end = [2, 5, 2, 9, 4, 10]  # the third was never in flight; one ends as another arrives
    assert in_flight(arrival, end).tolist() == [0, 1, 1, 1, 2, 0]


def test_simultaneous_arrivals_queue_behind_each_other() -> None:
    assert in_flight([0, 0, 0], [1, 1, 1]).tolist() == [0, 1, 2]


@given(
    arrival=st.lists(st.integers(0, 20), min_size=1, max_size=30).map(sorted),
    durations=st.lists(st.integers(0, 20), min_size=30, max_size=30),
)
def test_in_flight_by_brute_force(arrival: list[int], durations: list[int]) -> None:
    end = [a + d for a, d in zip(arrival, durations, strict=False)]
    expected = [
        sum(end[j] > arrival[i] for j in range(i) if end[j] > arrival[j])
        for i in range(len(arrival))
    ]
    assert in_flight(arrival, end).tolist() == expected


def test_ends_that_are_not_recorded() -> None:
    nan = np.nan
    found = ends(
        arrival=[0, 1, 2, 3, 4, 5],
        ended=[9, nan, nan, nan, nan, 4],
        last_known=[7, 8, 8, nan, nan, nan],
        is_open=[False, False, True, True, False, False],
    )
    assert found.tolist() == [9, 8, np.inf, np.inf, 4, 5]


def test_the_tail_weight_counts_a_draw_as_half() -> None:
    # 40 requests, the two slowest meet 5 and 1 in flight; the rest 1: one win, one draw each.
    values = np.arange(40.0)
    flying = np.where(values == 39, 5, 1)
    assert latency_parts(values, flying).weight == pytest.approx(2 * (1 + 0.5) / 2 - 1)


def test_of_equal_latencies_the_later_is_the_slower() -> None:
    flying = np.arange(40)
    assert latency_parts(np.zeros(40), flying).weight == 1
    assert latency_parts(np.zeros(40), flying[::-1]).weight == 0


def test_one_token_answers_leave_the_ranks() -> None:
    rng = np.random.default_rng(1)
    values, flying = rng.random(200), rng.integers(0, 9, 200)
    applicable = np.arange(200) % 7 != 0
    hidden = np.where(applicable, values, np.inf)
    found = latency_parts(hidden, flying, applicable)
    assert found.ranks == block_ratio(np.argsort(np.argsort(values[applicable])))
    assert latency_parts(hidden, flying, np.zeros(200, bool)) == LatencyParts(1, 1, 0)


def test_nothing_is_said_of_fewer_requests_than_blocks() -> None:
    assert effective([], np.ones(9)) is None
    assert effective_from_blocks([], [0] * 10, [0] * 10) is None


def test_constants_leave_only_the_price_of_few_blocks() -> None:
    parts = latency_parts(np.ones(100), np.zeros(100))
    found = effective([parts], np.ones(100))
    assert found is not None
    assert (found.n, found.deff) == (100, 1)
    assert found.n_eff == pytest.approx(100 / FEW_BLOCKS)


def test_the_largest_part_decides() -> None:
    parts = [LatencyParts(2, 1, 0), LatencyParts(1.5, 3, 0.5)]
    found = effective(parts, np.ones(100))
    assert found is not None
    assert found.deff == 3


def test_replicates_of_one_workload_add_no_requests() -> None:
    found = module.pool_replicates([Effective(500, 10, 40), Effective(500, 20, 20)])
    assert found == Effective(500, 15, 30)


def test_other_draws_add_their_requests_and_their_blocks() -> None:
    found = module.pool_draws([Effective(500, 10, 0), Effective(700, 20, 0)])
    assert (found.n, found.deff) == (1200, 15)
    assert found.n_eff == pytest.approx(80 / (2.100922 / 1.959964) ** 2)  # 18 degrees of freedom
    alone = effective([], np.ones(500))
    assert alone is not None
    assert module.pool_draws([alone]) == alone


@given(values=LATENCIES, seed=st.integers(0, 99))
def test_a_run_is_never_worth_more_than_its_requests(values: Floats, seed: int) -> None:
    flying = np.random.default_rng(seed).integers(0, 20, len(values))
    parts = latency_parts(values, flying)
    assert 0 <= parts.weight <= 1
    found = effective([parts], values <= 2)
    assert found is not None
    assert found.deff >= 1
    assert 0 < found.n_eff <= found.n


@given(values=LATENCIES)
def test_a_unit_does_not_matter(values: Floats) -> None:
    flying = flying_like(values)
    assert latency_parts(values, flying) == latency_parts(values * 1024, flying)


@given(values=LATENCIES, seed=st.integers(0, 99))
def test_an_unknown_latency_is_a_lost_request(values: Floats, seed: int) -> None:
    lost = np.where(np.isnan(values), np.inf, values)
    assert latency_parts(values, flying_like(lost)) == latency_parts(lost, flying_like(lost))


@given(
    met=npst.arrays(bool, st.integers(10, 80)),
    seed=st.integers(0, 99),
)
def test_order_inside_a_block_does_not_matter(met: NDArray[np.bool_], seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = np.cumsum(blocks(len(met)))[:-1]
    shuffled = np.concatenate([rng.permutation(block) for block in np.split(met, edges)])
    assert block_ratio(shuffled) == pytest.approx(block_ratio(met))


def test_a_burst_of_failures_is_worth_less_than_spread_ones() -> None:
    spread, burst = np.arange(500) % 10 != 0, np.arange(500) >= 50
    assert spread.sum() == burst.sum()
    few, many = effective([], burst), effective([], spread)
    assert few is not None
    assert many is not None
    assert few.n_eff < 20 < 300 < many.n_eff


def test_an_acceptance_stands_on_longer_blocks_too() -> None:
    # The mean moves once in five tenths of the run: more than blocks of a tenth can show.
    drift = np.repeat([0.0, 1.0, 0.0, 1.0, 0.0], 200) + np.tile([0.0, 0.1], 500)
    parts = latency_parts(drift, np.arange(1000) % 7)
    size = effective([parts], np.ones(1000, bool))
    assert size is not None
    assert size.long_deff > 1.5 * size.deff
    assert size.n_accept == pytest.approx(size.n_eff * size.deff / size.long_deff)
    alternating = np.tile([0.0, 1.0], 500)
    even = effective([latency_parts(alternating, np.arange(1000) % 7)], np.ones(1000, bool))
    assert even is not None
    assert even.n_accept == even.n_eff


def test_the_ten_counts_give_the_longer_blocks() -> None:
    met = np.arange(1000) % 100 < 60 + 3 * (np.arange(1000) // 100)
    parts = [latency_parts(np.arange(1000.0), np.arange(1000) % 7)]
    counts = met.reshape(10, -1).sum(1)
    from_counts = effective_from_blocks(parts, counts, np.full(10, 100))
    whole = effective(parts, met)
    assert from_counts is not None
    assert whole is not None
    assert from_counts.deff == pytest.approx(whole.deff)
    assert from_counts.long_deff == pytest.approx(whole.long_deff)
