"""The command line: documents on stdout, words on stderr, exit codes that scripts can trust."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from commands import SUMMARY_KEYS, document, headway
from headway import sql
from headway.analyses.asking import parse_window
from headway.cli import main
from headway.cli.parsing import parse_percentiles
from headway.errors import MisuseError
from headway.model import Outcome, Window
from libraries import make_run, write

FIXTURES = Path(__file__).parent / "importers"
FAULTS = FIXTURES / "vllm" / "faults-proxy-rate5" / "result.json"
NO_DETAIL = FIXTURES / "vllm" / "rate8-nodetail" / "result.json"

LOAD_KEYS = {"kind", "declared_rps", "measured_rps", "concurrency", "arrivals", "burstiness"}
IMPORTED_KEYS = {
    "run_id",
    "source",
    "harness",
    "study",
    "policy",
    "label",
    "boundary",
    "clock",
    "index_basis",
    "load",
    "n_offered",
    "n_offered_basis",
    "n_warmup",
    "outcomes",
    "replaced",
    "findings",
}
METRIC_KEYS = {"status", "n", "denominator", "mean", "max", "p"}
OUTCOMES = [outcome.value for outcome in Outcome]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a library of two runs; the second has a request that failed."""
    rows = [
        {"sent_us": 0, "ttft_us": 100_000, "latency_us": 200_000, "source_success": True},
        {"sent_us": 2_000_000, "ttft_us": 300_000, "latency_us": 500_000, "source_success": True},
    ]
    write(make_run(rows, "r0"), tmp_path / "library")
    write(make_run([*rows, {"outcome": "failed", "sent_us": 1}], "r1"), tmp_path / "library")
    return tmp_path / "library"


# import


def test_an_import_says_what_it_imported(tmp_path: Path) -> None:
    found = document("import", FAULTS, "--library", tmp_path / "library")
    assert set(found) == {"imported", "skipped", "refused", "proposed_policies"}
    (run,) = found["imported"]
    assert set(run) >= IMPORTED_KEYS
    assert set(run["load"]) == LOAD_KEYS
    assert list(run["outcomes"]) == OUTCOMES
    assert sum(run["outcomes"].values()) == run["n_offered"] == 100
    assert (run["outcomes"]["completed"], run["outcomes"]["truncated"]) == (82, 4)
    assert run["replaced"] is False
    assert run["findings"]
    for finding in run["findings"]:
        assert set(finding) == {"code", "severity", "count", "message"}


def test_what_is_good_is_kept_when_something_is_refused(tmp_path: Path) -> None:
    library = tmp_path / "library"
    found = document("import", FAULTS, NO_DETAIL, "--library", library, exit_code=1)
    assert len(found["imported"]) == 1
    (refused,) = found["refused"]
    assert set(refused) == {"source", "code", "message"}
    assert refused["code"] == "aggregate_only"
    assert len(list(library.rglob("*.parquet"))) == 1


def test_a_refusal_is_words_on_stderr(tmp_path: Path) -> None:
    result = headway("import", NO_DETAIL, "--library", tmp_path / "library", exit_code=1)
    assert "--save-detailed" in result.stderr
    assert "--save-detailed" not in result.stdout
    assert not (tmp_path / "library").exists()


def test_what_no_importer_knows_in_a_folder_is_skipped(tmp_path: Path) -> None:
    shutil.copytree(FAULTS.parent, tmp_path / "results")
    (tmp_path / "results" / "notes.txt").write_text("hello", encoding="utf-8")
    found = document("import", tmp_path / "results", "--library", tmp_path / "library")
    assert [set(entry) for entry in found["skipped"]] == [{"source", "why", "mapping", "is_result"}]
    assert len(found["imported"]) == 1


def test_a_folder_without_results_imports_nothing_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    library = tmp_path / "library"
    result = headway("import", tmp_path / "results", "--library", library, exit_code=1)
    assert "nothing was imported" in result.stderr


def test_settings_win_over_the_source(tmp_path: Path) -> None:
    (run,) = document(
        "import", FAULTS, "--library", tmp_path / "library", "--study", "night",
        "--policy", "chunked", "--set", "load.declared_rps=6", "--set", "label=x",
    )["imported"]  # fmt: skip
    assert (run["study"], run["policy"], run["label"]) == ("night", "chunked", "x")
    assert run["load"]["declared_rps"] == 6
    assert (tmp_path / "library" / "night").is_dir()


def test_importing_again_replaces(tmp_path: Path) -> None:
    first = document("import", FAULTS, "--library", tmp_path / "library")["imported"][0]
    again = document("import", FAULTS, "--library", tmp_path / "library")["imported"][0]
    assert (first["run_id"], again["replaced"]) == (again["run_id"], True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "nothing=1"], "unknown key 'nothing'"),
        (["--set", "label"], "expected KEY=VALUE"),
        (["--set", "load.declared_rps=fast"], "load.declared_rps"),
        (["--study", "a/b"], "cannot be the name of a folder"),
    ],
)
def test_settings_that_do_not_fit_are_misuse(
    arguments: Sequence[str], message: str, tmp_path: Path
) -> None:
    result = headway("import", FAULTS, "--library", tmp_path / "library", *arguments, exit_code=2)
    assert message in result.stderr
    assert result.stdout == ""


def test_importing_nothing_is_misuse() -> None:
    headway("import", exit_code=2)


# summary


def test_a_summary_has_the_documented_shape(real_library: Path) -> None:
    found = document("summary", "--library", real_library)
    assert set(found) == {"method", "basis", "runs"}
    assert (found["method"], found["basis"]) == ("nearest", "offered")
    for run in found["runs"]:
        assert set(run) >= SUMMARY_KEYS
        assert set(run["load"]) == LOAD_KEYS
        assert set(run["window"]) == {"start_us", "end_us"}
        assert list(run["outcomes"]) == OUTCOMES
        assert list(run["metrics"]) == ["ttft_ms", "tpot_ms", "stall_ms", "gap_ms", "latency_ms"]
        for metric in run["metrics"].values():
            assert set(metric) >= METRIC_KEYS
            for point in metric["p"].values():
                assert set(point) == {"value", "low", "high", "not_reached"}
                assert (point["value"] is None) == point["not_reached"]


def test_the_tools_own_numbers_come_out_again(real_library: Path) -> None:
    how = ("--basis", "source", "--method", "linear", "--origin", "sent")
    found = document("summary", "--library", real_library, *how, "--percentiles", "50,90,95,99")
    n_compared = 0
    for run in found["runs"]:
        for metric, statistics in run["tool"].items():
            for name, tool in statistics.items():
                assert set(tool) == {"reported", "recomputed", "agrees", "definition"}
                ours = run["metrics"][metric]["p"].get(name.removeprefix("p"), {}).get("value")
                if ours is not None:
                    assert ours == pytest.approx(tool["reported"], rel=0.001, abs=0.002)
                    n_compared += 1
    assert n_compared > 100


def test_the_window_decides_who_is_counted(real_library: Path) -> None:
    def runs(*arguments: str) -> dict[str, Any]:
        found = document("summary", "--library", real_library, *arguments)["runs"]
        return {run["run_id"]: run for run in found}

    (limited,) = [r for r in runs().values() if r["outcomes"]["not_sent"]]
    run_id = limited["run_id"]
    assert limited["n_offered"] == 500
    assert limited["metrics"]["ttft_ms"]["p"]["50"]["value"] == pytest.approx(9077, abs=1)
    windowed = runs("--run", run_id, "--window", "0..60s")[run_id]
    assert windowed["n_offered"] == 466
    assert windowed["metrics"]["ttft_ms"]["p"]["50"]["value"] == pytest.approx(8090, abs=1)
    assert windowed["window"] == {"start_us": 0, "end_us": 60_000_000}


def test_the_window_may_be_open_on_one_side(real_library: Path) -> None:
    found = document(
        "summary", "--library", real_library, "--window", "2.5s..", "--method", "linear"
    )["runs"]
    (closed,) = [run for run in found if run["load"]["kind"] == "closed"]
    assert closed["n_offered"] == 36
    assert closed["metrics"]["ttft_ms"]["p"]["99"]["value"] == pytest.approx(209)


def test_a_summary_for_people_is_one_line_per_run(library: Path) -> None:
    result = headway("summary", "--library", library)
    header, _, *lines = result.stdout.splitlines()
    assert [line.split("|")[1].strip() for line in lines] == ["r0", "r1"]
    assert "TTFT p50 ms" in header
    assert "1 failed" in lines[1]
    assert "not reached" in lines[1]
    assert result.stderr == ""


def test_runs_and_studies_are_chosen_by_name(library: Path) -> None:
    write(make_run([{}], "r2", study="other"), library)
    chosen = document("summary", "--library", library, "--run", "r1")["runs"]
    assert [run["run_id"] for run in chosen] == ["r1"]
    chosen = document("summary", "--library", library, "--study", "other")["runs"]
    assert [run["run_id"] for run in chosen] == ["r2"]


def test_a_run_and_a_study_restrict_together(library: Path) -> None:
    write(make_run([{}], "r2", study="other"), library)
    both = ("--run", "r1", "--run", "r2", "--study", "other")
    chosen = document("summary", "--library", library, *both)["runs"]
    assert [run["run_id"] for run in chosen] == ["r2"]
    result = headway("summary", "--library", library, *both[:2], *both[4:], exit_code=2)
    assert "no run named belongs to the study 'other'; found r1 of 'study'" in result.stderr


def test_a_run_named_twice_is_shown_once(library: Path) -> None:
    chosen = document("summary", "--library", library, "--run", "r1", "--run", "r1")["runs"]
    assert [run["run_id"] for run in chosen] == ["r1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "r9"], "there is no run 'r9'"),
        (["--study", "none"], "there is no study 'none'"),
        (["--window", "10s"], "expected A..B"),
        (["--percentiles", "0"], "between 0 and 100"),
        (["--basis", "mine"], "Invalid value for '--basis'"),
        (["--method", "mean"], "Invalid value for '--method'"),
        (["--origin", "start"], "Invalid value for '--origin'"),
    ],
)
def test_a_choice_that_does_not_exist_is_misuse(
    arguments: Sequence[str], message: str, library: Path
) -> None:
    result = headway("summary", "--library", library, *arguments, "--json", exit_code=2)
    assert message in result.stderr
    assert result.stdout == ""


def test_without_a_library_the_next_step_is_named(tmp_path: Path) -> None:
    result = headway("summary", "--library", tmp_path / "none", exit_code=2)
    assert "headway import PATH" in result.stderr


def test_the_library_may_come_from_the_environment(library: Path) -> None:
    result = CliRunner().invoke(main, ["summary"], env={"HEADWAY_LIBRARY": str(library)})
    assert result.exit_code == 0


def test_an_empty_library_has_no_runs(tmp_path: Path) -> None:
    assert document("summary", "--library", tmp_path)["runs"] == []
    assert document("query", "accounting/outcomes", "--library", tmp_path) == []


def test_a_broken_file_is_named_and_leaves_the_others(library: Path) -> None:
    (library / "study" / "half.parquet").write_bytes(b"PAR1")
    result = headway("summary", "--library", library, "--json")
    assert "left out half.parquet" in result.stderr
    assert len(json.loads(result.stdout)["runs"]) == 2


# query


def test_the_queries_are_listed(tmp_path: Path) -> None:
    lines = headway("query").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(sql.names())
    assert all(len(line.split("  ", 1)[1]) > 20 for line in lines)


def test_the_listing_is_one_document_too() -> None:
    found = document("query")
    assert [entry["name"] for entry in found] == list(sql.names())
    assert all(set(entry) == {"name", "summary", "params", "columns"} for entry in found)


def test_a_query_runs_over_every_run_unless_told_otherwise(library: Path) -> None:
    rows = document("query", "accounting/reasons", "--library", library)
    assert [(row["run_id"], row["outcome"], row["n"]) for row in rows] == [("r1", "failed", 1)]
    one = document("query", "accounting/outcomes", "--library", library, "--param", "run_ids=r0")
    assert {row["run_id"] for row in one} == {"r0"}
    assert len(one) == len(OUTCOMES)


def test_parameters_are_read_by_their_type(library: Path) -> None:
    said = {
        "run_ids": "r0,r1",
        "start_us": "0",
        "end_us": "null",
        "stratum": "none",
        "metric": "ttft_ms",
        "basis": "offered",
        "origin": "sent",
        "method": "nearest",
        "shares": "0.5,0.99",
    }
    params = [part for key, value in said.items() for part in ("--param", f"{key}={value}")]
    rows = document("query", "distribution/percentiles", "--library", library, *params)
    assert [(r["run_id"], r["share"], r["value_ms"]) for r in rows] == [
        ("r0", 0.5, 100),
        ("r0", 0.99, 300),
        ("r1", 0.5, 300),
        ("r1", 0.99, None),
    ]


def test_a_table_shows_what_is_unknown(library: Path) -> None:
    result = headway("query", "accounting/reasons", "--library", library)
    assert "| r1 " in result.stdout
    assert "null" in result.stdout
    empty = headway("query", "accounting/reasons", "--library", library, "--param", "run_ids=r0")
    assert empty.stdout.strip() == "(no rows)"


def test_text_from_a_file_cannot_steer_the_terminal(tmp_path: Path) -> None:
    row = {"outcome": "failed", "reason": "\x1b[31mred\nand more"}
    write(make_run([row]), tmp_path)
    result = headway("query", "accounting/reasons", "--library", tmp_path)
    assert "[31mred and more" in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such"], "there is no query 'no/such'"),
        (["accounting/windows"], "missing --param origin="),
        (["comparison/pairs", "--param", "runs_a=r0"], "missing --param runs_b="),
        (["accounting/outcomes", "--param", "start_us=soon"], "expected BIGINT"),
        (["accounting/outcomes", "--param", "start_us=1e3"], "expected BIGINT"),
        (["accounting/outcomes", "--param", "more=1"], "surplus more"),
        (["accounting/outcomes", "--param", "run_ids"], "expected KEY=VALUE"),
        (["accounting/outcomes", "--param", f"start_us={10**40}"], "accounting/outcomes"),
    ],
)
def test_parameters_that_do_not_fit_are_misuse(
    arguments: Sequence[str], message: str, library: Path
) -> None:
    result = headway("query", *arguments, "--library", library, "--json", exit_code=2)
    assert message in result.stderr
    assert result.stdout == ""


# serve and the rest


def test_serving_what_does_not_exist_is_misuse(tmp_path: Path) -> None:
    result = headway("serve", tmp_path / "none", exit_code=2)
    assert "does not exist" in result.stderr


def test_serving_what_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    result = headway("serve", NO_DETAIL, exit_code=1)
    assert "--save-detailed" in result.stderr


def test_an_unknown_command_is_misuse() -> None:
    headway("predict", exit_code=2)


COMMANDS = tuple(main.list_commands(click.Context(main)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    said = headway(name, "--help").stdout
    assert f" {name} [OPTIONS]" in said


def test_the_help_lists_every_command() -> None:
    lines = headway("--help").stdout.partition("Commands:")[2].splitlines()
    assert [line.split()[0] for line in lines if line.strip()] == sorted(COMMANDS)
    assert set(COMMANDS) >= {"serve", "import", "summary", "verdict", "recheck", "diff", "query"}
    assert headway("--version").stdout.startswith("headway, version ")


def modules_after(statement: str) -> set[str]:
    """Return the modules that a new process has imported after a statement."""
    script = f"{statement}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_the_help_imports_no_library() -> None:
    found = modules_after("from headway.cli import main\nmain(['--help'], standalone_mode=False)")
    assert "headway.cli" in found
    assert not found & {"duckdb", "polars", "pyarrow", "numpy", "scipy", "headway.catalog"}


def test_no_command_imports_scipy_stats_before_it_needs_it() -> None:
    loads = "\n".join(f"main.get_command(click.Context(main), {name!r})" for name in COMMANDS)
    found = modules_after(f"import click\nfrom headway.cli import main\n{loads}")
    assert "headway.analyses.acceptance" in found
    assert not found & {"scipy.stats", "scipy.optimize", "streamlit", "pandas"}


# Windows and percentiles.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("..", Window()),
        ("0..60s", Window(0, 60_000_000)),
        ("500ms..2s", Window(500_000, 2_000_000)),
        ("2.5s..", Window(2_500_000, None)),
        ("..90us", Window(None, 90)),
        ("10..20", Window(10_000_000, 20_000_000)),
        ("10..20ms", Window(10_000, 20_000)),
        (" 1 s .. 2 s ", Window(1_000_000, 2_000_000)),
        ("-1s..1s", Window(-1_000_000, 1_000_000)),
    ],
)
def test_a_window_is_read_with_its_units(text: str, expected: Window) -> None:
    assert parse_window(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10s",
        "a..b",
        "5s..5s",
        "9s..1s",
        "nan..",
        "inf..",
        "..-inf",
        "1e300..",
        "1h..2h",
        "1...2",
    ],
)
def test_what_is_no_window_is_misuse(text: str) -> None:
    with pytest.raises(MisuseError, match="window"):
        parse_window(text)


def test_percentiles_are_read_as_shares_once_and_in_order() -> None:
    assert parse_percentiles("99, 50,99.9,50") == [0.5, 0.99, 0.999]


@pytest.mark.parametrize("text", ["", "0", "100", "-1", "nan", "inf", "p50", "50,,99", "1e-12"])
def test_what_is_no_percentile_is_misuse(text: str) -> None:
    with pytest.raises(MisuseError, match="percentiles"):
        parse_percentiles(text)


def test_a_percentile_that_so_few_requests_cannot_carry_is_a_lower_bound(tmp_path: Path) -> None:
    rows = [{"sent_us": at, "ttft_us": 10_000_000 + at} for at in range(100)]
    write(make_run(rows, "r0"), tmp_path)
    said = headway("summary", "--library", tmp_path, "--percentiles", "99,99.9").stdout
    # The 99th of 100 values, and the largest: 10,000.098 and 10,000.099 ms.
    assert "10,000 " in said
    assert "≥ 10,000 (n = 100 carries up to p99)" in said
    assert "e+" not in said
    (run,) = document("summary", "--library", tmp_path, "--percentiles", "99.9")["runs"]
    assert run["metrics"]["ttft_ms"]["p"]["99.9"]["value"] == 10_000.099


def test_completed_requests_without_a_time_are_counted_beside_the_rates(tmp_path: Path) -> None:
    timed = {"sent_us": 0, "latency_us": 1_500_000}
    rows = [timed, timed | {"sent_us": 2_000_000}, {"latency_us": 5}, {"latency_us": 6}]
    write(make_run(rows, "r0"), tmp_path)
    (run,) = document("summary", "--library", tmp_path)["runs"]
    assert run["n_without_instant"] == 2
    said = headway("summary", "--library", tmp_path).stderr
    assert "run r0: 2 completed requests are in no rate" in said
    write(make_run([timed, timed], "r0"), tmp_path)
    assert "in no rate" not in headway("summary", "--library", tmp_path).stderr
