"""In which sessions were the runs of a set made?

A session is a calendar day in UTC. Its machine has one temperature, one set of neighbours and one
build, so that its replicates speak of runs in such a session and not of other days.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from headway.model import RunInfo


@dataclass(frozen=True, slots=True)
class Session:
    """When the first and the last run of one day began, in UTC."""

    first: datetime
    last: datetime
    n_runs: int


def sessions(runs: Sequence[RunInfo]) -> tuple[Session, ...] | None:
    """Return the days on which runs were made, in order; None where one does not say when."""
    began = [began_at(run) for run in runs]
    known = sorted(each for each in began if each is not None)
    if len(known) < len(runs):
        return None
    days = dict.fromkeys(each.date() for each in known)
    by_day = [[each for each in known if each.date() == day] for day in days]
    return tuple(Session(each[0], each[-1], len(each)) for each in by_day)


def began_at(run: RunInfo) -> datetime | None:
    """Return the instant at which a run began, in UTC; None where that is not recorded."""
    if run.started_at is None:
        return None
    began = datetime.fromisoformat(run.started_at)
    return began.replace(tzinfo=UTC) if began.tzinfo is None else began.astimezone(UTC)
