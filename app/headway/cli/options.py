"""What commands share: options, the library they read, and how an error ends them."""

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any

import click

from headway import catalog
from headway.catalog import Catalog
from headway.errors import HeadwayError, MisuseError, QueryError

LIBRARY = click.option(
    "--library",
    type=click.Path(path_type=Path),
    default=Path("library"),
    envvar="HEADWAY_LIBRARY",
    show_default=True,
    help="Folder of run files, one sub-folder per study.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def one_of(kind: type[StrEnum]) -> click.Choice[str]:
    """Return the choice of an enum's values: click would offer the names of its members."""
    return click.Choice([member.value for member in kind])


def fails_plainly(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a HeadwayError into one line on stderr and an exit code."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except HeadwayError as error:
            click.echo(f"headway: {error}", err=True)
            sys.exit(2 if isinstance(error, MisuseError | QueryError) else 1)

    return run


def open_library(library: Path) -> Catalog:
    """Open a library; run files that cannot be read are named on stderr and left out.

    Raises
    ------
    MisuseError
        There is no such folder.
    """
    if not library.is_dir():
        raise MisuseError(
            f"there is no library {library}; import results first: headway import PATH "
            f"--library {library}"
        )
    opened = catalog.open_catalog([library])
    for broken in opened.broken:
        click.echo(f"skipped {broken.path.name}: {broken.message}", err=True)
    return opened


def study_of(opened: Catalog, study: str) -> str:
    """Return the name of a study that the library has.

    Raises
    ------
    MisuseError
        It has no such study.
    """
    if study not in opened.studies:
        known = ", ".join(sorted(opened.studies)) or "none"
        raise MisuseError(f"there is no study {study!r} in the library; there are: {known}")
    return study


def chosen_runs(opened: Catalog, run_ids: Sequence[str], study: str | None) -> tuple[str, ...]:
    """Return the runs named, each once, that belong to the study; all that are not restricted.

    Raises
    ------
    MisuseError
        There is no such run or study, or none of the runs belongs to the study.
    """
    named = dict.fromkeys(opened.run(run_id).run_id for run_id in run_ids)
    studies = sorted(opened.studies) if study is None else [study_of(opened, study)]
    if not named:
        return tuple(run.run_id for each in studies for run in opened.of_study(each))
    kept = tuple(run_id for run_id in named if opened.runs[run_id].study in studies)
    if not kept:
        theirs = ", ".join(f"{run_id} of {opened.runs[run_id].study!r}" for run_id in named)
        raise MisuseError(f"no run named belongs to the study {study!r}; found {theirs}")
    return kept
