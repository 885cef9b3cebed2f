"""The record keeps what is written, and refuses what cannot be."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from headway import record
from headway.errors import RecordError
from headway.model import (
    Finding,
    Load,
    LoadKind,
    Manifest,
    Metric,
    Outcome,
    RunInfo,
    Severity,
    ToolAggregate,
    ToolReport,
)
from libraries import describe, make_run, write

COMPLETED = {"sent_us": 5, "ttft_us": 10, "latency_us": 30, "chunk_gaps_us": [20]}


def unknown_or(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


small = st.integers(0, 2**31 - 1)
times = st.integers(-(2**40), 2**40)


@st.composite
def requests(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw the rows of a sound run: whatever the source knew, and whatever it did not."""
    rows = []
    for index in range(draw(st.integers(1, 12))):
        outcome = draw(st.sampled_from(list(Outcome)))
        row: dict[str, Any] = {
            "request_index": index,
            "phase": draw(st.sampled_from(["warmup", "measured"])),
            "segment": draw(unknown_or(st.sampled_from(["steady", "burst", "recovery", "ramp"]))),
            "outcome": outcome.value,
            "outcome_basis": draw(st.sampled_from(["stated", "inferred"])),
            "scheduled_us": draw(unknown_or(times)),
            "prompt_tokens": draw(unknown_or(small)),
            "reason": draw(unknown_or(st.text(max_size=20))),
        }
        if outcome is not Outcome.NOT_SENT:
            gaps = draw(unknown_or(st.lists(small, max_size=5)))
            row["sent_us"] = draw(unknown_or(times))
            row["ttft_us"] = draw(unknown_or(small)) if gaps is None else draw(small)
            row["chunk_gaps_us"] = gaps
        if outcome is Outcome.COMPLETED:
            answer_us = sum(row["chunk_gaps_us"] or ()) + draw(small)
            row["latency_us"] = (row["ttft_us"] or 0) + answer_us
        rows.append(row)
    return rows


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests())
def test_reading_returns_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    run = make_run(rows, completion_times=True)
    again = record.read(write(run, tmp_path_factory.mktemp("library")))
    assert again.info == run.info
    assert again.requests.equals(run.requests)
    assert record.problems(again) == []
    for column in ("scheduled_us", "prompt_tokens", "ttft_us", "chunk_gaps_us", "segment"):
        assert again.requests[column].to_pylist() == [row.get(column) for row in rows]


@given(requests())
def test_outcomes_add_up_and_rows_are_offered_and_warm_up(rows: list[dict[str, Any]]) -> None:
    run = make_run(rows)
    table = pl.DataFrame(pl.from_arrow(run.requests))
    measured = table.filter(pl.col("phase") == "measured")
    counts = measured["outcome"].value_counts()["count"].sum() if measured.height else 0
    assert counts == run.info.n_offered
    assert table.height == run.info.n_offered + run.info.n_warmup


@given(requests())
def test_the_digest_ignores_the_name_of_the_run_only(rows: list[dict[str, Any]]) -> None:
    digest = make_run(rows).info.rows_sha256
    assert make_run(rows, run_id="r1").info.rows_sha256 == digest
    changed = [*rows[:-1], rows[-1] | {"http_status": 599}]
    assert make_run(changed).info.rows_sha256 != digest
    unknown = [*rows[:-1], rows[-1] | {"cached_tokens": 0}]
    assert make_run(unknown).info.rows_sha256 != digest


def test_a_description_survives_whole(tmp_path: Path) -> None:
    info = describe(
        load=Load(LoadKind.CLOSED, concurrency=4, arrivals="gamma", burstiness=0.5),
        manifest=Manifest(model="m", token_budget=2048, client_hosts=1),
        findings=(Finding("code", Severity.WARNING, 3, "three “things” | <b>"),),
        tool=ToolReport(n_completed=2, aggregates=(ToolAggregate(Metric.TTFT, "p99", 1.5, "d"),)),
        policy_parameters={"chunk_size": "512"},
        policy=None,
        started_at="2026-11-29T18:00:00Z",
    )
    run = record.seal(record.Run(info, make_run([{}, {}]).requests))
    assert record.read(write(run, tmp_path)).info == run.info
    assert record.read_info(write(run, tmp_path)) == run.info


def test_gaps_are_stored_as_declared(tmp_path: Path) -> None:
    rows = [COMPLETED | {"chunk_tokens": [1, 4]}] * 9000
    path = write(make_run(rows), tmp_path)
    metadata = pq.read_metadata(path)
    assert metadata.row_group(0).num_rows == record.ROW_GROUP_REQUESTS
    chunks = {
        metadata.row_group(0).column(i).path_in_schema: metadata.row_group(0).column(i)
        for i in range(metadata.num_columns)
    }
    for name in ("chunk_gaps_us", "chunk_tokens"):
        column = chunks[f"{name}.list.element"]
        assert column.physical_type == "INT32"
        assert "BYTE_STREAM_SPLIT" in column.encodings
        assert column.compression == "ZSTD"


BREAKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "phase": lambda row: row | {"phase": "cooldown"},
    "segment": lambda row: row | {"segment": "night"},
    "outcome": lambda row: row | {"outcome": "lost"},
    "outcome_basis": lambda row: row | {"outcome_basis": None},
    "request_index": lambda row: row | {"request_index": 1},
    "not_negative": lambda row: row | {"ttft_us": -1},
    "completion_time": lambda row: row | {"latency_us": None},
    "latency_of_success": lambda row: row | {"outcome": "failed"},
    "first_before_last": lambda row: row | {"ttft_us": 31},
    "not_sent": lambda row: row | {"outcome": "not_sent", "latency_us": None},
    "gaps": lambda row: row | {"max_gap_us": 21},
    "gaps_in_answer": lambda row: row | {"chunk_gaps_us": [1_200], "max_gap_us": 1_200},
    "chunk_tokens": lambda row: row | {"chunk_tokens": [1]},
}


def test_a_series_becomes_the_column_that_its_values_become() -> None:
    values: dict[str, list[Any]] = {
        "request_index": [0, 1, 2],
        "outcome": ["completed", "failed", "completed"],
        "ttft_us": [5, None, 2**40],
        "prompt_tokens": [1, 2, None],
        "chunk_gaps_us": [[1, 2], None, []],
    }
    series = {name: pl.Series(each) for name, each in values.items()}
    assert record.requests_table(series).equals(record.requests_table(values))
    sliced = {name: pl.Series([*each, each[0]]).head(3) for name, each in values.items()}
    assert record.requests_table(sliced).equals(record.requests_table(values))


@pytest.mark.parametrize(
    ("column", "values"),
    [("prompt_tokens", [2**31]), ("prompt_tokens", ["7"]), ("outcome", [7]), ("ttft_us", [0.5])],
)
def test_a_series_that_does_not_fit_is_refused(column: str, values: list[object]) -> None:
    with pytest.raises(RecordError, match=f"column {column}"):
        record.requests_table({column: pl.Series(values)})


@pytest.mark.parametrize("rule", BREAKS)
def test_a_broken_row_is_named_by_its_rule(rule: str, tmp_path: Path) -> None:
    sound = make_run([COMPLETED, COMPLETED], completion_times=True)
    assert record.problems(sound) == []
    first = {"request_index": 0} | COMPLETED
    run = make_run([BREAKS[rule](first), COMPLETED], completion_times=True, n_offered=2)
    assert rule in {error.rule for error in record.problems(run)}
    with pytest.raises(RecordError):
        record.write(run, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("latency_us", "gaps_us", "is_sound"),
    [
        # An answer of 0.2 s after its first token has no stall of 0.9 s.
        (300_000, [500_000, 900_000], False),
        (300_000, [100_000, 100_000], True),
        # 1 ms is for clocks that are not quite one.
        (300_000, [101_001], True),
        (300_000, [200_000, 1_002], False),
        # A tool that writes whole milliseconds rounds each gap by up to half of one.
        (300_000, [10_000] * 22 + [1_000] * 3, False),
        (300_000, [20_000] * 10 + [3_000] * 2, True),
        # Without a latency there is no end to compare with.
        (None, [900_000], True),
    ],
)
def test_gaps_fit_into_their_answer(
    latency_us: int | None, gaps_us: list[int], is_sound: bool
) -> None:
    row = {"ttft_us": 100_000, "latency_us": latency_us, "chunk_gaps_us": gaps_us}
    found = record.problems(make_run([row, COMPLETED]))
    assert [error.rule for error in found] == ([] if is_sound else ["gaps_in_answer"])
    assert is_sound or "request 0" in str(found[0])


def test_a_longest_gap_alone_fits_into_its_answer() -> None:
    row = {"ttft_us": 100_000, "latency_us": 300_000, "n_chunks": 3}
    assert record.problems(make_run([row | {"max_gap_us": 250_000}, {}])) == []
    (found,) = record.problems(make_run([row | {"max_gap_us": 301_001}, {}]))
    assert found.rule == "gaps_in_answer"


def test_a_negative_gap_breaks_the_gaps() -> None:
    run = make_run([COMPLETED | {"chunk_gaps_us": [-5, 25]}, COMPLETED])
    assert [error.rule for error in record.problems(run)] == ["gaps"]


def test_no_chunks_are_not_a_stream() -> None:
    assert [error.rule for error in record.problems(make_run([{"n_chunks": 0}, {}]))] == ["gaps"]


@pytest.mark.parametrize("sample", [{"running": 1}, {"at_us": 0, "kv_fraction": -0.5}])
def test_a_sample_has_a_time_and_nothing_below_zero(sample: dict[str, Any]) -> None:
    (error,) = record.problems(make_run([{}], state=[{"at_us": -5, "running": 0}, sample]))
    assert str(error).startswith("1 samples of state: expected that a sample of state has at_us")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"load": Load(LoadKind.OPEN, 0.0)},
            r"load\.declared_rps: found 0; expected a number above",
        ),
        ({"load": Load(LoadKind.CLOSED, concurrency=-2)}, r"load\.concurrency: found -2"),
        ({"n_warmup": -1}, "n_warmup: found -1; expected 0 or more"),
        ({"study": " "}, "study: found ' '; expected text"),
    ],
)
def test_a_description_of_no_run_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(make_run([{}]), tmp_path)
    metadata = {
        "headway.schema": "1",
        "headway.run": TypeAdapter(RunInfo).dump_json(describe(**changes)),
    }
    pq.write_table(pq.read_table(path).replace_schema_metadata(metadata), path)
    with pytest.raises(RecordError, match=message) as caught:
        record.read_info(path)
    assert caught.value.rule == "description"


def test_rows_must_be_as_many_as_the_description_says() -> None:
    run = make_run([COMPLETED, COMPLETED], n_offered=3)
    (error,) = record.problems(run)
    assert error.rule == "offered"
    assert "2 measured rows; the description says 3" in str(error)


def test_rows_must_name_their_run() -> None:
    run = make_run([COMPLETED, COMPLETED])
    renamed = replace(run, info=replace(run.info, run_id="other"))
    assert [error.rule for error in record.problems(renamed)] == ["run_id"]


def test_every_rule_of_a_row_or_a_run_has_a_test() -> None:
    of_files = {"readable", "schema_version", "description", "columns", "run_id", "offered"}
    of_files |= {"state", "rows_sha256"}
    assert set(record.RULES) == set(BREAKS) | of_files


def test_a_column_of_another_kind_is_named() -> None:
    run = make_run([COMPLETED, COMPLETED])
    position = run.requests.schema.get_field_index("ttft_us")
    floats = pa.array([1.0, 2.0])
    wrong = replace(run, requests=run.requests.set_column(position, "ttft_us", floats))
    (error,) = record.problems(wrong)
    assert str(error).startswith("column ttft_us is double; expected int64")
    missing = replace(run, requests=run.requests.drop_columns(["reason"]))
    assert "missing reason; surplus none" in str(record.problems(missing)[0])


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(RecordError, match="column prompt_tokens"):
        make_run([{"prompt_tokens": 2**31}])
    with pytest.raises(RecordError, match="columns colour are not of the record"):
        make_run([{"colour": "red"}])


@pytest.mark.parametrize(
    ("metadata", "rule"),
    [
        ({}, "schema_version"),
        ({"headway.schema": "999", "headway.run": "{}"}, "schema_version"),
        ({"headway.schema": "1"}, "description"),
        ({"headway.schema": "1", "headway.run": '{"run_id": 3}'}, "description"),
    ],
)
def test_a_foreign_parquet_file_is_refused(
    metadata: dict[str, str], rule: str, tmp_path: Path
) -> None:
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(metadata), path)
    with pytest.raises(RecordError, match=r"foreign\.parquet") as caught:
        record.read(path)
    assert caught.value.rule == rule


@pytest.mark.parametrize("kept", [0, 3, 0.5, 0.99])
def test_a_half_written_file_is_refused(kept: float, tmp_path: Path) -> None:
    path = write(make_run([COMPLETED, COMPLETED]), tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if kept < 1 else int(kept)])
    with pytest.raises(RecordError, match="not a readable Parquet file") as caught:
        record.read(path)
    assert caught.value.rule == "readable"


def test_a_companion_of_another_write_is_not_read(tmp_path: Path) -> None:
    state = [{"at_us": 0, "running": 1}]
    path = write(make_run([COMPLETED], state=state), tmp_path)
    assert record.read(path).state is not None
    companion = path.with_name("r0.state.parquet").read_bytes()
    write(make_run([COMPLETED], state=[{"at_us": 0, "running": 2}]), tmp_path)
    path.with_name("r0.state.parquet").write_bytes(companion)
    assert record.read(path).state is None
