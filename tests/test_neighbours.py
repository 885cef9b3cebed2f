"""One bad file never costs its neighbours: it is refused in words, whatever is wrong with it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from commands import document
from headway import catalog, importers, ingest, studies
from headway.errors import ImportRefusedError, MisuseError
from headway.importers import source as sources
from headway.importers.source import Source
from headway.ingest import apart
from headway.record import Run
from libraries import make_run, write

SMALL = (
    Path(__file__).parent
    / "importers/vllm/11-closed-loop-startup-burst/openai-infqps-concurrency4.json"
)


def sound(folder: Path) -> Path:
    """Put a sound result into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(SMALL, folder / "sound.json"))


class Failing:
    """An importer that claims one name and fails over it as no importer should."""

    name, version = "failing", 1

    def __init__(self, error: BaseException, *, when: str) -> None:
        self._error, self._when = error, when

    def claims(self, path: Path) -> bool:
        if path.name != "bad.json":
            return False
        self._fail("claims")
        return True

    def sidecars(self, path: Path) -> list[Path]:
        self._fail("sidecars")
        return []

    def runs(self, source: Source) -> Iterator[Run]:
        self._fail("runs")
        yield from ()

    def _fail(self, when: str) -> None:
        if when == self._when:
            raise self._error


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Failing], None]:
    """Return what puts an importer before all others."""

    def put(importer: Failing) -> None:
        known = importers.find
        monkeypatch.setattr(
            importers, "find", lambda path: importer if importer.claims(path) else known(path)
        )

    return put


@pytest.mark.parametrize("when", ["claims", "sidecars", "runs"])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TypeError("no such column"), "damaged"),
        (RecursionError("too deep"), "damaged"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "damaged"),
        (pl.exceptions.PanicException("index out of bounds"), "damaged"),
        (MemoryError(), "too_long"),
    ],
)
def test_whatever_an_importer_raises_is_a_refusal(
    error: BaseException,
    code: str,
    when: str,
    failing: Callable[[Failing], None],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "from"
    sound(folder)
    (folder / "bad.json").write_text("{}")
    failing(Failing(error, when=when))
    report = ingest.import_paths([folder], tmp_path / "library")
    assert [run.source.name for run in report.imported] == ["sound.json"]
    refused = {entry.source.name: entry.code for entry in report.refused}
    # What only fails beside a file does not keep the file itself out.
    assert refused == {"bad.json": "empty" if when == "sidecars" else code}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_request_to_stop_passes(
    error: type[BaseException], failing: Callable[[Failing], None], tmp_path: Path
) -> None:
    (tmp_path / "bad.json").write_text("{}")
    failing(Failing(error(), when="runs"))
    with pytest.raises(error):
        ingest.import_paths([tmp_path / "bad.json"], tmp_path / "library")


def packed(folder: Path, kind: int = zipfile.ZIP_DEFLATED) -> Path:
    """Return a zip of a sound result."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "bad.zip"
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr(zipfile.ZipInfo("result.json"), SMALL.read_bytes(), kind)
    return path


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_flipped_bit_in_a_zip_refuses_the_zip_alone(kind: int, tmp_path: Path) -> None:
    path, good = packed(tmp_path, kind), sound(tmp_path)
    whole = path.read_bytes()
    start = 30 + len("result.json")
    for place in (start + 9, start + 20, start + len(whole) // 3, len(whole) // 2):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        told = document("import", path, good, "--library", tmp_path / f"{place}", exit_code=1)
        assert [Path(run["source"]).name for run in told["imported"]] == ["sound.json"]
        assert [(Path(e["source"]).name, e["code"]) for e in told["refused"]] == [
            ("bad.zip", "damaged")
        ]


@pytest.mark.parametrize("inside", ["bad\udcff.json", "dir\udcfe/result.json"])
def test_a_name_that_is_not_utf8_is_shown_and_imported(inside: str, tmp_path: Path) -> None:
    folder = tmp_path / "from"
    path = folder / inside
    sound(folder)
    path.parent.mkdir(exist_ok=True)
    # Another label makes it another run.
    path.write_text(json.dumps(json.loads(SMALL.read_text()) | {"label": "other"}))
    told = document("import", folder, "--library", tmp_path / "library")
    assert len(told["imported"]) == 2
    assert any("\ufffd" in run["source"] for run in told["imported"])
    opened = catalog.open_catalog([tmp_path / "library"])
    assert opened.broken == ()
    assert any("\ufffd" in run.source_name for run in opened.runs.values())


@pytest.mark.parametrize("kind", ["named", "missing", "foreign"])
def test_a_name_that_is_not_utf8_can_be_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bad\udcff.json"
    if kind != "missing":
        path.write_text("" if kind == "named" else "{}")
    told = document("import", path, "--library", tmp_path / "library", exit_code=1)
    (refused,) = told["refused"]
    assert "\ufffd" in refused["source"]
    assert "\ufffd" in refused["message"]


def test_what_is_no_regular_file_is_refused_unopened(tmp_path: Path) -> None:
    fifo, plug = tmp_path / "ff", tmp_path / "plug"
    os.mkfifo(fifo)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(plug))
        told = document(
            "import", fifo, plug, "/dev/zero", sound(tmp_path), "--library", tmp_path / "l",
            exit_code=1,
        )  # fmt: skip
    assert {entry["code"] for entry in told["refused"]} == {"unreadable"}
    assert all("not a regular file" in entry["message"] for entry in told["refused"])
    assert [Path(e["source"]).name for e in told["refused"]] == ["ff", "plug", "zero"]
    assert len(told["imported"]) == 1


def test_a_fifo_is_no_source_of_a_mapping_either(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ff")
    with pytest.raises(ImportRefusedError, match="not a regular file"):
        Source.open(tmp_path / "ff")
    assert sources.head(tmp_path / "ff") == b""


def test_a_broken_sidecar_takes_no_more_memory_than_it_holds(tmp_path: Path) -> None:
    raw = Path(__file__).parents[1] / "sample_data/raw/vidur"
    folder = Path(shutil.copytree(raw, tmp_path / "vidur"))
    for path in folder.glob("*.gz"):
        path.write_bytes(path.read_bytes()[:-20])
    limits = apart.Limits(memory_bytes=900 << 20)
    job = apart.importing(
        [folder], tmp_path / "library", tmp_path / "scratch", ingest.Settings(), limits=limits
    )
    over = job.wait()
    assert over.failure is None
    assert over.result is not None
    assert len(over.result["imported"]) == 1
    codes = {finding["code"] for finding in over.result["imported"][0]["findings"]}
    assert "sidecar_unreadable" in codes


def headway(*arguments: object, stdout: object) -> tuple[int, str]:
    """Run a command as a process; return its exit code and what it says on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", "from headway.cli import main; main()", *map(str, arguments)],
        stdout=stdout,  # type: ignore[call-overload]
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [("summary",), ("summary", "--json"), ("validate",)])
def test_an_output_that_is_full_is_one_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    write(make_run([{}, {}]), tmp_path)
    where = [tmp_path] if arguments[0] == "validate" else ["--library", tmp_path]
    with Path("/dev/full").open("w") as full:
        code, said = headway(*arguments, *where, stdout=full)
    assert code == 1
    assert said.splitlines() == ["headway: the output cannot be written (No space left on device)"]


def test_a_pipe_that_nobody_reads_is_quiet(tmp_path: Path) -> None:
    write(make_run([{}, {}]), tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    code, said = headway("summary", "--library", tmp_path, stdout=writing)
    os.close(writing)
    assert code != 0
    assert "Traceback" not in said


@pytest.mark.parametrize("limit", ["nan", "inf", "-inf", "0", "true"])
def test_a_limit_that_is_no_number_is_refused_where_it_is_read(limit: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f"[objective]\nttft_ms = {limit}\n")
    with pytest.raises(MisuseError, match="expected a number above 0"):
        studies.read(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["[objective]\nttft_ms = nan\n", "= 5", "alternate = 3", "x = " + "[" * 5_000],
)
def test_a_broken_study_leaves_its_runs_and_neighbours(content: str, tmp_path: Path) -> None:
    write(make_run([{}], "r0", study="a"), tmp_path)
    write(make_run([{}], "r1", study="b"), tmp_path)
    (tmp_path / "a" / "study.toml").write_text(content)
    (tmp_path / "b" / "study.toml").write_text("[objective]\nttft_ms = 5\n")
    opened = catalog.open_catalog([tmp_path])
    assert sorted(opened.runs) == ["r0", "r1"]
    assert [broken.path.name for broken in opened.broken] == ["study.toml"]
    assert opened.studies["a"].objective is None
    assert opened.studies["b"].objective is not None
