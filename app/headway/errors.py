"""The errors Headway raises on purpose.

Each message says what was found, where, what was expected, and what to do. Anything else that
escapes is a bug and is meant to look like one.
"""

from enum import StrEnum
from typing import TypeVar

_Word = TypeVar("_Word", bound=StrEnum)


def legible(text: str) -> str:
    """Return text that can be printed and stored: a file's name may hold bytes of no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class HeadwayError(Exception):
    """A problem with the input or the request, never with Headway itself."""

    code = "error"

    def __init__(self, message: str) -> None:
        super().__init__(legible(message))


class MisuseError(HeadwayError):
    """The caller asked for something that does not exist or does not fit together."""

    code = "misuse"


class RecordError(HeadwayError):
    """A run file breaks a rule of the record.

    Parameters
    ----------
    rule
        Name of the broken rule, one of `headway.record.RULES`.
    message
        What was found and what was expected.
    """

    code = "invalid_record"

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{message} [rule: {rule}]")
        self.rule = rule


class ImportRefusedError(HeadwayError):
    """A source file was recognised, or named by the user, and cannot become a run.

    Parameters
    ----------
    code
        Stable name of the reason, printed by `headway import --json`.
    message
        What was found, what was expected, and what to do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class QueryError(HeadwayError):
    """A query's file, parameters or result differ from what its header declares."""

    code = "query"


def member(kind: type[_Word], value: str, name: str) -> _Word:
    """Return the member of an enum that a word names.

    Raises
    ------
    MisuseError
        There is no such member; the message lists those that there are.
    """
    try:
        return kind(value)
    except ValueError as error:
        raise MisuseError(f"{name} is {value!r}; expected one of {', '.join(kind)}") from error
