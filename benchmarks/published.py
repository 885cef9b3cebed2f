"""Where simulated error rates are kept and printed: one data file, and the tables of one page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "error-rates.md"
DATA = ROOT / "app" / "headway" / "analyses" / "error_rates.json"

Row = dict[str, Any]


def read() -> dict[str, list[Row]]:
    """Return the rows by section; a section that was never simulated has none."""
    return json.loads(DATA.read_text("utf-8")) if DATA.is_file() else {}


def keep(section: str, rows: Sequence[Row], key: Sequence[str]) -> None:
    """Put rows into a section of the data file, in place of those with the same key."""
    known = read()
    fresh = {tuple(row[name] for name in key) for row in rows}
    old = [row for row in known.get(section, []) if tuple(row[n] for n in key) not in fresh]
    known[section] = [*old, *rows]
    lines = [
        f'  "{name}": [\n    '
        + ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in found)
        + "\n  ]"
        for name, found in sorted(known.items())
    ]
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def table(rows: Sequence[Row], headings: dict[str, str], digits: dict[str, int]) -> str:
    """Return rows as a Markdown table; what is not known is a dash."""
    lines = [list(headings.values()), ["---"] * len(headings)]
    lines += [[_cell(row.get(name), digits.get(name, 3)) for name in headings] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object, digits: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def put(marker: str, text: str) -> None:
    """Put a table between the markers of its name on the page."""
    start, end = f"<!-- {marker} -->", f"<!-- end of {marker} -->"
    before, _, rest = PAGE.read_text("utf-8").partition(start)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{start}\n{text}\n{end}{after}", "utf-8")
