"""A study's frozen workload: requests that were to be offered and left no row."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headway import ingest, record
from headway.ingest import Imported, Report
from headway.model import IndexBasis, OfferedBasis
from headway.record import Run

FIXTURES = Path(__file__).parent / "importers"
ENGINE = FIXTURES / "aiperf" / "study" / "kv96-rate6.8"
VLLM = FIXTURES / "vllm" / "chat-rate7"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a study whose only run has its records and no plan, five of them lost."""
    folder = tmp_path / "mine"
    (folder / "run").mkdir(parents=True)
    lines = (ENGINE / "profile_export.jsonl").read_text("utf-8").splitlines()
    kept = [line for line in lines if json.loads(line)["metadata"]["session_num"] < 175]
    (folder / "run" / "profile_export.jsonl").write_text("\n".join(kept), "utf-8")
    shutil.copy(ENGINE / "trace.jsonl", folder / "frozen.jsonl")
    (folder / "study.toml").write_text('workload = "frozen.jsonl"\n', "utf-8")
    return folder


def bring(study: Path) -> tuple[Report, list[Run]]:
    library = study.parent / "library"
    report = ingest.import_paths([study], library)
    paths = (path for path in library.glob("*/*") if record.is_run_file(path))
    return report, [record.read(path) for path in paths]


def codes(imported: Imported) -> dict[str, int]:
    return {finding.code: finding.count for finding in imported.info.findings}


def rows(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run.requests.to_pylist()
    return sorted(found, key=lambda row: row["request_index"])


def test_requests_without_a_row_are_counted(study: Path) -> None:
    report, (run,) = bring(study)
    (imported,) = report.imported
    assert (imported.info.n_offered, imported.info.n_offered_basis) == (180, OfferedBasis.DECLARED)
    assert imported.info.index_basis is IndexBasis.PLAN
    assert codes(imported)["rows_missing"] == 5
    found = rows(run)
    assert [row["request_index"] for row in found] == list(range(180))
    assert Counter(row["outcome"] for row in found[175:]) == {"unaccounted": 5}
    plan = [json.loads(line) for line in (study / "frozen.jsonl").read_text("utf-8").splitlines()]
    assert [row["prompt_tokens"] for row in found] == [entry["input_length"] for entry in plan]
    assert [row["requested_output_tokens"] for row in found] == [e["output_length"] for e in plan]
    # Paced as the plan, so that its arrivals are those of the lost requests too.
    assert [row["scheduled_us"] for row in found[175:]] == [
        1000 * entry["timestamp"] for entry in plan[175:]
    ]
    assert record.problems(run) == []


def test_at_another_pace_the_arrivals_of_the_lost_are_not_known(study: Path) -> None:
    slow = [json.loads(line) for line in (study / "frozen.jsonl").read_text("utf-8").splitlines()]
    text = "\n".join(json.dumps(entry | {"timestamp": 3 * entry["timestamp"]}) for entry in slow)
    (study / "frozen.jsonl").write_text(text, "utf-8")
    _, (run,) = bring(study)
    assert {row["scheduled_us"] for row in rows(run)[175:]} == {None}


def test_a_workload_of_other_requests_is_not_used(study: Path) -> None:
    lines = (study / "frozen.jsonl").read_text("utf-8").splitlines()
    lines[7] = json.dumps(json.loads(lines[7]) | {"input_length": 1})
    (study / "frozen.jsonl").write_text("\n".join(lines), "utf-8")
    report, (run,) = bring(study)
    (imported,) = report.imported
    assert codes(imported)["sidecar_mismatch"] == 1
    assert imported.info.n_offered == run.requests.num_rows == 175
    (finding,) = [each for each in imported.info.findings if each.code == "sidecar_mismatch"]
    assert "request 7 has" in finding.message


def test_a_workload_that_is_too_short_is_not_used(study: Path) -> None:
    lines = (study / "frozen.jsonl").read_text("utf-8").splitlines()[:50]
    (study / "frozen.jsonl").write_text("\n".join(lines), "utf-8")
    report, _ = bring(study)
    (finding,) = [
        each for each in report.imported[0].info.findings if each.code == "sidecar_mismatch"
    ]
    assert "it has 50 requests" in finding.message


def test_a_run_with_a_plan_of_its_own_keeps_it(study: Path) -> None:
    shutil.copytree(VLLM, study / "vllm")
    report, _ = bring(study)
    (own,) = [each for each in report.imported if each.info.importer == "vllm"]
    assert "sidecar_mismatch" not in codes(own)
    assert own.info.index_basis is IndexBasis.PLAN


def test_a_workload_in_azures_shape_numbers_a_vllm_run(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "run").mkdir(parents=True)
    shutil.copy(VLLM / "result.json", folder / "run")
    result = json.loads((VLLM / "result.json").read_text("utf-8"))
    lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    for place, length in enumerate([*result["input_lens"], 99]):
        lines.append(f"2026-01-01 00:{place // 60:02}:{place % 60:02}.000000,{length},64")
    (folder / "azure.csv").write_text("\n".join(lines), "utf-8")
    (folder / "study.toml").write_text('workload = "azure.csv"\n', "utf-8")
    report, (run,) = bring(folder)
    (imported,) = report.imported
    assert imported.info.n_offered == len(result["input_lens"]) + 1
    assert rows(run)[-1]["outcome"] == "unaccounted"
    assert rows(run)[-1]["prompt_tokens"] == 99


def test_a_workload_that_is_not_there_refuses_its_runs(study: Path) -> None:
    (study / "frozen.jsonl").unlink()
    report, _ = bring(study)
    assert not report.imported
    assert "frozen.jsonl" in report.refused[0].message
