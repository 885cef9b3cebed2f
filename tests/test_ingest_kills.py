"""An import that is killed at any step leaves whole runs only, and the next one tidies up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway import ingest, record
from headway.ingest import Settings

FIXTURES = Path(__file__).parent / "importers"
LIMITED = FIXTURES / "vidur" / "vllm-qps8-limit60s"

# Ends the process without any clean-up at the k-th call of a function that changes the disk.
KILL = """
import os, sys
from pathlib import Path
import pyarrow.parquet as pq
from headway import ingest

calls = 0

def killing(function, at, after):
    def wrapped(*arguments, **options):
        global calls
        calls += 1
        if calls == at and not after:
            os._exit(9)
        value = function(*arguments, **options)
        if calls == at and after:
            os._exit(9)
        return value
    return wrapped

step, at, after, study, source, library = sys.argv[1:]
owner = {"write_table": pq.ParquetWriter, "unlink": Path}.get(step, os)
setattr(owner, step, killing(getattr(owner, step), int(at), after == "after"))
ingest.import_paths([Path(source)], Path(library), ingest.Settings(study=study))
"""

STEPS = [
    ("write_table", 1, "before"),
    ("write_table", 2, "before"),
    ("fsync", 1, "before"),
    ("replace", 1, "before"),
    ("replace", 1, "after"),
    ("replace", 2, "before"),
    ("replace", 2, "after"),
]
REPLACING = [*STEPS, ("unlink", 1, "before"), ("unlink", 1, "after"), ("unlink", 2, "before")]


def killed(step: str, at: int, after: str, study: str, source: Path, library: Path) -> int:
    arguments = [step, str(at), after, study, str(source), str(library)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.run(
        [sys.executable, "-c", KILL, *arguments], env=environment, check=False, timeout=120
    )
    return process.returncode


def whole_runs(library: Path) -> list[record.Run]:
    """Read every run as a reader finds them; a half run would not be read or not be sound."""
    runs = [record.read(path) for path in library.glob("*/*.parquet") if record.is_run_file(path)]
    assert [record.problems(run) for run in runs] == [[]] * len(runs)
    return runs


@pytest.mark.parametrize(("step", "at", "after"), STEPS)
def test_a_first_import_that_is_killed(step: str, at: int, after: str, tmp_path: Path) -> None:
    library = tmp_path / "library"
    assert killed(step, at, after, "s", LIMITED, library) == 9
    runs = whole_runs(library)
    assert len(runs) == int((step, at, after) == ("replace", 2, "after"))
    assert len(list(library.glob(".staging-*"))) == 1
    ingest.import_paths([LIMITED], library, Settings(study="s"))
    (run,) = whole_runs(library)
    assert run.state is not None
    assert list(library.glob(".*")) == []


@pytest.mark.parametrize(("step", "at", "after"), REPLACING)
def test_a_replacement_that_is_killed(step: str, at: int, after: str, tmp_path: Path) -> None:
    library = tmp_path / "library"
    ingest.import_paths([LIMITED], library, Settings(study="s", policy="former"))
    study = "t" if step == "unlink" else "s"
    assert killed(step, at, after, study, LIMITED, library) == 9
    runs = whole_runs(library)
    assert runs
    assert {run.info.policy for run in runs} <= {"former", "vllm"}
    ingest.import_paths([LIMITED], library, Settings(study=study))
    (run,) = whole_runs(library)
    assert run.info.policy == "vllm"
    assert run.state is not None
    assert len(list(library.rglob("*.parquet"))) == 2


def test_the_staging_of_a_living_import_is_left_alone(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    other = library / f".staging-{os.getppid()}-{'0' * 32}"
    foreign = library / ".staging-notes"
    other.mkdir()
    foreign.mkdir()
    ingest.import_paths([LIMITED], library)
    assert sorted(path.name for path in library.glob(".*")) == sorted([other.name, foreign.name])


def test_a_full_disk_leaves_the_library_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    report = ingest.import_paths([LIMITED], tmp_path / "deep" / "library")
    assert [entry.code for entry in report.refused] == ["not_written"]
    assert "No space left on device" in report.refused[0].message
    assert list(tmp_path.iterdir()) == []
