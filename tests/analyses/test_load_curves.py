"""Latency, completions and outcomes along the load."""

from pathlib import Path

import pytest

from headway.analyses import acceptance, load_curves
from headway.analyses.load_curves import LoadPoint
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Objective, Outcome, Selection
from libraries import make_run, offered, open_runs, replicates

STALL = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)
TTFT = Objective(ttft_ms=200, attainment=0.9)


def points(opened: Catalog, objective: Objective = TTFT) -> list[LoadPoint]:
    runs = [run for name in sorted(opened.studies) for run in opened.of_study(name)]
    selection = Selection(tuple(run.run_id for run in runs))
    judged = acceptance.judge(opened, selection, objective)
    return load_curves.points(opened, selection, judged)


def test_every_run_is_a_point_with_everything_offered(study: Catalog) -> None:
    found = points(study, STALL)
    assert {point.run_id for point in found} == set(study.runs)
    for point in found:
        assert sum(point.shares.values()) == pytest.approx(1)
        assert point.ttft.percentiles[-1].share == 0.99


def test_goodput_never_exceeds_what_was_offered(study: Catalog) -> None:
    for point in points(study, STALL):
        assert point.goodput_rps is not None
        assert point.measured_rps is not None
        assert point.goodput_rps <= point.measured_rps * 1.01


def test_the_knee_is_between_loads_that_were_tested(study: Catalog) -> None:
    found = points(study, STALL)
    knee = load_curves.knees(found)["orca"]
    measured = sorted(p.measured_rps for p in found if p.line == "orca" and p.measured_rps)
    assert knee.falls_short in measured
    assert knee.plateau is not None
    assert knee.keeps_up is None or knee.keeps_up < knee.plateau * 1.5


def test_lost_requests_are_in_the_tail_and_in_the_shares(tmp_path: Path) -> None:
    rows = offered(20, 20)
    rows[0] = {"outcome": "rejected", "scheduled_us": 0}
    whole = make_run(offered(20, 20, every_us=100_000), "r1", policy="z")
    point, other = points(open_runs(tmp_path, make_run(rows), whole))
    assert point.shares[Outcome.REJECTED] == pytest.approx(0.05)
    assert [p.share for p in (*point.ttft.percentiles, *other.ttft.percentiles)] == [0.99, 0.99]
    assert point.ttft.percentiles[-1].not_reached
    assert point.ttft.percentiles[-1].value_ms is None


def test_a_tail_that_no_run_reaches_gives_way_to_one_that_does(tmp_path: Path) -> None:
    rows = offered(20, 20)
    rows[0] = {"outcome": "rejected", "scheduled_us": 0}
    (point,) = points(open_runs(tmp_path, make_run(rows)))
    assert [(p.share, p.value_ms) for p in point.ttft.percentiles] == [(0.95, 100)]


def test_where_nothing_is_reached_the_usual_tail_says_so(tmp_path: Path) -> None:
    rows = [{"outcome": "failed", "scheduled_us": place * 1000} for place in range(20)]
    (point,) = points(open_runs(tmp_path, make_run(rows)))
    assert [(p.share, p.not_reached) for p in point.ttft.percentiles] in ([(0.99, True)], [])


def test_goodput_is_the_mean_of_the_replicates(tmp_path: Path) -> None:
    found = points(open_runs(tmp_path, *replicates((180, 90, 90))))
    assert len(found) == 3
    window_s = (179 * 200_000 + 1) / 1e6
    assert {round(p.goodput_rps or 0, 6) for p in found} == {round(120 / window_s, 6)}


def test_without_times_there_is_no_rate_and_no_knee(tmp_path: Path) -> None:
    rows = offered(20, 20)
    for row in rows:
        del row["scheduled_us"], row["sent_us"]
    found = points(open_runs(tmp_path, make_run(rows)))
    assert [(p.measured_rps, p.completed_rps, p.goodput_rps) for p in found] == [(None,) * 3]
    assert load_curves.knees(found) == {}


def test_an_unlimited_load_is_on_no_axis(tmp_path: Path) -> None:
    run = make_run(offered(20, 20), load=Load(LoadKind.UNLIMITED))
    assert points(open_runs(tmp_path, run)) == []
