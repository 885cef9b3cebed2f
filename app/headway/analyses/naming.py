"""How runs are called on screen: policy, load, and what else tells them apart."""

from collections.abc import Iterable, Mapping

from headway.model import Load, LoadKind, RunInfo
from headway.numbers import brief


def load_text(load: Load, measured_rps: float | None = None) -> str:
    """Return the offered load with its unit; a measured rate says that it is one."""
    if load.kind is LoadKind.CLOSED:
        return f"{load.concurrency} concurrent"
    if load.kind is LoadKind.UNLIMITED:
        return "unlimited load"
    cap = f", {load.concurrency} concurrent at most" if load.concurrency else ""
    if load.declared_rps is not None:
        return f"{brief(load.declared_rps)} req/s{cap}"
    if measured_rps is not None:
        return f"{brief(measured_rps)} req/s measured{cap}"
    return f"load not recorded{cap}"


def axis_of(run: RunInfo, measured_rps: float | None) -> float | None:
    """Return where a run stands on its load axis; None for a run that stands off the axes.

    Closed loops stand on an axis of concurrency, which is never mixed with offered rates.
    """
    if run.load.kind is LoadKind.CLOSED:
        return run.load.concurrency
    if run.load.kind is LoadKind.UNLIMITED:
        return None
    return run.load.declared_rps if run.load.declared_rps is not None else measured_rps


def titles(
    runs: Iterable[RunInfo],
    measured_rps: Mapping[str, float | None],
    policies: Mapping[str, str],
) -> dict[str, str]:
    """Return a different name for every run, as short as the runs allow.

    Policy and load come first; `policies` is what `configurations` calls each run. Arrivals, an
    early stop, the replicate, the label, the source and finally the run id are added only where
    they tell apart runs that would share a name.
    """
    known = list(runs)
    names = {
        run.run_id: " · ".join(
            (policies[run.run_id], load_text(run.load, measured_rps.get(run.run_id)))
        )
        for run in known
    }
    for detail in (_arrivals, _limit, _stopped_early, _replicate, _label, _source, _run_id):
        for group in _sharing(names):
            more = {run.run_id: detail(run) for run in known if run.run_id in group}
            if len(set(more.values())) > 1:
                names |= {key: f"{names[key]} · {text}" for key, text in more.items() if text}
    return names


def without_common_load(
    runs: Iterable[RunInfo], names: Mapping[str, str], measured_rps: Mapping[str, float | None]
) -> tuple[str | None, dict[str, str]]:
    """Return the load that all runs share, if they do, and their names without it."""
    loads = {load_text(run.load, measured_rps.get(run.run_id)) for run in runs}
    if len(loads) != 1:
        return None, dict(names)
    load = loads.pop()
    return load, {key: name.replace(f" · {load}", "", 1) for key, name in names.items()}


def _sharing(names: Mapping[str, str]) -> list[set[str]]:
    """Return the groups of runs that still share a name."""
    groups: dict[str, set[str]] = {}
    for run_id, name in names.items():
        groups.setdefault(name, set()).add(run_id)
    return [group for group in groups.values() if len(group) > 1]


def _arrivals(run: RunInfo) -> str | None:
    if run.load.burstiness is not None and run.load.burstiness != 1:
        return f"burstiness {brief(run.load.burstiness)}"
    return None


def _limit(run: RunInfo) -> str | None:
    return None if run.time_limit_s is None else f"stopped at {brief(run.time_limit_s)} s"


def _stopped_early(run: RunInfo) -> str | None:
    crashed = any(finding.code == "run_crashed" for finding in run.findings)
    return f"stopped early, {run.n_offered} offered" if crashed else None


def _replicate(run: RunInfo) -> str | None:
    return None if run.replicate is None else f"replicate {run.replicate}"


def _label(run: RunInfo) -> str | None:
    return run.label


def _source(run: RunInfo) -> str:
    """Return the folder of the source file, which people name after what they ran."""
    *folders, file = run.source_name.split("/")
    return folders[-1] if folders else file


def _run_id(run: RunInfo) -> str:
    return run.run_id
