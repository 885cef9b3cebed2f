"""Did only the policy change between two sides, and is what must match the same?"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from headway.analyses import configurations, naming
from headway.analyses.accounting import Interval
from headway.model import Manifest, RunInfo
from headway.numbers import brief

Value = str | int | float | None

# What tells policies apart; every other field of the manifest is a second change.
POLICY_FIELDS = ("policy", "token_budget")
TIME_LIMIT = "time limit (s)"
_PARAMETER = "policy: "
# What tells runs apart whose policy no source states: it may or may not be the policy.
UNNAMED_FIELDS = ("label", "folder", "file")
LOAD_FIELDS = ("load", "burstiness", "arrival_process", "burst")
_WINDOW_TOLERANCE_US = 1000
_WINDOW_TOLERANCE = 0.01


class Kind(StrEnum):
    """What a change belongs to."""

    POLICY = "policy"
    LOAD = "load"
    OTHER = "other"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True)
class FieldPair:
    """One field of the description on both sides; None is not recorded."""

    field: str
    a: Value
    b: Value

    @property
    def differs(self) -> bool:
        """Whether the sides say different things, or only one says anything."""
        return self.a != self.b


@dataclass(frozen=True, slots=True)
class Change:
    """A field that differs, and what it belongs to.

    UNPROVEN is a field of the manifest that one side does not record, which may differ or not, or
    the name of runs without a stated policy, whose settings nobody recorded.
    """

    field: str
    a: Value
    b: Value
    kind: Kind


class Check(StrEnum):
    """What two sides must share for their numbers to mean the same."""

    BOUNDARY = "boundary"
    CLOCK = "clock"
    TOKENS = "token basis"
    HARNESS = "harness"
    ORIGIN = "latency origin"
    WINDOW = "window"
    OFFERED = "offered basis"


@dataclass(frozen=True, slots=True)
class Checked:
    """One thing that must match, as it is on each side."""

    check: Check
    a: str
    b: str

    @property
    def matches(self) -> bool:
        """Whether both sides share it."""
        return self.a == self.b


def side_by_side(a: RunInfo, b: RunInfo) -> list[FieldPair]:
    """Return every field of the two descriptions: those that differ first, then the recorded.

    A parameter of the policy that only repeats a field of the manifest is left out.
    """
    first, second = _described(a), _described(b)
    names = dict.fromkeys([*first, *second])
    found = [FieldPair(name, first.get(name), second.get(name)) for name in names]
    kept = [pair for pair in found if not _repeats(pair, found)]
    order = {True: 0, False: 1}
    return sorted(kept, key=lambda pair: (order[pair.differs], pair.a is None and pair.b is None))


def changes(pairs: Sequence[FieldPair]) -> list[Change]:
    """Return what differs: the policy's own fields first, then every other change."""
    of_policy = any(pair.field == "policy" and pair.differs for pair in pairs)
    own = [pair for pair in pairs if pair.field.startswith(_PARAMETER)]
    both = all(any(value is not None for value in side) for side in _sides(own)) if own else True
    found = [
        Change(pair.field, pair.a, pair.b, _kind(pair, policy_differs=of_policy, recorded=both))
        for pair in pairs
        if pair.differs
    ]
    return sorted(found, key=lambda change: list(Kind).index(change.kind))


def _sides(pairs: Sequence[FieldPair]) -> tuple[list[Value], list[Value]]:
    return [pair.a for pair in pairs], [pair.b for pair in pairs]


def is_only_policy(found: Sequence[Change]) -> bool:
    """Tell whether the policy changed, and nothing else that is recorded on both sides."""
    return bool(found) and all(change.kind is Kind.POLICY for change in found)


def checks(
    a: RunInfo, b: RunInfo, of_a: Interval | None, of_b: Interval | None
) -> tuple[Checked, ...]:
    """Return what must match, with what each side has."""
    windows = _windows(of_a, of_b)
    return (
        Checked(Check.BOUNDARY, a.boundary.value, b.boundary.value),
        Checked(Check.CLOCK, a.clock.value, b.clock.value),
        Checked(Check.TOKENS, a.token_basis, b.token_basis),
        Checked(Check.HARNESS, a.harness, b.harness),
        Checked(Check.ORIGIN, *(each.origin_used if each else "none" for each in (of_a, of_b))),
        Checked(Check.WINDOW, *windows),
        Checked(Check.OFFERED, a.n_offered_basis.value, b.n_offered_basis.value),
    )


def _windows(a: Interval | None, b: Interval | None) -> tuple[str, str]:
    """Return both windows as text, the same where their ends agree within 1 ms or 1%.

    A window ends with the last arrival, which a client on a busy host issues a little late.
    """
    ends = [
        None if each is None or each.start_us is None or each.end_us is None
        else (each.start_us, each.end_us)
        for each in (a, b)
    ]  # fmt: skip
    first, second = ends
    if first and second:
        allowed_us = max(_WINDOW_TOLERANCE_US, _WINDOW_TOLERANCE * (first[1] - first[0]))
        if max(abs(x - y) for x, y in zip(first, second, strict=True)) <= allowed_us:
            second = first
    said = [
        "unknown" if each is None else f"{_s(each[0])}–{_s(each[1])} s" for each in (first, second)
    ]
    return said[0], said[1]


def _s(instant_us: int) -> str:
    return brief(instant_us / 1_000_000, 6)


def _described(run: RunInfo) -> dict[str, Value]:
    manifest: dict[str, Value] = {
        field.name: getattr(run.manifest, field.name) for field in fields(Manifest)
    }
    parameters = {f"{_PARAMETER}{name}": value for name, value in run.policy_parameters.items()}
    unnamed = {} if run.policy is not None else dict(configurations.fields_of(run))
    return {
        "policy": run.policy,
        **{name: unnamed.get(name) for name in UNNAMED_FIELDS},
        **dict(sorted(parameters.items())),
        "load": naming.load_text(run.load),
        "burstiness": run.load.burstiness,
        TIME_LIMIT: run.time_limit_s,
        "client timeout (s)": run.client_timeout_s,
        "harness version": run.harness_version,
        **manifest,
    }


def _repeats(pair: FieldPair, found: Sequence[FieldPair]) -> bool:
    """Tell whether a parameter of the policy says what a field of the manifest says already."""
    if not pair.field.startswith(_PARAMETER):
        return False
    mine = (str(pair.a), str(pair.b))
    return any(
        (str(other.a), str(other.b)) == mine
        for other in found
        if other.field in ("token_budget", "batch_cap")
    )


def _kind(pair: FieldPair, *, policy_differs: bool, recorded: bool) -> Kind:
    """Return what a field belongs to; `recorded` is whether both sides state any parameters."""
    if pair.field in POLICY_FIELDS:
        return Kind.POLICY
    if pair.field in UNNAMED_FIELDS:
        return Kind.UNPROVEN
    if pair.field in LOAD_FIELDS:
        return Kind.LOAD
    one_sided = pair.a is None or pair.b is None
    if pair.field.startswith(_PARAMETER):
        if not recorded:
            return Kind.UNPROVEN
        # A knob that only one policy has is part of it; one that both have was turned as well.
        return Kind.POLICY if one_sided or not policy_differs else Kind.OTHER
    if pair.field == TIME_LIMIT:
        return Kind.OTHER  # no limit is a statement, not an omission
    return Kind.UNPROVEN if one_sided else Kind.OTHER
