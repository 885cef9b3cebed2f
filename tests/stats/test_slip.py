import heapq

import numpy as np
import pytest

from headway.stats.slip import lateness, slip


def stalled_client(workers: int) -> tuple[list[float], list[float]]:
    """3,000 requests at 100 per second, 5 ms each; the server stalls once, for 2 s.

    Returns the schedule and the sends, in seconds, of a client with that many workers.
    """
    schedule = [i / 100 for i in range(3000)]
    free = [0.0] * workers
    sends = []
    for planned in schedule:
        sent = max(planned, heapq.heappop(free))
        stalled = 10.0 <= sent < 12.0
        heapq.heappush(free, (12.0 if stalled else sent) + 0.005)
        sends.append(sent)
    return schedule, sends


def test_a_client_with_one_worker_falls_behind() -> None:
    schedule, sends = (np.array(x) * 1e6 for x in stalled_client(1))
    found = slip(lateness(schedule, sends), ttft_limit_us=2e6)
    assert found is not None
    assert found.max_us == pytest.approx(1_995_000)
    assert found.late_share == pytest.approx(0.133, abs=5e-4)
    assert found.behind


def test_a_client_that_keeps_its_schedule() -> None:
    schedule, sends = (np.array(x) * 1e6 for x in stalled_client(3000))
    found = slip(lateness(schedule, sends), ttft_limit_us=2e6)
    assert found is not None
    assert (found.max_us, found.late_share, found.behind) == (0, 0, False)


def test_slip_counts_against_the_limit() -> None:
    schedule = np.arange(100) * 1e5
    assert slip(lateness(schedule, schedule + 5000), ttft_limit_us=None).behind  # type: ignore[union-attr]
    assert not slip(lateness(schedule, schedule + 5000), ttft_limit_us=1e6).behind  # type: ignore[union-attr]


def test_slip_without_a_schedule_is_unknown() -> None:
    assert slip(lateness([np.nan, np.nan], [1, 2]), None) is None


def test_sends_before_the_schedule_are_counted() -> None:
    schedule = np.array([0.0, 1e6, 2e6, 3e6, np.nan])
    # On time, 5 s early, 1 ms early (which a clock may round), late, and no schedule.
    sends = np.array([0.0, -4e6, 2e6 - 1000, 3e6 + 1, 7e6])
    found = slip(lateness(schedule, sends), ttft_limit_us=None)
    assert found is not None
    assert (found.n_known, found.n_early, found.max_lead_us) == (4, 1, 5e6)
