"""A library opens whole, and one bad file leaves the others alone."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway import catalog, record
from headway.errors import MisuseError
from headway.model import Finding, Load, LoadKind, Severity
from libraries import make_run, open_runs, write


def test_runs_come_in_reading_order(tmp_path: Path) -> None:
    loads = {"r0": 8.0, "r1": 2.0, "r2": 4.0}
    runs = [
        make_run([{}], run_id, load=Load(LoadKind.OPEN, rps), policy="b")
        for run_id, rps in loads.items()
    ]
    opened = open_runs(tmp_path, *runs, make_run([{}], "r3", policy="c"))
    reopened = open_runs(tmp_path, make_run([{}], "r4", policy="a"))
    assert [run.run_id for run in opened.of_study("study")] == ["r1", "r2", "r0", "r3"]
    assert reopened.of_study("study")[0].run_id == "r4"


def test_a_bad_file_is_listed_and_leaves_the_others(tmp_path: Path) -> None:
    write(make_run([{}], "r0"), tmp_path)
    (tmp_path / "study" / "half.parquet").write_bytes(b"PAR1 and no more")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "study" / "foreign.parquet")
    opened = catalog.open_catalog([tmp_path])
    assert list(opened.runs) == ["r0"]
    assert {bad.path.name for bad in opened.broken} == {"half.parquet", "foreign.parquet"}


def test_a_row_that_cannot_be_keeps_its_file_out(tmp_path: Path) -> None:
    write(make_run([{}], "r0"), tmp_path)
    run = make_run([{"ttft_us": 10, "latency_us": 20}], "r1")
    path = unsealed(run, tmp_path)
    table = pq.read_table(path)
    broken = table.set_column(
        table.schema.get_field_index("ttft_us"), table.schema.field("ttft_us"), pa.array([99])
    )
    pq.write_table(broken, path)
    opened = catalog.open_catalog([tmp_path])
    assert list(opened.runs) == ["r0"]
    assert "ttft_us <= latency_us" in opened.broken[0].message.replace('"', "").replace("(", "")


def test_the_same_run_twice_is_taken_once(tmp_path: Path) -> None:
    write(make_run([{}, {}], "r0"), tmp_path / "one")
    write(make_run([{}, {}], "r0"), tmp_path / "two")
    opened = catalog.open_catalog([tmp_path / "one", tmp_path / "two"])
    assert len(opened.runs) == 1
    assert "already loaded" in opened.broken[0].message
    assert opened.connection.execute("SELECT count(*) FROM requests").fetchall() == [(2,)]


def test_the_stamp_tells_that_a_file_changed(tmp_path: Path) -> None:
    path = write(make_run([{}], "r0"), tmp_path)
    before = catalog.stamp([tmp_path])
    assert catalog.stamp([tmp_path]) == before
    os.utime(path, ns=(1, 1))
    touched = catalog.stamp([tmp_path])
    assert touched != before
    (path.parent / "study.toml").write_text('title = "t"\n', encoding="utf-8")
    assert catalog.stamp([tmp_path]) != touched


def test_the_digest_names_the_data_and_not_the_file(tmp_path: Path) -> None:
    first = open_runs(tmp_path / "a", make_run([{"ttft_us": 1}]))
    copied = open_runs(tmp_path / "b", make_run([{"ttft_us": 1}]))
    other = open_runs(tmp_path / "c", make_run([{"ttft_us": 2}]))
    finding = Finding("code", Severity.INFO, 1, "noticed")
    described = open_runs(tmp_path / "d", make_run([{"ttft_us": 1}], findings=(finding,)))
    assert first.digest == copied.digest
    assert len({first.digest, other.digest, described.digest}) == 3


def test_an_empty_library_opens(tmp_path: Path) -> None:
    opened = catalog.open_catalog([tmp_path])
    assert opened.runs == {}
    assert opened.studies == {}


def test_files_being_written_are_not_runs(tmp_path: Path) -> None:
    path = write(make_run([{}], "r0", state=[{"at_us": 0}]), tmp_path)
    staging = tmp_path / ".staging-1-x"
    staging.mkdir()
    (staging / "r1.parquet").write_bytes(path.read_bytes())
    assert catalog.run_files([tmp_path]) == [path]


def test_what_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="nowhere does not exist"):
        catalog.run_files([tmp_path / "nowhere"])
    with pytest.raises(MisuseError, match="there is no run 'r9'"):
        open_runs(tmp_path, make_run([{}])).run("r9")


def test_nothing_is_written_into_the_library(tmp_path: Path) -> None:
    write(make_run([{}], "r0"), tmp_path)
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    opened = catalog.open_catalog([tmp_path])
    opened.connection.execute("SELECT count(*) FROM chunks").fetchall()
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before


def test_a_run_belongs_to_the_study_it_names(tmp_path: Path) -> None:
    path = write(make_run([{}], "r0", study="named"), tmp_path)
    moved = path.parent.rename(tmp_path / "another-folder")
    (moved / "study.toml").write_text('title = "Moved"\n', encoding="utf-8")
    opened = catalog.open_catalog([tmp_path])
    assert opened.studies["named"].name == "named"
    assert opened.studies["named"].title == "Moved"
    assert [run.run_id for run in opened.of_study("named")] == ["r0"]


def unsealed(run: record.Run, folder: Path) -> Path:
    """Write a run as another program may: text and lists its own way, and without digests."""
    path = write(run, folder)
    table = pq.read_table(path)
    said = json.loads(table.schema.metadata[b"headway.run"])
    del said["rows_sha256"], said["generation"]
    large = pa.schema(
        [
            (field.name, pa.large_string() if field.type == pa.string() else field.type)
            for field in table.schema
        ],
        {b"headway.schema": b"1", b"headway.run": json.dumps(said).encode()},
    )
    pq.write_table(table.cast(large), path)
    return path


def test_the_digest_of_rows_is_worked_out_where_a_writer_left_it_out(tmp_path: Path) -> None:
    run = make_run([{"reason": "r"}, {"chunk_gaps_us": [1, 2]}])
    path = unsealed(run, tmp_path)
    assert record.read_info(path).rows_sha256 == ""
    opened = catalog.open_catalog([tmp_path])
    assert opened.run("r0").rows_sha256 == run.info.rows_sha256
    assert record.read(path).requests.equals(run.requests)


def test_data_without_digests_are_told_apart(tmp_path: Path) -> None:
    def digest(rows: list[dict[str, Any]], **changes: Any) -> str:
        unsealed(make_run(rows, **changes), tmp_path)
        return catalog.open_catalog([tmp_path]).digest

    first = digest([{"sent_us": 1}])
    assert digest([{"sent_us": 1}]) == first
    assert digest([{"sent_us": 2}]) != first
    assert digest([{"sent_us": 1}], label="changed") != first


@pytest.mark.parametrize("damage", ["half", "below zero"])
def test_a_run_with_a_broken_companion_is_left_out_whole(damage: str, tmp_path: Path) -> None:
    write(make_run([{}], "r0"), tmp_path)
    path = write(make_run([{}, {}], "r1", state=[{"at_us": 0, "running": 1}]), tmp_path)
    companion = path.with_name("r1.state.parquet")
    table = pq.read_table(companion)
    if damage == "half":
        companion.write_bytes(companion.read_bytes()[:100])
    else:
        place = table.schema.get_field_index("running")
        minus = pa.array([-1], pa.int32())
        pq.write_table(table.set_column(place, table.schema.field(place), minus), companion)
    opened = catalog.open_catalog([tmp_path])
    assert [bad.path for bad in opened.broken] == [path]
    for name in ("requests", "chunks"):
        rows = opened.connection.execute(f"SELECT DISTINCT run_id FROM {name}")  # noqa: S608
        assert rows.fetchall() == [("r0",)]
    alone = catalog.open_catalog([path])
    assert [bad.path for bad in alone.broken] == [path]
    assert alone.connection.execute("SELECT count(*) FROM requests").fetchall() == [(0,)]
