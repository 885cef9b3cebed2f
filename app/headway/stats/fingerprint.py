"""Is it the same workload? A hash over the integer plan, and a comparison of two plans."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headway.errors import MisuseError

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

TAG = b"headway-workload-v1\n"
NONE = -1
TOLERANCE_US = 1000
# A client that issues one plan on a busy host is late by a little, mostly, and by a stall of many
# gaps at times; another plan at the same rate drifts away from the first by many gaps for good.
LATENESS_OF_GAP = 0.05


class Component(StrEnum):
    """A column of the plan."""

    ARRIVAL = "arrival"
    PROMPT = "prompt"
    OUTPUT = "output"
    PREFIX = "prefix"


class Level(StrEnum):
    """How alike two workloads are."""

    IDENTICAL = "identical"
    ARRIVALS_WITHIN_TOLERANCE = "arrivals_within_tolerance"
    SAME_REQUESTS = "same_requests"
    PARTIAL = "partial"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The workload as it was planned, sorted by index; every column has shape (n,) and is int64.

    `arrival_us` counts microseconds from the first arrival. In the other columns −1 is "none", or
    not recorded. `unknown` names the columns that no source recorded for every request.
    """

    index: Integers
    arrival_us: Integers
    prompt_tokens: Integers
    requested_output_tokens: Integers
    prefix_group: Integers
    unknown: frozenset[Component] = frozenset()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hexadecimal SHA-256 of a plan and of its parts.

    `requests` covers everything but the arrivals. A part alone covers the index and one column, so
    that two fingerprints tell which column differs.
    """

    exact: str
    requests: str
    arrival: str
    prompt: str
    output: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Match:
    """How alike two plans are, by index.

    `paired` indices are in both plans, and `same` of them ask for the same (prompt, output and
    prefix group). `arrival_shift_us` is the largest difference between paired arrivals, each
    counted from the first of its paired ones, and `arrival_median_us` the median one; None where
    arrivals are not known. `differing` names
    columns that differ in a pair, `unknown` those not recorded on both sides: they prove nothing.
    """

    level: Level
    paired: int
    same: int
    only_a: int
    only_b: int
    arrival_shift_us: int | None
    arrival_median_us: int | None
    differing: frozenset[Component]
    unknown: frozenset[Component]


def plan(
    index: ArrayLike,
    arrival_us: ArrayLike | None,
    prompt_tokens: ArrayLike | None,
    requested_output_tokens: ArrayLike | None,
    prefix_group: ArrayLike | None = None,
) -> Plan:
    """Return the plan of a workload, sorted by index.

    Parameters
    ----------
    index
        Shape (n,), unique: the place of each request in the workload.
    arrival_us, prompt_tokens, requested_output_tokens
        Shape (n,), integers, or NaN where not recorded; None where nothing is.
    prefix_group
        Shape (n,), any numbers that tell groups apart, −1 or NaN for none. It is renumbered by
        first appearance in order of index: the names of the groups do not matter. None: no groups.
    """
    order = np.argsort(np.asarray(index), kind="stable")
    places = np.asarray(index)[order].astype(np.int64)
    if np.any(np.diff(places) == 0):
        raise MisuseError("found one index twice in a workload; expected each request once")
    given = {
        Component.ARRIVAL: arrival_us,
        Component.PROMPT: prompt_tokens,
        Component.OUTPUT: requested_output_tokens,
    }
    columns = {name: _integers(values, order) for name, values in given.items()}
    unknown = frozenset(name for name, column in columns.items() if np.any(column == NONE))
    arrival = columns[Component.ARRIVAL]
    known = arrival[arrival != NONE]
    if len(known):
        arrival = np.where(arrival == NONE, NONE, arrival - known.min())
    groups = _renumbered(_integers(prefix_group, order))
    return Plan(
        places, arrival, columns[Component.PROMPT], columns[Component.OUTPUT], groups, unknown
    )


def _integers(values: ArrayLike | None, order: NDArray[np.intp]) -> Integers:
    if values is None:
        return np.full(len(order), NONE, dtype=np.int64)
    found = np.asarray(values)[order]
    if np.issubdtype(found.dtype, np.floating):
        found = np.where(np.isnan(found), NONE, found)
    return found.astype(np.int64)


def _renumbered(groups: Integers) -> Integers:
    """Return groups numbered 0, 1, … by first appearance; −1 stays."""
    named, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    appearance = np.where(named == NONE, len(groups), first)
    number = np.empty(len(named), dtype=np.int64)
    number[np.argsort(appearance, kind="stable")] = np.arange(len(named))
    number[named == NONE] = NONE
    return number[inverse]


def fingerprint(workload: Plan) -> Fingerprint:
    """Return the hashes of a plan.

    Notes
    -----
    SHA-256 over the tag and the columns (index, arrival, prompt, output, prefix group) as int64,
    little-endian, request after request. Only integers are hashed: rounding of times as floating
    point moves some of them to another microsecond, so a differing `exact` with equal `requests`
    calls for `compare`.
    """
    index = workload.index
    requests = (workload.prompt_tokens, workload.requested_output_tokens, workload.prefix_group)
    return Fingerprint(
        exact=_hash(index, workload.arrival_us, *requests),
        requests=_hash(index, *requests),
        arrival=_hash(index, workload.arrival_us),
        prompt=_hash(index, workload.prompt_tokens),
        output=_hash(index, workload.requested_output_tokens),
        prefix=_hash(index, workload.prefix_group),
    )


def _hash(*columns: Integers) -> str:
    rows = np.column_stack(columns).astype("<i8", order="C")
    return hashlib.sha256(TAG + rows.tobytes()).hexdigest()


def compare(a: Plan, b: Plan, tolerance_us: int = TOLERANCE_US) -> Match:
    """Return how alike two plans are.

    Parameters
    ----------
    a, b
        Plans whose indices mean the same requests.
    tolerance_us
        Largest difference between two arrivals, each from its plan's first, at which they count as
        the same: what rounding and a change of clock do to a time. They also do in the same order,
        at most `LATENESS_OF_GAP` of the mean gap apart at the median (docs/error-rates.md).

    Notes
    -----
    IDENTICAL, or with arrivals within the tolerance, if all indices are paired and ask for the
    same; SAME_REQUESTS if only arrivals differ or are not known; PARTIAL if some pairs ask for the
    same; else DIFFERENT. Columns that are not recorded on both sides are not compared.
    """
    _, in_a, in_b = np.intersect1d(a.index, b.index, assume_unique=True, return_indices=True)
    unknown = a.unknown | b.unknown
    equal = _equal_requests(a, b, in_a, in_b, unknown)
    same = np.logical_and.reduce([np.ones(len(in_a), bool), *equal.values()])
    moved = None if Component.ARRIVAL in unknown else _moved(a, b, in_a, in_b)
    shift, median = (None, None) if moved is None else (int(moved.max()), int(np.median(moved)))
    differing = {name for name, column in equal.items() if not column.all()}
    if shift:
        differing.add(Component.ARRIVAL)
    n_only = (len(a.index) - len(in_a), len(b.index) - len(in_b))
    complete = n_only == (0, 0) and bool(same.all())
    allowed_us = max(tolerance_us, _late(a, b, in_a, in_b, moved))
    return Match(
        _level(complete, bool(same.any()), shift, allowed_us),
        len(in_a),
        int(same.sum()),
        *n_only,
        shift,
        median,
        frozenset(differing),
        unknown,
    )


def _equal_requests(
    a: Plan,
    b: Plan,
    in_a: NDArray[np.intp],
    in_b: NDArray[np.intp],
    unknown: frozenset[Component],
) -> dict[Component, Booleans]:
    groups = (_renumbered(a.prefix_group[in_a]), _renumbered(b.prefix_group[in_b]))
    equal = {
        Component.PROMPT: a.prompt_tokens[in_a] == b.prompt_tokens[in_b],
        Component.OUTPUT: a.requested_output_tokens[in_a] == b.requested_output_tokens[in_b],
        Component.PREFIX: groups[0] == groups[1],
    }
    return {name: column for name, column in equal.items() if name not in unknown}


def _moved(a: Plan, b: Plan, in_a: NDArray[np.intp], in_b: NDArray[np.intp]) -> Integers | None:
    """Return by how much each paired arrival differs, shape (paired,); None without pairs."""
    if len(in_a) == 0:
        return None
    arrival_a, arrival_b = a.arrival_us[in_a], b.arrival_us[in_b]
    moved: Integers = np.abs((arrival_a - arrival_a.min()) - (arrival_b - arrival_b.min()))
    return moved


def _late(
    a: Plan,
    b: Plan,
    in_a: NDArray[np.intp],
    in_b: NDArray[np.intp],
    moved: Integers | None,
) -> int:
    """Return the largest difference if it is lateness in issuing one plan, else 0."""
    if moved is None or len(moved) < 2:
        return 0
    arrival_a, arrival_b = a.arrival_us[in_a], b.arrival_us[in_b]
    # Ties of one plan may come in any order in the other, whichever of the two is named first.
    in_order = np.all(np.diff(arrival_b[np.lexsort((arrival_b, arrival_a))]) >= 0)
    mean_gap_us = min(np.ptp(arrival_a), np.ptp(arrival_b)) / (len(arrival_a) - 1)
    is_late = in_order and np.median(moved) <= LATENESS_OF_GAP * mean_gap_us
    return int(moved.max()) if is_late else 0


def _level(complete: bool, some: bool, shift: int | None, tolerance_us: int) -> Level:
    if not complete:
        return Level.PARTIAL if some else Level.DIFFERENT
    if shift is None or shift > tolerance_us:
        return Level.SAME_REQUESTS
    return Level.IDENTICAL if shift == 0 else Level.ARRIVALS_WITHIN_TOLERANCE
