"""Is every offered request accounted for, and over which interval?"""

from dataclasses import dataclass

import polars as pl

from headway.catalog import Catalog
from headway.model import Outcome, RunInfo, Selection, Window


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some requests of a run did not complete, in the source's words."""

    outcome: Outcome
    stated: bool
    reason: str | None
    n: int


@dataclass(frozen=True, slots=True)
class Interval:
    """The window in force for a run, and the origin its latencies count from.

    `start_us` and `end_us` are None where the run has no times: then every request counts and
    nothing has a rate.
    """

    start_us: int | None
    end_us: int | None
    origin_used: str
    n_in_window: int
    n_measured: int
    n_placed: int
    measured_rps: float | None


@dataclass(frozen=True, slots=True)
class Account:
    """Offered requests of a run in the window, by outcome.

    `balanced` is whether the rows of the whole run are as many as the run says it offered.
    """

    run_id: str
    n_offered: int
    outcomes: dict[Outcome, int]
    n_inferred: int
    balanced: bool


def accounts(catalog: Catalog, selection: Selection) -> dict[str, Account]:
    """Count the outcomes of the selected runs; a run with no request in the window counts zeros."""
    found = catalog.rows_of_each(
        "accounting/outcomes", selection.run_ids, **_ends(selection.window)
    )
    spans = intervals(catalog, selection)
    return {
        run_id: _account(rows, catalog.runs[run_id], spans.get(run_id))
        for run_id, rows in found.items()
    }


def _account(rows: pl.DataFrame, run: RunInfo, span: Interval | None) -> Account:
    counted = dict(zip(rows["outcome"], rows["n"], strict=True))
    outcomes = {outcome: counted.get(outcome.value, 0) for outcome in Outcome}
    return Account(
        run_id=run.run_id,
        n_offered=sum(outcomes.values()),
        outcomes=outcomes,
        n_inferred=int(rows["n_inferred"].sum()),
        balanced=(span.n_measured if span else 0) == run.n_offered,
    )


def pooled(found: dict[str, Account]) -> Account:
    """Add the accounts of several runs up."""
    outcomes = {o: sum(account.outcomes[o] for account in found.values()) for o in Outcome}
    return Account(
        run_id="",
        n_offered=sum(account.n_offered for account in found.values()),
        outcomes=outcomes,
        n_inferred=sum(account.n_inferred for account in found.values()),
        balanced=all(account.balanced for account in found.values()),
    )


def reasons(catalog: Catalog, selection: Selection) -> dict[str, list[Reason]]:
    """Return why requests of each selected run did not complete, most frequent first."""
    found = catalog.rows_of_each("accounting/reasons", selection.run_ids, **_ends(selection.window))
    return {
        run_id: [
            Reason(
                Outcome(row["outcome"]), row["outcome_basis"] == "stated", row["reason"], row["n"]
            )
            for row in rows.iter_rows(named=True)
        ]
        for run_id, rows in found.items()
    }


def intervals(catalog: Catalog, selection: Selection) -> dict[str, Interval]:
    """Return the window, origin and measured load of each selected run that has requests."""
    found = catalog.rows_of_each(
        "accounting/windows",
        selection.run_ids,
        **_ends(selection.window),
        origin=selection.origin.value,
    )
    return {
        run_id: Interval(**rows.row(0, named=True)) for run_id, rows in found.items() if rows.height
    }


def _ends(window: Window) -> dict[str, int | None]:
    return {"start_us": window.start_us, "end_us": window.end_us}
