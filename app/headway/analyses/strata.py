"""Is every class of requests served? Verdicts by load and class, each cell on its own requests."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from headway import sql
from headway.analyses import acceptance
from headway.analyses.acceptance import Judged, is_deterministic
from headway.catalog import Catalog
from headway.model import Metric, Objective, Selection, Stratum
from headway.stats import repeats, verdicts
from headway.stats.effective import (
    Effective,
    LatencyParts,
    effective,
    in_flight,
    latency_parts,
    pool_replicates,
)
from headway.stats.reach import Pace, busiest, pace
from headway.stats.steadiness import Steadiness, steadiness, worst
from headway.stats.verdicts import Attained, Claim, InRun


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


@dataclass(frozen=True, slots=True)
class _Class:
    """One class of requests in one run."""

    n_offered: int
    n_met: int
    attained: Attained
    effective: Effective | None
    steady: Steadiness
    pace: Pace | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What all cells share."""

    selection: Selection
    objective: Objective
    stratum: Stratum


def strata(
    catalog: Catalog,
    selection: Selection,
    objective: Objective,
    judged: Sequence[Judged],
    wanted: Stratum,
) -> list[StratumCell]:
    """Judge every class of every run on a load axis; classes of length are common to all runs."""
    asked = _Asked(selection, objective, wanted)
    on_axis = [each for each in judged if each.x is not None]
    return [cell for each in on_axis for cell in _cells(catalog, asked, each)]


def _cells(catalog: Catalog, asked: _Asked, judged: Judged) -> list[StratumCell]:
    found: dict[tuple[int, str], list[_Class]] = {}
    for run in judged.runs:
        rows = _rows(catalog, asked, run.run_id)
        for key, mine in rows.group_by("stratum_order", "stratum", maintain_order=True):
            order, name = int(str(key[0])), str(key[1])
            found.setdefault((order, name), []).append(_class(asked.objective, mine))
    return [
        _cell(asked.objective, judged, order, name, found[order, name])
        for order, name in sorted(found)
    ]


def _rows(catalog: Catalog, asked: _Asked, run_id: str) -> pl.DataFrame:
    """Return the requests of the window in order of arrival: class, fate, metrics, in flight.

    What was under way before the window began is in flight inside it: the whole run comes first.
    """
    origin, limits = asked.selection.origin.value, asked.objective.limits()
    values = sql.load("acceptance/requests").run(
        catalog.connection, run_id=run_id, start_us=None, end_us=None, origin=origin
    )
    placed = values.filter(pl.col("arrival_us").is_not_null())
    flying = in_flight(placed["arrival_us"].to_numpy(), placed["left_us"].to_numpy())
    classes = sql.load("acceptance/strata").run(
        catalog.connection,
        run_id=run_id,
        run_ids=list(asked.selection.run_ids),
        start_us=asked.selection.window.start_us,
        end_us=asked.selection.window.end_us,
        stratum=asked.stratum.value,
        origin=origin,
        ttft_limit_ms=limits.get(Metric.TTFT),
        tpot_limit_ms=limits.get(Metric.TPOT),
        stall_limit_ms=limits.get(Metric.STALL),
        latency_limit_ms=limits.get(Metric.LATENCY),
    )
    known = placed.select("request_index", flying=pl.Series(flying))
    return values.join(classes, on="request_index", maintain_order="left").join(
        known, on="request_index", how="left", maintain_order="left"
    )


def _class(objective: Objective, rows: pl.DataFrame) -> _Class:
    n_met, n_open = int(rows["met"].sum()), int(rows["still_open"].sum())
    known = rows["arrival_us"].null_count() == 0
    parts = [_part(rows, metric) for metric in objective.limits()] if known else []
    return _Class(
        n_offered=rows.height,
        n_met=n_met,
        attained=verdicts.attained(n_met, n_open, rows.height),
        effective=effective(parts, rows["met"].to_numpy()) if known else None,
        steady=steadiness(rows[Metric.TTFT.value].to_numpy() if known else None),
        pace=pace(rows["arrival_us"].to_numpy()) if known else None,
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
    spell = acceptance.spell_requests(objective, busiest([c.pace for c in classes]))
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
