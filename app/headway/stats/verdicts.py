"""Three claims about one objective: met in this run, repeatable on this workload, true of traffic.

Each claim has its own evidence and none stands in for another. A verdict is accepted, rejected or
undecided, never the least bad.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from headway.stats.effective import Effective
from headway.stats.intervals import LEVEL, Side, clopper_pearson, smallest_n
from headway.stats.reach import ACCEPT_LEVEL, Reach, reach
from headway.stats.steadiness import Steadiness

_ROUNDING = 1e-12


class Verdict(StrEnum):
    """The answer to a claim."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDECIDED = "undecided"


class InRun(StrEnum):
    """What a run itself shows: a count, without any inference."""

    MET = "met"
    MISSED = "missed"
    OPEN = "open"


class Why(StrEnum):
    """What a verdict rests on, or what it lacks."""

    BOUND = "bound"
    REPEATED = "repeated"
    DETERMINISTIC = "deterministic"
    STRADDLES = "straddles"
    OPEN_REQUESTS = "open_requests"
    TOO_FEW_EFFECTIVE = "too_few_effective"
    NO_EFFECTIVE_SIZE = "no_effective_size"
    ARRIVALS_UNKNOWN = "arrivals_unknown"
    LONG_SPELL = "long_spell"
    NOT_STEADY = "not_steady"
    TOO_FEW_RUNS = "too_few_runs"
    SOME_MISSED = "some_missed"
    BEHIND_SCHEDULE = "behind_schedule"
    SENT_EARLY = "sent_early"


@dataclass(frozen=True, slots=True)
class Attained:
    """Share of the offered requests that met the objective, between two bounds.

    `low` counts every open request as missed, `high` counts as met those that are not already past
    a limit. Without open requests the two are equal.
    """

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Claim:
    """A verdict, the one-sided bounds it rests on, and why it came out so.

    About the workload the bounds are of the share of such runs that meet the objective; about
    traffic, and about a simulator, of the share of requests. A bound is None where there is no
    evidence to compute it from.
    """

    verdict: Verdict
    low: float | None
    high: float | None
    why: Why


def attained(n_met: int, n_open: int, n_offered: int) -> Attained:
    """Return the attained share of a run.

    Parameters
    ----------
    n_met
        Completed requests that met every limit.
    n_open
        Open requests that may still meet every limit; one that is past a limit is not among them.
    n_offered
        All requests of the window. With none of them the share is unknown: between 0 and 1.
    """
    if n_offered == 0:
        return Attained(0.0, 1.0)
    return Attained(n_met / n_offered, (n_met + n_open) / n_offered)


def mean_attained(runs: Sequence[Attained]) -> Attained:
    """Return the mean over replicates, each of them with one vote."""
    return Attained(
        float(np.mean([run.low for run in runs])), float(np.mean([run.high for run in runs]))
    )


def in_run(run: Attained, target: float) -> InRun:
    """Tell whether the run met the target share: a fact of this run."""
    if _reaches(run.low, target):
        return InRun.MET
    return InRun.OPEN if _reaches(run.high, target) else InRun.MISSED


def reach_of(run: Attained, size: Effective, target: float) -> Reach:
    """Return up to which design effect a run, or a set of replicates, could be accepted.

    The design effect of the run itself is that of both block lengths, with the price of having
    estimated it from few blocks.
    """
    requests = reach(size.n, (1 - run.low) * size.n, target)
    return Reach(requests, correlation=size.n / size.n_accept)


def traffic(
    run: Attained, size: Effective | None, target: float, steadiness: Steadiness, spell: float = 0.0
) -> Claim:
    """Judge whether traffic like this meets the target share.

    Parameters
    ----------
    run
        Attained share of a run, or of several runs pooled.
    size
        Effective requests of the same requests; None where their arrivals are unknown, and the
        claim is then undecided.
    target
        Share of offered requests that must meet the objective, in (0, 1).
    steadiness
        A run that is not steady cannot be accepted: its share depends on its length.
    spell
        Requests that the longest spell of common trouble may hold, where one is declared; the
        acceptance has to bear them.

    Notes
    -----
    Accepted if the run's reach covers its own design effect and the declared spell. That is the
    one-sided 97.5% low bound (Clopper and Pearson) of the low share, on n ÷ that design effect
    trials. Rejected if the one-sided 95% high bound of the high share on n_eff requests stays below
    the target.
    """
    if size is None:
        return Claim(Verdict.UNDECIDED, None, None, Why.NO_EFFECTIVE_SIZE)
    counted = min(size.n_accept, size.n / spell if spell else size.n_accept)
    low = float(clopper_pearson(run.low * counted, counted, ACCEPT_LEVEL, Side.LOWER)[0])
    high = float(clopper_pearson(run.high * size.n_eff, size.n_eff, LEVEL, Side.UPPER)[1])
    if not _reaches(high, target):
        return Claim(Verdict.REJECTED, low, high, Why.BOUND)
    if _reaches(low, target) and steadiness is not Steadiness.NOT_STEADY:
        return Claim(Verdict.ACCEPTED, low, high, Why.BOUND)
    return Claim(Verdict.UNDECIDED, low, high, _why_undecided(run, size, target, low))


def _why_undecided(run: Attained, size: Effective, target: float, low: float) -> Why:
    if _reaches(low, target):
        return Why.NOT_STEADY
    known = reach_of(run, size, target)
    if known.requests >= known.correlation:
        return Why.LONG_SPELL
    if size.n_accept < smallest_n(target, ACCEPT_LEVEL):
        return Why.TOO_FEW_EFFECTIVE
    return Why.OPEN_REQUESTS if in_run(run, target) is InRun.OPEN else Why.STRADDLES


def _reaches(share: float, target: float) -> bool:
    """Tell whether a share is at least the target; 0.9 · 10 = 9 must count as reached."""
    return share >= target - _ROUNDING
