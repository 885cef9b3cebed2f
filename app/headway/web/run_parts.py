"""The pieces of the Runs page."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import polars as pl
import streamlit as st

from headway.analyses import (
    accounting,
    configurations,
    distribution,
    measured,
    naming,
    reconcile,
)
from headway.analyses.accounting import Reason
from headway.catalog import Catalog
from headway.figures import text
from headway.model import Metric, Outcome, RunInfo, Selection
from headway.web import links, parts, sections, state


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table of runs."""

    run_id: str
    title: str
    policy: str
    load: str
    n_offered: int
    completed: float
    others: str
    ttft: str
    stall: str
    boundary: str
    manifest: str
    started: str
    findings: int


def rows(catalog: Catalog, run_ids: tuple[str, ...]) -> list[Row]:
    """Return a line per run, in order."""
    selection = Selection(run_ids)
    spans = accounting.intervals(catalog, selection)
    accounts = accounting.accounts(catalog, selection)
    ttft = _percentiles(catalog, selection, Metric.TTFT, (0.5, 0.99))
    stall = _percentiles(catalog, selection, Metric.STALL, (0.99,))
    runs = [catalog.runs[run_id] for run_id in run_ids]
    measured = {run_id: span.measured_rps for run_id, span in spans.items()}
    policies = configurations.names_of(catalog, runs)
    titles = naming.titles(runs, measured, policies)
    return [
        Row(
            run_id=run.run_id,
            title=titles[run.run_id],
            policy=policies[run.run_id],
            load=_load(run, measured.get(run.run_id)),
            n_offered=run.n_offered,
            completed=_completed(accounts[run.run_id]),
            others=_others(accounts[run.run_id]),
            ttft=ttft[run.run_id],
            stall=stall[run.run_id],
            boundary=run.boundary.value.replace("_", " "),
            manifest=f"{run.manifest.recorded()} of {run.manifest.size()}",
            started=text.moment(run.started_at),
            findings=len(run.findings),
        )
        for run in runs
    ]


def _completed(account: accounting.Account) -> float:
    return account.outcomes[Outcome.COMPLETED] / account.n_offered if account.n_offered else 0.0


def _others(account: accounting.Account) -> str:
    lost = {o: n for o, n in account.outcomes.items() if n and o is not Outcome.COMPLETED}
    return ", ".join(f"{n} {text.outcome(outcome)}" for outcome, n in lost.items()) or "–"


def _load(run: RunInfo, measured_rps: float | None) -> str:
    """Return the declared load, and the measured rate beside it."""
    said = naming.load_text(run.load)
    return said if measured_rps is None else f"{said}, measured {text.significant(measured_rps)}"


def _percentiles(
    catalog: Catalog, selection: Selection, metric: Metric, shares: tuple[float, ...]
) -> dict[str, str]:
    found = {}
    for each in distribution.describe(catalog, selection, metric, shares):
        values = [text.percentile_value(point, each) for point in each.percentiles]
        found[each.run_id] = " / ".join(values) or text.STATUS_WORDS[each.status]
    return found


def table(found: list[Row]) -> None:
    """Show all runs; choosing a line opens the run below."""
    column = st.column_config.Column
    columns = {
        "policy": column("policy", width=150),
        "load": column("offered load", width=160),
        "n_offered": column("offered", width=62),
        "completed": st.column_config.ProgressColumn(
            "completed", format="percent", max_value=1, width=110
        ),
        "others": column("other outcomes", width=130),
        "ttft": column("TTFT p50 / p99", width=140),
        "stall": column("stall p99", width=85),
        "boundary": column("boundary", width=75),
        "manifest": column("manifest", width=75),
        "started": column("started (UTC)", width=135),
        "findings": column("findings", width=65),
    }
    frame = pl.DataFrame(
        [[getattr(row, name) for name in columns] for row in found],
        schema=list(columns),
        orient="row",
    )
    event = st.dataframe(
        frame,
        hide_index=True,
        column_config=columns,
        on_select="rerun",
        selection_mode="single-row",
        key="runs-table",
        alt="Every run with its load, outcomes and percentiles",
    )
    if event.selection.rows and event.selection.rows[0] != st.session_state.get("opened-row"):
        st.session_state["opened-row"] = event.selection.rows[0]
        st.session_state["run"] = found[event.selection.rows[0]].run_id


def check_link(found: list[Row]) -> None:
    """Stop where the address names a run that is not here, before anything is shown."""
    links.demand("run", "run", [row.title for row in found])


def choose(found: list[Row]) -> Row:
    """Choose the run to open; it is in the address."""
    by_id = {row.run_id: row for row in found}
    chosen = st.selectbox(
        "Run",
        list(by_id),
        format_func=lambda run_id: by_id[run_id].title,
        key="run",
        bind="query-params",
        help="Or choose a line of the table.",
    )
    state.note("run", by_id[chosen].title)
    return by_id[chosen]


def reasons(found: list[Reason]) -> None:
    """Show why requests did not complete, in the source's words."""
    if not found:
        return
    st.markdown("**Why requests did not complete**")
    parts.table(
        pl.DataFrame(
            {
                "requests": [text.count(each.n) for each in found],
                "outcome": [_outcome(each) for each in found],
                "reason": [state.escape(each.reason or "not recorded") for each in found],
            }
        ),
    )


def _outcome(each: Reason) -> str:
    return text.outcome(each.outcome) if each.stated else f"{text.outcome(each.outcome)} (inferred)"


def provenance(run: RunInfo) -> None:
    """Show what was measured, where the clock stood, and which file it came from."""
    facts = {
        "boundary": run.boundary.value.replace("_", " "),
        "clock": run.clock.value,
        "offered load": naming.load_text(run.load),
        "arrivals": run.load.arrivals,
        "offered counted from": run.n_offered_basis.value,
        "pairs with other runs by": run.index_basis.value.replace("_", " "),
        "tokens": run.token_basis,
        "harness": " ".join(part for part in (run.harness, run.harness_version) if part),
        "started": run.started_at,
        "source": run.source_name,
        "source sha256": f"{run.source_sha256[:16]}…",
        "run": run.run_id,
    }
    _facts(facts)


def manifest(run: RunInfo) -> None:
    """Show every field a decision needs; what no source states says so."""
    st.subheader(f"Manifest: {run.manifest.recorded()} of {run.manifest.size()} recorded")
    known = {f.name.replace("_", " "): getattr(run.manifest, f.name) for f in fields(run.manifest)}
    parameters = {f"policy: {name}": value for name, value in run.policy_parameters.items()}
    _facts({"policy": run.policy} | parameters | known)


def _facts(facts: Mapping[str, object]) -> None:
    values = [
        ":gray[not recorded]" if value is None or value == "" else state.escape(str(value))
        for value in facts.values()
    ]
    parts.table(
        pl.DataFrame({"what": [state.escape(name) for name in facts], "value": values}),
        hide_header=True,
    )


def tool(run: RunInfo) -> None:
    """Show the tool's own numbers beside ours, and one line of why they differ."""
    found = state.analysed(reconcile.reconcile, run.run_id)
    st.subheader("Our number and the tool's")
    st.markdown(state.escape(found.why))
    if not found.comparisons:
        return
    parts.table(
        pl.DataFrame(
            {
                "metric": [text.METRIC_NAMES[c.metric] for c in found.comparisons],
                "statistic": [c.statistic for c in found.comparisons],
                "the tool says": [text.duration(c.reported_ms) for c in found.comparisons],
                "recomputed on its population": [
                    f"{'✓' if c.agrees else '✗'} {text.duration(c.recomputed_ms)}"
                    for c in found.comparisons
                ],
                "over Headway's completed": [text.duration(c.ours_ms) for c in found.comparisons],
            }
        ),
    )
    definitions = dict.fromkeys(c.definition for c in found.comparisons)
    lines = "\n".join(f"- {state.escape(definition)}" for definition in definitions)
    sections.folded("How the tool defines its numbers", "tool", lambda: st.markdown(lines))


def server_state(run: RunInfo) -> None:
    """Show the peaks of the server's state, each quantity on its own line."""
    st.subheader("Server state")
    peaks = measured.row_of_each(state.catalog(), "state/peaks", [run.run_id])[run.run_id]
    if not peaks:
        st.caption("Not recorded: the source has no samples of running, waiting or cache use.")
        return
    _facts(
        {
            "most active requests": peaks["max_running"],
            "most waiting for admission": peaks["max_waiting"],
            "most paused after starting": peaks["max_paused"],
            "most tokens in one iteration": peaks["max_batch_tokens"],
            "highest cache use": text.share(peaks["max_kv_fraction"]),
            "mean cache use over time": text.share(peaks["mean_kv_fraction"]),
            "samples": peaks["n_samples"],
        }
    )
