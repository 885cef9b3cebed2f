"""The pages of documentation name what there is."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pyarrow as pa
import pytest

from commands import headway
from headway import cli, record, sql
from headway.model import Basis, Load, Manifest, Metric, Outcome, RunInfo, Status, Stratum

DOCS = Path(__file__).parents[1] / "docs"
METHODS = (DOCS / "methods.md").read_text(encoding="utf-8")
FORMATS = (DOCS / "formats.md").read_text(encoding="utf-8")
CLI = (DOCS / "cli.md").read_text(encoding="utf-8")


def section(name: str) -> str:
    """Return what the reference says of a query, and the parameters that many share."""
    shared, *rest = METHODS.split("## Queries")[1].split("\n### ")
    (mine,) = [part for part in rest if part.startswith(f"`{name}`")]
    return shared + mine


@pytest.mark.parametrize("name", sql.names())
def test_every_parameter_and_column_of_a_query_is_described(name: str) -> None:
    query, said = sql.load(name), section(name)
    fields = (*query.params, *query.columns)
    assert [field.name for field in fields if f"`{field.name}`" not in said] == []


@pytest.mark.parametrize("name", sql.names())
def test_a_query_says_which_parameters_it_takes(name: str) -> None:
    said = section(name).split(f"`{name}`\n")[1].split("\n| Column")[0]
    declared = {param.name for param in sql.load(name).params}
    assert declared <= set(re.findall(r"`(\w+)`", said))


def test_no_query_is_described_that_is_gone() -> None:
    described = re.findall(r"^### `(.+)`$", METHODS, flags=re.MULTILINE)
    assert sorted(described) == list(sql.names())


@pytest.mark.parametrize("kind", [Basis, Metric, Stratum])
def test_every_choice_is_defined(kind: type[Basis | Metric | Stratum]) -> None:
    assert [member.value for member in kind if f"`{member.value}`" not in METHODS] == []


def options() -> Iterator[tuple[str, str]]:
    context = click.Context(cli.main)
    for name in cli.main.list_commands(context):
        command = cli.main.get_command(context, name)
        assert command is not None
        for param in command.params:
            if isinstance(param, click.Option):
                yield name, param.opts[0]


@pytest.mark.parametrize(("command", "option"), list(options()))
def test_every_option_of_a_command_is_described(command: str, option: str) -> None:
    general, *rest = CLI.split("\n## ")
    (mine,) = [part for part in rest if part.startswith(f"headway {command}")]
    assert option in mine
    assert f"#headway-{command}" in general


def test_the_documents_of_the_command_line_name_every_word_they_use() -> None:
    words = [*Outcome, *Status]
    assert [word.value for word in words if f"`{word.value}`" not in CLI] == []


TYPES = {
    pa.string(): "STRING",
    pa.int32(): "INT32",
    pa.int64(): "INT64",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
}


def cells(heading: str) -> list[list[str]]:
    """Return the rows of the table under a heading of docs/formats.md."""
    (part,) = [each for each in FORMATS.split("\n### ") if each.startswith(heading)]
    lines = [line for line in part.split("\n## ")[0].splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(
    ("heading", "schema"), [("Columns", record.REQUESTS), ("Companions", record.STATE)]
)
def test_the_columns_of_the_record_are_the_documented_ones(heading: str, schema: pa.Schema) -> None:
    described = [(name.strip("`"), kind) for name, kind, _ in cells(heading)]
    assert described == [(f.name, TYPES.get(f.type, "LIST of INT32")) for f in schema]
    lists = [field.type for field in schema if field.type not in TYPES]
    assert [str(kind) for kind in lists] == ["list<element: int32 not null>"] * len(lists)


def test_the_rules_of_the_record_are_the_documented_ones() -> None:
    assert [rule.strip("`") for rule, _ in cells("Rules")] == list(record.RULES)


@pytest.mark.parametrize(
    "word", [f.name for kind in (RunInfo, Load, Manifest) for f in fields(kind)]
)
def test_every_member_of_a_description_is_documented(word: str) -> None:
    assert f"`{word}`" in FORMATS


def test_the_metadata_and_the_version_are_documented() -> None:
    assert f"| `headway.schema` | version of this layout: `{record.SCHEMA_VERSION}` |" in FORMATS
    assert f"row groups of {record.ROW_GROUP_REQUESTS:,} requests" in FORMATS
    for key in ("headway.run", "headway.generation"):
        assert f"`{key}`" in FORMATS


def test_the_readmes_way_from_two_configurations_to_a_gate(tmp_path: Path) -> None:
    """The commands are run as they are printed, with another library; the comment says the exit."""
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    block = readme.split("### Two configurations")[1].split("```sh\n")[1].split("```")[0]
    lines = [line for line in block.splitlines() if line.startswith(".venv/bin/headway ")]
    tried = [line for line in lines if " serve " not in line]
    assert [line.split()[1] for line in tried] == ["import", "import", "verdict", "verdict", "diff"]
    results = DOCS.parent / "sample_data" / "raw" / "two-configurations"
    for line in tried:
        said, _, comment = line.partition("#")
        words: list[str | Path] = []
        for word in said.split()[1:]:
            name = word.removeprefix("$RESULTS/")
            words += sorted(results.glob(name)) if name != word else [word]
        words[words.index("--library") + 1] = tmp_path
        headway(*words, exit_code=int(comment.split()[-1]) if comment else 0)
