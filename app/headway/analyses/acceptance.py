"""Which runs met the objective, repeatably or not, and what may be said of traffic like theirs?

Three claims stand side by side and are never mixed: *in this run* is a fact; *repeatable on this
workload* needs replicates or a deterministic simulator; *for traffic like this* needs enough
effective requests (docs/methods.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from headway.analyses import (
    accounting,
    configurations,
    correlation,
    naming,
    rates,
    replicates,
    sessions,
    traffic_claim,
)
from headway.analyses.sessions import Session
from headway.catalog import Catalog
from headway.model import Boundary, Load, Metric, Objective, Origin, RunInfo, Selection
from headway.stats import repeats, verdicts
from headway.stats.effective import Effective
from headway.stats.reach import Pace, Reach
from headway.stats.repeats import Repeats
from headway.stats.slip import Slip
from headway.stats.steadiness import Steadiness
from headway.stats.verdicts import Attained, Claim, InRun, Verdict, Why


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
class Verdicts:
    """The answers to the three claims."""

    in_run: InRun
    workload: Verdict
    traffic: Verdict

    def of(self, asked: Asked) -> Verdict:
        """Return the verdict on one claim."""
        if asked is Asked.RUN:
            return _OF_RUN[self.in_run]
        return self.workload if asked is Asked.WORKLOAD else self.traffic


@dataclass(frozen=True, slots=True)
class Judged:
    """One run, or one set of replicates, against an objective.

    `counts` are those of each run and `in_each` says whether it met the objective. `attained` is
    the mean over the runs, each with one vote. `repeats` is None for a simulator, whose runs
    repeat themselves exactly. `effective` and `reach` are None where an arrival is unknown.
    `pace` is the busiest of the set and `slip` the worst.
    `made` says in which sessions the runs were made; None where one of them does not say.
    `origin_used` is where latencies count from: scheduled, sent or none. `elsewise` are the
    verdicts from the other origin, where they differ.
    """

    runs: tuple[RunInfo, ...]
    title: str
    line: str
    load: Load
    load_text: str
    measured_rps: float | None
    x: float | None
    counts: tuple[rates.Attainment, ...]
    attained: Attained
    in_each: tuple[InRun, ...]
    workload: Claim
    traffic: Claim
    repeats: Repeats | None
    effective: Effective | None
    reach: Reach | None
    pace: Pace | None
    steady: Steadiness
    slip: Slip | None
    made: tuple[Session, ...] | None
    origin_used: str
    elsewise: Verdicts | None = None

    @property
    def in_run(self) -> InRun:
        """Met only if every run met, and missed as soon as one missed."""
        return worst_in_run(self.in_each)

    @property
    def n_offered(self) -> int:
        """Requests offered, over the set."""
        return sum(each.n_offered for each in self.counts)

    @property
    def n_met(self) -> int:
        """Requests that met the objective, over the set."""
        return sum(each.n_met for each in self.counts)

    @property
    def n_open(self) -> int:
        """Open requests that may still meet it, over the set."""
        return sum(each.n_open for each in self.counts)

    @property
    def n_runs_met(self) -> int:
        """Runs that met the objective for certain."""
        return sum(each is InRun.MET for each in self.in_each)

    @property
    def n_missed(self) -> int:
        """Requests that missed for certain, over the set."""
        return self.n_offered - self.n_met - self.n_open

    @property
    def n_unplaced(self) -> int:
        """Requests whose arrival is not known, over the set."""
        return self.n_offered - sum(each.n_placed for each in self.counts)

    @property
    def n_no_cadence(self) -> int:
        """Answers too short to have a cadence, over the set."""
        return sum(each.n_no_cadence for each in self.counts)

    @property
    def n_lost(self) -> int:
        """Requests that ended without completing, over the set."""
        return sum(each.n_lost for each in self.counts)

    @property
    def n_unmeasured(self) -> int:
        """Completed requests that lack a value with a limit, over the set."""
        return sum(each.n_unmeasured for each in self.counts)

    @property
    def past(self) -> dict[Metric, int]:
        """Requests past each limit, over the set; one may be past several."""
        return {metric: sum(each.past[metric] for each in self.counts) for metric in self._limits}

    @property
    def _limits(self) -> tuple[Metric, ...]:
        return tuple(self.counts[0].past) if self.counts else ()

    @property
    def per_run(self) -> tuple[Attained, ...]:
        """The attained share of each run."""
        return tuple(verdicts.attained(c.n_met, c.n_open, c.n_offered) for c in self.counts)

    @property
    def worst(self) -> rates.Attainment:
        """The run that attained the least."""
        return min(self.counts, key=lambda each: each.attained)

    @property
    def verdicts(self) -> Verdicts:
        """The answers to the three claims."""
        return Verdicts(self.in_run, self.workload.verdict, self.traffic.verdict)

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
        return self.verdicts.of(asked)


def judge(catalog: Catalog, selection: Selection, objective: Objective) -> list[Judged]:
    """Judge the selected runs, replicates of one workload together, in the selection's order.

    Verdicts from the other origin are added where they differ.
    """
    key = ("judged", selection, objective)
    return catalog.remember(key, lambda: _judge(catalog, selection, objective))


def _judge(catalog: Catalog, selection: Selection, objective: Objective) -> list[Judged]:
    found = from_one_origin(catalog, selection, objective)
    other = _from_other_origin(catalog, selection, objective, found)
    return [
        each
        if (answers := other.get(each.run.run_id, each.verdicts)) == each.verdicts
        else replace(each, elsewise=answers)
        for each in found
    ]


def from_one_origin(catalog: Catalog, selection: Selection, objective: Objective) -> list[Judged]:
    """Judge as `judge` does, without asking for the other origin."""
    met = rates.attainments(catalog, selection, objective)
    spans = accounting.intervals(catalog, selection)
    run_ids = [run_id for run_id in selection.run_ids if run_id in met]
    sets = replicates.sets(catalog, run_ids)
    firsts = [runs[0] for runs in sets]
    measured = {run_id: span.measured_rps for run_id, span in spans.items()}
    known = _Known(
        met=met,
        spans=spans,
        titles=naming.titles(firsts, measured, configurations.names_of(catalog, firsts)),
        parts=correlation.correlations(
            catalog, run_ids, selection.window, selection.origin, objective.limits()
        ),
        slips=correlation.slips(catalog, run_ids, objective.ttft_ms),
    )
    return [_judged(catalog, objective, runs, known) for runs in sets]


def judge_set(
    catalog: Catalog, selection: Selection, objective: Objective, judged: Judged
) -> Judged:
    """Judge a set of runs against other limits than it was judged by, from one origin."""
    run_ids = [run.run_id for run in judged.runs]
    window, origin = selection.window, selection.origin
    sheets = correlation.sheets(catalog, run_ids, window, origin)
    known = _Known(
        met={run_id: rates.attainment(run_id, on, objective) for run_id, on in sheets.items()},
        spans=accounting.intervals(catalog, replace(selection, run_ids=tuple(run_ids))),
        titles={judged.run.run_id: judged.title},
        parts=correlation.correlations(catalog, run_ids, window, origin, objective.limits()),
        slips=correlation.slips(catalog, run_ids, objective.ttft_ms),
    )
    return _judged(catalog, objective, judged.runs, known)


def _from_other_origin(
    catalog: Catalog, selection: Selection, objective: Objective, found: Sequence[Judged]
) -> dict[str, Verdicts]:
    """Return the verdicts from the other origin by a set's first run, where counts differ.

    Where every run of a set has the same counts from both, so are the verdicts.
    """
    slipped = [
        each
        for each in found
        if each.slip is not None and (each.slip.max_us or each.slip.max_lead_us)
    ]
    other = Origin.SENT if selection.origin is Origin.SCHEDULED else Origin.SCHEDULED
    again = replace(selection, run_ids=_ids_of(slipped), origin=other)
    counts = rates.attainments(catalog, again, objective)
    differ = [
        each for each in slipped if [counts[run.run_id] for run in each.runs] != list(each.counts)
    ]
    if not differ:
        return {}
    judged = from_one_origin(catalog, replace(again, run_ids=_ids_of(differ)), objective)
    return {each.run.run_id: each.verdicts for each in judged}


def _ids_of(found: Sequence[Judged]) -> tuple[str, ...]:
    return tuple(run.run_id for each in found for run in each.runs)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of every selected run, by run id; titles by the first run of a set."""

    met: dict[str, rates.Attainment]
    spans: dict[str, accounting.Interval]
    titles: dict[str, str]
    parts: dict[str, correlation.Correlation]
    slips: dict[str, Slip | None]


def _judged(
    catalog: Catalog, objective: Objective, runs: tuple[RunInfo, ...], known: _Known
) -> Judged:
    first, target = runs[0], objective.attainment
    counts = tuple(known.met[run.run_id] for run in runs)
    per_run = [verdicts.attained(c.n_met, c.n_open, c.n_offered) for c in counts]
    is_exact = is_deterministic(first)
    repeated = None if is_exact else repeats.repeats(per_run, target, objective.repeats)
    traffic = traffic_claim.judge(objective, counts, [known.parts[run.run_id] for run in runs])
    slip = _slip([known.slips[run.run_id] for run in runs])
    span = known.spans.get(first.run_id)
    measured_rps = span.measured_rps if span else None
    return Judged(
        runs=runs,
        title=title_of(known.titles[first.run_id], len(runs)),
        line=configurations.line_of(catalog, first),
        load=first.load,
        load_text=naming.load_text(first.load, measured_rps),
        measured_rps=measured_rps,
        x=naming.axis_of(first, measured_rps),
        counts=counts,
        attained=verdicts.mean_attained(per_run),
        in_each=tuple(verdicts.in_run(each, target) for each in per_run),
        workload=withheld(workload_claim(per_run, target, repeated), slip),
        traffic=withheld(traffic.claim, slip),
        repeats=repeated,
        effective=traffic.effective,
        reach=traffic.reach,
        pace=traffic.pace,
        steady=traffic.steady,
        slip=slip,
        made=sessions.sessions(runs),
        origin_used=span.origin_used if span else "none",
    )


def workload_claim(per_run: Sequence[Attained], target: float, repeated: Repeats | None) -> Claim:
    """Judge the claim about the workload; without repeats the run is the answer."""
    if repeated is None:
        return repeats.deterministic(per_run, target)
    return repeats.workload(repeated)


def title_of(title: str, n_runs: int) -> str:
    """Return a name that says how many replicates stand behind it."""
    return title if n_runs == 1 else f"{title} · {n_runs} replicates"


def is_deterministic(run: RunInfo) -> bool:
    """Tell whether running again would give the same run: a simulator repeats itself exactly."""
    return run.boundary is Boundary.SIMULATOR


def _slip(found: Sequence[Slip | None]) -> Slip | None:
    known = [each for each in found if each is not None]
    return max(known, key=lambda each: (each.behind, each.early, each.p99_us), default=None)


def worst_in_run(found: Sequence[InRun]) -> InRun:
    """Return met only if every run met, and missed as soon as one missed."""
    for answer in (InRun.MISSED, InRun.OPEN):
        if answer in found:
            return answer
    return InRun.MET


def withheld(claim: Claim, slip: Slip | None) -> Claim:
    """Withhold an acceptance from a run whose load generator did not keep its schedule."""
    if slip is None or claim.verdict is not Verdict.ACCEPTED:
        return claim
    if slip.behind:
        return replace(claim, verdict=Verdict.UNDECIDED, why=Why.BEHIND_SCHEDULE)
    if slip.early:
        return replace(claim, verdict=Verdict.UNDECIDED, why=Why.SENT_EARLY)
    return claim
