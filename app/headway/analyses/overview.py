"""What a study holds at a glance: its runs by policy and load, and how many requests did well."""

from dataclasses import dataclass

from headway.analyses import accounting, configurations, naming, rates
from headway.catalog import Catalog
from headway.model import LoadKind, Objective, Outcome, RunInfo, Selection
from headway.stats import verdicts
from headway.stats.verdicts import InRun

_OPEN = (Outcome.CUT_OFF, Outcome.NOT_SENT, Outcome.UNACCOUNTED)


@dataclass(frozen=True, slots=True)
class Point:
    """One run: where it stands on its load axis, and the share of its offered requests.

    `x` is None for a run that stands off the axes: unlimited load, or no known rate. `n` counts
    requests that met the objective, or that completed where none is declared.
    """

    run: RunInfo
    title: str
    policy: str
    load: str
    x: float | None
    n: int
    n_open: int
    n_offered: int

    @property
    def share(self) -> float | None:
        """Share of offered requests; None where none was offered in the window."""
        return self.n / self.n_offered if self.n_offered else None

    def in_run(self, target: float) -> InRun:
        """Tell whether the share reached a target: a fact of this run and no other.

        Requests still open when the run ended could have gone either way; where they decide, so
        does nobody.
        """
        return verdicts.in_run(verdicts.attained(self.n, self.n_open, self.n_offered), target)


def points(catalog: Catalog, selection: Selection, objective: Objective | None) -> list[Point]:
    """Return one point per selected run, in the order of the selection."""
    spans = accounting.intervals(catalog, selection)
    measured = {run_id: span.measured_rps for run_id, span in spans.items()}
    runs = [catalog.runs[run_id] for run_id in selection.run_ids]
    titles = naming.titles(runs, measured, configurations.names_of(catalog, runs))
    counted = accounting.accounts(catalog, selection)
    met = rates.attainments(catalog, selection, objective) if objective else {}
    return [
        Point(
            run=run,
            title=titles[run.run_id],
            policy=configurations.line_of(catalog, run),
            load=naming.load_text(run.load, measured.get(run.run_id)),
            x=naming.axis_of(run, measured.get(run.run_id)),
            n=n,
            n_open=n_open,
            n_offered=counted[run.run_id].n_offered,
        )
        for run in runs
        for n, n_open in [_counts(counted[run.run_id], met.get(run.run_id))]
    ]


def _counts(account: accounting.Account, attainment: rates.Attainment | None) -> tuple[int, int]:
    """Return how many met the objective, or completed without one, and how many are open."""
    if attainment is not None:
        return attainment.n_met, attainment.n_open
    return account.outcomes[Outcome.COMPLETED], sum(account.outcomes[each] for each in _OPEN)


def default_runs(catalog: Catalog, study: str) -> tuple[str, ...]:
    """Return the runs of a first view: one comparison, every policy at one load they share.

    The load is the middle one of those that most policies were tested at.
    """
    runs = catalog.of_study(study)
    policies: dict[str, dict[str, RunInfo]] = {}
    for run in runs:
        if run.load.kind is not LoadKind.UNLIMITED and run.time_limit_s is None:
            loads = policies.setdefault(configurations.name_of(catalog, run), {})
            loads.setdefault(naming.load_text(run.load), run)
    if not policies:
        return tuple(run.run_id for run in runs[:1])
    tested = dict.fromkeys(load for loads in policies.values() for load in loads)
    spread = {load: sum(load in loads for loads in policies.values()) for load in tested}
    shared = [load for load in tested if spread[load] == max(spread.values())]
    middle = shared[len(shared) // 2]
    return tuple(loads[middle].run_id for loads in policies.values() if middle in loads)[:4]
