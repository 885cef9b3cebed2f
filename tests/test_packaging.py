"""The wheel carries what it needs, nothing lands outside `headway`, and it works elsewhere."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest

from commands import document

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "sample_data" / "vidur-azure-conversation"
GUIDE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")

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


def run(*arguments: str, cwd: Path, python: Path | str = sys.executable, **environment: str) -> str:
    done = subprocess.run(
        [python, *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


pytestmark = pytest.mark.xdist_group("packaging")  # one wheel for all of them


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


def test_the_dashboard_is_inside(members: list[str]) -> None:
    web = ROOT / "app" / "headway" / "web"
    files = {
        f"headway/web/{path.relative_to(web).as_posix()}"
        for path in web.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "headway/web/entry/main.py" in files
    assert "headway/web/.streamlit/config.toml" in files
    assert files <= set(members)


def test_its_types_are_for_all(members: list[str]) -> None:
    assert "headway/py.typed" in members


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


# An environment of its own, in another folder: nothing of the checkout is on its path.

AS_A_PAGE = """
from pathlib import Path
import headway
from streamlit.testing.v1 import AppTest
entry = Path(headway.__file__).parent / "web" / "entry" / "main.py"
assert entry.is_relative_to(Path({site!r})), entry
app = AppTest.from_file(str(entry), default_timeout=120).run()
assert not app.exception, app.exception
print(" ".join(each.value for each in app.markdown))
"""


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment that the wheel is installed in.

    What Headway needs is taken from where the tests run, by a path that no `.pth` file of an
    editable install is read from.
    """
    folder = tmp_path_factory.mktemp("elsewhere") / "environment"
    run("-m", "venv", "--without-pip", str(folder), cwd=folder.parent)
    python = folder / "bin" / "python"
    site = run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder,
               python=python).strip()  # fmt: skip
    (Path(site) / "shared.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    install(wheel, python)
    return python


def install(wheel: Path, python: Path) -> None:
    run("-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet",
        str(wheel), cwd=wheel.parent)  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a copy of the sample study, away from the checkout."""
    shutil.copytree(SAMPLE, tmp_path / "data" / SAMPLE.name)
    return tmp_path / "data"


def said(python: Path, *arguments: object, cwd: Path, exit_code: int = 0) -> Any:
    """Return the document of a command, run as it was installed."""
    done = subprocess.run(
        [python.with_name("headway"), *map(str, arguments), "--json"],
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == exit_code, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_it_is_installed_elsewhere(python: Path, tmp_path: Path) -> None:
    script = "import headway; print(headway.__file__, headway.__version__)"
    place, version = run("-c", script, cwd=tmp_path, python=python, PYTHONPATH="").split()
    assert Path(place).is_relative_to(python.parents[1])
    assert version == run("-c", "from importlib.metadata import version as v; print(v('headway'))",
                          cwd=tmp_path, python=python, PYTHONPATH="").strip()  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("summary", "--percentiles", "50,99"),
        ("query", "accounting/reasons"),
        ("verdict", "--policy", "sarathi", "--load", "2", "--claim", "run"),
    ],
    ids=lambda command: command[0],
)
def test_it_says_elsewhere_what_it_says_here(
    command: tuple[str, ...], python: Path, library: Path, tmp_path: Path
) -> None:
    there = said(python, *command, "--library", library, cwd=tmp_path)
    assert there
    assert rounded(there) == rounded(document(*command, "--library", SAMPLE))


def rounded(value: Any) -> Any:
    """Return a document without the last digits, which depend on the order of summing up."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def test_notebooks_work_elsewhere(python: Path, library: Path, tmp_path: Path) -> None:
    script = "import headway; print(headway.open('data').runs.height)"
    assert run("-c", script, cwd=tmp_path, python=python, PYTHONPATH="").strip() == "21"


def test_the_runs_are_sound_elsewhere(python: Path, library: Path, tmp_path: Path) -> None:
    assert said(python, "validate", library, cwd=tmp_path)["sound"] is True


@pytest.mark.slow
def test_the_pages_run_elsewhere(python: Path, library: Path, tmp_path: Path) -> None:
    script = AS_A_PAGE.format(site=str(python.parents[1]))
    words = run(
        "-c", script, cwd=tmp_path, python=python, PYTHONPATH="", HEADWAY_PATHS=str(library)
    )
    assert "Which scheduler carries 4 req/s" in words


@pytest.mark.slow
def test_the_dashboard_starts_elsewhere(python: Path, library: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(python.with_name("headway")), "serve", str(library), "--port", str(port)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    server = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    try:
        assert health(port) == b"ok"
    finally:
        server.terminate()
        assert server.wait(timeout=30) == 0


def health(port: int) -> bytes | None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health") as response:
                return bytes(response.read())
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    return None


# A package of somebody else's with an importer, built and installed as docs/extending.md says.

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "headway-{name}"
version = "1.0"

[tool.hatch.build.targets.wheel]
only-include = ["headway_{name}.py"]

"""
RESULT = (
    '{"example_id": "a", "status": "ok", "sent": 0.0, "first": 0.25, "end": 1.5}\n'
    '{"example_id": "b", "status": "busy", "sent": 0.5}\n'
)


def built(folder: Path, name: str, code: str) -> Path:
    """Return the wheel of a package with one module, which has an importer."""
    (points,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    folder.mkdir()
    project = PROJECT.format(name=name) + points.replace("example", name)
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    (folder / f"headway_{name}.py").write_text(code, encoding="utf-8")
    run("-m", "hatchling", "build", "-t", "wheel", cwd=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


@pytest.fixture
def uninstalled_after(python: Path) -> Any:
    """Return a function that installs a package until the test is over."""
    names = []

    def begin(wheel: Path) -> None:
        names.append(wheel.name.split("-")[0])
        install(wheel, python)

    yield begin
    for name in names:
        run("-m", "pip", "--python", str(python), "uninstall", "--yes", "--quiet", name,
            cwd=python.parent)  # fmt: skip


@pytest.mark.slow
def test_an_installed_importer_is_used(
    python: Path, tmp_path: Path, uninstalled_after: Any
) -> None:
    results, library = tmp_path / "results.jsonl", tmp_path / "library"
    results.write_text(RESULT, encoding="utf-8")
    refused = said(python, "import", results, "--library", library, cwd=tmp_path, exit_code=1)
    assert [each["code"] for each in refused["refused"]] == ["foreign"]

    code = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[0]
    uninstalled_after(built(tmp_path / "project", "example", code))
    (run_,) = said(python, "import", results, "--library", library, cwd=tmp_path)["imported"]
    assert (run_["harness"], run_["n_offered"]) == ("example", 2)
    assert (run_["outcomes"]["completed"], run_["outcomes"]["rejected"]) == (1, 1)
    (summary,) = said(python, "summary", "--library", library, cwd=tmp_path)["runs"]
    assert summary["metrics"]["ttft_ms"]["p"]["50"]["value"] == 250
    assert said(python, "validate", library, cwd=tmp_path)["files"][0]["warnings"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nothing_that_is_installed", "cannot be loaded: No module named"),
        ("IMPORTER = 3", "lacks part of the interface of headway.importers.Importer"),
    ],
)
def test_a_broken_importer_is_named(
    code: str, message: str, python: Path, tmp_path: Path, uninstalled_after: Any
) -> None:
    uninstalled_after(built(tmp_path / "project", "broken", code))
    results = tmp_path / "results.jsonl"
    results.write_text(RESULT, encoding="utf-8")
    done = subprocess.run(
        [python.with_name("headway"), "import", results, "--library", tmp_path / "library"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "importer 'broken'" in done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
