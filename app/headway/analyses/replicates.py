"""Which runs repeat one another?

Replicates share a stated policy, configuration and time limit, the load, and the very requests and
arrivals. Runs of a simulator repeat themselves exactly and are never pooled; nor are copies of one
measurement, which are the same run under other bytes.
"""

from collections.abc import Sequence

from headway.analyses import configurations, workload
from headway.catalog import Catalog
from headway.model import Boundary, RunInfo


def sets(catalog: Catalog, run_ids: Sequence[str]) -> list[tuple[RunInfo, ...]]:
    """Return the runs as sets of replicates, most of them of one, in order of their first run."""
    key = ("sets", tuple(run_ids))
    return catalog.remember(key, lambda: _sets(catalog, run_ids))


def _sets(catalog: Catalog, run_ids: Sequence[str]) -> list[tuple[RunInfo, ...]]:
    workload.plans(catalog, run_ids)  # in one query, before pairs are compared
    found: list[list[RunInfo]] = []
    for run_id in run_ids:
        run = catalog.runs[run_id]
        mine = next((group for group in found if _repeats(catalog, group, run)), None)
        if mine is None:
            found.append([run])
        else:
            mine.append(run)
    return [tuple(group) for group in found]


def _repeats(catalog: Catalog, group: Sequence[RunInfo], run: RunInfo) -> bool:
    first = group[0]
    if run.study != first.study:
        return False
    if None in (run.policy, first.policy) or Boundary.SIMULATOR in (run.boundary, first.boundary):
        return False
    if any(run.rows_sha256 == other.rows_sha256 for other in group):
        return False
    if configurations.key_of(catalog, run) != configurations.key_of(catalog, first):
        return False
    if configurations.load_key(run) != configurations.load_key(first):
        return False
    return workload.match(catalog, first.run_id, run.run_id).level in workload.REPEATED
