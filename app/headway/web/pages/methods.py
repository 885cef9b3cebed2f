"""Methods: what each number means, and the query behind it."""

from functools import partial

import streamlit as st

from headway import sql
from headway.analyses.definitions import CLAIMS, DEFINITIONS, RULES
from headway.model import OUTCOME_MEANING
from headway.web import methods_parts, sections, state

st.title("Methods")
st.markdown("Every number in Headway, what it counts, and the query that computes it.")

st.header("Metrics")
for definition in DEFINITIONS.values():
    st.subheader(definition.name)
    st.markdown(f"{state.escape(definition.formula)}\n\n{state.escape(definition.counts)}")
    st.caption(f"query {definition.query}, metric `{definition.metric.value}`")

st.header("Outcomes")
st.markdown("Every offered request has exactly one; they add up to the requests offered.")
for outcome, meaning in OUTCOME_MEANING.items():
    st.markdown(f"- **{outcome.value.replace('_', ' ')}** {meaning}")

st.header("Rules of counting")
for rule in RULES:
    st.markdown(f"**{rule.name}** {state.escape(rule.text)}")

st.header("Three claims")
for claim in CLAIMS:
    st.markdown(f"**{claim.name}** {state.escape(claim.text)}")

st.header("How often is a verdict wrong?")
methods_parts.error_rates()

st.header("Queries")
st.markdown("`headway query NAME --param KEY=VALUE` runs any of them over a library.")
for name in sql.names():
    query = sql.load(name)
    title = f"{name}: {query.summary.splitlines()[0]}"
    sections.folded(title, name, partial(methods_parts.query, query))
