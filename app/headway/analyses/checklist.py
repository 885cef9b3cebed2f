"""What an acceptance decision needs, and what this study has or lacks of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headway.analyses import accounting, measured, trace_mix
from headway.analyses.acceptance import Judged, is_deterministic
from headway.analyses.envelope import Envelope
from headway.analyses.trace_mix import Quantity, TraceMix, Unread
from headway.catalog import Catalog
from headway.model import Manifest, Outcome, RunInfo, Selection
from headway.stats.repeats import runs_needed
from headway.stats.steadiness import Steadiness
from headway.studies import Study

# Below this spread (standard deviation ÷ mean) every request is as good as alike.
HOMOGENEOUS = 0.1

_MEDIANS = {
    Quantity.PROMPT: ("prompt", ",.0f", " tokens"),
    Quantity.OUTPUT: ("output", ",.0f", " tokens"),
    Quantity.GAP: ("time between arrivals", ".2f", " of its mean"),
}


class State(StrEnum):
    """How one line of the review stands."""

    PASSES = "passes"
    FAILS = "fails"
    NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Line:
    """One thing a review asks for, how it stands, what was found, and the page that shows it."""

    name: str
    state: State
    found: str
    page: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the lines are judged on."""

    study: Study
    runs: tuple[RunInfo, ...]
    judged: tuple[Judged, ...]
    envelopes: tuple[Envelope, ...]
    mix: tuple[dict[str, float | None], ...]
    n_unaccounted: int
    balanced: bool
    trace: TraceMix | Unread | None


def checklist(
    catalog: Catalog,
    selection: Selection,
    study: Study,
    judged: Sequence[Judged],
    envelopes: Sequence[Envelope],
) -> list[Line]:
    """Return the review of a study, one line for each thing that a decision rests on."""
    counted = accounting.accounts(catalog, selection)
    mix = measured.row_of_each(catalog, "workload/mix", selection.run_ids)
    attached = trace_mix.attached(catalog, study)
    evidence = Evidence(
        study=study,
        runs=tuple(catalog.runs[run_id] for run_id in selection.run_ids),
        judged=tuple(judged),
        envelopes=tuple(envelopes),
        mix=tuple(mix[run_id] for run_id in sorted(mix) if mix[run_id]),
        n_unaccounted=sum(each.outcomes[Outcome.UNACCOUNTED] for each in counted.values()),
        balanced=all(each.balanced for each in counted.values()),
        trace=None if attached is None else trace_mix.compare(catalog, selection, attached),
    )
    return [line(evidence) for line in _LINES]


def _line(name: str, state: State | bool, found: str, page: str = "envelope") -> Line:
    if isinstance(state, bool):
        state = State.PASSES if state else State.FAILS
    return Line(name, state, found, page)


def _declared(on: Evidence) -> Line:
    name = "objectives declared before the first run"
    if on.study.objective is None:
        return _line(name, False, "no objective is declared", "home")
    started = sorted(run.started_at for run in on.runs if run.started_at)
    if on.study.declared_at is None or not started:
        missing = "date of declaration" if started else "start of the runs"
        return _line(name, State.NOT_RECORDED, f"{missing} not recorded", "home")
    before = on.study.declared_at <= started[0]
    found = f"declared {on.study.declared_at}, first run {started[0]}"
    return _line(name, before, found, "home")


def _manifest(on: Evidence) -> Line:
    least = min(run.manifest.recorded() for run in on.runs)
    found = f"{least} of {Manifest.size()} fields in the least described run"
    return _line("every manifest field", least == Manifest.size(), found, "runs")


def _prefixes(on: Evidence) -> Line:
    name = "cold and warm-prefix requests"
    grouped = _sum(on, "n_in_groups")
    if not grouped:
        return _line(name, State.NOT_RECORDED, "no prefix groups recorded", "distributions")
    eligible, hits = _sum(on, "n_eligible"), _sum(on, "n_hits")
    found = f"{grouped - eligible:,} cold, {eligible:,} eligible, {hits:,} hits"
    return _line(name, 0 < eligible < grouped, found, "distributions")


def _burst(on: Evidence) -> Line:
    name = "a burst that exceeds steady demand"
    if _sum(on, "n_burst"):
        return _line(name, True, f"{_sum(on, 'n_burst'):,} requests in bursts", "distributions")
    bursty = [run for run in on.runs if (run.load.burstiness or 1) < 1]
    if bursty:
        return _line(name, True, f"{len(bursty)} runs with bursty arrivals", "runs")
    known = _sum(on, "n_segmented") or any(run.load.burstiness for run in on.runs)
    state = State.FAILS if known else State.NOT_RECORDED
    return _line(name, state, "no segment or burstiness names one", "runs")


def _both_sides(on: Evidence) -> Line:
    open_ended = [
        each.line
        for each in on.envelopes
        if each.bracket.last_accepted is not None and each.bracket.first_rejected is None
    ]
    bounded = [each for each in on.envelopes if each.bracket.last_accepted is not None]
    found = (
        f"no rejected load for {', '.join(open_ended)}"
        if open_ended
        else f"{len(bounded)} of {len(on.envelopes)} configurations have an accepted load"
    )
    return _line("loads on both sides of the limit", bool(bounded) and not open_ended, found)


def _replicates(on: Evidence) -> Line:
    name = "enough replicates, or a deterministic simulator"
    if all(is_deterministic(run) for run in on.runs):
        return _line(name, True, "a deterministic simulator: one run is the answer")
    asked = [
        (len(each.runs), runs_needed(each.repeats.asked)) for each in on.judged if each.repeats
    ]
    few = sum(n_runs < needed for n_runs, needed in asked)
    needed = max((needed for _, needed in asked), default=0)
    found = f"{few} of {len(on.judged)} loads have fewer than the {needed} that show enough"
    return _line(name, few == 0, found)


def _steady(on: Evidence) -> Line:
    counts = {state: sum(each.steady is state for each in on.judged) for state in Steadiness}
    found = ", ".join(f"{n} {state.value.replace('_', ' ')}" for state, n in counts.items() if n)
    if counts[Steadiness.UNKNOWN] == len(on.judged):
        return _line("steady runs", State.NOT_RECORDED, found)
    return _line("steady runs", counts[Steadiness.NOT_STEADY] == 0, found)


def _slip(on: Evidence) -> Line:
    name = "the load generator kept its schedule"
    known = [each for each in on.judged if each.slip is not None]
    if not known:
        return _line(name, State.NOT_RECORDED, "client slip unknown: no scheduled times")
    behind = [each.title for each in known if each.is_behind]
    found = (
        f"behind in {', '.join(behind)}" if behind else f"kept in {len(known)} of {len(on.judged)}"
    )
    return _line(name, not behind, found)


def _boundary(on: Evidence) -> Line:
    kinds = dict.fromkeys((run.boundary.value, run.clock.value) for run in on.runs)
    found = "; ".join(f"{boundary}, {clock} clock" for boundary, clock in kinds)
    return _line("one boundary, named", len(kinds) == 1, found, "runs")


def _interval(on: Evidence) -> Line:
    limits = {run.time_limit_s for run in on.runs}
    found = (
        "arrivals of each run, first to last"
        if len(limits) == 1
        else "some runs were stopped early: their arrivals end elsewhere"
    )
    return _line("the same interval for all", len(limits) == 1, found, "distributions")


def _accounted(on: Evidence) -> Line:
    if not on.balanced:
        return _line("requests accounted for", False, "rows and offered differ", "runs")
    found = f"{on.n_unaccounted:,} unaccounted" if on.n_unaccounted else "all"
    return _line("requests accounted for", on.n_unaccounted == 0, found, "runs")


def _varied(on: Evidence) -> Line:
    name = "not a homogeneous test"
    words = {
        "prompt_spread": "prompt lengths",
        "output_spread": "output lengths",
        "arrival_spread": "arrivals",
    }
    known = {key: [mix[key] for mix in on.mix if mix[key] is not None] for key in words}
    if not any(known.values()):
        return _line(name, State.NOT_RECORDED, "lengths and arrivals not recorded", "runs")
    alike = [
        words[key]
        for key, spreads in known.items()
        if spreads and min(spread for spread in spreads if spread is not None) < HOMOGENEOUS
    ]
    found = f"near-constant {', '.join(alike)}" if alike else "lengths and arrivals vary"
    return _line(name, not alike, found, "runs")


def _like_customer(on: Evidence) -> Line:
    name = "like the customer's traffic"
    if on.trace is None:
        return _line(name, State.NOT_RECORDED, "no trace is attached")
    if isinstance(on.trace, Unread):
        return _line(name, State.NOT_RECORDED, on.trace.why)
    near = {each.quantity: each.is_near for each in on.trace.compared}
    found = "; ".join([*map(_medians, on.trace.compared), _beyond(on.trace)])
    if False in near.values() or (on.trace.beyond or 0) > trace_mix.MOST_BEYOND:
        return _line(name, False, found)
    lengths = near[Quantity.PROMPT] and near[Quantity.OUTPUT]
    return _line(name, True if lengths else State.NOT_RECORDED, found)


def _medians(each: trace_mix.Compared) -> str:
    quantity, form, unit = _MEDIANS[each.quantity]
    if each.study is None or each.trace is None:
        side = "study" if each.study is None else "trace"
        return f"{quantity} not recorded in the {side}"
    if each.is_near is None:
        return f"{quantity} not compared: most of the trace's are 0, its clock is too coarse"
    apart = "" if each.is_near else f", more than a factor {trace_mix.NEAR:g} apart"
    trace, study = (format(side.median, form) for side in (each.trace, each.study))
    return f"median {quantity} {trace} in the trace, {study}{unit} in the study{apart}"


def _beyond(mix: TraceMix) -> str:
    if mix.beyond is None:
        return "longest prompt of the study not recorded"
    most = trace_mix.MOST_BEYOND
    over = f", more than {most:.0%}" if mix.beyond > most else ""
    return f"{mix.beyond:.1%} of the trace's prompts longer than the study's longest{over}"


def _sum(on: Evidence, key: str) -> int:
    return int(sum(mix[key] or 0 for mix in on.mix))


_LINES: tuple[Callable[[Evidence], Line], ...] = (
    _declared,
    _manifest,
    _both_sides,
    _replicates,
    _steady,
    _slip,
    _boundary,
    _interval,
    _accounted,
    _prefixes,
    _burst,
    _varied,
    _like_customer,
)
