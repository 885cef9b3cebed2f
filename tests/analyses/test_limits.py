"""What was observed at the edges of an envelope."""

from pathlib import Path

import pytest

from headway.analyses import acceptance, envelope, limits
from headway.analyses.acceptance import Asked
from headway.analyses.limits import Observed
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Objective, Outcome, Selection
from libraries import make_run, offered, open_runs

STALL = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)
TTFT = Objective(ttft_ms=200, attainment=0.9)


def observed(opened: Catalog, objective: Objective, asked: Asked = Asked.RUN) -> list[Observed]:
    selection = Selection(tuple(sorted(opened.runs)))
    judged = acceptance.judge(opened, selection, objective)
    return limits.observed(opened, selection, envelope.envelopes(opened, judged, asked))


def test_the_edges_of_the_sample_study_stand_side_by_side(study: Catalog) -> None:
    found = [each for each in observed(study, STALL) if each.line == "sarathi"]
    assert [(each.edge, each.judged.x) for each in found] == [
        ("last accepted", 4),
        ("first rejected", 6),
    ]
    low, high = found
    assert low.max_in_flight is not None
    assert high.max_in_flight is not None
    assert high.max_in_flight > low.max_in_flight
    assert low.max_kv_fraction is not None
    assert (low.lost_share, low.first_lost) == (0, None)


def test_a_policy_that_nothing_is_accepted_of_has_one_edge(study: Catalog) -> None:
    edges = [each.edge for each in observed(study, STALL) if each.line == "vllm"]
    assert edges == ["first rejected"]


def test_what_is_not_recorded_is_not_zero(tmp_path: Path) -> None:
    (only,) = observed(open_runs(tmp_path, make_run(offered(20, 20))), TTFT)
    assert (only.max_waiting, only.max_paused, only.max_kv_fraction) == (None, None, None)
    assert only.n_preemptions is None
    assert only.max_in_flight == 1


def test_the_first_request_lost_names_its_outcome(tmp_path: Path) -> None:
    rows = offered(20, 20)
    for place, outcome in ((7, "timed_out"), (3, "rejected"), (12, "failed")):
        rows[place] = {"outcome": outcome, "scheduled_us": place * 200_000}
    (only,) = observed(open_runs(tmp_path, make_run(rows)), TTFT)
    assert only.edge == "first rejected"
    assert only.first_lost is Outcome.REJECTED
    assert only.lost_share == pytest.approx(3 / 20)


def test_where_no_load_stands_on_an_axis_nothing_was_observed(tmp_path: Path) -> None:
    run = make_run(offered(20, 20), load=Load(LoadKind.UNLIMITED))
    assert observed(open_runs(tmp_path, run), TTFT) == []
