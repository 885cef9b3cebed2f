"""`headway validate`: whether run files, by any writer, keep the rules of the record."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from headway import catalog, record
from headway.cli.options import JSON, fails_plainly
from headway.cli.tables import print_json, printable
from headway.errors import ImportRefusedError, MisuseError, RecordError
from headway.importers.survival import survived


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@JSON
@fails_plainly
def validate(paths: tuple[Path, ...], *, as_json: bool) -> None:
    """Check run files, or folders of them, against every rule of the record.

    Exit code 0: all are sound; 1: one is not. Warnings change nothing.
    """
    found = [checked(path) for path in _run_files(paths)]
    if as_json:
        print_json(_document(found))
    else:
        for each in found:
            click.echo("\n".join(printable(line) for line in _lines(each)))
        n_broken = sum(not each.is_sound for each in found)
        click.echo(f"{len(found) - n_broken} sound, {n_broken} not", err=True)
    sys.exit(0 if all(each.is_sound for each in found) else 1)


def checked(path: Path) -> record.Conformance:
    """Check a file, and that the library opens it: a damaged footer may fool one reader of two."""
    found = record.Conformance(path)
    try:
        with survived(path.name):
            found = record.check(path)
            refused = catalog.open_catalog([path]).broken if found.is_sound else ()
        messages = [broken.message for broken in refused if broken.path == path]
    except ImportRefusedError as refusal:
        messages = [str(refusal)]
    found.problems += [RecordError("readable", message) for message in messages]
    return found


def _run_files(paths: Sequence[Path]) -> list[Path]:
    for path in paths:
        if path.is_dir() and not catalog.run_files([path]):
            raise MisuseError(f"{path} holds no run file; expected <study>/<run_id>.parquet in it")
        if path.name.endswith(record.STATE_SUFFIX):
            run_file = path.name.replace(record.STATE_SUFFIX, ".parquet")
            raise MisuseError(f"{path} accompanies a run and is checked with it: name {run_file}")
    return catalog.run_files(paths)


def _lines(found: record.Conformance) -> list[str]:
    return [
        f"{'sound' if found.is_sound else 'broken'}  {found.path}",
        *(f"  {error.rule}: {_message(error)}" for error in found.problems),
        *(f"  warning, {poor.code}: {poor.message}" for poor in found.warnings),
    ]


def _document(found: Sequence[record.Conformance]) -> dict[str, Any]:
    return {
        "sound": all(each.is_sound for each in found),
        "files": [
            {
                "file": str(each.path),
                "run_id": None if each.info is None else each.info.run_id,
                "sound": each.is_sound,
                "problems": [{"rule": e.rule, "message": _message(e)} for e in each.problems],
                "warnings": [{"code": p.code, "message": p.message} for p in each.warnings],
            }
            for each in found
        ],
    }


def _message(error: RecordError) -> str:
    return str(error).removesuffix(f" [rule: {error.rule}]")
