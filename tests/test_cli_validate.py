"""`headway validate` finds every broken rule in a file by any writer, and what is poor about it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import document, headway
from headway import record
from libraries import make_run, write

SAMPLES = Path(__file__).parents[1] / "sample_data"
COMPLETED = {"sent_us": 5, "ttft_us": 10, "latency_us": 30, "chunk_gaps_us": [20]}
STATE = [{"at_us": 0, "running": 1}]

Edit = Callable[[pa.Table, dict[str, Any]], pa.Table | None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    run = make_run([COMPLETED, COMPLETED, {"outcome": "failed"}], state=STATE)
    return write(run, tmp_path / "library")


def rewrite(path: Path, edit: Edit, **options: Any) -> None:
    """Write a run file as another program might: changed rows or description, another layout."""
    table = pq.read_table(path)
    said = json.loads(table.schema.metadata[b"headway.run"])
    table = edit(table, said) or table
    metadata = {b"headway.schema": b"1"} | (table.schema.metadata or {})
    metadata[b"headway.run"] = json.dumps(said).encode()
    metadata.pop(b"headway.run_sha256", None)  # which other programs need not write
    pq.write_table(table.replace_schema_metadata(metadata), path, **options)


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    place = table.schema.get_field_index(name)
    field = table.schema.field(name)
    return table.set_column(place, field, pa.array(values, field.type))


def found(path: Path, *, exit_code: int) -> tuple[list[str], list[str]]:
    """Return the broken rules and the codes of the warnings of one file."""
    told = document("validate", path, exit_code=exit_code)
    (file,) = told["files"]
    assert set(told) == {"sound", "files"}
    assert set(file) == {"file", "run_id", "sound", "problems", "warnings"}
    assert told["sound"] == file["sound"] == (exit_code == 0) == (not file["problems"])
    assert file["file"] == str(path)
    problems, warnings = file["problems"], file["warnings"]
    assert all(set(each) == {"rule", "message"} for each in problems)
    assert all(set(each) == {"code", "message"} for each in warnings)
    return [each["rule"] for each in problems], [each["code"] for each in warnings]


def warning(path: Path, code: str, *, exit_code: int = 0) -> str:
    """Return what the one warning with this code says."""
    (file,) = document("validate", path, exit_code=exit_code)["files"]
    (message,) = [each["message"] for each in file["warnings"] if each["code"] == code]
    return str(message)


def test_what_headway_writes_is_sound_and_not_poor(path: Path) -> None:
    assert found(path, exit_code=0) == ([], [])


def test_the_sample_studies_are_sound() -> None:
    told = document("validate", SAMPLES)
    assert len(told["files"]) == 53
    assert [file["warnings"] for file in told["files"]] == [[]] * 53


def test_every_broken_rule_is_told_with_what_was_found(path: Path) -> None:
    def edit(table: pa.Table, said: dict[str, Any]) -> pa.Table:
        said["n_offered"] = 5
        table = with_column(table, "request_index", [0, 0, 1])
        table = with_column(table, "outcome", ["completed", "lost", "failed"])
        return with_column(table, "ttft_us", [10, -3, None])

    rewrite(path, edit)
    told = document("validate", path, exit_code=1)["files"][0]
    messages = {each["rule"]: each["message"] for each in told["problems"]}
    assert list(messages) == [
        "rows_sha256", "request_index", "outcome", "offered", "not_negative",
        "latency_of_success",
    ]  # fmt: skip
    assert messages["request_index"].startswith("request 0: expected that request_index is present")
    assert messages["outcome"].endswith("request 0 has outcome 'lost'")
    assert messages["not_negative"].endswith("request 0 has ttft_us -3")
    assert messages["offered"] == "3 measured rows; the description says 5"
    assert not any("[rule" in message for message in messages.values())


def test_people_read_the_same(path: Path) -> None:
    rewrite(path, lambda table, said: with_column(table, "ttft_us", [-3, None, None]))
    result = headway("validate", path, exit_code=1)
    first, *rest = result.stdout.splitlines()
    assert first == f"broken  {path}"
    assert any(line.startswith("  not_negative: request 0: expected that dura") for line in rest)
    assert any(line.startswith("  rows_sha256: ") for line in rest)
    assert "0 sound, 1 not" in result.stderr


def test_everything_wrong_with_a_description_is_told(path: Path) -> None:
    def edit(table: pa.Table, said: dict[str, Any]) -> None:
        said["boundary"] = "moon"
        del said["n_offered"]

    rewrite(path, edit)
    told = document("validate", path, exit_code=1)["files"][0]
    assert told["run_id"] is None
    assert [each["rule"] for each in told["problems"]] == ["description"] * 2
    text = " ".join(each["message"] for each in told["problems"])
    assert "boundary: Input should be 'client'" in text
    assert "n_offered" in text


def test_rows_are_checked_without_a_description_too(path: Path) -> None:
    def edit(table: pa.Table, said: dict[str, Any]) -> pa.Table:
        said.clear()
        return with_column(table, "outcome", ["completed", "lost", "failed"])

    rewrite(path, edit)
    rules, _ = found(path, exit_code=1)
    assert set(rules) == {"description", "outcome", "latency_of_success"}


def test_a_foreign_file_lacks_everything(tmp_path: Path) -> None:
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    assert found(path, exit_code=1)[0] == ["schema_version", "description", "columns"]


def test_every_wrong_column_is_told(path: Path) -> None:
    def edit(table: pa.Table, said: dict[str, Any]) -> pa.Table:
        kinds = {"ttft_us": pa.float64(), "reason": pa.int32()}
        fields = [pa.field(f.name, kinds.get(f.name, f.type)) for f in table.schema]
        return table.cast(pa.schema(fields, table.schema.metadata))

    rewrite(path, edit)
    told = document("validate", path, exit_code=1)["files"][0]["problems"]
    assert [each["message"] for each in told] == [
        "column ttft_us is double; expected int64",
        "column reason is int32; expected string",
    ]


def test_a_half_written_file_is_not_sound(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:500])
    assert found(path, exit_code=1)[0] == ["readable"]


def test_a_file_damaged_in_the_middle_is_not_sound(tmp_path: Path) -> None:
    path = write(make_run([COMPLETED | {"sent_us": n * n} for n in range(5000)]), tmp_path)
    column = pq.read_metadata(path).row_group(0).column(record.REQUESTS.get_field_index("sent_us"))
    content = bytearray(path.read_bytes())
    start = column.data_page_offset
    content[start : start + 200] = b"\xff" * 200
    path.write_bytes(content)
    assert "readable" in found(path, exit_code=1)[0]


def test_another_layout_is_legal_and_poor(path: Path) -> None:
    rewrite(path, lambda table, said: None, compression="snappy")
    rules, codes = found(path, exit_code=0)
    assert (rules, codes) == ([], ["compression", "encoding", "encoding"])
    assert warning(path, "compression") == "found SNAPPY; ZSTD takes less space"
    told = document("validate", path)["files"][0]["warnings"]
    lists = [each["message"].split()[3] for each in told if each["code"] == "encoding"]
    assert lists == ["chunk_gaps_us", "chunk_tokens"]


def test_row_groups_of_another_size_are_poor(tmp_path: Path) -> None:
    path = write(make_run([{"sent_us": n} for n in range(70_000)]), tmp_path)
    assert found(path, exit_code=0) == ([], [])
    options = {"compression": "zstd", "use_byte_stream_split": False}
    rewrite(path, lambda table, said: None, row_group_size=70_000, **options)
    assert warning(path, "row_groups").startswith("a row group has 70000 requests")
    rewrite(path, lambda table, said: None, row_group_size=100, **options)
    assert warning(path, "row_groups").startswith("70000 requests are in 700 row groups")


def test_a_digest_that_is_missing_or_wrong_is_named(path: Path) -> None:
    digest = record.read_info(path).rows_sha256

    def other(table: pa.Table, said: dict[str, Any]) -> None:
        said["rows_sha256"] = "0" * 64

    def none(table: pa.Table, said: dict[str, Any]) -> None:
        del said["rows_sha256"]

    rewrite(path, other)
    (problem,) = document("validate", path, exit_code=1)["files"][0]["problems"]
    assert problem["rule"] == "rows_sha256"
    assert digest[:12] in problem["message"]
    assert "0" * 12 in problem["message"]
    rewrite(path, none)
    assert warning(path, "rows_sha256").startswith(
        f"rows_sha256 is not recorded; the rows give {digest}"
    )


def test_members_that_nothing_reads_are_named(path: Path) -> None:
    def edit(table: pa.Table, said: dict[str, Any]) -> None:
        said["polcy"] = "x"
        said["manifest"]["modle"] = "y"
        said["findings"] = [
            {"code": "c", "severity": "info", "count": 1, "message": "m", "colour": 1}
        ]

    rewrite(path, edit)
    told = document("validate", path)["files"][0]["warnings"]
    named = {
        each["message"].split()[2].strip(",") for each in told if each["code"] == "unknown_member"
    }
    assert named == {"polcy", "manifest.modle", "findings.0.colour"}


def test_a_file_that_is_not_named_after_its_run_is_poor(path: Path) -> None:
    other = path.with_name("other.parquet")
    path.rename(other)
    assert warning(other, "file_name") == "other.parquet holds run r0; expected the name r0.parquet"


def test_a_companion_of_another_write_is_named(path: Path) -> None:
    companion = path.with_name("r0.state.parquet")
    table = pq.read_table(companion)
    pq.write_table(table.replace_schema_metadata({"headway.generation": "old"}), companion)
    assert "its headway.generation is 'old'" in warning(path, "generation")


def test_a_companion_that_nothing_ties_to_the_run_is_named(path: Path) -> None:
    companion = path.with_name("r0.state.parquet")
    pq.write_table(pq.read_table(companion).replace_schema_metadata(None), companion)

    def edit(table: pa.Table, said: dict[str, Any]) -> None:
        del said["generation"]

    rewrite(path, edit)
    assert warning(path, "generation").startswith("nothing ties r0.state.parquet to this write")


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [("run_id", "other", "run_id"), ("running", -1, "state"), ("at_us", None, "state")],
)
def test_the_rules_of_the_companion_are_checked(
    column: str, value: object, rule: str, path: Path
) -> None:
    companion = path.with_name("r0.state.parquet")
    table = pq.read_table(companion)
    pq.write_table(with_column(table, column, [value]), companion)
    assert found(path, exit_code=1)[0] == [rule]


def test_a_companion_that_is_broken_is_not_sound(path: Path) -> None:
    companion = path.with_name("r0.state.parquet")
    table = pq.read_table(companion)
    pq.write_table(table.drop_columns(["running"]), companion)
    assert found(path, exit_code=1)[0] == ["columns"]
    companion.write_bytes(b"PAR1")
    assert found(path, exit_code=1)[0] == ["readable"]


def test_one_broken_file_of_several_decides(path: Path) -> None:
    other = write(make_run([{}], "r1"), path.parents[1])
    rewrite(other, lambda table, said: with_column(table, "phase", ["cooldown"]))
    told = document("validate", path.parents[1], exit_code=1)
    assert {file["run_id"]: file["sound"] for file in told["files"]} == {"r0": True, "r1": False}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "does not exist"),
        ("empty", "holds no run file"),
        ("library/study/r0.state.parquet", "name r0.parquet"),
    ],
)
def test_what_is_no_run_file_is_misuse(name: str, message: str, path: Path) -> None:
    (path.parents[2] / "empty").mkdir()
    result = headway("validate", path.parents[2] / name, exit_code=2)
    assert message in result.stderr
    assert result.stdout == ""


def test_what_steers_a_terminal_is_taken_out(path: Path) -> None:
    rewrite(path, lambda table, said: with_column(table, "phase", ["\x1b[2J", "warmup", "warmup"]))
    assert "\x1b" not in headway("validate", path, exit_code=1).stdout
