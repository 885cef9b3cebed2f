"""Analyses of the envelope as the pages ask for them: by selection and objective.

Each takes only what names its result, so that it is remembered under a short key.
"""

from headway.analyses import (
    acceptance,
    checklist,
    envelope,
    limits,
    load_curves,
    sensitivity,
    throughput,
    trace_mix,
)
from headway.analyses import strata as strata_analysis
from headway.analyses.acceptance import Asked, Judged
from headway.analyses.envelope import Envelope
from headway.catalog import Catalog
from headway.model import Objective, Selection, Stratum
from headway.studies import Study
from headway.web import state


def judged(selection: Selection, objective: Objective) -> list[Judged]:
    """Return every selected run or set of replicates against the objective."""
    return state.analysed(acceptance.judge, selection, objective)


def envelopes(selection: Selection, objective: Objective, asked: Asked) -> list[Envelope]:
    """Return the envelopes of one claim."""
    return state.analysed(_envelopes, selection, objective, asked)


def load_points(selection: Selection, objective: Objective) -> list[load_curves.LoadPoint]:
    """Return latency tails, rates and outcomes along the load."""
    return state.analysed(_load_points, selection, objective)


def trades(selection: Selection, objective: Objective) -> list[throughput.Trade]:
    """Return the steps in load that buy throughput with acceptance."""
    return state.analysed(_trades, selection, objective)


def observed(selection: Selection, objective: Objective, asked: Asked) -> list[limits.Observed]:
    """Return what was observed at the edges of the envelopes."""
    return state.analysed(_observed, selection, objective, asked)


def review(
    selection: Selection, objective: Objective, asked: Asked, study: Study
) -> list[checklist.Line]:
    """Return the review checklist of the selected runs' study."""
    return state.analysed(_review, selection, objective, asked, study, attached(study))


def traffic(selection: Selection, study: Study) -> trace_mix.TraceMix | trace_mix.Unread | None:
    """Return the mix of the study's trace beside that of the runs; None without a trace."""
    found = attached(study)
    return None if found is None else state.analysed(trace_mix.compare, selection, found)


def attached(study: Study) -> trace_mix.Attached | None:
    """Return the study's trace, part of a key because the data's digest does not know it."""
    return trace_mix.attached(state.catalog(), study)


def sensitivity_of(
    selection: Selection, objective: Objective, run_id: str, asked: Asked
) -> list[sensitivity.Cell]:
    """Return the verdicts of one run or set as the limits move."""
    return state.analysed(_sensitivity, selection, objective, run_id, asked)


def strata(
    selection: Selection, objective: Objective, wanted: Stratum
) -> list[strata_analysis.StratumCell]:
    """Return the verdicts by load and class of requests."""
    return state.analysed(_strata, selection, objective, wanted)


def _envelopes(
    catalog: Catalog, selection: Selection, objective: Objective, asked: Asked
) -> list[Envelope]:
    return envelope.envelopes(catalog, acceptance.judge(catalog, selection, objective), asked)


def _load_points(
    catalog: Catalog, selection: Selection, objective: Objective
) -> list[load_curves.LoadPoint]:
    found = acceptance.judge(catalog, selection, objective)
    return load_curves.points(catalog, selection, found)


def _trades(catalog: Catalog, selection: Selection, objective: Objective) -> list[throughput.Trade]:
    found = _envelopes(catalog, selection, objective, Asked.RUN)
    return throughput.trades(catalog, selection, found)


def _observed(
    catalog: Catalog, selection: Selection, objective: Objective, asked: Asked
) -> list[limits.Observed]:
    found = _envelopes(catalog, selection, objective, asked)
    return limits.observed(catalog, selection, found)


def _review(
    catalog: Catalog,
    selection: Selection,
    objective: Objective,
    asked: Asked,
    study: Study,
    _trace: trace_mix.Attached | None,
) -> list[checklist.Line]:
    found = acceptance.judge(catalog, selection, objective)
    return checklist.checklist(
        catalog, selection, study, found, envelope.envelopes(catalog, found, asked)
    )


def _sensitivity(
    catalog: Catalog, selection: Selection, objective: Objective, run_id: str, asked: Asked
) -> list[sensitivity.Cell]:
    found = acceptance.judge(catalog, selection, objective)
    chosen = next(each for each in found if each.run.run_id == run_id)
    return sensitivity.sensitivity(catalog, selection, objective, chosen, asked)


def _strata(
    catalog: Catalog, selection: Selection, objective: Objective, wanted: Stratum
) -> list[strata_analysis.StratumCell]:
    found = acceptance.judge(catalog, selection, objective)
    return strata_analysis.strata(catalog, selection, objective, found, wanted)
