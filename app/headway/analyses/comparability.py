"""What may be compared between two sides? What differs rules out what it would falsify."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headway.analyses import configurations
from headway.analyses.accounting import Account, Interval
from headway.analyses.changes import Check, Checked
from headway.analyses.sides import Side
from headway.model import IndexBasis, Outcome
from headway.stats.fingerprint import Component, Level, Match

MIN_COMPLETED = 0.5


class Part(StrEnum):
    """A part of the answer that a difference between the sides can forbid."""

    OUTCOMES = "outcomes"
    MET = "met"
    PAIRS = "pairs"
    RATES = "rates"
    CLAIM = "claim"
    TTFT = "ttft_ms"
    TPOT = "tpot_ms"
    STALL = "stall_ms"
    LATENCY = "latency_ms"
    HEADLINE = "headline"


_ORIGINATED = frozenset({Part.TTFT, Part.LATENCY})
_SPEED = frozenset({Part.TTFT, Part.TPOT, Part.STALL, Part.LATENCY, Part.PAIRS, Part.CLAIM})
_LOADED = _SPEED | {Part.MET, Part.RATES}


class Why(StrEnum):
    """Why something may not be compared, or what to bear in mind."""

    EMPTY = "empty"
    DIFFERENT_REQUESTS = "different_requests"
    PARTLY_SAME = "partly_same"
    OTHER_ARRIVALS = "other_arrivals"
    OTHER_LOAD = "other_load"
    ARRIVALS_UNKNOWN = "arrivals_unknown"
    REQUESTS_UNKNOWN = "requests_unknown"
    NO_INDEX = "no_index"
    PAIRED_BY_ORDER = "paired_by_order"
    BOUNDARY = "boundary"
    CLOCK = "clock"
    TOKENS = "tokens"
    HARNESS = "harness"
    ORIGIN = "origin"
    WINDOW = "window"
    STOPPED_INSIDE = "stopped_inside"
    OFFERED_BASIS = "offered_basis"
    INCOMPLETE = "incomplete"


_FORBIDS: dict[Why, frozenset[Part]] = {
    Why.EMPTY: frozenset(Part),
    Why.DIFFERENT_REQUESTS: frozenset(Part),
    Why.PARTLY_SAME: _LOADED,
    Why.OTHER_ARRIVALS: _LOADED,
    Why.OTHER_LOAD: _LOADED,
    Why.ARRIVALS_UNKNOWN: frozenset({Part.PAIRS}),
    Why.REQUESTS_UNKNOWN: frozenset({Part.PAIRS, Part.CLAIM}),
    Why.NO_INDEX: frozenset({Part.OUTCOMES, Part.PAIRS}),
    Why.PAIRED_BY_ORDER: frozenset(),
    Why.BOUNDARY: _LOADED,
    Why.CLOCK: frozenset({Part.RATES}),
    Why.TOKENS: frozenset({Part.TPOT, Part.RATES}),
    Why.HARNESS: frozenset({Part.CLAIM}),
    Why.ORIGIN: _ORIGINATED | {Part.MET},
    Why.WINDOW: frozenset({Part.RATES}),
    Why.STOPPED_INSIDE: frozenset({Part.RATES}),
    Why.OFFERED_BASIS: frozenset(),
    Why.INCOMPLETE: frozenset({Part.HEADLINE}),
}
_OF_CHECK = {
    Check.BOUNDARY: Why.BOUNDARY,
    Check.CLOCK: Why.CLOCK,
    Check.TOKENS: Why.TOKENS,
    Check.HARNESS: Why.HARNESS,
    Check.ORIGIN: Why.ORIGIN,
    Check.WINDOW: Why.WINDOW,
    Check.OFFERED: Why.OFFERED_BASIS,
}
NEEDED = frozenset({Part.OUTCOMES, Part.TTFT, Part.LATENCY})


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that limits the comparison; `a` and `b` are what each side has."""

    why: Why
    a: str | None = None
    b: str | None = None

    @property
    def forbids(self) -> frozenset[Part]:
        """The parts of the answer that it rules out; none is a caution only."""
        return _FORBIDS[self.why]


def allowed(found: Iterable[Reason]) -> frozenset[Part]:
    """Return the parts of the answer that no reason forbids."""
    return frozenset(Part).difference(*(reason.forbids for reason in found))


def is_same(a: Side, b: Side) -> bool:
    """Tell whether both sides hold the same measurements, under one id or as copies."""
    return sorted(run.rows_sha256 for run in a.runs) == sorted(run.rows_sha256 for run in b.runs)


def reasons(
    a: Side,
    b: Side,
    match: Match,
    checked: Iterable[Checked],
    spans: Sequence[Interval | None],
    accounts: Sequence[Account],
) -> Iterator[Reason]:
    """Return everything that limits the comparison of two sides, the gravest first."""
    offered = [account.n_offered for account in accounts]
    if 0 in offered:
        yield Reason(Why.EMPTY, *(str(n) for n in offered))
        return
    yield from _of_workload(a, b, match)
    for each in checked:
        if not each.matches:
            yield Reason(_OF_CHECK[each.check], each.a, each.b)
    stopped = [_stopped(side, span) for side, span in zip((a, b), spans, strict=True)]
    if any(stopped) and not is_same(a, b):
        yield Reason(Why.STOPPED_INSIDE, *stopped)
    completed = [account.outcomes[Outcome.COMPLETED] for account in accounts]
    counted = list(zip(completed, offered, strict=True))
    if min(n / of for n, of in counted) < MIN_COMPLETED:
        yield Reason(Why.INCOMPLETE, *(f"{n} of {of}" for n, of in counted))


def _of_workload(a: Side, b: Side, match: Match) -> Iterator[Reason]:
    if a.run.run_id == b.run.run_id:
        return
    if match.level is Level.DIFFERENT:
        yield Reason(Why.DIFFERENT_REQUESTS, str(match.only_a), str(match.only_b))
        return
    if match.level is Level.PARTIAL:
        yield Reason(Why.PARTLY_SAME, str(match.same), str(match.paired))
    if match.level is Level.SAME_REQUESTS:
        yield from _of_arrivals(a, b, match)
    if {Component.PROMPT, Component.OUTPUT} <= match.unknown:
        yield Reason(Why.REQUESTS_UNKNOWN)
    bases = [side.run.index_basis for side in (a, b)]
    if IndexBasis.NONE in bases:
        yield Reason(Why.NO_INDEX, *(basis.value for basis in bases))
    elif IndexBasis.ORDER in bases:
        yield Reason(Why.PAIRED_BY_ORDER, *(basis.value for basis in bases))


def _of_arrivals(a: Side, b: Side, match: Match) -> Iterator[Reason]:
    if match.arrival_shift_us is not None:
        yield Reason(Why.OTHER_ARRIVALS, a.load_text, b.load_text)
    elif configurations.load_key(a.run) != configurations.load_key(b.run):
        yield Reason(Why.OTHER_LOAD, a.load_text, b.load_text)
    else:
        yield Reason(Why.ARRIVALS_UNKNOWN)


def _stopped(side: Side, span: Interval | None) -> str | None:
    """Return when a run was stopped, if that is before its window ends."""
    limit_s = side.run.time_limit_s
    if limit_s is None or span is None or span.end_us is None:
        return None
    return f"{limit_s:g} s" if limit_s * 1_000_000 < span.end_us else None
