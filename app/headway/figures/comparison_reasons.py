"""What limits a comparison, in words: what differs, and what may not be compared for it."""

from headway.analyses.comparability import Part, Reason, Why
from headway.analyses.comparison import Comparison
from headway.figures import text
from headway.stats.fingerprint import Match


def reasons(found: Comparison) -> list[str]:
    """Return everything that limits the comparison, and what each rules out, one sentence each."""
    return [f"{reason(each, found)}{_rules_out(each)}" for each in found.reasons]


def reason(each: Reason, found: Comparison) -> str:
    """Return one limit of the comparison in words."""
    a, b = each.a, each.b
    words = {
        Why.EMPTY: f"no request in the window on one side ({a} in A, {b} in B)",
        Why.DIFFERENT_REQUESTS: "the sides were offered different requests",
        Why.PARTLY_SAME: (
            f"only {a} of {b} paired requests ask for the same, "
            f"{found.match.only_a:,} are only in A and {found.match.only_b:,} only in B"
        ),
        Why.OTHER_ARRIVALS: (
            f"the same requests arrived at other times (A {a}, B {b}), {apart(found.match)}"
        ),
        Why.OTHER_LOAD: f"the loads differ (A {a}, B {b}) and arrivals are not recorded",
        Why.ARRIVALS_UNKNOWN: "the planned arrivals are not recorded on both sides",
        Why.REQUESTS_UNKNOWN: "neither prompt nor output lengths are recorded on both sides",
        Why.NO_INDEX: f"requests cannot be told apart by index (A {a}, B {b})",
        Why.PAIRED_BY_ORDER: f"requests are paired by their order in the file (A {a}, B {b})",
        Why.BOUNDARY: f"measured at different boundaries (A {a}, B {b})",
        Why.CLOCK: f"times come from different clocks (A {a}, B {b})",
        Why.TOKENS: f"tokens were counted differently (A {a}; B {b})",
        Why.HARNESS: f"measured by different tools (A {a}, B {b})",
        Why.ORIGIN: f"latencies count from different instants (A {a}, B {b}); use origin sent",
        Why.WINDOW: f"the windows differ (A {a}, B {b})",
        Why.STOPPED_INSIDE: _stopped(a, b),
        Why.OFFERED_BASIS: f"how many were offered is known in different ways (A {a}, B {b})",
        Why.INCOMPLETE: f"too few completed (A {a}, B {b})",
    }
    return words[each.why]


def apart(match: Match) -> str:
    """Return by how much paired arrivals differ."""
    if match.arrival_median_us is None or match.arrival_shift_us is None:
        return text.NOT_RECORDED
    most = text.duration(match.arrival_shift_us / 1000)
    return f"{text.duration(match.arrival_median_us / 1000)} apart at the median, {most} at most"


def _stopped(a: str | None, b: str | None) -> str:
    said = [f"{side} at {at}" for side, at in (("A", a), ("B", b)) if at]
    return f"stopped before the window ends ({', '.join(said)})"


_PARTS = {
    Part.OUTCOMES: "outcomes",
    Part.MET: "who met the objective",
    Part.PAIRS: "request-by-request differences",
    Part.RATES: "rates and queues",
    Part.CLAIM: "a claim beyond these runs",
    Part.TTFT: "TTFT",
    Part.TPOT: "time per output token",
    Part.STALL: "longest stall",
    Part.LATENCY: "completion",
    Part.HEADLINE: "a latency headline",
}


def _rules_out(each: Reason) -> str:
    if each.forbids == frozenset(Part):
        return ": nothing may be compared"
    listed = [words for part, words in _PARTS.items() if part in each.forbids]
    return f": not compared are {text.listed(listed)}" if listed else ""
