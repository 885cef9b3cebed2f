"""An import in a child process: the same report, and every way the child can die as a sentence."""

import sys
import time
from pathlib import Path

import pytest

from headway import ingest, record
from headway.ingest import apart
from headway.ingest.apart import Apart, Limits
from headway.ingest.settings import Settings

FIXTURES = Path(__file__).parent / "importers"
VLLM = FIXTURES / "vllm" / "faults-proxy-rate5"
STEP = (
    "import sys, orjson\n"
    "sys.stdin.buffer.read()\n"
    "step = {'n_done': 0, 'n_sources': 2, 'name': 'bad.json', 'share': 0.5}\n"
    "print(orjson.dumps({'step': step}).decode(), flush=True)\n"
)
# Python ignores this signal unless it is told otherwise, as the worker is.
DEFAULT = "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "library"


def started(library: Path, *paths: Path, limits: Limits | None = None) -> Apart:
    scratch = library.parent / "scratch"
    said = Settings(study="s")
    return apart.importing(paths or (VLLM,), library, scratch, said, limits=limits or Limits())


def behaving(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the child tell of one step and then do something else than an import."""
    monkeypatch.setattr(apart, "_command", lambda: [sys.executable, "-c", STEP + code])


def test_it_reports_what_an_import_reports(library: Path, tmp_path: Path) -> None:
    over = started(library).wait()
    same = ingest.import_paths([VLLM.resolve()], tmp_path / "other", Settings(study="s"))
    assert over.failure is None
    assert over.result == ingest.report_json(same)
    (path,) = (path for path in library.glob("*/*.parquet") if record.is_run_file(path))
    assert record.problems(record.read(path)) == []
    assert not (tmp_path / "scratch").exists()


def test_a_refused_file_is_a_report_too(library: Path, tmp_path: Path) -> None:
    bad = tmp_path / "run=0.json"
    bad.write_bytes(b"{")
    report = started(library, bad).wait().result
    assert report is not None
    assert [entry["code"] for entry in report["refused"]] == ["damaged"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os.abort()", "3.2 GB of memory"),
        ("print(orjson.dumps({'memory': True}).decode())", "3.2 GB of memory"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal SIGSEGV"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "600 s of processor time"),
        (f"import os, signal; {DEFAULT}; os.kill(os.getpid(), signal.SIGXFSZ)", "2.1 GB in one"),
        ("sys.exit(3)", "exit code 3"),
        ("print('no event', flush=True); import time; time.sleep(60)", "bad.json"),
        ("print(orjson.dumps({'refused': 'no such study'}).decode())", "no such study"),
    ],
)
def test_a_death_says_which_file_and_why(
    code: str, words: str, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behaving(monkeypatch, code)
    over = started(library).wait(timeout_s=30)
    assert over.failure is not None
    assert words in over.failure
    if "study" not in words:
        assert "bad.json" in over.failure
    assert not (library.parent / "scratch").exists()


def test_an_allocation_without_end_is_stopped(library: Path) -> None:
    over = started(library, limits=Limits(memory_bytes=64 << 20)).wait()
    if over.result is None:
        said = over.failure or ""
        assert "0.1 GB of memory" in said or "ended the process" in said
    else:  # the file that asked for it is refused, and its neighbours are not
        assert over.result["imported"] == []
        assert {entry["code"] for entry in over.result["refused"]} <= {"too_long", "not_written"}
    assert not library.exists() or not list(library.rglob("*"))


def test_a_child_that_takes_too_long_is_ended(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behaving(monkeypatch, "import time; time.sleep(60)")
    over = started(library, limits=Limits(wall_s=1)).wait(timeout_s=30)
    assert over.failure is not None
    assert "took more than it may here: 1 s" in over.failure


def test_it_can_be_cancelled(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behaving(monkeypatch, "import time; time.sleep(60)")
    job = started(library)
    until_s = time.monotonic() + 30
    while not job.state.name and time.monotonic() < until_s:
        time.sleep(0.01)
    assert (job.state.name, job.state.share, job.state.is_over) == ("bad.json", 0.5, False)
    job.cancel()
    assert job.state.is_over
    assert (job.state.failure or "").startswith("Cancelled.")
    assert not (library.parent / "scratch").exists()


def test_the_child_gets_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOME_SECRET", "value")
    assert "SOME_SECRET" not in apart._environment(tmp_path)
    assert apart._environment(tmp_path)["TMPDIR"] == str(tmp_path)


def test_a_file_larger_than_allowed_is_not_written(library: Path) -> None:
    over = started(library, limits=Limits(file_bytes=2000)).wait()
    assert over.failure is not None
    assert "0.0 GB in one file" in over.failure
    assert not [path for path in library.rglob("*") if path.is_file()]


def test_a_mapping_is_proposed_and_tried_apart(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "id,start_s,ttft_ms,e2e_ms,status\n1,0.5,100,300,ok\n2,1.5,120,,error\n", "utf-8"
    )
    proposed = apart.proposing(path, library, tmp_path / "first").wait().result
    assert proposed is not None
    assert "ttft_us" in proposed["mapping"]
    assert proposed["questions"]
    shown = apart.previewing(path, proposed["mapping"], tmp_path / "second").wait().result
    assert shown is not None
    (ttft,) = [each for each in shown["fields"] if each["target"] == "ttft_us"]
    assert ttft["becomes"] == [100_000, 120_000]
    assert shown["is_usable"] is False


def test_a_table_that_cannot_be_read_says_so_apart(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    path.write_bytes(b"PAR1 and no more")
    over = apart.proposing(path, library, tmp_path / "first").wait()
    assert over.result is None
    assert "mine.parquet" in (over.failure or "")


def test_a_burst_waits_for_its_turn(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behaving(monkeypatch, "import time; time.sleep(60)")
    said = Settings(study="s")
    jobs = [
        apart.importing((VLLM,), library, library.parent / f"scratch{place}", said)
        for place in range(4)
    ]

    def begun() -> int:
        return sum(bool(job.state.name) and not job.state.is_over for job in jobs)

    until_s = time.monotonic() + 30
    while begun() < 2 and time.monotonic() < until_s:
        time.sleep(0.01)
    time.sleep(0.5)
    assert begun() == 2
    waiting = [job for job in jobs if not job.state.name]
    waiting[0].cancel()  # before it began
    assert (waiting[0].state.failure or "").startswith("Cancelled.")
    next(job for job in jobs if job.state.name).cancel()
    while begun() < 2 and time.monotonic() < until_s:
        time.sleep(0.01)
    assert waiting[1].state.name == "bad.json"
    for job in jobs:
        job.cancel()
    assert all(job.state.is_over for job in jobs)
    assert not list(library.parent.glob("scratch*"))
