"""What columns tell of each other: units, the clock, values that mean "not known"."""

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from headway.importers.mapped import units, vocabulary
from headway.importers.mapped.mapping import (
    FROM_SEND,
    INSTANTS,
    TIMES,
    Fact,
    Field,
    Kind,
    Question,
    Unit,
)
from headway.importers.mapped.proposal import Confidence

if TYPE_CHECKING:
    from headway.importers.mapped.draft import Draft


def agree(draft: "Draft") -> None:
    """Settle an open unit of the latency by what cannot be otherwise."""
    _agree_with_first_token(draft)
    _agree_with_instants(draft)


def _agree_with_first_token(draft: "Draft") -> None:
    """Exclude units in which answers would end before their first token."""
    first, latency = draft.fields.get("ttft_us"), draft.fields.get("latency_us")
    if first is None or latency is None or latency.unit is not None or first.unit is None:
        return
    if first.kind is Kind.INSTANT or latency.kind is Kind.INSTANT:
        return
    seen = draft.profiles[latency.source[0]]
    least_s = units.seconds(draft.profiles[first.source[0]].median, first.unit)
    left = [
        unit
        for unit in units.possible(seen, "latency_us")
        if units.seconds(seen.median, unit) >= least_s
    ]
    if len(left) == 1:
        draft.fields["latency_us"] = replace(latency, unit=left[0])
        why = (
            f"{units.in_words(seen, left[0])} at the median: in any other unit that is possible, "
            "answers would end before their first token"
        )
        draft.note("fields.latency_us.unit", latency.source, why, Confidence.LIKELY)


def _agree_with_instants(draft: "Draft") -> None:
    """Take the unit in which the latency is the time between the send and the end."""
    sent, end = draft.fields.get("sent_us"), _column_of_end(draft)
    if sent is None or end is None or sent.unit is None:
        return
    latency = draft.fields.get("latency_us")
    if latency is None or latency.unit is not None or latency.kind is Kind.INSTANT:
        return
    between = draft.rows[end].cast(pl.Float64, strict=False) - draft.rows[sent.source[0]].cast(
        pl.Float64, strict=False
    )
    per_us = {Unit.S: 1e6, Unit.MS: 1e3, Unit.US: 1.0, Unit.NS: 1e-3}.get(sent.unit)
    durations = draft.rows[latency.source[0]].cast(pl.Float64, strict=False)
    unit = None if per_us is None else units.agreeing(durations, between * per_us)
    if unit is not None:
        draft.fields["latency_us"] = replace(latency, unit=unit)
        why = f"in {unit.value} it is the time from {sent.source[0]} to {end}"
        draft.note("fields.latency_us.unit", latency.source, why, Confidence.CERTAIN)


def _column_of_end(draft: "Draft") -> str | None:
    words = vocabulary.load().terms
    for column in draft.columns:
        for name, _ in vocabulary.names_of(column):
            if any(t.field == "latency_us" and t.kind is Kind.INSTANT for t in words.get(name, ())):
                return column
    return None


def clock(draft: "Draft") -> None:
    """Say what the instants count from, where they tell."""
    if "clock" in draft.facts:
        return
    instants = [draft.fields[name] for name in INSTANTS if name in draft.fields]
    if not instants:
        if draft.fields and not any(
            f.kind in (Kind.INSTANT, Kind.INSTANTS) for f in draft.fields.values()
        ):
            draft.facts["clock"] = Fact("clock", "none")
            draft.note("run.clock", (), "no column holds an instant", Confidence.LIKELY)
        return
    column = instants[0].source[0]
    seen = draft.profiles[column]
    if seen.is_moment or units.unix_unit(seen) is not None:
        draft.facts["clock"] = Fact("clock", "wall")
        draft.note("run.clock", (column,), f"{column} has times of the calendar", Confidence.LIKELY)


def sentinels(draft: "Draft") -> None:
    """Propose -1 as unknown where it is the only negative value; ask about many zeros."""
    for target, field in list(draft.fields.items()):
        if target not in TIMES or not field.source or field.source[0] not in draft.profiles:
            continue
        numbers = draft.profiles[field.source[0]].numbers
        negative = numbers.filter(numbers < 0)
        if negative.len() and bool((negative == -1).all()) and target not in INSTANTS:
            draft.fields[target] = replace(field, unknown=(-1,))
            why = f"{negative.len()} values are exactly -1 and no other is negative"
            draft.note(f"fields.{target}.unknown", field.source, why, Confidence.LIKELY)
        zeros = int((numbers == 0).sum())
        if zeros and target in FROM_SEND:
            text = (
                f"{zeros} of {numbers.len()} values of {field.source[0]} are exactly 0: measured, "
                "or did it never happen? Then say unknown = 0"
            )
            draft.questions.append(Question(f"fields.{target}.unknown", text, ("0",)))


def is_workload(draft: "Draft") -> bool:
    """Return whether a table has arrivals and lengths, and no results at all."""
    results = ("ttft_us", "latency_us", "chunk_gaps_us", "outcome", "ended_us")
    return "prompt_tokens" in draft.fields and not any(name in draft.fields for name in results)


def workload_fields(draft: "Draft") -> list[Field]:
    """Return the fields of a workload among those that were found, and say why it is one."""
    found = draft.fields
    arrival = found.get("scheduled_us") or found.get("sent_us")
    output = found.get("output_tokens") or found.get("requested_output_tokens")
    draft.note("kind", (), "lengths without any result: a workload", Confidence.LIKELY)
    kept = [] if arrival is None else [replace(arrival, target="scheduled_us")]
    kept.append(found["prompt_tokens"])
    kept += [] if output is None else [replace(output, target="output_tokens")]
    blocks = found.get("prefix_blocks")
    return kept if blocks is None else [*kept, blocks]
