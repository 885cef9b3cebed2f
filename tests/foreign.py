"""Foreign tables for tests, and the mappings that say what their columns mean."""

from pathlib import Path
from typing import Any

from headway import record
from headway.importers import mapped
from headway.importers.source import Source
from headway.record import Run

RUN = """
headway_mapping = 1
name = "house bench"

[run]
boundary = "client"
clock = "relative"
token_basis = "as the server reports"
index_basis = "order"
offered = "rows"
load.kind = "open"
"""


def mapping(text: str, run: str = RUN, **replaced: str) -> mapped.Mapping:
    """Return a mapping of complete facts and the fields given; facts may be said otherwise."""
    for key, line in replaced.items():
        name = key.replace("__", ".")
        lines = [line if each.startswith(f"{name} = ") else each for each in run.splitlines()]
        run = "\n".join(lines) + "\n"
    return mapped.loads(run + text)


def runs(path: Path, said: mapped.Mapping) -> list[Run]:
    """Return the sealed runs of a table, each of which keeps every rule of the record."""
    found = [record.seal(run) for run in mapped.apply(Source.open(path), said)]
    assert [record.problems(run) for run in found] == [[] for _ in found]
    return found


def run(path: Path, said: mapped.Mapping) -> Run:
    """Return the only run of a table."""
    (found,) = runs(path, said)
    return found


def rows(found: Run, *columns: str) -> list[dict[str, Any]]:
    """Return some columns of a run's requests."""
    return found.requests.select(list(columns)).to_pylist()  # type: ignore[no-any-return]


def values(found: Run, column: str) -> list[Any]:
    """Return one column of a run's requests."""
    return found.requests[column].to_pylist()  # type: ignore[no-any-return]


def codes(found: Run) -> dict[str, int]:
    """Return the findings of a run: count by code."""
    return {finding.code: finding.count for finding in found.info.findings}


def written(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    """Write a text into a folder and return its file."""
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path
