"""What commands and notebooks are asked becomes what analyses take: runs, windows, limits, values.

Both ask the same way, so that both get the same numbers and the same refusals.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headway import sql
from headway.analyses.sides import Side
from headway.catalog import Catalog
from headway.errors import MisuseError
from headway.model import Objective, Window

# What an objective demands beside its limits. Given alone, each changes the declared objective.
DEMANDS = ("attainment", "repeats", "spell_s")
_UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000}
_LARGEST_US = 2**62  # far beyond any run, and sums of two still fit the database's integers


def parse_window(text: str) -> Window:
    """Read A..B: each end a number with s, ms or us; an open end is the run's own.

    An end without a unit takes the other end's, else seconds.

    Raises
    ------
    MisuseError
        The text is not A..B, or the window is empty.
    """
    start, dots, end = text.partition("..")
    unit = _unit(start) or _unit(end) or "s"
    try:
        if not dots:
            raise ValueError(text)
        window = Window(_instant_us(start, unit), _instant_us(end, unit))
    except (ValueError, OverflowError) as error:
        raise MisuseError(f"window {text!r}; expected A..B, for example 0..60s") from error
    if None not in (window.start_us, window.end_us) and window.start_us >= window.end_us:  # type: ignore[operator]
        raise MisuseError(f"window {text!r} is empty; expected its start before its end")
    return window


def _unit(text: str) -> str | None:
    return next((unit for unit in ("us", "ms", "s") if text.strip().endswith(unit)), None)


def _instant_us(text: str, default_unit: str) -> int | None:
    bare = text.strip()
    if not bare:
        return None
    unit = _unit(bare)
    number = bare.removesuffix(unit) if unit else bare
    instant_us = round(float(number) * _UNITS_US[unit or default_unit])
    if abs(instant_us) >= _LARGEST_US:
        raise OverflowError(text)
    return instant_us


def study_of(opened: Catalog, study: str) -> str:
    """Return the name of a study that the library has.

    Raises
    ------
    MisuseError
        It has no such study.
    """
    if study not in opened.studies:
        known = ", ".join(sorted(opened.studies)) or "none"
        raise MisuseError(f"there is no study {study!r} in the library; there are: {known}")
    return study


def chosen_runs(opened: Catalog, run_ids: Sequence[str], study: str | None) -> tuple[str, ...]:
    """Return the runs named, each once, that belong to the study; all that are not restricted.

    Raises
    ------
    MisuseError
        There is no such run or study, or none of the runs belongs to the study.
    """
    named = dict.fromkeys(opened.run(run_id).run_id for run_id in run_ids)
    studies = sorted(opened.studies) if study is None else [study_of(opened, study)]
    if not named:
        return tuple(run.run_id for each in studies for run in opened.of_study(each))
    kept = tuple(run_id for run_id in named if opened.runs[run_id].study in studies)
    if not kept:
        theirs = ", ".join(f"{run_id} of {opened.runs[run_id].study!r}" for run_id in named)
        raise MisuseError(f"no run named belongs to the study {study!r}; found {theirs}")
    return kept


def given_limits(given: Mapping[str, float | None]) -> dict[str, float]:
    """Return the limits that were given, without the shares and the spell."""
    return {
        name: value for name, value in given.items() if value is not None and name not in DEMANDS
    }


def checked(objective: Objective) -> Objective:
    """Return an objective that can be judged.

    Raises
    ------
    MisuseError
        A limit is not above 0, there is none, there are two on cadence, or the share is no share.
    """
    limits = objective.limits()
    for metric, limit in limits.items():
        if not (limit > 0 and math.isfinite(limit)):
            raise MisuseError(f"{metric.value} = {limit:g}; expected milliseconds above 0")
    if not limits:
        raise MisuseError("the objective has no limit; expected at least one, such as --ttft-ms")
    if objective.tpot_ms is not None and objective.stall_ms is not None:
        raise MisuseError(
            "found a limit on the mean time per output token and one on the longest stall; "
            "expected one cadence limit: --tpot-ms or --stall-ms"
        )
    if not 0 < objective.attainment < 1:
        raise MisuseError(
            f"attainment {objective.attainment:g}; expected a share between 0 and 1, such as 0.95"
        )
    if not 0 < objective.repeats < 1:
        raise MisuseError(
            f"repeats {objective.repeats:g}; expected a share of runs between 0 and 1, such as 0.5"
        )
    if objective.spell_s is not None and not 0 < objective.spell_s < math.inf:
        raise MisuseError(f"spell_s {objective.spell_s:g}; expected seconds above 0")
    return objective


def study_asked(
    opened: Catalog, study: str | None, limits: Mapping[str, float | None]
) -> str | None:
    """Return the study asked for, or the only one; several are judged together by given limits."""
    if study is not None:
        return study_of(opened, study)
    if len(opened.studies) == 1:
        return next(iter(opened.studies))
    if opened.studies and not given_limits(limits):
        names = ", ".join(sorted(opened.studies))
        raise MisuseError(
            f"the library has several studies, each with an objective of its own: {names}; "
            "name one with --study, or give limits such as --ttft-ms 2000"
        )
    return None


def declared_by(opened: Catalog, study: str | None) -> Objective | None:
    """Return the objective that a study declares, if one is meant and it declares any."""
    return None if study is None else opened.studies[study].objective


def objective_asked(given: Mapping[str, float | None], declared: Objective | None) -> Objective:
    """Return the limits given, else those declared; each share and the spell likewise."""
    limits = given_limits(given)
    demands: dict[str, Any] = {name: given[name] for name in DEMANDS if given.get(name) is not None}
    if not limits and declared is None:
        raise MisuseError(
            "no objective: the study declares none in its study.toml; add one there, or give "
            "limits, such as --ttft-ms 2000 --stall-ms 100 --attainment 0.95"
        )
    if declared is None or limits:
        kept = {} if declared is None else {name: getattr(declared, name) for name in DEMANDS}
        declared = Objective(**(kept | limits))
    return checked(replace(declared, **demands))


def objective_between(
    opened: Catalog, of: Sequence[Side], given: Mapping[str, float | None]
) -> Objective | None:
    """Return the limits given, else the one objective that the studies of the sides declare."""
    limits = given_limits(given)
    if limits:
        return checked(Objective(**limits))
    declared = {opened.studies[side.run.study].objective for side in of} - {None}
    return declared.pop() if len(declared) == 1 else None


def query_values(
    opened: Catalog, stored: sql.Query, said: Mapping[str, object]
) -> dict[str, object]:
    """Return the values of a stored query's parameters, with what may be left out filled in.

    Raises
    ------
    MisuseError
        A parameter that must be given is missing.
    """
    values = dict(said)
    for field in stored.params:
        if field.name in values:
            continue
        if field.name != "run_ids" and "NULL" not in field.meaning:
            raise MisuseError(f"missing --param {field.name}=…: {field.meaning}")
        values[field.name] = sorted(opened.runs) if field.name == "run_ids" else None
    return values
