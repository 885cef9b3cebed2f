"""Verdicts in words: the sentence, the reasons under it, and what would settle a doubt."""

from collections.abc import Sequence

from headway.analyses.acceptance import Asked, Judged
from headway.analyses.envelope import CONCURRENCY, Envelope
from headway.analyses.throughput import Trade
from headway.figures import text
from headway.model import Objective
from headway.stats import verdicts
from headway.stats.intervals import LEVEL, smallest_n
from headway.stats.steadiness import Steadiness
from headway.stats.verdicts import Claim, InRun, Verdict, Why

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
_UNITS = {CONCURRENCY: "concurrent"}


def sentence(found: Sequence[Envelope], asked: Asked) -> str:
    """Return the verdict in words, configurations that fare alike together."""
    if not found:
        return "No run was judged."
    grouped: dict[str, list[str]] = {}
    carried = []
    for each in found:
        if each.bracket.last_accepted is not None:
            carried.append(f"{each.line} {_carried(each)}")
        else:
            grouped.setdefault(_not_carried(each), []).append(each.line)
    nothing = [] if any(each.has_accepted for each in found) else [_nothing(found)]
    others = [_plural(lines, said) for said, lines in grouped.items()]
    return f"{CLAIMS[asked].capitalize()}: {' '.join([*nothing, *carried, *others])}"


def _nothing(found: Sequence[Envelope]) -> str:
    """Return that no load is accepted: as a finding where all are rejected, else as a lack."""
    rejected = all(_all_rejected(each) for each in found)
    return f"No load tested {'is acceptable' if rejected else 'can be accepted'}."


def policy_sentences(found: Sequence[Envelope]) -> list[tuple[str, Verdict]]:
    """Return one sentence per group of configurations that fare alike, with its verdict."""
    said: dict[tuple[str, Verdict], list[str]] = {}
    for each in found:
        accepted = each.bracket.last_accepted is not None
        words = _carried(each) if accepted else _not_carried(each)
        verdict = Verdict.ACCEPTED if each.has_accepted else Verdict.REJECTED
        if not accepted and not _all_rejected(each):
            verdict = Verdict.UNDECIDED
        said.setdefault((words, verdict), []).append(each.line)
    order = list(Verdict)
    return sorted(
        ((_plural(lines, words), verdict) for (words, verdict), lines in said.items()),
        key=lambda each: order.index(each[1]),
    )


def _plural(lines: Sequence[str], said: str) -> str:
    if len(lines) > 1:
        for one, more in (("misses", "miss"), ("carries", "carry"), ("has ", "have ")):
            said = said.replace(one, more)
    return f"{text.listed(lines)} {said}"


def _carried(each: Envelope) -> str:
    bracket = each.bracket
    said = f"carries up to {load(each, bracket.last_accepted)}"
    if bracket.first_rejected is None:
        said += "; no load tested was rejected"
    else:
        said += f"; it misses at {load(each, bracket.first_rejected)}"
        missed = each.at(bracket.first_rejected)
        if missed:
            said += f" ({missed[0].n_met:,} of {missed[0].n_offered:,})"
    if bracket.band:
        said += f"; not enough evidence at {_loads(each, bracket.band)}"
    return f"{said}."


def _not_carried(each: Envelope) -> str:
    bracket = each.bracket
    tested = sorted(load for load in each.verdicts if load != float("inf"))
    if not tested:
        verdict = each.verdicts.get(float("inf"), Verdict.UNDECIDED)
        return f"at unlimited load: {WORDS[verdict]}."
    if bracket.first_rejected is None:
        return f"has not enough evidence at any load tested ({_span(each, tested)})."
    if _all_rejected(each):
        return f"misses at every load tested ({_span(each, tested)})."
    if bracket.first_rejected == tested[0]:
        return f"misses from {load(each, tested[0])}, the lowest load tested."
    first = load(each, bracket.first_rejected)
    return f"has not enough evidence below {first}, where it misses."


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


def reasons(judged: Judged, objective: Objective) -> list[str]:
    """Return what the verdicts of a run or set rest on, one short sentence each."""
    share = text.share(judged.n_met / judged.n_offered if judged.n_offered else None)
    said = [
        f"{judged.n_met:,} of {judged.n_offered:,} offered requests met the objective ({share}; "
        f"target {text.share(objective.attainment)})"
    ]
    if judged.n_open:
        said.append(
            f"{judged.n_open:,} were open when the run ended and could have gone either way"
        )
    if judged.n_no_cadence:
        said.append(
            f"{judged.n_no_cadence:,} answers are too short to have a cadence and pass its limit"
        )
    said += [why(judged.workload, judged, Asked.WORKLOAD, objective)]
    said += [why(judged.traffic, judged, Asked.TRAFFIC, objective)]
    if judged.steady is Steadiness.NOT_STEADY:
        said.append("not steady: TTFT rises over the run, so percentiles depend on its length")
    elif judged.steady is Steadiness.UNKNOWN:
        said.append("steadiness unknown: it takes times and 300 requests")
    if judged.is_behind and judged.slip is not None:
        said.append(
            f"the load generator fell behind its schedule (p99 "
            f"{text.duration(judged.slip.p99_us / 1000)} late)"
        )
    return said


def why(claim: Claim, judged: Judged, asked: Asked, objective: Objective) -> str:
    """Return why one claim came out as it did."""
    bounds = (
        "no bounds"
        if claim.low is None or claim.high is None
        else f"between {text.share(claim.low)} and {text.share(claim.high)}"
    )
    effective = judged.effective
    n_eff = text.significant(effective.n_eff) if effective else "0"
    if effective and effective.n_accept < effective.n_eff:
        n_eff += f" ({text.significant(effective.n_accept)} on longer blocks)"
    deff = text.significant(effective.deff) if effective else "–"
    needed = int(smallest_n(objective.attainment, verdicts.ACCEPT_LEVEL))
    words = {
        Why.BOUND: f"{bounds} ({_levels(asked)})",
        Why.DETERMINISTIC: "a deterministic simulator: this run is the answer",
        Why.STRADDLES: f"{bounds}: the target lies inside",
        Why.OPEN_REQUESTS: "the open requests decide",
        Why.TOO_FEW_EFFECTIVE: (
            f"{n_eff} effective requests of {judged.n_offered:,} (design effect {deff}); accepting "
            f"{text.share(objective.attainment)} takes {needed:,}"
        ),
        Why.NO_EFFECTIVE_SIZE: "no effective number of requests: arrivals unknown or too few",
        Why.NOT_STEADY: "the run is not steady",
        Why.TOO_FEW_RUNS: f"{len(judged.runs)} of the 3 replicates it takes",
        Why.BEHIND_SCHEDULE: "the load generator fell behind its schedule",
    }
    return f"{CLAIMS[asked]}: {words[claim.why]}"


def _levels(asked: Asked) -> str:
    accept = verdicts.ACCEPT_LEVEL if asked is Asked.TRAFFIC else LEVEL
    return f"one-sided, {accept:.3g} to accept and {LEVEL:.3g} to reject"


def settles(judged: Judged, asked: Asked, objective: Objective) -> str | None:
    """Return what would settle a doubt, with a command to paste; None where there is none."""
    if judged.verdict(asked) is not Verdict.UNDECIDED:
        return None
    if asked is Asked.RUN:
        return f"a run that lasts until its {judged.n_open:,} open requests have ended"
    if asked is Asked.WORKLOAD:
        return _settles_workload(judged, objective)
    return _settles_traffic(judged, objective)


def _settles_workload(judged: Judged, objective: Objective) -> str:
    if judged.workload.why is Why.OPEN_REQUESTS:
        return f"a run that lasts until its {judged.n_open:,} open requests have ended"
    if judged.workload.why is Why.BEHIND_SCHEDULE:
        return "a load generator that keeps its schedule (more client workers or hosts)"
    needed = verdicts.settle_workload(judged.per_run, objective.attainment)
    if needed is None:
        return "no number of replicates: the mean is too close to the target"
    more = max(1, needed - len(judged.runs))
    return f"{more} more replicate{'s' * (more != 1)} of the same requests: {_again(judged, None)}"


def _settles_traffic(judged: Judged, objective: Objective) -> str:
    if judged.traffic.why is Why.NOT_STEADY:
        return "a lower load: a queue that grows depends on how long it is watched"
    if judged.traffic.why is Why.BEHIND_SCHEDULE:
        return "a load generator that keeps its schedule (more client workers or hosts)"
    if judged.effective is None:
        return f"a run with send times and at least 300 requests: {_again(judged, 300)}"
    size, reaches = judged.effective, judged.attained.low >= objective.attainment
    counted = size.n_accept if reaches else size.n_eff
    needed = verdicts.settle_traffic(judged.attained, size.n, counted, objective.attainment)
    n = needed.at_this_share
    if n is None or (reaches and needed.if_all_met > n):
        n = needed.if_all_met
    return f"about {n:,} requests of the same mix at this load: {_again(judged, n)}"


def _again(judged: Judged, n_requests: int | None) -> str:
    """Return a command that runs the load again, in the words of the harness that made the run."""
    load = judged.load
    if judged.run.harness == "vllm-bench":
        rate = f" --request-rate {load.declared_rps:g}" if load.declared_rps else ""
        if load.burstiness is not None and load.burstiness != 1:
            rate += f" --burstiness {load.burstiness:g}"
        cap = f" --max-concurrency {load.concurrency}" if load.concurrency else ""
        count = f" --num-prompts {n_requests}" if n_requests else ""
        return f"vllm bench serve …{rate}{cap}{count} --save-result --save-detailed"
    if judged.run.harness == "vidur":
        count = f" of {n_requests} requests" if n_requests else ""
        return f"python -m vidur.main … with a trace{count}"
    return "the same command" + (f" with {n_requests} requests" if n_requests else "")


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
