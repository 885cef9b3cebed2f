"""What would settle an undecided claim: a longer run, more runs, or nothing of the kind?"""

from dataclasses import dataclass
from enum import StrEnum

from headway.analyses.acceptance import Asked, Judged
from headway.model import Objective
from headway.stats import repeats, settle
from headway.stats.verdicts import Verdict, Why

# Steadiness needs 30 requests in each tenth, and so does a design effect worth the name.
FEWEST_REQUESTS = 300


class Remedy(StrEnum):
    """What would settle a doubt."""

    LONGER_RUN = "longer_run"
    RUN_TO_THE_END = "run_to_the_end"
    MORE_RUNS = "more_runs"
    NEW_SET = "new_set"
    KEEP_THE_SCHEDULE = "keep_the_schedule"
    RECORD_ARRIVALS = "record_arrivals"
    LOWER_LOAD = "lower_load"
    TOO_CLOSE = "too_close"


@dataclass(frozen=True, slots=True)
class Settlement:
    """What would settle one claim.

    `n_requests` is the length of a fresh run, `duration_s` how long it takes at the load of the
    set, `n_runs` how many more replicates it takes if every one of them meets the
    objective; for a new set, if every one of them misses.
    """

    remedy: Remedy
    n_requests: int | None = None
    duration_s: float | None = None
    n_runs: int | None = None


_ALIKE = {
    Why.OPEN_REQUESTS: Remedy.RUN_TO_THE_END,
    Why.BEHIND_SCHEDULE: Remedy.KEEP_THE_SCHEDULE,
    Why.SENT_EARLY: Remedy.KEEP_THE_SCHEDULE,
    Why.NOT_STEADY: Remedy.LOWER_LOAD,
    Why.ARRIVALS_UNKNOWN: Remedy.RECORD_ARRIVALS,
}


def settlement(judged: Judged, asked: Asked, objective: Objective) -> Settlement | None:
    """Return what would settle a claim; None where it is decided."""
    if judged.verdict(asked) is not Verdict.UNDECIDED:
        return None
    if asked is Asked.RUN:
        return Settlement(Remedy.RUN_TO_THE_END)
    claim = judged.workload if asked is Asked.WORKLOAD else judged.traffic
    if claim.why is Why.SOME_MISSED and judged.repeats is not None:
        return Settlement(Remedy.NEW_SET, n_runs=repeats.misses_to_reject(judged.repeats))
    if claim.why in _ALIKE:
        return Settlement(_ALIKE[claim.why])
    if asked is Asked.WORKLOAD:
        needed = repeats.runs_needed(objective.repeats)
        return Settlement(Remedy.MORE_RUNS, n_runs=max(1, needed - len(judged.runs)))
    return _longer_run(judged, objective)


def _longer_run(judged: Judged, objective: Objective) -> Settlement:
    size = judged.effective
    rps = judged.load.declared_rps or judged.measured_rps
    if size is None:
        if not any(each.n_placed for each in judged.counts):
            return Settlement(Remedy.RECORD_ARRIVALS)
        n = FEWEST_REQUESTS
    else:
        found = settle.run_length(
            judged.attained.low,
            size,
            objective.attainment,
            n_limits=len(objective.limits()),
            spell=judged.reach.spell if judged.reach else 0.0,
        )
        if found is None:
            return Settlement(Remedy.TOO_CLOSE)
        n = found
    return Settlement(Remedy.LONGER_RUN, n_requests=n, duration_s=settle.duration_s(n, rps))
