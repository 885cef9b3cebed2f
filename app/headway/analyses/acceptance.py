"""Which runs met the objective, repeatably or not, and what may be said of traffic like theirs?

Three claims stand side by side and are never mixed: *in this run* is a fact; *repeatable on this
workload* needs replicates or a deterministic simulator; *for traffic like this* needs enough
effective requests (docs/methods.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from headway.analyses import accounting, configurations, correlation, naming, rates, replicates
from headway.catalog import Catalog
from headway.model import Boundary, Load, Objective, RunInfo, Selection
from headway.stats import verdicts
from headway.stats.effective import Effective, effective_from_blocks, pool_replicates
from headway.stats.slip import Slip
from headway.stats.steadiness import Steadiness
from headway.stats.verdicts import Attained, Claim, InRun, Verdict, Why

N_BLOCKS = 10


class Asked(StrEnum):
    """The claim a verdict speaks for."""

    RUN = "run"
    WORKLOAD = "workload"
    TRAFFIC = "traffic"


_OF_RUN = {
    InRun.MET: Verdict.ACCEPTED,
    InRun.MISSED: Verdict.REJECTED,
    InRun.OPEN: Verdict.UNDECIDED,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One run, or one set of replicates, against an objective.

    Counts are sums over the set; `attained` is the mean over its runs, each with one vote.
    `effective` is None where arrivals are unknown. `slip` is the worst of the set.
    """

    runs: tuple[RunInfo, ...]
    title: str
    line: str
    load: Load
    load_text: str
    x: float | None
    n_offered: int
    n_met: int
    n_open: int
    n_no_cadence: int
    per_run: tuple[Attained, ...]
    attained: Attained
    in_run: InRun
    workload: Claim
    traffic: Claim
    effective: Effective | None
    steady: Steadiness
    slip: Slip | None

    @property
    def run(self) -> RunInfo:
        """The first run of the set: its description stands for all."""
        return self.runs[0]

    @property
    def is_behind(self) -> bool:
        """Whether the load generator fell behind its own schedule."""
        return self.slip is not None and self.slip.behind

    def verdict(self, asked: Asked) -> Verdict:
        """Return the verdict on one claim."""
        if asked is Asked.RUN:
            return _OF_RUN[self.in_run]
        return self.workload.verdict if asked is Asked.WORKLOAD else self.traffic.verdict


def judge(catalog: Catalog, selection: Selection, objective: Objective) -> list[Judged]:
    """Judge the selected runs, replicates of one workload together, in the selection's order."""
    met = rates.attainments(catalog, selection, objective)
    spans = accounting.intervals(catalog, selection)
    measured = {run_id: span.measured_rps for run_id, span in spans.items()}
    sets = replicates.sets(catalog, [run_id for run_id in selection.run_ids if run_id in met])
    firsts = [runs[0] for runs in sets]
    titles = naming.titles(firsts, measured, configurations.names_of(catalog, firsts))
    known = _Known(met, measured, titles)
    return [_judged(catalog, selection, objective, runs, known) for runs in sets]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of every selected run, by run id; titles by the first run of a set."""

    met: dict[str, rates.Attainment]
    measured: dict[str, float | None]
    titles: dict[str, str]


def _judged(
    catalog: Catalog,
    selection: Selection,
    objective: Objective,
    runs: tuple[RunInfo, ...],
    known: _Known,
) -> Judged:
    first, target = runs[0], objective.attainment
    counts = [known.met[run.run_id] for run in runs]
    parts = [
        correlation.correlation(catalog, run.run_id, selection.window, selection.origin)
        for run in runs
    ]
    per_run = tuple(verdicts.attained(c.n_met, c.n_open, c.n_offered) for c in counts)
    attained = verdicts.mean_attained(per_run)
    effective = _effective(objective, counts, parts)
    steady = worst_steadiness([each.steady for each in parts])
    slip = _slip(catalog, runs, objective)
    workload = verdicts.workload(per_run, target, deterministic=is_deterministic(first))
    return Judged(
        runs=runs,
        title=title_of(known.titles[first.run_id], len(runs)),
        line=configurations.line_of(catalog, first),
        load=first.load,
        load_text=naming.load_text(first.load, known.measured.get(first.run_id)),
        x=naming.axis_of(first, known.measured.get(first.run_id)),
        n_offered=sum(each.n_offered for each in counts),
        n_met=sum(each.n_met for each in counts),
        n_open=sum(each.n_open for each in counts),
        n_no_cadence=sum(each.n_no_cadence for each in counts),
        per_run=per_run,
        attained=attained,
        in_run=in_runs(per_run, target),
        workload=held(workload, slip),
        traffic=held(traffic_claim(attained, effective, target, steady), slip),
        effective=effective,
        steady=steady,
        slip=slip,
    )


def traffic_claim(
    attained: Attained, effective: Effective | None, target: float, steady: Steadiness
) -> Claim:
    """Judge the claim about traffic on the effective requests of a run or set."""
    if effective is None:
        return verdicts.traffic(attained, None, target, steady)
    return verdicts.traffic(attained, effective.n_eff, target, steady, effective.n_accept)


def title_of(title: str, n_runs: int) -> str:
    """Return a name that says how many replicates stand behind it."""
    return title if n_runs == 1 else f"{title} · {n_runs} replicates"


def is_deterministic(run: RunInfo) -> bool:
    """Tell whether running again would give the same run: a simulator repeats itself exactly."""
    return run.boundary is Boundary.SIMULATOR


def _effective(
    objective: Objective,
    counts: Sequence[rates.Attainment],
    known: Sequence[correlation.Correlation],
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


def worst_steadiness(found: Sequence[Steadiness]) -> Steadiness:
    """Return what may be said of several runs together: one that is not steady spoils all."""
    for worst in (Steadiness.NOT_STEADY, Steadiness.UNKNOWN):
        if worst in found:
            return worst
    return Steadiness.STEADY


def _slip(catalog: Catalog, runs: Sequence[RunInfo], objective: Objective) -> Slip | None:
    found = [correlation.slip_of(catalog, run.run_id, objective.ttft_ms) for run in runs]
    return max((each for each in found if each), key=lambda each: each.p99_us, default=None)


def in_runs(per_run: Sequence[Attained], target: float) -> InRun:
    """Return met only if every run met, and missed as soon as one missed."""
    found = [verdicts.in_run(each, target) for each in per_run]
    for worst in (InRun.MISSED, InRun.OPEN):
        if worst in found:
            return worst
    return InRun.MET


def held(claim: Claim, slip: Slip | None) -> Claim:
    """Withhold an acceptance from a run whose load generator fell behind its schedule."""
    if slip is not None and slip.behind and claim.verdict is Verdict.ACCEPTED:
        return Claim(Verdict.UNDECIDED, claim.low, claim.high, Why.BEHIND_SCHEDULE)
    return claim
