"""Limits on the command line: the options, and what they must be."""

import math
from collections.abc import Callable

import click

from headway.errors import MisuseError
from headway.model import Objective

_LIMITS = {
    "--ttft-ms": "Largest acceptable TTFT.",
    "--tpot-ms": "Largest acceptable mean time per output token.",
    "--stall-ms": "Longest acceptable stall; instead of --tpot-ms.",
    "--latency-ms": "Largest acceptable completion latency.",
}


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the four limits an objective can have, in milliseconds."""
    for name, meaning in reversed(_LIMITS.items()):
        command = click.option(name, type=float, help=meaning)(command)
    return command


def given_limits(given: dict[str, float | None]) -> dict[str, float]:
    """Return the limits that were given, without the share."""
    return {
        name: value for name, value in given.items() if value is not None and name != "attainment"
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
    return objective
