"""Is every offered request accounted for, and over which interval?"""

from dataclasses import dataclass

from headway import sql
from headway.catalog import Catalog
from headway.model import Outcome, Selection


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
    rows = sql.load("accounting/outcomes").run(
        catalog.connection,
        run_ids=list(selection.run_ids),
        start_us=selection.window.start_us,
        end_us=selection.window.end_us,
    )
    spans = intervals(catalog, selection)
    found = {}
    for run_id in selection.run_ids:
        mine = rows.filter(rows["run_id"] == run_id)
        outcomes = dict.fromkeys(Outcome, 0)
        outcomes |= {Outcome(r["outcome"]): r["n"] for r in mine.iter_rows(named=True)}
        n_rows = spans[run_id].n_measured if run_id in spans else 0
        found[run_id] = Account(
            run_id=run_id,
            n_offered=sum(outcomes.values()),
            outcomes=outcomes,
            n_inferred=int(mine["n_inferred"].sum()),
            balanced=n_rows == catalog.runs[run_id].n_offered,
        )
    return found


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
    rows = sql.load("accounting/reasons").run(
        catalog.connection,
        run_ids=list(selection.run_ids),
        start_us=selection.window.start_us,
        end_us=selection.window.end_us,
    )
    found: dict[str, list[Reason]] = {run_id: [] for run_id in selection.run_ids}
    for row in rows.iter_rows(named=True):
        stated = row["outcome_basis"] == "stated"
        found[row["run_id"]].append(
            Reason(Outcome(row["outcome"]), stated, row["reason"], row["n"])
        )
    return found


def intervals(catalog: Catalog, selection: Selection) -> dict[str, Interval]:
    """Return the window, origin and measured load of each selected run that has requests."""
    rows = sql.load("accounting/windows").run(
        catalog.connection,
        run_ids=list(selection.run_ids),
        start_us=selection.window.start_us,
        end_us=selection.window.end_us,
        origin=selection.origin.value,
    )
    return {row.pop("run_id"): Interval(**row) for row in rows.iter_rows(named=True)}
