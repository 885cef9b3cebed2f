"""The policies that imported runs do not state: names from their files, to change and to apply."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from headway.web import state
from headway.web.workspace import Batch, Workspace

_MOST_FILES = 6


def proposals(here: Workspace, batch: Batch) -> None:
    """Propose a policy for each group of runs that states none, and apply what the reader says."""
    found = _open_proposals(batch)
    if not found:
        return
    n_runs = sum(len(each["run_ids"]) for each in found)
    st.markdown(
        f"**{n_runs} run{'s state' if n_runs != 1 else ' states'} no policy.** Runs without one "
        "are never pooled. The names of their files suggest:"
    )
    names = [_name(each, f"{batch.folder.name}-{place}") for place, each in enumerate(found)]
    if st.button("Set these policies", key=f"policies-{batch.folder.name}", type="primary"):
        with st.spinner("Setting the policies …"):
            for each, name in zip(found, names, strict=True):
                if name:
                    here.set_policy(name, each["run_ids"])
        st.rerun()


def _open_proposals(batch: Batch) -> list[Mapping[str, Any]]:
    """Return the proposals of a batch with the runs that still state no policy."""
    known = {run.run_id for run in state.catalog().runs.values() if run.policy is None}
    said = (batch.report or {}).get("proposed_policies", [])
    found = [
        each | {"run_ids": [run_id for run_id in each["run_ids"] if run_id in known]}
        for each in said
    ]
    return [each for each in found if each["run_ids"]]


def _name(proposal: Mapping[str, Any], key: str) -> str:
    """Let the reader change a name; an empty one leaves its runs as they are."""
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    name: str = left.text_input("Policy", value=proposal["policy"], key=f"policy-name-{key}")
    files = [Path(source).name for source in proposal["sources"]]
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    right.caption(
        f"{len(proposal['run_ids'])} run{'s' * (len(proposal['run_ids']) != 1)}: "
        f"{state.escape(', '.join(files[:_MOST_FILES]))}{more}"
    )
    return name.strip()
