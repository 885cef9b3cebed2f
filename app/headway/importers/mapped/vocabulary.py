"""The words of the tools Headway knows, read from `vocabulary.toml`: data, no code for any tool."""

import re
import tomllib
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headway.importers.mapped.mapping import Kind, Unit
from headway.model import Outcome

_FILE = Path(__file__).with_name("vocabulary.toml")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER = re.compile(r"[^0-9a-z]+")
_UNITS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "milliseconds"), Unit.MS),
    **dict.fromkeys(("us", "usec", "micros", "microseconds"), Unit.US),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanoseconds"), Unit.NS),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), Unit.S),
    **dict.fromkeys(("min", "mins", "minutes"), Unit.MIN),
}


@dataclass(frozen=True, slots=True)
class Term:
    """What a name means: a field, what its times say, and whose word it is."""

    name: str
    field: str
    kind: Kind | None
    is_list: bool
    whose: str
    rank: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Every word: names of columns and facts, values of statuses, errors, events, files beside."""

    terms: Dict[str, tuple[Term, ...]]
    not_recorded: Dict[str, str]
    facts: Dict[str, str]
    outcomes: Dict[str, str]
    errors: Dict[str, str]
    events: Dict[str, str]
    totals: Dict[str, str]
    companions: Dict[str, list[str]]


@cache
def load() -> Vocabulary:
    """Return the vocabulary."""
    content = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    terms: dict[str, tuple[Term, ...]] = {}
    for entry in content["term"]:
        kind = Kind(entry["as"]) if "as" in entry else None
        for rank, (name, whose) in enumerate(entry["names"].items()):
            is_list = entry.get("lists", False)
            term = Term(name, entry["field"], kind, is_list, whose, rank)
            terms[name] = (*terms.get(name, ()), term)
    rest = ("not_recorded", "facts", "outcomes", "errors", "events", "totals", "companions")
    return Vocabulary(terms, *(content[key] for key in rest))


def tools() -> set[str]:
    """Return the tools whose words there are."""
    every = (term.whose for terms in load().terms.values() for term in terms)
    return {tool.strip() for whose in every for tool in whose.split(",")} - {"common"}


def normal(text: str) -> str:
    """Return a name in lower case with _ between its words."""
    return _OTHER.sub("_", _CAMEL.sub("_", text).lower()).strip("_")


def parted(name: str) -> tuple[str, Unit | None]:
    """Return a normal name without its unit, and the unit that it says."""
    stem, _, last = name.rpartition("_")
    return (stem, _UNITS[last]) if stem and last in _UNITS else (name, None)


def names_of(column: str) -> list[tuple[str, Unit | None]]:
    """Return what a column may be called: the whole path, then ever shorter ends of it."""
    parts = column.lstrip("^").split(".")
    if len(parts) > 1 and normal(parts[-1]) in ("value", "avg"):
        parts = parts[:-1]
    ends = [normal(" ".join(parts[start:])) for start in range(len(parts))]
    found: list[tuple[str, Unit | None]] = []
    for end in dict.fromkeys(ends):
        bare = parted(end)
        found += [bare] if bare[1] is None else [(end, bare[1]), bare]
    return found


def outcomes() -> tuple[str, ...]:
    """Return the outcomes that a value may mean."""
    return tuple(Outcome)
