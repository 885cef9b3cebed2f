"""Replicates by when they were made, in the sample study of a real engine."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway import catalog
from headway.analyses import limits, load_curves, run_order
from headway.analyses.acceptance import Asked, judge
from headway.analyses.envelope import envelopes
from headway.catalog import Catalog
from headway.model import Metric, Objective, Selection

SAMPLE = Path(__file__).parents[2] / "sample_data" / "vllm-aiperf"
OBJECTIVE = Objective(ttft_ms=2000, attainment=0.9)


@pytest.fixture(scope="module")
def engine() -> Catalog:
    return catalog.open_catalog([SAMPLE])


def test_pairs_alternate_in_time(engine: Catalog) -> None:
    """The study's log: A, B, then B, A, and so on at 4.8 req/s, over 25 minutes."""
    runs = [run for run in engine.runs.values() if run.load.declared_rps == 4.8]
    placed = run_order.in_order(engine, runs)
    assert [each.run.policy for each in placed] == [
        *("budget2048", "budget256", "budget2048", "budget256", "budget256"),
        *("budget2048", "budget256", "budget2048", "budget2048", "budget256"),
    ]
    assert [each.run.replicate for each in placed] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [each.n_completed for each in placed][:2] == [169, 173]
    # TTFT counts from the intended arrival: the table of origin, from the send, has 306 ms.
    assert placed[1].medians_ms[Metric.TTFT] == pytest.approx(307.5, abs=1.5)


def test_one_run_without_a_time_leaves_no_order(engine: Catalog) -> None:
    first, *others = engine.runs.values()
    assert run_order.in_order(engine, [replace(first, started_at=None), *others]) == ()


def test_a_tail_that_no_run_reaches_gives_way_to_the_next(engine: Catalog) -> None:
    """At least 2 of 180 requests are cancelled in every run, so p99 is never reached."""
    selection = Selection(tuple(engine.runs))
    points = load_curves.points(engine, selection, judge(engine, selection, OBJECTIVE))
    assert {p.share for point in points for p in point.ttft.percentiles} == {0.95}
    assert len(points) == 32


def test_preemptions_come_from_the_servers_counter(engine: Catalog) -> None:
    tiny = tuple(run.run_id for run in engine.runs.values() if run.policy == "budget2048-kv96")
    selection = Selection(tiny)
    lax = Objective(ttft_ms=60_000, attainment=0.5)
    found = envelopes(engine, judge(engine, selection, lax), Asked.RUN)
    observed = limits.observed(engine, selection, found)
    assert [(each.judged.x, each.n_preemptions) for each in observed] == [(6.8, 14)]
