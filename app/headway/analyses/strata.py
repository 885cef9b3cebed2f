"""Is every class of requests served? Verdicts by load and class, each cell on its own requests."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import sql
from headway.analyses.acceptance import Judged, is_deterministic
from headway.catalog import Catalog
from headway.model import Metric, Objective, Outcome, Selection, Stratum
from headway.stats import verdicts
from headway.stats.effective import LatencyParts, effective, in_flight, latency_parts
from headway.stats.steadiness import steadiness
from headway.stats.verdicts import Claim, InRun

_OPEN = (Outcome.CUT_OFF.value, Outcome.NOT_SENT.value, Outcome.UNACCOUNTED.value)


@dataclass(frozen=True, slots=True)
class StratumCell:
    """One class of requests in one run: a verdict of its own, at its own 5%."""

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


def strata(
    catalog: Catalog,
    selection: Selection,
    objective: Objective,
    judged: Sequence[Judged],
    wanted: Stratum,
) -> list[StratumCell]:
    """Judge every class of every run on a load axis; classes of length are common to all runs."""
    cells: list[StratumCell] = []
    for each in judged:
        if each.x is not None:
            cells += _cells(catalog, selection, objective, each, wanted)
    return cells


def _cells(
    catalog: Catalog,
    selection: Selection,
    objective: Objective,
    judged: Judged,
    wanted: Stratum,
) -> list[StratumCell]:
    rows = _rows(catalog, selection, objective, judged.run.run_id, wanted)
    return [
        _cell(objective, judged, rows.filter(pl.col("stratum") == name))
        for name in rows.sort("stratum_order", "stratum")["stratum"].unique(maintain_order=True)
    ]


def _rows(
    catalog: Catalog, selection: Selection, objective: Objective, run_id: str, wanted: Stratum
) -> pl.DataFrame:
    """Return the requests of a run in order of arrival, with class, outcome and in flight."""
    bounds = {"start_us": selection.window.start_us, "end_us": selection.window.end_us}
    rows = sql.load("acceptance/requests").run(
        catalog.connection, run_id=run_id, origin=selection.origin.value, **bounds
    )
    classes = sql.load("acceptance/strata").run(
        catalog.connection,
        run_id=run_id,
        run_ids=list(selection.run_ids),
        stratum=wanted.value,
        **bounds,
    )
    within = [
        pl.col(metric.value).fill_null(0) <= limit for metric, limit in objective.limits().items()
    ]
    flying = in_flight(rows["arrival_us"].fill_null(0), rows["left_us"].fill_null(0))
    return rows.join(classes, on="request_index", maintain_order="left").with_columns(
        met=(pl.col("outcome") == Outcome.COMPLETED.value) & pl.all_horizontal(within),
        is_open=pl.col("outcome").is_in(_OPEN),
        flying=pl.Series(flying),
    )


def _cell(objective: Objective, judged: Judged, rows: pl.DataFrame) -> StratumCell:
    n_met, n_open = int(rows["met"].sum()), int(rows["is_open"].sum())
    attained = verdicts.attained(n_met, n_open, rows.height)
    known = rows["arrival_us"].null_count() == 0
    parts = [_part(rows, metric) for metric in objective.limits()] if known else []
    of_class = effective(parts, rows["met"].to_numpy()) if known else None
    n_eff = of_class.n_eff if of_class else None
    steady = steadiness(rows[Metric.TTFT.value].to_numpy() if known else None)
    target = objective.attainment
    return StratumCell(
        run_id=judged.run.run_id,
        title=judged.title,
        x=judged.x or 0.0,
        stratum=str(rows["stratum"][0]),
        order=int(rows["stratum_order"][0]),
        n_offered=rows.height,
        n_met=n_met,
        in_run=verdicts.in_run(attained, target),
        workload=verdicts.workload([attained], target, deterministic=is_deterministic(judged.run)),
        traffic=verdicts.traffic(attained, n_eff, target, steady),
        n_eff=n_eff,
    )


def _part(rows: pl.DataFrame, metric: Metric) -> LatencyParts:
    values = rows[metric.value]
    return latency_parts(
        values.fill_null(np.inf).to_numpy(),
        rows["flying"].to_numpy(),
        values.is_not_null().to_numpy(),
    )
