"""How much was carried, per second of one declared window, and how much of it was acceptable?"""

from dataclasses import dataclass

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
    """Offered requests of a run that met an objective: a fact of this run, not a verdict."""

    run_id: str
    n_offered: int
    n_met: int
    n_no_cadence: int
    attained: float


def rates(catalog: Catalog, selection: Selection) -> dict[str, Rates]:
    """Return the rates of every selected run."""
    spans = intervals(catalog, selection)
    return {run_id: _of_run(catalog, run_id, spans.get(run_id)) for run_id in selection.run_ids}


def attainments(
    catalog: Catalog, selection: Selection, objective: Objective
) -> dict[str, Attainment]:
    """Count, for every selected run, the offered requests that met all declared limits."""
    limits = objective.limits()
    rows = sql.load("acceptance/attainment").run(
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
    return {row["run_id"]: Attainment(**row) for row in rows.iter_rows(named=True)}


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
