"""What a run file of Headway says of itself, as facts of a mapping."""

from dataclasses import fields
from pathlib import Path

from headway import record
from headway.errors import RecordError
from headway.importers.mapped.mapping import Fact
from headway.model import Load, Manifest

_PLAIN = (
    "boundary clock token_basis index_basis harness harness_version policy label replicate "
    "time_limit_s"
).split()


def facts(path: Path) -> list[Fact]:
    """Return the facts in a file's description; none where it has no description."""
    try:
        info = record.read_info(path)
    except RecordError:
        return []
    said = {name: getattr(info, name) for name in _PLAIN}
    said |= {f"load.{each.name}": getattr(info.load, each.name) for each in fields(Load)}
    stated = {each.name: getattr(info.manifest, each.name) for each in fields(Manifest)}
    said |= {f"manifest.{name}": value for name, value in stated.items()}
    known = [Fact(key, value) for key, value in said.items() if value is not None]
    return [*known, Fact("offered", "rows")]
