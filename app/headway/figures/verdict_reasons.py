"""The reasons under a verdict, and what would settle a doubt, one short sentence each."""

from headway.analyses.acceptance import Asked, Judged, Verdicts
from headway.analyses.sessions import Session
from headway.analyses.settlement import Remedy, Settlement, settlement
from headway.figures import text
from headway.figures.verdicts import CLAIMS, IN_RUN_MARKS, WORDS, met, missed_by, premise
from headway.model import Objective
from headway.stats.intervals import smallest_n
from headway.stats.reach import ACCEPT_LEVEL
from headway.stats.settle import MOST_TIMES
from headway.stats.steadiness import Steadiness
from headway.stats.verdicts import InRun, Verdict, Why

ORIGINS = {
    "scheduled": "the scheduled arrival",
    "sent": "the send",
    "none": "the send; arrivals are not recorded",
}
_IN_RUN = {InRun.MET: "met", InRun.MISSED: "missed", InRun.OPEN: "open"}


def reasons(judged: Judged, objective: Objective) -> list[str]:
    """Return what the verdicts of a run or set rest on, one short sentence each."""
    found = [
        _counted(judged, objective),
        missed_by(judged),
        _open(judged),
        _no_cadence(judged),
        workload(judged),
        traffic(judged, objective),
        _spells(judged),
        _length(judged),
        _steady(judged),
        _schedule(judged),
        origin(judged),
    ]
    return [sentence for sentence in found if sentence]


def _counted(judged: Judged, objective: Objective) -> str:
    target = f"target {text.share(objective.attainment)}"
    if len(judged.counts) == 1:
        share = text.share(judged.worst.attained)
        return f"{judged.n_met:,} of {judged.n_offered:,} offered requests met ({share}; {target})"
    mean = f"the mean over the runs is {text.share(judged.attained.low)}"
    return f"{met(judged)} ({text.share(judged.worst.attained)}); {mean}; {target} in each run"


def _open(judged: Judged) -> str | None:
    if not judged.n_open:
        return None
    were = "was" if judged.n_open == 1 else "were"
    return f"{judged.n_open:,} {were} open when the run ended and could have gone either way"


def _no_cadence(judged: Judged) -> str | None:
    n = judged.n_no_cadence
    if not n:
        return None
    if n == 1:
        return "1 answer is too short to have a cadence and passes its limit"
    return f"{n:,} answers are too short to have a cadence and pass its limit"


def workload(judged: Judged) -> str:
    """Return what the claim about the workload rests on."""
    name = CLAIMS[Asked.WORKLOAD]
    if judged.repeats is None:
        return (
            f"{name}: a deterministic simulator repeats itself exactly, so this run is the answer"
        )
    of = judged.repeats
    runs = "run" if of.n_runs == 1 else "runs"
    counts = f"{of.n_met:,} of {of.n_runs:,} {runs} met"
    if of.n_met == of.n_runs:
        bound = f"at least {text.share(of.low)}"
    elif of.n_met == 0:
        bound = f"at most {text.share(of.high)}"
    else:
        bound = f"between {text.share(of.low)} and {text.share(of.high)}"
    shown = f"with 95% confidence {bound} of such runs would ({text.share(of.asked)} asked)"
    extra = {
        Why.SOME_MISSED: "; after a miss no further run accepts this set",
        Why.BEHIND_SCHEDULE: "; not accepted, for the load generator fell behind its schedule",
        Why.SENT_EARLY: "; not accepted, for many requests were sent before their schedule",
        Why.OPEN_REQUESTS: "; the open requests decide",
    }.get(judged.workload.why, "")
    return f"{name}: {counts}: {shown}{extra}; {made(judged)}"


def bound(judged: Judged, asked: Asked) -> str | None:
    """Return the bounds behind one claim in a few words; None where there are none.

    Examples
    --------
    "4 of 5 runs: 34.3% to 99% of such runs", "95.3% to 100% of requests"
    """
    of, claim = judged.repeats, judged.traffic
    if asked is Asked.WORKLOAD:
        if of is None:
            return None
        shares = f"{text.share(of.low)} to {text.share(of.high)}"
        return f"{of.n_met} of {of.n_runs} runs: {shares} of such runs"
    if claim.low is None or claim.high is None:
        return None
    return f"{text.share(claim.low)} to {text.share(claim.high)} of requests"


def made(judged: Judged) -> str:
    """Return when the runs of a set were made, for which sessions the claim speaks."""
    if judged.made is None:
        return "start times are not recorded, so this speaks of runs in sessions like these"
    days = text.listed(_session(each) for each in judged.made)
    if len(judged.made) == 1:
        return f"made on {days} UTC: speaks of runs in such a session, not of other days"
    return f"made on {len(judged.made)} days ({days} UTC): speaks of runs in such sessions"


def _session(each: Session) -> str:
    day = f"{each.first:%-d %B %Y}"
    if each.n_runs == 1:
        return f"{day} at {each.first:%H:%M}"
    return f"{day} from {each.first:%H:%M} to {each.last:%H:%M}"


def traffic(judged: Judged, objective: Objective) -> str:
    """Return what the claim about traffic rests on."""
    claim, name = judged.traffic, CLAIMS[Asked.TRAFFIC]
    if claim.verdict is Verdict.ACCEPTED:
        return f"{name}: {_bounds(judged)}; accepted {premise(judged)}"
    if claim.verdict is Verdict.REJECTED:
        return f"{name}: {_bounds(judged)} (one-sided, 95% to reject)"
    words = {
        Why.STRADDLES: f"{_bounds(judged)}: the target lies inside",
        Why.OPEN_REQUESTS: "the open requests decide",
        Why.TOO_FEW_EFFECTIVE: _too_few(judged, objective),
        Why.LONG_SPELL: _long_spell(judged, objective),
        Why.NO_EFFECTIVE_SIZE: "no claim: arrivals are unknown, or there are fewer than 10",
        Why.ARRIVALS_UNKNOWN: _partly_placed(judged),
        Why.NOT_STEADY: "the run is not steady",
        Why.BEHIND_SCHEDULE: "the load generator fell behind its schedule",
        Why.SENT_EARLY: "many requests were sent before their schedule",
    }
    return f"{name}: {words[claim.why]}"


def _bounds(judged: Judged) -> str:
    claim = judged.traffic
    if claim.low is None or claim.high is None:
        return "no bounds"
    return f"between {text.share(claim.low)} and {text.share(claim.high)} of requests"


def _too_few(judged: Judged, objective: Objective) -> str:
    needed = int(smallest_n(objective.attainment, ACCEPT_LEVEL))
    size = judged.effective
    if size is None:
        return "no effective requests"
    n_eff, deff = text.significant(size.n_accept), text.significant(size.n / size.n_accept)
    return (
        f"{size.n:,} requests that depend on one another tell as much as {n_eff} independent ones "
        f"(design effect {deff}); accepting {text.share(objective.attainment)} takes {needed:,}"
    )


def _long_spell(judged: Judged, objective: Objective) -> str:
    if judged.reach is None or objective.spell_s is None:
        return "the declared spell is longer than the run can cover"
    declared = text.duration(objective.spell_s * 1000)
    return (
        f"the study must cover a spell of {declared}, {judged.reach.spell:,.0f} requests at the "
        f"busiest load; this run covers {int(judged.reach.requests):,}"
    )


def _partly_placed(judged: Judged) -> str:
    return (
        f"no claim: the arrival of {judged.n_unplaced:,} of {judged.n_offered:,} requests is not "
        "recorded, so nobody knows which requests failed together"
    )


def _spells(judged: Judged) -> str | None:
    """Return how the misses cluster: shown, and no part of a verdict."""
    known = [each for each in judged.counts if each.spells is not None and each.spells.n_spells]
    if not known:
        return None
    worst = max(known, key=lambda each: each.spells.longest if each.spells else 0)
    spells = worst.spells
    if spells is None:
        return None
    where = " of the run with the longest spell" if len(judged.counts) > 1 else ""
    n_missed = worst.n_offered - worst.n_met
    row = "1 miss" if spells.longest == 1 else f"{spells.longest:,} misses in a row"
    count = "1 spell" if spells.n_spells == 1 else f"{spells.n_spells:,} spells"
    return (
        f"{n_missed:,} misses{where} in {count}, the longest {row}; tenth {spells.worst_tenth} by "
        f"arrival has most of them ({spells.n_missed_worst:,})"
    )


def _length(judged: Judged) -> str | None:
    pace = judged.pace
    if pace is None or pace.slowest_rps is None:
        return None
    slow = text.significant(pace.slowest_rps)
    busy = "at once" if pace.busiest_rps is None else text.rate(pace.busiest_rps, "req/s")
    return (
        f"arrivals lasted {text.duration(pace.duration_s * 1000)}; the slowest tenth arrived at "
        f"{slow} and the busiest at {busy}; a cycle longer than that is outside the claim"
    )


def _steady(judged: Judged) -> str | None:
    if judged.steady is Steadiness.NOT_STEADY:
        return "not steady: TTFT rises over the run, so percentiles depend on its length"
    if judged.steady is Steadiness.UNKNOWN:
        return "steadiness unknown: it takes arrival times and 300 requests"
    return None


def _schedule(judged: Judged) -> str | None:
    if judged.slip is not None and judged.slip.behind:
        late = text.duration(judged.slip.p99_us / 1000)
        return f"the load generator fell behind its schedule (p99 {late} late)"
    if judged.slip is not None and judged.slip.early:
        n, lead = judged.slip.n_early, text.duration(judged.slip.max_lead_us / 1000)
        return f"{n:,} requests were sent before their schedule, by up to {lead}"
    return None


def origin(judged: Judged) -> str:
    """Return where latencies count from, and the other origin's answer where it differs."""
    words = f"latencies count from {ORIGINS[judged.origin_used]}"
    if judged.elsewise is None:
        return words
    other = "sent" if judged.origin_used == "scheduled" else "scheduled"
    return f"{words}; from {ORIGINS[other]} the answer differs: {_all(judged.elsewise)}"


def _all(found: Verdicts) -> str:
    parts = (
        f"{IN_RUN_MARKS[found.in_run]} {_IN_RUN[found.in_run]} in the run",
        f"{WORDS[found.workload]} for the workload",
        f"{WORDS[found.traffic]} for traffic",
    )
    return ", ".join(parts)


def settles(judged: Judged, asked: Asked, objective: Objective) -> str | None:
    """Return what would settle a doubt, with a command to paste; None where there is none."""
    found = settlement(judged, asked, objective)
    if found is None:
        return None
    words = settled(judged, found)
    command = again(judged, found)
    return words if command is None else f"{words}: {command}"


def settlements(judged: Judged, objective: Objective) -> list[str]:
    """Return what would settle each undecided claim, the claims that ask for the same together."""
    lines: dict[str, list[str]] = {}
    for asked in Asked:
        if words := settles(judged, asked, objective):
            lines.setdefault(words, []).append(CLAIMS[asked])
    return [f"{text.listed(names)}: {words}" for words, names in lines.items()]


def settled(judged: Judged, found: Settlement) -> str:
    """Return what would settle a doubt, without the command."""
    if found.remedy is Remedy.LONGER_RUN:
        return _longer(judged, found)
    if found.remedy is Remedy.MORE_RUNS:
        one = found.n_runs == 1
        return (
            f"{found.n_runs:,} more {'run that meets' if one else 'runs that all meet'} the "
            "objective on the same requests"
        )
    return {
        Remedy.RUN_TO_THE_END: (
            f"a run that lasts until its {judged.n_open:,} open "
            f"{'request has' if judged.n_open == 1 else 'requests have'} ended"
        ),
        Remedy.NEW_SET: _new_set(found),
        Remedy.KEEP_THE_SCHEDULE: (
            "a load generator that keeps its schedule (more client workers or hosts)"
        ),
        Remedy.RECORD_ARRIVALS: "a run that records when every request was scheduled or sent",
        Remedy.LOWER_LOAD: "a lower load: a queue that grows depends on how long it is watched",
        Remedy.TOO_CLOSE: (
            f"no practical length: at this share and clustering it takes over {MOST_TIMES} times "
            "this run"
        ),
    }[found.remedy]


def _new_set(found: Settlement) -> str:
    if found.n_runs is None:
        return "a new set of runs, once the cause of the miss is gone, or a lower load"
    runs = (
        "1 more run that misses"
        if found.n_runs == 1
        else (f"{found.n_runs:,} more runs that all miss")
    )
    return (
        f"{runs} would reject this set, and none accepts it: after a miss it takes a new set, once "
        "the cause is gone, or a lower load"
    )


def _longer(judged: Judged, found: Settlement) -> str:
    lasts = (
        "" if found.duration_s is None else f", {text.duration(found.duration_s * 1000)} of load"
    )
    if judged.effective is None:
        return f"a run of at least {found.n_requests:,} requests{lasts}"
    share = text.share(judged.attained.low)
    return (
        f"a fresh run of {found.n_requests:,} requests of the same mix at this load{lasts}, judged "
        f"once: it decides in 9 of 10 cases if the true share is {share}"
    )


def again(judged: Judged, found: Settlement) -> str | None:
    """Return a command that makes the run, in the words of the harness that made the last one."""
    if found.remedy not in (Remedy.LONGER_RUN, Remedy.MORE_RUNS):
        return None
    load, n_requests = judged.load, found.n_requests
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
