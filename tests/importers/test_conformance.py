"""What every importer owes: its own files and no others, every request, the same run each time."""

from collections import Counter
from pathlib import Path

import pytest

from headway import importers, record
from headway.importers.source import Source
from headway.model import Outcome
from headway.record import Run

FIXTURES = Path(__file__).parent
SOURCES = {
    "vllm": sorted(
        [
            *FIXTURES.glob("vllm/*/result.json"),
            *FIXTURES.glob("vllm/*/openai-*.json"),
            *FIXTURES.glob("vllm/sweep/*/run=*.json"),
        ]
    ),
    "vidur": sorted(FIXTURES.glob("vidur/*/request_metrics.csv")),
    "aiperf": sorted(FIXTURES.glob("aiperf/**/profile_export.jsonl")),
}
REFUSED = {"rate8-nodetail"}
EVERY_FILE = sorted(path for path in FIXTURES.glob("*/*/**/*") if path.is_file())


def sealed(path: Path, name: str) -> list[Run]:
    return [record.seal(run) for run in importers.load(name).runs(Source.open(path))]


def good(name: str) -> list[Path]:
    return [path for path in SOURCES[name] if path.parent.name not in REFUSED]


CASES = [
    pytest.param(name, path, id=f"{name}-{path.parent.name}")
    for name in SOURCES
    for path in good(name)
]


@pytest.mark.parametrize("name", importers.names())
def test_there_are_fixtures(name: str) -> None:
    assert good(name)


@pytest.mark.parametrize("name", importers.names())
def test_it_claims_its_own_files_and_no_others(name: str) -> None:
    importer = importers.load(name)
    claimed = [path for path in EVERY_FILE if importer.claims(path)]
    assert sorted(claimed) == SOURCES[name]


@pytest.mark.parametrize("name", importers.names())
def test_the_files_beside_a_source_are_never_sources(name: str) -> None:
    importer = importers.load(name)
    beside = {path for source in SOURCES[name] for path in importer.sidecars(source)}
    assert beside
    assert [path for path in beside if importers.find(path) is not None] == []


@pytest.mark.parametrize(("name", "path"), CASES)
def test_no_request_is_lost(name: str, path: Path) -> None:
    for run in sealed(path, name):
        info = run.info
        assert run.requests.num_rows == info.n_offered + info.n_warmup
        counts = Counter(run.requests["outcome"].to_pylist())
        assert set(counts) <= set(Outcome)
        assert counts.total() == run.requests.num_rows


@pytest.mark.parametrize(("name", "path"), CASES)
def test_the_record_is_sound(name: str, path: Path) -> None:
    assert [record.problems(run) for run in sealed(path, name)] == [[]]


@pytest.mark.parametrize(("name", "path"), CASES)
def test_importing_again_gives_the_same_run(name: str, path: Path) -> None:
    first, second = sealed(path, name), sealed(path, name)
    assert [run.info for run in first] == [run.info for run in second]


@pytest.mark.parametrize(("name", "path"), CASES)
def test_first_token_and_gaps_add_up_to_the_latency(name: str, path: Path) -> None:
    for run in sealed(path, name):
        for row in run.requests.to_pylist():
            if row["outcome"] == Outcome.COMPLETED and row["chunk_gaps_us"] is not None:
                assert row["ttft_us"] + sum(row["chunk_gaps_us"]) == row["latency_us"]


@pytest.mark.parametrize(("name", "path"), CASES)
def test_the_description_names_no_folder_of_this_computer(name: str, path: Path) -> None:
    for run in sealed(path, name):
        assert str(FIXTURES.parent) not in repr(run.info)
