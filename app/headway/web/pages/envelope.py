"""Envelope: up to which load is each configuration acceptable, and on what evidence?"""

from functools import partial

import streamlit as st

from headway.model import Selection
from headway.web import (
    envelope_parts,
    evidence_parts,
    judging,
    objective,
    provenance,
    sections,
    state,
)

study = state.study()
runs = envelope_parts.choose(state.runs_of(study))
answer = st.container()
edited = objective.editor(study, lambda: envelope_parts.title_in(answer, study))
selection = Selection(tuple(run.run_id for run in runs))
judged = judging.judged(selection, edited.objective)
evidence_parts.check_link(judged)
found = judging.envelopes(selection, edited.objective, edited.asked)

envelope_parts.title_in(answer, study)
with answer:
    objective.header(study, edited.objective)
    envelope_parts.sentences(found, edited.asked)
envelope_parts.strips(found, selection, edited)
envelope_parts.throughput(selection, edited)
envelope_parts.table(judged, edited)
envelope_parts.other_cadence(judged, selection, edited)
envelope_parts.along_load(selection, edited)
evidence_parts.limits(selection, edited)
evidence_parts.holds_for(found)
evidence_parts.unresolved(study)
evidence_parts.review(selection, edited, study)
evidence_parts.traffic(selection, study)
sections.folded(
    "How close is the call?",
    "sensitivity",
    partial(evidence_parts.sensitivity, judged, selection, edited),
)
sections.folded(
    "By class of request", "strata", partial(evidence_parts.by_class, selection, edited)
)
provenance.footer()
