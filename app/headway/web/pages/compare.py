"""Compare: two sides on one workload, who gains, who pays, and what else changed."""

from functools import partial

import streamlit as st

from headway.web import (
    compare_parts,
    compare_tables,
    objective,
    provenance,
    run_order,
    sections,
    state,
)

study = state.study()
limits = objective.in_force(study)
question = compare_parts.ask(study, limits)
found = compare_parts.compared(question)

compare_parts.answer(found, study)
left, right = st.columns([2, 3], gap="large")
with left:
    compare_parts.transitions(found)
with right:
    compare_parts.shifts(found)
compare_parts.cell(found)
sections.alone(partial(compare_parts.classes, found))
left, right = st.columns([1, 1], gap="large")
with left:
    compare_tables.scorecard(found)
with right:
    compare_tables.changed(found)
compare_tables.tests(found)
run_order.table(found)
sections.alone(partial(compare_parts.requests, found))
provenance.footer()
