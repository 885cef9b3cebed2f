"""What stands on each side of a comparison: one run, or the replicates of a policy at one load."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.analyses import acceptance, accounting, configurations, judgement, naming, replicates
from headway.catalog import Catalog
from headway.errors import MisuseError
from headway.model import Objective, RunInfo, Selection


@dataclass(frozen=True, slots=True)
class Side:
    """One run, or a set of replicates; the first run's description stands for all."""

    runs: tuple[RunInfo, ...]
    title: str
    line: str
    load_text: str
    measured_rps: float | None
    x: float | None

    @property
    def run(self) -> RunInfo:
        """The first run."""
        return self.runs[0]

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The ids of all runs, which name the side in an address."""
        return tuple(run.run_id for run in self.runs)

    @property
    def is_deterministic(self) -> bool:
        """Whether running again would give the same run."""
        return acceptance.is_deterministic(self.run)


def every(catalog: Catalog, run_ids: Sequence[str]) -> list[Side]:
    """Return the runs as sides to choose from, replicates together, in the order given."""
    sets = replicates.sets(catalog, run_ids)
    measured = {
        run_id: span.measured_rps
        for run_id, span in accounting.intervals(catalog, Selection(tuple(run_ids))).items()
    }
    firsts = [runs[0] for runs in sets]
    titles = naming.titles(firsts, measured, configurations.names_of(catalog, firsts))
    return [_side(catalog, runs, titles[runs[0].run_id], measured) for runs in sets]


def of_runs(catalog: Catalog, run_ids: Sequence[str]) -> Side:
    """Return these very runs as one side, whether they repeat one another or not."""
    runs = tuple(catalog.run(run_id) for run_id in run_ids)
    found = accounting.intervals(catalog, Selection(tuple(run_ids)))
    measured = {run_id: span.measured_rps for run_id, span in found.items()}
    titles = naming.titles(runs[:1], measured, configurations.names_of(catalog, runs[:1]))
    return _side(catalog, runs, titles[runs[0].run_id], measured)


def named(catalog: Catalog, name: str, load: float | None, study: str | None) -> Side:
    """Return the side that a run id, or a policy at a load, names.

    Of a policy's sets at the load, one that was not stopped early is meant before one that was.

    Raises
    ------
    MisuseError
        Nothing has this name, or more than one set does: the message lists the choices.
    """
    if name in catalog.runs:
        return of_runs(catalog, (name,))
    question = judgement.Question(Objective(), study=study, policy=name, load=load)
    _demand(catalog, name, question)
    found = every(catalog, [run.run_id for run in judgement.at_loads(catalog, question)])
    whole = [side for side in found if side.run.time_limit_s is None]
    chosen = whole or found
    if len(chosen) > 1:
        shown = "; ".join(f"{side.title} ({side.run.run_id})" for side in chosen)
        raise MisuseError(
            f"{name!r} is more than one set of runs: {shown}; "
            "name one by its run id, or choose with --load and --study"
        )
    return chosen[0]


def _demand(catalog: Catalog, name: str, question: judgement.Question) -> None:
    try:
        judgement.demand(catalog, question)
    except MisuseError as error:
        if question.load is not None and "no run is at load" in str(error):
            raise
        policies = sorted({configurations.name_of(catalog, run) for run in catalog.runs.values()})
        raise MisuseError(
            f"there is no run and no policy {name!r}; policies: {', '.join(policies) or 'none'}; "
            f"runs: {', '.join(sorted(catalog.runs)) or 'none'}"
        ) from error


def _side(
    catalog: Catalog, runs: tuple[RunInfo, ...], title: str, measured: dict[str, float | None]
) -> Side:
    first = runs[0]
    rps = measured.get(first.run_id)
    return Side(
        runs=runs,
        title=acceptance.title_of(title, len(runs)),
        line=configurations.line_of(catalog, first),
        load_text=naming.load_text(first.load, rps),
        measured_rps=rps,
        x=naming.axis_of(first, rps),
    )
