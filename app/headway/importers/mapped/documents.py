"""Requests inside JSON: lines, arrays, and documents with requests somewhere within.

A path names a value by its keys, `metrics.ttft.value`; a key may hold dots itself. In a document
whose requests stand deeper, `rows` says where: `levels[].requests[]`. There, `^` goes to the object
around the row, `^^` to the one around that, and `#` is the place in the list, from 0.
"""

import json
import math
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson
import polars as pl

from headway.errors import ImportRefusedError
from headway.importers.mapped.mapping import Format, Layout
from headway.importers.source import Source

# A document is held in memory whole, at several times its size.
MOST_DOCUMENT_BYTES = 1 << 30
_BATCH_ROWS = 65_536
_BLOCK_BYTES = 1 << 20
_MARK = b"\xef\xbb\xbf"  # of UTF-8 with a byte order mark
# Documents to look through for rows, where their place holds none.
_MOST_SAMPLED = 1_000
_EXACT = 2**53

Stack = list[tuple[Any, int]]


@dataclass(slots=True)
class Damage:
    """Lines that are no JSON: how many, and the numbers of the first."""

    n: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        """Count one more line."""
        self.n += 1
        if len(self.lines) < 3:
            self.lines.append(line)


def frame(
    source: Source, form: Format, paths: Sequence[str], limit: int | None = None
) -> tuple[pl.DataFrame, Damage]:
    """Return the values at the paths, one row for each request, and the damaged lines.

    Raises
    ------
    ImportRefusedError
        The content is no JSON (`damaged`), too large (`too_long`), or lists that must stand side
        by side differ in length (`inconsistent`).
    """
    damage = Damage()
    batches: dict[str, list[pl.Series]] = {path: [] for path in paths}
    held: dict[str, list[Any]] = {path: [] for path in paths}
    n_held = n_rows = 0
    for row in _rows(source, form, damage, paths):
        for path, values in held.items():
            values.append(look(row, path))
        n_held, n_rows = n_held + 1, n_rows + 1
        if n_held == _BATCH_ROWS:
            _flush(held, batches)
            n_held = 0
        if limit is not None and n_rows >= limit:
            break
    _flush(held, batches)
    return pl.DataFrame([joined(path, parts) for path, parts in batches.items()]), damage


def _flush(held: dict[str, list[Any]], batches: dict[str, list[pl.Series]]) -> None:
    for path, values in held.items():
        batches[path].append(series(values))
        values.clear()


def first(source: Source) -> list[tuple[int, Any]]:
    """Return the first documents of a file with their number."""
    return list(islice(documents(source, Damage()), _MOST_SAMPLED))


def first_rows(
    source: Source, form: Format, limit: int, known: Sequence[tuple[int, Any]] = ()
) -> list[Stack]:
    """Return the first requests, each with the objects around it; `known` saves the reading."""
    found: list[Stack] = []
    for place, document in known or islice(documents(source, Damage()), _MOST_SAMPLED):
        for path in form.rows or ("",):
            for stack in within(document, path, place):
                if len(found) >= limit:
                    return found
                found.append(stack)
    return found


def documents(source: Source, damage: Damage) -> Iterator[tuple[int, Any]]:
    """Yield the documents of a file with their number: each line that is one, or the whole.

    Raises
    ------
    ImportRefusedError
        The content is no JSON (`damaged`), or too large to be read whole (`too_long`).
    """
    lines = _lines(source)
    start = next(lines, None)
    if start is None:
        return
    first = _parsed(start[1])
    if first is _BROKEN or isinstance(first, str | int | float):
        lines.close()
        yield 0, _whole(source)
        return
    yield 0, first
    for place, (number, line) in enumerate(lines, 1):
        value = _parsed(line)
        if value is _BROKEN:
            damage.add(number)
        else:
            yield place, value


def _lines(source: Source) -> Generator[tuple[int, bytes], None, None]:
    """Yield each line that is not blank with its number; unpacked, none may fill the memory."""
    with source.stream() as stream:
        number = 0
        while line := stream.readline(MOST_DOCUMENT_BYTES + 1):
            number += 1
            if len(line) > MOST_DOCUMENT_BYTES:
                raise _too_long(source, f"line {number}")
            content = line.removeprefix(_MARK) if number == 1 else line
            if content.strip():
                yield number, content
    check_unchanged(source)


def check_unchanged(source: Source) -> None:
    """Refuse a file that is no longer the one whose digest names the run.

    Raises
    ------
    ImportRefusedError
        It has `changed`.
    """
    if Source.open(source.path, source.name).sha256 != source.sha256:
        raise ImportRefusedError(
            "changed",
            f"{source.name} changed while it was read; expected a file that is complete: import "
            "it again when the benchmark has ended",
        )


def _too_long(source: Source, what: str) -> ImportRefusedError:
    return ImportRefusedError(
        "too_long",
        f"{source.name}: {what} has more than {MOST_DOCUMENT_BYTES >> 20:,} MiB, unpacked; "
        "expected JSON lines, which are read a line at a time",
    )


_BROKEN = object()


def _parsed(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    try:  # NaN and Infinity are no JSON, and some tools write them all the same
        return json.loads(line)
    except (ValueError, UnicodeDecodeError, RecursionError):
        return _BROKEN


def _whole(source: Source) -> Any:
    n_bytes = 0
    with source.stream() as stream:
        while block := stream.read(_BLOCK_BYTES):
            n_bytes += len(block)
            if n_bytes > MOST_DOCUMENT_BYTES:
                raise _too_long(source, "its one document")
    text = source.text()
    value = _parsed(text.encode())
    if value is not _BROKEN:
        return value
    try:
        json.loads(text)
    except RecursionError:
        where = "it is nested too deeply"
    except ValueError as error:
        where = str(error)
    raise ImportRefusedError(
        "damaged",
        f"{source.name} is no valid JSON: {where}; was the run interrupted while it was written?",
    )


def _rows(source: Source, form: Format, damage: Damage, paths: Sequence[str]) -> Iterator[Stack]:
    for place, document in documents(source, damage):
        for path in form.rows or ("",):
            for stack in within(document, path, place):
                if form.layout is Layout.ARRAYS:
                    yield from _side_by_side(source.name, stack, paths)
                elif isinstance(stack[-1][0], dict):
                    yield stack
                else:
                    damage.add(place + 1)


def within(document: Any, path: str, place: int) -> Iterator[Stack]:
    """Yield the objects at a path of a document, each with those around it and their places."""
    if not path and isinstance(document, list):
        yield from ([(document, 0), (each, at)] for at, each in enumerate(document))
        return
    stacks: list[Stack] = [[(document, place)]]
    parts = path.split("[]") if path else []
    for part in parts[:-1]:
        key = part.removeprefix(".")
        stacks = [
            [*stack, (each, at)]
            for stack in stacks
            for at, each in enumerate(_list(dig(stack[-1][0], key) if key else stack[-1][0]))
        ]
    last = parts[-1].removeprefix(".") if parts else ""
    for stack in stacks:
        if not last:
            yield stack
        elif (inner := dig(stack[-1][0], last)) is not None:
            yield [*stack, (inner, 0)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _side_by_side(name: str, stack: Stack, paths: Sequence[str]) -> Iterator[Stack]:
    """Yield one row for each element of the lists that an object holds side by side."""
    lists = {path: value for path in paths if isinstance(value := look(stack, path), list)}
    lengths = {len(value) for value in lists.values()}
    if len(lengths) > 1:
        found = ", ".join(f"{path} {len(value)}" for path, value in lists.items())
        raise ImportRefusedError(
            "inconsistent",
            f"{name}: lists that stand side by side differ in length: {found}; expected one "
            "element of each for every request",
        )
    scalars = {path: look(stack, path) for path in paths if path not in lists}
    for at in range(next(iter(lengths), 0)):
        row = scalars | {path: value[at] for path, value in lists.items()}
        yield [*stack, (row, at)]


def uneven(stacks: Sequence[Stack]) -> set[str]:
    """Return the lists of objects that are not as long as most of the lists beside them."""
    found: set[str] = set()
    for stack in stacks:
        value = stack[-1][0]
        lengths = {key: len(each) for key, each in value.items() if isinstance(each, list)}
        usual = Counter(lengths.values()).most_common(1)
        found |= {key for key, length in lengths.items() if length != usual[0][0]}
    return found


def look(stack: Stack, path: str) -> Any:
    """Return the value at a path of a row, following `^` to the objects around it."""
    row = stack[-1][0]
    if isinstance(row, dict) and path in row:
        return row[path]
    up = len(path) - len(path.lstrip("^"))
    if up >= len(stack):
        return None
    value, place = stack[-1 - up]
    rest = path[up:]
    return place if rest == "#" else dig(value, rest)


def dig(value: Any, path: str) -> Any:
    """Follow a path of keys; None as soon as one is missing. A key may itself hold dots."""
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        inside = value[int(head)] if head.isdecimal() and int(head) < len(value) else None
        return dig(inside, rest) if rest else inside
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    cut = path.find(".")
    while cut > 0:
        inside = value.get(path[:cut])
        if isinstance(inside, dict | list) and (found := dig(inside, path[cut + 1 :])) is not None:
            return found
        cut = path.find(".", cut + 1)
    return None


def series(values: list[Any]) -> pl.Series:
    """Return values of JSON as a column: of one type where they have one, else of texts."""
    kinds = {type(value) for value in values} - {type(None)}
    if not kinds:
        return pl.Series(values, dtype=pl.Null)
    if kinds == {list}:
        return _lists(values)
    if kinds <= {int, float} and (float not in kinds or not _any_large(values)):
        kind = pl.Float64 if float in kinds else pl.Int64
        if kind == pl.Int64 and _beyond(values):
            return _texts(values)
        return pl.Series(values, dtype=kind, strict=False)
    if kinds == {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    return _texts(values)


def _any_large(values: list[Any]) -> bool:
    return any(isinstance(value, int) and abs(value) > _EXACT for value in values)


def _beyond(values: list[Any]) -> bool:
    return any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values)


def _texts(values: list[Any]) -> pl.Series:
    return pl.Series([_as_text(value) for value in values], dtype=pl.String)


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value if value is None else value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "NaN" if math.isnan(value) else str(value)
    if isinstance(value, bool | int):
        return str(value).lower()
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value)


def _lists(values: list[Any]) -> pl.Series:
    kinds = {type(each) for value in values if value for each in value} - {type(None)}
    if kinds and not kinds <= {int, float}:
        return _texts(values)
    flat = [each for value in values if value for each in value]
    if float in kinds and not _any_large(flat):
        return pl.Series(values, dtype=pl.List(pl.Float64), strict=False)
    if kinds <= {int} and not _beyond(flat):
        return pl.Series(values, dtype=pl.List(pl.Int64))
    texts = [value and [_as_text(each) for each in value] for value in values]
    return pl.Series(texts, dtype=pl.List(pl.String))


def joined(name: str, parts: list[pl.Series]) -> pl.Series:
    """Join batches of one column, whose types may differ: numbers as floats, else as texts."""
    kinds = {part.dtype for part in parts} - {pl.Null}
    if len(kinds) <= 1:
        kind = next(iter(kinds), pl.Null())
    elif all(each.is_numeric() for each in kinds):
        kind = pl.Float64() if _small(parts) else pl.String()
    elif all(isinstance(each, pl.List) for each in kinds):
        kind = pl.List(pl.Float64) if pl.List(pl.String) not in kinds else pl.List(pl.String)
    else:
        kind = pl.String()
    return pl.concat([part.cast(kind) for part in parts]).alias(name)


def _small(parts: list[pl.Series]) -> bool:
    whole = [part for part in parts if part.dtype == pl.Int64]
    return not any(bool((part.abs() >= _EXACT).any()) for part in whole)
