"""What a foreign table means: its columns in the words of the record, as frozen values.

docs/mapping.md is the reference of the file that holds a mapping.
"""

from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from enum import StrEnum

from headway.model import Boundary, Clock, IndexBasis, LoadKind, OutcomeBasis

Scalar = str | int | float | bool


class Purpose(StrEnum):
    """What the rows of a table become."""

    RUN = "run"
    WORKLOAD = "workload"


class Layout(StrEnum):
    """How a table holds requests."""

    ROWS = "rows"
    EVENTS = "events"
    ARRAYS = "arrays"


class Unit(StrEnum):
    """What a time is written in."""

    S = "s"
    MS = "ms"
    US = "us"
    NS = "ns"
    MIN = "min"
    ISO = "iso"


class Kind(StrEnum):
    """What a column of times says."""

    INSTANT = "instant"
    DURATION = "duration"
    GAPS = "gaps"
    INSTANTS = "instants"
    OFFSETS = "offsets"


class Epoch(StrEnum):
    """What instants count from."""

    UNIX = "unix"
    ARBITRARY = "arbitrary"


INSTANTS = ("scheduled_us", "sent_us", "ended_us")
FROM_SEND = ("ttft_us", "latency_us", "first_visible_us")
DURATIONS = (*FROM_SEND, "queue_us", "prefill_us", "decode_us", "preempted_us", "max_gap_us")
LISTS = ("chunk_gaps_us",)
COUNT_LISTS = ("chunk_tokens",)
COUNTS = (
    "request_index turn_index prefix_group attempt prompt_tokens cached_tokens "
    "requested_output_tokens output_tokens reasoning_tokens http_status preemptions "
    "recomputed_tokens n_chunks"
).split()
TEXTS = ("request_id", "session_id", "reason", "finish_reason", "replica")
ENUMS = ("outcome", "phase", "segment")
FLAGS = ("source_success",)
TIMES = (*INSTANTS, *DURATIONS, *LISTS)
RUN_TARGETS = (*TIMES, *COUNTS, *COUNT_LISTS, *TEXTS, *ENUMS, *FLAGS)
WORKLOAD_TARGETS = ("scheduled_us", "prompt_tokens", "output_tokens", "prefix_blocks")

_KINDS = {
    **dict.fromkeys(INSTANTS, (Kind.INSTANT,)),
    "ended_us": (Kind.INSTANT, Kind.DURATION),
    **dict.fromkeys(DURATIONS, (Kind.DURATION,)),
    **dict.fromkeys(FROM_SEND, (Kind.DURATION, Kind.INSTANT)),
    "chunk_gaps_us": (Kind.GAPS, Kind.INSTANTS, Kind.OFFSETS),
}


NESTED_FACTS = ("load", "manifest")


def kinds_of(target: str) -> tuple[Kind, ...]:
    """Return what a column of times may say for a field, the default first."""
    return _KINDS.get(target, ())


@dataclass(frozen=True, slots=True)
class Field:
    """Where one field of the record comes from.

    Parameters
    ----------
    target
        Column of the record.
    source
        Columns of the table; the first that knows a value gives it.
    value
        A constant instead of columns.
    unit, kind, epoch
        Of a time: what it is written in, what it says, what an instant counts from.
    minus
        A column to subtract, in the same unit: the time is the difference of two columns.
    default
        What a row has for which no source knows a value, in the unit of the source.
    unknown
        Values that mean "not known"; NULL, NaN and empty text always do.
    values
        What the values of the source mean, in order; `*` stands for any text.
    otherwise
        What a value means that `values` does not have.
    basis
        How an outcome is known; else stated where a value says it and inferred by default.
    optional
        Whether the table may lack the columns.
    """

    target: str
    source: tuple[str, ...] = ()
    value: Scalar | None = None
    unit: Unit | None = None
    kind: Kind | None = None
    epoch: Epoch | None = None
    minus: str | None = None
    default: Scalar | None = None
    unknown: tuple[Scalar, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    otherwise: str | None = None
    basis: OutcomeBasis | None = None
    optional: bool = False

    @property
    def says(self) -> Kind | None:
        """What the column says: as declared, else the usual for its field."""
        return self.kind or next(iter(kinds_of(self.target)), None)

    @property
    def needs_unit(self) -> bool:
        """Whether it is a time, which means nothing without its unit."""
        return self.target in TIMES


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is the same for every request of a run: a constant, or a column's value."""

    key: str
    value: Scalar | None = None
    source: str | None = None
    values: tuple[tuple[str, str], ...] = ()
    unknown: tuple[Scalar, ...] = ()
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """How the table is written; what is not stated is found from the file's first bytes.

    Parameters
    ----------
    delimiter, decimal, encoding
        Of CSV.
    table
        Of a DuckDB or SQLite file; needed where it has more than one.
    rows
        Where requests stand in a JSON document, for instance `levels[].requests[]`.
    layout
        One row for each request, rows for its events, or lists side by side.
    id, event, order
        Of events: the columns with the request, with the event's kind, and to sort by.
    only
        Values by column: other rows are no requests, and are counted in a finding.
    """

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    table: str | None = None
    rows: tuple[str, ...] = ()
    layout: Layout = Layout.ROWS
    id: str | None = None
    event: str | None = None
    order: str | None = None
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A fact that a mapping must state and does not: what to say, and the possible answers."""

    key: str
    text: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mapping:
    """How the rows of a table become runs, or a workload.

    Parameters
    ----------
    name
        What it is called, in the library and in the runs it made.
    purpose
        Whether rows become requests of runs, or of a workload.
    made_for
        Columns of the table it was made for: what a fitting file has.
    tolerate
        What does not refuse the table: `negative`, `first_after_end`, `duplicates`. The values
        concerned become unknown, or the later rows are left out, with a finding.
    """

    name: str
    purpose: Purpose = Purpose.RUN
    made_for: tuple[str, ...] = ()
    format: Format = Format()
    facts: tuple[Fact, ...] = ()
    split_by: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    tolerate: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Put facts into the order of the file, where those of one table stand together."""
        tables = ("", *NESTED_FACTS)
        place = {fact: fact.key.rpartition(".")[0] for fact in self.facts}
        known = [fact for table in tables for fact in self.facts if place[fact] == table]
        other = [fact for fact in self.facts if place[fact] not in tables]
        object.__setattr__(self, "facts", (*known, *other))

    def field(self, target: str) -> Field | None:
        """Return what a field of the record comes from, if the mapping says."""
        return next((each for each in self.fields if each.target == target), None)

    def fact(self, key: str) -> Fact | None:
        """Return a fact of the run, if the mapping says it."""
        return next((each for each in self.facts if each.key == key), None)

    def constant(self, key: str) -> str | None:
        """Return the constant a fact of the run has, as text."""
        fact = self.fact(key)
        return None if fact is None or fact.value is None else str(fact.value)

    def epoch_of(self, field: Field) -> Epoch:
        """Return what the instants of a field count from: as it says, else as the run's clock."""
        if field.epoch is not None:
            return field.epoch
        is_wall = self.constant("clock") == Clock.WALL or field.unit is Unit.ISO
        return Epoch.UNIX if is_wall else Epoch.ARBITRARY

    def answered(self, stated: Dict[str, Scalar]) -> "Mapping":
        """Return the mapping with what is stated for facts that it leaves open."""
        asked = {question.key for question in self._missing_facts()}
        facts = [Fact(key, value) for key, value in stated.items() if key in asked]
        return replace(self, facts=(*self.facts, *facts))

    def columns(self) -> tuple[str, ...]:
        """Return every column of the table that the mapping reads, each once."""
        form = self.format
        named = [
            *(each for each in (form.id, form.event, form.order) if each is not None),
            *(column for column, _ in form.only),
            *self.split_by,
            *(fact.source for fact in self.facts if fact.source is not None),
            *(column for field in self.fields for column in field.source),
            *(field.minus for field in self.fields if field.minus is not None),
        ]
        return tuple(dict.fromkeys(named))

    def missing(self) -> tuple[Question, ...]:
        """Return what must be stated before the mapping can be used; empty when it is complete."""
        facts = [] if self.purpose is Purpose.WORKLOAD else self._missing_facts()
        return (*facts, *self._missing_fields(), *self._missing_units())

    def _missing_facts(self) -> list[Question]:
        stated = {fact.key for fact in self.facts}
        return [question for question in REQUIRED_FACTS if question.key not in stated]

    def _missing_fields(self) -> list[Question]:
        mapped = {field.target for field in self.fields}
        if self.purpose is Purpose.WORKLOAD:
            return [each for each in _WORKLOAD_FIELDS if each.key.partition(".")[2] not in mapped]
        found = [] if "outcome" in mapped else [_OUTCOME]
        return found if mapped & set(TIMES) else [*found, _A_TIME]

    def _missing_units(self) -> list[Question]:
        open_units = [
            field
            for field in self.fields
            if field.needs_unit and field.unit is None and (field.source or field.value is not None)
        ]
        return [
            Question(
                f"fields.{field.target}.unit",
                f"what are the times of {', '.join(field.source) or field.target} written in? Or "
                "leave the field out",
                tuple(Unit) if field.says is Kind.INSTANT else tuple(Unit)[:-1],
            )
            for field in open_units
        ]


_OUTCOME = Question(
    "fields.outcome",
    "what became of each request? Name the column and what its values mean, or the constant",
)
_A_TIME = Question(
    "fields", "which column holds a time: sent_us, ttft_us, latency_us or chunk_gaps_us?"
)
_WORKLOAD_FIELDS = (
    Question("fields.prompt_tokens", "which column holds the number of prompt tokens?"),
)
REQUIRED_FACTS = (
    Question("boundary", "where did the clock stand that measured?", tuple(Boundary)),
    Question("clock", "what do the instants count from? none: there are no instants", tuple(Clock)),
    Question("load.kind", "how were the requests offered?", tuple(LoadKind)),
    Question(
        "token_basis", "who counted the tokens? In words, for instance: as the server reports"
    ),
    Question(
        "index_basis",
        "what makes request 7 of two runs the same? plan and source_id need request_index; order: "
        "the rows stand in the order of submission; none: nothing",
        tuple(IndexBasis),
    ),
    Question(
        "offered",
        "are the rows all requests that were offered? rows: yes; some: no, and nobody knows how "
        "many; or the number that was offered",
        ("rows", "some"),
    ),
)
TOLERABLE = ("negative", "first_after_end", "duplicates")
