"""What replicates tell of the next run of the same workload: how many of such runs would meet."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headway.stats.intervals import LEVEL, Side, clopper_pearson
from headway.stats.verdicts import Attained, Claim, InRun, Verdict, Why, in_run, mean_attained

REPEATS = 0.5
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many replicates met, and which share of such runs would, with 95% confidence each way.

    `n_open` runs may still meet. `asked` is the least share of runs that an acceptance must show.
    """

    n_runs: int
    n_met: int
    n_open: int
    asked: float
    low: float
    high: float

    @property
    def n_missed(self) -> int:
        """Replicates that missed for certain."""
        return self.n_runs - self.n_met - self.n_open


def repeats(runs: Sequence[Attained], target: float, asked: float = REPEATS) -> Repeats:
    """Count the replicates that met, and bound the share of such runs that would.

    Parameters
    ----------
    runs
        Attained share of each replicate of one workload; with none the bounds are 0 and 1.
    target
        Share of offered requests that must meet the objective.
    asked
        Share of such runs that must meet it, in (0, 1).

    Notes
    -----
    One-sided exact 95% bounds (Clopper and Pearson 1934), which assume no distribution of the
    shares: 3 of 3 show at least 37%, 5 of 5 at least 55%.
    """
    found = [in_run(run, target) for run in runs]
    n_met, n_open = found.count(InRun.MET), found.count(InRun.OPEN)
    low = float(clopper_pearson(n_met, len(runs), LEVEL, Side.LOWER)[0])
    high = _high(n_met + n_open, len(runs))
    return Repeats(len(runs), n_met, n_open, asked, low, high)


def workload(of: Repeats) -> Claim:
    """Judge whether the next run of the same requests and arrivals would meet the target.

    Returns
    -------
    Claim
        Its bounds are of the share of such runs. Accepted where every replicate met and the low
        bound reaches the share asked for; rejected where the high bound does not; else undecided.

    Notes
    -----
    Every replicate must meet, because then the claim stays true in 95% of sets however often one
    looks and adds a run. With misses allowed, adding runs until the set passes would not.
    """
    if of.n_runs and of.n_met == of.n_runs and of.low >= of.asked - _ROUNDING:
        return Claim(Verdict.ACCEPTED, of.low, of.high, Why.REPEATED)
    if of.high < of.asked - _ROUNDING:
        return Claim(Verdict.REJECTED, of.low, of.high, Why.REPEATED)
    if of.n_missed:
        return Claim(Verdict.UNDECIDED, of.low, of.high, Why.SOME_MISSED)
    why = Why.OPEN_REQUESTS if of.n_open else Why.TOO_FEW_RUNS
    return Claim(Verdict.UNDECIDED, of.low, of.high, why)


def deterministic(runs: Sequence[Attained], target: float) -> Claim:
    """Judge a system that repeats itself exactly, such as a simulator: one run is the answer.

    Its bounds are of the attained share.
    """
    run = mean_attained(runs)
    verdict, why = {
        InRun.MET: (Verdict.ACCEPTED, Why.DETERMINISTIC),
        InRun.MISSED: (Verdict.REJECTED, Why.DETERMINISTIC),
        InRun.OPEN: (Verdict.UNDECIDED, Why.OPEN_REQUESTS),
    }[in_run(run, target)]
    return Claim(verdict, run.low, run.high, why)


def runs_needed(asked: float) -> int:
    """Return the fewest replicates that show the share asked for where every one of them meets.

    Examples
    --------
    >>> [runs_needed(asked) for asked in (0.36, 0.5, 0.8, 0.9)]
    [3, 5, 14, 29]
    """
    return math.ceil(math.log(1 - LEVEL) / math.log(asked) - _ROUNDING)


def misses_to_reject(of: Repeats) -> int:
    """Return how many more replicates reject the set where every one of them misses."""
    n_more = 0
    while _high(of.n_met + of.n_open, of.n_runs + n_more) >= of.asked - _ROUNDING:
        n_more += 1
    return n_more


def _high(n_met: int, n_runs: int) -> float:
    return float(clopper_pearson(n_met, n_runs, LEVEL, Side.UPPER)[1])
