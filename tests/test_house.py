"""The house rules that no linter knows: sizes, top level, locks, cached functions, docs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from headway import cli, importers, sql

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "app" / "headway"
MODULES = sorted((ROOT / "app").rglob("*.py"))
PAGES = sorted((PACKAGE / "web" / "pages").glob("*.py"))
QUERIES = sorted((ROOT / "queries").rglob("*.sql"))
LOCKS = sorted(ROOT.glob("requirements*.lock"))

TOP_LEVEL = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Dockerfile",
    "LICENSE",
    "Makefile",
    "README.md",
    "app",
    "benchmarks",
    "docs",
    "pyproject.toml",
    "queries",
    "requirements-build.lock",
    "requirements-dev.lock",
    "requirements.lock",
    "sample_data",
    "tests",
}
MADE_BY_USE = {"build", "dist", "library"}  # ignored by git
FRAMES = re.compile(r"\b(DataFrame|LazyFrame|Series|ndarray|NDArray|Table|RecordBatch)\b")

type_of_function = ast.FunctionDef | ast.AsyncFunctionDef


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[type_of_function]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_the_top_level_is_the_documented_one() -> None:
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert found - MADE_BY_USE == TOP_LEVEL


def test_there_are_locks() -> None:
    assert [path.name for path in LOCKS] == [
        "requirements-build.lock",
        "requirements-dev.lock",
        "requirements.lock",
    ]


@pytest.mark.parametrize("path", LOCKS, ids=relative)
def test_a_lock_names_no_host_and_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"\S*://\S*", text) == []
    assert re.findall(r"\b[\w-]+\.(?:com|io|net|org)\b", text) == []
    assert re.findall(r"(?<![\w.])/\w[\w/]*", text) == []
    assert re.findall(r"--(?!hash=)[a-z-]+|\s@\s\S+|^-e .*", text, flags=re.MULTILINE) == []


@pytest.mark.parametrize("path", LOCKS, ids=relative)
def test_every_pin_has_a_hash(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    pins = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert [pin.split()[0] for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []


def test_the_locks_agree() -> None:
    def pins(name: str) -> set[str]:
        text = (ROOT / name).read_text(encoding="utf-8")
        return {line.rstrip(" \\") for line in text.splitlines() if re.match(r"\w[^ ]*==", line)}

    assert pins("requirements.lock") | pins("requirements-build.lock") <= pins(
        "requirements-dev.lock"
    )


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_module_stays_readable(path: Path) -> None:
    assert lines(path) <= 400


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_a_page_stays_thin(path: Path) -> None:
    assert lines(path) <= 60


@pytest.mark.parametrize("path", QUERIES, ids=relative)
def test_a_query_stays_short(path: Path) -> None:
    assert lines(path) <= 80


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_function_stays_short(path: Path) -> None:
    long = {
        function.name: length
        for function in functions(path)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > 40
    }
    assert long == {}


def is_cached(function: type_of_function) -> bool:
    return any("cache" in ast.unparse(decorator) for decorator in function.decorator_list)


def hashed_frames(function: type_of_function) -> list[str]:
    """Return the parameters that the cache would hash although they hold a table.

    Streamlit hashes a sample of a large table, so two tables that differ elsewhere share a result.
    """
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [
        argument.arg
        for argument in every
        if not argument.arg.startswith("_")
        and argument.annotation is not None
        and FRAMES.search(ast.unparse(argument.annotation))
    ]


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_no_cached_function_hashes_a_table(path: Path) -> None:
    found = {
        function.name: frames
        for function in functions(path)
        if is_cached(function) and (frames := hashed_frames(function))
    }
    assert found == {}


def test_the_rule_on_cached_functions_can_fail() -> None:
    source = "@st.cache_data\ndef f(frame: pl.DataFrame, _other: pl.DataFrame, n: int): ..."
    (function,) = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    assert is_cached(function)
    assert hashed_frames(function) == ["frame"]


def documents() -> str:
    """Return the text of every page of documentation."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def test_every_query_and_importer_is_documented() -> None:
    text = documents()
    names = [*sql.names(), *importers.BUILTIN]
    assert [name for name in names if f"`{name}`" not in text] == []


def commands(group: click.Group, prefix: str = "headway") -> Iterator[str]:
    for name, command in group.commands.items():
        yield f"{prefix} {name}"
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")


def test_every_command_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in commands(cli.main) if name not in text] == []


def links() -> list[tuple[str, str]]:
    """Return every path in the checkout that a document links to or a docstring names."""
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
    ]
    linked = [
        (relative(page), (page.parent / target).resolve().as_posix())
        for page in sorted(pages)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    ]
    named = [
        (relative(path), (ROOT / target).as_posix())
        for path in MODULES
        for target in re.findall(r"\bdocs/[\w/]+\.md\b", path.read_text(encoding="utf-8"))
    ]
    return linked + named


def test_every_link_leads_somewhere() -> None:
    assert [(page, target) for page, target in links() if not Path(target).exists()] == []


def test_tables_of_words_go_through_their_guard() -> None:
    """Streamlit reads a cell as Markdown: `parts.table` keeps a leading > from being one."""
    bare = [
        relative(path)
        for path in (ROOT / "app" / "headway" / "web").rglob("*.py")
        if "st.table(" in path.read_text(encoding="utf-8") and path.name != "parts.py"
    ]
    assert bare == []
