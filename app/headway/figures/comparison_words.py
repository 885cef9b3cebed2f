"""A comparison in words: the trade in one sentence, what it rests on, and what it may claim."""

from collections.abc import Sequence

from headway.analyses.changes import TIME_LIMIT, Kind, Value
from headway.analyses.changes import Change as FieldChange
from headway.analyses.classes import Balance, Split
from headway.analyses.comparability import Part
from headway.analyses.comparison import Claimed, Comparison
from headway.analyses.pairs import Discordant, Paired, Success
from headway.analyses.replicated import NoiseFloor
from headway.analyses.shift import Change, MetricShift, ShiftPoint
from headway.analyses.sides import Side
from headway.figures import replicated_words, text
from headway.figures.comparison_reasons import apart, reason
from headway.figures.comparison_reasons import reasons as reasons
from headway.model import Metric, Outcome
from headway.stats.comparison import MIN_RUNS
from headway.stats.dominance import Dominance, Relation
from headway.stats.fingerprint import Component, Level

LEVELS = {
    Level.IDENTICAL: "same workload",
    Level.ARRIVALS_WITHIN_TOLERANCE: "same workload, arrivals within tolerance",
    Level.SAME_REQUESTS: "same requests, other arrivals",
    Level.PARTIAL: "partly the same requests",
    Level.DIFFERENT: "different requests",
}
_SAME_ARRIVALS = (Level.IDENTICAL, Level.ARRIVALS_WITHIN_TOLERANCE)
BALANCES = {Balance.WINS: "wins", Balance.PAYS: "pays", Balance.EVEN: "even"}
SPLITS = {
    Split.PROMPT_LENGTH: "prompt length",
    Split.OUTPUT_LENGTH: "output length",
    Split.PREFIX: "prefix",
    Split.SEGMENT: "segment of the load",
    Split.TURN: "turn in the session",
    Split.ARRIVAL: "tenth by arrival",
}
ROWS = {
    "met": "met the objective",
    "met_share": "share that met the objective",
    "completed_rps": "completed per second",
    "goodput_rps": "acceptable per second",
    "output_tokens_per_s": "output tokens per second",
    "mean_running": "active, mean",
    "mean_waiting": "waiting for admission, mean",
    "max_waiting": "waiting for admission, most",
    "mean_paused": "paused after a start, mean",
    "max_paused": "paused after a start, most",
    "mean_kv_fraction": "cache in use, mean",
    "max_kv_fraction": "cache in use, most",
    "preemptions": "preemptions",
    "prefix_hit_share": "prompt tokens found in the cache",
}
_HEADLINES = {
    Metric.STALL: (0.5, "median longest stall"),
    Metric.TPOT: (0.5, "median time per output token"),
    Metric.LATENCY: (0.99, "completion p99"),
}
_UNCHANGED = 0.005
_MOST_FIELDS = 6


def sentence(found: Comparison) -> str:
    """Return the trade in one sentence, or why there is none: numbers only, lost requests first."""
    if found.is_same_run:
        return f"{names(found)}: the same run on both sides, every difference is zero."
    if not found.is_comparable:
        why = next(each for each in found.reasons if each.forbids)
        return f"{names(found)}: not comparable, {reason(why, found)}."
    outcomes = _outcomes(found)
    if Part.HEADLINE not in found.allowed:
        why = next(each for each in found.reasons if Part.HEADLINE in each.forbids)
        parts = [outcomes, f"no latency headline, {reason(why, found)}"]
    else:
        gains, pays, same = _trade(found)
        if outcomes:
            outcomes += ", the lost counting as the slowest"
        met = replicated_words.met(found)
        parts = [met, outcomes, ", ".join(gains), ", ".join(pays), ", ".join(same)]
    return f"{names(found)}: {'; '.join(part for part in parts if part)}."


def names(found: Comparison) -> str:
    """Return both sides by what tells them apart, and the load they share."""
    a, b = found.question.a, found.question.b
    if a.load_text != b.load_text:
        return f"{a.title} → {b.title}"
    if a.line == b.line:
        return f"{a.line} ({a.run.run_id}) → {b.line} ({b.run.run_id}), {a.load_text}"
    return f"{a.line} → {b.line}, {a.load_text}"


def _outcomes(found: Comparison) -> str:
    """Return how many complete on each side, where that differs, and what became of the others."""
    a, b = found.accounts
    completed = a.outcomes[Outcome.COMPLETED], b.outcomes[Outcome.COMPLETED]
    if completed[0] * b.n_offered == completed[1] * a.n_offered:
        return ""
    lost = [
        f"{n:,} {text.outcome(outcome)}"
        for outcome, n in b.outcomes.items()
        if n and outcome is not Outcome.COMPLETED
    ]
    tail = f" ({text.listed(lost)})" if lost else ""
    return (
        f"completed {completed[0]:,} of {a.n_offered:,} → {completed[1]:,} of {b.n_offered:,}{tail}"
    )


def _trade(found: Comparison) -> tuple[list[str], list[str], list[str]]:
    """Return what gains, what pays and what stays, each in the order of the metrics."""
    said: tuple[list[str], list[str], list[str]] = ([], [], [])
    stall = found.shift(Metric.STALL)
    cadence = Metric.STALL if stall is not None and stall.is_measured else Metric.TPOT
    for metric in (cadence, Metric.LATENCY):
        each = found.shift(metric)
        if each is not None and each.is_measured:
            share, noun = _HEADLINES[metric]
            point = each.at(share)
            said[_way(point)].append(f"{noun} {moved(point)}")
    first = found.shift(Metric.TTFT)
    if first is not None and first.is_measured:
        place, words = _first_token(first, found)
        said[place].append(words)
    return said


def _way(point: ShiftPoint) -> int:
    """Return 0 for a gain, 1 for a loss, 2 for neither."""
    if point.change is Change.MEASURED:
        if point.relative is None:
            return 2 if not point.delta_ms else int(point.delta_ms > 0)
        return 2 if abs(point.relative) < _UNCHANGED else int(point.relative > 0)
    return {Change.GAINED: 0, Change.LOST: 1, Change.NEITHER: 2}[point.change]


def moved(point: ShiftPoint) -> str:
    """Return the change of a percentile; one that only one side reaches is a word, no number."""
    if point.change is Change.MEASURED:
        if point.relative is None:
            return f"{sign(point.delta_ms or 0)}{text.duration(abs(point.delta_ms or 0))}"
        return "unchanged" if abs(point.relative) < _UNCHANGED else percent(point.relative)
    return {
        Change.LOST: "lost (not reached in B)",
        Change.GAINED: "gained (not reached in A)",
        Change.NEITHER: "reached on neither side",
    }[point.change]


def _first_token(each: MetricShift, found: Comparison) -> tuple[int, str]:
    """Return how many wait longer or shorter for their first token, and what its tail does."""
    point = each.at(0.99)
    if each.paired is None or each.paired.n == each.paired.n_same:
        return _way(point), f"TTFT p99 {moved(point)}"
    place, counted = _counted(each.paired)
    every = _every_class(found, place)
    if _way(point) == 1 - place:
        return place, f"{' '.join(filter(None, (counted, every)))}, yet its p99 {moved(point)}"
    return place, ", ".join(filter(None, (counted, f"p99 {moved(point)}", every)))


def _counted(of: Paired) -> tuple[int, str]:
    if of.n_worse >= of.n_better:
        if of.n_lost == of.n_worse:
            return 1, f"{of.n_lost:,} of {of.n:,} never get their first token"
        never = " or never get it" if of.n_lost else ""
        return 1, f"{of.n_worse:,} of {of.n:,} wait longer for their first token{never}"
    return 0, f"{of.n_better:,} of {of.n:,} wait shorter for their first token"


def _every_class(found: Comparison, place: int) -> str:
    """Return whether the first token goes one way in every class of prompt length."""
    rows = [
        row
        for row in found.classes
        if row.split is Split.PROMPT_LENGTH and row.metric is Metric.TTFT
    ]
    wanted = Balance.PAYS if place else Balance.WINS
    if not rows or any(row.balance is not wanted for row in rows):
        return ""
    return f"in every prompt-length {'quartile' if len(rows) == 4 else 'class'}"


def percent(relative: float) -> str:
    """Return a relative change with its sign, a true minus for less."""
    size = abs(relative)
    shown = f"{size:.1%}" if size < 0.0995 and f"{size:.0%}" in ("0%", "1%") else f"{size:.0%}"
    return f"{sign(relative)}{shown}"


def sign(value: float) -> str:
    """Return + or a true minus."""
    return "−" if value < 0 else "+"


def workload(found: Comparison) -> str:
    """Return how alike the workloads are, and how many requests are paired."""
    match = found.match
    words = LEVELS[match.level]
    if match.level is Level.DIFFERENT:
        return f"{words}: {match.paired:,} share an index, and none of them asks for the same"
    if match.level is Level.ARRIVALS_WITHIN_TOLERANCE:
        words = f"same workload, arrivals {apart(match)}"
    if match.level is Level.SAME_REQUESTS and not found.arrivals_known:
        words = "same requests, arrivals not recorded"
    if {Component.PROMPT, Component.OUTPUT} <= match.unknown and match.level in _SAME_ARRIVALS:
        words = "same arrivals, lengths not recorded on both sides"
    said = f"{words}: {match.paired:,} paired"
    if match.level is Level.PARTIAL:
        said += f", {match.same:,} of them ask for the same"
    if match.only_a or match.only_b:
        said += f", {match.only_a:,} only in A, {match.only_b:,} only in B"
    return said


def changed(found: Comparison) -> str:
    """Return whether only the policy changed, or what else did."""
    if not found.changes:
        return "nothing that is recorded differs"
    others = [each for each in found.changes if each.kind is not Kind.POLICY]
    policy = [each for each in found.changes if each.kind is Kind.POLICY]
    if not others:
        return f"only the policy changed: {_list(policy)}"
    if not policy:
        unknown = found.question.a.run.policy is None or found.question.b.run.policy is None
        known = "policy not recorded" if unknown else "the policy is the same"
        return f"{known}; changed: {_list(others)}"
    return f"not only the policy changed: also {_list(others)}; with the policy: {_list(policy)}"


def _list(found: Sequence[FieldChange]) -> str:
    shown = [
        f"{field_name(each.field)} {value(each, each.a)} → {value(each, each.b)}"
        for each in found[:_MOST_FIELDS]
    ]
    if len(found) > _MOST_FIELDS:
        shown.append(f"{len(found) - _MOST_FIELDS} more")
    return "; ".join(shown)


def field_name(field: str) -> str:
    """Return a field of the description in words."""
    return field.replace("policy: ", "").replace("_", " ")


def value(each: FieldChange, of_side: Value) -> str:
    """Return what one side says of a field; a parameter of another policy is none of its own."""
    if of_side is None:
        own = each.kind is Kind.POLICY and each.field.startswith("policy: ")
        return "none" if own or each.field == TIME_LIMIT else text.NOT_RECORDED
    return f"{of_side:g}" if isinstance(of_side, float) else str(of_side)


def claim(found: Comparison) -> str:
    """Return what the comparison speaks for: the caption under every number."""
    a, b = found.question.a, found.question.b
    if found.is_same_run:
        return "the same run on both sides"
    if found.claim is Claimed.REPLICATED:
        return replicated_words.summary(found)
    n_runs = len(a.runs) + len(b.runs)
    which = "these two runs" if n_runs == 2 else f"these {n_runs} runs"
    if a.is_deterministic and b.is_deterministic:
        return f"facts of {which} (deterministic simulator: each would run the same again)"
    return (
        f"facts of {which}, not of the next ones: a claim takes {MIN_RUNS} replicates a side, "
        f"found {len(a.runs)} and {len(b.runs)}"
    )


WITHIN_RUN = (
    "variation within these two runs only, not from run to run: where 95% of the changes lie when "
    "stretches of the runs are drawn again"
)


def has_within(found: Comparison) -> bool:
    """Tell whether any percentile has a band within the two runs."""
    return any(point.within is not None for each in found.shifts for point in each.points)


def within(point: ShiftPoint) -> str:
    """Return the band within the two runs; an open end is one that is not reached in some draws."""
    if point.within is None or point.relative is None:
        return "–"
    bounds = (point.within.low, point.within.high)
    low, high = ("…" if bound is None else percent(bound) for bound in bounds)
    return f"{low} to {high}"


def noise(found: NoiseFloor | None, side: Side) -> str:
    """Return what the noise floor rests on, or why there is none."""
    if found is not None:
        return (
            f"noise floor: the largest difference between runs of one policy at this load, of "
            f"{found.n_pairs} pairs ({text.listed(dict.fromkeys(found.policies))})"
        )
    if side.is_deterministic:
        return "no noise floor: a simulation repeats itself exactly"
    return "no noise floor: no policy of this study ran twice at this load"


def crossing(each: Dominance | None) -> str:
    """Return how the distribution of B lies to that of A, from p5 to p99."""
    if each is None:
        return text.NOT_RECORDED
    if each.relation is not Relation.CROSSES:
        return {
            Relation.EQUAL: "the same from p5 to p99",
            Relation.B_LOWER: "B is nowhere above A from p5 to p99",
            Relation.B_HIGHER: "B is nowhere below A from p5 to p99",
        }[each.relation]
    first = "B lower" if each.begins_lower else "B higher"
    places = [f"p{share * 100:.0f}" for share in each.crossings]
    if len(places) > 3:
        return f"{first} at first, then crosses {len(places)} times, {places[0]} to {places[-1]}"
    return f"{first} at first, crosses at {text.listed(places)}"


def discordant(each: Discordant) -> str:
    """Return how many succeeded on one side only: counts of these runs, and no test."""
    what = "completed" if each.of is Success.COMPLETED else "met the objective"
    return f"{what} in A only {each.a_only:,}, in B only {each.b_only:,}"


def pairs(of: Paired) -> str:
    """Return how many pairs the differences rest on, and how many are not in them."""
    apart = [
        f"{n:,} {words}"
        for n, words in (
            (of.n_lost, "delivered in A only"),
            (of.n_gained, "in B only"),
            (of.n_neither, "on neither side"),
        )
        if n
    ]
    return f"{of.n_both:,} of {of.n:,} delivered on both sides" + (
        f"; {', '.join(apart)}" if apart else ""
    )


def row(name: str) -> str:
    """Return a row of the scorecard in words."""
    return ROWS.get(name, name.replace("_", " "))


def score(value: float | None, unit: str, *, signed: bool = False) -> str:
    """Return a number of the scorecard with its unit; None is not recorded."""
    if value is None:
        return text.NOT_RECORDED
    prefix = sign(value) if signed and value else ""
    size = abs(value) if signed else value
    if unit == "share":
        said = text.share(size)
        return f"{prefix}{said.replace('%', ' points')}" if signed else said
    number = f"{size:,.0f}" if float(size).is_integer() else text.significant(size)
    return (
        f"{prefix}{number}" if unit in ("requests", "preemptions") else f"{prefix}{number} {unit}"
    )
