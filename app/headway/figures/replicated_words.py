"""Tests of replicated runs in words: what they found, and whether their order allows a verdict."""

from collections.abc import Sequence

from headway.analyses.comparison import Claimed, Comparison
from headway.analyses.regressions import FailOn
from headway.analyses.replicated import Tested
from headway.figures import text
from headway.stats.comparison import SHARE_BAND, Difference
from headway.stats.order import Order, plan

DIFFERENCES = {
    Difference.BETTER: "better",
    Difference.WORSE: "worse",
    Difference.NO_MEANINGFUL_DIFFERENCE: "no meaningful difference",
    Difference.UNDECIDED: "not enough evidence",
}


def summary(found: Comparison) -> str:
    """Return what the tests of replicated sides found, and in which order the runs were made."""
    a, b, band = found.question.a, found.question.b, found.question.band
    counts = f"{len(a.runs)} and {len(b.runs)} replicates, {len(found.tests)} tests"
    if found.order is not Order.INTERLEAVED:
        return f"{counts}, no verdict: {order(found)}"
    verdicts = {d: sum(each.verdict is d for each in found.tests) for d in Difference}
    counted = [f"{n} {DIFFERENCES[verdict]}" for verdict, n in verdicts.items() if n]
    bands = f"±{band:.0%} for percentiles"
    if any(each.metric is None for each in found.tests):
        bands = f"±{SHARE_BAND * 100:.0f} point for the share that met and {bands}"
    said = ", ".join(counted) or "none tested"
    return f"{counts} against a band of {bands}: {said}; {order(found)}"


def order(found: Comparison) -> str:
    """Return in which order the runs were made, and what that allows."""
    a, b = found.question.a, found.question.b
    advice = " ".join(plan(len(a.runs), len(b.runs)))
    if found.order is Order.INTERLEAVED:
        return f"made interleaved ({found.sequence})"
    if found.order is Order.UNKNOWN:
        return (
            "the order of the runs is not known (start times missing, equal or overlapping), so a "
            f"drift of the machine could pass for policy; record start times and run {advice}"
        )
    return (
        f"the runs were made in blocks ({found.sequence}), so a drift of the machine could pass "
        f"for policy, or hide it; run {advice}"
    )


def gates(found: Comparison, asked: Sequence[FailOn], fired: Sequence[FailOn]) -> list[str]:
    """Return which gates of a pipeline fired, and which of them cannot."""
    lines = []
    is_ordered = found.claim is not Claimed.REPLICATED or found.order is Order.INTERLEAVED
    if FailOn.WORSE in asked and not is_ordered:
        lines.append(f"--fail-on worse cannot fire here: {order(found)}.")
    lines += [f"Failed: --fail-on {each.value}." for each in fired]
    return lines


def met(found: Comparison) -> str:
    """Return the test of the share that met the objective; nothing where there is none."""
    first = next((each for each in found.tests if each.metric is None), None)
    if first is None or first.difference is None:
        return ""
    verdict = "no verdict" if first.is_withheld else DIFFERENCES[first.verdict]
    return f"share that met the objective {points(first.difference.difference)} ({verdict})"


def tested(each: Tested) -> dict[str, str | None]:
    """Return one test as a row: the share that met first, then percentiles."""
    estimate, interval = None, None
    if each.difference is not None:
        shown = [each.difference.difference, each.difference.low, each.difference.high]
        estimate, low, high = (points(value) for value in shown)
        interval = f"{low} to {high}"
    if each.ratio is not None:
        estimate = f"×{each.ratio.ratio:.3f}"
        interval = f"{each.ratio.low:.3f} to {each.ratio.high:.3f}"
    verdict = DIFFERENCES[each.verdict]
    return {
        "tested": "share that met the objective"
        if each.metric is None or each.percentile is None
        else f"{text.METRIC_NAMES[each.metric]} {text.percentile(each.percentile)}",
        "A → B": estimate,
        "95% interval": interval,
        "p": None if each.found is None else p_value(each.found.p).removeprefix("p = "),
        "adjusted p": None if each.q is None else p_value(each.q).removeprefix("p = "),
        "verdict": f"{verdict}: order of the runs" if each.is_withheld else verdict,
    }


def points(share: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return f"{share * 100:+.1f} points".replace("-", "−")


def p_value(p: float) -> str:
    """Return a p-value; one too small to print says so."""
    return "p < 0.0001" if p < 0.0001 else f"p = {text.significant(p)}"
