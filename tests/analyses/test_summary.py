"""Everything of a run, over one window."""

from pathlib import Path

import pytest

from headway.analyses.summary import summarise
from headway.catalog import Catalog
from headway.model import Metric, Objective, Selection, Status
from libraries import make_run, open_runs, run_of, write

ROWS = [
    {"sent_us": 0, "ttft_us": 100_000, "latency_us": 200_000},
    {"sent_us": 1_999_999, "ttft_us": 900_000, "latency_us": 900_000},
]


def test_a_summary_holds_every_metric_of_every_run(real: Catalog) -> None:
    run_ids = tuple(real.runs)
    found = summarise(real, Selection(run_ids), shares=(0.5,))
    assert tuple(each.run.run_id for each in found) == run_ids
    assert all(list(each.metrics) == list(Metric) for each in found)
    assert all(each.metrics[Metric.GAP].status is Status.NOT_APPLICABLE for each in found)
    assert all(each.account.balanced for each in found)


def test_goodput_is_unknown_without_an_objective(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run(ROWS))
    (found,) = summarise(opened, Selection(("r0",)))
    assert found.goodput_rps is None
    (asked,) = summarise(opened, Selection(("r0",)), Objective(ttft_ms=500))
    assert asked.goodput_rps == pytest.approx(0.5)


def test_each_study_answers_to_its_own_objective(tmp_path: Path) -> None:
    for study, limit_ms in (("strict", 500), ("lax", 1000)):
        write(make_run(ROWS, study, study=study), tmp_path)
        text = f"[objective]\nttft_ms = {limit_ms}\n"
        (tmp_path / study / "study.toml").write_text(text, encoding="utf-8")
    opened = open_runs(tmp_path, make_run(ROWS, "none", study="none"))
    found = summarise(opened, Selection(("strict", "lax", "none")))
    assert [each.goodput_rps for each in found] == [
        pytest.approx(0.5),
        pytest.approx(1.0),
        None,
    ]


def test_the_declared_objective_of_the_sample_study_is_in_force(study: Catalog) -> None:
    (found,) = summarise(study, Selection((run_of(study, "sarathi", 8.0),)))
    assert found.rates.window_s is not None
    assert found.goodput_rps == pytest.approx(163 / found.rates.window_s)


def test_a_run_where_everything_failed_has_a_summary(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"outcome": "failed"}]))
    (found,) = summarise(opened, Selection(("r0",)), Objective(ttft_ms=1))
    assert found.account.n_offered == 1
    assert found.metrics[Metric.TTFT].percentiles[0].not_reached
    assert found.goodput_rps is None
