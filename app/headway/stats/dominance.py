"""Is one distribution below another everywhere, or do they cross? Described, never tested."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from headway.stats.percentiles import percentiles_of

SHARES = np.arange(5, 100) / 100


class Relation(StrEnum):
    """How B lies to A, from p5 to p99."""

    EQUAL = "equal"
    B_LOWER = "b_lower"
    B_HIGHER = "b_higher"
    CROSSES = "crosses"


@dataclass(frozen=True, slots=True)
class Dominance:
    """How B lies to A, and the percentiles (as shares) from which on the order is another.

    `begins_lower` is whether B is the lower one up to the first crossing; None where equal.
    """

    relation: Relation
    crossings: tuple[float, ...] = ()
    begins_lower: bool | None = None


def dominance(a: ArrayLike, b: ArrayLike) -> Dominance:
    """Describe B against A at every whole percentile from p5 to p99.

    Parameters
    ----------
    a, b
        Shapes (n,) and (m,), n and m ≥ 1; lost requests at +infinity. A percentile that is lost on
        one side only is higher there; where both are lost, or the same, neither is.
    """
    first, second = percentiles_of(a, SHARES), percentiles_of(b, SHARES)
    sign = (second > first).astype(int) - (second < first)
    (places,) = np.nonzero(sign)
    if len(places) == 0:
        return Dominance(Relation.EQUAL)
    turns = places[1:][np.diff(sign[places]) != 0]
    begins_lower = bool(sign[places[0]] < 0)
    if len(turns):
        return Dominance(Relation.CROSSES, tuple(float(SHARES[p]) for p in turns), begins_lower)
    return Dominance(Relation.B_LOWER if begins_lower else Relation.B_HIGHER, (), begins_lower)
