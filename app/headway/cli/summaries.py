"""`headway summary`: accounting, rates and percentiles of runs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from headway.analyses import asking, documents
from headway.analyses.distribution import Description, Percentile
from headway.analyses.summary import RunSummary, summarise
from headway.cli.options import JSON, LIBRARY, fails_plainly, one_of, open_library
from headway.cli.parsing import parse_percentiles
from headway.cli.tables import print_json, table
from headway.figures import text
from headway.model import Basis, Method, Metric, Origin, Outcome, Selection
from headway.numbers import brief


@click.command()
@LIBRARY
@click.option("--run", "run_ids", multiple=True, help="Run id; repeat for more. Default: all.")
@click.option("--study", help="Only the runs of this study.")
@click.option("--percentiles", default="50,90,95,99", show_default=True)
@click.option("--method", type=one_of(Method), default="nearest", show_default=True)
@click.option("--basis", type=one_of(Basis), default="offered", show_default=True)
@click.option("--origin", type=one_of(Origin), default="scheduled", show_default=True)
@click.option("--window", default="..", help="A..B over scheduled times, e.g. 0..60s or 500ms..2s.")
@JSON
@fails_plainly
def summary(
    library: Path,
    run_ids: tuple[str, ...],
    study: str | None,
    percentiles: str,
    method: str,
    basis: str,
    origin: str,
    window: str,
    *,
    as_json: bool,
) -> None:
    """Summarise runs: accounting, rates, percentiles, and the tool's own numbers."""
    opened = open_library(library)
    selection = Selection(
        run_ids=asking.chosen_runs(opened, run_ids, study),
        window=asking.parse_window(window),
        basis=Basis(basis),
        origin=Origin(origin),
        method=Method(method),
    )
    shares = parse_percentiles(percentiles)
    summaries = summarise(opened, selection, shares=shares)
    if as_json:
        print_json(documents.summary(selection, summaries))
    else:
        apart = _apart(summaries)
        click.echo(table([_summary_row(each, apart) for each in summaries]))
        for line in (*_timeless(summaries), *_without_successes(selection, summaries)):
            click.echo(line, err=True)


def _apart(summaries: Sequence[RunSummary]) -> str | None:
    """Return what tells runs apart that share policy and load; None where none do.

    The label does where each of them has another one, else the name of the source.
    """
    named = Counter((each.run.policy, each.run.load.declared_rps) for each in summaries)
    if max(named.values(), default=0) < 2:
        return None
    labelled = Counter(
        (each.run.policy, each.run.load.declared_rps, each.run.label) for each in summaries
    )
    return "label" if max(labelled.values()) < 2 else "source"


def _summary_row(each: RunSummary, apart: str | None) -> dict[str, object]:
    ttft, stall, latency = (each.metrics[m] for m in (Metric.TTFT, Metric.STALL, Metric.LATENCY))
    lost = {o.value: n for o, n in each.account.outcomes.items() if n and o.value != "completed"}
    return {
        "run": each.run.run_id,
        "policy": each.run.policy or each.run.label,
        **({"source": each.run.source_name} if apart == "source" else {}),
        **({"label": each.run.label} if apart == "label" else {}),
        "declared req/s": each.run.load.declared_rps,
        "offered": each.account.n_offered,
        "completed": each.account.outcomes[Outcome.COMPLETED],
        "completed/s": _rate(each.rates.completed_rps),
        "output tok/s": _rate(each.rates.output_tokens_per_s),
        "other": ", ".join(f"{n} {name}" for name, n in lost.items()) or None,
        **{f"TTFT p{k} ms": v for k, v in _points(ttft)},
        **{f"stall p{k} ms": v for k, v in _points(stall)},
        **{f"latency p{k} ms": v for k, v in _points(latency)},
    }


def _points(found: Description) -> list[tuple[str, str]]:
    chosen = [found.percentiles[0], found.percentiles[-1]] if found.percentiles else []
    return [
        (documents.percentile_name(point.share), _value(point, found.denominator))
        for point in chosen
    ]


def _without_successes(selection: Selection, summaries: Sequence[RunSummary]) -> Iterator[str]:
    """Say of which runs it is not known what the tool counted as a success."""
    for each in summaries:
        why = documents.basis_why(selection, each)
        if why is not None:
            yield f"run {each.run.run_id}: no number over the tool's own successes: {why}"


def _rate(value: float | None) -> str | None:
    return None if value is None else brief(value)


def _value(point: Percentile, n: int) -> str:
    """Return a percentile in ms, as a lower bound where n requests cannot carry it."""
    if point.value_ms is None:
        return "not reached"
    said = brief(point.value_ms, 4)
    return said if text.is_carried(point.share, n) else f"≥ {said} ({text.carried(n)})"


def _timeless(summaries: Sequence[RunSummary]) -> Iterator[str]:
    """Say of which completed requests no rate knows."""
    for each in summaries:
        if each.rates.n_without_instant:
            yield (
                f"run {each.run.run_id}: {each.rates.n_without_instant:,} completed requests are "
                "in no rate (req/s, tok/s), for it is unknown when they completed"
            )
