"""Values are computed once, for all readers, and within a number of bytes."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep

import numpy as np
import pytest

from headway import sql
from headway.remembered import Remembered, size_of


def test_unknown_values_are_computed_in_one_call() -> None:
    memory = Remembered()
    asked: list[list[str]] = []

    def compute(missing: list[str]) -> Mapping[str, int]:
        asked.append(missing)
        return {name: len(name) for name in missing}

    keys = {"a": ("n", "a"), "bb": ("n", "bb")}
    assert memory.values(keys, compute) == {"a": 1, "bb": 2}
    assert memory.values({**keys, "ccc": ("n", "ccc")}, compute) == {"a": 1, "bb": 2, "ccc": 3}
    assert asked == [["a", "bb"], ["ccc"]]


def test_two_readers_compute_a_value_once() -> None:
    memory, n_calls, start = Remembered(), [0], Barrier(8)

    def compute() -> int:
        n_calls[0] += 1
        sleep(0.05)
        return 7

    def read(_: int) -> int:
        start.wait()
        return memory.value("key", compute)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [7] * 8
    assert n_calls == [1]


def test_the_values_nobody_asks_for_are_forgotten_first() -> None:
    one = np.zeros(1000)
    memory = Remembered(limit_bytes=int(2.5 * size_of(one)))
    for key in ("a", "b"):
        memory.value(key, one.copy)
    memory.value("a", one.copy)
    memory.value("c", one.copy)
    assert len(memory) == 2
    assert memory.n_bytes <= memory.limit_bytes
    assert isinstance(memory.value("a", lambda: "again"), np.ndarray)
    assert isinstance(memory.value("b", lambda: "again"), str)


def test_a_thousand_windows_leave_memory_bounded() -> None:
    memory = Remembered(limit_bytes=1_000_000)
    for window in range(1000):
        memory.value(("sheet", window), lambda: np.zeros(10_000))
    assert memory.n_bytes <= 1_000_000


def test_a_value_that_is_too_large_is_returned_and_not_kept() -> None:
    memory = Remembered(limit_bytes=100)
    assert len(memory.value("key", lambda: np.zeros(1000))) == 1000
    assert len(memory) == 0


def test_a_value_that_cannot_be_computed_leaves_the_key_free() -> None:
    memory = Remembered()
    with pytest.raises(ZeroDivisionError):
        memory.value("key", lambda: 1 // 0)
    assert memory.value("key", lambda: 3) == 3


def test_the_queries_behind_a_value_are_noted_each_time() -> None:
    memory = Remembered()

    def compute() -> int:
        sql.note(["topic/name"])
        return 1

    for _ in range(2):
        with sql.recording() as names:
            memory.value("key", compute)
        assert list(names) == ["topic/name"]
