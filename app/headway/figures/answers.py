"""Whole answers in words: one sentence for people who read no further, and rows of a table."""

from collections.abc import Sequence

from headway.analyses.acceptance import Asked, Judged
from headway.analyses.judgement import Answer
from headway.analyses.recheck import Change, Saved
from headway.figures import text, verdict_reasons, verdicts
from headway.figures.verdicts import IN_RUN_MARKS, MARKS, WORDS
from headway.model import Objective
from headway.stats.verdicts import Verdict

_MOST_FIELDS = 6
_MOST_NAMED = 4


def sentence(answer: Answer) -> str:
    """Return the whole verdict in words: what was judged, and how far each configuration goes."""
    return f"{gate(answer)} {found(answer)}"


def gate(answer: Answer) -> str:
    """Return the verdict over all that was judged, and what that was: the first line."""
    asked = answer.question.claim
    policies = list(dict.fromkeys(each.line for each in answer.judged))
    shown = text.listed(policies) if len(policies) <= _MOST_NAMED else f"{len(policies)} policies"
    name = verdicts.claim_name(asked, answer.judged)
    return f"{WORDS[answer.verdict].capitalize()}: {name}, for {shown} {_where(answer)}."


def _where(answer: Answer) -> str:
    loads = judged_loads(answer)
    question = answer.question
    if question.load is not None:
        return f"at {text.listed(dict.fromkeys(each.load_text for each in answer.judged))}"
    if not loads:
        return "at every load"
    every = (
        f"at every tested load up to {question.up_to:g}"
        if question.up_to
        else ("at every tested load")
    )
    return f"{every} ({text.listed(f'{load:g}' for load in loads)})"


def judged_loads(answer: Answer) -> list[float]:
    """Return the places on the load axis that were judged, in order."""
    return sorted({each.x for each in answer.judged if each.x is not None})


def found(answer: Answer) -> str:
    """Return how far each configuration goes, or the counts at the one load that was asked for."""
    asked = answer.question.claim
    if answer.question.load is None:
        return verdicts.sentence(answer.envelopes, asked)
    each_set = [
        f"{each.line} {WORDS[each.verdict(asked)]} ({verdicts.met(each)})" for each in answer.judged
    ]
    return f"{'; '.join(each_set)}."


def objective_sentence(answer: Answer, declared: Objective | None) -> str:
    """Return the objective in force, and whether it is the one that was declared."""
    said = f"Objective: {objective(answer.question.objective)}"
    if answer.is_declared:
        return f"{said}; as the study declares."
    if declared is None:
        return f"{said}; none is declared."
    return f"{said}. It departs from the declared one: {objective(declared)}."


def objective(limits: Objective) -> str:
    """Return the limits, the share of requests that must meet them, and what else is demanded."""
    kept = [
        f"{text.METRIC_NAMES[metric]} ≤ {text.limit(limit)}"
        for metric, limit in limits.limits().items()
    ]
    words = f"{text.listed(kept)} for {text.share(limits.attainment)} of offered requests"
    return ", ".join(filter(None, (words, _demands(limits))))


def _demands(limits: Objective) -> str:
    """Return what an acceptance must show beyond the limits; nothing where that is the usual."""
    found = []
    if limits.repeats != Objective().repeats:
        found.append(f"in {text.share(limits.repeats)} of runs")
    if limits.spell_s is not None:
        found.append(f"spells of {text.limit(limits.spell_s * 1000)} covered")
    return ", ".join(found)


def row(each: Judged) -> dict[str, str]:
    """Return one run or set of replicates as a row: three claims side by side."""
    more = len(each.runs) - 1
    return {
        "policy": each.line,
        "load": each.load_text,
        "in the run": f"{IN_RUN_MARKS[each.in_run]} {each.in_run.value}",
        "workload": _marked(each.workload.verdict),
        "traffic": _marked(each.traffic.verdict),
        "met": _met(each),
        "missed by": _missed_by(each),
        "reach": reach(each),
        "origin": each.origin_used,
        "steady": each.steady.value.replace("_", " "),
        "run": f"{each.run.run_id} and {more} more" if more else each.run.run_id,
    }


def doubts(answer: Answer) -> list[tuple[str, list[str], str]]:
    """Return every undecided run: its name, the reasons, and what would settle it."""
    asked, target = answer.question.claim, answer.question.objective
    return [
        (
            each.title,
            verdict_reasons.reasons(each, target),
            verdict_reasons.settles(each, asked, target) or "",
        )
        for each in answer.judged
        if each.verdict(asked) is Verdict.UNDECIDED
    ]


def acceptances(answer: Answer) -> list[str]:
    """Return what each acceptance rests on: its counts, bounds and premise."""
    asked, target = answer.question.claim, answer.question.objective
    return [
        f"{each.title}: {_rests_on(each, asked, target)}"
        for each in answer.judged
        if each.verdict(asked) is Verdict.ACCEPTED
    ]


def _rests_on(each: Judged, asked: Asked, objective: Objective) -> str:
    if asked is Asked.RUN:
        return verdicts.met(each)
    if asked is Asked.WORKLOAD:
        return verdict_reasons.workload(each)
    return verdict_reasons.traffic(each, objective)


def origins(answer: Answer) -> list[str]:
    """Return where latencies count from, and each set whose answer the other origin changes."""
    used = dict.fromkeys(each.origin_used for each in answer.judged)
    names = text.listed(verdict_reasons.ORIGINS[each] for each in used)
    differing = [
        f"{each.title}: {verdict_reasons.origin(each)}" for each in answer.judged if each.elsewise
    ]
    return [f"Latencies count from {names}.", *differing]


def recheck_sentence(found: Sequence[Change], was: Saved) -> str:
    """Return whether an envelope holds, naming the fields that changed."""
    if not found:
        return f"The envelope of {was.date} holds: nothing it rests on has changed."
    names = list(dict.fromkeys(each.field for each in found))
    shown = names[:_MOST_FIELDS]
    if len(names) > _MOST_FIELDS:
        shown.append(f"{len(names) - _MOST_FIELDS} more")
    return f"The envelope of {was.date} has lapsed. Changed: {text.listed(shown)}."


def reach(each: Judged) -> str:
    """Return how many requests, and seconds, a spell of common trouble may hold."""
    if each.reach is None or each.reach.requests < 1:
        return "none"
    seconds = each.reach.seconds
    lasts = "" if seconds is None else f" ({text.duration(seconds * 1000)})"
    return f"{int(each.reach.requests):,} req{lasts}"


def _met(each: Judged) -> str:
    if len(each.counts) == 1:
        return f"{each.n_met:,} of {each.n_offered:,}"
    return (
        f"{each.n_runs_met} of {len(each.counts)} runs; "
        f"worst {each.worst.n_met:,} of {each.worst.n_offered:,}"
    )


def _missed_by(each: Judged) -> str:
    words = verdicts.missed_by(each)
    return "0" if words is None else words.partition(": ")[2].partition(" (")[0]


def _marked(verdict: Verdict) -> str:
    return f"{MARKS[verdict]} {WORDS[verdict]}"
