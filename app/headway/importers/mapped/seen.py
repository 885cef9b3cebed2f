"""What a file holds that no importer claims: requests, totals of a benchmark, or neither."""

from enum import Enum
from pathlib import Path

from headway.errors import HeadwayError
from headway.importers.mapped import proposing, tables, totals, vocabulary
from headway.importers.mapped.mapping import Layout
from headway.importers.source import Source
from headway.importers.survival import survived

_TABLES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")
_PACKED = (".gz", ".zst")
_TIMES = {"ttft_us", "latency_us", "chunk_gaps_us"}
_BESIDE = {"outcome", "prompt_tokens", "output_tokens", "sent_us", "http_status", "request_id"}


class Holds(Enum):
    """What a file holds."""

    REQUESTS = "requests"
    TOTALS = "totals"
    NEITHER = "neither"


def may_be_table(path: Path) -> bool:
    """Return whether a file's name ends as those of tables do."""
    name = Path(path.name.lower())
    ending = Path(name.stem).suffix if name.suffix in _PACKED else name.suffix
    return ending in (*_TABLES, *_DATABASES)


def holds(path: Path) -> Holds:
    """Return what a file holds, told by the names of its columns."""
    try:
        with survived(path.name):
            source = Source.open(path)
            form, _ = proposing.format_of(source)
            columns = tables.columns(source, form)
    except HeadwayError:
        return Holds.NEITHER
    if form.layout is not Layout.ARRAYS and totals.are_named(columns):
        return Holds.TOTALS
    fields = _fields(columns)
    is_request = bool(fields & _TIMES) and len(fields & (_TIMES | _BESIDE)) > 1
    return Holds.REQUESTS if is_request else Holds.NEITHER


def _fields(columns: list[str]) -> set[str]:
    """Return the fields of a request that columns are named after."""
    terms = vocabulary.load().terms
    names = {name for column in columns for name, _ in vocabulary.names_of(column)}
    return {term.field for name in names for term in terms.get(name, ())}
