"""What each side carried over one window."""

from pathlib import Path
from typing import Any

import pytest

from headway import catalog, record
from headway.analyses import comparison, sides
from headway.analyses.comparison import Question
from headway.analyses.scorecard import ScoreRow
from headway.catalog import Catalog
from headway.model import Objective
from libraries import make_run, offered, open_runs, write

STATE = [
    {"at_us": 0, "duration_us": 1_000_000, "waiting": 2, "paused": 0, "kv_fraction": 0.25},
    {"at_us": 1_000_000, "duration_us": 1_000_000, "waiting": 4, "paused": 1, "kv_fraction": 0.75},
]


def card(
    opened: Catalog, a: tuple[str, ...], b: tuple[str, ...], **asked: Any
) -> dict[str, ScoreRow]:
    question = Question(sides.of_runs(opened, a), sides.of_runs(opened, b), **asked)
    return {row.row: row for row in comparison.compare(opened, question).scorecard}


def lossy() -> list[dict[str, Any]]:
    """Return twenty requests of which four were rejected."""
    rows = offered(20, 20, jitter_us=3)
    for row in rows[:4]:
        row.update(outcome="rejected", ttft_us=None, latency_us=None, sent_us=None)
    return rows


@pytest.fixture
def opened(tmp_path: Path) -> Catalog:
    write(make_run(offered(20, 20), "a", state=STATE), tmp_path)
    write(make_run(lossy(), "b", policy="other"), tmp_path)
    write(make_run(offered(20, 20, jitter_us=7), "c", policy="other"), tmp_path)
    return catalog.open_catalog([tmp_path])


def test_requests_and_errors_are_counted_by_outcome(opened: Catalog) -> None:
    found = card(opened, ("a",), ("b",))
    rows = {name: (row.a, row.b, row.difference) for name, row in found.items()}
    assert rows["offered"] == (20, 20, 0)
    assert rows["completed"] == (20, 16, -4)
    assert rows["rejected"] == (0, 4, 4)
    assert "timed_out" not in rows
    assert "met" not in rows


def test_what_one_side_does_not_record_has_no_difference(opened: Catalog) -> None:
    found = card(opened, ("a",), ("b",))
    waiting, paused, cache = (found[n] for n in ("mean_waiting", "max_paused", "max_kv_fraction"))
    assert (waiting.a, waiting.b, waiting.difference) == (3, None, None)
    assert (paused.a, paused.b) == (1, None)
    assert (cache.a, cache.b, cache.unit) == (0.75, None, "share")


def test_who_met_the_objective_is_counted_over_the_offered(opened: Catalog) -> None:
    found = card(opened, ("a",), ("b",), objective=Objective(ttft_ms=200))
    assert (found["met"].a, found["met"].b) == (20, 16)
    assert (found["met_share"].a, found["met_share"].b) == (1, 0.8)
    assert found["goodput_rps"].difference == pytest.approx(-4 / 3.800001)


def test_a_side_of_several_runs_shows_their_mean(opened: Catalog) -> None:
    found = card(opened, ("a",), ("b", "c"))
    assert (found["completed"].b, found["rejected"].b) == (18, 2)


def test_rates_are_over_the_window_of_arrivals(tmp_path: Path) -> None:
    slow: list[record.Run] = []
    for name, policy, jitter_us in (("a", "one", 0), ("b", "two", 1)):
        rows = offered(20, 20, jitter_us=jitter_us)
        slow.append(make_run(rows, name, policy=policy))
    late = offered(20, 20, jitter_us=2)
    late[-1]["latency_us"] += 60_000_000  # a long drain is in no rate
    slow.append(make_run(late, "c", policy="three"))
    opened = open_runs(tmp_path, *slow)
    assert card(opened, ("a",), ("b",))["completed_rps"].difference == 0
    assert card(opened, ("a",), ("c",))["completed_rps"].difference == pytest.approx(0, abs=0.3)
