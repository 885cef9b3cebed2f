"""Is every offered request accounted for, and over which interval?"""

from dataclasses import dataclass

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
    window = selection.window

    def count(missing: list[str]) -> dict[str, tuple[dict[Outcome, int], int]]:
        rows = catalog.query(
            "accounting/outcomes", run_ids=missing, start_us=window.start_us, end_us=window.end_us
        )
        found = {run_id: (dict.fromkeys(Outcome, 0), 0) for run_id in missing}
        for row in rows.iter_rows(named=True):
            outcomes, n_inferred = found[row["run_id"]]
            outcomes[Outcome(row["outcome"])] = row["n"]
            found[row["run_id"]] = outcomes, n_inferred + row["n_inferred"]
        return found

    counted = catalog.of_each("outcomes", selection.run_ids, (window,), count)
    spans = intervals(catalog, selection)
    found = {}
    for run_id, (outcomes, n_inferred) in counted.items():
        n_rows = spans[run_id].n_measured if run_id in spans else 0
        found[run_id] = Account(
            run_id=run_id,
            n_offered=sum(outcomes.values()),
            outcomes=outcomes,
            n_inferred=n_inferred,
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
    window = selection.window

    def read(missing: list[str]) -> dict[str, list[Reason]]:
        rows = catalog.query(
            "accounting/reasons", run_ids=missing, start_us=window.start_us, end_us=window.end_us
        )
        found: dict[str, list[Reason]] = {run_id: [] for run_id in missing}
        for row in rows.iter_rows(named=True):
            stated = row["outcome_basis"] == "stated"
            found[row["run_id"]].append(
                Reason(Outcome(row["outcome"]), stated, row["reason"], row["n"])
            )
        return found

    return catalog.of_each("reasons", selection.run_ids, (window,), read)


def intervals(catalog: Catalog, selection: Selection) -> dict[str, Interval]:
    """Return the window, origin and measured load of each selected run that has requests."""
    window, origin = selection.window, selection.origin

    def read(missing: list[str]) -> dict[str, Interval | None]:
        rows = catalog.query(
            "accounting/windows",
            run_ids=missing,
            start_us=window.start_us,
            end_us=window.end_us,
            origin=origin.value,
        )
        known = {row.pop("run_id"): Interval(**row) for row in rows.iter_rows(named=True)}
        return {run_id: known.get(run_id) for run_id in missing}

    found = catalog.of_each("interval", selection.run_ids, (window, origin), read)
    return {run_id: each for run_id, each in found.items() if each is not None}
