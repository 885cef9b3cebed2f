"""What became of requests, proposed from statuses, flags, codes and texts of errors."""

from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace

from headway.importers.mapped import vocabulary
from headway.importers.mapped.fields import matches
from headway.importers.mapped.mapping import Field
from headway.importers.mapped.profile import Profile

_CODES = (100, 599)


@dataclass(frozen=True, slots=True)
class Said:
    """A proposed outcome, why, and the values whose meaning is not known."""

    field: Field
    reason: str
    unmeant: tuple[str, ...] = ()


def propose(column: Profile, role: str) -> Said | None:
    """Return what a column says of outcomes; `role` is the field its name stands for."""
    if role == "outcome":
        return _of_status(column)
    if role == "http_status":
        return _of_codes(column)
    return _of_errors(column) if role == "reason" else None


def _of_status(column: Profile) -> Said | None:
    words = vocabulary.load().outcomes
    if not column.values:
        return None
    meant, unmeant = _meant(column, words)
    reason = f"{column.name} has {_listed(column)}"
    field = Field("outcome", (column.name,), values=tuple(meant.items()))
    return Said(field, reason, unmeant) if meant else None


def _of_codes(column: Profile) -> Said | None:
    words = vocabulary.load().outcomes
    if column.values and not column.is_numeric:
        return None
    meant, unmeant = _meant(column, words)
    reason = (
        f"{column.name} has codes ({_listed(column)}) of requests that failed, and else nothing"
    )
    has_success = any(200 <= int(float(code)) < 300 for code in meant if _is_number(code))
    default = None if has_success else "completed"
    field = Field("outcome", (column.name,), values=tuple(meant.items()), default=default)
    return Said(field, reason, unmeant)


def with_text(field: Field, role: str, text: Field | None) -> Field:
    """Return an outcome by codes that takes the text of an error where a failure has no code."""
    if role != "http_status" or text is None or field.default is None:
        return field
    errors = tuple(vocabulary.load().errors.items())
    source = (*field.source, *text.source)
    return replace(field, source=source, values=(*field.values, *errors), otherwise="failed")


def _of_errors(column: Profile) -> Said:
    found = {
        pattern: meaning
        for pattern, meaning in vocabulary.load().errors.items()
        if any(matches(pattern.lower(), text.lower()) for text, _ in column.values)
    }
    reason = f"{column.name} has a text where a request failed, and else nothing"
    field = Field(
        "outcome",
        (column.name,),
        values=tuple(found.items()),
        otherwise="failed",
        default="completed",
        optional=not column.n_known,
    )
    return Said(field, reason)


def _meant(column: Profile, words: Dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    meant: dict[str, str] = {}
    unmeant: list[str] = []
    for value, _ in column.values:
        word = words.get(vocabulary.normal(value)) if value.isascii() else None
        if word is None and _is_number(value) and _is_failure(value):
            word = "failed"
        if word is None:
            unmeant.append(value)
        else:
            meant[value] = word
    return meant, tuple(unmeant)


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdecimal()


def _is_failure(text: str) -> bool:
    return 400 <= abs(float(text)) <= _CODES[1]


def _listed(column: Profile) -> str:
    shown = ", ".join(f"{value[:30]} ({n})" for value, n in column.values[:5])
    more = len(column.values) - 5
    return shown + (f" and {more} more" if more > 0 else "") if shown else "no value"
