"""What no mapping may say, whatever the table: refused when it is read, not when it is used."""

from dataclasses import fields

from headway.errors import MisuseError
from headway.importers.mapped.mapping import (
    FROM_SEND,
    RUN_TARGETS,
    TOLERABLE,
    WORKLOAD_TARGETS,
    Field,
    Kind,
    Layout,
    Mapping,
    Purpose,
    kinds_of,
)
from headway.model import (
    Boundary,
    Clock,
    IndexBasis,
    Load,
    LoadKind,
    Manifest,
    Outcome,
    Phase,
    Segment,
)

ENCODINGS = ("utf-8", "utf-16", "cp1252")
CHOICES: dict[str, type[Outcome] | type[Phase] | type[Segment]] = {
    "outcome": Outcome,
    "phase": Phase,
    "segment": Segment,
}
FACT_CHOICES: dict[str, tuple[str, ...]] = {
    "boundary": tuple(Boundary),
    "clock": tuple(Clock),
    "load.kind": tuple(LoadKind),
    "index_basis": tuple(IndexBasis),
}
PLAIN_FACTS = (
    *FACT_CHOICES,
    "token_basis",
    "offered",
    "finished",
    "harness",
    "harness_version",
    "policy",
    "study",
    "label",
    "replicate",
    "time_limit_s",
)
FACTS = (
    *PLAIN_FACTS,
    *(f"load.{each.name}" for each in fields(Load) if each.name != "kind"),
    *(f"manifest.{each.name}" for each in fields(Manifest)),
)


def check(mapping: Mapping) -> None:
    """Refuse a mapping that contradicts itself or names what there is not.

    Raises
    ------
    MisuseError
        It does; the message names the place and the valid choices.
    """
    targets = RUN_TARGETS if mapping.purpose is Purpose.RUN else WORKLOAD_TARGETS
    for field in mapping.fields:
        _one_of(mapping, "[fields]", field.target, targets)
        _check_field(mapping, field)
    for fact in mapping.facts:
        _one_of(mapping, "[run]", fact.key, FACTS)
        if fact.key in FACT_CHOICES:
            for value in (value for value in (fact.value, *dict(fact.values).values()) if value):
                _one_of(mapping, f"[run] {fact.key}", str(value), FACT_CHOICES[fact.key])
    for each in mapping.tolerate:
        _one_of(mapping, "tolerate", each, TOLERABLE)
    _check_format(mapping)
    _check_clocks(mapping)


def _one_of(mapping: Mapping, where: str, found: str, valid: tuple[str, ...]) -> None:
    if found not in valid:
        raise MisuseError(
            f"mapping {mapping.name}, {where}: {found!r}; expected one of {', '.join(valid)}"
        )


def _check_field(mapping: Mapping, field: Field) -> None:
    where = f"[fields.{field.target}]"
    if bool(field.source) == (field.value is not None):
        raise MisuseError(
            f"mapping {mapping.name}, {where}: expected `from` or `value`, one of them"
        )
    if field.kind is not None:
        _one_of(mapping, f"{where} as", field.kind, kinds_of(field.target) or ("(no time)",))
    if field.unit is not None and not field.needs_unit:
        raise MisuseError(
            f"mapping {mapping.name}, {where}: unit = {field.unit.value!r} of no time"
        )
    if field.minus is not None and field.says is not Kind.DURATION:
        raise MisuseError(
            f"mapping {mapping.name}, {where}: minus makes a duration, not an {field.says}"
        )
    if field.target in CHOICES:
        said = [*dict(field.values).values(), field.otherwise, field.default, field.value]
        for value in (str(each) for each in said if each is not None):
            _one_of(mapping, where, value, tuple(CHOICES[field.target]))


def _check_format(mapping: Mapping) -> None:
    form = mapping.format
    _one_of(mapping, "[format] encoding", form.encoding, ENCODINGS)
    _one_of(mapping, "[format] decimal", form.decimal, (".", ","))
    if len(form.delimiter.encode()) != 1:
        raise MisuseError(
            f"mapping {mapping.name}, [format] delimiter = {form.delimiter!r}; expected one "
            "character of ASCII"
        )
    if form.layout is Layout.EVENTS and form.id is None:
        raise MisuseError(
            f"mapping {mapping.name}, [format]: layout = 'events' needs id, the column that says "
            "which request a row belongs to"
        )


def _check_clocks(mapping: Mapping) -> None:
    """Refuse to subtract instants of two clocks."""
    sent = mapping.field("sent_us")
    if sent is None:
        return
    for field in mapping.fields:
        is_instant = field.says in (Kind.INSTANT, Kind.INSTANTS) and field is not sent
        depends = field.target in (*FROM_SEND, "ended_us", "scheduled_us", "chunk_gaps_us")
        if is_instant and depends and mapping.epoch_of(field) is not mapping.epoch_of(sent):
            raise MisuseError(
                f"mapping {mapping.name}, [fields.{field.target}]: its instants count from another "
                "epoch than those of sent_us, so the two cannot be compared; state a duration of "
                "one clock with `from` and `minus`"
            )
