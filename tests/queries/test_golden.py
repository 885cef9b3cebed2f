"""Data-only cases: given rows, expected rows."""

import csv
import json
import math
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headway import record, sql
from libraries import make_run, open_runs

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/*/*/case.toml"))


def case_name(folder: Path) -> str:
    return folder.relative_to(HERE).as_posix()


def read_csv(path: Path) -> list[dict[str, str | None]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return [{k: v or None for k, v in row.items()} for row in csv.DictReader(lines)]


def typed(text: str, kind: pa.DataType) -> Any:
    if pa.types.is_integer(kind):
        return int(text)
    if pa.types.is_floating(kind):
        return float(text)
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}[text]
    return json.loads(text) if pa.types.is_list(kind) else text


def given(path: Path, schema: pa.Schema) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a file by run."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in read_csv(path) if path.exists() else []:
        known = {k: typed(v, schema.field(k).type) for k, v in row.items() if v is not None}
        runs.setdefault(known.pop("run_id", "r0"), []).append(known)
    return runs


def runs_of(folder: Path) -> Iterable[record.Run]:
    state = given(folder / "given_state.csv", record.STATE)
    for run_id, rows in given(folder / "given_requests.csv", record.REQUESTS).items():
        yield make_run(rows, run_id, state.get(run_id, ()))


def same(found: Any, expected: str | None) -> bool:
    if found is None or expected is None:
        return found is expected
    if isinstance(found, bool):
        return str(found).lower() == expected
    if isinstance(found, int | float):
        return math.isclose(found, float(expected), rel_tol=1e-9, abs_tol=1e-12)
    return str(found) == expected


@pytest.mark.parametrize("folder", CASES, ids=case_name)
def test_a_query_returns_the_expected_rows(folder: Path, tmp_path: Path) -> None:
    query = sql.load("/".join(case_name(folder).split("/")[:2]))
    case = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    opened = open_runs(tmp_path, *runs_of(folder))
    assert opened.broken == ()
    values = {param.name: None for param in query.params} | case.get("params", {})
    rows = query.run(opened.connection, **values).to_dicts()
    expected = read_csv(folder / "expect.csv")
    assert len(rows) == len(expected), rows
    for found, wanted in zip(rows, expected, strict=True):
        different = {
            name: (found[name], text)
            for name, text in wanted.items()
            if not same(found[name], text)
        }
        assert not different, f"{found}: (found, expected) differ in {different}"
        assert set(found) == set(wanted)


@pytest.mark.parametrize("name", sql.names())
def test_every_query_has_a_case(name: str) -> None:
    assert [folder for folder in CASES if case_name(folder).startswith(f"{name}/")]
