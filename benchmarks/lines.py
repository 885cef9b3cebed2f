"""The lines of the benchmark: what was measured, against what, and the goal it must keep."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LATEST = ROOT / "benchmarks" / "latest.json"
PAGE = ROOT / "docs" / "performance.md"


@dataclass(frozen=True, slots=True)
class Measured:
    """One line: a figure that must not exceed its goal; a stretch goal says what would be better.

    `why` is the reason of a figure that misses its goal, as far as it is known.
    """

    what: str
    against: str
    value: float
    unit: str = "×"
    goal: float | None = None
    stretch: float | None = None
    why: str = ""

    @property
    def is_missed(self) -> bool:
        """Whether the value exceeds its goal."""
        return self.goal is not None and self.value > self.goal

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"  goal {self.goal:g}{' MISSED' * self.is_missed}"
        why = f"\n    {self.why}" if self.is_missed and self.why else ""
        return f"{self.what:52} {self.value:8.3g} {self.unit:8} {self.against}{goal}{why}"

    def row(self) -> dict[str, Any]:
        """Return the line as it stands in `latest.json`."""
        return {
            "name": self.what,
            "ratio": float(f"{self.value:.4g}"),
            "unit": self.unit,
            "baseline": self.against,
            "goal": self.goal,
            "stretch": self.stretch,
            "met": not self.is_missed,
            **({"why": self.why} if self.is_missed else {}),
        }


@dataclass(slots=True)
class Report:
    """Prints lines as they come, and writes them down at the end."""

    found: list[Measured] = field(default_factory=list)

    def add(self, lines: Iterable[Measured]) -> None:
        """Print lines as they are measured."""
        for line in lines:
            self.found.append(line)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    @property
    def n_missed(self) -> int:
        """How many lines miss their goal."""
        return sum(line.is_missed for line in self.found)

    def write(self) -> None:
        """Write `latest.json`, and the table of docs/performance.md."""
        rows = ",\n".join("  " + json.dumps(line.row(), ensure_ascii=False) for line in self.found)
        LATEST.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
        start, end = "<!-- lines -->", "<!-- end of lines -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
        _, _, after = rest.partition(end)
        PAGE.write_text(f"{before}{start}\n{table(self.found)}\n{end}{after}", encoding="utf-8")


def table(found: Iterable[Measured]) -> str:
    """Return the lines as a Markdown table; a missed goal is bold, its reason beside it."""
    lines = ["| Measured | Figure | Against | Goal | Stretch |", "| --- | --- | --- | --- | --- |"]
    for each in found:
        figure = f"{each.value:.3g} {each.unit}"
        goal = "–" if each.goal is None else f"{each.goal:g}"
        stretch = "–" if each.stretch is None else f"{each.stretch:g}"
        if each.is_missed:
            figure, goal = f"**{figure}**", f"{goal}, missed: {each.why or 'reason not known'}"
        lines.append(f"| {each.what} | {figure} | {each.against} | {goal} | {stretch} |")
    return "\n".join(lines)
