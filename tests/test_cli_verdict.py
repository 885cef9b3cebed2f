"""`headway verdict` and `headway recheck`: documents, exit codes, and what lapses."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import document, headway
from headway.model import Load, LoadKind, Manifest, Objective
from libraries import make_run, offered, replicates, write

STUDY = Path(__file__).parents[1] / "sample_data" / "vidur-azure-conversation"
LIMITS = ("--ttft-ms", "200", "--attainment", "0.9")
DECLARED = "[objective]\nttft_ms = 200\nattainment = 0.9\n"

RUN_KEYS = {
    "run_id",
    "replicates",
    "policy",
    "load",
    "n_offered",
    "n_met",
    "n_open",
    "attainment",
    "attainment_high",
    "steady",
    "n_replicates",
    "in_run",
    "workload",
    "traffic",
    "verdict",
    "reasons",
    "would_settle",
}
ENVELOPE_KEYS = {
    "policy",
    "configuration",
    "workload",
    "arrivals",
    "axis",
    "last_accepted",
    "first_rejected",
    "undecided",
    "non_monotone",
    "holds_for",
}


def at(rps: float, n_met: int, **changes: Any) -> Any:
    load = Load(LoadKind.OPEN, declared_rps=rps)
    rows = offered(20, n_met, jitter_us=int(rps))
    return make_run(rows, changes.pop("run_id", f"r{rps:g}"), load=load, **changes)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a library of two policies: one is carried to 2 req/s, the other nowhere."""
    folder = tmp_path / "library"
    for rps, n_met in ((1, 20), (2, 18), (3, 17)):
        write(at(rps, n_met, policy="good"), folder)
        write(at(rps, 2, policy="bad", run_id=f"b{rps}"), folder)
    (folder / "study" / "study.toml").write_text(DECLARED, encoding="utf-8")
    return folder


# The document.


def test_a_verdict_has_the_documented_shape(library: Path) -> None:
    found = document("verdict", "--library", library, exit_code=3)
    assert set(found) == {
        "objective", "declared", "claim", "runs", "envelopes", "judged", "verdict", "sentence",
    }  # fmt: skip
    assert found["judged"] == {"loads": [1, 2, 3], "policies": ["bad", "good"]}
    assert found["objective"] == {
        "ttft_ms": 200,
        "tpot_ms": None,
        "stall_ms": None,
        "latency_ms": None,
        "attainment": 0.9,
        "repeats": 0.5,
        "spell_s": None,
    }
    assert (found["declared"], found["claim"], found["verdict"]) == (True, "workload", "undecided")
    for run in found["runs"]:
        assert set(run) >= RUN_KEYS
        assert set(run["workload"]) >= {
            "verdict", "low", "high", "per_run", "n_runs", "n_runs_met", "repeats", "repeats_low",
            "repeats_high", "made",
        }  # fmt: skip
        assert set(run["traffic"]) >= {
            "verdict", "low", "high", "n_eff", "deff", "reach_requests", "reach_s", "reach_needed",
            "spell_s",
        }  # fmt: skip
        assert set(run["missed_by"]) >= {"ttft_ms", "tpot_ms", "stall_ms", "latency_ms", "lost"}
        assert run["origin"] == "scheduled"
        assert run["load"]["measured_rps"] == pytest.approx(5)
        assert (run["replicates"], run["n_replicates"]) == ([run["run_id"]], 1)
        assert run["reasons"]
    for envelope in found["envelopes"]:
        assert set(envelope) >= ENVELOPE_KEYS
        assert envelope["axis"] == "offered_rps"


def test_what_cannot_be_known_is_null(tmp_path: Path) -> None:
    rows = [{"ttft_us": 100_000, "latency_us": 200_000}] * 3
    write(make_run(rows, load=Load(LoadKind.UNLIMITED), policy=None), tmp_path)
    (run,) = document("verdict", "--library", tmp_path, *LIMITS, exit_code=3)["runs"]
    assert (run["policy"], run["load"]["measured_rps"]) == (None, None)
    unknown = ("low", "high", "n_eff", "deff", "reach_requests", "reach_s", "reach_needed")
    assert [run["traffic"][name] for name in unknown] == [None] * len(unknown)
    assert run["workload"]["made"] is None
    assert (run["in_run"], run["steady"]) == ("met", "unknown")


def test_the_envelopes_speak_for_the_claim_asked(library: Path) -> None:
    found = document("verdict", "--library", library, "--claim", "run", exit_code=1)
    edges = {e["policy"]: (e["last_accepted"], e["first_rejected"]) for e in found["envelopes"]}
    assert edges == {"good": (2, 3), "bad": (None, 1)}


# Exit codes.


@pytest.mark.parametrize(
    ("arguments", "exit_code", "verdict"),
    [
        (("--policy", "good", "--claim", "run"), 1, "rejected"),
        (("--policy", "good", "--claim", "run", "--up-to", "2"), 0, "accepted"),
        (("--policy", "good", "--claim", "run", "--up-to", "2.5"), 0, "accepted"),
        (("--policy", "good", "--claim", "run", "--up-to", "3"), 1, "rejected"),
        (("--policy", "bad", "--claim", "run"), 1, "rejected"),
        (("--claim", "run"), 1, "rejected"),
        (("--policy", "good"), 3, "undecided"),
        (("--policy", "good", "--load", "2", "--claim", "run"), 0, "accepted"),
        (("--policy", "good", "--load", "2.000000001", "--claim", "run"), 0, "accepted"),
        (("--policy", "good", "--load", "3", "--claim", "run"), 1, "rejected"),
        (("--load", "2", "--claim", "run"), 1, "rejected"),
        (("--load", "2"), 3, "undecided"),
    ],
    ids=str,
)
def test_the_exit_code_is_the_verdict(
    library: Path, arguments: tuple[str, ...], exit_code: int, verdict: str
) -> None:
    found = document("verdict", "--library", library, *arguments, exit_code=exit_code)
    assert found["verdict"] == verdict
    headway("verdict", "--library", library, *arguments, exit_code=exit_code)


def test_replicates_are_one_entry_and_accept_the_workload(tmp_path: Path) -> None:
    for run in replicates((170, 167, 168, 170, 169)):
        write(run, tmp_path)
    found = document("verdict", "--library", tmp_path, *LIMITS)
    (entry,) = found["runs"]
    assert (entry["n_met"], entry["n_offered"], entry["n_replicates"]) == (844, 900, 5)
    assert (entry["workload"]["n_runs"], entry["workload"]["n_runs_met"]) == (5, 5)
    assert entry["workload"]["repeats_low"] == pytest.approx(0.05**0.2)
    assert (entry["workload"]["low"], entry["workload"]["high"]) == (167 / 180, 170 / 180)
    assert entry["workload"]["per_run"] == [n / 180 for n in (170, 167, 168, 170, 169)]
    assert "r0 and 4 more" in headway("verdict", "--library", tmp_path, *LIMITS).stdout


def test_half_rejected_is_accepted_under_no_claim(tmp_path: Path) -> None:
    rows = offered(400, 400)
    for place in range(0, 400, 2):
        rows[place] = {"outcome": "rejected", "scheduled_us": place * 200_000}
    write(make_run(rows), tmp_path)
    for claim, exit_code in (("run", 1), ("workload", 3), ("traffic", 1)):
        arguments = (*LIMITS, "--claim", claim)
        found = document("verdict", "--library", tmp_path, *arguments, exit_code=exit_code)
        assert found["runs"][0]["in_run"] == "missed"


@pytest.mark.parametrize(
    ("claim", "edges"),
    [("run", (4, 6, [])), ("workload", (4, 6, [])), ("traffic", (2, 8, [3, 4, 6]))],
)
def test_the_sample_study_has_its_known_answer(claim: str, edges: tuple[object, ...]) -> None:
    arguments = ("--library", STUDY, "--policy", "sarathi", "--claim", claim)
    found = document("verdict", *arguments, exit_code=1)
    (envelope,) = found["envelopes"]
    assert (
        envelope["last_accepted"], envelope["first_rejected"], envelope["undecided"],
    ) == edges  # fmt: skip
    assert found["declared"]
    assert document("verdict", *arguments, "--up-to", "2")["envelopes"] == found["envelopes"]


def test_at_99_percent_nothing_is_accepted_for_traffic_and_it_says_what_would_settle() -> None:
    arguments = ("--library", STUDY, "--policy", "sarathi", "--claim", "traffic")
    found = document("verdict", *arguments, "--attainment", "0.99", exit_code=1)
    assert not found["declared"]
    assert found["envelopes"][0]["last_accepted"] is None
    assert "No load tested can be accepted" in found["sentence"]
    (first,) = [run for run in found["runs"] if run["load"]["declared_rps"] == 1]
    settled = first["would_settle"]
    assert settled["n_requests"] > 500
    assert settled["duration_s"] == pytest.approx(settled["n_requests"])
    assert "if the true share" in settled["text"]
    assert any("accepting 99% takes" in reason for reason in first["reasons"])


# The objective in force.


@pytest.mark.parametrize(
    ("arguments", "declared"),
    [
        ((), True),
        (("--ttft-ms", "200"), True),
        (LIMITS, True),
        (("--attainment", "0.9"), True),
        (("--attainment", "0.95"), False),
        (("--ttft-ms", "300"), False),
        (("--ttft-ms", "200", "--stall-ms", "100"), False),
    ],
    ids=str,
)
def test_an_objective_is_declared_only_if_it_is_the_studys(
    library: Path, arguments: tuple[str, ...], declared: bool
) -> None:
    result = headway(
        "verdict", "--library", library, "--policy", "bad", "--claim", "run", "--json", *arguments,
        exit_code=1,
    )  # fmt: skip
    assert json.loads(result.stdout)["declared"] is declared


def test_limits_are_taken_as_they_are_given(tmp_path: Path) -> None:
    write(at(1, 20), tmp_path)
    found = document("verdict", "--library", tmp_path, "--ttft-ms", "0.5", exit_code=3)
    kept = Objective(ttft_ms=0.5)
    assert (found["objective"]["ttft_ms"], found["objective"]["attainment"]) == (
        kept.ttft_ms, kept.attainment,
    )  # fmt: skip


def test_several_studies_need_a_name_or_limits(library: Path) -> None:
    write(at(1, 20, run_id="other", study="other"), library)
    result = headway("verdict", "--library", library, exit_code=2)
    assert "other, study" in result.stderr
    assert "--study" in result.stderr
    headway("verdict", "--library", library, "--attainment", "0.9", exit_code=2)
    found = document("verdict", "--library", library, *LIMITS, exit_code=3)
    assert len(found["runs"]) == 7
    assert found["declared"] is False
    named = document("verdict", "--library", library, "--study", "study", exit_code=3)
    assert len(named["runs"]) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tpot-ms", "50", "--stall-ms", "100"), "one cadence limit"),
        (("--ttft-ms", "0"), "above 0"),
        (("--ttft-ms", "-5"), "above 0"),
        (("--ttft-ms", "nan"), "above 0"),
        (("--ttft-ms", "inf"), "above 0"),
        (("--attainment", "95"), "share between 0 and 1"),
        (("--attainment", "1"), "share between 0 and 1"),
        (("--attainment", "0"), "share between 0 and 1"),
        (("--attainment", "nan"), "share between 0 and 1"),
        (("--load", "4"), "no run is at load 4; there are: 1, 2, 3 req/s"),
        (("--load", "nan"), "there are: 1, 2, 3 req/s"),
        (("--policy", "best"), "there is no policy 'best'; there are: bad, good"),
        (("--study", "none"), "there is no study 'none' in the library; there are: study"),
        (("--claim", "best"), "Invalid value for '--claim'"),
        (("--window", "9"), "expected A..B"),
        (("--load", "2", "--up-to", "3"), "expected one"),
        (("--up-to", "0.5"), "no run is at a load up to 0.5; there are: 1, 2, 3 req/s"),
        (("--repeats", "1"), "share of runs between 0 and 1"),
        (("--spell-s", "0"), "expected seconds above 0"),
        (("--out", "no/such/folder/envelope.json"), "cannot write"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_misuse(
    library: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = headway("verdict", "--library", library, *arguments, "--json", exit_code=2)
    assert message in result.stderr
    assert result.stdout == ""


def test_no_objective_says_what_to_do(tmp_path: Path) -> None:
    write(at(1, 20), tmp_path)
    result = headway("verdict", "--library", tmp_path, exit_code=2)
    assert "study.toml" in result.stderr
    assert "--ttft-ms" in result.stderr


def test_an_empty_library_is_misuse(tmp_path: Path) -> None:
    result = headway("verdict", "--library", tmp_path, *LIMITS, exit_code=2)
    assert "headway import PATH" in result.stderr


def test_a_closed_loop_is_found_by_its_concurrency(tmp_path: Path) -> None:
    write(make_run(offered(20, 20), load=Load(LoadKind.CLOSED, concurrency=8)), tmp_path)
    found = document("verdict", "--library", tmp_path, *LIMITS, "--load", "8", "--claim", "run")
    assert found["envelopes"][0]["axis"] == "concurrency"
    result = headway("verdict", "--library", tmp_path, *LIMITS, "--load", "5", exit_code=2)
    assert "there are: 8 concurrent" in result.stderr


def test_a_run_with_nothing_in_the_window_is_named(library: Path) -> None:
    write(make_run(offered(40, 40), "long", policy="good"), library)
    result = headway(
        "verdict", "--library", library, "--window", "4s..", "--policy", "good", exit_code=3
    )
    assert "not judged: r1 has no request in the window" in result.stderr


# For people.


def test_the_sentence_comes_first_then_the_table_then_the_doubts(library: Path) -> None:
    shown = headway("verdict", "--library", library, "--policy", "good", exit_code=3).stdout
    gate, found, objective, origin, _, header, *rest = shown.splitlines()
    assert gate == (
        "Not enough evidence: repeatable on this workload, for good at every tested load "
        "(1, 2 and 3)."
    )
    assert found.startswith("Repeatable on this workload: No load tested can be accepted.")
    assert objective.endswith("as the study declares.")
    assert origin == "Latencies count from the scheduled arrival."
    for column in ("policy", "load", "in the run", "workload", "traffic", "met", "missed by"):
        assert column in header
    assert any("Would settle it: " in line for line in rest)


def test_at_one_load_the_sentence_is_about_that_load(library: Path) -> None:
    arguments = ("--load", "2", "--claim", "run")
    shown = headway("verdict", "--library", library, *arguments, exit_code=1).stdout
    assert shown.splitlines()[:2] == [
        "Rejected: in this run, for bad and good at 2 req/s.",
        "bad rejected (2 of 20 requests met); good accepted (18 of 20 requests met).",
    ]


def test_nothing_is_shown_as_best_where_nothing_is_acceptable(library: Path) -> None:
    arguments = ("--policy", "bad", "--claim", "run")
    shown = headway("verdict", "--library", library, *arguments, exit_code=1).stdout
    assert shown.splitlines()[1] == (
        "In this run: No load tested is acceptable. bad misses at every load tested (1–3 req/s)."
    )
    assert "accepted" not in shown


def test_a_departure_from_the_declared_objective_is_said(library: Path) -> None:
    arguments = ("--ttft-ms", "150", "--claim", "run", "--policy", "good", "--load", "1")
    shown = headway("verdict", "--library", library, *arguments).stdout
    assert "It departs from the declared one: TTFT ≤ 200 ms for 90% of offered requests." in shown


def test_names_from_files_cannot_steer_the_terminal(tmp_path: Path) -> None:
    write(at(1, 20, policy="\x1b[31mred\nand more"), tmp_path)
    shown = headway("verdict", "--library", tmp_path, *LIMITS, exit_code=3).stdout
    assert "\x1b" not in shown
    assert not any(line.startswith("and more") for line in shown.splitlines())


# Saved, and judged again.


UP_TO = ("--up-to", "2")


def saved(library: Path, *arguments: str, exit_code: int = 0) -> Path:
    path = library.parent / "envelope.json"
    said = ("--policy", "good", "--claim", "run", *(arguments or UP_TO), "--out", path)
    headway("verdict", "--library", library, *said, exit_code=exit_code)
    return path


def test_a_saved_envelope_names_all_it_rests_on(library: Path) -> None:
    found = json.loads(saved(library).read_bytes())
    assert found["schema"] == "headway.envelope/1"
    assert set(found) == {
        "schema", "headway", "date", "catalog_digest", "selection", "runs", "verdict",
    }  # fmt: skip
    assert found["date"].endswith("+00:00")
    assert found["selection"] == {
        "study": "study",
        "policy": "good",
        "load": None,
        "up_to": 2,
        "claim": "run",
        "origin": "scheduled",
        "window": {"start_us": None, "end_us": None},
    }
    assert [run["run_id"] for run in found["runs"]] == ["r1", "r2", "r3"]
    for run in found["runs"]:
        assert len(run["rows_sha256"]) == len(run["source_sha256"]) == 64
        assert run["configuration"]["policy"] == "good"
    assert found["verdict"]["verdict"] == "accepted"


@pytest.mark.parametrize("arguments", [(), ("--load", "2"), (*UP_TO, "--window", "0..2s")], ids=str)
def test_an_envelope_holds_while_nothing_changed(library: Path, arguments: tuple[str, ...]) -> None:
    path = saved(library, *arguments)
    found = document("recheck", path, "--library", library)
    assert (found["answer"], found["changes"]) == ("holds", [])
    assert "holds" in headway("recheck", path, "--library", library).stdout


def test_a_new_policy_or_study_leaves_an_envelope_alone(library: Path) -> None:
    path = saved(library)
    write(at(9, 1, policy="new"), library)
    write(at(9, 1, policy="good", study="elsewhere", run_id="e9"), library)
    assert document("recheck", path, "--library", library)["answer"] == "holds"


def lapsed(path: Path, library: Path) -> list[tuple[str, object, object]]:
    found = document("recheck", path, "--library", library, exit_code=1)
    assert found["answer"] == "lapsed"
    assert "has lapsed" in found["sentence"]
    headway("recheck", path, "--library", library, exit_code=1)
    return [(each["field"], each["was"], each["is"]) for each in found["changes"]]


def test_a_manifest_that_differs_lapses_and_names_the_field(library: Path) -> None:
    path = saved(library)
    write(at(2, 18, policy="good", manifest=Manifest(precision="fp8", batch_cap=8)), library)
    assert lapsed(path, library)[:2] == [("precision", None, "fp8"), ("batch_cap", None, "8")]


def test_what_only_describes_the_load_does_not_lapse(library: Path) -> None:
    path = saved(library)
    write(at(2, 18, policy="good", manifest=Manifest(arrival_process="poisson")), library)
    assert document("recheck", path, "--library", library)["answer"] == "holds"


def test_other_rows_lapse_with_the_verdicts_they_turn(library: Path) -> None:
    path = saved(library)
    write(at(2, 3, policy="good"), library)
    fields = lapsed(path, library)
    assert "rows_sha256" in [field for field, _, _ in fields]
    assert ("verdict", "accepted", "rejected") in fields
    assert ("last_accepted", 2, 1) in fields
    assert ("first_rejected", 3, 2) in fields


def test_a_run_that_is_gone_lapses(library: Path) -> None:
    path = saved(library)
    (library / "study" / "r1.parquet").unlink()
    assert lapsed(path, library) == [("run", "r1", None)]


def test_a_new_run_at_the_same_configuration_lapses(library: Path) -> None:
    path = saved(library)
    write(at(9, 1, policy="good"), library)
    assert lapsed(path, library) == [("run", None, "r9")]


def test_an_objective_that_is_no_longer_declared_lapses(library: Path) -> None:
    path = saved(library)
    (library / "study" / "study.toml").write_text(DECLARED.replace("200", "300"), encoding="utf-8")
    assert lapsed(path, library) == [("objective is declared", True, False)]


def test_an_envelope_of_a_library_that_is_empty_has_lapsed(library: Path, tmp_path: Path) -> None:
    path = saved(library)
    (tmp_path / "empty").mkdir()
    fields = lapsed(path, tmp_path / "empty")
    assert [field for field, _, _ in fields].count("run") == 3


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"schema": "other/1"}', "null", '{"runs": NaN}']
)
def test_a_foreign_file_is_misuse(library: Path, tmp_path: Path, content: str) -> None:
    path = tmp_path / "foreign.json"
    path.write_text(content, encoding="utf-8")
    result = headway("recheck", path, "--library", library, "--json", exit_code=2)
    assert "foreign.json is not an envelope" in result.stderr
    assert result.stdout == ""


def test_an_envelope_with_an_impossible_objective_is_misuse(library: Path) -> None:
    path = saved(library)
    content = json.loads(path.read_bytes())
    content["verdict"]["objective"]["attainment"] = 7
    path.write_text(json.dumps(content), encoding="utf-8")
    assert "share between" in headway("recheck", path, "--library", library, exit_code=2).stderr


def test_a_file_that_does_not_exist_is_misuse(library: Path) -> None:
    result = headway("recheck", library / "none.json", "--library", library, exit_code=2)
    assert "cannot read" in result.stderr


ENGINE = STUDY.parent / "vllm-aiperf"


def test_the_engine_study_is_judged_by_its_replicates() -> None:
    """The worked answers of the study: what holds for the workload, and what one run cannot say."""
    told = document(
        "verdict", "--library", ENGINE, "--ttft-ms", "2000", "--attainment", "0.9",
        "--origin", "sent", exit_code=1,
    )  # fmt: skip
    found = {
        (each["policy"], each["load"]["declared_rps"]): (each["in_run"], each["verdict"])
        for each in told["runs"]
    }
    for policy in ("budget256", "budget2048"):
        assert found[policy, 2.4] == ("met", "undecided")
        assert found[policy, 3.2] == ("met", "undecided")
        assert found[policy, 4.8] == ("missed", "rejected")
        assert found[policy, 6.8] == ("missed", "undecided")  # three runs reject no half
    assert found["budget256", 4.0] == ("met", "accepted")
    assert found["budget2048", 4.0] == ("missed", "undecided")  # one replicate of five missed
    assert found["budget2048-kv96", 4.0][0] == found["budget2048-kv96", 6.8][0] == "missed"
    edges = {
        each["policy"]: (each["last_accepted"], each["first_rejected"])
        for each in told["envelopes"]
    }
    assert (edges["budget256"], edges["budget2048"]) == ((4.0, 4.8), (None, 4.8))
