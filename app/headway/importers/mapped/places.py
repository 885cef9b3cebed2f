"""Where the requests of a file stand: rows in a JSON document, lists side by side, events."""

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dict
from typing import Any

from headway.importers.mapped import tables, vocabulary
from headway.importers.mapped.documents import Damage, documents, first_rows, within
from headway.importers.mapped.mapping import Format, Layout
from headway.importers.source import Source

_DEPTH = 4
_SAMPLED = 50
_FEWEST_WORDS = 2
_FEWEST_LISTS = 3


def find(source: Source) -> tuple[Format, str]:
    """Return where the requests of a JSON file stand, and why it seems so."""
    sample = []
    for _, document in documents(source, Damage()):
        sample.append(document)
        if len(sample) >= _SAMPLED:
            break
    if not sample:
        return Format(), "the file has no object"
    places = dict.fromkeys(path for document in sample for path in _lists(document, "", 0))
    scored = [(_score(sample, path), path) for path in places]
    best, path = max(scored, key=lambda each: each[0], default=((0, 0), ""))
    if _score(sample, "") >= best:
        path, best = "", _score(sample, "")
    arrays = _side_by_side(sample)
    if len(arrays) >= _FEWEST_LISTS and not path:
        named = ", ".join(arrays[:4])
        return Format(layout=Layout.ARRAYS), f"lists of one length stand side by side ({named})"
    if not path:
        return Format(), "each object of the file is a row"
    alike = _siblings(places, path, sample)
    return Format(rows=tuple(alike)), f"{path} has objects with known names"


def _lists(value: Any, path: str, depth: int) -> Iterator[str]:
    """Yield the paths of all lists of objects within a value."""
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        inner = next((each for each in value if isinstance(each, dict)), None)
        if inner is not None and path:
            yield f"{path}[]"
            yield from _lists(inner, f"{path}[]", depth + 1)
        elif inner is not None:
            yield from _lists(inner, "", depth + 1)
    elif isinstance(value, dict):
        for key, inside in value.items():
            if isinstance(inside, dict | list):
                yield from _lists(inside, f"{path}.{key}" if path else key, depth + 1)


def _score(sample: list[Any], path: str) -> tuple[int, int]:
    """Return how many known words the objects at a path have, and how many objects there are."""
    rows = [stack[-1][0] for at, each in enumerate(sample) for stack in within(each, path, at)]
    objects = [row for row in rows if isinstance(row, dict)]
    fields: set[str] = set()
    for row in objects[:_SAMPLED]:
        fields |= _words(row, 0)
    return len(fields), len(objects)


def _words(row: dict[str, Any], depth: int) -> set[str]:
    terms = vocabulary.load().terms
    found: set[str] = set()
    for key, value in row.items():
        for name, _ in vocabulary.names_of(key):
            found |= {term.field for term in terms.get(name, ()) if not isinstance(value, dict)}
        if isinstance(value, dict) and depth < 3:
            found |= _words(value, depth + 1)
    return found


def _side_by_side(sample: list[Any]) -> list[str]:
    """Return the known lists of one length that an object holds side by side."""
    terms = vocabulary.load().terms
    rows = [stack[-1][0] for at, each in enumerate(sample) for stack in within(each, "", at)]
    first = next((row for row in rows if isinstance(row, dict)), {})
    lists = {key: value for key, value in first.items() if isinstance(value, list) and value}
    known = [key for key in lists if any(name in terms for name, _ in vocabulary.names_of(key))]
    return known if len({len(lists[key]) for key in known}) == 1 else []


def _siblings(places: dict[str, None], path: str, sample: list[Any]) -> list[str]:
    """Return the path and those beside it whose objects have the same words."""
    parent = path.removesuffix("[]").rpartition(".")[0]
    words = _score(sample, path)[0]
    beside = [
        place
        for place in places
        if place.removesuffix("[]").rpartition(".")[0] == parent
        and "[]" not in place.removesuffix("[]").removeprefix(parent)
        and _score(sample, place)[0] >= max(_FEWEST_WORDS, words // 2)
    ]
    return beside if parent else [path]


def scalars(source: Source, form: Format) -> frozenset[str]:
    """Return the columns that are the same for all requests whose lists stand side by side."""
    if form.layout is not Layout.ARRAYS:
        return frozenset()
    value: dict[str, Any] = next((stack[-1][0] for stack in first_rows(source, form, 1)), {})
    return frozenset(key for key, inner in value.items() if not isinstance(inner, list))


def find_table(source: Source, names: Sequence[str]) -> tuple[Format, str]:
    """Return the table of a database whose columns have the most known names, and why."""
    if len(names) < 2:
        return Format(), f"the database has one table, {''.join(names)}"
    terms = vocabulary.load().terms
    best, most = names[0], -1
    for name in names:
        columns = tables.columns(source, Format(table=name))
        known = [column for column in columns if _is_known(terms, column)]
        if len(known) > most:
            best, most = name, len(known)
    return Format(table=best), f"of the tables {', '.join(names)}, {best} has the most known names"


def _is_known(terms: Dict[str, tuple[vocabulary.Term, ...]], column: str) -> bool:
    return any(name in terms for name, _ in vocabulary.names_of(column))
