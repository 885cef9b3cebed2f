"""A saved envelope against the same question asked again: named changes, and nothing else."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from headway.analyses import recheck
from headway.analyses.acceptance import Asked
from headway.analyses.recheck import (
    Change,
    Saved,
    SavedEnvelope,
    SavedJudged,
    SavedRun,
    SavedSelection,
    SavedVerdict,
)
from headway.errors import MisuseError
from headway.model import Objective, Origin, Window
from headway.stats.verdicts import Verdict


def run(run_id: str, rps: float, **changes: object) -> SavedRun:
    known = SavedRun(
        run_id=run_id,
        policy="sarathi",
        load_text=f"{rps:g} req/s",
        load={"kind": "open", "declared_rps": rps, "concurrency": None},
        rows_sha256=f"rows of {run_id}",
        source_sha256=f"source of {run_id}",
        workload={"requests": "q", "arrivals": f"a{rps:g}"},
        configuration={"policy": "sarathi", "precision": "bf16"},
    )
    return replace(known, **changes)  # type: ignore[arg-type]


WAS = Saved(
    schema="headway.envelope/1",
    headway="0.1.0",
    date="2026-12-01T00:00:00+00:00",
    selection=SavedSelection("s", None, None, Asked.WORKLOAD, Origin.SCHEDULED, Window()),
    runs=(run("r4", 4), run("r6", 6)),
    verdict=SavedVerdict(
        objective=Objective(ttft_ms=2000),
        declared=True,
        runs=(SavedJudged(("r4",), Verdict.ACCEPTED), SavedJudged(("r6",), Verdict.REJECTED)),
        envelopes=(SavedEnvelope("sarathi", ("r4", "r6"), 4, 6),),
        verdict=Verdict.ACCEPTED,
    ),
)


def with_runs(*runs: SavedRun) -> Saved:
    return replace(WAS, runs=runs)


def concluding(change: Callable[[SavedVerdict], SavedVerdict]) -> Saved:
    return replace(WAS, verdict=change(WAS.verdict))


def test_nothing_changed_is_nothing_said() -> None:
    later = replace(WAS, headway="0.2.0", date="2027-01-01T00:00:00+00:00")
    assert recheck.changes(WAS, later) == []


@pytest.mark.parametrize(
    ("changes", "field", "was", "now"),
    [
        ({"configuration": {"policy": "sarathi", "precision": "fp8"}}, "precision", "bf16", "fp8"),
        ({"configuration": {"policy": "sarathi"}}, "precision", "bf16", None),
        (
            {"configuration": {"policy": "sarathi", "precision": "bf16", "model": "m"}},
            "model",
            None,
            "m",
        ),
        ({"workload": {"requests": "z", "arrivals": "a4"}}, "workload.requests", "q", "z"),
        ({"workload": {"requests": "q", "arrivals": "b"}}, "workload.arrivals", "a4", "b"),
        ({"rows_sha256": "other"}, "rows_sha256", "rows of r4", "other"),
        ({"source_sha256": "other"}, "source_sha256", "source of r4", "other"),
        (
            {"load": {"kind": "open", "declared_rps": 5.0, "concurrency": None}},
            "load.declared_rps",
            4,
            5,
        ),
    ],
)
def test_a_field_of_a_run_is_named_with_what_it_was_and_is(
    changes: dict[str, object], field: str, was: object, now: object
) -> None:
    (found,) = recheck.changes(WAS, with_runs(run("r4", 4, **changes), run("r6", 6)))
    assert (found.field, found.was, found.now) == (field, was, now)
    assert found.about == "sarathi at 4 req/s (r4)"


def test_a_run_that_is_gone_is_named() -> None:
    found = recheck.changes(WAS, with_runs(run("r4", 4)))
    assert found == [Change("sarathi at 6 req/s (r6)", "run", "r6", None)]


def test_a_new_run_of_a_known_configuration_is_named() -> None:
    found = recheck.changes(WAS, with_runs(*WAS.runs, run("r5", 5)))
    assert found == [Change("sarathi at 5 req/s (r5)", "run", None, "r5")]


def test_a_new_run_that_departs_from_its_policy_names_the_field() -> None:
    other = run("r5", 5, configuration={"policy": "sarathi", "precision": "fp8"})
    found = recheck.changes(WAS, with_runs(*WAS.runs, other))
    assert found == [Change("sarathi at 5 req/s (r5)", "precision", "bf16", "fp8")]


def test_a_new_policy_leaves_an_envelope_alone() -> None:
    other = run("r5", 5, policy="orca", configuration={"policy": "orca", "precision": "fp8"})
    assert recheck.changes(WAS, with_runs(*WAS.runs, other)) == []


def test_a_verdict_that_turned_is_named_by_its_load() -> None:
    turned = SavedJudged(("r4", "r5"), Verdict.UNDECIDED)
    now = concluding(lambda each: replace(each, runs=(turned, each.runs[1])))
    assert recheck.changes(WAS, now) == [
        Change("sarathi at 4 req/s", "verdict", Verdict.ACCEPTED, Verdict.UNDECIDED)
    ]


def test_edges_that_moved_are_named() -> None:
    moved = SavedEnvelope("sarathi", ("r4", "r6"), None, 4)
    assert recheck.changes(WAS, concluding(lambda each: replace(each, envelopes=(moved,)))) == [
        Change("sarathi", "last_accepted", 4, None),
        Change("sarathi", "first_rejected", 6, 4),
    ]


def test_the_verdict_over_all_and_the_declaration_are_compared() -> None:
    now = concluding(lambda each: replace(each, declared=False, verdict=Verdict.REJECTED))
    assert [(each.field, each.was, each.now) for each in recheck.changes(WAS, now)] == [
        ("objective is declared", True, False),
        ("verdict", Verdict.ACCEPTED, Verdict.REJECTED),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "Invalid JSON"),
        (b"[]", "the file"),
        (b"{}", "schema"),
        (b'{"schema": "headway.envelope/2"}', "schema: Input should be 'headway.envelope/1'"),
        (b'{"schema": "headway.envelope/1", "headway": 1}', "headway"),
        (b"\xff\xfe", "Invalid JSON"),
    ],
)
def test_a_file_that_is_no_envelope_is_refused_with_a_sentence(content: bytes, said: str) -> None:
    with pytest.raises(MisuseError, match="is not an envelope to check again") as error:
        recheck.read(content, "envelope.json")
    assert said in str(error.value)
    assert "headway.envelope/1" in str(error.value)
