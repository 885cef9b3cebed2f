"""Which runs share a configuration, and what is its name?

Runs with a stated policy share a configuration if all their recorded settings agree. Without one,
their settings may differ in ways nobody recorded, so a different label, folder, file name,
burstiness or manifest makes a different configuration. If several such runs share a load and have
no replicate number, each is its own configuration. Replicates, chart lines, envelopes, comparisons
and the policy filter all use this rule.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields

from headway import source_names
from headway.analyses import accounting
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Manifest, RunInfo, Selection
from headway.numbers import brief

NO_POLICY = "policy not recorded"
# What describes the load, and so differs between the runs of one configuration.
LOAD_FIELDS = ("arrival_process", "burst")
# Measured rates as close as this may be one load: arrivals are random.
_SAME_RATE = 0.05

Fields = tuple[tuple[str, str], ...]


def fields_of(run: RunInfo) -> Fields:
    """Return what a result holds for, apart from the load: name and value of every known field.

    Without a stated policy, where the run comes from is part of it.
    """
    manifest = {
        field.name: getattr(run.manifest, field.name)
        for field in fields(Manifest)
        if field.name not in LOAD_FIELDS
    }
    known: dict[str, object] = {
        "policy": run.policy,
        **({} if run.policy is not None else _origin(run)),
        **{f"policy: {name}": value for name, value in sorted(run.policy_parameters.items())},
        "boundary": run.boundary.value,
        "time limit (s)": run.time_limit_s,
        "client timeout (s)": run.client_timeout_s,
        **manifest,
    }
    return tuple((name, str(value)) for name, value in known.items() if value is not None)


def _origin(run: RunInfo) -> dict[str, object]:
    """Return where a run without a policy comes from; what is not said is None."""
    said = source_names.read(run.source_name, run.load.declared_rps or run.load.concurrency)
    return {
        "label": run.label,
        "folder": said.folder or None,
        "file": said.file or None,
        "burstiness": _burstiness(run.load),
        "harness": run.harness,
        "study": run.study,
    }


def _burstiness(load: Load) -> str | None:
    return None if load.burstiness in (None, 1) else f"{load.burstiness:g}"


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


def name_of(catalog: Catalog, run: RunInfo) -> str:
    """Return the run's policy, or what tells it apart from the others without one."""
    return of_study(catalog, run.study)[run.run_id]


def names_of(catalog: Catalog, runs: Iterable[RunInfo]) -> dict[str, str]:
    """Return what `name_of` says of each run, by run id."""
    return {run.run_id: name_of(catalog, run) for run in runs}


def line_of(catalog: Catalog, run: RunInfo) -> str:
    """Return the line a run belongs to on a chart over load: its name, and an early stop."""
    limit = None if run.time_limit_s is None else f"stopped at {brief(run.time_limit_s)} s"
    return ", ".join(part for part in (name_of(catalog, run), limit) if part)


def key_of(catalog: Catalog, run: RunInfo) -> Hashable:
    """Return what runs of one configuration share, and runs of no other have."""
    return name_of(catalog, run), fields_of(run)


def of_study(catalog: Catalog, study: str) -> dict[str, str]:
    """Return the name of the configuration of every run of a study, by run id."""
    return catalog.remember(("configurations", study), lambda: _of_study(catalog, study))


def _of_study(catalog: Catalog, study: str) -> dict[str, str]:
    runs = catalog.of_study(study)
    unstated = tuple(
        run.run_id for run in runs if run.policy is None and run.load.declared_rps is None
    )
    spans = accounting.intervals(catalog, Selection(unstated)) if unstated else {}
    return names(runs, {run_id: span.measured_rps for run_id, span in spans.items()})


def names(runs: Sequence[RunInfo], measured_rps: Mapping[str, float | None]) -> dict[str, str]:
    """Return the name of every run's configuration, given all runs of the study.

    `measured_rps` is needed only of runs that state neither a policy nor a load.
    """
    stated = {run.run_id: run.policy for run in runs if run.policy is not None}
    groups: dict[Fields, list[RunInfo]] = {}
    for run in runs:
        if run.policy is None:
            groups.setdefault(fields_of(run), []).append(run)
    called = _told_apart(list(groups))
    found: dict[str, str] = dict(stated)
    for known, group in groups.items():
        name = called[known]
        if name in stated.values():
            name = f"{name} ({NO_POLICY})"
        found |= _within(name, group, measured_rps)
    return found


def _told_apart(groups: Sequence[Fields]) -> dict[Fields, str]:
    """Return a name for each group of runs: its label, and the fields that other groups lack.

    An early stop is left out: it is said wherever a line is named.
    """
    known = {group: dict(group) for group in groups}
    called = {group: known[group].get("label", "") for group in groups}
    for name in dict.fromkeys(name for mine in known.values() for name in mine):
        if name in ("label", "time limit (s)"):
            continue
        for shared in [said for said, n in Counter(called.values()).items() if n > 1]:
            mine = [group for group in groups if called[group] == shared]
            if len({known[group].get(name) for group in mine}) > 1:
                called |= {group: _joined(shared, name, known[group].get(name)) for group in mine}
    return {group: said or NO_POLICY for group, said in called.items()}


def _joined(said: str, name: str, value: str | None) -> str:
    detail = "" if value is None else f"{name.removeprefix('policy: ')} {value}"
    return ", ".join(part for part in (said, detail) if part)


def _within(
    name: str, group: Sequence[RunInfo], measured_rps: Mapping[str, float | None]
) -> dict[str, str]:
    """Return one name for a group, or one for each run where several at a load could differ."""
    at_load: list[list[RunInfo]] = []
    for run in group:
        mine = next((each for each in at_load if _is_same_load(each[0], run, measured_rps)), None)
        if mine is None:
            at_load.append([run])
        else:
            mine.append(run)
    if all(_count_themselves(mine) for mine in at_load):
        return dict.fromkeys((run.run_id for run in group), name)
    prefix = "" if name == NO_POLICY else f"{name}, "
    detail = _first_unique(group, (_file, lambda run: f"run {run.run_id}"))
    return {run.run_id: f"{prefix}{detail(run)}" for run in group}


def _is_same_load(a: RunInfo, b: RunInfo, measured_rps: Mapping[str, float | None]) -> bool:
    if load_key(a) != load_key(b):
        return False
    one, other = measured_rps.get(a.run_id), measured_rps.get(b.run_id)
    is_paced = a.load.kind in (LoadKind.OPEN, LoadKind.TRACE) and a.load.declared_rps is None
    if not is_paced or one is None or other is None:
        return True
    return abs(one - other) <= _SAME_RATE * max(one, other)


def _count_themselves(runs: Sequence[RunInfo]) -> bool:
    """Tell whether runs at one load number themselves as replicates; one of them need not."""
    numbers = [_replicate(run) for run in runs]
    return len(set(numbers)) == len(runs)


def _replicate(run: RunInfo) -> str | None:
    if run.replicate is not None:
        return str(run.replicate)
    return source_names.read(run.source_name).replicate


def _file(run: RunInfo) -> str:
    return run.source_name.split("/")[-1]


def _first_unique(
    runs: Sequence[RunInfo], details: Sequence[Callable[[RunInfo], str]]
) -> Callable[[RunInfo], str]:
    """Return the first way to name runs under which no two share a name, else the last."""
    return next(
        (detail for detail in details if len({detail(run) for run in runs}) == len(runs)),
        details[-1],
    )
