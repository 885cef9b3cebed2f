"""Is every class of requests served? Verdicts by load and class, each cell on its own requests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headway.analyses import acceptance, correlation, measured, traffic_claim
from headway.analyses.acceptance import Judged, is_deterministic
from headway.catalog import Catalog, by_run
from headway.model import Metric, Objective, Selection, Stratum, Window
from headway.stats import repeats, verdicts
from headway.stats.attainment import Sheet, met, still_open
from headway.stats.effective import (
    Booleans,
    Effective,
    LatencyParts,
    effective,
    latency_parts,
    pool_replicates,
)
from headway.stats.reach import Pace, busiest, pace
from headway.stats.steadiness import Steadiness, steadiness, worst
from headway.stats.verdicts import Attained, Claim, InRun

Places = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class StratumCell:
    """One class of requests in one run or set of replicates: a verdict of its own, at its own 5%.

    `run_id` is the first run's; counts are sums over the set.
    """

    run_id: str
    title: str
    x: float
    stratum: str
    order: int
    n_offered: int
    n_met: int
    in_run: InRun
    workload: Claim
    traffic: Claim
    n_eff: float | None


@dataclass(frozen=True, slots=True, eq=False)
class _Members:
    """The requests of one class in one run, whatever the limits are.

    `places` are theirs in the run's sheet. `parts` is empty and `pace` None where an arrival is
    not known.
    """

    order: int
    stratum: str
    places: Places
    parts: dict[Metric, LatencyParts]
    steady: Steadiness
    pace: Pace | None


@dataclass(frozen=True, slots=True)
class _Class:
    """One class of requests in one run against an objective."""

    n_offered: int
    n_met: int
    attained: Attained
    effective: Effective | None
    steady: Steadiness
    pace: Pace | None


def strata(
    catalog: Catalog,
    selection: Selection,
    objective: Objective,
    judged: Sequence[Judged],
    wanted: Stratum,
) -> list[StratumCell]:
    """Judge every class of every run on a load axis; classes of length are common to all runs."""
    on_axis = [each for each in judged if each.x is not None]
    run_ids = [run.run_id for each in on_axis for run in each.runs]
    members = _members(catalog, selection, run_ids, wanted, tuple(objective.limits()))
    sheets = correlation.sheets(catalog, run_ids, selection.window, selection.origin)
    classes = {run_id: _classes(objective, sheets[run_id], members[run_id]) for run_id in run_ids}
    return [cell for each in on_axis for cell in _cells(objective, each, classes)]


def _cells(
    objective: Objective, judged: Judged, classes: dict[str, dict[tuple[int, str], _Class]]
) -> list[StratumCell]:
    found: dict[tuple[int, str], list[_Class]] = {}
    for run in judged.runs:
        for key, each in classes[run.run_id].items():
            found.setdefault(key, []).append(each)
    return [
        _cell(objective, judged, order, name, found[order, name]) for order, name in sorted(found)
    ]


def _members(
    catalog: Catalog,
    selection: Selection,
    run_ids: Sequence[str],
    wanted: Stratum,
    metrics: tuple[Metric, ...],
) -> dict[str, list[_Members]]:
    """Return the classes of each run, remembered: they do not depend on where the limits are."""
    window, origin = selection.window, selection.origin

    def compute() -> dict[str, list[_Members]]:
        rows = catalog.query(
            "acceptance/strata",
            run_ids=list(selection.run_ids),
            start_us=window.start_us,
            end_us=window.end_us,
            stratum=wanted.value,
        )
        named = by_run(rows, run_ids)
        requests = measured.requests(catalog, run_ids, origin)
        placed = correlation.placed(catalog, run_ids, origin)
        return {
            run_id: _members_of(requests[run_id], placed[run_id], named[run_id], window, metrics)
            for run_id in run_ids
        }

    key = ("classes", selection.run_ids, tuple(run_ids), window, origin, wanted, metrics)
    return catalog.remember(key, compute)


def _members_of(
    requests: pl.DataFrame,
    placed: pl.DataFrame,
    named: pl.DataFrame,
    window: Window,
    metrics: Sequence[Metric],
) -> list[_Members]:
    """Return the classes of one run."""
    rows = (
        measured.inside(requests, window)
        .with_row_index("at")
        .join(named, on="request_index", maintain_order="left")
        .join(
            placed.select("request_index", "flying"),
            on="request_index",
            how="left",
            maintain_order="left",
        )
    )
    return [
        _class_of(int(str(key[0])), str(key[1]), mine, metrics)
        for key, mine in rows.group_by("stratum_order", "stratum", maintain_order=True)
    ]


def _class_of(order: int, stratum: str, rows: pl.DataFrame, metrics: Sequence[Metric]) -> _Members:
    known = rows["arrival_us"].null_count() == 0
    return _Members(
        order=order,
        stratum=stratum,
        places=rows["at"].to_numpy(),
        parts={metric: _part(rows, metric) for metric in metrics} if known else {},
        steady=steadiness(rows[Metric.TTFT.value].to_numpy() if known else None),
        pace=pace(rows["arrival_us"].to_numpy()) if known else None,
    )


def _classes(
    objective: Objective, on: Sheet, members: Sequence[_Members]
) -> dict[tuple[int, str], _Class]:
    limits = objective.limits()
    all_met, waiting = met(on, limits), still_open(on, limits)
    return {
        (each.order, each.stratum): _class(each, all_met[each.places], waiting[each.places], limits)
        for each in members
    }


def _class(
    members: _Members, did_meet: Booleans, waiting: Booleans, limits: Iterable[Metric]
) -> _Class:
    n, n_met = len(did_meet), int(np.count_nonzero(did_meet))
    parts = [members.parts[metric] for metric in limits if metric in members.parts]
    return _Class(
        n_offered=n,
        n_met=n_met,
        attained=verdicts.attained(n_met, int(np.count_nonzero(waiting)), n),
        effective=effective(parts, did_meet) if members.parts else None,
        steady=members.steady,
        pace=members.pace,
    )


def _cell(
    objective: Objective, judged: Judged, order: int, name: str, classes: Sequence[_Class]
) -> StratumCell:
    target = objective.attainment
    per_run = [each.attained for each in classes]
    known = [each.effective for each in classes if each.effective is not None]
    pooled = pool_replicates(known) if len(known) == len(classes) else None
    steady = worst([each.steady for each in classes])
    repeated = (
        None
        if is_deterministic(judged.run)
        else repeats.repeats(per_run, target, objective.repeats)
    )
    workload = acceptance.workload_claim(per_run, target, repeated)
    mean = verdicts.mean_attained(per_run)
    spell = traffic_claim.spell_requests(objective, busiest([c.pace for c in classes]))
    traffic = verdicts.traffic(mean, pooled, target, steady, spell)
    return StratumCell(
        run_id=judged.run.run_id,
        title=judged.title,
        x=judged.x or 0.0,
        stratum=name,
        order=order,
        n_offered=sum(each.n_offered for each in classes),
        n_met=sum(each.n_met for each in classes),
        in_run=acceptance.worst_in_run([verdicts.in_run(each, target) for each in per_run]),
        workload=acceptance.withheld(workload, judged.slip),
        traffic=acceptance.withheld(traffic, judged.slip),
        n_eff=pooled.n_eff if pooled else None,
    )


def _part(rows: pl.DataFrame, metric: Metric) -> LatencyParts:
    values = rows[metric.value]
    return latency_parts(
        values.fill_null(0).to_numpy(), rows["flying"].to_numpy(), values.is_not_null().to_numpy()
    )
