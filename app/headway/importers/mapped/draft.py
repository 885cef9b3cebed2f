"""A proposal as it grows: what names and values of columns suggest, one step at a time."""

from collections.abc import Sequence

from headway.importers.mapped import (
    checks,
    outcome_words,
    own,
    places,
    profile,
    settle,
    tables,
    units,
    vocabulary,
)
from headway.importers.mapped.mapping import (
    FROM_SEND,
    LISTS,
    RUN_TARGETS,
    TIMES,
    WORKLOAD_TARGETS,
    Fact,
    Field,
    Format,
    Kind,
    Mapping,
    Purpose,
    Question,
    Unit,
)
from headway.importers.mapped.proposal import Confidence, Line, Proposal
from headway.importers.source import Source

SAMPLED_ROWS = 5_000
_FEW = 64
# What may stand around the rows of a request, and still be the request's.
_AROUND = ("session_id", "request_id")


class Draft:
    """A proposal as it grows, column by column."""

    def __init__(self, source: Source, form: Format) -> None:
        self.source, self.form = source, form
        columns = tables.columns(source, form)
        self.rows = tables.read(source, form, columns, SAMPLED_ROWS).rows
        self.profiles = {
            name: profile.of(self.rows[name], form.decimal) for name in self.rows.columns
        }
        self.columns = tuple(self.rows.columns)
        self.scalars = places.scalars(source, form)
        self.fields: dict[str, Field] = {}
        self.facts: dict[str, Fact] = {}
        self.split: list[str] = []
        self.lines: list[Line] = []
        self.questions: list[Question] = []

    def proposal(self, why: str) -> Proposal:
        """Return what the columns suggest."""
        self.note("format", (), why, Confidence.CERTAIN)
        self.own_names()
        if "outcome" not in self.fields or not set(self.fields) & set(TIMES):
            self.known_names()
            self.outcome()
        self.constants()
        if settle.is_workload(self):
            return self.workload()
        settle.agree(self)
        settle.clock(self)
        settle.sentinels(self)
        mapping = Mapping(
            name=self.name,
            made_for=self.shape(),
            format=self.form,
            facts=tuple(self.facts.values()),
            split_by=tuple(self.split),
            fields=tuple(each for each in self.fields.values() if each.target in RUN_TARGETS),
        )
        asked = (*mapping.missing(), *self.questions)
        return Proposal(mapping, tuple(self.lines), asked)

    def workload(self) -> Proposal:
        """Return the proposal of a plan without results."""
        kept = settle.workload_fields(self)
        mapping = Mapping(
            name=self.name,
            purpose=Purpose.WORKLOAD,
            made_for=tuple(column for field in kept for column in field.source),
            format=self.form,
            fields=tuple(kept),
        )
        return Proposal(mapping, tuple(self.lines), mapping.missing())

    @property
    def name(self) -> str:
        """What the mapping is called until it is named: as the file."""
        return self.source.path.name.split(".")[0] or "mapping"

    def note(self, key: str, columns: Sequence[str], why: str, sure: Confidence) -> None:
        """Add a line."""
        self.lines.append(Line(key, tuple(columns), why, sure))

    def shape(self) -> tuple[str, ...]:
        """Return the columns that a file must have to fit."""
        used = [column for field in self.fields.values() for column in field.source]
        used += [fact.source for fact in self.facts.values() if fact.source is not None]
        optional = {c for field in self.fields.values() if field.optional for c in field.source}
        return tuple(name for name in dict.fromkeys(used) if name not in optional)

    def own_names(self) -> None:
        """Take columns that have the record's own names as they are."""
        found = [name for name in self.columns if name in RUN_TARGETS]
        if "outcome" not in found or not set(found) & set(TIMES):
            return
        for name in found:
            unit = Unit.US if name in TIMES else None
            self.fields[name] = Field(name, (name,), unit=unit)
            self.note(f"fields.{name}", (name,), "it has the record's own name", Confidence.CERTAIN)
        for name in (each for each in self.columns if each in checks.FACTS):
            self.facts[name] = Fact(name, source=name)
            self.note(f"run.{name}", (name,), "it has the record's own name", Confidence.CERTAIN)
        for fact in own.facts(self.source.path):
            self.facts[fact.key] = fact
            self.note(f"run.{fact.key}", (), "the run file says it", Confidence.CERTAIN)

    def known_names(self) -> None:
        """Map columns by what tools call them, the best word for each field first."""
        found: dict[str, list[tuple[tuple[int, ...], str, vocabulary.Term, Unit | None]]] = {}
        for column in self.columns:
            for depth, (name, unit) in enumerate(vocabulary.names_of(column)):
                fitting = [t for t in vocabulary.load().terms.get(name, ()) if self.fits(column, t)]
                for term in fitting:
                    # A duration says more than an instant, a longer name more than its end, and
                    # what stands around a row is not of the request.
                    up = len(column) - len(column.lstrip("^"))
                    rank = (up, int(term.kind is Kind.INSTANT), depth, term.rank)
                    found.setdefault(term.field, []).append((rank, column, term, unit))
                if fitting:
                    break
            else:
                self.not_used(column)
        for target, candidates in found.items():
            if target in (*RUN_TARGETS, *WORKLOAD_TARGETS):
                _, column, term, unit = min(candidates, key=lambda each: each[0])
                others = dict.fromkeys(each[1] for each in candidates if each[1] != column)
                self.take(column, term, unit, list(others))

    def fits(self, column: str, term: vocabulary.Term) -> bool:
        """Return whether what a column holds can be what its name says."""
        seen = self.profiles[column]
        if column in self.scalars or (column.startswith("^") and term.field not in _AROUND):
            return False
        if term.is_list != seen.is_list:
            return False
        if term.field in TIMES and seen.n_known:
            is_date = seen.is_moment and term.kind in (Kind.INSTANT, Kind.INSTANTS)
            return (seen.is_numeric or is_date) and not (seen.is_moment and not is_date)
        return not (term.field.endswith("_tokens") and seen.n_known and not seen.is_numeric)

    def not_used(self, column: str) -> None:
        """Say why a known column is not in the record."""
        words = vocabulary.load().not_recorded
        for name, _ in vocabulary.names_of(column):
            if name in words:
                self.note("(not used)", (column,), words[name], Confidence.CERTAIN)
                return

    def take(
        self, column: str, term: vocabulary.Term, said: Unit | None, others: list[str]
    ) -> None:
        """Map a column to the field that its name stands for, with the unit as far as known."""
        whose = f" ({term.whose})" if term.whose != "common" else ""
        reason = f"{term.name}{whose} is the word for it"
        unit = None
        seen = self.profiles[column]
        if term.field in TIMES:
            unit, how = units.told(seen, term.field, term.kind, said or self.said_beside(column))
            reason = f"{reason}; {how}"
        sure = Confidence.LIKELY if term.field not in TIMES or unit else Confidence.OPEN
        if others:
            reason += f"; {', '.join(others[:3])} would fit too"
        kind = term.kind if term.field in (*LISTS, *FROM_SEND) else None
        if term.field == "outcome":
            return
        self.fields[term.field] = Field(term.field, (column,), unit=unit, kind=kind)
        self.note(f"fields.{term.field}", (column,), reason, sure)

    def said_beside(self, column: str) -> Unit | None:
        """Return the unit that stands beside a value: `{"value": 12, "unit": "ms"}`."""
        beside = self.profiles.get(f"{column.rpartition('.')[0]}.unit")
        if beside is None or len(beside.values) != 1:
            return None
        text = beside.values[0][0]
        return Unit(text) if text in list(Unit) else None

    def outcome(self) -> None:
        """Propose what became of requests from the best column there is for it."""
        roles = ("outcome", "http_status", "reason")
        words = vocabulary.load().terms
        for role in roles:
            for column in self.columns:
                names = [name for name, _ in vocabulary.names_of(column)]
                if not any(term.field == role for name in names for term in words.get(name, ())):
                    continue
                said = outcome_words.propose(self.profiles[column], role)
                if said is None:
                    continue
                text = self.fields.get("reason")
                self.fields["outcome"] = outcome_words.with_text(said.field, role, text)
                sure = Confidence.OPEN if said.unmeant else Confidence.LIKELY
                self.note("fields.outcome", (column,), said.reason, sure)
                if said.unmeant:
                    self.ask_values(column, said.unmeant)
                return

    def ask_values(self, column: str, unmeant: Sequence[str]) -> None:
        """Ask what values of a status mean."""
        shown = ", ".join(repr(value[:40]) for value in unmeant[:8])
        text = f"what do these values of {column} mean: {shown}? Add each to values"
        choices = tuple(outcome for outcome in vocabulary.outcomes())
        self.questions.append(Question("fields.outcome.values", text, choices))

    def constants(self) -> None:
        """Take columns that name facts of a run; those with several values part the table."""
        words = vocabulary.load().facts
        for column in self.columns:
            name = next((n for n, _ in vocabulary.names_of(column) if n in words), None)
            seen = self.profiles[column]
            taken = any(column in field.source for field in self.fields.values())
            if name is None or not seen.n_known or words[name] in self.facts or taken:
                continue
            if words[name] == "label" and column.count(".") > 1:  # of something inside the run
                continue
            if not seen.values or len(seen.values) > _FEW or seen.is_list:
                continue
            self.facts[words[name]] = Fact(words[name], source=column)
            why = f"{column} is the same in every row ({seen.values[0][0][:40]})"
            if len(seen.values) > 1:
                self.split.append(column)
                why = f"{column} has {len(seen.values)} values: each is a run"
            self.note(f"run.{words[name]}", (column,), why, Confidence.LIKELY)
