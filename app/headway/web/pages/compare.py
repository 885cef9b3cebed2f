"""Compare: two sides on one workload, who gains, who pays, and what else changed."""

import streamlit as st

from headway.web import compare_parts, run_order, state

study = state.study()
question = compare_parts.ask(study)
found = compare_parts.compared(question)

compare_parts.answer(found)
left, right = st.columns([2, 3], gap="large")
with left:
    compare_parts.transitions(found)
with right:
    compare_parts.shifts(found)
compare_parts.cell(found)
compare_parts.classes(found)
left, right = st.columns([1, 1], gap="large")
with left:
    compare_parts.scorecard(found)
with right:
    compare_parts.changed(found)
compare_parts.tests(found)
run_order.table(found)
compare_parts.requests(found)
state.provenance("comparison/pairs", "workload/plan", "distribution/ecdf")
