"""Whether requests were offered in a closed loop, told from when they began and ended."""

import numpy as np
import numpy.typing as npt

from headway.model import Load, LoadKind

_AT_ONCE_US = 20_000
_CLOSED_SHARE = 0.9


def infer(offered_us: npt.NDArray[np.int64], ended_us: npt.NDArray[np.int64]) -> Load:
    """Return the load that the instants speak for, where no file says how it was made.

    In a closed loop each request follows the end of another at once, and as many are open after
    it as before. Fewer than two rounds of it prove nothing and count as an open load.
    """
    offered_us, ended_us = np.sort(offered_us), np.sort(ended_us)
    n_ended = np.searchsorted(ended_us, offered_us, side="right")
    in_flight = np.arange(1, len(offered_us) + 1) - n_ended
    cap = int(in_flight.max(initial=0))
    later = n_ended > 0
    if not cap or later.sum() < 2 * cap:
        return Load(LoadKind.OPEN)
    since_us = offered_us[later] - ended_us[n_ended[later] - 1]
    at_once = (since_us <= _AT_ONCE_US) & (in_flight[later] == cap)
    is_closed = at_once.mean() >= _CLOSED_SHARE
    return Load(LoadKind.CLOSED, concurrency=cap) if is_closed else Load(LoadKind.OPEN)
