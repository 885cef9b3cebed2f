"""Home: the study's question, its declared objective, and what its runs show."""

import streamlit as st

from headway.analyses import accounting, overview
from headway.model import Selection
from headway.web import home_parts, objective, parts, provenance, state

study = state.study()
runs = state.runs_of(study)
selection = Selection(tuple(run.run_id for run in runs))
limits = objective.in_force(study)
points = state.analysed(overview.points, selection, limits)
account = accounting.pooled(state.analysed(accounting.accounts, selection))

st.title(state.escape(study.title or study.name))
home_parts.question(study)
objective.header(study, limits)
home_parts.reasons_if_nothing_completed(account, selection)
judged = home_parts.verdict(selection, limits)

left, right = st.columns([3, 1], gap="large")
with left:
    home_parts.chart(points, limits, judged)
with right:
    st.subheader("Accounting")
    parts.accounting(account)

home_parts.matrix(points, limits)
left, right = st.columns(2, gap="large")
with left:
    home_parts.loaded(runs)
with right:
    home_parts.record(study)
provenance.footer()
