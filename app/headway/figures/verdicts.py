"""Verdicts in words: one sentence for each configuration, with the counts the verdict used."""

from collections.abc import Sequence

from headway.analyses.acceptance import Asked, Judged
from headway.analyses.envelope import CONCURRENCY, Envelope
from headway.analyses.throughput import Trade
from headway.figures import text
from headway.model import Metric
from headway.stats.verdicts import InRun, Verdict

CLAIMS = {
    Asked.RUN: "in this run",
    Asked.WORKLOAD: "repeatable on this workload",
    Asked.TRAFFIC: "for traffic like this",
}
MARKS = {Verdict.ACCEPTED: "✓", Verdict.REJECTED: "✗", Verdict.UNDECIDED: "?"}
IN_RUN_MARKS = {InRun.MET: "✓", InRun.MISSED: "✗", InRun.OPEN: "?"}
WORDS = {
    Verdict.ACCEPTED: "accepted",
    Verdict.REJECTED: "rejected",
    Verdict.UNDECIDED: "not enough evidence",
}
LIMIT_NAMES = {
    Metric.TTFT: "TTFT",
    Metric.TPOT: "TPOT",
    Metric.STALL: "stall",
    Metric.LATENCY: "completion",
}
_UNITS = {CONCURRENCY: "concurrent"}


def claim_name(asked: Asked, judged: Sequence[Judged]) -> str:
    """Return the name of a claim; several runs of one workload are not "this run"."""
    if asked is Asked.RUN and any(len(each.runs) > 1 for each in judged):
        return "in each run"
    return CLAIMS[asked]


def sentence(found: Sequence[Envelope], asked: Asked) -> str:
    """Return the verdict in words, configurations that fare alike together."""
    if not found:
        return "No run was judged."
    grouped: dict[str, list[str]] = {}
    carried = []
    for each in found:
        if each.bracket.last_accepted is not None:
            carried.append(f"{each.line} {_carried(each, asked, 1)}")
        else:
            grouped.setdefault(_not_carried(each, 1), []).append(each.line)
    nothing = [] if any(each.has_accepted for each in found) else [_nothing(found)]
    others = [_of_lines(lines, _first(found, lines), asked) for lines in grouped.values()]
    name = claim_name(asked, [judged for each in found for judged in each.judged])
    return f"{name.capitalize()}: {' '.join([*nothing, *carried, *others])}"


def _first(found: Sequence[Envelope], lines: Sequence[str]) -> Envelope:
    return next(each for each in found if each.line == lines[0])


def _of_lines(lines: Sequence[str], each: Envelope, asked: Asked) -> str:
    """Return what several configurations have in common, with the verb for their number."""
    accepted = each.bracket.last_accepted is not None
    n = len(lines)
    words = _carried(each, asked, n) if accepted else _not_carried(each, n)
    return f"{text.listed(lines)} {words}"


def _nothing(found: Sequence[Envelope]) -> str:
    """Return that no load is accepted: as a finding where all are rejected, else as a lack."""
    rejected = all(_all_rejected(each) for each in found)
    return f"No load tested {'is acceptable' if rejected else 'can be accepted'}."


def policy_sentences(found: Sequence[Envelope], asked: Asked) -> list[tuple[str, Verdict]]:
    """Return one sentence per group of configurations that fare alike, with its verdict."""
    grouped: dict[tuple[str, Verdict], list[str]] = {}
    for each in found:
        accepted = each.bracket.last_accepted is not None
        words = _carried(each, asked, 1) if accepted else _not_carried(each, 1)
        verdict = Verdict.ACCEPTED if each.has_accepted else Verdict.REJECTED
        if not accepted and not _all_rejected(each):
            verdict = Verdict.UNDECIDED
        grouped.setdefault((words, verdict), []).append(each.line)
    order = list(Verdict)
    return sorted(
        (
            (_of_lines(lines, _first(found, lines), asked), verdict)
            for (_, verdict), lines in grouped.items()
        ),
        key=lambda each: order.index(each[1]),
    )


def _verb(one: str, more: str, n_lines: int) -> str:
    return one if n_lines == 1 else more


def _carried(each: Envelope, asked: Asked, n_lines: int) -> str:
    bracket = each.bracket
    carries = _verb("carries", "carry", n_lines)
    words = f"{carries} up to {load(each, bracket.last_accepted)}{_rests_on(each, asked)}"
    if bracket.first_rejected is None:
        words += "; no load tested was rejected"
    else:
        misses = _verb("it misses", "they miss", n_lines)
        words += f"; {misses} at {load(each, bracket.first_rejected)}"
        missed = each.at(bracket.first_rejected)
        if missed:
            words += f" ({met(missed[0])})"
    if bracket.band:
        words += f"; not enough evidence at {_loads(each, bracket.band)}{_only_met(each)}"
    return f"{words}."


def _rests_on(each: Envelope, asked: Asked) -> str:
    """Return the evidence behind the last accepted load: its premise, or what its runs show."""
    accepted = each.at(each.bracket.last_accepted)
    if not accepted:
        return ""
    of = accepted[0].repeats
    if asked is Asked.TRAFFIC:
        return f", {premise(accepted[0])}"
    if asked is Asked.WORKLOAD and of is not None:
        runs = f"{of.n_met:,} of {of.n_runs:,} runs met"
        return f" ({runs}: at least {text.share(of.low)} of such runs would)"
    return ""


def _only_met(each: Envelope) -> str:
    """Return the counts behind the one undecided load; several would not fit a sentence."""
    undecided = [judged for value in each.bracket.band for judged in each.at(value)]
    return f" ({met(undecided[0])})" if len(undecided) == 1 else ""


def _not_carried(each: Envelope, n_lines: int) -> str:
    bracket = each.bracket
    tested = sorted(load for load in each.verdicts if load != float("inf"))
    if not tested:
        verdict = each.verdicts.get(float("inf"), Verdict.UNDECIDED)
        return f"at unlimited load: {WORDS[verdict]}."
    has, misses = _verb("has", "have", n_lines), _verb("misses", "miss", n_lines)
    if bracket.first_rejected is None:
        return f"{has} not enough evidence at any load tested ({_span(each, tested)})."
    if _all_rejected(each):
        return f"{misses} at every load tested ({_span(each, tested)})."
    if bracket.first_rejected == tested[0]:
        return f"{misses} from {load(each, tested[0])}, the lowest load tested."
    first, where = load(each, bracket.first_rejected), _verb("it misses", "they miss", n_lines)
    return f"{has} not enough evidence below {first}, where {where}."


def met(judged: Judged) -> str:
    """Return the counts that a verdict used: of requests for one run, of runs for a set.

    Examples
    --------
    "467 of 500 requests met", "4 of 5 runs met; the worst 161 of 180 requests"
    """
    if len(judged.counts) == 1:
        return f"{judged.n_met:,} of {judged.n_offered:,} requests met"
    worst = f"the worst {judged.worst.n_met:,} of {judged.worst.n_offered:,} requests"
    return f"{judged.n_runs_met:,} of {len(judged.counts):,} runs met; {worst}"


def premise(judged: Judged) -> str:
    """Return the premise of an acceptance for traffic: how long common trouble may last."""
    if judged.reach is None:
        return "without a known reach"
    n = int(judged.reach.requests)
    seconds = judged.reach.seconds
    lasts = "" if seconds is None else f" ({text.duration(seconds * 1000)})"
    requests = "request" if n == 1 else "requests"
    return f"if no spell of common trouble holds more than {n:,} {requests}{lasts}"


def missed_by(judged: Judged) -> str | None:
    """Return which limit the misses are past; None where no request missed for certain.

    Examples
    --------
    "33 missed: 33 over TTFT, 0 over stall, 0 lost"
    """
    if not judged.n_missed:
        return None
    parts = [f"{n:,} over {LIMIT_NAMES[metric]}" for metric, n in judged.past.items()]
    parts.append(f"{judged.n_lost:,} lost")
    if judged.n_unmeasured:
        parts.append(f"{judged.n_unmeasured:,} without a recorded value")
    counted = sum(judged.past.values()) + judged.n_lost + judged.n_unmeasured
    twice = " (some count more than once)" if counted > judged.n_missed else ""
    return f"{judged.n_missed:,} missed: {', '.join(parts)}{twice}"


def _all_rejected(each: Envelope) -> bool:
    return set(each.verdicts.values()) == {Verdict.REJECTED}


def load(each: Envelope, value: float | None) -> str:
    """Return a load of an envelope with its unit."""
    return f"{value:g} {_UNITS.get(each.axis, 'req/s')}"


def _loads(each: Envelope, values: Sequence[float]) -> str:
    return f"{text.listed(f'{value:g}' for value in values)} {_UNITS.get(each.axis, 'req/s')}"


def _span(each: Envelope, tested: Sequence[float]) -> str:
    if len(tested) == 1:
        return load(each, tested[0])
    return f"{tested[0]:g}–{tested[-1]:g} {_UNITS.get(each.axis, 'req/s')}"


def trade(each: Trade) -> str:
    """Return what a step up in load buys and costs, as a sentence of numbers."""
    window = (
        "no rate in the window"
        if each.window_change is None
        else f"{_change(each.window_change)} in the window"
    )
    return (
        f"{each.line} {each.low:g} → {each.high:g} req/s: output tok/s "
        f"{_change(each.makespan_change)} over makespan, {window}, acceptable requests "
        f"{each.share_low:.0%} → {each.share_high:.0%}"
    )


def _change(relative: float) -> str:
    return f"{relative:+.0%}".replace("-", "−")
