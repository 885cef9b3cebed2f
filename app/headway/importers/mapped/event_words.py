"""Tables of events, told by ids that repeat beside kinds of events with known names."""

from dataclasses import replace

import polars as pl

from headway.importers.mapped import profile, units, vocabulary
from headway.importers.mapped.mapping import (
    FROM_SEND,
    Field,
    Format,
    Kind,
    Layout,
    Mapping,
    Question,
)
from headway.importers.mapped.profile import Profile
from headway.importers.mapped.proposal import Confidence, Line, Proposal

_KINDS = ("event", "type", "kind", "event_type", "event_name", "name", "stage")
_TIMES = ("ts", "t", "time", "timestamp", "at", "when", "event_time", "wall_time")
_MOST_KINDS = 40
_FEWEST_ROWS = 1.5


def layout(rows: pl.DataFrame, form: Format, profiles: dict[str, Profile]) -> Format | None:
    """Return a format for events if the rows are some: ids repeat, and kinds have known names."""
    identity = _named(profiles, "request_id")
    event = next((name for name in profiles if vocabulary.normal(name) in _KINDS), None)
    if identity is None or event is None or _time(profiles) is None:
        return None
    known = rows[identity].drop_nulls()
    kinds = [kind for kind, _ in profiles[event].values]
    words = vocabulary.load().events
    n_known = sum(vocabulary.normal(kind) in words for kind in kinds)
    repeats = known.len() >= _FEWEST_ROWS * max(known.n_unique(), 1)
    if not repeats or n_known < 2 or len(kinds) > _MOST_KINDS:
        return None
    return replace(form, layout=Layout.EVENTS, id=identity, event=event, order=_time(profiles))


def _named(profiles: dict[str, Profile], field: str) -> str | None:
    terms = vocabulary.load().terms
    for column in profiles:
        for name, _ in vocabulary.names_of(column):
            if any(term.field == field for term in terms.get(name, ())):
                return column
    return None


def _time(profiles: dict[str, Profile]) -> str | None:
    for column, seen in profiles.items():
        names = [name for name, _ in vocabulary.names_of(column)]
        if any(name in _TIMES for name in names) and (seen.is_numeric or seen.is_moment):
            return column
    return None


def propose(name: str, rows: pl.DataFrame, form: Format, profiles: dict[str, Profile]) -> Proposal:
    """Return what the kinds of events suggest; `form` is that of `layout`."""
    time, event = str(form.order), str(form.event)
    said = vocabulary.names_of(time)[0][1]
    unit, how = units.told(profiles[time], "sent_us", Kind.INSTANT, said)
    why = f"rows of one {form.id} are events, whose kind stands in {event}"
    lines = [Line("format", (str(form.id), event, time), why, Confidence.LIKELY)]
    fields = [Field("request_id", (str(form.id),))]
    words = vocabulary.load().events
    for kind, n in profiles[event].values:
        target = words.get(vocabulary.normal(kind))
        if target is None or target in {field.target for field in fields}:
            continue
        many = target == "chunk_gaps_us"
        source = f"{time}@{kind}{'[]' if many else ''}"
        says = Kind.INSTANTS if many else Kind.INSTANT if target in FROM_SEND else None
        fields.append(Field(target, (source,), unit=unit, kind=says))
        reason = f"{kind} ({n} events) is the word for it; {how}"
        sure = Confidence.LIKELY if unit else Confidence.OPEN
        lines.append(Line(f"fields.{target}", (source,), reason, sure))
    for field, line in _counts(rows, form, profiles):
        fields.append(field)
        lines.append(line)
    questions = _outcome(fields, lines)
    made_for = tuple(dict.fromkeys((str(form.id), event, time)))
    mapping = Mapping(name, made_for=made_for, format=form, fields=tuple(fields))
    return Proposal(mapping, tuple(lines), (*mapping.missing(), *questions))


def _counts(
    rows: pl.DataFrame, form: Format, profiles: dict[str, Profile]
) -> list[tuple[Field, Line]]:
    """Return counts and texts, each from the kind of event that has them."""
    terms, found = vocabulary.load().terms, {}
    for column, seen in profiles.items():
        for name, _ in vocabulary.names_of(column):
            for term in terms.get(name, ()):
                usable = term.kind is None and not term.is_list and term.field != "request_id"
                if not usable or term.field in found or not seen.n_known:
                    continue
                if term.field.endswith("_tokens") != seen.is_numeric or term.field == "outcome":
                    continue
                source = f"{column}@{_kind_of(rows, str(form.event), column)}"
                reason = f"{name} is the word for it, and stands in events of that kind"
                line = Line(f"fields.{term.field}", (source,), reason, Confidence.LIKELY)
                found[term.field] = (Field(term.field, (source,)), line)
    return list(found.values())


def _kind_of(rows: pl.DataFrame, event: str, column: str) -> str:
    known = rows.filter(pl.col(column).is_not_null())
    kinds = profile.of(known[event]).values
    return kinds[0][0]


def _outcome(fields: list[Field], lines: list[Line]) -> list[Question]:
    end = next((field for field in fields if field.target == "latency_us"), None)
    if end is None:
        return []
    fields.append(Field("outcome", end.source, otherwise="completed"))
    why = f"a request with {end.source[0]} came to its end"
    lines.append(Line("fields.outcome", end.source, why, Confidence.LIKELY))
    text = f"what became of requests without {end.source[0]}, if there are any?"
    return [Question("fields.outcome.default", text, vocabulary.outcomes())]
