"""The tool's own successes, through the built-in mappings; samples of requests; old versions."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from commands import document, headway

REAL = Path(__file__).parent / "real"


def unpacked(name: str, folder: Path) -> Path:
    path = folder / name.removesuffix(".gz")
    path.write_bytes(gzip.decompress((REAL / name).read_bytes()))
    return path


def guidellm(folder: Path, edit: Any) -> Path:
    """Return a guidellm report, changed."""
    path = unpacked("guidellm-clean.json.gz", folder)
    report = json.loads(path.read_text())
    for benchmark in report["benchmarks"]:
        edit(benchmark)
    path.write_text(json.dumps(report))
    return path


# What each tool calls a success: of guidellm 29 of 90 completed, of genai-bench those without code.
@pytest.mark.parametrize(
    ("name", "n_successes"),
    [
        ("guidellm-clean.json.gz", 39),
        ("guidellm-faults.json.gz", 29),
        ("servebench-rate.json.gz", 60),
    ],
)
def test_the_tools_successes_are_a_population(name: str, n_successes: int, tmp_path: Path) -> None:
    library = tmp_path / "library"
    document("import", unpacked(name, tmp_path), "--library", library)
    (run,) = document("summary", "--library", library, "--basis", "source")["runs"]
    ttft = run["metrics"]["ttft_ms"]
    assert (ttft["status"], ttft["denominator"]) == ("measured", n_successes)
    assert run["basis_why"] is None


def test_genai_bench_takes_no_request_with_an_error_code(tmp_path: Path) -> None:
    library = tmp_path / "library"
    told = document("import", unpacked("genai-bench.json.gz", tmp_path), "--library", library)
    (run,) = document("summary", "--library", library, "--basis", "source")["runs"]
    n_completed = told["imported"][0]["outcomes"]["completed"]
    assert run["metrics"]["latency_ms"]["denominator"] == n_completed


@pytest.mark.parametrize("name", ["splitwise-sim.csv.gz", "llama-benchy.jsonl.gz"])
def test_where_a_mapping_does_not_say_it_the_reason_is_given(name: str, tmp_path: Path) -> None:
    library = tmp_path / "library"
    document("import", unpacked(name, tmp_path), "--library", library)
    told = document("summary", "--library", library, "--basis", "source")["runs"]
    assert all("does not say what the tool counted" in run["basis_why"] for run in told)
    said = headway("summary", "--library", library, "--basis", "source").stderr
    assert "does not say what the tool counted as a success" in said
    assert headway("summary", "--library", library).stderr.count("success") == 0


def test_a_guidellm_report_without_cached_tokens_is_read(tmp_path: Path) -> None:
    def edit(benchmark: dict[str, Any]) -> None:
        for rows in benchmark["requests"].values():
            for row in rows if isinstance(rows, list) else ():
                row.pop("cached_tokens", None)

    told = document("import", guidellm(tmp_path, edit), "--library", tmp_path / "library")
    assert [run["outcomes"]["completed"] for run in told["imported"]] == [39]


def test_a_sample_is_no_run_with_losses(tmp_path: Path) -> None:
    def edit(benchmark: dict[str, Any]) -> None:
        benchmark["requests"]["successful"] = benchmark["requests"]["successful"][:10]

    told = document("import", guidellm(tmp_path, edit), "--library", tmp_path / "library")
    (run,) = told["imported"]
    assert run["n_offered"] == 10
    assert run["outcomes"]["unaccounted"] == 0
    (finding,) = [each for each in run["findings"] if each["code"] == "rows_sampled"]
    assert (finding["severity"], finding["count"]) == ("warning", 29)


def test_empty_lists_are_totals_with_the_option_that_fills_them(tmp_path: Path) -> None:
    def edit(benchmark: dict[str, Any]) -> None:
        benchmark["requests"] = {key: [] for key in benchmark["requests"]}

    path = guidellm(tmp_path, edit)
    for arguments in ((), ("--mapping", "guidellm")):
        told = document("import", path, *arguments, "--library", tmp_path / "l", exit_code=1)
        (refused,) = told["refused"]
        assert refused["code"] == "aggregate_only"
        assert "--sample-requests" in refused["message"]
