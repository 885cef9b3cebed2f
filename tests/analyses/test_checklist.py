"""The review of a study: each line passes, fails or is not recorded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway import record
from headway.analyses import acceptance, checklist, envelope
from headway.analyses.acceptance import Asked
from headway.analyses.checklist import Line, State
from headway.catalog import Catalog
from headway.model import Boundary, Clock, Load, LoadKind, Manifest, Objective, Selection
from headway.studies import Study
from libraries import make_run, offered, open_runs

TTFT = Objective(ttft_ms=200, attainment=0.9)
DECLARED = Study("study", objective=TTFT, declared_at="2026-01-01", declared_by="a team")
PASSES, FAILS, NOT_RECORDED = State.PASSES, State.FAILS, State.NOT_RECORDED


def review(opened: Catalog, study: Study = DECLARED, asked: Asked = Asked.RUN) -> dict[str, Line]:
    selection = Selection(tuple(sorted(opened.runs)))
    judged = acceptance.judge(opened, selection, study.objective or TTFT)
    envelopes = envelope.envelopes(opened, judged, asked)
    lines = checklist.checklist(opened, selection, study, judged, envelopes)
    return {line.name: line for line in lines}


def states(opened: Catalog, study: Study = DECLARED) -> dict[str, State]:
    return {name: line.state for name, line in review(opened, study).items()}


def at(rps: float, n_met: int, **changes: Any) -> record.Run:
    rows = changes.pop("rows", offered(20, n_met, jitter_us=int(rps)))
    load = changes.pop("load", Load(LoadKind.OPEN, declared_rps=rps))
    return make_run(rows, changes.pop("run_id", f"r{rps:g}"), load=load, **changes)


def test_every_line_of_the_sample_study_has_an_answer(study: Catalog) -> None:
    (declared,) = study.studies.values()
    found = review(study, declared, Asked.WORKLOAD)
    assert len(found) == 13
    assert all(line.found and line.page for line in found.values())
    answers = {name: line.state for name, line in found.items()}
    assert answers["enough replicates, or a deterministic simulator"] is PASSES
    assert answers["loads on both sides of the limit"] is PASSES
    assert answers["requests accounted for"] is PASSES
    assert answers["steady runs"] is FAILS
    assert answers["the same interval for all"] is FAILS
    assert answers["every manifest field"] is FAILS
    assert answers["a burst that exceeds steady demand"] is not PASSES


@pytest.mark.parametrize(
    ("started", "declared_at", "expected"),
    [
        ("2026-01-02T00:00:00Z", "2026-01-01", PASSES),
        ("2025-12-31T00:00:00Z", "2026-01-01", FAILS),
        (None, "2026-01-01", NOT_RECORDED),
        ("2026-01-02T00:00:00Z", None, NOT_RECORDED),
    ],
)
def test_an_objective_is_declared_before_the_first_run(
    tmp_path: Path, started: str | None, declared_at: str | None, expected: State
) -> None:
    opened = open_runs(tmp_path, at(1, 20, started_at=started))
    said = states(opened, replace(DECLARED, declared_at=declared_at))
    assert said["objectives declared before the first run"] is expected


def test_no_objective_is_a_failure(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, at(1, 20))
    assert states(opened, Study("study"))["objectives declared before the first run"] is FAILS


def test_a_limit_needs_a_rejected_load_above_it(tmp_path: Path) -> None:
    name = "loads on both sides of the limit"
    assert states(open_runs(tmp_path / "a", at(1, 20)))[name] is FAILS
    assert states(open_runs(tmp_path / "b", at(1, 20), at(2, 3)))[name] is PASSES
    assert states(open_runs(tmp_path / "c", at(1, 3)))[name] is FAILS


def test_a_single_run_lacks_replicates(tmp_path: Path) -> None:
    line = review(open_runs(tmp_path, at(1, 20), at(2, 20)))[
        "enough replicates, or a deterministic simulator"
    ]
    assert (line.state, line.found) == (
        FAILS,
        "2 of 2 loads have fewer than the 5 that show enough",
    )


def test_short_runs_leave_steadiness_open(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, at(1, 20))
    assert states(opened)["steady runs"] is NOT_RECORDED


def test_a_late_generator_fails_and_an_unknown_schedule_is_not_recorded(tmp_path: Path) -> None:
    name = "the load generator kept its schedule"
    late = offered(20, 20)
    for row in late:
        row["sent_us"] += 5_000
    unknown = offered(20, 20)
    for row in unknown:
        del row["scheduled_us"]
    assert states(open_runs(tmp_path / "kept", at(1, 20)))[name] is PASSES
    assert states(open_runs(tmp_path / "late", at(1, 20, rows=late)))[name] is FAILS
    assert states(open_runs(tmp_path / "none", at(1, 20, rows=unknown)))[name] is NOT_RECORDED


def test_two_boundaries_are_one_too_many(tmp_path: Path) -> None:
    other = at(2, 20, boundary=Boundary.SERVER, clock=Clock.WALL)
    line = review(open_runs(tmp_path, at(1, 20), other))["one boundary, named"]
    assert (line.state, line.found) == (FAILS, "client, monotonic clock; server, wall clock")


def test_a_run_that_was_stopped_ends_elsewhere(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, at(1, 20), at(2, 20, time_limit_s=60.0))
    assert states(opened)["the same interval for all"] is FAILS


def test_unaccounted_requests_fail(tmp_path: Path) -> None:
    rows = offered(20, 20)
    rows[3] = {"outcome": "unaccounted", "scheduled_us": 600_000}
    line = review(open_runs(tmp_path, at(1, 20, rows=rows)))["requests accounted for"]
    assert (line.state, line.found) == (FAILS, "1 unaccounted")


def test_prefixes_are_cold_and_warm_or_not_recorded(tmp_path: Path) -> None:
    name = "cold and warm-prefix requests"
    both = offered(20, 20)
    for place, row in enumerate(both):
        row["prefix_group"] = place // 2
    cold = [row | {"prefix_group": place} for place, row in enumerate(offered(20, 20))]
    assert states(open_runs(tmp_path / "both", at(1, 20, rows=both)))[name] is PASSES
    assert states(open_runs(tmp_path / "cold", at(1, 20, rows=cold)))[name] is FAILS
    assert states(open_runs(tmp_path / "none", at(1, 20)))[name] is NOT_RECORDED


def test_a_burst_is_a_segment_or_bursty_arrivals(tmp_path: Path) -> None:
    name = "a burst that exceeds steady demand"
    rows = [row | {"segment": "burst"} for row in offered(20, 20)]
    steady = [row | {"segment": "steady"} for row in offered(20, 20)]
    gamma = Load(LoadKind.OPEN, declared_rps=1, arrivals="gamma", burstiness=0.1)
    assert states(open_runs(tmp_path / "a", at(1, 20, rows=rows)))[name] is PASSES
    assert states(open_runs(tmp_path / "b", at(1, 20, load=gamma)))[name] is PASSES
    assert states(open_runs(tmp_path / "c", at(1, 20, rows=steady)))[name] is FAILS
    assert states(open_runs(tmp_path / "d", at(1, 20)))[name] is NOT_RECORDED


def test_a_homogeneous_test_fails_and_says_what_is_alike(tmp_path: Path) -> None:
    line = review(open_runs(tmp_path, at(1, 20)))["not a homogeneous test"]
    assert line.state is FAILS
    assert line.found == "near-constant prompt lengths, output lengths, arrivals"


def test_lengths_that_nobody_recorded_are_not_alike(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"ttft_us": 1, "latency_us": 2}] * 2))
    assert states(opened)["not a homogeneous test"] is NOT_RECORDED


def test_every_field_of_the_manifest_is_asked_for(tmp_path: Path) -> None:
    line = review(open_runs(tmp_path, at(1, 20, manifest=Manifest(model="m"))))[
        "every manifest field"
    ]
    assert line.state is FAILS
    assert line.found.startswith(f"1 of {Manifest.size()} fields")


def traffic(library: Path, trace: str | None, study: Study = DECLARED) -> Line:
    """Review a study of prompts of 100 to 106 tokens and outputs of 10, every 0.2 s."""
    run = at(1, 20)
    opened = open_runs(library, run)
    if trace is not None:
        text = "arrived_at,num_prefill_tokens,num_decode_tokens\n" + trace
        (library / "study" / "trace.csv").write_text(text, encoding="utf-8")
    return review(opened, replace(study, trace="trace.csv"))["like the customer's traffic"]


def test_traffic_is_compared_only_where_a_trace_is_attached(tmp_path: Path) -> None:
    line = review(open_runs(tmp_path, at(1, 20)))["like the customer's traffic"]
    assert (line.state, line.found) == (NOT_RECORDED, "no trace is attached")
    missing = traffic(tmp_path / "missing", None)
    assert missing.state is NOT_RECORDED
    assert "trace.csv is not in the study's folder" in missing.found


@pytest.mark.parametrize(
    ("trace", "expected", "words"),
    [
        ("0,100,10\n1,106,15\n2,90,9\n", PASSES, "0.0% of the trace's prompts longer"),
        ("0,100,10\n1,106,16\n2,90,16\n", FAILS, "output 16 in the trace, 10 tokens in the"),
        ("0,100,10\n1,107,10\n2,90,9\n", FAILS, "33.3% of the trace's prompts longer than the st"),
        ("0,100,10\n1,100,9\n9,90,9\n", FAILS, "arrivals 0.22 in the trace, 1.00 of its mean in"),
        ("0,100,10\n0,100,9\n0,90,9\n9,90,9\n", PASSES, "arrivals not compared: most of the trac"),
    ],
)
def test_traffic_is_alike_within_the_bounds(
    tmp_path: Path, trace: str, expected: State, words: str
) -> None:
    line = traffic(tmp_path, trace)
    assert line.state is expected
    assert words in line.found


def test_at_most_five_in_a_hundred_prompts_may_be_longer(tmp_path: Path) -> None:
    rows = [f"{place},{900 if place < 5 else 100},10\n" for place in range(100)]
    assert traffic(tmp_path / "five", "".join(rows)).state is PASSES
    rows[50] = "50,900,10\n"
    assert traffic(tmp_path / "six", "".join(rows)).found.endswith("longest, more than 5%")
    assert traffic(tmp_path / "again", "".join(rows)).state is FAILS


def test_lengths_that_the_study_lacks_leave_the_line_open(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"ttft_us": 1, "latency_us": 2}] * 2))
    text = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n"
    (tmp_path / "study" / "trace.csv").write_text(text, encoding="utf-8")
    line = review(opened, replace(DECLARED, trace="trace.csv"))["like the customer's traffic"]
    assert line.state is NOT_RECORDED
    assert "prompt not recorded in the study" in line.found
