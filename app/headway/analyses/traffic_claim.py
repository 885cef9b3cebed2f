"""What may be said of traffic like that of a run, and what does the claim rest on?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headway.analyses.correlation import Correlation
from headway.analyses.rates import Attainment
from headway.model import Objective
from headway.stats import verdicts
from headway.stats.effective import N_BLOCKS, Effective, effective_from_blocks, pool_replicates
from headway.stats.reach import Pace, Reach, busiest
from headway.stats.steadiness import Steadiness, worst
from headway.stats.verdicts import Attained, Claim, Why


@dataclass(frozen=True, slots=True)
class ForTraffic:
    """The claim about traffic, and what it rests on."""

    claim: Claim
    effective: Effective | None
    reach: Reach | None
    pace: Pace | None
    steady: Steadiness


def judge(
    objective: Objective,
    counts: Sequence[Attainment],
    parts: Sequence[Correlation],
) -> ForTraffic:
    """Judge the claim about traffic, from requests whose arrivals are all known."""
    target = objective.attainment
    attained = verdicts.mean_attained(
        [verdicts.attained(c.n_met, c.n_open, c.n_offered) for c in counts]
    )
    are_placed = all(each.n_placed == each.n_offered for each in counts)
    effective = _effective(objective, counts, parts) if are_placed else None
    pace = busiest([each.pace for each in parts])
    spell = spell_requests(objective, pace)
    steady = worst([each.steady for each in parts])
    claim = verdicts.traffic(attained, effective, target, steady, spell)
    if not are_placed and any(each.n_placed for each in counts):
        claim = replace(claim, why=Why.ARRIVALS_UNKNOWN)
    reach = _reach(attained, effective, target, spell, pace)
    return ForTraffic(claim, effective, reach, pace, steady)


def spell_requests(objective: Objective, pace: Pace | None) -> float:
    """Return how many requests the declared spell may hold; 0 where none is declared."""
    if objective.spell_s is None or pace is None:
        return 0.0
    return pace.spell_requests(objective.spell_s)


def _reach(
    attained: Attained,
    effective: Effective | None,
    target: float,
    spell: float,
    pace: Pace | None,
) -> Reach | None:
    if effective is None:
        return None
    found = verdicts.reach_of(attained, effective, target)
    seconds = None if pace is None else pace.spell_seconds(found.requests)
    return replace(found, spell=spell, seconds=seconds)


def _effective(
    objective: Objective,
    counts: Sequence[Attainment],
    known: Sequence[Correlation],
) -> Effective | None:
    found = []
    for count, each in zip(counts, known, strict=True):
        if not each.parts or len(count.blocks) < N_BLOCKS:
            return None
        sizes, met = zip(*count.blocks, strict=True)
        parts = [each.parts[metric] for metric in objective.limits()]
        of_run = effective_from_blocks(parts, met, sizes)
        if of_run is None:
            return None
        found.append(of_run)
    return pool_replicates(found)
