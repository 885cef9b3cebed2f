"""Damage: a run file that is not as it was written is refused, and its neighbours stay."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headway
from commands import document
from commands import headway as command
from headway import catalog, record
from headway.analyses import asking
from headway.analyses.summary import summarise
from headway.model import Metric, RunInfo, Selection
from libraries import make_run, offered, write

ROWS = offered(60, 57, jitter_us=3)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a library of two runs, one of which states another digest than its rows give."""
    folder = tmp_path / "library"
    write(make_run(ROWS, "r0"), folder)
    damage(write(make_run(offered(60, 60), "r1"), folder))
    return folder


def damage(path: Path) -> None:
    """Make the first request a second slower, and leave everything else, checksums included."""
    table = pq.read_table(path)
    place = table.schema.get_field_index("latency_us")
    slower = [
        value + 1_000_000 if not at else value
        for at, value in enumerate(table["latency_us"].to_pylist())
    ]
    field = table.schema.field(place)
    column = pa.array(slower, field.type)
    pq.write_table(table.set_column(place, field, column), path, write_page_checksum=True)


def test_the_catalog_leaves_it_out_and_keeps_its_neighbour(library: Path) -> None:
    opened = catalog.open_catalog([library])
    assert list(opened.runs) == ["r0"]
    (broken,) = opened.broken
    assert broken.path.name == "r1.parquet"
    assert "rows_sha256" in broken.message


def test_the_numbers_are_those_of_the_sound_run_alone(library: Path) -> None:
    opened = catalog.open_catalog([library])
    selection = Selection(run_ids=asking.chosen_runs(opened, (), None))
    (found,) = summarise(opened, selection, shares=[0.99])
    # 57 of 60 have a TTFT of 100.003 ms; the rank of p99 is the 60th, one of the slow three.
    assert found.metrics[Metric.TTFT].percentiles[0].value_ms == pytest.approx(1000.003)


def test_every_command_says_it_and_goes_on(library: Path) -> None:
    for arguments in (("summary",), ("verdict", "--ttft-ms", "2000", "--claim", "run")):
        result = command(*arguments, "--library", library, exit_code=0)
        assert "r1.parquet" in result.stderr
        assert "r0" in result.stdout
        assert "r1" not in result.stdout


def test_a_notebook_is_warned(library: Path) -> None:
    with pytest.warns(UserWarning, match=r"r1\.parquet"), headway.open(library) as opened:
        assert opened.runs["run_id"].to_list() == ["r0"]


def test_validate_calls_it_broken(library: Path) -> None:
    told = document("validate", library, exit_code=1)
    assert {Path(each["file"]).name: each["sound"] for each in told["files"]} == {
        "r0.parquet": True,
        "r1.parquet": False,
    }


def test_import_refuses_it_and_takes_its_neighbour(library: Path, tmp_path: Path) -> None:
    told = document("import", library, "--library", tmp_path / "other", exit_code=1)
    assert [run["run_id"] for run in told["imported"]] == ["r0"]
    (refused,) = told["refused"]
    assert refused["code"] == "invalid_record"
    assert Path(refused["source"]).name == "r1.parquet"
    assert not list((tmp_path / "other").rglob("r1*"))


def test_a_file_is_verified_once_until_it_changes(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[str] = []

    def verify(path: Path, info: RunInfo) -> str:
        verified.append(path.name)
        return info.rows_sha256

    monkeypatch.setattr(record, "verify", verify)
    for _ in range(2):
        catalog.open_catalog([library])
    assert sorted(verified) == ["r0.parquet", "r1.parquet"]
    write(make_run(offered(60, 50), "r0"), library)
    catalog.open_catalog([library])
    assert sorted(verified) == ["r0.parquet", "r0.parquet", "r1.parquet"]


def test_a_row_of_another_run_is_damage(tmp_path: Path) -> None:
    path = write(make_run([{}, {}], "r0"), tmp_path)
    table = pq.read_table(path)
    column = pa.array(["r0", "r1"])
    pq.write_table(table.set_column(0, table.schema.field(0), column), path)
    (broken,) = catalog.open_catalog([tmp_path]).broken
    assert "run_id" in broken.message


def test_a_description_that_was_changed_is_damage(tmp_path: Path) -> None:
    path = write(make_run([{}, {}], "r0", policy="budget2048"), tmp_path)
    whole = path.read_bytes()
    assert whole.count(b"budget2048") == 1
    path.write_bytes(whole.replace(b"budget2048", b"budget2049"))
    (broken,) = catalog.open_catalog([tmp_path]).broken
    assert "headway.run_sha256" in broken.message
    assert command("validate", path, exit_code=1)


def test_a_run_file_whose_footer_is_gone_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "from"
    sound = write(make_run([{}, {}], "r0"), folder)
    broken = sound.with_name("r0123456789ab.parquet")
    shutil.copy(sound, broken)
    broken.write_bytes(broken.read_bytes()[:-5])
    told = document("import", folder, "--library", tmp_path / "to", exit_code=1)
    assert [Path(each["source"]).name for each in told["refused"]] == [broken.name]
    assert [run["run_id"] for run in told["imported"]] == ["r0"]


def test_pages_of_run_and_companion_have_checksums(tmp_path: Path) -> None:
    state = [{"at_us": at, "running": at % 7} for at in range(500)]
    path = write(make_run(ROWS, "r0", state=state), tmp_path)
    companion = path.with_name(f"r0{record.STATE_SUFFIX}")
    whole, samples = companion.read_bytes(), pq.read_table(companion)
    for place in range(len(whole)):
        companion.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:  # until a flipped bit gives other samples to whoever does not look at checksums
            if not pq.read_table(companion).equals(samples):
                break
        except (OSError, pa.ArrowException):
            continue
    (broken,) = catalog.open_catalog([tmp_path]).broken
    assert broken.path == path
