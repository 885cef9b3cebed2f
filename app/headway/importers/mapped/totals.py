"""Totals of whole benchmarks, told from requests by their names: no row of them is a request."""

import re
from collections.abc import Iterable

from headway.errors import ImportRefusedError
from headway.importers.mapped import vocabulary
from headway.importers.source import Source, head, tail

_STATISTIC = re.compile(
    r"mean|avg|average|median|med|min|max|minimum|maximum|std|stddev|stdev|variance|p\d{1,3}"
)
_TIMES = ("ttft", "latency", "tpot", "duration", "response_time", "time_to_first")
_GAPS = ("inter_token", "inter_chunk", "itl", "gap")
_OF_REQUESTS = ("ttft_us", "latency_us")


def are_named(columns: Iterable[str]) -> bool:
    """Return whether columns hold statistics of first tokens or latencies: two or more of one.

    A request may well have statistics of its own gaps; it has one latency and one first token.
    """
    seen: dict[str, set[str]] = {}
    for column in columns:
        said, quantity = _parts(column)
        if said and _is_of_requests(quantity):
            seen.setdefault(quantity, set()).update(said)
    return any(len(statistics) > 1 for statistics in seen.values())


def _parts(column: str) -> tuple[set[str], str]:
    """Return the statistics in a column's name, and the rest of it without its unit."""
    words = vocabulary.normal(column.lstrip("^").replace("%", " ")).split("_")
    said = {word for word in words if _STATISTIC.fullmatch(word)}
    rest = "_".join(word for word in words if word not in said)
    return said, vocabulary.parted(rest)[0]


def _is_of_requests(quantity: str) -> bool:
    if any(word in quantity for word in _GAPS):
        return False
    terms = vocabulary.load().terms
    words = quantity.split("_")
    ends = ["_".join(words[start:]) for start in range(len(words))]
    if any(term.field in _OF_REQUESTS for end in ends for term in terms.get(end, ())):
        return True
    return any(time in quantity for time in _TIMES)


def refusal(source: Source) -> ImportRefusedError:
    """Return the refusal of a file of totals, with the option that saves every request."""
    ends = (head(source.path) + tail(source.path)).lower().replace(b"-", b"_")
    known = vocabulary.load().totals
    option = next((known[mark] for mark in known if mark.encode() in ends), None)
    again = f"with {option}" if option else "with the option that saves a record of each request"
    return ImportRefusedError(
        "aggregate_only",
        f"{source.name} holds totals of a whole benchmark, not requests: no request can be read "
        f"from it; run the benchmark again {again}",
    )
