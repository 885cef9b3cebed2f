"""`headway diff`: two runs, or two policies at one load, on one workload."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from headway import catalog, ingest, record
from headway.analyses import asking, comparison, configurations, regressions, sides
from headway.analyses.comparison import Comparison, Question
from headway.analyses.regressions import FailOn
from headway.analyses.shift import Change, ShiftPoint
from headway.analyses.sides import Side
from headway.catalog import Catalog
from headway.cli.limits import limit_options
from headway.cli.options import JSON, LIBRARY, fails_plainly, one_of, open_library
from headway.cli.tables import print_json, printable, table
from headway.errors import ImportRefusedError, MisuseError
from headway.figures import comparison_json, comparison_words, replicated_words, text
from headway.model import Origin


@click.command("diff")
@click.argument("a")
@click.argument("b")
@LIBRARY
@click.option("--load", type=float, help="Load of the policies named: a rate, or a concurrency.")
@click.option("--study", help="Study of the policies named.")
@limit_options
@click.option("--origin", type=one_of(Origin), default="scheduled", show_default=True)
@click.option("--window", default="..", help="A..B over scheduled times, e.g. 0..60s or 500ms..2s.")
@click.option(
    "--fail-on", type=one_of(FailOn), multiple=True, help="Exit 1 on this; may be repeated."
)
@JSON
@fails_plainly
def diff(
    a: str,
    b: str,
    library: Path,
    load: float | None,
    study: str | None,
    origin: str,
    window: str,
    fail_on: tuple[str, ...],
    *,
    as_json: bool,
    **limits: float | None,
) -> None:
    """Compare A and B, each a run id, a policy, a run file or a result file.

    Exit code 0: compared; 1: not comparable, or something that --fail-on names was found.
    """
    gates = [FailOn(name) for name in fail_on]
    with _opened(library, (a, b)) as opened:
        first, second = (_side(opened, name, load, study) for name in (a, b))
        question = Question(
            a=first,
            b=second,
            window=asking.parse_window(window),
            origin=Origin(origin),
            objective=asking.objective_between(opened.catalog, (first, second), limits),
        )
        found = comparison.compare(opened.catalog, question)
        # Before anything is printed: a gate that cannot be judged is misuse.
        fired = regressions.fired(opened.catalog, found, gates)
        if as_json:
            print_json(comparison_json.difference(found))
        else:
            _print(found)
    for line in replicated_words.gates(found, gates, fired):
        click.echo(printable(line), err=True)
    sys.exit(0 if found.is_comparable and not fired else 1)


@dataclass(frozen=True, slots=True)
class _Opened:
    """The library and the files beside it; `of_path` holds the runs of each file that was named."""

    catalog: Catalog
    of_path: dict[str, tuple[str, ...]]


@contextmanager
def _opened(library: Path, names: Sequence[str]) -> Iterator[_Opened]:
    """Open the library, and files that are named, beside it and without changing it.

    A result file is imported into a folder that is gone when the command ends.
    """
    known = open_library(library) if library.is_dir() else None
    paths = [name for name in names if not _is_known(known, name) and Path(name).exists()]
    if not paths:
        yield _Opened(known or open_library(library), {})
        return
    with TemporaryDirectory(prefix="headway-") as folder:
        files = {
            name: _run_files(Path(name), Path(folder) / str(place))
            for place, name in enumerate(paths)
        }
        beside = [file for found in files.values() for file in found]
        # A file that is named comes before the library's copy of the same run.
        whole = catalog.open_catalog([*beside, *([library] if known else [])])
        yield _Opened(whole, {name: _run_ids(found) for name, found in files.items()})


def _is_known(known: Catalog | None, name: str) -> bool:
    return known is not None and (
        name in known.runs or name in configurations.names_of(known, known.runs.values()).values()
    )


def _run_files(path: Path, scratch: Path) -> list[Path]:
    """Return the run files that a path is or holds, a result file imported first."""
    found = catalog.run_files([path]) if path.is_dir() or path.suffix == ".parquet" else []
    if found:
        return found
    report = ingest.import_paths([path], scratch, ingest.Settings())
    if report.refused:
        refusal = report.refused[0]
        raise ImportRefusedError(refusal.code, f"{refusal.source}: {refusal.message}")
    if not report.imported:
        raise MisuseError(f"{path} holds no result that Headway knows; see docs/formats.md")
    return catalog.run_files([scratch])


def _run_ids(files: Sequence[Path]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.read_info(file).run_id for file in files))


def _side(opened: _Opened, name: str, load: float | None, study: str | None) -> Side:
    if name not in opened.of_path:
        if study is not None:
            asking.study_of(opened.catalog, study)
        return sides.named(opened.catalog, name, load, study)
    found = sides.every(opened.catalog, opened.of_path[name])
    if len(found) > 1:
        shown = "; ".join(f"{side.title} ({side.run.run_id})" for side in found)
        raise MisuseError(f"{name} holds {len(found)} sets of runs: {shown}; name a single file")
    return found[0]


def _print(found: Comparison) -> None:
    for line in (
        comparison_words.sentence(found),
        comparison_words.claim(found),
        "",
        f"Workload: {comparison_words.workload(found)}.",
        f"Changed: {comparison_words.changed(found)}.",
        *(f"Limits: {each}." for each in comparison_words.reasons(found)),
    ):
        click.echo(printable(line))
    floor = comparison_words.noise(found.noise, found.question.a)
    banded = comparison_words.has_within(found)
    within = [f"within run: {comparison_words.WITHIN_RUN}"] if banded else []
    outcomes = [comparison_words.discordant(each) for each in found.discordant]
    for title, rows, notes in (
        ("Outcomes, A → B", _transitions(found), outcomes),
        ("Percentiles of offered requests", _shift(found), [*within, floor]),
        ("Replicated", [replicated_words.tested(each) for each in found.tests], []),
        ("Scorecard over the window of arrivals", _scorecard(found), []),
    ):
        if rows:
            click.echo(f"\n{title}\n{table(rows)}")
            for line in notes:
                click.echo(printable(line))


def _transitions(found: Comparison) -> list[dict[str, object]]:
    return [
        {
            "A": text.outcome(each.a) if each.a else "not offered",
            "B": text.outcome(each.b) if each.b else "not offered",
            "requests": each.n,
        }
        for each in found.transitions
    ]


def _shift(found: Comparison) -> list[dict[str, object]]:
    has_within = comparison_words.has_within(found)
    return [
        {
            "metric": text.METRIC_NAMES[each.metric],
            "percentile": text.percentile(point.share),
            "A": _reached(point.a_ms),
            "B": _reached(point.b_ms),
            "change": _change(point),
        }
        | ({"within run": comparison_words.within(point)} if has_within else {})
        | ({} if found.noise is None else {"noise": _noise(point)})
        for each in found.shifts
        for point in each.points
    ]


def _noise(point: ShiftPoint) -> str | None:
    return None if point.noise is None else f"±{point.noise:.1%}"


def _reached(value_ms: float | None) -> str:
    return "not reached" if value_ms is None else text.duration(value_ms)


def _change(point: ShiftPoint) -> str:
    return comparison_words.moved(point) if point.change is Change.MEASURED else point.change.value


def _scorecard(found: Comparison) -> list[dict[str, object]]:
    return [
        {
            "": comparison_words.row(each.row),
            "A": comparison_words.score(each.a, each.unit),
            "B": comparison_words.score(each.b, each.unit),
            "B − A": (
                comparison_words.score(each.difference, each.unit, signed=True)
                if each.is_compared
                else "not compared"
            ),
        }
        for each in found.scorecard
    ]
