"""Import: bring result files, see what was recognised and what was not, map what is a table."""

import streamlit as st

from headway.web import import_parts, mapping_parts, policy_parts, workspace

here = workspace.open_workspace()

st.title("Import")
st.markdown(import_parts.PROMISE)
import_parts.bring(here)
import_parts.under_way(here)
for batch in reversed(here.batches):
    import_parts.outcome(batch)
    policy_parts.proposals(here, batch)
    mapping_parts.editor(here, batch)
import_parts.kept(here)
