"""What is wrong or doubtful about a mapped table, as pure data for messages, findings and pages."""

from dataclasses import dataclass

import polars as pl

from headway.model import Finding, Severity

_SHOWN = 3

# Codes of problems that leave a table a run, and of those that do not.
FINDINGS = (
    "rows_unreadable",
    "rows_left_out",
    "values_unreadable",
    "negative_values",
    "first_after_end",
    "duplicate_rows",
    "mostly_zero",
    "offered_unknown",
    "no_time_zone",
    "rows_surplus",
    "rows_missing",
    "rows_sampled",
)
REFUSALS = (
    "unknown_status",
    "values_unreadable",
    "negative_values",
    "first_after_end",
    "latency_missing",
    "not_unix",
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about the rows that a reader must know.

    Parameters
    ----------
    code, message
        Stable name, and the sentence with what was found and what to do.
    count
        How many rows, or values, are concerned.
    target
        The field of the record it is about, if one.
    rows
        Numbers of the first rows concerned, from 1.
    refuses
        Whether the table cannot become runs because of it.
    severity
        How much it should worry a reader where it does not refuse.
    """

    code: str
    message: str
    count: int = 1
    target: str | None = None
    rows: tuple[int, ...] = ()
    refuses: bool = False
    severity: Severity = Severity.WARNING

    def finding(self) -> Finding:
        """Return it as a finding of a run."""
        return Finding(self.code, self.severity, self.count, self.message)


def first(numbers: pl.Series) -> tuple[int, ...]:
    """Return the numbers of the first rows concerned."""
    return tuple(numbers.head(_SHOWN).to_list())


def named(rows: tuple[int, ...], count: int) -> str:
    """Return the first rows concerned, in words."""
    if not rows:
        return ""
    shown = ", ".join(str(row) for row in rows)
    more = f" and {count - len(rows)} more" if count > len(rows) else ""
    return f"row{'s' if count > 1 else ''} {shown}{more}"
