"""Distributions: TTFT, cadence and completion of the selected runs, and their worst requests."""

from dataclasses import replace

import streamlit as st

from headway.analyses import distribution
from headway.model import Basis, Metric
from headway.web import distribution_parts, objective, provenance, selection, state

study = state.study()
chosen = selection.sidebar(study)
limits = objective.in_force(study)
answer = st.container()
metric, view, stratum = distribution_parts.controls()
picked = replace(chosen.selection, stratum=stratum)
if metric is Metric.GAP and picked.basis is Basis.OFFERED:
    picked = replace(picked, basis=Basis.COMPLETED)

described = state.analysed(distribution.described_with_bounds, picked, metric)
points = state.analysed(distribution.curve, picked, metric)

with answer:
    distribution_parts.headline(chosen, picked, metric, described)
    objective.header(study, limits)
distribution_parts.chart(chosen, picked, metric, view, points, limits)
distribution_parts.percentiles(chosen, picked, metric, described)
distribution_parts.still_waiting(chosen, picked, metric)
distribution_parts.worst(chosen, picked, metric)
provenance.footer()
