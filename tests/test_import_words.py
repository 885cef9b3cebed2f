"""What an import says of files it passed over, and which tables it reads by itself."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from commands import document, headway
from headway.importers import mapped
from headway.importers.mapped import saved, totals

CASES = Path(__file__).parent / "importers"
VLLM = CASES / "vllm/11-closed-loop-startup-burst/openai-infqps-concurrency4.json"
REAL = CASES / "mapped/real"

SGLANG = {
    "tag": "demo", "backend": "sglang", "request_rate": float("inf"), "max_concurrency": 2,
    "duration": 0.98, "completed": 4, "mean_ttft_ms": 330.0, "median_ttft_ms": 260.0,
    "p99_ttft_ms": 590.4, "mean_e2e_latency_ms": 420.0, "p99_e2e_latency_ms": 680.4,
}  # fmt: skip
VEGETA = [
    {"attack": "", "seq": seq, "code": 200, "timestamp": f"2026-01-01T00:00:0{seq}Z",
     "latency": 1_500_000_000, "bytes_out": 1, "bytes_in": 2, "error": ""}
    for seq in range(3)
]  # fmt: skip


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write JSON lines; an infinite number is written bare, as some tools do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def real(name: str, path: Path) -> Path:
    """Unpack a real file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.decompress((REAL / name).read_bytes()))
    return path


@pytest.mark.parametrize(
    ("name", "mapping", "n_runs"),
    [
        ("guidellm-clean.json.gz", "guidellm", 1),
        ("guidellm-faults.json.gz", "guidellm", 1),
        ("genai-bench.json.gz", "genai-bench", 1),
        ("agentic-bench.jsonl.gz", "agentic-bench", 1),
        ("servebench-rate.json.gz", "servebench-rate", 1),
        ("servebench-concurrency.json.gz", "servebench-concurrency", 1),
        ("splitwise-sim.csv.gz", "splitwise-sim", 1),
        ("llama-benchy.jsonl.gz", "llama-benchy", 1),
    ],
)
@pytest.mark.parametrize("how", ["named", "in a folder"])
def test_a_built_in_mapping_that_fits_alone_is_used(
    name: str, mapping: str, n_runs: int, how: str, tmp_path: Path
) -> None:
    path = real(name, tmp_path / "from" / name.removesuffix(".gz"))
    given = path if how == "named" else path.parent
    told = document("import", given, "--library", tmp_path / "library")
    assert len(told["imported"]) >= n_runs
    assert {run["mapping"] for run in told["imported"]} == {mapping}
    said = headway("import", given, "--library", tmp_path / "library").stderr
    assert f"through the mapping {mapping}" in said


def test_a_mapping_that_leaves_something_open_waits_for_it(tmp_path: Path) -> None:
    shutil.copy(REAL / "evalscope.db", tmp_path)
    arguments = ("import", tmp_path, "--library", tmp_path / "library")
    told = document(*arguments, exit_code=1)
    (skipped,) = told["skipped"]
    assert (skipped["mapping"], skipped["is_result"]) == ("evalscope", True)
    assert "--set load.kind=" in skipped["why"]
    stated = ("--set", "load.kind=closed", "--set", "load.concurrency=4")
    told = document(*arguments, *stated)
    assert [run["mapping"] for run in told["imported"]] == ["evalscope"]
    assert told["skipped"] == []


def test_two_mappings_that_fit_are_named_and_neither_is_used(tmp_path: Path) -> None:
    library = tmp_path / "library"
    (guidellm,) = [each.mapping for each in saved.builtin() if each.name == "guidellm"]
    mapped.save(mapped.loads(mapped.dumps(guidellm).replace('"guidellm"', '"ours"', 1)), library)
    real("guidellm-clean.json.gz", tmp_path / "from" / "benchmarks.json")
    told = document("import", tmp_path / "from", "--library", library, exit_code=1)
    (skipped,) = told["skipped"]
    assert "--mapping ours" in skipped["why"]
    assert "--mapping guidellm" in skipped["why"]


def test_a_folder_of_several_tools_says_what_it_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "from"
    real("guidellm-clean.json.gz", folder / "benchmarks.json")
    shutil.copy(VLLM, folder / "vllm.json")
    lines(folder / "requests.csv", [])
    (folder / "requests.csv").write_text("ttft_ms,e2e_latency_ms,status\n120,900,ok\n")
    (folder / "notes.txt").write_text("cold machine")
    (folder / "config.json").write_text('{"model": "m", "seed": 7}')
    told = document("import", folder, "--library", tmp_path / "library", exit_code=1)
    assert {Path(run["source"]).name for run in told["imported"]} == {
        "benchmarks.json",
        "vllm.json",
    }
    skipped = {Path(each["source"]).name: each for each in told["skipped"]}
    assert {name: each["is_result"] for name, each in skipped.items()} == {
        "config.json": False,
        "notes.txt": False,
        "requests.csv": True,
    }
    assert "headway mapping propose" in skipped["requests.csv"]["why"]
    said = headway("import", folder, "--library", tmp_path / "library", exit_code=1).stderr
    for name in skipped:
        assert name in said


def test_totals_alone_are_a_result_left_out_and_beside_a_source_they_are_not(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "from"
    lines(folder / "totals.jsonl", [SGLANG])
    document("import", folder, "--library", tmp_path / "library", exit_code=1)
    shutil.copy(VLLM, folder / "vllm.json")
    told = document("import", folder, "--library", tmp_path / "library")
    (skipped,) = told["skipped"]
    assert "totals" in skipped["why"]


@pytest.mark.parametrize("name", ["totals.jsonl", "totals.json"])
@pytest.mark.parametrize("n", [1, 3])
def test_totals_are_called_totals_with_the_option_that_keeps_requests(
    name: str, n: int, tmp_path: Path
) -> None:
    path = lines(tmp_path / name, [SGLANG | {"tag": f"{place}"} for place in range(n)])
    told = document("import", path, "--library", tmp_path / "library", exit_code=1)
    (refused,) = told["refused"]
    assert refused["code"] == "aggregate_only"
    assert "--output-details" in refused["message"]
    assert "mapping propose" not in refused["message"]
    proposed = headway("mapping", "propose", path, exit_code=1)
    assert "--output-details" in proposed.stderr


@pytest.mark.parametrize(
    "columns",
    [
        ["duration", "completed", "mean_ttft_ms", "p99_ttft_ms"],
        ["Request Count", "Median Response Time", "Average Response Time", "99%"],
        ["latency.mean", "latency.p99", "throughput"],
        ["metrics.time_to_first_token_ms.successful.mean",
         "metrics.time_to_first_token_ms.successful.median"],
    ],
)  # fmt: skip
def test_statistics_of_one_quantity_are_totals(columns: list[str]) -> None:
    assert totals.are_named(columns)


@pytest.mark.parametrize(
    "columns",
    [
        ["ttft", "latency", "max_tokens", "min_tokens"],
        ["ttft_ms", "itl_mean_ms", "itl_p99_ms", "itl_max_ms", "e2e_latency_ms"],
        ["mean_latency", "ttft"],
        ["inter_token_latency_mean", "inter_token_latency_max", "request_latency"],
    ],
)
def test_a_request_with_statistics_of_its_gaps_is_no_total(columns: list[str]) -> None:
    assert not totals.are_named(columns)


def test_lines_named_json_are_lines(tmp_path: Path) -> None:
    path = lines(tmp_path / "results.json", VEGETA)
    told = document("import", path, "--library", tmp_path / "library", exit_code=1)
    (refused,) = told["refused"]
    assert refused["code"] == "foreign"
    assert "interrupted" not in refused["message"]
    assert "headway mapping propose" in refused["message"]
    assert "guidellm" in refused["message"]


def test_a_document_that_breaks_off_is_still_damaged(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{\n "requests": [\n  {"ttft": 1},')
    told = document("import", path, "--library", tmp_path / "library", exit_code=1)
    assert [entry["code"] for entry in told["refused"]] == ["damaged"]


def test_an_infinite_rate_is_no_rate(tmp_path: Path) -> None:
    rows = [{"rate": float("inf"), "ttft": 0.1, "latency": 0.5, "n": n} for n in range(3)]
    path = lines(tmp_path / "rows.jsonl", rows)
    mapping = tmp_path / "mapping.toml"
    mapping.write_text("""
headway_mapping = 1
name = "ours"
kind = "run"

[run]
boundary = "client"
clock = "none"
token_basis = "none"
index_basis = "order"
offered = "rows"
load.kind = "unlimited"
load.declared_rps = { from = "rate" }

[fields.ttft_us]
from = "ttft"
unit = "s"

[fields.latency_us]
from = "latency"
unit = "s"

[fields.outcome]
value = "completed"
""")
    library = tmp_path / "library"
    told = document("import", path, "--mapping", mapping, "--library", library)
    (run,) = told["imported"]
    assert run["load"]["declared_rps"] is None
    assert run["outcomes"]["completed"] == 3


def test_warnings_and_the_next_step_are_said_in_words(tmp_path: Path) -> None:
    path = real("guidellm-faults.json.gz", tmp_path / "benchmarks.json")
    library = tmp_path / "library"
    told = document("import", path, "--library", library)
    said = headway("import", path, "--library", library).stderr
    findings = [each for run in told["imported"] for each in run["findings"]]
    assert findings
    for finding in findings:
        assert (finding["message"] in said) == (finding["severity"] != "info")
    assert f"headway summary --library {library}" in said
