"""Whole answers in words: one sentence for people who read no further, and rows of a table."""

from collections.abc import Sequence

from headway.analyses.acceptance import Judged
from headway.analyses.judgement import Answer
from headway.analyses.recheck import Change, Saved
from headway.figures import text, verdicts
from headway.figures.verdicts import CLAIMS, IN_RUN_MARKS, MARKS, WORDS
from headway.model import Objective
from headway.stats.verdicts import Verdict

_MOST_FIELDS = 6


def sentence(answer: Answer) -> str:
    """Return the verdict in words: over load, or at the one load that was asked for."""
    asked = answer.question.claim
    if answer.question.load is None or not answer.judged:
        return verdicts.sentence(answer.envelopes, asked)
    where = text.listed(dict.fromkeys(each.load_text for each in answer.judged))
    said = "; ".join(
        f"{each.line} {WORDS[each.verdict(asked)]} ({_met(each)} met)" for each in answer.judged
    )
    return f"{CLAIMS[asked].capitalize()}, at {where}: {said}."


def objective_sentence(answer: Answer, declared: Objective | None) -> str:
    """Return the objective in force, and whether it is the one that was declared."""
    said = f"Objective: {objective(answer.question.objective)}"
    if answer.is_declared:
        return f"{said}; as the study declares."
    if declared is None:
        return f"{said}; none is declared."
    return f"{said}. It departs from the declared one: {objective(declared)}."


def objective(limits: Objective) -> str:
    """Return the limits and the share of offered requests that must meet all of them."""
    kept = [
        f"{text.METRIC_NAMES[metric]} ≤ {text.limit(limit)}"
        for metric, limit in limits.limits().items()
    ]
    return f"{', '.join(kept)}, {text.share(limits.attainment)} of offered requests"


def row(each: Judged) -> dict[str, str]:
    """Return one run or set of replicates as a row: three claims side by side."""
    more = len(each.runs) - 1
    return {
        "policy": each.line,
        "load": each.load_text,
        "in this run": f"{IN_RUN_MARKS[each.in_run]} {each.in_run.value}",
        "workload": _marked(each.workload.verdict),
        "traffic": _marked(each.traffic.verdict),
        "met of offered": _met(each),
        "n_eff": text.significant(each.effective.n_eff) if each.effective else text.NOT_RECORDED,
        "steady": each.steady.value.replace("_", " "),
        "run": f"{each.run.run_id} and {more} more" if more else each.run.run_id,
    }


def doubts(answer: Answer) -> list[tuple[str, list[str], str]]:
    """Return every undecided run: its name, the reasons, and what would settle it."""
    asked, target = answer.question.claim, answer.question.objective
    return [
        (each.title, verdicts.reasons(each, target), verdicts.settles(each, asked, target) or "")
        for each in answer.judged
        if each.verdict(asked) is Verdict.UNDECIDED
    ]


def recheck_sentence(found: Sequence[Change], was: Saved) -> str:
    """Return whether an envelope holds, naming the fields that changed."""
    if not found:
        return f"The envelope of {was.date} holds: nothing it rests on has changed."
    names = list(dict.fromkeys(each.field for each in found))
    shown = names[:_MOST_FIELDS]
    if len(names) > _MOST_FIELDS:
        shown.append(f"{len(names) - _MOST_FIELDS} more")
    return f"The envelope of {was.date} has lapsed. Changed: {text.listed(shown)}."


def _met(each: Judged) -> str:
    return f"{each.n_met:,} of {each.n_offered:,}"


def _marked(verdict: Verdict) -> str:
    return f"{MARKS[verdict]} {WORDS[verdict]}"
