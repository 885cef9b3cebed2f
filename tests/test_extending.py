"""The example of docs/extending.md is a working importer."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from headway import importers, record
from headway.errors import ImportRefusedError
from headway.importers.source import Source

GUIDE = Path(__file__).parents[1] / "docs" / "extending.md"
COMPLETED = '{"example_id": "a", "status": "ok", "sent": 0.0, "first": 0.25, "end": 1.5}\n'
REJECTED = '{"example_id": "b", "status": "busy", "sent": 0.5}\n'
UNKNOWN = '{"example_id": "c", "status": "odd", "sent": 0.5}\n'


@pytest.fixture(scope="module")
def example() -> importers.Importer:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
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
