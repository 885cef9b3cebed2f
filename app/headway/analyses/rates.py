"""How much was carried, per second of one declared window, and how much of it was acceptable?"""

from dataclasses import dataclass

import polars as pl

from headway import sql
from headway.analyses.accounting import Interval, intervals
from headway.catalog import Catalog
from headway.model import Metric, Objective, Selection


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of one run over its window; None where the window is under a second or unknown.

    `tokens_of` says whether tokens count as they are delivered or when a request completes.
    """

    run_id: str
    window_s: float | None = None
    n_completed: int | None = None
    completed_rps: float | None = None
    tokens_of: str | None = None
    output_tokens_per_s: float | None = None
    input_tokens_per_s: float | None = None

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
    unknown.
    """

    run_id: str
    n_offered: int
    n_met: int
    n_no_cadence: int
    n_open: int
    blocks: tuple[tuple[int, int], ...]

    @property
    def attained(self) -> float:
        """Share of offered requests that met the objective, all open ones missed."""
        return self.n_met / self.n_offered

    @property
    def attainable(self) -> float:
        """Share of offered requests that met the objective, all open ones met."""
        return (self.n_met + self.n_open) / self.n_offered


def rates(catalog: Catalog, selection: Selection) -> dict[str, Rates]:
    """Return the rates of every selected run."""
    spans = intervals(catalog, selection)
    return {run_id: _of_run(catalog, run_id, spans.get(run_id)) for run_id in selection.run_ids}


def attainments(
    catalog: Catalog, selection: Selection, objective: Objective
) -> dict[str, Attainment]:
    """Count, for every selected run, the offered requests that met all declared limits."""
    limits = objective.limits()
    rows = sql.load("acceptance/blocks").run(
        catalog.connection,
        run_ids=list(selection.run_ids),
        start_us=selection.window.start_us,
        end_us=selection.window.end_us,
        origin=selection.origin.value,
        ttft_limit_ms=limits.get(Metric.TTFT),
        tpot_limit_ms=limits.get(Metric.TPOT),
        stall_limit_ms=limits.get(Metric.STALL),
        latency_limit_ms=limits.get(Metric.LATENCY),
    )
    return {
        run_id: _attainment(run_id, mine)
        for (run_id,), mine in rows.group_by("run_id", maintain_order=True)
        if isinstance(run_id, str)
    }


def _attainment(run_id: str, rows: pl.DataFrame) -> Attainment:
    placed = rows.filter(pl.col("block").is_not_null())
    return Attainment(
        run_id=run_id,
        n_offered=int(rows["n_offered"].sum()),
        n_met=int(rows["n_met"].sum()),
        n_no_cadence=int(rows["n_no_cadence"].sum()),
        n_open=int(rows["n_open"].sum()),
        blocks=tuple(zip(placed["n_offered"], placed["n_met"], strict=True)),
    )


def goodput_rps(attainment: Attainment | None, rate: Rates) -> float | None:
    """Return requests of the window that met the objective ÷ the window's length in seconds."""
    if attainment is None or rate.window_s is None or rate.completed_rps is None:
        return None
    return attainment.n_met / rate.window_s


def _of_run(catalog: Catalog, run_id: str, interval: Interval | None) -> Rates:
    if interval is None or interval.start_us is None or interval.end_us is None:
        return Rates(run_id)
    rows = sql.load("rates/throughput").run(
        catalog.connection, run_id=run_id, start_us=interval.start_us, end_us=interval.end_us
    )
    row = rows.drop("n_output_tokens", "n_input_tokens").row(0, named=True)
    return Rates(**row)
