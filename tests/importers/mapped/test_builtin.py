"""The mappings that come with Headway, over files as their tools wrote them.

Percentiles are those that each tool printed for the run, by its own method; of Splitwise-sim and
llama-benchy, which print none, counts and first rows were read off the files.
"""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from commands import document, headway
from foreign import codes, run, runs, values
from headway.importers import mapped
from headway.importers.mapped import saved

REAL = Path(__file__).parent / "real"
FILES = {
    "guidellm": ["guidellm-clean.json.gz", "guidellm-faults.json.gz"],
    "servebench-rate": ["servebench-rate.json.gz"],
    "servebench-concurrency": ["servebench-concurrency.json.gz"],
    "genai-bench": ["genai-bench.json.gz"],
    "agentic-bench": ["agentic-bench.jsonl.gz"],
    "evalscope": ["evalscope.db"],
    "llama-benchy": ["llama-benchy.jsonl.gz"],
    "splitwise-sim": ["splitwise-sim.csv.gz"],
}
ANSWERS = {"evalscope": {"load.kind": "closed", "load.concurrency": "1"}}

# Outcomes, and milliseconds that the tool printed: {field: {percentile: value}}.
EXPECTED = [
    (
        "guidellm-clean.json.gz",
        {"completed": 39, "unaccounted": 1},
        "nearest",
        {
            "ttft_us": {50: 84.515, 95: 183.939, 99: 188.118},
            "latency_us": {50: 758.212, 95: 1125.093, 99: 1243.993},
        },
    ),
    (
        "guidellm-faults.json.gz",
        {"completed": 29, "timed_out": 19, "rejected": 9, "failed": 4, "cut_off": 29},
        "nearest",
        {
            "ttft_us": {50: 2643.456, 95: 3348.122, 99: 3376.818},
            "latency_us": {50: 3837.905, 95: 4713.217, 99: 4739.215},
        },
    ),
    (
        "servebench-rate.json.gz",
        {"completed": 60, "rejected": 7, "failed": 6, "timed_out": 3, "truncated": 4},
        "linear",
        {
            "ttft_us": {50: 1812.4, 90: 2712.9, 99: 2850.8},
            "latency_us": {50: 2840.5, 90: 3734.8, 99: 4012.7},
            "chunk_gaps_us": {50: 24.0, 90: 71.2, 99: 142.4},
        },
    ),
    (
        "servebench-concurrency.json.gz",
        {"completed": 40},
        "linear",
        {
            "ttft_us": {50: 200.1, 90: 224.3, 99: 270.8},
            "latency_us": {50: 831.7, 90: 945.7, 99: 988.2},
            "chunk_gaps_us": {50: 16.1, 90: 33.2, 99: 76.0},
        },
    ),
    (
        "genai-bench.json.gz",
        {"completed": 27, "rejected": 3, "failed": 5},
        "linear",
        {
            "ttft_us": {50: 400.7, 95: 1303.6, 99: 2017.6},
            "latency_us": {50: 1331.4, 95: 2362.2, 99: 2741.4},
        },
    ),
    ("agentic-bench.jsonl.gz", {"completed": 32}, "linear", {}),
    (
        "evalscope.db",
        {"completed": 10},
        "nearest",
        {
            "ttft_us": {50: 67.869, 95: 538.258, 99: 538.258},
            "latency_us": {50: 704.8, 95: 3432.7, 99: 3432.7},
            "chunk_gaps_us": {50: 13.88, 95: 78.90, 99: 340.13},
        },
    ),
    ("splitwise-sim.csv.gz", {"completed": 500}, "linear", {}),
]


def said(name: str) -> mapped.Mapping:
    return mapped.find(name, None).answered(ANSWERS.get(name, {}))


def name_of(file: str) -> str:
    return next(name for name, files in FILES.items() if file in files)


def percentile(known: pl.Series, percent: int, method: str) -> float:
    """Return a percentile by interpolation, or as the smallest value with so many at most it."""
    if method == "linear":
        return float(known.quantile(percent / 100, "linear") or 0)
    ranked = known.sort()
    return float(ranked[-(-percent * len(ranked) // 100) - 1])


def test_every_built_in_mapping_has_a_file() -> None:
    assert {each.name for each in saved.builtin()} == set(FILES)


@pytest.mark.parametrize(("file", "outcomes", "method", "printed"), EXPECTED)
def test_a_real_file_gives_what_its_tool_printed(
    file: str, outcomes: dict[str, int], method: str, printed: dict[str, dict[int, float]]
) -> None:
    found = run(REAL / file, said(name_of(file)))
    assert Counter(values(found, "outcome")) == outcomes
    rows = pl.DataFrame(found.requests).filter(outcome="completed")
    for field, expected in printed.items():
        known = rows[field].explode() if field == "chunk_gaps_us" else rows[field]
        for percent, milliseconds in expected.items():
            mine = percentile(known.drop_nulls(), percent, method) / 1000
            assert mine == pytest.approx(milliseconds, abs=0.06)


def test_levels_of_llama_benchy_are_runs() -> None:
    one, four = runs(REAL / FILES["llama-benchy"][0], said("llama-benchy"))
    assert [found.info.load.concurrency for found in (one, four)] == [1, 4]
    assert [found.info.n_offered for found in (one, four)] == [3, 12]
    first = pl.DataFrame(one.requests).row(0, named=True)
    # 1795978314.8170245, .8928316 and the tool's own 0.0755556…
    assert (first["sent_us"], first["ttft_us"], first["n_chunks"]) == (0, 75_556, 24)
    assert codes(one) == {"rows_left_out": 3}


def test_a_simulation_of_splitwise_says_what_it_lacks() -> None:
    found = run(REAL / FILES["splitwise-sim"][0], said("splitwise-sim"))
    first = pl.DataFrame(found.requests).row(0, named=True)
    assert (first["request_index"], first["ttft_us"], first["latency_us"]) == (1, 64_636, 4_022_799)
    assert codes(found) == {"offered_unknown": 500}


def test_facts_are_read_from_the_documents() -> None:
    guide = run(REAL / "guidellm-faults.json.gz", said("guidellm")).info
    assert (guide.load.kind, guide.load.declared_rps, guide.harness_version) == (
        "open",
        12,
        "0.8.1",
    )
    assert guide.started_at == "2026-11-29T18:37:34.630843+00:00"
    serve = run(REAL / "servebench-rate.json.gz", said("servebench-rate")).info
    assert (serve.load.declared_rps, serve.manifest.seed) == (12, 7)


@pytest.mark.parametrize("name", FILES)
def test_a_file_fits_its_own_mapping_only(name: str) -> None:
    for file in FILES[name]:
        fitting = {each.name for each in mapped.fitting(REAL / file, None)}
        # The two of servebench differ in the levels they take, not in the columns.
        assert name in fitting
        assert {each.split("-")[0] for each in fitting} == {name.split("-")[0]}
        assert mapped.propose(REAL / file).known in fitting


def test_what_a_mapping_leaves_open_may_be_stated_at_import(tmp_path: Path) -> None:
    library, path = tmp_path / "library", REAL / "evalscope.db"
    asked = headway("import", path, "--mapping", "evalscope", "--library", library, exit_code=2)
    assert "load.kind: how were the requests offered?" in asked.stderr
    stated = ["--set", "load.kind=closed", "--set", "load.concurrency=1"]
    found = document("import", path, "--mapping", "evalscope", "--library", library, *stated)
    assert found["imported"][0]["load"]["concurrency"] == 1
