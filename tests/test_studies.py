"""study.toml says what was declared, and a mistake in it is named."""

from pathlib import Path

import pytest

from headway import studies
from headway.errors import MisuseError
from headway.model import Objective

WHOLE = """
title = "A study"
question = "Which?"
notes = ["one"]
unresolved = ["two", "three"]
[objective]
ttft_ms = 2000
stall_ms = 100
attainment = 0.95
declared_at = "2026-11-29"
declared_by = "us"
[[alternate]]
title = "mean cadence"
tpot_ms = 50
[decision]
recommendation = "ship"
by = "them"
on = "2026-11-30"
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return folder


def test_everything_declared_is_read(tmp_path: Path) -> None:
    study = studies.read(write(tmp_path / "name", WHOLE))
    assert study.name == "name"
    assert study.objective == Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)
    assert (study.declared_at, study.declared_by) == ("2026-11-29", "us")
    assert study.alternates[0].objective == Objective(tpot_ms=50)
    assert (study.notes, study.unresolved) == (("one",), ("two", "three"))
    assert (study.recommendation, study.decided_by, study.decided_on) == (
        "ship",
        "them",
        "2026-11-30",
    )


def test_without_a_file_only_the_name_is_known(tmp_path: Path) -> None:
    assert studies.read(tmp_path) == studies.Study(tmp_path.name)


def test_the_nearest_study_is_found(tmp_path: Path) -> None:
    write(tmp_path / "outer", 'name = "outer study"')
    inner = write(tmp_path / "outer" / "inner", "")
    deep = inner / "runs" / "one"
    deep.mkdir(parents=True)
    assert studies.nearest(deep / "result.json") == inner
    assert studies.nearest(tmp_path / "outer" / "result.json") == tmp_path / "outer"
    assert studies.nearest(tmp_path / "result.json") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("title = ", "expected a TOML file"),
        ("[objective]\nttft_ms = -1", r"\[objective\] ttft_ms = -1; expected a number above 0"),
        ('[objective]\nttft_ms = "2 s"', "expected a number above 0"),
        ("[objective]\nattainment = 95", "expected a share up to 1"),
        ("objective = 3", r"expected a table \[objective\]"),
        ('notes = "one"', "expected a list of sentences"),
    ],
)
def test_a_mistake_is_named(text: str, found: str, tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match=found):
        studies.read(write(tmp_path, text))


def test_a_trace_is_a_file_in_the_folder(tmp_path: Path) -> None:
    assert studies.read(write(tmp_path / "a", 'trace = "day.csv.gz"')).trace == "day.csv.gz"
    assert studies.read(write(tmp_path / "b", 'trace = "traces/day.csv"')).trace == "traces/day.csv"
    assert studies.read(write(tmp_path / "c", "")).trace is None


@pytest.mark.parametrize("path", ["/etc/passwd", "../day.csv", "a/../../day.csv", "..\\\\day.csv"])
def test_a_trace_outside_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(MisuseError, match="leads out of the study's folder"):
        studies.read(write(tmp_path, f'trace = "{path}"'))


@pytest.mark.parametrize("value", ["5", "''", "['a.csv']"])
def test_a_trace_is_a_name(tmp_path: Path, value: str) -> None:
    with pytest.raises(MisuseError, match="expected the name of a file"):
        studies.read(write(tmp_path, f"trace = {value}"))


def test_a_trace_below_a_table_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="above the first table"):
        studies.read(write(tmp_path, '[decision]\nby = "us"\ntrace = "day.csv"'))
