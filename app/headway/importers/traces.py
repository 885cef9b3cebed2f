"""A customer's trace: when requests arrived and how long they were, with no results.

A trace is told by its header or its keys, never by its name; docs/formats.md lists the shapes.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from headway.errors import ImportRefusedError
from headway.importers.source import MAX_SECONDS, Source, as_number

MAX_ROWS = 2_000_000

_INSTANT = "%Y-%m-%d %H:%M:%S%.f"
_MOST_NAMED = 8


class _Layout(Enum):
    CSV = "CSV"
    LINES = "JSONL"
    LIST = "JSON list"


class _Clock(Enum):
    """What arrivals are written in."""

    INSTANTS = "date and time"
    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"


@dataclass(frozen=True, slots=True)
class _Shape:
    name: str
    layout: _Layout
    clock: _Clock
    arrival: str | None
    prompt: str
    output: str
    zero_output_is_unknown: bool = False

    def names(self) -> tuple[str, ...]:
        return tuple(key for key in (self.arrival, self.prompt, self.output) if key is not None)


_SHAPES = (
    _Shape("Azure", _Layout.CSV, _Clock.INSTANTS, "TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    _Shape(
        "BurstGPT",
        _Layout.CSV,
        _Clock.SECONDS,
        "Timestamp",
        "Request tokens",
        "Response tokens",
        zero_output_is_unknown=True,  # a request that failed, not an answer without tokens
    ),
    _Shape(
        "Vidur",
        _Layout.CSV,
        _Clock.SECONDS,
        "arrived_at",
        "num_prefill_tokens",
        "num_decode_tokens",
    ),
    _Shape(
        "Mooncake",
        _Layout.LINES,
        _Clock.MILLISECONDS,
        "timestamp",
        "input_length",
        "output_length",
    ),
    _Shape(
        "vLLM workload.json",
        _Layout.LIST,
        _Clock.SECONDS,
        None,
        "prompt_len",
        "expected_output_len",
    ),
)
SHAPES = tuple(shape.name for shape in _SHAPES)
_PREFIX_BLOCKS = "hash_ids"


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The requests of a trace.

    Parameters
    ----------
    shape
        Which of `SHAPES` it has.
    rows
        `arrival_s` from the first arrival, NULL where the shape has no times; `prompt_tokens`;
        `output_tokens`, NULL where the trace does not know them.
    n_blocks, n_blocks_seen
        Blocks of all prompts, and those that an earlier prompt began with too; None where the
        trace does not record prefixes.
    """

    shape: str
    rows: pl.DataFrame
    n_blocks: int | None = None
    n_blocks_seen: int | None = None


def read(path: Path, name: str | None = None) -> Trace:
    """Read a trace, gzip or not.

    Raises
    ------
    ImportRefusedError
        The file is no trace that Headway knows (`foreign`), breaks off or has a value that is
        none (`damaged`), has more than `MAX_ROWS` rows (`too_long`), or cannot be read.
    """
    source = Source.open(path, name)
    text = source.text()
    start = text.lstrip()[:1]
    if start == "[":
        return _from_objects(source.name, _Layout.LIST, _list(source.name, text))
    if start == "{":
        return _from_objects(source.name, _Layout.LINES, _lines(source.name, text))
    return _from_csv(source.name, text)


def _from_csv(name: str, text: str) -> Trace:
    header = [cell.strip().strip('"') for cell in text.split("\n", 1)[0].split(",")]
    shape = _shape_of(name, _Layout.CSV, header)
    wanted = sorted(shape.names(), key=header.index)  # the reader keeps the order of the file
    try:
        table = pl.read_csv(
            io.BytesIO(text.encode()),
            columns=[header.index(key) for key in wanted],
            infer_schema=False,
            n_rows=MAX_ROWS + 1,
        )
    except pl.exceptions.PolarsError as error:
        raise ImportRefusedError(
            "damaged", f"{name} is no whole CSV: {error}; copy it again, whole"
        ) from error
    table.columns = wanted
    _limit(name, table.height)
    return _trace(name, shape, {key: table[key] for key in shape.names()})


def _from_objects(name: str, layout: _Layout, rows: Sequence[Mapping[str, Any]]) -> Trace:
    shape = _shape_of(name, layout, list(rows[0]))
    _limit(name, len(rows))
    columns = {
        key: pl.Series([_plain(row.get(key)) for row in rows], dtype=pl.String)
        for key in shape.names()
    }
    return _trace(name, shape, columns, _prefixes([row.get(_PREFIX_BLOCKS) for row in rows]))


def _plain(value: object) -> str | None:
    number = as_number(value)
    return None if number is None else repr(number)


def _list(name: str, text: str) -> list[dict[str, Any]]:
    try:
        rows = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ImportRefusedError("damaged", f"{name} is no whole JSON list: {error}") from error
    return _objects(name, rows)


def _lines(name: str, text: str) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            rows.append(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            raise ImportRefusedError(
                "foreign" if not rows else "damaged",
                f"{name}, line {number} is not a JSON object; a trace in JSON has one in every "
                f"line, or is a list of them. {_known()}",
            ) from error
    return _objects(name, rows)


def _objects(name: str, rows: list[Any]) -> list[dict[str, Any]]:
    if not rows:
        raise ImportRefusedError("empty", f"{name} has no request; expected at least one")
    strange = next((at for at, row in enumerate(rows, 1) if not isinstance(row, dict)), None)
    if strange is not None:
        raise ImportRefusedError(
            "foreign", f"{name}, entry {strange} is not a JSON object. {_known()}"
        )
    return rows


def _shape_of(name: str, layout: _Layout, keys: Sequence[str]) -> _Shape:
    for shape in _SHAPES:
        if shape.layout is layout and set(shape.names()) <= set(keys):
            return shape
    named = ", ".join(key[:40] for key in keys[:_MOST_NAMED])
    more = ", …" if len(keys) > _MOST_NAMED else ""
    raise ImportRefusedError(
        "foreign",
        f"{name} is no trace that Headway knows: read as {layout.value} it has {named}{more}. "
        f"{_known()}",
    )


def _known() -> str:
    shapes = (f"{each.name} ({each.layout.value}: {', '.join(each.names())})" for each in _SHAPES)
    return f"Known are {'; '.join(shapes)}"


def _limit(name: str, n_rows: int) -> None:
    if n_rows > MAX_ROWS:
        raise ImportRefusedError(
            "too_long",
            f"{name} has more than {MAX_ROWS:,} rows; cut it to the days that matter",
        )
    if n_rows == 0:
        raise ImportRefusedError("empty", f"{name} has no request; expected at least one")


def _trace(
    name: str,
    shape: _Shape,
    columns: Mapping[str, pl.Series],
    prefixes: tuple[int, int] | None = None,
) -> Trace:
    output = _tokens(name, shape.output, columns[shape.output])
    rows = pl.DataFrame(
        {
            "arrival_s": _arrivals(name, shape, columns),
            "prompt_tokens": _tokens(name, shape.prompt, columns[shape.prompt]),
            "output_tokens": output.replace(0, None) if shape.zero_output_is_unknown else output,
        },
        schema_overrides={"arrival_s": pl.Float64},
    )
    return Trace(shape.name, rows, *(prefixes or (None, None)))


def _tokens(name: str, key: str, column: pl.Series) -> pl.Series:
    number = column.str.strip_chars().cast(pl.Float64, strict=False)
    fits = (number >= 0) & (number < 2**31) & (number == number.floor())
    _all_fit(name, key, column, fits, "a number of tokens")
    return number.cast(pl.Int64)


def _arrivals(name: str, shape: _Shape, columns: Mapping[str, pl.Series]) -> pl.Series | None:
    if shape.arrival is None:
        return None
    column = columns[shape.arrival].str.strip_chars()
    seconds = _seconds(column, shape.clock)
    fits = seconds.is_finite() & (seconds.abs() < 10 * MAX_SECONDS)
    _all_fit(name, shape.arrival, column, fits, f"a time in {shape.clock.value}")
    return seconds - seconds.min()


def _seconds(column: pl.Series, clock: _Clock) -> pl.Series:
    if clock is _Clock.INSTANTS:
        local = column.str.replace(r"(\+00:00|Z)$", "").str.replace("T", " ", literal=True)
        instants = local.str.to_datetime(_INSTANT, time_unit="ns", strict=False)
        # Counted from the first before it becomes a float, which could not hold the microseconds.
        return (instants - instants.min()).dt.total_nanoseconds() / 1e9
    number = column.cast(pl.Float64, strict=False)
    return number / 1000 if clock is _Clock.MILLISECONDS else number


def _all_fit(name: str, key: str, column: pl.Series, fits: pl.Series, expected: str) -> None:
    misfit = (~fits.fill_null(value=False)).arg_max()
    if misfit is None or fits[misfit]:
        return
    found = column[misfit]
    raise ImportRefusedError(
        "damaged",
        f"{name}, request {misfit + 1}: {key} is "
        f"{'missing or no number' if found is None else repr(found[:40])}; expected {expected}",
    )


def _prefixes(prompts: Sequence[object]) -> tuple[int, int] | None:
    """Return how many blocks all prompts have, and how many of them were seen before.

    A block's id stands for everything up to it, so that a block seen before is a prefix shared.
    """
    if not all(isinstance(blocks, list) for blocks in prompts):
        return None
    every = [block for blocks in prompts if isinstance(blocks, list) for block in blocks]
    return len(every), len(every) - len({str(block) for block in every})
