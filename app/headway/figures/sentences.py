"""The one line above a chart: what it shows, in numbers, taken from results and never fixed."""

from collections.abc import Mapping, Sequence

from headway.analyses.distribution import Description
from headway.figures import text
from headway.model import Metric, Phase, Status
from headway.stats.intervals import smallest_n

MOST_RUNS = 4

_DELIVERED = {
    Metric.TTFT: "delivered a first token",
    Metric.GAP: "gaps were counted",
}


def tail_sentence(
    described: Sequence[Description], names: Mapping[str, str], load: str | None
) -> str:
    """Return the highest percentile of each run; many runs are left to the table.

    `load` is the load that all runs share, if they do; their names then need not repeat it.
    """
    measured = [each for each in described if each.percentiles]
    if not measured or len(measured) > MOST_RUNS:
        return ""
    name = text.percentile(measured[0].percentiles[-1].share)
    values = [
        f"{names[each.run_id]} {_reached(each)}" for each in measured if each.stratum == "all"
    ]
    where = f" at {load}" if load else ""
    return f"{name}{where}: {', '.join(values)}" if values else ""


def _reached(described: Description) -> str:
    point = described.percentiles[-1]
    if point.value_ms is None:
        return f"not reached ({text.share(described.delivered)} delivered)"
    return text.percentile_value(point, described)


def delivery_sentence(described: Sequence[Description], metric: Metric) -> str:
    """Return how many of the population delivered the metric, over all shown runs.

    Warm-up, which only the split by phase shows, is in no population.
    """
    counted = [each for each in described if each.stratum != Phase.WARMUP]
    measured = [each for each in counted if each.status is Status.MEASURED]
    n = sum(each.n for each in measured)
    denominator = sum(each.denominator for each in measured)
    if not denominator:
        return ""
    verb = _DELIVERED.get(metric, "completed")
    if metric is Metric.GAP:
        return f"{text.count(n)} {verb}"
    every = "all " if n == denominator else ""
    return f"{every}{text.count(n)} of {text.count(denominator)} {verb}"


def bounds_note(described: Sequence[Description]) -> str:
    """Return what the grey bounds under percentiles are, and what the tails still lack."""
    least = min(each.n_eff for each in described if each.n_eff is not None)
    share = max(point.share for each in described for point in each.percentiles)
    needed = int(smallest_n(share))
    name = text.percentile(share)
    lacking = (
        f" An upper bound of {name} needs {needed:,} effective requests; the least here is "
        f"{least:,.0f}."
        if least < needed
        else ""
    )
    return (
        "Grey: bounds for traffic like this, 95% order statistics on the effective number of "
        f"requests; … where no bound exists.{lacking}"
    )
