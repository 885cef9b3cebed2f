"""Three claims about one objective: met in this run, repeatable on this workload, true of traffic.

Each claim has its own evidence and none stands in for another. A verdict is accepted, rejected or
undecided, never the least bad.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import optimize, stats

from headway.stats.intervals import (
    LEVEL,
    Side,
    clopper_pearson,
    required_trials,
    smallest_n,
)
from headway.stats.steadiness import Steadiness

MIN_RUNS = 3
# Accepting traffic asks for more than rejecting it: a run shows too little of its own correlation
# when it happens to be calm, and a calm run is just the one that would be accepted. At 95% one such
# run in ten was accepted at the boundary of a 90% target; docs/error-rates.md has the rates.
ACCEPT_LEVEL = 0.975
_ROUNDING = 1e-12
_MOST_RUNS = 1000
_FEWEST_TRIALS, _MOST_TRIALS = 1e-3, 1e9


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
    DETERMINISTIC = "deterministic"
    STRADDLES = "straddles"
    OPEN_REQUESTS = "open_requests"
    TOO_FEW_EFFECTIVE = "too_few_effective"
    NO_EFFECTIVE_SIZE = "no_effective_size"
    NOT_STEADY = "not_steady"
    TOO_FEW_RUNS = "too_few_runs"
    BEHIND_SCHEDULE = "behind_schedule"


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
    """A verdict, the one-sided bounds of the share it rests on, and why it came out so.

    A bound is None where there is no evidence to compute it from.
    """

    verdict: Verdict
    low: float | None
    high: float | None
    why: Why


@dataclass(frozen=True, slots=True)
class Settlement:
    """Requests, by length of the whole run, that would decide a claim about traffic.

    `if_all_met`: the claim is accepted if every further request meets the objective.
    `at_this_share`: it is decided, either way, if the share stays what it is; None where the
    share equals the target and no length decides.
    """

    if_all_met: int
    at_this_share: int | None


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


def traffic(
    run: Attained,
    n_eff: float | None,
    target: float,
    steadiness: Steadiness,
    n_accept: float | None = None,
) -> Claim:
    """Judge whether traffic like this meets the target share.

    Parameters
    ----------
    run
        Attained share of a run, or of several runs pooled.
    n_eff
        Effective requests; None without times, and the claim is then undecided.
    target
        Share of offered requests that must meet the objective, in (0, 1).
    steadiness
        A run that is not steady cannot be accepted: its share depends on its length.
    n_accept
        Effective requests that an acceptance may count on, at most n_eff; None counts on all.

    Notes
    -----
    Exact (Clopper and Pearson) on n_eff requests: accepted if the one-sided 97.5% low bound of the
    low share reaches the target, rejected if the one-sided 95% high bound of the high share does
    not.
    """
    if n_eff is None:
        return Claim(Verdict.UNDECIDED, None, None, Why.NO_EFFECTIVE_SIZE)
    counted = n_eff if n_accept is None else min(n_eff, n_accept)
    low = float(clopper_pearson(run.low * counted, counted, ACCEPT_LEVEL, Side.LOWER)[0])
    high = float(clopper_pearson(run.high * n_eff, n_eff, LEVEL, Side.UPPER)[1])
    if not _reaches(high, target):
        return Claim(Verdict.REJECTED, low, high, Why.BOUND)
    if _reaches(low, target) and steadiness is not Steadiness.NOT_STEADY:
        return Claim(Verdict.ACCEPTED, low, high, Why.BOUND)
    return Claim(Verdict.UNDECIDED, low, high, _why_undecided(run, counted, target, low))


def _why_undecided(run: Attained, n_eff: float, target: float, low: float) -> Why:
    if _reaches(low, target):
        return Why.NOT_STEADY
    if n_eff < smallest_n(target, ACCEPT_LEVEL):
        return Why.TOO_FEW_EFFECTIVE
    return Why.OPEN_REQUESTS if in_run(run, target) is InRun.OPEN else Why.STRADDLES


def workload(runs: Sequence[Attained], target: float, *, deterministic: bool = False) -> Claim:
    """Judge whether this workload meets the target share whenever it is run.

    Parameters
    ----------
    runs
        Attained share of each replicate of one workload.
    target
        Share of offered requests that must meet the objective.
    deterministic
        Whether the measured system repeats itself exactly, as a simulator does: one run is then
        the whole answer.

    Notes
    -----
    One-sided 95% t-interval of the mean share each way, with three or more replicates. Replicates
    that agree exactly have an interval without width. The same interval over runs that each drew
    their own requests from one mix answers for the traffic.
    """
    if deterministic and runs:
        return _of_deterministic(mean_attained(runs), target)
    if len(runs) < MIN_RUNS:
        return Claim(Verdict.UNDECIDED, None, None, Why.TOO_FEW_RUNS)
    low = _t_bound([run.low for run in runs], -1)
    high = _t_bound([run.high for run in runs], +1)
    if _reaches(low, target):
        return Claim(Verdict.ACCEPTED, low, high, Why.BOUND)
    if not _reaches(high, target):
        return Claim(Verdict.REJECTED, low, high, Why.BOUND)
    is_open = in_run(mean_attained(runs), target) is InRun.OPEN
    return Claim(Verdict.UNDECIDED, low, high, Why.OPEN_REQUESTS if is_open else Why.STRADDLES)


def _of_deterministic(run: Attained, target: float) -> Claim:
    verdict, why = {
        InRun.MET: (Verdict.ACCEPTED, Why.DETERMINISTIC),
        InRun.MISSED: (Verdict.REJECTED, Why.DETERMINISTIC),
        InRun.OPEN: (Verdict.UNDECIDED, Why.OPEN_REQUESTS),
    }[in_run(run, target)]
    return Claim(verdict, run.low, run.high, why)


def _t_bound(shares: Sequence[float], sign: int) -> float:
    """Return the mean of the shares plus or minus t₀.₉₅ standard errors, within [0, 1]."""
    k = len(shares)
    half = float(stats.t.ppf(LEVEL, k - 1)) * float(np.std(shares, ddof=1)) / math.sqrt(k)
    return min(1.0, max(0.0, float(np.mean(shares)) + sign * half))


def _reaches(share: float, target: float) -> bool:
    """Tell whether a share is at least the target; 0.9 · 10 = 9 must count as reached."""
    return share >= target - _ROUNDING


def settle_traffic(run: Attained, n: int, n_eff: float, target: float) -> Settlement:
    """Return how long a run would decide the claim about traffic.

    Parameters
    ----------
    run
        Attained share; the low share is the one continued.
    n
        Requests of the run that gave `n_eff`; a longer run is taken to have the same design effect.
    n_eff
        Effective requests of the run.
    target
        Share of offered requests that must meet the objective.
    """
    per_effective = n / n_eff
    failures = (1 - run.low) * n_eff
    if_all_met = float(required_trials(failures, target, ACCEPT_LEVEL)) * per_effective
    decided = _trials_at_share(run.low, target)
    return Settlement(
        if_all_met=max(n, int(np.ceil(if_all_met))),
        at_this_share=None if decided is None else max(n, int(np.ceil(decided * per_effective))),
    )


def _trials_at_share(share: float, target: float) -> float | None:
    """Return the real number of trials whose bound on this share just reaches the target."""
    accepts = share > target
    side, end = (Side.LOWER, 0) if accepts else (Side.UPPER, 1)
    level = ACCEPT_LEVEL if accepts else LEVEL

    def gap(log_n: float) -> float:
        n = math.exp(log_n)
        return float(clopper_pearson(share * n, n, level, side)[end]) - target

    widest, narrowest = math.log(_FEWEST_TRIALS), math.log(_MOST_TRIALS)
    if gap(narrowest) * gap(widest) >= 0:
        return None
    return math.exp(float(optimize.brentq(gap, widest, narrowest)))


def settle_workload(runs: Sequence[Attained], target: float) -> int | None:
    """Return how many replicates would decide the claim about the workload at this spread.

    Returns
    -------
    int or None
        At least 3, and 3 where there are fewer than two runs to see a spread in. None where no
        thousand runs would decide, because the mean is too close to the target.
    """
    if len(runs) < 2:
        return MIN_RUNS
    shares = [run.low for run in runs]
    distance, spread = abs(float(np.mean(shares)) - target), float(np.std(shares, ddof=1))
    k = np.arange(MIN_RUNS, _MOST_RUNS + 1)
    enough = stats.t.ppf(LEVEL, k - 1) * spread / np.sqrt(k) <= distance
    return int(k[np.argmax(enough)]) if enough.any() else None
