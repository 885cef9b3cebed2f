"""A run is checked, sealed and written in pieces, and comes out as if it had been one."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import record
from headway.errors import RecordError
from libraries import make_run

MANY = 2 * record.ROW_GROUP_REQUESTS + 5
COMPLETED = {"sent_us": 5, "ttft_us": 10, "latency_us": 30, "chunk_gaps_us": [20]}


def chunked(table: pa.Table, sizes: Sequence[int]) -> pa.Table:
    """Return the same rows in chunks of these sizes, and what is left in one more."""
    pieces, start = [], 0
    for size in sizes:
        pieces.append(table.slice(start, size))
        start += size
    return pa.concat_tables([*pieces, table.slice(start)])


unknown_or_small = st.none() | st.integers(0, 2**31 - 1)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "prompt_tokens": unknown_or_small,
            "reason": st.none() | st.text(max_size=8),
            "source_success": st.none() | st.booleans(),
            "sent_us": st.none() | st.integers(-(2**60), 2**60),
            "chunk_gaps_us": st.none() | st.lists(st.integers(0, 2**31 - 1), max_size=4),
        }
    ),
    min_size=1,
    max_size=30,
)


@given(rows, st.lists(st.integers(0, 9), max_size=20))
def test_the_digest_does_not_know_of_chunks(drawn: list[dict[str, Any]], sizes: list[int]) -> None:
    requests = make_run(drawn).requests
    whole = record.digest(requests)
    for cut in (sizes, [1] * len(drawn), [7], [0, 0, 1]):
        assert record.digest(chunked(requests, cut)) == whole


@given(rows, st.data())
def test_the_digest_knows_every_value(drawn: list[dict[str, Any]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(drawn) - 1))
    name = data.draw(st.sampled_from(sorted(drawn[0])))
    value = data.draw(st.sampled_from([row[name] for row in drawn]) | st.none())
    changed = [*drawn]
    changed[place] = drawn[place] | {name: value}
    same = changed == drawn
    assert (make_run(changed).info.rows_sha256 == make_run(drawn).info.rows_sha256) == same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([{"reason": "ab"}, {"reason": "c"}], [{"reason": "a"}, {"reason": "bc"}]),
        ([{"reason": ""}, {"reason": None}], [{"reason": None}, {"reason": ""}]),
        ([{"reason": "x"}, {}], [{"finish_reason": "x"}, {}]),
        ([{"sent_us": 0}, {}], [{}, {"sent_us": 0}]),
        (
            [{"chunk_gaps_us": [1, 2]}, {"chunk_gaps_us": [3]}],
            [{"chunk_gaps_us": [1]}, {"chunk_gaps_us": [2, 3]}],
        ),
        ([{"chunk_gaps_us": []}, {}], [{}, {"chunk_gaps_us": []}]),
    ],
)
def test_values_that_look_alike_when_joined_are_told_apart(
    one: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    same = dict.fromkeys(("n_chunks", "max_gap_us"))
    tables = [make_run([row | same for row in rows]).requests for rows in (one, other)]
    assert record.digest(tables[0]) != record.digest(tables[1])


def test_the_digest_is_the_documented_one() -> None:
    """Worked out here as docs/formats.md describes it, without Headway."""
    table = pa.table(
        {
            "run_id": ["r", "r", "r"],
            "count": pa.array([1, None, 3], pa.int32()),
            "text": pa.array(["é", None, ""], pa.string()),
            "success": pa.array([None, True, False]),
            "gaps": pa.array([[1, 2], None, []], pa.list_(pa.int32())),
        }
    )

    def sha(content: bytes) -> bytes:
        return hashlib.sha256(content).digest()

    def whole(*numbers: int) -> bytes:
        return b"".join(number.to_bytes(4, "little") for number in numbers)

    parts = {
        "count": (b"\1\0\1", b"", whole(1, 3)),
        "text": (b"\1\0\1", whole(2, 0), "é".encode()),
        "success": (b"\0\1\1", b"", b"\1\0"),
        "gaps": (b"\1\0\1", whole(2, 0), whole(1, 2)),
    }
    content = b"".join(
        f"{name}\n".encode() + b"".join(sha(part) for part in three)
        for name, three in parts.items()
    )
    assert record.digest(table) == hashlib.sha256(content).hexdigest()


def test_a_run_of_many_batches_is_written_as_one(tmp_path: Path) -> None:
    run = make_run([COMPLETED] * MANY, completion_times=True)
    (whole,) = record.write(run, tmp_path)
    content = whole.read_bytes()
    pieces = replace(run, requests=chunked(run.requests, [3, 8000, 1, 700]))
    assert record.seal(pieces).info == run.info
    (again,) = record.write(record.seal(pieces), tmp_path)
    assert again.read_bytes() == content
    assert record.read(again).requests.equals(run.requests)


def test_a_mapped_table_is_a_run(tmp_path: Path) -> None:
    run = make_run([COMPLETED] * MANY, completion_times=True)
    spilled = tmp_path / "spilled.arrow"
    with (
        pa.OSFile(str(spilled), "wb") as sink,
        pa.ipc.new_file(sink, run.requests.schema) as writer,
    ):
        writer.write_table(run.requests, max_chunksize=1000)
    with pa.memory_map(str(spilled)) as mapped:
        requests = pa.ipc.open_file(mapped).read_all()
        assert requests["sent_us"].num_chunks > 1
        sealed = record.seal(record.Run(run.info, requests))
        assert sealed.info == run.info
        assert record.problems(sealed) == []
        (path,) = record.write(sealed, tmp_path)
    assert record.read(path).requests.equals(run.requests)


def test_stamping_takes_no_space() -> None:
    run = make_run([{}] * MANY)
    assert run.requests["run_id"].to_pylist() == ["r0"] * MANY
    renamed = record.seal(replace(run, info=replace(run.info, run_id="other")))
    assert renamed.requests["run_id"].to_pylist() == ["other"] * MANY
    chunks = renamed.requests["run_id"].chunks
    assert len({chunk.buffers()[2].address for chunk in chunks}) == 1


def test_no_rows_are_a_run_of_nothing(tmp_path: Path) -> None:
    empty = make_run([{}]).requests.slice(0, 0)
    run = record.seal(record.Run(make_run([{}], n_offered=0).info, empty))
    assert record.problems(run) == []
    (path,) = record.write(run, tmp_path)
    assert record.read(path).requests.num_rows == 0


@pytest.mark.parametrize("place", [0, record.ROW_GROUP_REQUESTS, MANY - 1])
def test_a_broken_row_is_found_in_any_batch(place: int) -> None:
    rows = [COMPLETED] * MANY
    rows[place] = COMPLETED | {"ttft_us": 31}
    (error,) = record.problems(make_run(rows, completion_times=True))
    assert str(error) == (
        f"request {place}: expected that ttft_us is at most latency_us; "
        f"request {place} has ttft_us 31, latency_us 30 [rule: first_before_last]"
    )


def test_broken_rows_of_all_batches_are_counted_together() -> None:
    rows = [COMPLETED] * MANY
    for place in (1, 8000, 9000, 16000):
        rows[place] = COMPLETED | {"outcome": "lost", "source_success": True}
    (error,) = record.problems(make_run(rows))
    assert str(error).startswith("request 1, 8000, 9000 and 1 more: expected that every row has")
    assert "request 1 has outcome 'lost'" in str(error)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (0, MANY - 1), (8191, 8192)])
def test_an_index_that_is_there_twice_is_found_across_batches(one: int, other: int) -> None:
    rows: list[dict[str, Any]] = [{}] * MANY
    rows[other] = {"request_index": one}
    (error,) = record.problems(make_run(rows))
    assert str(error).startswith(f"request {one}: expected that request_index is present and diff")


def test_an_index_may_repeat_in_another_phase_only() -> None:
    warm_up = [{"phase": "warmup", "request_index": place} for place in range(3)]
    measured = [{"request_index": place} for place in range(MANY)]
    assert record.problems(make_run([*warm_up, *measured])) == []
    (error,) = record.problems(make_run([*warm_up, warm_up[2], *measured]))
    assert error.rule == "request_index"


def test_an_unknown_index_is_told_from_a_repeated_one() -> None:
    (error,) = record.problems(make_run([{}, {"request_index": None}, {"request_index": None}]))
    assert "2 rows without request_index" in str(error)
    assert "more than once" not in str(error)


def test_the_fields_below_zero_are_named() -> None:
    (error,) = record.problems(make_run([{"preemptions": -2, "queue_us": -1}, {}]))
    assert "request 0 has queue_us -1, preemptions -2" in str(error)


def test_a_list_with_an_unknown_element_is_refused() -> None:
    run = make_run([COMPLETED, COMPLETED])
    kind = record.REQUESTS.field("chunk_tokens").type
    place = record.REQUESTS.get_field_index("chunk_tokens")
    tokens = pa.array([[1, None], None], kind)
    broken = replace(run, requests=run.requests.set_column(place, "chunk_tokens", tokens))
    (error,) = record.problems(broken)
    assert str(error).startswith("column chunk_tokens has an unknown element")


def test_what_is_not_of_the_record_is_not_sealed() -> None:
    run = make_run([COMPLETED], state=[{"at_us": 0}])
    floats = pa.array([1.0])
    place = record.REQUESTS.get_field_index("ttft_us")
    wrong = replace(run, requests=run.requests.set_column(place, "ttft_us", floats))
    with pytest.raises(RecordError, match="column ttft_us is double; expected int64"):
        record.seal(wrong)
    assert run.state is not None
    with pytest.raises(RecordError, match="missing waiting; surplus none"):
        record.seal(replace(run, state=run.state.drop_columns(["waiting"])))


def test_columns_in_another_order_are_named() -> None:
    run = make_run([COMPLETED, COMPLETED])
    names = ["request_index", "run_id", *record.REQUESTS.names[2:]]
    (error,) = record.problems(replace(run, requests=run.requests.select(names)))
    assert "column 1 is request_index; expected run_id: the order of the record" in str(error)


def test_samples_must_name_their_run() -> None:
    run = make_run([{}], state=[{"at_us": 0}, {"at_us": 5}])
    other = make_run([{}], "other", state=[{"at_us": 0}, {"at_us": 5}])
    (error,) = record.problems(replace(run, state=other.state))
    assert str(error).startswith("2 samples of state: expected that every row names the run")
