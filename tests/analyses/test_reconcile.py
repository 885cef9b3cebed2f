"""Our numbers beside the tool's own."""

import csv
from pathlib import Path

import numpy as np
import pytest

from headway.analyses import distribution, reconcile
from headway.catalog import Catalog
from headway.model import (
    Basis,
    Method,
    Metric,
    Origin,
    Selection,
    ToolAggregate,
    ToolReport,
)
from libraries import make_run, open_runs, run_from

VIDUR = Path(__file__).parents[1] / "importers" / "vidur"
VLLM_RUNS = [
    "01-vllm-failed-rows-look-like-zero-ttft",
    "04-vllm-chunk-gaps-are-not-token-gaps",
    "chat-rate7",
    "faults-proxy-rate5",
    "overlong-rate5",
    "rate4-burst0.1",
    "rateinf",
    "serverkill-rate4",
    "SERVE--max_num_seqs=8-BENCH--r3",
]


@pytest.mark.parametrize("folder", VLLM_RUNS)
def test_every_number_of_the_tool_is_reproduced(real: Catalog, folder: str) -> None:
    found = reconcile.reconcile(real, run_from(real, folder))
    statistics = {(each.metric, each.statistic) for each in found.comparisons}
    assert {(Metric.TTFT, "p50"), (Metric.TTFT, "p99")} <= statistics
    assert [each for each in found.comparisons if not each.agrees] == []
    for each in found.comparisons:
        assert each.recomputed_ms == pytest.approx(each.reported_ms, rel=0.001)


def test_short_successes_move_the_tail_and_the_reason_is_named(real: Catalog) -> None:
    found = reconcile.reconcile(real, run_from(real, "faults-proxy-rate5"))
    (p99,) = [c for c in found.comparisons if (c.metric, c.statistic) == (Metric.TTFT, "p99")]
    assert p99.reported_ms == pytest.approx(1464.5, abs=0.1)
    assert p99.recomputed_ms == pytest.approx(1464.5, abs=0.1)
    assert p99.ours_ms == pytest.approx(1487.3, abs=0.1)
    assert p99.agrees
    assert p99.differs
    assert found.why == (
        "The tool counts 86 of 100 requests as good; Headway counts 82 completed (4 truncated, "
        "4 rejected, 10 failed), so percentiles over the completed differ; over the tool's own "
        "population all 20 of its numbers are reproduced."
    )


def test_a_server_that_died_leaves_four_streams_that_the_tool_counts(real: Catalog) -> None:
    found = reconcile.reconcile(real, run_from(real, "serverkill-rate4"))
    assert "The tool counts 41 of 100 requests as good; Headway counts 37 completed" in found.why
    assert "4 truncated" in found.why


def test_where_the_populations_agree_the_numbers_do(real: Catalog) -> None:
    found = reconcile.reconcile(real, run_from(real, "chat-rate7"))
    assert not any(comparison.differs for comparison in found.comparisons)
    assert found.why.endswith("all 20 of the tool's numbers follow from them.")


def test_a_source_without_numbers_of_its_own_says_so(real: Catalog) -> None:
    found = reconcile.reconcile(real, run_from(real, "sarathi-qps4"))
    assert found.comparisons == ()
    assert "prints no numbers" in found.why


@pytest.mark.parametrize("folder", sorted(path.name for path in VIDUR.iterdir()))
@pytest.mark.parametrize(
    ("metric", "column"),
    [(Metric.TTFT, "prefill_e2e_time"), (Metric.LATENCY, "request_e2e_time")],
)
def test_numpy_over_the_simulators_own_columns_gives_the_same(
    real: Catalog, folder: str, metric: Metric, column: str
) -> None:
    with (VIDUR / folder / "request_metrics.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["request_e2e_time"]]
    seconds = [float(row[column]) for row in rows]
    run_id = run_from(real, folder)
    selection = Selection((run_id,), basis=Basis.SOURCE, origin=Origin.SENT, method=Method.LINEAR)
    (found,) = distribution.describe(real, selection, metric, (0.5, 0.99))
    assert found.n == len(seconds)
    expected = np.quantile(seconds, (0.5, 0.99)) * 1000
    assert [p.value_ms for p in found.percentiles] == pytest.approx(expected, rel=0.001)


def reported(statistic: str, value_ms: float) -> ToolReport:
    aggregate = ToolAggregate(Metric.TTFT, statistic, value_ms, "as the tool says")
    return ToolReport(n_completed=2, aggregates=(aggregate,))


def test_a_number_that_does_not_follow_from_the_rows_is_counted(tmp_path: Path) -> None:
    rows = [{"ttft_us": ttft, "source_success": True} for ttft in (1000, 3000)]
    opened = open_runs(tmp_path, make_run(rows, tool=reported("p50", 2.5)))
    found = reconcile.reconcile(opened, "r0")
    (comparison,) = found.comparisons
    assert (comparison.recomputed_ms, comparison.agrees) == (2.0, False)
    assert "1 of the tool's 1 numbers cannot be reproduced" in found.why


@pytest.mark.parametrize(("statistic", "expected"), [("mean", 2.0), ("max", 3.0), ("p99.9", 2.998)])
def test_means_maxima_and_fine_percentiles_are_compared_too(
    tmp_path: Path, statistic: str, expected: float
) -> None:
    rows = [{"ttft_us": ttft, "source_success": True} for ttft in (1000, 3000)]
    opened = open_runs(tmp_path, make_run(rows, tool=reported(statistic, expected)))
    (comparison,) = reconcile.reconcile(opened, "r0").comparisons
    assert comparison.recomputed_ms == pytest.approx(expected)
    assert comparison.agrees


def test_a_number_over_nobody_cannot_be_recomputed(tmp_path: Path) -> None:
    rows = [{"outcome": "failed", "source_success": False}]
    opened = open_runs(tmp_path, make_run(rows, tool=reported("p99", 1.0)))
    (comparison,) = reconcile.reconcile(opened, "r0").comparisons
    assert (comparison.recomputed_ms, comparison.ours_ms) == (None, None)
    assert not comparison.agrees
    assert comparison.differs
