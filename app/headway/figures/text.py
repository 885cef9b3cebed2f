"""Numbers as people read them: units, three significant digits, and words for what is missing."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime

from headway.analyses.distribution import Description, Percentile
from headway.analyses.documents import percentile_name
from headway.model import Metric, Outcome, Status
from headway.numbers import brief

NOT_RECORDED = "not recorded"
_NBSP = "\u00a0"
_JOINER = "\u2060"

METRIC_NAMES = {
    Metric.TTFT: "TTFT",
    Metric.TPOT: "mean time per output token",
    Metric.STALL: "longest stall",
    Metric.GAP: "gap between stream chunks",
    Metric.LATENCY: "completion latency",
}

STATUS_WORDS = {
    Status.MEASURED: "measured",
    Status.NOT_MEASURED: "not measured",
    Status.NOT_APPLICABLE: "not applicable",
    Status.NOT_RECORDED: NOT_RECORDED,
}


def duration(value_ms: float | None) -> str:
    """Return milliseconds below one second, else seconds; three significant digits."""
    if value_ms is None:
        return NOT_RECORDED
    if value_ms == 0:
        return f"0{_NBSP}ms"
    return (
        f"{significant(value_ms)} ms" if value_ms < 999.5 else f"{significant(value_ms / 1000)} s"
    )


def percentile_value(point: Percentile, described: Description) -> str:
    """Return a percentile in words, as a lower bound where so few requests cannot carry it.

    The largest of n values stands for every percentile above 1 − 1/n: how far beyond it the tail
    of more requests would reach is not known.
    """
    if point.value_ms is None:
        return "not reached"
    said = duration(point.value_ms)
    n = described.denominator
    return said if is_carried(point.share, n) else f"≥ {said} ({carried(n)})"


def is_carried(share: float, n: int) -> bool:
    """Return whether at least one of n values lies above a percentile's."""
    return n * (1 - share) >= 1 - 1e-9


def carried(n: int) -> str:
    """Return the highest percentile that n values carry, in words."""
    if n < 2:
        return f"n = {n} carries no percentile"
    highest = math.floor((1 - 1 / n) * 1000 + 1e-9) / 1000
    return f"n = {n:,} carries up to {percentile(highest)}"


def limit(value_ms: float) -> str:
    """Return a declared limit as it was declared, without zeros that nobody wrote."""
    return (
        f"{brief(value_ms, 6)}{_NBSP}ms"
        if value_ms < 1000
        else f"{brief(value_ms / 1000, 6)}{_NBSP}s"
    )


def significant(value: float) -> str:
    """Return three significant digits, never in scientific notation."""
    if value == 0:
        return "0"
    size = abs(float(f"{value:.3g}"))  # 99.96 is read as 100, not as 100.0
    if size >= 100:
        return f"{value:,.0f}"
    decimals = 2 if size >= 1 else 3
    if size >= 10:
        decimals = 1
    if size < 0.1:
        return f"{value:.3g}" if abs(value) >= 0.0001 else f"{value:.6f}"
    return f"{value:.{decimals}f}"


def share(value: float | None) -> str:
    """Return a share in per cent, never rounded to 0% or 100% unless it is."""
    if value is None:
        return NOT_RECORDED
    percent = value * 100
    if 99.95 <= percent < 100:
        return ">99.9%"
    if 0 < percent < 0.05:
        return "<0.1%"
    return f"{percent:.1f}".removesuffix(".0") + "%"


def percentile(share: float) -> str:
    """Return the name of a percentile.

    Examples
    --------
    >>> percentile(0.999)
    'p99.9'
    """
    return f"p{percentile_name(share)}"


def moment(stated: str | None) -> str:
    """Return an instant in UTC to the second, without its zone.

    Examples
    --------
    >>> moment("2026-11-29T19:12:47.914+00:00")
    '2026-11-29 19:12:47'
    """
    if stated is None:
        return NOT_RECORDED
    return datetime.fromisoformat(stated).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def count(value: int | None) -> str:
    """Return a count with thousands separators."""
    return NOT_RECORDED if value is None else f"{value:,}"


def rate(value: float | None, unit: str) -> str:
    """Return a rate with its unit, for example "3.96 req/s"."""
    return "no rate" if value is None else f"{significant(value)}{_NBSP}{unit}"


def outcome(value: Outcome) -> str:
    """Return an outcome in words."""
    return value.value.replace("_", " ")


def listed(words: Iterable[str]) -> str:
    """Join words as a sentence does: a, b and c."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def escape(text: str) -> str:
    """Make text from a file safe inside Markdown: nothing in it formats, links or loads.

    Bare addresses become links even where every letter is escaped, so an invisible word joiner
    parts what would be recognised as one.
    """
    special = "\\`*_{}[]()<>#+-.!|~$:&="
    line = " ".join(text.splitlines())  # a second line could begin a block
    escaped = "".join(f"\\{letter}" if letter in special else letter for letter in line)
    for mark in ("//", "@", "www"):
        escaped = escaped.replace(mark, f"{mark[:1]}{_JOINER}{mark[1:]}")
    return escaped


def plain(text: str) -> str:
    """Make text from a file safe inside a Plotly label, which reads a few HTML tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
