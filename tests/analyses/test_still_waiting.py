"""Following requests that still waited lies between counting them lost and leaving them out."""

from pathlib import Path
from typing import Any

from headway import catalog
from headway.analyses.still_waiting import still_waiting
from headway.model import Selection
from libraries import make_run, open_runs


def test_requests_are_followed_for_as_long_as_they_were_seen(tmp_path: Path) -> None:
    # Waits of 1, 2 (lost), 3, 4 (still waiting), 5 and 6 (lost) ms: the worked example of the
    # cumulative incidence, in which half is delivered by 5 ms once the open one is followed.
    rows: list[dict[str, Any]] = [
        {"sent_us": 0, "ttft_us": 1000, "latency_us": 1000},
        {"sent_us": 0, "outcome": "failed", "ended_us": 2000},
        {"sent_us": 0, "ttft_us": 3000, "latency_us": 3000},
        {"sent_us": 2000, "outcome": "cut_off", "ended_us": 2000},
        {"sent_us": 0, "ttft_us": 5000, "latency_us": 5000},
        {"sent_us": 0, "outcome": "failed", "ended_us": 6000},
        {"scheduled_us": 9000, "outcome": "not_sent"},
    ]
    opened = open_runs(tmp_path, make_run(rows))
    half, most = still_waiting(opened, Selection(("r0",)), (0.5, 0.58))
    assert (half.n_waiting, half.n_lost) == (1, 2)
    assert half.as_lost_ms == 5.0
    assert half.followed_ms == 5.0
    assert most.as_lost_ms is None
    assert most.followed_ms == 5.0
    assert most.nobody_left_ms == 5.0


def test_the_cut_off_sample_run(study: catalog.Catalog) -> None:
    (run_id,) = (run.run_id for run in study.runs.values() if run.time_limit_s)
    half, most = still_waiting(study, Selection((run_id,)))
    assert half.n_waiting == 112
    assert half.as_lost_ms is not None
    assert half.followed_ms is not None
    assert half.followed_ms <= half.as_lost_ms
    assert most.as_lost_ms is None


def test_a_run_that_ended_is_left_alone(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"sent_us": 0, "ttft_us": 1, "latency_us": 2}] * 3))
    assert still_waiting(opened, Selection(("r0",))) == []
