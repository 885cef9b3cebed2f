"""`headway diff`: the document, exit codes, files beside the library, and what people read."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import document, headway
from headway.figures.comparison_words import WITHIN_RUN
from headway.model import Boundary, Load, LoadKind, Manifest
from libraries import make_run, offered, write

HERE = Path(__file__).parent
STUDY = HERE.parent / "sample_data" / "vidur-azure-conversation"
VIDUR = HERE / "importers" / "vidur"
VLLM_4, SARATHI_4, SARATHI_6 = "r0b51efcb193e", "r21f14fcb7632", "rda906dafc7c7"
VLLM_8, STOPPED = "rc02d930eb585", "r0d3f606439ab"
KEYS = {
    "a", "b", "workload", "manifest_changes", "comparable", "reasons", "transitions", "mcnemar",
    "shift", "scorecard", "claim", "tests", "sentence",
}  # fmt: skip
METRICS = {"ttft_ms", "tpot_ms", "stall_ms", "latency_ms"}


def diff(*arguments: object, exit_code: int = 0) -> Any:
    return document("diff", *arguments, "--library", STUDY, exit_code=exit_code)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a library of two policies, three replicates each, and a run at another boundary."""
    folder = tmp_path / "library"
    for policy, jitter_us, minutes in (("slow", 20_000, (0, 6, 8)), ("fast", 0, (2, 4, 10))):
        for place, minute in enumerate(minutes):
            rows = offered(20, 20, jitter_us=jitter_us + 40 * place)
            began = f"2026-05-12T10:{minute:02}:00+00:00"
            run = make_run(
                rows, f"{policy}{place}", policy=policy, replicate=place, started_at=began
            )
            write(run, folder)
    server = make_run(offered(20, 20), "server", policy="s", boundary=Boundary.SERVER)
    write(server, folder)
    return folder


# The document.


def test_a_difference_has_the_documented_shape() -> None:
    found = diff("vllm", "sarathi", "--load", 4)
    assert set(found) >= KEYS
    assert (found["a"]["runs"], found["b"]["runs"]) == ([VLLM_4], [SARATHI_4])
    assert found["workload"] == {
        "level": "identical", "arrivals": "known", "paired": 500, "only_a": 0, "only_b": 0,
    }  # fmt: skip
    assert (found["comparable"], found["reasons"]) == (True, [])
    assert found["transitions"] == [{"a": "completed", "b": "completed", "n": 500}]
    assert {"of": "met", "a_only": 0, "b_only": 426}.items() <= found["mcnemar"].items()
    assert set(found["shift"]) == METRICS
    for points in found["shift"].values():
        assert [point["p"] for point in points] == [10, 25, 50, 75, 90, 95, 99]
        assert all(point["delta"] == point["b"] - point["a"] for point in points)
    ttft = found["shift"]["ttft_ms"][-1]
    assert (ttft["a"], ttft["b"]) == pytest.approx((550.176, 672.965))
    for row in found["scorecard"]:
        assert set(row) == {"row", "a", "b", "difference", "unit"}
    assert {change["field"] for change in found["manifest_changes"]} >= {"policy", "token_budget"}
    assert (found["claim"], found["tests"]) == ("facts_of_these_runs", [])
    assert "463 of 500 wait longer" in found["sentence"]


def test_what_is_lost_is_null_and_never_a_number() -> None:
    found = diff(VLLM_8, STOPPED)
    assert found["transitions"] == [
        {"a": "completed", "b": "completed", "n": 266},
        {"a": "completed", "b": "cut_off", "n": 201},
        {"a": "completed", "b": "not_sent", "n": 33},
    ]
    assert [side["n_offered"] for side in (found["a"], found["b"])] == [500, 500]
    last = found["shift"]["latency_ms"][-1]
    assert (last["b"], last["delta"], last["change"]) == (None, None, "lost")
    assert found["pairs"]["latency_ms"]["lost"] == 234


def test_limits_given_decide_who_met() -> None:
    loose = diff(VLLM_4, SARATHI_4, "--ttft-ms", 10_000)
    assert loose["objective"]["ttft_ms"] == 10_000
    (met,) = [row for row in loose["scorecard"] if row["row"] == "met"]
    assert (met["a"], met["b"]) == (500, 500)
    assert loose["mcnemar"]["both"] == 500


def test_window_and_origin_reach_every_number() -> None:
    found = diff(VLLM_4, SARATHI_4, "--window", "0..60s", "--origin", "sent")
    offered_of = {row["row"]: row["a"] for row in found["scorecard"]}["offered"]
    assert offered_of == found["a"]["n_offered"] == found["transitions"][0]["n"] < 500


def test_orca_against_vllm_names_the_batch_cap() -> None:
    found = diff("orca", "vllm", "--load", 4)
    assert not found["only_policy"]
    assert {"field": "batch_cap", "a": 32, "b": 128, "kind": "other"} in found["manifest_changes"]


def test_the_same_run_differs_in_nothing() -> None:
    found = diff(SARATHI_4, SARATHI_4)
    assert found["same_run"]
    assert "the same run" in found["sentence"]
    assert {p["delta"] for points in found["shift"].values() for p in points} == {0}


def test_replicates_are_tested(library: Path) -> None:
    found = document("diff", "fast", "slow", "--load", 5, "--library", library)
    assert found["claim"] == "replicated"
    assert found["a"]["runs"] == ["fast0", "fast1", "fast2"]
    for test in found["tests"]:
        assert {"metric", "ratio", "low", "high", "p", "q", "verdict"} <= set(test)
        assert test["q"] >= test["p"]
    verdicts = {(t["metric"], t["percentile"]): t["verdict"] for t in found["tests"]}
    assert verdicts["ttft_ms", 99] == "worse"
    assert verdicts["tpot_ms", 50] == "no_meaningful_difference"
    assert found["noise"] == {"policies": ["fast", "slow"], "pairs": 6}
    assert "p" not in found["mcnemar"]
    assert (found["order"], found["sequence"]) == ("interleaved", "BAABBA")


def test_one_run_a_side_has_no_p_value() -> None:
    found = diff("vllm", "sarathi", "--load", 4)
    assert "p" not in found["mcnemar"]
    assert (
        "McNemar" not in headway("diff", "vllm", "sarathi", "--load", 4, "--library", STUDY).stdout
    )


def test_a_stored_baseline_is_a_block_and_says_what_to_run(library: Path) -> None:
    """All runs of B an hour later: `worse` cannot fire, `undecided` can."""
    for place in range(3):
        rows = offered(20, 20, jitter_us=30_000 + 40 * place)
        began = f"2026-05-12T11:{place * 2:02}:00+00:00"
        run = make_run(rows, f"new{place}", policy="new", replicate=place, started_at=began)
        write(run, library)
    arguments = ("fast", "new", "--load", 5, "--library", library)
    found = document("diff", *arguments)
    assert (found["order"], found["sequence"]) == ("blocks", "AAABBB")
    assert {test["verdict"] for test in found["tests"]} == {"undecided"}
    assert {test["why"] for test in found["tests"]} == {"order"}
    result = headway("diff", *arguments, "--fail-on", "worse")
    assert "--fail-on worse cannot fire here" in result.stderr
    assert "A B B A A B" in result.stderr
    headway("diff", *arguments, "--fail-on", "worse", "--fail-on", "undecided", exit_code=1)


# Exit codes.


@pytest.mark.parametrize(
    ("a", "b", "gate", "exit_code"),
    [
        ("fast", "slow", "worse", 1),
        ("slow", "fast", "worse", 0),
        ("fast", "slow", "lost", 0),
        ("fast", "slow", "undecided", 1),  # 20 requests a run decide no band of one point
    ],
)
def test_a_pipeline_can_stop_on_what_is_worse(
    library: Path, a: str, b: str, gate: str, exit_code: int
) -> None:
    arguments = ("--load", 5, "--library", library, "--ttft-ms", 500, "--fail-on", gate)
    result = headway("diff", a, b, *arguments, exit_code=exit_code)
    assert (f"Failed: --fail-on {gate}" in result.stderr) == bool(exit_code)


def test_single_runs_fail_on_fewer_that_met_and_on_more_that_were_lost() -> None:
    worse = ("--load", 4, "--library", STUDY, "--fail-on", "worse")
    headway("diff", "sarathi", "vllm", *worse, exit_code=1)
    headway("diff", "vllm", "sarathi", *worse)
    headway("diff", VLLM_8, STOPPED, "--library", STUDY, "--fail-on", "lost", exit_code=1)


def test_failing_on_worse_needs_an_objective(tmp_path: Path) -> None:
    for name, jitter_us in (("a", 0), ("b", 5)):
        write(make_run(offered(10, 10, jitter_us=jitter_us), name, policy=name), tmp_path)
    result = headway("diff", "a", "b", "--library", tmp_path, "--fail-on", "worse", exit_code=2)
    assert "--ttft-ms" in result.stderr


def test_what_is_not_comparable_exits_1_with_the_reasons(library: Path) -> None:
    found = document("diff", "fast0", "server", "--library", library, exit_code=1)
    assert not found["comparable"]
    assert "different boundaries (A client, B server)" in found["reasons"][0]
    assert found["shift"] == {}
    assert found["transitions"] == [{"a": "completed", "b": "completed", "n": 20}]
    other_load = diff(VLLM_4, SARATHI_6, exit_code=1)
    assert other_load["workload"]["level"] == "same_requests"
    assert "not comparable" in other_load["sentence"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("vllm", "sarathi"), "more than one set of runs"),
        (("vllm", "nothing", "--load", "4"), "there is no run and no policy 'nothing'"),
        (("vllm", "sarathi", "--load", "5"), "no run is at load 5; there are: 1, 2, 3, 4, 6, 8"),
        (("vllm", "sarathi", "--load", "4", "--study", "none"), "there is no study 'none'"),
        (("vllm", "sarathi", "--load", "4", "--window", "9"), "expected A..B"),
        (("vllm", "sarathi", "--load", "4", "--ttft-ms", "0"), "above 0"),
        (
            ("vllm", "sarathi", "--load", "4", "--tpot-ms", "1", "--stall-ms", "1"),
            "one cadence limit",
        ),
        (("vllm",), "Missing argument 'B'"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_misuse(arguments: tuple[str, ...], message: str) -> None:
    result = headway("diff", *arguments, "--library", STUDY, exit_code=2)
    assert message in result.stderr
    assert result.stdout == ""


def test_no_library_and_no_file_is_misuse(tmp_path: Path) -> None:
    result = headway("diff", "a", "b", "--library", tmp_path / "none", exit_code=2)
    assert "import results first" in result.stderr


# Files beside the library.


def snapshot(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*"))


def test_a_run_file_is_compared_beside_the_library_without_changing_it(library: Path) -> None:
    elsewhere = library.parent / "elsewhere"
    run = make_run(offered(20, 20, jitter_us=9), "beside", policy="third", study="other")
    path = write(run, elsewhere)
    before = snapshot(library)
    found = document("diff", "fast0", path, "--library", library)
    assert found["b"]["runs"] == ["beside"]
    assert snapshot(library) == before


def test_a_result_file_is_imported_for_the_comparison_only(tmp_path: Path) -> None:
    before = snapshot(STUDY)
    raw = VIDUR / "sarathi-qps4"
    found = diff(VLLM_4, raw)
    assert found["b"]["runs"] == [SARATHI_4]
    assert found["comparable"]
    assert snapshot(STUDY) == before
    alone = document("diff", raw, raw, "--library", tmp_path / "none")
    assert alone["same_run"]
    assert not (tmp_path / "none").exists()


def test_a_file_that_is_no_result_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "notes.json"
    bad.write_text("{}", encoding="utf-8")
    result = headway("diff", VLLM_4, bad, "--library", STUDY, exit_code=1)
    assert "notes.json" in result.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    result = headway("diff", VLLM_4, empty, "--library", STUDY, exit_code=2)
    assert "holds no result" in result.stderr


def test_a_folder_of_several_results_is_ambiguous() -> None:
    result = headway("diff", VLLM_4, VIDUR, "--library", STUDY, exit_code=2)
    assert "sets of runs" in result.stderr


# For people.


def test_the_sentence_comes_first_then_what_it_rests_on_then_the_tables() -> None:
    shown = headway("diff", "vllm", "sarathi", "--load", 4, "--library", STUDY).stdout
    first, claim, _, workload, changed, *rest = shown.splitlines()
    assert first.startswith("vllm → sarathi, 4 req/s: median longest stall −88%")
    assert claim.startswith("facts of these two runs")
    assert workload == "Workload: same workload: 500 paired."
    assert changed.startswith("Changed: only the policy changed")
    titles = [line for line in rest if line and not line.startswith("|")]
    assert titles == [
        "Outcomes, A → B",
        "completed in A only 0, in B only 0",
        "met the objective in A only 0, in B only 426",
        "Percentiles of offered requests",
        f"within run: {WITHIN_RUN}",
        "no noise floor: a simulation repeats itself exactly",
        "Scorecard over the window of arrivals",
    ]
    assert "| met the objective" in shown
    assert "not recorded" in headway("diff", "r0b51efcb193e", "r21f14fcb7632", "--library", STUDY,
                                     "--window", "200s..300s", exit_code=1).stdout  # fmt: skip


def test_replicates_show_their_verdicts_and_the_noise(library: Path) -> None:
    shown = headway("diff", "fast", "slow", "--load", 5, "--library", library).stdout
    assert "3 and 3 replicates" in shown
    assert "| worse" in shown
    assert "noise floor: the largest difference between runs of one policy" in shown


def test_a_lost_percentile_is_a_word() -> None:
    shown = headway("diff", VLLM_8, STOPPED, "--library", STUDY).stdout
    assert "not reached" in shown
    assert "| lost" in shown
    assert "Limits: stopped before the window ends (B at 60 s)" in shown


def test_names_from_files_cannot_steer_the_terminal(tmp_path: Path) -> None:
    manifest = Manifest(model="\x1b[31mred\nand more")
    write(make_run(offered(10, 10), "a", policy="\x1b[31mred\nand more"), tmp_path)
    write(make_run(offered(10, 10, jitter_us=5), "b", policy="p", manifest=manifest), tmp_path)
    shown = headway("diff", "a", "b", "--library", tmp_path).stdout
    assert "\x1b" not in shown
    assert not any(line.startswith("and more") for line in shown.splitlines())


def test_closed_loops_are_chosen_by_concurrency(tmp_path: Path) -> None:
    load = Load(LoadKind.CLOSED, concurrency=8)
    for name, jitter_us in (("a", 0), ("b", 5)):
        rows = offered(10, 10, jitter_us=jitter_us)
        write(make_run(rows, name, policy=name, load=load), tmp_path)
    result = headway("diff", "a", "b", "--load", "8", "--library", tmp_path, "--json")
    assert json.loads(result.stdout)["comparable"]
