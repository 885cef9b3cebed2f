"""In which order were the runs of two sides made? A drift of the machine could pass for policy."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise

_ROUNDING = 1e-9


class Order(StrEnum):
    """How the runs of two sides follow one another in time.

    Only interleaved runs tell a policy from a machine that drifts.
    """

    INTERLEAVED = "interleaved"
    BLOCKS = "blocks"
    UNKNOWN = "unknown"


def sequence(a: Sequence[tuple[float, float]], b: Sequence[tuple[float, float]]) -> str | None:
    """Return the order of runs as letters, such as "ABBA"; None where it is not known.

    Parameters
    ----------
    a, b
        Start and end of every run of each side, on one clock.

    Returns
    -------
    str or None
        None where two runs start at one instant or overlap, or a side has no run.
    """
    if not a or not b:
        return None
    runs = sorted([(*run, "A") for run in a] + [(*run, "B") for run in b])
    for (start, end, _), (following, _, _) in pairwise(runs):
        if following <= start or following < end:
            return None
    return "".join(side for *_, side in runs)


def order(letters: str | None) -> Order:
    """Tell whether a sequence of runs is interleaved.

    Notes
    -----
    Interleaved: the shares of their runs that the two sides have behind them never differ by more
    than one run of the smaller side. With equal numbers, neither side is ever more than one run
    ahead: 8 of the 20 orders of 3 and 3 runs, 32 of the 252 of 5 and 5. More than twice as many
    runs on one side are blocks, whatever their order. docs/error-rates.md has the false verdicts of
    each order on a machine that drifts.
    """
    if letters is None:
        return Order.UNKNOWN
    n_a, n_b = letters.count("A"), letters.count("B")
    smaller, larger = sorted((n_a, n_b))
    if larger > 2 * smaller:
        return Order.BLOCKS
    done = {"A": 0, "B": 0}
    for side in letters:
        done[side] += 1
        if abs(done["A"] / n_a - done["B"] / n_b) > 1 / smaller + _ROUNDING:
            return Order.BLOCKS
    return Order.INTERLEAVED


def plan(n_a: int, n_b: int) -> str:
    """Return an interleaved order in which to make so many runs of each side.

    Sides take turns at going first, as in ABBAABBA, so that a steady drift cancels. Where one side
    has more than twice as many runs, the other is given as many.
    """
    if max(n_a, n_b) > 2 * min(n_a, n_b):
        n_a = n_b = max(n_a, n_b)
    letters = ""
    last_first = "B"
    while len(letters) < n_a + n_b:
        behind_a, behind_b = letters.count("A") / n_a, letters.count("B") / n_b
        if abs(behind_a - behind_b) < _ROUNDING:
            last_first = "A" if last_first == "B" else "B"
            letters += last_first
        else:
            letters += "A" if behind_a < behind_b else "B"
    return letters
