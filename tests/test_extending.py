"""The examples of docs/extending.md and docs/formats.md work: an importer, and two writers."""

import inspect
import re
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import headway
from commands import document
from headway import catalog, importers, record
from headway.analyses.summary import summarise
from headway.errors import ImportRefusedError
from headway.importers.source import Source
from headway.model import Metric, Outcome, RunInfo, Selection
from headway.producer.plan import PLANNED

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = DOCS / "extending.md"
COMPLETED = '{"example_id": "a", "status": "ok", "sent": 0.0, "first": 0.25, "end": 1.5}\n'
REJECTED = '{"example_id": "b", "status": "busy", "sent": 0.5}\n'
UNKNOWN = '{"example_id": "c", "status": "odd", "sent": 0.5}\n'


def blocks(page: Path) -> list[str]:
    """Return the Python on a page of documentation."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def example() -> importers.Importer:
    code, _ = blocks(GUIDE)
    module = ModuleType("headway_example")
    exec(compile(code, str(GUIDE), "exec"), module.__dict__)  # noqa: S102 - our own documentation
    importer = module.__dict__["IMPORTER"]
    assert isinstance(importer, importers.Importer)
    return importer


def source(folder: Path, text: str) -> Source:
    path = folder / "results.jsonl"
    path.write_text(text, encoding="utf-8")
    return Source.open(path)


def test_it_claims_its_files_only(example: importers.Importer, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": 1}\n', encoding="utf-8")
    assert example.claims(source(tmp_path, COMPLETED).path)
    assert not example.claims(other)


def test_its_run_keeps_the_rules_of_the_record(example: importers.Importer, tmp_path: Path) -> None:
    (run,) = example.runs(source(tmp_path, COMPLETED + REJECTED))
    assert record.problems(record.seal(run)) == []
    rows = run.requests.select(["outcome", "sent_us", "ttft_us", "latency_us"]).to_pylist()
    assert rows == [
        {"outcome": "completed", "sent_us": 0, "ttft_us": 250_000, "latency_us": 1_500_000},
        {"outcome": "rejected", "sent_us": 500_000, "ttft_us": None, "latency_us": None},
    ]


def test_it_refuses_what_it_does_not_know(example: importers.Importer, tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match=r"results\.jsonl:1: unknown status 'odd'"):
        list(example.runs(source(tmp_path, UNKNOWN)))


def ran(code: str, page: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, str(page), "exec"), names)  # noqa: S102 - our own documentation
    return names


def test_a_program_writes_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    writer = ran(blocks(GUIDE)[1], GUIDE)["run"]
    (file,) = document("validate", "library")["files"]
    assert (file["run_id"], file["warnings"]) == (writer.info.run_id, [])
    opened = catalog.open_catalog([tmp_path / "library"])
    (summary,) = summarise(opened, Selection(tuple(opened.runs)))
    assert summary.account.n_offered == summary.account.outcomes[Outcome.COMPLETED] == 20
    # A server that is slower than its arrivals: the wait grows by 100 ms with each request.
    ttft = summary.metrics[Metric.TTFT]
    assert ttft.max_ms == pytest.approx(150 + 19 * 100)
    assert summary.run.load.declared_rps == 2.0


def test_what_a_run_can_be_told_is_described() -> None:
    told = set(inspect.signature(headway.RunWriter).parameters)
    text = GUIDE.read_text(encoding="utf-8").split("## Runs from your own program")[1]
    assert [name for name in sorted(told) if not re.search(rf"\b{name}\b", text)] == []


def test_what_a_plan_may_know_is_described() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert [name for name in PLANNED if f"`{name}`" not in text] == []


def test_a_run_file_can_be_written_without_headway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(DOCS / "formats.md")
    script = tmp_path / "write.py"
    script.write_text(code, encoding="utf-8")
    # In a process of its own, where there is no Headway to import.
    hidden = "import sys; sys.modules['headway'] = None; import runpy; runpy.run_path('write.py')"
    subprocess.run([sys.executable, "-c", hidden], check=True, timeout=60)
    (file,) = document("validate", "night-0.parquet")["files"]
    assert file["sound"]
    assert [each["code"] for each in file["warnings"]] == ["rows_sha256"]
    run = record.read(tmp_path / "night-0.parquet")
    assert run.requests["outcome"].to_pylist() == ["completed", "rejected"]
    assert list(catalog.open_catalog([tmp_path / "night-0.parquet"]).runs) == ["night-0"]


def test_the_description_needs_what_is_said_to_be_needed() -> None:
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    needed = text.split("The description needs")[1].split("the other members are optional")[0]
    required = {
        field.name
        for field in fields(RunInfo)
        if field.default is MISSING and field.default_factory is MISSING
    }
    assert set(re.findall(r"`(\w+)`", needed)) == required | {"kind"}
