"""What only shows once a run stands as a whole, beside the runs that the library has."""

import pyarrow.compute as pc

from headway.ingest.library import Library
from headway.ingest.report import measured_rps
from headway.model import Finding, Phase, Severity
from headway.numbers import brief
from headway.record import Run
from headway.stats.slip import lateness, slip

RATE_GAP = 0.05


def noticed(run: Run, shelf: Library) -> list[Finding]:
    """Return findings about a sealed run: it is a copy, its rate is off, or sends came early."""
    return [*_copies(run, shelf), *_rate_gap(run), *_sent_early(run)]


def _copies(run: Run, shelf: Library) -> list[Finding]:
    twin = shelf.same_rows(run.info)
    if twin is None:
        return []
    message = (
        f"run {twin.run_id} of study {twin.study} has the very same rows: these are copies of one "
        "measurement, not replicates"
    )
    return [Finding("same_measurement", Severity.WARNING, 1, message)]


def _sent_early(run: Run) -> list[Finding]:
    """Say how many requests were sent before their schedule, beyond what a clock may round."""
    rows = run.requests.select(["phase", "scheduled_us", "sent_us"])
    rows = rows.filter(pc.equal(rows["phase"], Phase.MEASURED.value))
    known = slip(lateness(rows["scheduled_us"].to_numpy(), rows["sent_us"].to_numpy()), None)
    if known is None or not known.n_early:
        return []
    message = (
        f"{known.n_early:,} of {known.n_known:,} requests ({known.n_early / known.n_known:.0%}) "
        f"were sent before their schedule, up to {known.max_lead_us / 1e6:,.3f} s: they count from "
        "their send, and the load was another than the schedule's"
    )
    return [Finding("sent_early", Severity.WARNING, known.n_early, message)]


def _rate_gap(run: Run) -> list[Finding]:
    declared, measured = run.info.load.declared_rps, measured_rps(run.requests)
    if declared is None or measured is None or abs(measured / declared - 1) <= RATE_GAP:
        return []
    message = (
        f"arrivals came at {brief(measured)} req/s, declared are {brief(declared)}: the load axis "
        "shows the declared rate"
    )
    return [Finding("rate_gap", Severity.WARNING, 1, message)]
