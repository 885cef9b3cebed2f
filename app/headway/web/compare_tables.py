"""The tables of the Compare page: the scorecard, what else changed, and repeatable differences."""

import polars as pl
import streamlit as st

from headway.analyses.changes import FieldPair
from headway.analyses.comparison import Claimed, Comparison
from headway.analyses.scorecard import ScoreRow
from headway.analyses.sides import Side
from headway.figures import comparison_words as words
from headway.figures import replicated_words
from headway.web import parts, sections, state


def scorecard(found: Comparison) -> None:
    """Show both sides over the same interval; not recorded where a side has nothing."""
    st.subheader("Over the same interval")
    question = found.question
    parts.table(
        pl.DataFrame(
            {
                "": [state.escape(_score_row(each)) for each in found.scorecard],
                _score_title("A", question.a): [
                    words.score(each.a, each.unit) for each in found.scorecard
                ],
                _score_title("B", question.b): [
                    words.score(each.b, each.unit) for each in found.scorecard
                ],
                "B − A": [
                    words.score(each.difference, each.unit, signed=True)
                    if each.is_compared
                    else "not compared"
                    for each in found.scorecard
                ],
            }
        ),
    )


def _score_title(label: str, side: Side) -> str:
    """Return a side's title; several runs show their mean, each one vote."""
    return label if len(side.runs) == 1 else f"{label}, mean of {len(side.runs)} runs"


def _score_row(each: ScoreRow) -> str:
    """Return a row's name, with the unit that its numbers do not carry."""
    name = words.row(each.row)
    return f"{name} ({each.unit})" if each.unit == "requests" else name


def changed(found: Comparison) -> None:
    """Show both descriptions, what differs first."""
    st.subheader("What else changed")
    differing = [each for each in found.fields if each.differs]
    rows = differing or list(found.fields)
    _fields(rows)
    rest = [each for each in found.fields if not each.differs]
    if differing and rest:
        which = "1 field that is" if len(rest) == 1 else f"{len(rest)} fields that are"
        sections.folded(f"{which} the same or not recorded", "same", lambda: _fields(rest))


def _fields(rows: list[FieldPair]) -> None:
    parts.table(
        pl.DataFrame(
            {
                "field": [state.escape(each.field.replace("_", " ")) for each in rows],
                "A": [_known(each.a) for each in rows],
                "B": [_known(each.b) for each in rows],
            }
        ),
    )


def _known(value: object) -> str:
    return ":gray[not recorded]" if value is None else state.escape(f"{value}")


def tests(found: Comparison) -> None:
    """Show the replicated differences; one run a side has facts and no tests."""
    if found.claim is not Claimed.REPLICATED:
        return
    st.subheader("Repeatable differences")
    parts.table(
        pl.DataFrame([replicated_words.tested(each) for each in found.tests]),
    )
