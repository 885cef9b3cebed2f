"""The whole answer to one question: which runs, judged against what, and the verdict over all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headway.analyses import acceptance, accounting, configurations, envelope, naming
from headway.analyses.acceptance import Asked, Judged
from headway.analyses.envelope import Envelope
from headway.catalog import Catalog
from headway.errors import MisuseError
from headway.model import LoadKind, Objective, Origin, RunInfo, Selection, Window
from headway.stats.verdicts import Verdict

_SAME_LOAD = 1e-9


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: runs by study, policy and load, an objective, and one of three claims.

    `load` is a place on a load axis: declared requests per second (measured where none is
    declared), or a concurrency for closed loops. None asks for all.
    """

    objective: Objective
    claim: Asked = Asked.WORKLOAD
    study: str | None = None
    policy: str | None = None
    load: float | None = None
    window: Window = Window()
    origin: Origin = Origin.SCHEDULED

    def selection(self, runs: Sequence[RunInfo]) -> Selection:
        """Return these runs over the window and from the origin asked for."""
        return Selection(tuple(run.run_id for run in runs), self.window, origin=self.origin)


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict over all runs that a question selects, and what it rests on.

    `runs` are those judged; `empty` have no request in the window, and nothing is said of them.
    `is_declared` is whether every study concerned declares this very objective.
    """

    question: Question
    is_declared: bool
    runs: tuple[RunInfo, ...]
    empty: tuple[RunInfo, ...]
    judged: tuple[Judged, ...]
    envelopes: tuple[Envelope, ...]
    verdict: Verdict
    measured_rps: dict[str, float | None]


def answer(catalog: Catalog, question: Question) -> Answer:
    """Judge what a question selects; nothing selected leaves the verdict undecided."""
    asked = question.claim
    selection = question.selection(matching(catalog, question))
    judged = acceptance.judge(catalog, selection, question.objective)
    found = envelope.envelopes(catalog, judged, asked)
    runs = tuple(run for each in judged for run in each.runs)
    return Answer(
        question=question,
        is_declared=_is_declared(catalog, selection, question.objective),
        runs=runs,
        empty=tuple(
            catalog.runs[key] for key in selection.run_ids if catalog.runs[key] not in runs
        ),
        judged=tuple(judged),
        envelopes=tuple(found),
        verdict=(
            envelope.overall(found, judged, asked)
            if question.load is None
            else envelope.worst([each.verdict(asked) for each in judged])
        ),
        measured_rps=_measured(catalog, selection),
    )


def matching(catalog: Catalog, question: Question) -> list[RunInfo]:
    """Return the runs that a question selects, in reading order; there may be none."""
    names = sorted(catalog.studies) if question.study is None else [question.study]
    runs = [
        run
        for name in names
        for run in catalog.of_study(name)
        if question.policy in (None, configurations.name_of(catalog, run))
    ]
    if question.load is None:
        return runs
    measured = _measured(catalog, question.selection(runs))
    return [run for run in runs if _is_at(run, measured, question.load)]


def demand(catalog: Catalog, question: Question) -> None:
    """Refuse a question that selects nothing.

    Raises
    ------
    MisuseError
        With the policies, or the loads, that there are.
    """
    if matching(catalog, question):
        return
    of_policy = Question(question.objective, study=question.study, policy=question.policy)
    of_study = Question(question.objective, study=question.study)
    if runs := matching(catalog, of_policy):
        loads = _loads(catalog, question.selection(runs))
        raise MisuseError(f"no run is at load {question.load:g}; there are: {loads}")
    if runs := matching(catalog, of_study):
        policies = ", ".join(dict.fromkeys(configurations.name_of(catalog, run) for run in runs))
        raise MisuseError(f"there is no policy {question.policy!r}; there are: {policies}")
    raise MisuseError("there is no run to judge; import results first: headway import PATH")


def _measured(catalog: Catalog, selection: Selection) -> dict[str, float | None]:
    spans = accounting.intervals(catalog, selection)
    return {run_id: span.measured_rps for run_id, span in spans.items()}


def _is_at(run: RunInfo, measured: dict[str, float | None], load: float) -> bool:
    x = naming.axis_of(run, measured.get(run.run_id))
    return x is not None and math.isclose(x, load, rel_tol=_SAME_LOAD)


def _loads(catalog: Catalog, selection: Selection) -> str:
    """Return the loads of runs, so that each can be typed again."""
    measured = _measured(catalog, selection)
    found: dict[str, set[float]] = {}
    for run_id in selection.run_ids:
        run = catalog.runs[run_id]
        x = naming.axis_of(run, measured.get(run_id))
        unit = "concurrent" if run.load.kind is LoadKind.CLOSED else "req/s"
        if x is not None:
            found.setdefault(unit, set()).add(x)
    said = [f"{', '.join(f'{x:.10g}' for x in sorted(xs))} {unit}" for unit, xs in found.items()]
    return "; ".join(said) or "none on a load axis"


def _is_declared(catalog: Catalog, selection: Selection, objective: Objective) -> bool:
    studies = {catalog.runs[run_id].study for run_id in selection.run_ids}
    return bool(studies) and all(catalog.studies[name].objective == objective for name in studies)
