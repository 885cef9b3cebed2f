"""`headway verdict` and `headway recheck`: decisions with an exit code."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import orjson

from headway.analyses import asking, judgement, recheck
from headway.analyses.acceptance import Asked
from headway.analyses.judgement import Answer, Question
from headway.analyses.recheck import Change, Saved, Value
from headway.catalog import Catalog
from headway.cli.limits import demand_options, limit_options
from headway.cli.options import JSON, LIBRARY, fails_plainly, one_of, open_library
from headway.cli.tables import print_json, printable, table
from headway.errors import MisuseError
from headway.figures import answers, envelope_json
from headway.model import Objective, Origin
from headway.stats.verdicts import Verdict

EXIT_CODES = {Verdict.ACCEPTED: 0, Verdict.REJECTED: 1, Verdict.UNDECIDED: 3}


@click.command()
@LIBRARY
@limit_options
@click.option("--attainment", type=float, help="Share of offered requests to meet every limit.")
@click.option("--study", help="Only the runs of this study.")
@click.option("--policy", help="Only the runs of this policy.")
@demand_options
@click.option("--load", type=float, help="Judge this tested rate, or concurrency.")
@click.option("--up-to", type=float, help="Judge every tested load up to this one.")
@click.option("--claim", type=one_of(Asked), default="workload", show_default=True)
@click.option("--origin", type=one_of(Origin), default="scheduled", show_default=True)
@click.option("--window", default="..", help="A..B over scheduled times, e.g. 0..60s or 500ms..2s.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the verdict and its evidence.")
@JSON
@fails_plainly
def verdict(
    library: Path,
    study: str | None,
    policy: str | None,
    load: float | None,
    up_to: float | None,
    claim: str,
    origin: str,
    window: str,
    out: Path | None,
    *,
    as_json: bool,
    **limits: float | None,
) -> None:
    """Judge every tested load, one of them, or those up to one.

    Exit code 0: all accepted; 1: any rejected; 3: none rejected, any without enough evidence.
    """
    opened = open_library(library)
    name = asking.study_asked(opened, study, limits)
    question = Question(
        objective=asking.objective_asked(limits, asking.declared_by(opened, name)),
        claim=Asked(claim),
        study=name,
        policy=policy,
        load=load,
        up_to=up_to,
        window=asking.parse_window(window),
        origin=Origin(origin),
    )
    judgement.demand(opened, question)
    answer = judgement.answer(opened, question)
    _warn_of_empty(answer)
    if out is not None:
        _write(out, answer, opened)
    if as_json:
        print_json(envelope_json.verdict(answer))
    else:
        _print_answer(answer, asking.declared_by(opened, name))
    sys.exit(EXIT_CODES[answer.verdict])


@click.command("recheck")
@click.argument("envelope", type=click.Path(path_type=Path))
@LIBRARY
@JSON
@fails_plainly
def recheck_(envelope: Path, library: Path, *, as_json: bool) -> None:
    """Judge a saved envelope again: exit code 0 it holds, 1 it has lapsed."""
    was = recheck.read(_content(envelope), envelope.name)
    opened = open_library(library)
    asked = was.selection
    question = Question(
        objective=asking.checked(was.verdict.objective),
        claim=asked.claim,
        study=asked.study,
        policy=asked.policy,
        load=asked.load,
        up_to=asked.up_to,
        window=asked.window,
        origin=asked.origin,
    )
    again = orjson.dumps(_saved(judgement.answer(opened, question), opened))
    found = recheck.changes(was, recheck.read(again, envelope.name))
    if as_json:
        print_json(envelope_json.rechecked(found, was))
    else:
        _print_changes(found, was)
    sys.exit(1 if found else 0)


def _warn_of_empty(answer: Answer) -> None:
    for run in answer.empty:
        click.echo(f"not judged: {run.run_id} has no request in the window", err=True)


def _saved(answer: Answer, opened: Catalog) -> envelope_json.Document:
    return envelope_json.saved(answer, opened, datetime.now(UTC))


def _write(path: Path, answer: Answer, opened: Catalog) -> None:
    content = orjson.dumps(_saved(answer, opened), option=orjson.OPT_INDENT_2)
    try:
        path.write_bytes(content + b"\n")
    except OSError as error:
        raise MisuseError(f"cannot write {path}: {error.strerror}") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise MisuseError(f"cannot read {path}: {error.strerror}") from error


def _print_answer(answer: Answer, declared: Objective | None) -> None:
    for line in (
        answers.gate(answer),
        answers.found(answer),
        answers.objective_sentence(answer, declared),
        *answers.origins(answer),
    ):
        click.echo(printable(line))
    click.echo(f"\n{table([answers.row(each) for each in answer.judged])}")
    for line in answers.acceptances(answer):
        click.echo(f"\n{printable(f'Accepted: {line}.')}")
    for title, reasons, settled in answers.doubts(answer):
        click.echo(f"\n{printable(title)}: not enough evidence")
        for reason in reasons:
            click.echo(f"  - {printable(reason)}")
        click.echo(f"  Would settle it: {printable(settled)}")


def _print_changes(found: Sequence[Change], was: Saved) -> None:
    click.echo(printable(answers.recheck_sentence(found, was)))
    if found:
        # What a field was and is may be a number, text or nothing: all of it is shown as text.
        rows = [
            {
                "about": each.about,
                "field": each.field,
                "was": _text(each.was),
                "is": _text(each.now),
            }
            for each in found
        ]
        click.echo(f"\n{table(rows)}")


def _text(value: Value) -> str | None:
    return None if value is None else str(value)
