"""How close is the call? The verdict at one load, as the limits move around the declared ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headway.analyses import acceptance
from headway.analyses.acceptance import Asked, Judged
from headway.catalog import Catalog
from headway.model import Metric, Objective, Selection
from headway.stats.verdicts import Verdict

FACTORS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair of limits in milliseconds: the verdict, and how many requests met them."""

    ttft_ms: float
    cadence_ms: float
    verdict: Verdict
    n_met: int
    n_offered: int


def sensitivity(
    catalog: Catalog,
    selection: Selection,
    objective: Objective,
    judged: Judged,
    asked: Asked,
    factors: Sequence[float] = FACTORS,
) -> list[Cell]:
    """Judge one run or set under every pair of a TTFT limit and a cadence limit.

    Empty where the objective lacks one of the two.
    """
    limits = objective.limits()
    cadence = Metric.STALL if Metric.STALL in limits else Metric.TPOT
    if Metric.TTFT not in limits or cadence not in limits:
        return []
    cells = []
    for ttft_ms in (limits[Metric.TTFT] * factor for factor in factors):
        for cadence_ms in (limits[cadence] * factor for factor in factors):
            moved = replace(objective, ttft_ms=ttft_ms, **{cadence.value: cadence_ms})
            each = acceptance.judge_set(catalog, selection, moved, judged)
            cells.append(Cell(ttft_ms, cadence_ms, each.verdict(asked), each.n_met, each.n_offered))
    return cells
