"""A study at a glance."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.analyses import overview
from headway.analyses.overview import Point
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Objective, Selection
from headway.stats.verdicts import InRun
from libraries import describe, make_run, open_runs, run_of

OBJECTIVE = Objective(ttft_ms=2000, stall_ms=100)
POINT = Point(describe(), "r0", "policy", "5 req/s", 5.0, n=95, n_open=0, n_offered=100)


@pytest.mark.parametrize(
    ("n", "n_open", "expected"),
    [
        (95, 0, InRun.MET),
        (94, 0, InRun.MISSED),
        (94, 1, InRun.OPEN),
        (0, 94, InRun.MISSED),
        (95, 5, InRun.MET),
        (0, 100, InRun.OPEN),
    ],
)
def test_requests_still_open_could_go_either_way(n: int, n_open: int, expected: InRun) -> None:
    assert replace(POINT, n=n, n_open=n_open).in_run(0.95) is expected


def test_a_share_of_nothing_is_unknown() -> None:
    assert replace(POINT, n=0, n_offered=0).share is None


def test_the_sample_study_in_one_picture(study: Catalog) -> None:
    runs = tuple(run.run_id for run in study.of_study("vidur-azure-conversation"))
    found = overview.points(study, Selection(runs), OBJECTIVE)
    assert len(found) == 21
    met = {(p.policy, p.x) for p in found if p.in_run(0.95) is InRun.MET}
    assert met == {("sarathi", rps) for rps in (1.0, 2.0, 3.0, 4.0)}
    assert {p.n_offered for p in found} == {500}
    (cut,) = [p for p in found if p.n_open]
    # 33 were not due yet and 13 were not past a limit; the other 188 can only miss.
    assert (cut.n_open, cut.title) == (46, "vllm · 8 req/s · stopped at 60 s")


def test_sarathi_loses_its_lead_between_4_and_8(study: Catalog) -> None:
    runs = tuple(run_of(study, "sarathi", rps) for rps in (4.0, 6.0, 8.0))
    found = overview.points(study, Selection(runs), OBJECTIVE)
    assert [p.n for p in found] == [500, 467, 163]
    assert [p.share for p in found] == pytest.approx([1.0, 0.934, 0.326])


def test_without_an_objective_the_completed_are_counted(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{}, {"outcome": "failed"}, {}, {"outcome": "cut_off"}]))
    (found,) = overview.points(opened, Selection(("r0",)), None)
    assert (found.n, found.n_open, found.n_offered) == (2, 1, 4)


@pytest.mark.parametrize(
    ("load", "x"),
    [
        (Load(LoadKind.OPEN, declared_rps=5.0), 5.0),
        (Load(LoadKind.OPEN), 2.0),
        (Load(LoadKind.CLOSED, declared_rps=5.0, concurrency=8), 8),
        (Load(LoadKind.UNLIMITED), None),
    ],
)
def test_each_kind_of_load_has_its_axis(tmp_path: Path, load: Load, x: float | None) -> None:
    rows = [{"sent_us": 0}, {"sent_us": 500_000}]
    (found,) = overview.points(
        open_runs(tmp_path, make_run(rows, load=load)), Selection(("r0",)), None
    )
    assert found.x == x


def test_a_first_view_compares_the_policies_at_one_load(study: Catalog) -> None:
    found = overview.default_runs(study, "vidur-azure-conversation")
    runs = [study.runs[run_id] for run_id in found]
    assert [run.policy for run in runs] == ["faster_transformer", "orca", "sarathi", "vllm"]
    assert {run.load.declared_rps for run in runs} == {4.0}


def test_a_first_view_of_unlimited_load_is_one_run(tmp_path: Path) -> None:
    load = Load(LoadKind.UNLIMITED)
    opened = open_runs(tmp_path, make_run([{}], "r0", load=load), make_run([{}], "r1", load=load))
    assert overview.default_runs(opened, "study") == ("r0",)
