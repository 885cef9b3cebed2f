"""docs/formats.md describes every column, rule, finding and refusal there is."""

import re
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pytest

from headway import record
from headway.importers.mapped import problems
from headway.model import Manifest, RunInfo

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text("utf-8")
CODE = "\n".join(
    path.read_text("utf-8")
    for package in ("importers", "ingest")
    for path in sorted((ROOT / "app" / "headway" / package).rglob("*.py"))
)


@pytest.mark.parametrize("schema", [record.REQUESTS, record.STATE], ids=["requests", "state"])
def test_every_column(schema: pa.Schema) -> None:
    types = {"string": "STRING", "bool": "BOOLEAN", "double": "DOUBLE"}
    for column in schema:
        text = str(column.type)
        kind = "LIST of INT32" if text.startswith("list") else types.get(text, text.upper())
        assert f"| `{column.name}` | {kind} |" in PAGE


def test_every_rule() -> None:
    assert [rule for rule in record.RULES if f"| `{rule}` |" not in PAGE] == []


@pytest.mark.parametrize("described", [RunInfo, Manifest])
def test_every_field(described: type[RunInfo] | type[Manifest]) -> None:
    assert [f.name for f in fields(described) if f"`{f.name}`" not in PAGE] == []


def test_every_finding() -> None:
    codes = set(re.findall(r'Finding\(\s*"([a-z_]+)"', CODE)) | {"rows_missing", "rows_surplus"}
    codes |= set(problems.FINDINGS)
    assert len(codes) > 15
    table = PAGE.split("## Findings")[1].split("## Refusals")[0]
    assert sorted(codes) == sorted(re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE))


def test_every_refusal() -> None:
    codes = set(re.findall(r'ImportRefusedError\(\s*"([a-z_]+)"', CODE)) | set(problems.REFUSALS)
    table = PAGE.split("## Refusals")[1]
    named = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \|", table, re.MULTILINE)
    assert codes <= set(re.findall(r"`([a-z_]+)`", " ".join(named)))


def test_every_problem_of_a_mapped_table_is_named() -> None:
    found = set(re.findall(r'Problem\(\s*"([a-z_]+)"', CODE))
    assert found <= {*problems.FINDINGS, *problems.REFUSALS}
