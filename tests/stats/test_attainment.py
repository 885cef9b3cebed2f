"""Who met a set of limits, counted on four requests by hand."""

import numpy as np
import pytest

from headway.model import Metric
from headway.stats.attainment import Sheet, count, sheet


def laid_out(open_ttft_ms: list[float]) -> Sheet:
    """Return two completed requests with a TTFT of 100 and 200 ms, and open ones behind them."""
    n_open = len(open_ttft_ms)
    return sheet(
        values={Metric.TTFT: [100.0, 200.0] + [np.inf] * n_open},
        completed=[True, True] + [False] * n_open,
        applicable={},
        least={Metric.TTFT: open_ttft_ms},
        is_open=[False, False] + [True] * n_open,
        n_placed=0,
    )


@pytest.mark.parametrize(("limit_ms", "n_met"), [(99.9, 0), (100, 1), (199.9, 1), (200, 2)])
def test_a_request_meets_a_limit_that_it_equals(limit_ms: float, n_met: int) -> None:
    assert count(laid_out([]), {Metric.TTFT: limit_ms}).n_met == n_met


def test_an_open_request_that_waited_exactly_the_limit_may_still_meet_it() -> None:
    counted = count(laid_out([199.9, 200.0, 200.1]), {Metric.TTFT: 200})
    assert counted.n_met == 2
    assert counted.n_open == 2  # 199.9 and 200.0: only 200.1 is past the limit


def test_an_open_request_of_which_nothing_is_known_may_still_meet_every_limit() -> None:
    assert count(laid_out([np.nan]), {Metric.TTFT: 200}).n_open == 1


def test_an_answer_of_one_token_keeps_every_limit_on_cadence() -> None:
    on = sheet(
        values={Metric.STALL: [np.inf, 50.0]},
        completed=[True, True],
        applicable={Metric.STALL: [False, True]},
        least={},
        is_open=[False, False],
        n_placed=2,
    )
    counted = count(on, {Metric.STALL: 40})
    assert (counted.n_met, counted.n_no_cadence) == (1, 1)
