"""Runs: every run with its load, accounting, findings, and our numbers beside the tool's own."""

import streamlit as st

from headway.analyses import accounting
from headway.model import Selection
from headway.web import parts, provenance, run_parts, state

study = state.study()
runs = state.runs_of(study)
rows = state.analysed(run_parts.rows, tuple(run.run_id for run in runs))
run_parts.check_link(rows)

st.title("Runs")
st.caption(
    f"{len(runs)} run{'s' * (len(runs) != 1)} of {state.escape(study.title or study.name)}. "
    "Percentiles are of offered requests, nearest rank, from the scheduled arrival where known."
)
run_parts.table(rows)

chosen = run_parts.choose(rows)
run = state.catalog().runs[chosen.run_id]
selection = Selection((run.run_id,))
account = state.analysed(accounting.accounts, selection)[run.run_id]
reasons = state.analysed(accounting.reasons, selection)[run.run_id]

st.header(state.escape(chosen.title))
parts.everything_failed(account, reasons)
left, middle, right = st.columns([1.1, 1.5, 1.5], gap="large")
with left:
    st.subheader("Accounting")
    parts.accounting(account)
with middle:
    st.subheader("Findings")
    parts.findings(run.findings)
    run_parts.reasons(reasons)
with right:
    st.subheader("Provenance")
    run_parts.provenance(run)
run_parts.tool(run)
left, right = st.columns([3, 2], gap="large")
with left:
    run_parts.manifest(run)
with right:
    run_parts.server_state(run)
provenance.footer()
