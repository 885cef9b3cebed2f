"""How often is a verdict wrong? Measured on simulated traffic and machines, for the Methods page.

The rows are written by the programs in `benchmarks/` with `--write`; docs/error-rates.md says how
they came about and what they mean.
"""

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

TOLERATED = 0.055


@dataclass(frozen=True, slots=True)
class TrafficRate:
    """Rates of one kind of traffic, run length and target at the boundary, as shares of repeats.

    `clustering` is the largest design effect of the traffic over windows of up to ten times the
    run. `false_accept_within` counts acceptances whose reach is at least that, `false_accept` all
    of them, `naive_false_accept` those of the exact bound that takes requests as independent.
    """

    traffic: str
    family: str
    n: int
    target: float
    repeats: int
    clustering: float
    attained: float
    false_accept_within: float
    false_accept: float
    false_reject: float
    naive_false_accept: float
    percentile_coverage: float | None

    @property
    def exceeds(self) -> bool:
        """Whether false accepts within reach are above 5.5% by more than two standard errors."""
        return _exceeds(self.false_accept_within, self.repeats)


@dataclass(frozen=True, slots=True)
class Power:
    """How often traffic of which 99% meets is accepted against 95%, and of which 85% is rejected.

    `accepts_spell_10` and `accepts_spell_30` are with a declared spell of so many requests.
    """

    traffic: str
    n: int
    repeats: int
    accepts: float
    rejects: float
    accepts_spell_10: float | None = None
    accepts_spell_30: float | None = None


@dataclass(frozen=True, slots=True)
class WorkloadRate:
    """How often K replicates show more than is true, where just fewer runs meet than they show."""

    machine: str
    load: float
    k: int
    sets: int
    shown: float
    false_bound: float

    @property
    def exceeds(self) -> bool:
        """Whether that is more often than 5.5% and two standard errors."""
        return _exceeds(self.false_bound, self.sets)


@dataclass(frozen=True, slots=True)
class SameRate:
    """How often two sets of one policy have any test better or worse, by order of the runs."""

    machine: str
    load: float
    k: int
    pairs: int
    interleaved: float
    blocks: float


def _exceeds(rate: float, repeats: int) -> bool:
    return rate > TOLERATED + 2 * math.sqrt(TOLERATED * (1 - TOLERATED) / repeats)


@cache
def _sections() -> dict[str, list[dict[str, Any]]]:
    path = resources.files("headway.analyses") / "error_rates.json"
    found: dict[str, list[dict[str, Any]]] = json.loads(path.read_text("utf-8"))
    return found


def traffic() -> tuple[TrafficRate, ...]:
    """Return the rates of the claim about traffic."""
    return tuple(TrafficRate(**row) for row in _sections()["traffic"])


def power() -> tuple[Power, ...]:
    """Return how often good traffic is accepted, and bad traffic rejected."""
    return tuple(Power(**row) for row in _sections()["power"])


def workload() -> tuple[WorkloadRate, ...]:
    """Return the rates of the claim about the workload."""
    return tuple(WorkloadRate(**row) for row in _sections()["workload"])


def same_policy() -> tuple[SameRate, ...]:
    """Return the rates of comparisons of a policy with itself."""
    return tuple(SameRate(**row) for row in _sections()["same_policy"])
