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
    declared), or a concurrency for closed loops. `up_to` asks for every tested load up to a place.
    Without either, every tested load is judged.
    """

    objective: Objective
    claim: Asked = Asked.WORKLOAD
    study: str | None = None
    policy: str | None = None
    load: float | None = None
    up_to: float | None = None
    window: Window = Window()
    origin: Origin = Origin.SCHEDULED

    def selection(self, runs: Sequence[RunInfo]) -> Selection:
        """Return these runs over the window and from the origin asked for."""
        return Selection(tuple(run.run_id for run in runs), self.window, origin=self.origin)


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict over all runs that a question selects, and what it rests on.

    `judged` are the sets at the loads asked for, and the verdict is the worst of theirs. The
    envelopes are over every tested load, whatever was asked for. `runs` are all that were found;
    `empty` have no request in the window, and nothing is said of them. `is_declared` is whether
    every study concerned declares this very objective.
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
    found = acceptance.judge(catalog, selection, question.objective)
    runs = tuple(run for each in found for run in each.runs)
    judged = tuple(each for each in found if _is_asked(question, each.x))
    return Answer(
        question=question,
        is_declared=_is_declared(catalog, selection, question.objective),
        runs=runs,
        empty=tuple(
            catalog.runs[key] for key in selection.run_ids if catalog.runs[key] not in runs
        ),
        judged=judged,
        envelopes=tuple(envelope.envelopes(catalog, found, asked)),
        verdict=envelope.worst([each.verdict(asked) for each in judged]),
        measured_rps=_measured(catalog, selection),
    )


def _is_asked(question: Question, x: float | None) -> bool:
    """Tell whether a load is asked for; one off the axes only where every load is."""
    if question.load is not None:
        return x is not None and math.isclose(x, question.load, rel_tol=_SAME_LOAD)
    if question.up_to is not None:
        return x is not None and x <= question.up_to * (1 + _SAME_LOAD)
    return True


def matching(catalog: Catalog, question: Question) -> list[RunInfo]:
    """Return the runs of the study and policy asked for, in reading order; there may be none."""
    names = sorted(catalog.studies) if question.study is None else [question.study]
    return [
        run
        for name in names
        for run in catalog.of_study(name)
        if question.policy in (None, configurations.name_of(catalog, run))
    ]


def at_loads(catalog: Catalog, question: Question) -> list[RunInfo]:
    """Return the matching runs at the loads that a question asks for."""
    runs = matching(catalog, question)
    measured = _measured(catalog, question.selection(runs))
    return [
        run for run in runs if _is_asked(question, naming.axis_of(run, measured.get(run.run_id)))
    ]


def demand(catalog: Catalog, question: Question) -> None:
    """Refuse a question that selects nothing.

    Raises
    ------
    MisuseError
        With the policies, or the loads, that there are.
    """
    if question.load is not None and question.up_to is not None:
        raise MisuseError("found --load and --up-to; expected one: a load, or every load up to one")
    runs = matching(catalog, question)
    if not runs:
        of_study = Question(question.objective, study=question.study)
        known = dict.fromkeys(
            configurations.name_of(catalog, run) for run in matching(catalog, of_study)
        )
        if not known:
            raise MisuseError("there is no run to judge; import results first: headway import PATH")
        raise MisuseError(f"there is no policy {question.policy!r}; there are: {', '.join(known)}")
    if at_loads(catalog, question):
        return
    loads = _loads(catalog, question.selection(runs))
    if question.load is not None:
        raise MisuseError(f"no run is at load {question.load:.10g}; there are: {loads}")
    raise MisuseError(f"no run is at a load up to {question.up_to:.10g}; there are: {loads}")


def _measured(catalog: Catalog, selection: Selection) -> dict[str, float | None]:
    spans = accounting.intervals(catalog, selection)
    return {run_id: span.measured_rps for run_id, span in spans.items()}


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
