"""Is it the same workload? Fingerprints of what was planned, and how alike two plans are."""

from collections.abc import Iterable

import polars as pl

from headway.catalog import Catalog, by_run
from headway.stats import fingerprint
from headway.stats.fingerprint import Fingerprint, Level, Match, Plan

REPEATED = (Level.IDENTICAL, Level.ARRIVALS_WITHIN_TOLERANCE)


def plans(catalog: Catalog, run_ids: Iterable[str]) -> dict[str, Plan]:
    """Return the planned workload of each run; what no source recorded is named in it."""

    def read(missing: list[str]) -> dict[str, Plan]:
        rows = catalog.query("workload/plan", run_ids=missing)
        return {run_id: _plan(mine) for run_id, mine in by_run(rows, missing).items()}

    return catalog.of_each("plan", run_ids, (), read)


def fingerprints(catalog: Catalog, run_ids: Iterable[str]) -> dict[str, Fingerprint]:
    """Return the hashes of the planned workload of each run."""

    def compute(missing: list[str]) -> dict[str, Fingerprint]:
        found = plans(catalog, missing)
        return {run_id: fingerprint.fingerprint(plan) for run_id, plan in found.items()}

    return catalog.of_each("fingerprint", run_ids, (), compute)


def match(catalog: Catalog, a: str, b: str) -> Match:
    """Return how alike the planned workloads of two runs are."""

    def compute() -> Match:
        found = plans(catalog, (a, b))
        return fingerprint.compare(found[a], found[b])

    return catalog.remember(("match", a, b), compute)


def _plan(rows: pl.DataFrame) -> Plan:
    columns = {
        name: rows[name].fill_null(fingerprint.NONE).to_numpy()
        for name in ("arrival_us", "prompt_tokens", "requested_output_tokens", "prefix_group")
    }
    return fingerprint.plan(rows["request_index"].to_numpy(), **columns)
