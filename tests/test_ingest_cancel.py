"""An import that is cancelled at any step leaves whole sources only, and nothing besides."""

import io
import os
import pty
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from headway import ingest, record
from headway.cli.progress import Bar
from headway.ingest import Step
from headway.ingest.interrupts import stoppable, uninterrupted

FIXTURES = Path(__file__).parent / "importers"
LIMITED = FIXTURES / "vidur" / "vllm-qps8-limit60s"
RESULT = FIXTURES / "vllm" / "rate4-burst0.1" / "result.json"

# Sends itself a signal before or after a step, once the source of a name is under way.
STOP = """
import os, sys, zipfile
import pyarrow.parquet as pq
from headway import cli, ingest
from headway.importers import source, spool

step, after, target, number, *arguments = sys.argv[1:]
owners = {
    "readinto": source._Watched,
    "_spill": spool.Spool,
    "write_table": pq.ParquetWriter,
    "open": zipfile.ZipFile,
}
owner = owners.get(step, os)
original, importing, is_armed = getattr(owner, step), ingest._import, target == ""

def stopping(*arguments, **options):
    global is_armed
    stops, is_armed = is_armed, False
    if stops and after == "before":
        os.kill(os.getpid(), int(number))
    value = original(*arguments, **options)
    if stops and after == "after":
        os.kill(os.getpid(), int(number))
    return value

def arming(candidate, *rest):
    global is_armed
    is_armed = is_armed or candidate.name == target
    return importing(candidate, *rest)

ingest._import = arming
setattr(owner, step, stopping)
spool.Spool.__init__.__defaults__ = (1,)
cli.main(["import", *arguments])
"""


def environment(temporary: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(temporary)}


def stopped(step: str, after: str, target: str, number: int, *arguments: object) -> str:
    """Import with a signal on the way; return what is said, once nothing is seen to be left."""
    library, temporary = Path(str(arguments[-1])), Path(str(arguments[-1])).parent / "temporary"
    temporary.mkdir()
    process = subprocess.run(
        [sys.executable, "-c", STOP, step, after, target, str(number), *map(str, arguments)],
        env=environment(temporary),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (process.returncode, process.stdout) == (130, ""), process.stderr
    assert list(temporary.iterdir()) == []
    assert list(library.glob(".*")) == []
    return process.stderr


def whole_runs(library: Path) -> list[record.Run]:
    runs = [record.read(path) for path in library.glob("*/*.parquet") if record.is_run_file(path)]
    assert [record.problems(run) for run in runs] == [[]] * len(runs)
    return runs


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    """Return a result of two runs."""
    path = tmp_path / "twice.json"
    path.write_bytes(RESULT.read_bytes() + b"\n" + RESULT.read_bytes())
    return path


@pytest.mark.parametrize(
    ("step", "after", "number", "n_runs"),
    [
        ("readinto", "after", signal.SIGINT, 1),
        ("_spill", "after", signal.SIGINT, 1),
        ("write_table", "before", signal.SIGTERM, 1),
        ("fsync", "before", signal.SIGINT, 1),
        ("replace", "before", signal.SIGINT, 3),
        ("replace", "after", signal.SIGTERM, 3),
    ],
)
def test_a_cancelled_import(
    step: str, after: str, number: int, n_runs: int, twice: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    words = stopped(step, after, twice.name, number, LIMITED, twice, "--library", library)
    runs = "1 run" if n_runs == 1 else f"{n_runs} runs"
    assert words == f"cancelled; the library holds the {runs} imported before\n"
    assert len(whole_runs(library)) == n_runs


def test_a_zip_is_not_left_unpacked(twice: Path, tmp_path: Path) -> None:
    packed, library = tmp_path / "packed.zip", tmp_path / "library"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(twice, "result.json")
    for step, target in (("open", ""), ("_spill", "result.json")):
        words = stopped(step, "after", target, signal.SIGINT, packed, "--library", library)
        assert words == "cancelled; the library holds the 0 runs imported before\n"
        assert not library.exists()
        (tmp_path / "temporary").rmdir()


def test_a_long_import_shows_how_far_it_is_and_is_cancelled(tmp_path: Path) -> None:
    path, library, temporary = tmp_path / "long.json", tmp_path / "library", tmp_path / "temporary"
    n_rows, gaps = 100_000, f"[{', '.join(['0.0123456789'] * 50)}]"
    lists = {"input_lens": "8", "output_lens": "51", "ttfts": "0.1", "itls": gaps}
    said = [f'"{name}": [{", ".join([value] * n_rows)}]' for name, value in lists.items()]
    keys = '"date": "20261129-120000", "model_id": "m", "tokenizer_id": "m", "num_prompts": null'
    path.write_text(f"{{{keys}, {', '.join(said)}}}", "utf-8")
    temporary.mkdir()
    arguments = ["import", str(path), "--library", str(library), "--json"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from headway.cli import main; main()", *arguments],
        env=environment(temporary) | {"COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while b"5%" not in shown:
        shown += os.read(ours, 1000)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=120)
    shown += os.read(ours, 10_000)
    os.close(ours)
    assert (process.returncode, stdout) == (130, b"")
    assert b"\r\x1b[K[------------------------]    0% long.json\r\x1b[K[" in shown
    last = b"\r\x1b[Kcancelled; the library holds the 0 runs imported before\r\n"
    assert shown.endswith(last)
    assert list(temporary.iterdir()) == []
    assert not library.exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_one_line_that_disappears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    with Bar(stream) as bar:
        for share in (0.0, 0.001, 0.5, 1.0):
            bar(Step(0, 1, "a.json", share))
        bar(Step(1, 2, "evil\x1b[2J\n" + "x" * 100, 0.25))
    drawn = stream.getvalue().split("\r\x1b[K")
    assert drawn == [
        "",
        f"[{'-' * 24}]    0% a.json",
        f"[{'#' * 12}{'-' * 12}]   50% a.json",
        f"[{'#' * 24}] write a.json",
        f"[{'#' * 6}{'-' * 18}]   25% evil?[2J?{'x' * 17}",
        "",
    ]
    assert max(map(len, drawn)) == 59


def test_nothing_is_drawn_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    with Bar(stream) as bar:
        bar(Step(0, 1, "a.json", 0.5))
    assert stream.getvalue() == ""


def test_a_signal_waits_for_what_must_happen_whole() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), stoppable():  # noqa: PT012 the order is the point
        with uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            done.append("inside")
        done.append("after")
    assert done == ["inside"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signals_are_none_of_another_thread() -> None:
    done = []

    def work() -> None:
        with stoppable(), uninterrupted():
            done.append("inside")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["inside"]


def test_who_imports_is_told_how_many_runs_are_in(twice: Path, tmp_path: Path) -> None:
    def stop(step: Step) -> None:
        if step.n_done == 1:
            raise KeyboardInterrupt

    with pytest.raises(ingest.CancelledImport) as cancelled:
        ingest.import_paths([twice, RESULT], tmp_path / "library", progress=stop)
    assert cancelled.value.n_runs == 2
