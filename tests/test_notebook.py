"""A notebook gets the numbers of the commands, as frames and frozen results."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import headway
from commands import document
from headway import record
from headway.errors import MisuseError, QueryError
from headway.model import Window
from headway.stats.verdicts import Verdict
from libraries import make_run, write

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample_data" / "vidur-azure-conversation"
PAGE = ROOT / "docs" / "notebooks.md"


@pytest.fixture(scope="module")
def library() -> Iterator[headway.Library]:
    with headway.open(SAMPLES) as opened:
        yield opened


@pytest.fixture
def small(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"sent_us": 0, "ttft_us": 100_000, "latency_us": 200_000, "chunk_gaps_us": [100_000]},
        {"sent_us": 1_000_000, "outcome": "failed"},
    ]
    write(make_run(rows, "r0", state=[{"at_us": 0, "running": 1}]), tmp_path / "library")
    write(make_run(rows, "r1", policy="other", replicate=2, study="second"), tmp_path / "library")
    return tmp_path / "library"


def close_to(value: Any) -> Any:
    """Return a document whose numbers may differ in the last digits: sums have no fixed order."""
    if isinstance(value, dict):
        return {key: close_to(each) for key, each in value.items()}
    if isinstance(value, list):
        return [close_to(each) for each in value]
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


def test_the_example_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - our own documentation
    assert names["runs"].height >= 21
    assert names["p99"].height == 21
    assert names["requests"].columns == ["scheduled_us", "ttft_us", "outcome"]
    assert names["requests"].height == 500
    assert isinstance(names["answer"].verdict, Verdict)
    assert names["difference"].is_comparable
    assert isinstance(names["reasons"], pl.DataFrame)


def test_every_member_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    members = [name for name in vars(headway.Library) if not name.startswith("_")]
    assert [name for name in members if not re.search(rf"`{name}\b", text)] == []


def test_a_summary_is_the_commands(library: headway.Library) -> None:
    found = library.summary(percentiles=[99, 50], window="0..60s", origin="sent", method="linear")
    said = document(
        "summary", "--library", SAMPLES, "--percentiles", "50,99", "--window", "0..60s",
        "--origin", "sent", "--method", "linear",
    )  # fmt: skip
    assert library.document(found) == close_to(said)
    for row in found.percentiles.iter_rows(named=True):
        (run,) = [each for each in said["runs"] if each["run_id"] == row["run_id"]]
        metric = run["metrics"][row["metric"]]
        if row["percentile"] is None:
            assert (row["status"], metric["p"]) == (metric["status"], {})
            continue
        point = metric["p"][f"{row['percentile']:g}"]
        assert row["value_ms"] == (point["value"] and pytest.approx(point["value"]))
        assert (row["not_reached"], row["status"]) == (point["not_reached"], metric["status"])
        assert (row["n"], row["denominator"]) == (metric["n"], metric["denominator"])
    for row in found.accounts.iter_rows(named=True):
        (run,) = [each for each in said["runs"] if each["run_id"] == row["run_id"]]
        assert {name: row[name] for name in run["outcomes"]} == run["outcomes"]
        assert row["goodput_rps"] == pytest.approx(run["goodput_rps"])
        assert {name: row[name] for name in run["window"]} == run["window"]


def test_a_verdict_is_the_commands(library: headway.Library) -> None:
    answer = library.verdict(policy="sarathi", load=2, claim="run", ttft_ms=2000, stall_ms=100)
    said = document(
        "verdict", "--library", SAMPLES, "--policy", "sarathi", "--load", "2", "--claim", "run",
        "--ttft-ms", "2000", "--stall-ms", "100",
    )  # fmt: skip
    assert library.document(answer) == close_to(said)
    assert answer.is_declared
    assert answer.verdict is Verdict.ACCEPTED


def test_a_difference_is_the_commands(library: headway.Library) -> None:
    found = library.diff("vllm", "sarathi", load=4, window=Window(0, 60_000_000))
    command = ("vllm", "sarathi", "--load", "4", "--window", "0..60s", "--library", SAMPLES)
    assert library.document(found) == close_to(document("diff", *command))


def test_a_query_is_the_commands(library: headway.Library) -> None:
    rows = library.query("accounting/reasons", end_us=60_000_000)
    command = ("accounting/reasons", "--param", "end_us=60000000", "--library", SAMPLES)
    assert rows.to_dicts() == close_to(document("query", *command))
    one = library.query("accounting/outcomes", run_ids=["r0d3f606439ab"])
    assert set(one["run_id"]) == {"r0d3f606439ab"}


def test_runs_are_described_in_reading_order(library: headway.Library) -> None:
    runs = library.runs
    assert runs.select("policy").unique(maintain_order=True)["policy"].to_list() == [
        "faster_transformer", "orca", "sarathi", "vllm",
    ]  # fmt: skip
    limited = runs.filter(pl.col("time_limit_s").is_not_null())
    assert limited.select("label", "load_kind", "declared_rps", "n_offered").rows() == [
        ("vllm-qps8-limit60s", "trace", 8.0, 500)
    ]
    assert library.info(limited["run_id"][0]).manifest.recorded() > 3
    assert all(Path(file).is_file() for file in runs["file"])


def test_requests_are_those_of_the_files(small: Path) -> None:
    with headway.open(small) as library:
        rows = library.requests()
        assert rows.columns == record.REQUESTS.names
        assert rows["run_id"].to_list() == ["r1", "r1", "r0", "r0"]
        path = small / "study" / "r0.parquet"
        whole = pl.DataFrame(pl.from_arrow(record.read(path).requests))
        assert library.requests("r0").equals(whole)
        assert library.requests(study="second")["run_id"].unique().to_list() == ["r1"]
        some = library.requests("r0", columns=["chunk_gaps_us", "outcome"])
        assert some.to_dict(as_series=False) == {
            "chunk_gaps_us": [[100_000], None],
            "outcome": ["completed", "failed"],
        }


def test_samples_are_those_of_the_companions(small: Path) -> None:
    with headway.open(small) as library:
        assert library.state(columns=["run_id", "running"]).rows() == [("r0", 1)]
        nothing = library.state("r1")
        assert (nothing.height, nothing.columns) == (0, record.STATE.names)


def test_what_was_not_reached_is_told_from_what_was_not_measured(small: Path) -> None:
    with headway.open(small) as library:
        found = library.summary("r0", percentiles=[50, 99]).percentiles
    ttft = found.filter(metric="ttft_ms").select("percentile", "value_ms", "not_reached").rows()
    assert ttft == [(50.0, 100.0, False), (99.0, None, True)]
    tpot = found.filter(metric="tpot_ms").select("status", "percentile", "not_reached").rows()
    assert tpot == [("not_recorded", None, None)]


def test_several_paths_are_one_library(small: Path) -> None:
    with headway.open(small / "study" / "r0.parquet", str(SAMPLES)) as library:
        assert library.runs.height == 22
        assert "22 runs; studies: study, vidur" in repr(library)


def test_what_cannot_be_read_is_warned_of(small: Path) -> None:
    (small / "study" / "bad.parquet").write_bytes(b"PAR1")
    with pytest.warns(UserWarning, match=r"left out bad\.parquet: .* not a readable Parquet file"):
        library = headway.open(small)
    assert [broken.path.name for broken in library.broken] == ["bad.parquet"]
    assert library.runs.height == 2
    library.close()


def test_a_library_without_runs_has_empty_frames(tmp_path: Path) -> None:
    with headway.open(tmp_path) as library:
        assert library.runs.height == library.requests().height == 0
        assert library.summary().percentiles.height == library.summary().accounts.height == 0


def test_a_closed_library_says_so(small: Path) -> None:
    with headway.open(small) as library:
        pass
    library.close()
    assert repr(library) == "<headway library, closed>"
    with pytest.raises(MisuseError, match="this library is closed; open it again"):
        library.query("accounting/reasons")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda it: it.requests("nothing"), "there is no run 'nothing'"),
        (
            lambda it: it.requests(columns=["colour"]),
            "there are no columns colour; there are: run_",
        ),
        (lambda it: it.summary(study="nothing"), "there is no study 'nothing'"),
        (
            lambda it: it.summary(percentiles=[0, 50]),
            r"percentiles \[0\]; expected numbers between",
        ),
        (lambda it: it.summary(basis="all"), "basis is 'all'; expected one of offered, completed"),
        (lambda it: it.summary(window="later"), "expected A..B"),
        (lambda it: it.verdict(), "several studies"),
        (lambda it: it.verdict(gap_ms=3), "there is no gap_ms; expected some of ttft_ms"),
        (lambda it: it.verdict(ttft_ms=-1), "expected milliseconds above 0"),
        (lambda it: it.verdict(ttft_ms=1, claim="all"), "claim is 'all'; expected one of run"),
        (lambda it: it.diff("policy", "nobody"), "there is no run and no policy 'nobody'"),
        (lambda it: it.diff("r0", "r1", attainment=0.5), "there is no attainment"),
        (lambda it: it.query("comparison/pairs"), "missing --param"),
    ],
)
def test_what_does_not_fit_is_misuse(ask: Any, message: str, small: Path) -> None:
    with headway.open(small) as library, pytest.raises(MisuseError, match=message):
        ask(library)


def test_a_query_that_is_not_there_lists_those_that_are(small: Path) -> None:
    with headway.open(small) as library:
        with pytest.raises(QueryError, match="there is no query 'nothing'; there are: acc"):
            library.query("nothing")
        with pytest.raises(QueryError, match="surplus colour"):
            library.query("accounting/reasons", colour=1)


def test_opening_nothing_is_misuse(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="at least one library folder"):
        headway.open()
    with pytest.raises(MisuseError, match="does not exist"):
        headway.open(tmp_path / "nowhere")


def test_a_run_is_written_and_read_again(tmp_path: Path) -> None:
    with headway.RunWriter(tmp_path, study="s", harness="sim", boundary="simulator") as run:
        run.request(outcome="completed", sent_us=0, ttft_us=5_000, latency_us=9_000)
    with headway.open(tmp_path) as library:
        point = library.summary(percentiles=[50]).percentiles.filter(metric="ttft_ms")
        assert point["value_ms"].to_list() == [5.0]
        assert library.runs["rows_sha256"].to_list() == [run.info.rows_sha256]
    assert pq.read_metadata(library_file(tmp_path)).num_rows == 1


def library_file(folder: Path) -> Path:
    (found,) = folder.glob("*/*.parquet")
    return found
