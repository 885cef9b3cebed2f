"""Verdicts by load and class of requests."""

from pathlib import Path

import pytest

from headway.analyses import acceptance, strata
from headway.analyses.strata import StratumCell
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Objective, Selection, Stratum, Window
from headway.stats.verdicts import InRun, Verdict
from libraries import make_run, offered, open_runs, replicates

STALL = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)
TTFT = Objective(ttft_ms=200, attainment=0.9)


def cells(
    opened: Catalog,
    wanted: Stratum,
    objective: Objective = TTFT,
    window: Window = Window(),
) -> list[StratumCell]:
    runs = [run for name in sorted(opened.studies) for run in opened.of_study(name)]
    selection = Selection(tuple(run.run_id for run in runs), window)
    judged = acceptance.judge(opened, selection, objective)
    return strata.strata(opened, selection, objective, judged, wanted)


def test_the_classes_of_a_run_add_up_to_the_run(study: Catalog) -> None:
    by_run: dict[str, list[StratumCell]] = {}
    for cell in cells(study, Stratum.PROMPT_LENGTH, STALL):
        by_run.setdefault(cell.run_id, []).append(cell)
    assert {len(mine) for mine in by_run.values()} == {4}
    selection = Selection(tuple(by_run))
    for judged in acceptance.judge(study, selection, STALL):
        mine = by_run[judged.run.run_id]
        assert sum(cell.n_offered for cell in mine) == judged.n_offered
        assert sum(cell.n_met for cell in mine) == judged.n_met


def test_one_class_of_all_is_judged_as_the_run_is(study: Catalog) -> None:
    selection = Selection(tuple(run.run_id for run in study.of_study(next(iter(study.studies)))))
    judged = acceptance.judge(study, selection, STALL)
    for cell, run in zip(cells(study, Stratum.NONE, STALL), judged, strict=True):
        assert cell.run_id == run.run.run_id
        assert (cell.in_run, cell.workload) == (run.in_run, run.workload)
        assert cell.traffic.verdict is run.traffic.verdict
        assert run.effective is not None
        assert cell.n_eff == pytest.approx(run.effective.n_eff)


def test_a_window_keeps_what_was_in_flight_before_it(study: Catalog) -> None:
    window = Window(20_000_000, 60_000_000)
    selection = Selection(tuple(run.run_id for run in study.of_study(next(iter(study.studies)))))
    selection = Selection(selection.run_ids, window)
    judged = {each.run.run_id: each for each in acceptance.judge(study, selection, STALL)}
    for cell in cells(study, Stratum.NONE, STALL, window):
        effective = judged[cell.run_id].effective
        assert effective is not None
        assert cell.n_eff == pytest.approx(effective.n_eff)


def test_a_class_may_be_missed_where_the_run_as_a_whole_is_met(tmp_path: Path) -> None:
    rows = offered(200, 200)
    for place, row in enumerate(rows):
        row["segment"] = "burst" if place >= 190 else "steady"
        if place >= 190:
            row["ttft_us"], row["latency_us"] = 900_000, 990_000
    by_class = {
        cell.stratum: cell for cell in cells(open_runs(tmp_path, make_run(rows)), Stratum.SEGMENT)
    }
    assert by_class["steady"].in_run is InRun.MET
    assert by_class["burst"].in_run is InRun.MISSED
    assert (by_class["burst"].n_met, by_class["burst"].n_offered) == (0, 10)


def test_replicates_are_judged_together(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *replicates((170, 167, 168, 170, 169)))
    (cell,) = cells(opened, Stratum.NONE)
    assert (cell.n_met, cell.n_offered) == (844, 900)
    assert cell.workload.verdict is Verdict.ACCEPTED
    assert cell.workload.low == pytest.approx(0.05**0.2)


def test_an_open_request_past_a_limit_is_no_longer_open(tmp_path: Path) -> None:
    rows = offered(20, 20)
    rows[0] = {"outcome": "cut_off", "scheduled_us": 0, "sent_us": 0}
    rows[1] = {"outcome": "failed", "scheduled_us": 200_000, "sent_us": 200_000}
    rows[2] = {"outcome": "failed", "scheduled_us": 400_000, "sent_us": 400_000}
    (cell,) = cells(open_runs(tmp_path, make_run(rows)), Stratum.NONE)
    assert (cell.n_met, cell.in_run) == (17, InRun.MISSED)


def test_a_class_of_a_generator_behind_its_schedule_is_never_accepted(tmp_path: Path) -> None:
    runs = []
    for place in range(3):
        rows = offered(180, 180, jitter_us=place)
        for row in rows:
            row["sent_us"] += 3_000
        runs.append(make_run(rows, f"r{place}", replicate=place))
    (cell,) = cells(open_runs(tmp_path, *runs), Stratum.NONE)
    assert cell.workload.verdict is Verdict.UNDECIDED
    assert cell.traffic.verdict is not Verdict.ACCEPTED


def test_without_times_a_class_has_no_effective_number(tmp_path: Path) -> None:
    rows = offered(40, 40)
    for row in rows:
        del row["scheduled_us"], row["sent_us"]
    (cell,) = cells(open_runs(tmp_path, make_run(rows)), Stratum.NONE)
    assert (cell.n_eff, cell.in_run) == (None, InRun.MET)
    assert cell.traffic.verdict is Verdict.UNDECIDED


def test_a_run_off_the_axis_has_no_cell(tmp_path: Path) -> None:
    run = make_run(offered(20, 20), load=Load(LoadKind.UNLIMITED))
    assert cells(open_runs(tmp_path, run), Stratum.NONE) == []
