"""How much was carried, per second of one declared window, and how much of it was acceptable?"""

from dataclasses import dataclass

import polars as pl

from headway.analyses import correlation
from headway.catalog import Catalog
from headway.model import Metric, Objective, Selection
from headway.stats.attainment import Sheet, Spells, count


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of one run over its window; None where the window is under a second or unknown.

    `tokens_of` says whether tokens count as they are delivered or when a request completes.
    `n_without_instant` completed requests are in no rate, for it is unknown when they completed.
    """

    run_id: str
    window_s: float | None = None
    n_completed: int | None = None
    completed_rps: float | None = None
    tokens_of: str | None = None
    output_tokens_per_s: float | None = None
    input_tokens_per_s: float | None = None
    n_without_instant: int | None = None

    @property
    def total_tokens_per_s(self) -> float | None:
        """Input and output tokens together, per second."""
        if self.output_tokens_per_s is None or self.input_tokens_per_s is None:
            return None
        return self.output_tokens_per_s + self.input_tokens_per_s


@dataclass(frozen=True, slots=True)
class Attainment:
    """Offered requests of a run that met an objective: a fact of this run, not a verdict.

    `n_open` requests were open and past no limit when the run ended; they bound the share from
    above. `blocks` are (offered, met) of the ten tenths by arrival, fewer where arrivals are
    unknown. `past` counts requests past each limit, `n_unmeasured` completed ones that lack a
    value with a limit, `n_lost` those that ended without completing, and `n_placed` those whose
    arrival is known.
    """

    run_id: str
    n_offered: int
    n_met: int
    n_no_cadence: int
    n_open: int
    blocks: tuple[tuple[int, int], ...]
    past: dict[Metric, int]
    n_unmeasured: int
    n_lost: int
    n_placed: int
    spells: Spells | None

    @property
    def attained(self) -> float:
        """Share of offered requests that met the objective, all open ones missed."""
        return self.n_met / self.n_offered


def rates(catalog: Catalog, selection: Selection) -> dict[str, Rates]:
    """Return the rates of every selected run."""
    found = catalog.rows_of_each(
        "rates/throughput",
        selection.run_ids,
        start_us=selection.window.start_us,
        end_us=selection.window.end_us,
    )
    return {run_id: _rates(run_id, rows) for run_id, rows in found.items()}


def _rates(run_id: str, rows: pl.DataFrame) -> Rates:
    if rows.is_empty():
        return Rates(run_id)
    return Rates(run_id, **rows.drop("n_output_tokens", "n_input_tokens").row(0, named=True))


def attainments(
    catalog: Catalog, selection: Selection, objective: Objective
) -> dict[str, Attainment]:
    """Count, for every selected run, the offered requests that met all declared limits.

    Counted on numbers that stay in memory (the query acceptance/requests), because a reader moves
    the limits.
    """

    def compute(missing: list[str]) -> dict[str, Attainment | None]:
        found = correlation.sheets(catalog, missing, selection.window, selection.origin)
        return {
            run_id: attainment(run_id, on, objective) if on.n else None
            for run_id, on in found.items()
        }

    asked = (selection.window, selection.origin, tuple(objective.limits().items()))
    counted = catalog.of_each("attainment", selection.run_ids, asked, compute)
    return {run_id: each for run_id, each in counted.items() if each is not None}


def attainment(run_id: str, on: Sheet, objective: Objective) -> Attainment:
    """Count the offered requests of one run that met all declared limits."""
    counts = count(on, objective.limits())
    return Attainment(
        run_id=run_id,
        n_offered=on.n,
        n_met=counts.n_met,
        n_no_cadence=counts.n_no_cadence,
        n_open=counts.n_open,
        blocks=counts.by_block,
        past=counts.past,
        n_unmeasured=counts.n_unmeasured,
        n_lost=counts.n_lost,
        n_placed=on.n_placed,
        spells=counts.spells,
    )


def goodput_rps(attained: Attainment | None, rate: Rates) -> float | None:
    """Return requests of the window that met the objective ÷ the window's length in seconds."""
    if attained is None or rate.window_s is None or rate.completed_rps is None:
        return None
    return attained.n_met / rate.window_s
