"""When a run kept the pace of its plan: the span within 5% and one second."""

import numpy as np
import pytest

from headway.importers.plans import is_same_pace

SPAN_US = 100_000_000


@pytest.mark.parametrize(
    ("took_us", "same"),
    [
        (106_000_000, True),
        (106_000_001, False),
        (94_000_000, True),
        (93_999_999, False),
    ],
)
def test_the_limit_is_five_percent_of_the_plan_and_a_second(took_us: int, same: bool) -> None:
    meant_us = np.array([0, 40_000_000, SPAN_US])
    offered_us = np.array([7, 9, 7 + took_us])  # from another zero
    assert is_same_pace(meant_us, offered_us) is same


def test_one_request_has_no_pace_to_miss() -> None:
    assert is_same_pace(np.array([5]), np.array([9_000_000_000]))
