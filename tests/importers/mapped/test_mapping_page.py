"""docs/mapping.md: its example works as it stands, and it names all that a mapping may say."""

import csv
import io
import re
from dataclasses import fields
from pathlib import Path

import pytest

from foreign import rows, runs
from headway.importers import mapped
from headway.importers.mapped import checks
from headway.importers.mapped.mapping import (
    REQUIRED_FACTS,
    TOLERABLE,
    Epoch,
    Field,
    Format,
    Kind,
    Layout,
    Unit,
)

PAGE = (Path(__file__).parents[3] / "docs" / "mapping.md").read_text(encoding="utf-8")
TABLE, *_ = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)
EXAMPLE, PIECE, WORKLOAD = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_gives_what_the_page_says(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text(TABLE, encoding="utf-8")
    mapping = mapped.loads(EXAMPLE)
    found = runs(path, mapping)
    expected = PAGE.split("which the ids pair:")[1].split("## The file")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in expected.strip().splitlines()
    ]
    header, _, *cells = lines
    shown = [
        [
            str(run.info.policy),
            *("" if row[name] is None else str(row[name]) for name in header[1:]),
        ]
        for run in found
        for row in rows(run, *header[1:])
    ]
    assert shown == cells
    assert len(list(csv.reader(io.StringIO(TABLE)))) == len(cells) + 1
    assert mapped.loads(mapped.dumps(mapping)) == mapping


@pytest.mark.parametrize("text", ["headway_mapping = 1\n" + PIECE, WORKLOAD])
def test_the_other_pieces_are_valid(text: str) -> None:
    mapped.loads(text)


def test_every_key_is_on_the_page() -> None:
    said = {field.name for field in fields(Field)} - {"target", "source", "kind"} | {"from", "as"}
    names = [
        *said,
        *(field.name for field in fields(Format)),
        *(question.key for question in REQUIRED_FACTS),
        *checks.PLAIN_FACTS,
        *TOLERABLE,
        *(member.value for kind in (Unit, Kind, Epoch, Layout) for member in kind),
        *checks.ENCODINGS,
    ]
    assert [name for name in names if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE] == []
