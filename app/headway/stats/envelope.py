"""Which offered load is acceptable? Brackets of tested loads, and curves for drawing only."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from headway.errors import MisuseError
from headway.stats.verdicts import Verdict

Floats = NDArray[np.float64]

KEEPS_UP = 0.97


@dataclass(frozen=True, slots=True)
class Point:
    """One tested load: its verdict, and the attained share where it is known.

    `load` is in requests per second, or a concurrency; one envelope has one of the two.
    """

    load: float
    verdict: Verdict
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Bracket:
    """The envelope over tested loads; nothing in it was interpolated.

    `last_accepted` is the highest accepted load with no rejected load below it, `first_rejected`
    the lowest rejected one. `undecided` lists every load without a verdict and `band` those between
    the two. `contradicted` lists accepted loads above a rejected one: they count for nothing.
    `non_monotone` says that such a load exists, or that a share rises with the load.
    """

    last_accepted: float | None
    first_rejected: float | None
    undecided: tuple[float, ...]
    band: tuple[float, ...]
    contradicted: tuple[float, ...]
    non_monotone: bool


@dataclass(frozen=True, slots=True)
class Knee:
    """Where completions stop following the offered load, in requests per second.

    `keeps_up` is the highest load that is carried, with none below it that is not; `falls_short`
    the lowest that is not; `plateau` the median completed rate from there on.
    """

    keeps_up: float | None
    falls_short: float | None
    plateau: float | None


def bracket(points: Sequence[Point]) -> Bracket:
    """Return the envelope of verdicts over load.

    Parameters
    ----------
    points
        One for each tested load, in any order. Replicates of a load are pooled before: two points
        at one load are refused.
    """
    ordered = sorted(points, key=lambda point: point.load)
    loads = [point.load for point in ordered]
    if len(set(loads)) < len(loads):
        raise MisuseError(f"found two verdicts for one load in {loads}; expected one for each load")
    rejected = _loads(ordered, Verdict.REJECTED)
    first_rejected = rejected[0] if rejected else None
    ceiling = np.inf if first_rejected is None else first_rejected
    accepted = _loads(ordered, Verdict.ACCEPTED)
    undecided = _loads(ordered, Verdict.UNDECIDED)
    last_accepted = max((load for load in accepted if load < ceiling), default=None)
    floor = -np.inf if last_accepted is None else last_accepted
    contradicted = tuple(load for load in accepted if load > ceiling)
    return Bracket(
        last_accepted,
        first_rejected,
        undecided,
        band=tuple(load for load in undecided if floor < load < ceiling),
        contradicted=contradicted,
        non_monotone=bool(contradicted) or _share_rises(ordered),
    )


def _loads(points: Sequence[Point], verdict: Verdict) -> tuple[float, ...]:
    return tuple(point.load for point in points if point.verdict is verdict)


def _share_rises(ordered: Sequence[Point]) -> bool:
    shares = [point.share for point in ordered if point.share is not None]
    return any(after > before for before, after in pairwise(shares))


def isotonic(loads: ArrayLike, shares: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Return attained shares smoothed so that they never rise with load: for drawing only.

    Parameters
    ----------
    loads
        Shape (k,), in any order.
    shares
        Shape (k,), attained share at each load.
    weights
        Shape (k,), effective requests behind each share; None weighs them equally.

    Returns
    -------
    ndarray
        Shape (k,), in the order given.

    Notes
    -----
    Least squares under monotonicity by pooling adjacent violators (Barlow and others 1972). A claim
    is never read off this curve.
    """
    order = np.argsort(np.asarray(loads, float), kind="stable")
    observed = np.asarray(shares, float)
    weight = np.ones(len(observed)) if weights is None else np.asarray(weights, float)
    fit = scipy.optimize.isotonic_regression(
        observed[order], weights=weight[order], increasing=False
    )
    smoothed = np.empty(len(observed))
    smoothed[order] = fit.x
    return smoothed


def knee(offered: ArrayLike, completed: ArrayLike) -> Knee:
    """Return the last load that is carried, the first that is not, and the plateau above.

    Parameters
    ----------
    offered
        Shape (k,), offered requests per second, in any order.
    completed
        Shape (k,), completed requests per second over the same window.

    Notes
    -----
    A load is carried if at least 97% of it is completed inside the window of arrivals.
    """
    order = np.argsort(np.asarray(offered, float), kind="stable")
    load = np.asarray(offered, float)[order]
    done = np.asarray(completed, float)[order]
    short = done < KEEPS_UP * load
    n_carried = int(np.argmax(short)) if short.any() else len(load)
    above = done[n_carried:]
    return Knee(
        keeps_up=float(load[n_carried - 1]) if n_carried else None,
        falls_short=float(load[n_carried]) if len(above) else None,
        plateau=float(np.median(above)) if len(above) else None,
    )
