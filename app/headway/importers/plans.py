"""What holds for every plan of a load, whichever tool or file it comes from."""

import numpy as np
import numpy.typing as npt

MAX_WITHOUT_ROW = 1_000_000
"""The most requests a run may have offered without a row: beyond it, a number is damaged."""

_SPAN_SHARE, _SPAN_SLACK_US = 0.05, 1_000_000

Times = npt.NDArray[np.integer] | npt.NDArray[np.floating]


def is_same_pace(meant_us: Times, offered_us: Times) -> bool:
    """Say whether requests were offered at the pace they were meant to be.

    A schedule that is replayed keeps its span, within 5% and one second for what starting and
    pacing cost.

    Parameters
    ----------
    meant_us, offered_us
        Shape ``(n,)``, n of 1 or more, microseconds from any zero: when the plan had the
        requests, and when the run offered them.
    """
    span_us, took_us = np.ptp(meant_us), np.ptp(offered_us)
    return bool(abs(took_us - span_us) <= _SPAN_SHARE * span_us + _SPAN_SLACK_US)
