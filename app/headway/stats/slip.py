"""Did the load generator keep its own schedule?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headway.stats.percentiles import Floats, nearest_rank

NOTICEABLE_US = 1000
SHARE_OF_LIMIT = 0.01
MANY_EARLY = 0.01


@dataclass(frozen=True, slots=True)
class Slip:
    """How far sends lagged behind the schedule, in microseconds.

    `late_share` is the share sent more than 1 ms late. A generator that fell `behind` makes
    latencies from the send too short, and they cannot be accepted. `n_early` of the `n_known`
    requests with schedule and send were sent more than 1 ms before their schedule, at most
    `max_lead_us`. A generator that ran `early` offered another load than the plan's, and its
    latencies cannot be accepted either.
    """

    p99_us: float
    max_us: float
    late_share: float
    behind: bool
    n_known: int
    n_early: int
    max_lead_us: float
    early: bool


def lateness(scheduled_us: ArrayLike, sent_us: ArrayLike) -> Floats:
    """Return how long after its schedule each request was sent, ascending, in microseconds.

    Parameters
    ----------
    scheduled_us, sent_us
        Shape (n,), one clock; NaN where not recorded: such a request is left out.
    """
    late = np.asarray(sent_us, float) - np.asarray(scheduled_us, float)
    return np.sort(late[~np.isnan(late)])


def slip(late: Floats, ttft_limit_us: float | None) -> Slip | None:
    """Return the slip of the requests that were sent; None where the schedule is unknown.

    Parameters
    ----------
    late
        Shape (n,), ascending: the `lateness` of the requests.
    ttft_limit_us
        Declared TTFT limit; None without one.

    Notes
    -----
    Behind: the 99th percentile exceeds 1 ms and 1% of the TTFT limit. Early: more than 1% of the
    requests were sent before their schedule by more than that. (`late_share` is for the
    reader: on any real client a few sends are a millisecond late.)
    """
    if len(late) == 0:
        return None
    p99 = float(nearest_rank(late, 0.99))
    allowed = max(NOTICEABLE_US, SHARE_OF_LIMIT * (ttft_limit_us or 0))
    share = float(np.mean(late > NOTICEABLE_US))
    n_early = int(np.sum(late < -NOTICEABLE_US))
    lead = max(0.0, -float(late[0]))
    early = float(np.mean(late < -allowed)) > MANY_EARLY
    return Slip(p99, float(late[-1]), share, p99 > allowed, len(late), n_early, lead, early)
