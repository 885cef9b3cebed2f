"""The wheel carries what it needs, nothing lands outside `headway`, and it works elsewhere."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LOAD_EVERY_QUERY = """
from pathlib import Path
import headway
from headway import sql
assert Path(headway.__file__).is_relative_to(Path({site!r})), headway.__file__
assert sql.root().is_relative_to(Path({site!r})), sql.root()
for name in sql.names():
    assert sql.load(name).columns, name
    print(name)
"""


def run(*arguments: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def queries(pattern: str = "*.sql") -> set[str]:
    folder = ROOT / "queries"
    return {path.relative_to(folder).as_posix() for path in folder.rglob(pattern)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def members(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "lib" / "site"
    run("-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", str(folder),
        str(wheel), cwd=folder.parents[1])  # fmt: skip
    return folder


def test_nothing_lands_outside_the_package(members: list[str]) -> None:
    tops = {member.split("/")[0] for member in members}
    assert "headway" in tops
    assert [top for top in tops if top != "headway" and not top.endswith(".dist-info")] == []


def test_every_query_is_inside(members: list[str]) -> None:
    prefix = "headway/queries/"
    packed = {member.removeprefix(prefix) for member in members if member.startswith(prefix)}
    assert packed == queries()


def test_the_dashboard_settings_are_inside(members: list[str]) -> None:
    assert "headway/web/.streamlit/config.toml" in members


def test_the_words_and_mappings_are_inside(members: list[str]) -> None:
    folder = "headway/importers/mapped"
    assert f"{folder}/vocabulary.toml" in members
    assert f"{folder}/builtin/guidellm.toml" in members


def test_no_caches_and_no_tests_are_inside(members: list[str]) -> None:
    unwanted = ("__pycache__", ".pyc", "tests/", "sample_data")
    assert [member for member in members if any(part in member for part in unwanted)] == []


def test_licence_and_command_are_declared(wheel: Path, members: list[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (entry_points,) = (member for member in members if member.endswith("entry_points.txt"))
        assert "headway = headway.cli:main" in archive.read(entry_points).decode()
    assert any(member.endswith("licenses/LICENSE") for member in members)


def test_every_query_loads_from_an_installed_wheel(site: Path, tmp_path: Path) -> None:
    script = LOAD_EVERY_QUERY.format(site=str(site))
    loaded = run("-c", script, cwd=tmp_path, PYTHONPATH=str(site)).split()
    setup = ("schema/", "macros/", "views/")
    assert {f"{name}.sql" for name in loaded} == {
        path for path in queries() if not path.startswith(setup)
    }


def test_the_command_starts_from_an_installed_wheel(site: Path, tmp_path: Path) -> None:
    script = "from headway.cli import main; main(['--help'])"
    assert "serve" in run("-c", script, cwd=tmp_path, PYTHONPATH=str(site))
