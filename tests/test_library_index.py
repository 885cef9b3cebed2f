"""Run files are read to their ends once; what was found is derived, and may be lost."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headway import library_index
from headway.analyses import measured
from headway.catalog import open_catalog
from headway.errors import RecordError
from headway.remembered import Remembered
from libraries import make_run, write


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def n_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that are read to their ends, as they are read."""
    names: list[str] = []
    read = library_index.read_file

    def noted(path: Path) -> library_index.Entry:
        names.append(path.name)
        return read(path)

    monkeypatch.setattr(library_index, "read_file", noted)
    return names


def forget() -> None:
    """Do as another process would: know nothing but what is on disk."""
    library_index._memory.clear()


def test_a_sound_file_is_read_once(tmp_path: Path, n_read: list[str]) -> None:
    library = tmp_path / "library"
    write(make_run([{}], "r0"), library)
    first = open_catalog([library])
    forget()
    again = open_catalog([library])
    assert n_read == ["r0.parquet"]
    assert (again.digest, again.runs) == (first.digest, first.runs)


def test_one_more_file_is_the_only_one_read(tmp_path: Path, n_read: list[str]) -> None:
    library = tmp_path / "library"
    write(make_run([{}], "r0"), library)
    open_catalog([library])
    write(make_run([{}, {}], "r1"), library)
    assert list(open_catalog([library]).runs) == ["r0", "r1"]
    assert n_read == ["r0.parquet", "r1.parquet"]


def test_a_changed_file_is_read_again(tmp_path: Path, n_read: list[str]) -> None:
    library = tmp_path / "library"
    path = write(make_run([{}], "r0"), library)
    open_catalog([library])
    path.write_bytes(path.read_bytes()[:-100])
    os.utime(path, ns=(1, 1))
    assert open_catalog([library]).runs == {}
    assert n_read == ["r0.parquet"] * 2


@pytest.mark.parametrize("damage", ["cut", "other version", "no folder"])
def test_without_what_was_kept_files_are_read_again(
    damage: str, tmp_path: Path, folder: Path, n_read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    write(make_run([{}], "r0"), library)
    if damage == "no folder":
        folder.write_text("a file where the folder should be", encoding="utf-8")
    open_catalog([library])
    if damage == "cut":
        (kept,) = folder.glob("*.parquet")
        kept.write_bytes(kept.read_bytes()[:50])
    if damage == "other version":
        monkeypatch.setattr(library_index, "_FORMAT", "another")
    forget()
    assert list(open_catalog([library]).runs) == ["r0"]
    assert n_read == ["r0.parquet"] * 2


def test_what_is_wrong_with_a_file_is_kept_too(tmp_path: Path, n_read: list[str]) -> None:
    library = tmp_path / "library"
    path = write(make_run([{}], "r0"), library)
    path.write_bytes(path.read_bytes()[:-1])
    first = open_catalog([library]).broken
    forget()
    assert open_catalog([library]).broken == first
    assert len(first) == len(n_read) == 1


def test_nothing_of_a_private_library_is_kept(tmp_path: Path, folder: Path) -> None:
    write(make_run([{}], "r0"), tmp_path / "own")
    opened = open_catalog([tmp_path / "own"], private=tmp_path / "own")
    assert opened.private == {"r0"}
    assert not list(folder.glob("*"))


def test_a_private_run_is_never_in_the_shared_memory(tmp_path: Path) -> None:
    own, public = tmp_path / "own", tmp_path / "public"
    write(make_run([{}], "r0"), own)
    write(make_run([{}, {}], "r1"), public)
    shared = Remembered()
    opened = open_catalog([own, public], shared, private=own)
    opened.of_each("what", ["r0", "r1"], (), lambda ids: dict.fromkeys(ids, 1))
    assert (len(shared), len(opened.memory)) == (1, 1)


def test_another_companion_is_other_data(tmp_path: Path) -> None:
    """What a session shares of a run is forgotten when the samples of its server change."""
    shared = Remembered()

    def most_running(found: int) -> object:
        write(make_run([{}], "r0", state=[{"at_us": 0, "running": found}]), tmp_path)
        opened = open_catalog([tmp_path], shared)
        return measured.row_of_each(opened, "state/peaks", ["r0"])["r0"]["max_running"]

    assert most_running(3) == 3
    assert most_running(5) == 5


def test_readers_ask_for_different_runs_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.instance.MOST_REQUESTS", 40)
    sizes = {f"r{place}": place + 1 for place in range(12)}
    for name, n in sizes.items():
        write(make_run([{}] * n, name), tmp_path)
    open_catalog([tmp_path])
    opened = open_catalog([tmp_path])

    def count(name: str) -> int:
        return opened.query("workload/offered", run_ids=[name]).height

    asked = list(sizes) * 10
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(count, asked))
    assert found == [sizes[name] for name in asked]


def test_requests_are_read_when_a_query_first_asks(tmp_path: Path) -> None:
    for name in ("r0", "r1"):
        write(make_run([{}] * (1 + int(name[1])), name), tmp_path)
    open_catalog([tmp_path])
    opened = open_catalog([tmp_path])
    count = "SELECT count(*) FROM requests"
    assert opened.instance.connection([]).execute(count).fetchall() == [(0,)]
    opened.query("workload/offered", run_ids=["r1"])
    assert opened.instance.connection([]).execute(count).fetchall() == [(2,)]


def test_many_requests_begin_a_new_instance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.instance.MOST_REQUESTS", 3)
    for place in range(3):
        write(make_run([{}] * (place + 1), f"r{place}"), tmp_path)
    open_catalog([tmp_path])
    opened = open_catalog([tmp_path])
    old = opened.instance.connection(["r0", "r1"])
    new = opened.instance.connection(["r2"])
    assert opened.query("workload/offered", run_ids=["r2"]).height == 3
    assert new.execute("SELECT DISTINCT run_id FROM requests").fetchall() == [("r2",)]
    assert old.execute("SELECT count(*) FROM requests").fetchall() == [(3,)]
    assert opened.query("workload/offered", run_ids=["r0", "r1", "r2"]).height == 6


def test_a_file_that_changed_since_is_not_read(tmp_path: Path) -> None:
    path = write(make_run([{}], "r0"), tmp_path)
    open_catalog([tmp_path])
    opened = open_catalog([tmp_path])
    os.utime(path, ns=(1, 1))
    with pytest.raises(RecordError, match=r"r0\.parquet changed after the library was opened"):
        opened.query("workload/offered", run_ids=["r0"])
