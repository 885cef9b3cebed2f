"""What only shows once a run stands as a whole, beside the runs that the library has."""

from headway.ingest.library import Library
from headway.ingest.report import measured_rps
from headway.model import Finding, Severity
from headway.record import Run

RATE_GAP = 0.05


def noticed(run: Run, shelf: Library) -> list[Finding]:
    """Return findings about a sealed run: it is a copy of another, or its rate is off."""
    return [*_copies(run, shelf), *_rate_gap(run)]


def _copies(run: Run, shelf: Library) -> list[Finding]:
    twin = shelf.same_rows(run.info)
    if twin is None:
        return []
    message = (
        f"run {twin.run_id} of study {twin.study} has the very same rows: these are copies of one "
        "measurement, not replicates"
    )
    return [Finding("same_measurement", Severity.WARNING, 1, message)]


def _rate_gap(run: Run) -> list[Finding]:
    declared, measured = run.info.load.declared_rps, measured_rps(run.requests)
    if declared is None or measured is None or abs(measured / declared - 1) <= RATE_GAP:
        return []
    message = (
        f"arrivals came at {measured:.3g} req/s, declared are {declared:.3g}: the load axis shows "
        "the declared rate"
    )
    return [Finding("rate_gap", Severity.WARNING, 1, message)]
