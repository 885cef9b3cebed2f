"""`headway mapping`: what the columns of a table mean, proposed, checked and listed."""

import sys
from pathlib import Path
from typing import Any

import click

from headway import ingest
from headway.cli.options import JSON, LIBRARY, fails_plainly
from headway.cli.tables import print_json, table
from headway.errors import HeadwayError, MisuseError
from headway.importers import mapped


@click.group()
def mapping() -> None:
    """Say what the columns of a table mean, so that it can be imported."""


FILE = click.argument("path", type=click.Path(path_type=Path))


@mapping.command()
@FILE
@LIBRARY
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File for the mapping.")
@JSON
@fails_plainly
def propose(path: Path, library: Path, out: Path | None, *, as_json: bool) -> None:
    """Propose a mapping for a table, each line with its reason, and ask what it does not tell."""
    proposal = mapped.propose(path, library)
    said = mapped.dumps(proposal.mapping, _comments(proposal))
    if out is not None:
        _write(out, said)
    if as_json:
        print_json(_proposal_json(proposal, said))
        return
    click.echo(table([_line(line) for line in proposal.lines]), err=out is None)
    for question in proposal.questions:
        click.echo(f"open: {_asked(question)}", err=True)
    click.echo(said if out is None else f"written to {out}", nl=out is not None)


def _write(out: Path, said: str) -> None:
    try:
        with out.open("x", encoding="utf-8") as stream:
            stream.write(said)
    except OSError as error:
        raise MisuseError(
            f"{out} cannot be written ({error.strerror}); name a file that is not there yet"
        ) from error


def _asked(question: mapped.Question) -> str:
    choices = f" ({', '.join(question.choices)})" if question.choices else ""
    return f"{question.key}: {question.text}{choices}"


def _comments(proposal: mapped.Proposal) -> list[str]:
    asked = [f"to be said: {_asked(question)}" for question in proposal.questions]
    return [*asked, *(f"{line.key}: {line.reason}" for line in proposal.lines)]


def _line(line: mapped.Line) -> dict[str, Any]:
    return {
        "key": line.key,
        "columns": ", ".join(line.columns),
        "confidence": line.confidence.value,
        "reason": line.reason,
    }


def _proposal_json(proposal: mapped.Proposal, said: str) -> dict[str, Any]:
    return {
        "mapping": said,
        "known": proposal.known,
        "lines": [_line(line) | {"columns": list(line.columns)} for line in proposal.lines],
        "questions": [_question(question) for question in proposal.questions],
    }


def _question(question: mapped.Question) -> dict[str, Any]:
    return {"key": question.key, "text": question.text, "choices": list(question.choices)}


@mapping.command("list")
@LIBRARY
@JSON
@fails_plainly
def list_(library: Path, *, as_json: bool) -> None:
    """List the mappings that come with Headway, and those saved in the library."""
    known, broken = mapped.listed(library)
    rows = [
        {
            "name": each.name,
            "kind": each.mapping.purpose.value,
            "origin": each.origin,
            "made_for": list(each.mapping.made_for),
        }
        for each in known
    ]
    if as_json:
        print_json(rows)
    else:
        click.echo(table([row | {"made_for": ", ".join(row["made_for"])} for row in rows]))
    for each in broken:
        click.echo(f"skipped {each.path.name}: {each.message}", err=True)


@mapping.command()
@click.argument("name")
@FILE
@LIBRARY
@click.option("--rows", "n_rows", type=click.IntRange(1, 1000), default=5, show_default=True)
@JSON
@fails_plainly
def check(name: str, path: Path, library: Path, n_rows: int, *, as_json: bool) -> None:
    """Show what a table becomes through a mapping (a file or a saved name), and what is wrong."""
    said = mapped.find(name, library)
    seen = mapped.preview(path, said, n_rows, limit=None)
    problems = [*seen.problems, *_on_import(path, said, seen)]
    if as_json:
        print_json(_preview_json(seen, problems))
    else:
        _print_preview(seen)
    for question in seen.questions:
        click.echo(f"open: {_asked(question)}", err=True)
    for problem in problems:
        kind = "refused" if problem.refuses else problem.severity.value
        click.echo(f"{kind}: {problem.message}", err=True)
    sys.exit(2 if seen.questions else 1 if any(each.refuses for each in problems) else 0)


def _on_import(path: Path, said: mapped.Mapping, seen: mapped.Preview) -> list[mapped.Problem]:
    """Return what only shows when rows become runs, and that a preview of fields does not see."""
    if not seen.is_usable:
        return []
    try:
        ingest.rehearse(path, said)
    except HeadwayError as error:
        return [mapped.Problem(error.code, str(error), refuses=True)]
    return []


def _print_preview(seen: mapped.Preview) -> None:
    rows = [
        {"row": str(number)} | {field.target: _shown(field.becomes[at]) for field in seen.fields}
        for at, number in enumerate(seen.row_numbers)
    ]
    click.echo(table(rows))
    for run in seen.runs:
        split = ", ".join(f"{column} {value}" for column, value in run.split)
        click.echo(f"run {run.place}: {run.n_rows} requests{f', {split}' if split else ''}")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        more = ", …" if len(value) > 3 else ""
        return f"[{', '.join(str(each) for each in value[:3])}{more}]"
    return "" if value is None else str(value)


def _preview_json(seen: mapped.Preview, problems: list[mapped.Problem]) -> dict[str, Any]:
    return {
        "n_read": seen.n_read,
        "rows": list(seen.row_numbers),
        "fields": [
            {
                "field": field.target,
                "from": list(field.source),
                "found": [list(column) for column in field.found],
                "becomes": list(field.becomes),
                "n_known": field.n_known,
            }
            for field in seen.fields
        ],
        "runs": [
            {"place": run.place, "split": dict(run.split), "n_rows": run.n_rows}
            for run in seen.runs
        ],
        "problems": [
            {
                "code": problem.code,
                "refuses": problem.refuses,
                "severity": problem.severity.value,
                "count": problem.count,
                "field": problem.target,
                "rows": list(problem.rows),
                "message": problem.message,
            }
            for problem in problems
        ],
        "questions": [_question(question) for question in seen.questions],
    }
