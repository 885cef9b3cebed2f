"""Runs whose policy nobody stated stand apart wherever they could differ."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import record
from headway.analyses import acceptance, configurations, envelope, judgement, overview, sides
from headway.analyses.acceptance import Asked
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Manifest, Objective, RunInfo, Selection
from libraries import describe, make_run, offered, open_runs

TTFT = Objective(ttft_ms=200, attainment=0.95)


def at(rps: float, run_id: str, **changes: Any) -> RunInfo:
    load = changes.pop("load", Load(LoadKind.OPEN, declared_rps=rps))
    return describe(run_id, **({"policy": None, "load": load} | changes))


def names(*runs: RunInfo) -> list[str]:
    found = configurations.names(runs, {})
    return [found[run.run_id] for run in runs]


def sweep(*files: str) -> list[RunInfo]:
    """Return runs at the loads that their files are named after."""
    loads = [float(re.findall(r"rate(\d+)", file)[0]) for file in files]
    return [
        at(rps, f"r{place}", source_name=file)
        for place, (rps, file) in enumerate(zip(loads, files, strict=True))
    ]


def test_a_stated_policy_is_its_name() -> None:
    assert names(describe("r0"), describe("r1", policy="other")) == ["policy", "other"]


def test_one_sweep_of_one_unnamed_configuration_is_one_line() -> None:
    assert set(names(*sweep("rate2.json", "rate4.json", "rate7.json"))) == {"policy not recorded"}


def test_two_families_of_files_are_two_lines() -> None:
    runs = sweep("chunk256-rate4.json", "chunk2048-rate4.json", "chunk256-rate7.json")
    assert names(*runs) == ["file chunk256", "file chunk2048", "file chunk256"]


def test_two_folders_are_two_lines() -> None:
    runs = sweep("a/rate4/result.json", "b/rate4/result.json", "a/rate7/result.json")
    assert names(*runs) == ["folder a", "folder b", "folder a"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"label": "night run"}, "night run"),
        ({"manifest": Manifest(precision="fp8")}, "precision fp8"),
        (
            {"load": Load(LoadKind.OPEN, 4.0, arrivals="gamma", burstiness=0.1)},
            "burstiness 0.1",
        ),
        ({"policy_parameters": {"chunk": "512"}}, "chunk 512"),
        ({"harness": "other"}, "harness other"),
    ],
)
def test_what_else_tells_runs_apart_names_the_line(changes: dict[str, Any], name: str) -> None:
    assert names(at(4, "r0"), at(4, "r1", **changes))[1].endswith(name)
    assert len(set(names(at(4, "r0"), at(7, "r1", **changes)))) == 2


def test_several_runs_at_one_load_that_nothing_tells_apart_stand_alone() -> None:
    """One more at another load could belong to either, so it stands alone too."""
    runs = sweep("rate4-20260101-100000.json", "rate4-20260101-110000.json", "rate7.json")
    found = names(*runs)
    assert len(set(found)) == 3
    same = [at(4, "r0"), at(4, "r1"), at(7, "r2")]
    assert names(*same) == ["run r0", "run r1", "run r2"]


@pytest.mark.parametrize(
    "second", [{"replicate": 2}, {"source_name": "folder/result-rep2.json"}], ids=str
)
def test_runs_that_number_themselves_share_a_line(second: dict[str, Any]) -> None:
    runs = [at(4, "r0"), at(4, "r1", **second), at(7, "r2")]
    assert len(set(names(*runs))) == 1


def test_a_file_called_like_a_policy_is_not_that_policy() -> None:
    found = names(describe("r0", policy="x"), at(4, "r1", label="x"))
    assert found == ["x", "x (policy not recorded)"]


def test_closed_loops_of_one_concurrency_are_one_load_at_any_rate() -> None:
    closed = Load(LoadKind.CLOSED, concurrency=8)
    runs = [at(0, "r0", load=closed), at(0, "r1", load=closed)]
    assert list(configurations.names(runs, {"r0": 3.0, "r1": 9.0}).values()) == ["run r0", "run r1"]


def test_runs_of_unknown_rate_are_at_one_load_where_their_measured_rates_agree() -> None:
    load = Load(LoadKind.OPEN)
    runs = [at(0, "r0", load=load), at(0, "r1", load=load)]
    apart = configurations.names(runs, {"r0": 3.0, "r1": 3.1})
    assert list(apart.values()) == ["run r0", "run r1"]
    together = configurations.names(runs, {"r0": 3.0, "r1": 9.0})
    assert set(together.values()) == {"policy not recorded"}


some_runs = st.lists(
    st.fixed_dictionaries(
        {
            "policy": st.sampled_from(["a", None]),
            "label": st.sampled_from(["a", None]),
            "replicate": st.sampled_from([1, 2, None]),
            "source_name": st.sampled_from(["one/rate4.json", "two/x-rate4.json", "x.json"]),
            "load": st.sampled_from(
                [Load(LoadKind.OPEN, 4.0), Load(LoadKind.OPEN, 5.0), Load(LoadKind.UNLIMITED)]
            ),
        }
    ),
    max_size=10,
)


@given(some_runs)
def test_no_line_joins_runs_that_could_differ(changes: list[dict[str, Any]]) -> None:
    runs = [describe(f"r{place}", **each) for place, each in enumerate(changes)]
    found = configurations.names(runs, {})
    lines: dict[str, list[RunInfo]] = {}
    for run in runs:
        lines.setdefault(found[run.run_id], []).append(run)
    for mine in lines.values():
        assert len({run.policy for run in mine}) == 1
        if mine[0].policy is None:
            assert len({configurations.fields_of(run) for run in mine}) == 1
            at_load = [(configurations.load_key(run), run.replicate) for run in mine]
            assert len(set(at_load)) == len(at_load)


# One rule everywhere.


def ten(folder: Path) -> Catalog:
    """Return two configurations at five loads, of which nobody said that they are two."""
    runs: list[record.Run] = []
    for place, (chunk, good) in enumerate((("chunk2048", 20), ("chunk256", 7))):
        for rps in (2, 4, 7, 12, 20):
            runs.append(
                make_run(
                    offered(20, 20 if rps <= good else 12, jitter_us=10 * rps + place),
                    f"{chunk}-{rps}",
                    policy=None,
                    source_name=f"{chunk}-rate{rps}.json",
                    source_sha256=f"{len(runs):064}",
                    load=Load(LoadKind.OPEN, declared_rps=rps),
                )
            )
    return open_runs(folder, *runs)


def test_two_unnamed_configurations_are_two_envelopes(tmp_path: Path) -> None:
    """Pooled, they would carry 7 and miss at 12; the one carries 20, the other misses at 12."""
    opened = ten(tmp_path)
    selection = Selection(tuple(run.run_id for run in opened.of_study("study")))
    judged = acceptance.judge(opened, selection, TTFT)
    found = envelope.envelopes(opened, judged, Asked.RUN)
    edges = {each.line: (each.bracket.last_accepted, each.bracket.first_rejected) for each in found}
    assert edges == {"file chunk2048": (20, None), "file chunk256": (7, 12)}
    assert not any(each.bracket.non_monotone for each in found)


def test_every_view_of_the_study_tells_them_apart(tmp_path: Path) -> None:
    opened = ten(tmp_path)
    run_ids = tuple(run.run_id for run in opened.of_study("study"))
    lines = {"file chunk2048", "file chunk256"}
    assert {each.policy for each in overview.points(opened, Selection(run_ids), TTFT)} == lines
    assert {each.line for each in sides.every(opened, run_ids)} == lines
    assert len({each.title for each in sides.every(opened, run_ids)}) == 10
    question = judgement.Question(TTFT, policy="file chunk256")
    assert {run.run_id for run in judgement.matching(opened, question)} == {
        f"chunk256-{rps}" for rps in (2, 4, 7, 12, 20)
    }
    assert {
        opened.runs[each].run_id.split("-")[0] for each in overview.default_runs(opened, "study")
    } == {
        "chunk2048",
        "chunk256",
    }


def test_unnamed_runs_of_two_studies_are_two_envelopes(tmp_path: Path) -> None:
    runs = [
        make_run(offered(20, 20, jitter_us=place), f"r{place}", policy=None, study=study)
        for place, study in enumerate(("a", "b"))
    ]
    opened = open_runs(tmp_path, *runs)
    judged = acceptance.judge(opened, Selection(("r0", "r1")), TTFT)
    assert len(envelope.envelopes(opened, judged, Asked.RUN)) == 2
