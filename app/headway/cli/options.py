"""What commands share: options, the library they read, and how an error ends them."""

import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any

import click

from headway import catalog
from headway.catalog import Catalog
from headway.cli.tables import printable
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
            click.echo(printable(f"headway: {error}"), err=True)
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
        click.echo(printable(f"left out {broken.path.name}: {broken.message}"), err=True)
    return opened
