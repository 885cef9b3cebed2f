"""What each side carried over one window: acceptable requests, tokens, errors, queue and cache."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.analyses import accounting, measured, rates
from headway.analyses.sides import Side
from headway.catalog import Catalog
from headway.model import Objective, Origin, Outcome, Selection, Window

_STATE = (
    ("mean_running", "requests"),
    ("mean_waiting", "requests"),
    ("max_waiting", "requests"),
    ("mean_paused", "requests"),
    ("max_paused", "requests"),
    ("mean_kv_fraction", "share"),
    ("max_kv_fraction", "share"),
    ("preemptions", "preemptions"),
    ("prefix_hit_share", "share"),
)
_RATES = (
    ("completed_rps", "req/s"),
    ("goodput_rps", "req/s"),
    ("output_tokens_per_s", "output tok/s"),
)
_OF_RATE = frozenset(name for name, _ in (*_STATE, *_RATES))


Row = dict[tuple[str, str], float | None]


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One quantity on both sides; None is not recorded.

    A side of several runs shows their mean, each run one vote. `difference` is b − a; None where
    the two may not be compared (`is_compared`) or one is unknown.
    """

    row: str
    unit: str
    a: float | None
    b: float | None
    difference: float | None
    is_compared: bool


def scorecard(
    catalog: Catalog,
    a: Side,
    b: Side,
    window: Window,
    origin: Origin,
    objective: Objective | None,
    *,
    compares_counts: bool,
    compares_met: bool,
    compares_rates: bool,
) -> tuple[ScoreRow, ...]:
    """Return the rows of the scorecard; requests and rates count over the window of arrivals.

    Outcomes that no side has are left out. Without an objective there is none to meet.
    """
    selection = Selection((*a.run_ids, *b.run_ids), window, origin=origin)
    runs = _of_runs(catalog, selection, objective)
    first, second = (_mean_of([runs[run_id] for run_id in side.run_ids]) for side in (a, b))
    found = []
    for (row, unit), value in first.items():
        other = second[row, unit]
        if row in {o.value for o in Outcome} and not value and not other:
            continue
        if row in ("met", "met_share", "goodput_rps") and objective is None:
            continue
        compared = compares_met if row.startswith("met") else compares_counts
        if row in _OF_RATE:
            compared = compares_rates and (compares_met or row != "goodput_rps")
        difference = other - value if compared and value is not None and other is not None else None
        found.append(ScoreRow(row, unit, value, other, difference, compared))
    return tuple(found)


def _of_runs(catalog: Catalog, selection: Selection, objective: Objective | None) -> dict[str, Row]:
    """Return what each run was, by name and unit of the quantity; unknown is None."""
    counted = accounting.accounts(catalog, selection)
    speeds = rates.rates(catalog, selection)
    preempted = _of_window(catalog, "accounting/preemptions", selection)
    pressures = _of_window(catalog, "state/pressure", selection)
    met = {} if objective is None else rates.attainments(catalog, selection, objective)
    return {
        run_id: {
            **_counts(counted[run_id], met.get(run_id)),
            **_speeds(speeds[run_id], met.get(run_id)),
            **_state(pressures[run_id], preempted[run_id].get("n_preemptions")),
        }
        for run_id in selection.run_ids
    }


def _mean_of(runs: Sequence[Row]) -> Row:
    """Return the mean over the runs of a side; unknown where one run does not know."""
    return {key: _mean([run[key] for run in runs]) for key in runs[0]}


def _counts(account: accounting.Account, met: rates.Attainment | None) -> Row:
    return {
        ("met", "requests"): None if met is None else met.n_met,
        ("met_share", "share"): None if met is None else met.attained,
        ("offered", "requests"): account.n_offered,
        **{(outcome.value, "requests"): n for outcome, n in account.outcomes.items()},
    }


def _speeds(found: rates.Rates, met: rates.Attainment | None) -> Row:
    known = {
        "completed_rps": found.completed_rps,
        "goodput_rps": rates.goodput_rps(met, found),
        "output_tokens_per_s": found.output_tokens_per_s,
    }
    return {(name, unit): known[name] for name, unit in _RATES}


def _of_window(
    catalog: Catalog, name: str, selection: Selection
) -> dict[str, dict[str, float | None]]:
    """Return the one row that a stored query has for each run over the window, else none."""
    window = selection.window
    return measured.row_of_each(
        catalog, name, selection.run_ids, start_us=window.start_us, end_us=window.end_us
    )


def _state(pressure: dict[str, float | None], n_preempted: float | None) -> Row:
    """Return what the server showed; its own counter of preemptions wins over the requests'."""
    known = dict(pressure)
    counted, hits = known.get("n_preemptions"), known.get("n_prefix_hits")
    looked_up = known.get("n_prefix_queries")
    known["preemptions"] = n_preempted if counted is None else counted
    known["prefix_hit_share"] = hits / looked_up if hits is not None and looked_up else None
    return {(name, unit): known.get(name) for name, unit in _STATE}


def _mean(found: Sequence[float | None]) -> float | None:
    known = [value for value in found if value is not None]
    if len(known) < len(found):
        return None
    return known[0] if len(known) == 1 else sum(known) / len(known)
