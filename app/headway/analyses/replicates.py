"""Which runs repeat one another, and which belong to one envelope?

Replicates share policy, configuration and time limit, the load, and the very requests and arrivals.
Runs of a simulator repeat themselves exactly and are never pooled; nor are copies of one
measurement, which are the same run under other bytes.
"""

from collections.abc import Hashable, Sequence
from dataclasses import fields

from headway.analyses import workload
from headway.catalog import Catalog
from headway.model import Boundary, Manifest, RunInfo

# What describes the load, and so differs between the runs of one configuration.
LOAD_FIELDS = ("arrival_process", "burst")


def configuration(run: RunInfo) -> tuple[tuple[str, str], ...]:
    """Return what a result holds for, apart from the load: name and value of every known field."""
    manifest = {
        field.name: getattr(run.manifest, field.name)
        for field in fields(Manifest)
        if field.name not in LOAD_FIELDS
    }
    known: dict[str, object] = {
        "policy": run.policy or run.label,
        **{f"policy: {name}": value for name, value in sorted(run.policy_parameters.items())},
        "boundary": run.boundary.value,
        "time limit (s)": run.time_limit_s,
        "client timeout (s)": run.client_timeout_s,
        **manifest,
    }
    return tuple((name, str(value)) for name, value in known.items() if value is not None)


def load_key(run: RunInfo) -> Hashable:
    """Return what two runs at one load share."""
    load = run.load
    return (
        load.kind,
        load.declared_rps,
        load.concurrency,
        load.arrivals,
        load.burstiness,
        load.phases,
    )


def sets(catalog: Catalog, run_ids: Sequence[str]) -> list[tuple[RunInfo, ...]]:
    """Return the runs as sets of replicates, most of them of one, in order of their first run."""
    key = ("sets", tuple(run_ids))
    return catalog.remember(key, lambda: _sets(catalog, run_ids))


def _sets(catalog: Catalog, run_ids: Sequence[str]) -> list[tuple[RunInfo, ...]]:
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
    if configuration(run) != configuration(first) or load_key(run) != load_key(first):
        return False
    return workload.match(catalog, first.run_id, run.run_id).level in workload.REPEATED
