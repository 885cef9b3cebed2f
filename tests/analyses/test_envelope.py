"""Brackets of tested loads, one per configuration, workload and arrival process."""

from pathlib import Path
from typing import Any

import pytest

from headway import record
from headway.analyses import acceptance, envelope
from headway.analyses.acceptance import Asked
from headway.analyses.envelope import Envelope
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Manifest, Objective, Selection
from headway.stats.verdicts import Verdict
from libraries import make_run, offered, open_runs

STALL = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)
TTFT = Objective(ttft_ms=200, attainment=0.9)
YES, NO, UNSURE = Verdict.ACCEPTED, Verdict.REJECTED, Verdict.UNDECIDED


def envelopes(
    opened: Catalog, asked: Asked = Asked.RUN, objective: Objective = TTFT
) -> list[Envelope]:
    runs = [run for name in sorted(opened.studies) for run in opened.of_study(name)]
    selection = Selection(tuple(run.run_id for run in runs))
    judged = acceptance.judge(opened, selection, objective)
    return envelope.envelopes(opened, judged, asked)


def at(rps: float, n_met: int, n: int = 20, **changes: Any) -> record.Run:
    """Return a run of n requests at a load, n_met of which met."""
    load = changes.pop("load", Load(LoadKind.OPEN, declared_rps=rps))
    run_id = changes.pop("run_id", f"r{rps:g}-{n_met}")
    jitter_us = changes.pop("jitter_us", int(rps * 10))
    return make_run(offered(n, n_met, jitter_us=jitter_us), run_id, load=load, **changes)


# The sample study.


@pytest.mark.parametrize("asked", [Asked.RUN, Asked.WORKLOAD])
def test_sarathi_is_carried_to_4_and_misses_at_6(study: Catalog, asked: Asked) -> None:
    by_line = {each.line: each.bracket for each in envelopes(study, asked, STALL)}
    assert by_line["sarathi"].last_accepted == 4
    assert by_line["sarathi"].first_rejected == 6
    assert by_line["sarathi"].undecided == ()
    for line in ("vllm", "orca"):
        assert (by_line[line].last_accepted, by_line[line].first_rejected) == (None, 1)


def test_for_traffic_the_band_is_unsure(study: Catalog) -> None:
    by_line = {each.line: each.bracket for each in envelopes(study, Asked.TRAFFIC, STALL)}
    sarathi = by_line["sarathi"]
    assert (sarathi.last_accepted, sarathi.first_rejected) == (2, 8)
    assert sarathi.undecided == sarathi.band == (3, 4, 6)


def test_a_run_that_was_stopped_is_another_configuration(study: Catalog) -> None:
    lines = [each.line for each in envelopes(study, Asked.WORKLOAD, STALL)]
    assert "vllm, stopped at 60 s" in lines
    assert len(lines) == len(set(lines)) == 5


# Brackets.


def test_the_edges_of_tested_loads(tmp_path: Path) -> None:
    (only,) = envelopes(open_runs(tmp_path, at(1, 20), at(2, 20), at(3, 10)))
    assert (only.bracket.last_accepted, only.bracket.first_rejected) == (2, 3)
    assert only.has_accepted


def test_nothing_accepted_is_rejected_and_shows_nothing_as_best(tmp_path: Path) -> None:
    (only,) = envelopes(open_runs(tmp_path, at(1, 17), at(2, 3)))
    assert (only.bracket.last_accepted, only.bracket.first_rejected) == (None, 1)
    assert not only.has_accepted


def test_an_accepted_load_above_a_rejected_one_counts_for_nothing(tmp_path: Path) -> None:
    (only,) = envelopes(open_runs(tmp_path, at(1, 20), at(2, 3), at(3, 20)))
    assert (only.bracket.last_accepted, only.bracket.first_rejected) == (1, 2)
    assert only.bracket.contradicted == (3,)
    assert only.bracket.non_monotone


def test_two_runs_at_one_load_are_as_good_as_the_worse(tmp_path: Path) -> None:
    """Without a stated policy, runs that number themselves share a line and are not pooled."""
    other = at(2, 3, run_id="again", policy=None, replicate=2)
    first = [at(1, 20, policy=None), at(2, 20, policy=None, replicate=1)]
    opened = open_runs(tmp_path, *first, other)
    (only,) = envelopes(opened)
    assert [judged.run.run_id for judged in only.at(2)] == ["r2-20", "again"]
    assert only.verdicts == {1: YES, 2: NO}
    assert (only.bracket.last_accepted, only.bracket.first_rejected) == (1, 2)


def test_the_worst_of_no_verdicts_is_a_doubt() -> None:
    assert envelope.worst([]) is UNSURE
    assert envelope.worst([YES, UNSURE]) is UNSURE
    assert envelope.worst([UNSURE, NO, YES]) is NO
    assert envelope.worst([YES]) is YES


# Axes.


def test_an_unlimited_load_stands_off_the_axis_and_in_no_bracket(tmp_path: Path) -> None:
    unlimited = at(0, 20, load=Load(LoadKind.UNLIMITED))
    (only,) = envelopes(open_runs(tmp_path, at(1, 3), unlimited))
    assert (only.bracket.last_accepted, only.bracket.first_rejected) == (None, 1)
    assert [judged.x for judged in only.judged] == [1, None]
    assert only.off_axis_verdict(only.judged[1]) is YES
    assert only.has_accepted


def test_closed_loops_have_an_envelope_and_an_axis_of_their_own(tmp_path: Path) -> None:
    loops = [
        at(0, n_met, run_id=f"c{users}", load=Load(LoadKind.CLOSED, concurrency=users))
        for users, n_met in ((4, 20), (8, 2))
    ]
    each = envelopes(open_runs(tmp_path, at(1, 20), *loops))
    by_line = {one.line: one for one in each}
    assert set(by_line) == {"policy", "policy · closed loop"}
    closed = by_line["policy · closed loop"]
    assert (closed.axis, closed.bracket.last_accepted, closed.bracket.first_rejected) == (
        envelope.CONCURRENCY, 4, 8,
    )  # fmt: skip
    assert by_line["policy"].axis == envelope.OFFERED


# What an envelope holds for.


def test_an_envelope_lapses_when_any_field_of_the_manifest_differs(tmp_path: Path) -> None:
    opened = open_runs(
        tmp_path,
        at(1, 20, manifest=Manifest(model="m", precision="bf16", arrival_process="poisson")),
        at(2, 20, manifest=Manifest(model="m", precision="fp8", arrival_process="constant")),
    )
    each = envelopes(opened)
    assert [one.line for one in each] == ["policy · precision bf16", "policy · precision fp8"]
    assert [one.bracket.last_accepted for one in each] == [1, 2]
    assert envelope.differences(each) == {"policy": ("precision",)}


def test_a_field_that_only_describes_the_load_keeps_an_envelope_together(tmp_path: Path) -> None:
    opened = open_runs(
        tmp_path,
        at(1, 20, manifest=Manifest(arrival_process="poisson at 1 req/s")),
        at(2, 20, manifest=Manifest(arrival_process="poisson at 2 req/s")),
    )
    (only,) = envelopes(opened)
    assert envelope.differences([only]) == {}
    assert only.n_recorded == 1


def test_bursty_arrivals_have_an_envelope_of_their_own(tmp_path: Path) -> None:
    gamma = Load(LoadKind.OPEN, declared_rps=2, arrivals="gamma", burstiness=0.1)
    poisson = Load(LoadKind.OPEN, declared_rps=1, arrivals="poisson", burstiness=1)
    each = envelopes(open_runs(tmp_path, at(1, 20, load=poisson), at(2, 3, load=gamma)))
    assert [one.line for one in each] == ["policy · poisson", "policy · gamma, burstiness 0.1"]
    assert envelope.differences(each) == {"policy": ("arrivals",)}


def test_other_requests_have_an_envelope_of_their_own(tmp_path: Path) -> None:
    each = envelopes(open_runs(tmp_path, at(1, 20), at(2, 20, n=21)))
    assert len({one.requests for one in each}) == 2
    assert [one.line.split(" · ")[1][:9] for one in each] == ["requests "] * 2
    assert envelope.differences(each) == {"policy": ("requests",)}
