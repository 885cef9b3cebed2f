"""The pages of documentation name what there is."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from headway import cli, sql
from headway.model import Basis, Metric, Outcome, Status, Stratum

DOCS = Path(__file__).parents[1] / "docs"
METHODS = (DOCS / "methods.md").read_text(encoding="utf-8")
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
    for name, command in cli.main.commands.items():
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
