"""What was observed at the edge: the last accepted and the first rejected load, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.analyses import accounting, measured, rates
from headway.analyses.acceptance import Judged
from headway.analyses.envelope import Envelope
from headway.catalog import Catalog
from headway.model import Outcome, Selection

_LOST = tuple(outcome for outcome in Outcome if outcome is not Outcome.COMPLETED)


@dataclass(frozen=True, slots=True)
class Observed:
    """One run at the edge of an envelope; None is not recorded, each quantity on its own.

    `first_lost` is the outcome of the first request, by arrival, that did not complete.
    """

    line: str
    edge: str
    judged: Judged
    max_in_flight: int | None
    max_waiting: int | None
    max_paused: int | None
    max_kv_fraction: float | None
    n_preemptions: int | None
    completed_rps: float | None
    output_tokens_per_s: float | None
    lost_share: float
    first_lost: Outcome | None


def observed(catalog: Catalog, selection: Selection, found: Sequence[Envelope]) -> list[Observed]:
    """Describe the last accepted and the first rejected load of every envelope that has them."""
    edges = [
        (each.line, edge, judged)
        for each in found
        for edge, load in (
            ("last accepted", each.bracket.last_accepted),
            ("first rejected", each.bracket.first_rejected),
        )
        for judged in each.at(load)
    ]
    run_ids = tuple(judged.run.run_id for _, _, judged in edges)
    chosen = Selection(run_ids, selection.window, origin=selection.origin)
    peaks = measured.row_of_each(catalog, "state/peaks", run_ids)
    flying = measured.row_of_each(catalog, "state/in_flight", run_ids)
    speeds = rates.rates(catalog, chosen)
    counted = accounting.accounts(catalog, chosen)
    lost = measured.row_of_each(catalog, "accounting/first_lost", run_ids)
    return [
        _observed(line, edge, judged, peaks, flying, speeds, counted, lost)
        for line, edge, judged in edges
    ]


def _observed(
    line: str,
    edge: str,
    judged: Judged,
    peaks: dict[str, dict[str, Any]],
    flying: dict[str, dict[str, Any]],
    speeds: dict[str, rates.Rates],
    counted: dict[str, accounting.Account],
    lost: dict[str, dict[str, Any]],
) -> Observed:
    run_id = judged.run.run_id
    state, flight = peaks.get(run_id, {}), flying.get(run_id, {})
    account = counted[run_id]
    n_lost = sum(account.outcomes[outcome] for outcome in _LOST)
    first = lost.get(run_id, {}).get("outcome")
    return Observed(
        line=line,
        edge=edge,
        judged=judged,
        max_in_flight=_whole(flight.get("max_in_flight")),
        max_waiting=_whole(state.get("max_waiting")),
        max_paused=_whole(state.get("max_paused")),
        max_kv_fraction=_real(state.get("max_kv_fraction")),
        n_preemptions=_either(state.get("n_preemptions"), flight.get("n_preemptions")),
        completed_rps=speeds[run_id].completed_rps,
        output_tokens_per_s=speeds[run_id].output_tokens_per_s,
        lost_share=n_lost / account.n_offered if account.n_offered else 0.0,
        first_lost=Outcome(str(first)) if first else None,
    )


def _either(counted: object, of_requests: object) -> int | None:
    """Return the server's own count, else the sum over the requests."""
    return _whole(of_requests if counted is None else counted)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _real(value: object) -> float | None:
    return value if isinstance(value, float) else None
