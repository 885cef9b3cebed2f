"""What a proposal says: lines with reasons, and questions; pure data for a page or a table."""

from dataclasses import dataclass
from enum import StrEnum

from headway.importers.mapped.mapping import Mapping, Question


class Confidence(StrEnum):
    """How sure a line of a proposal is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a proposal: what it says of which columns, why, and how sure it is."""

    key: str
    columns: tuple[str, ...]
    reason: str
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Proposal:
    """A mapping that a table suggests, complete or not.

    Parameters
    ----------
    mapping
        What is proposed; `questions` says what it leaves open.
    lines
        The reason for each part of it, and for columns that are not used.
    questions
        What must be stated before the mapping can be used, and what is worth stating.
    known
        Name of the saved or built-in mapping that the table fits, if that is the proposal.
    """

    mapping: Mapping
    lines: tuple[Line, ...]
    questions: tuple[Question, ...]
    known: str | None = None
