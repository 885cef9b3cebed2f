import hashlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headway.errors import MisuseError
from headway.stats.fingerprint import Component, Level, Plan, compare, fingerprint, plan

ROWS = [(0, 0, 10, 5, 0), (1, 500_000, 20, 5, -1), (2, 1_250_000, 30, 5, 0)]
EXACT = "1753ea24778be01a0183fb3acff1273d24638c51ce68ccd450de83da9fd1cb8d"

row = st.tuples(
    st.integers(0, 10**9), st.integers(1, 4000), st.integers(1, 4000), st.integers(-1, 4)
)
workloads = st.lists(row, min_size=1, max_size=30)


def of(rows: list[tuple[int, int, int, int, int]]) -> Plan:
    index, arrival, prompt, output, group = np.transpose(rows)
    return plan(index, arrival, prompt, output, group)


def numbered(rows: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int, int]]:
    return [(i, *values) for i, values in enumerate(rows)]


def test_the_exact_hash() -> None:
    assert fingerprint(of(ROWS)).exact == EXACT


def test_the_bytes_behind_it() -> None:
    data = b"headway-workload-v1\n" + np.array(ROWS, "<i8").tobytes()
    assert hashlib.sha256(data).hexdigest() == EXACT


@given(rows=workloads, seed=st.integers(0, 99))
def test_row_order_group_names_and_zero_do_not_matter(
    rows: list[tuple[int, int, int, int]], seed: int
) -> None:
    given_rows = numbered(rows)
    order = np.random.default_rng(seed).permutation(len(rows))
    disguised = [
        (i, t + 77, p, o, -1 if g == -1 else 1000 - 3 * g)
        for i, t, p, o, g in (given_rows[j] for j in order)
    ]
    a, b = of(given_rows), of(disguised)
    assert fingerprint(a) == fingerprint(b)
    match = compare(a, b)
    assert (match.level, match.paired, match.same) == (Level.IDENTICAL, len(rows), len(rows))


@pytest.mark.parametrize(
    ("change", "component"),
    [
        ((2, 1_250_001, 30, 5, 0), Component.ARRIVAL),
        ((2, 1_250_000, 31, 5, 0), Component.PROMPT),
        ((2, 1_250_000, 30, 6, 0), Component.OUTPUT),
        ((2, 1_250_000, 30, 5, -1), Component.PREFIX),
    ],
)
def test_the_parts_say_what_differs(
    change: tuple[int, int, int, int, int], component: Component
) -> None:
    a, b = of(ROWS), of([*ROWS[:2], change])
    assert fingerprint(a).exact != fingerprint(b).exact
    differing = [c for c in Component if getattr(fingerprint(a), c) != getattr(fingerprint(b), c)]
    assert differing == [component]
    assert compare(a, b).differing == {component}
    same_requests = fingerprint(a).requests == fingerprint(b).requests
    assert same_requests is (component is Component.ARRIVAL)


@pytest.mark.parametrize(
    ("shift", "level"),
    [
        (0, Level.IDENTICAL),
        (1, Level.ARRIVALS_WITHIN_TOLERANCE),
        (1000, Level.ARRIVALS_WITHIN_TOLERANCE),
        (1001, Level.ARRIVALS_WITHIN_TOLERANCE),  # one of three was late, and still in order
        (800_000, Level.SAME_REQUESTS),  # it came after the next
    ],
)
def test_levels_of_arrivals(shift: int, level: Level) -> None:
    moved = [(i, t + shift * (i == 1), p, o, g) for i, t, p, o, g in ROWS]
    match = compare(of(ROWS), of(moved))
    assert (match.level, match.arrival_shift_us) == (level, shift)
    assert match.arrival_median_us == 0


def test_a_plan_issued_late_is_the_same_and_another_draw_is_not() -> None:
    generator = np.random.default_rng(3)
    planned = np.cumsum(generator.exponential(100_000, 500)).astype(int)
    late = np.maximum.accumulate(planned + generator.exponential(2000, 500).astype(int))
    late[250:260] = late[260]  # a stall that held up ten requests, and let them go at once
    other = np.cumsum(generator.exponential(100_000, 500)).astype(int)
    faster = (planned * 0.99).astype(int)

    def level(arrivals: NDArray[np.int64]) -> Level:
        index = np.arange(500)
        first, second = (plan(index, each, index, index) for each in (planned, arrivals))
        return compare(first, second).level

    assert level(late) is Level.ARRIVALS_WITHIN_TOLERANCE
    assert level(other) is Level.SAME_REQUESTS
    assert level(faster) is Level.SAME_REQUESTS


def test_unknown_arrivals_prove_nothing() -> None:
    index, _, prompt, output, group = np.transpose(ROWS)
    match = compare(of(ROWS), plan(index, None, prompt, output, group))
    assert match.level is Level.SAME_REQUESTS
    assert match.arrival_shift_us is None
    assert match.unknown == {Component.ARRIVAL}


def test_an_unknown_column_is_not_compared() -> None:
    index, arrival, prompt, _, group = np.transpose(ROWS)
    partly = plan(index, arrival, prompt, [5, np.nan, 5], group)
    match = compare(of(ROWS), partly)
    assert match.level is Level.IDENTICAL
    assert match.unknown == {Component.OUTPUT}


def test_part_of_a_workload() -> None:
    match = compare(of(ROWS), of([*ROWS[:2], (7, 3_000_000, 1, 1, -1)]))
    assert (match.level, match.paired, match.same) == (Level.PARTIAL, 2, 2)
    assert (match.only_a, match.only_b) == (1, 1)


def test_one_request_in_common_is_partial_and_none_is_different() -> None:
    other = [(i, t, p + (i > 0), o, -1) for i, t, p, o, _ in ROWS]
    without_groups = [(i, t, p, o, -1) for i, t, p, o, _ in ROWS]
    assert compare(of(without_groups), of(other)).level is Level.PARTIAL
    different = [(i, t, p + 1, o, -1) for i, t, p, o, _ in ROWS]
    assert compare(of(without_groups), of(different)).level is Level.DIFFERENT
    elsewhere = compare(of(ROWS), of([(9, 0, 1, 1, -1)]))
    assert (elsewhere.level, elsewhere.paired) == (Level.DIFFERENT, 0)


ONE_INSTANT = [(0, 1, 1, 0)] * 7


@example(a=ONE_INSTANT, b=[*ONE_INSTANT[:5], (1001, 1, 1, 0), ONE_INSTANT[0]])
@given(a=workloads, b=workloads)
def test_comparison_is_symmetric(
    a: list[tuple[int, int, int, int]], b: list[tuple[int, int, int, int]]
) -> None:
    one, other = of(numbered(a)), of(numbered(b))
    there, back = compare(one, other), compare(other, one)
    assert (there.level, there.paired, there.same) == (back.level, back.paired, back.same)
    assert (there.only_a, there.only_b) == (back.only_b, back.only_a)
    equal = fingerprint(one).exact == fingerprint(other).exact
    assert equal is (there.level is Level.IDENTICAL)


def test_an_index_stands_once() -> None:
    with pytest.raises(MisuseError, match="twice"):
        of([ROWS[0], ROWS[0]])
