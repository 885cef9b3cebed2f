"""Is it the same workload? Fingerprints of what was planned, and how alike two plans are."""

from headway import sql
from headway.catalog import Catalog
from headway.stats import fingerprint
from headway.stats.fingerprint import Fingerprint, Level, Match, Plan

REPEATED = (Level.IDENTICAL, Level.ARRIVALS_WITHIN_TOLERANCE)


def plan_of(catalog: Catalog, run_id: str) -> Plan:
    """Return the planned workload of a run; what no source recorded is named in it."""
    return catalog.remember(("plan", run_id), lambda: _plan(catalog, run_id))


def fingerprint_of(catalog: Catalog, run_id: str) -> Fingerprint:
    """Return the hashes of a run's planned workload."""
    key = ("fingerprint", run_id)
    return catalog.remember(key, lambda: fingerprint.fingerprint(plan_of(catalog, run_id)))


def match(catalog: Catalog, a: str, b: str) -> Match:
    """Return how alike the planned workloads of two runs are."""
    return fingerprint.compare(plan_of(catalog, a), plan_of(catalog, b))


def _plan(catalog: Catalog, run_id: str) -> Plan:
    rows = sql.load("workload/plan").run(catalog.connection, run_id=run_id)
    columns = {
        name: rows[name].fill_null(fingerprint.NONE).to_numpy()
        for name in ("arrival_us", "prompt_tokens", "requested_output_tokens", "prefix_group")
    }
    return fingerprint.plan(rows["request_index"].to_numpy(), **columns)
