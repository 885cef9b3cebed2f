"""The command line: data on stdout, words on stderr.

Exit codes: 0 fine or accepted, 1 some input refused, rejected or not comparable, 2 misuse, 3 not
enough evidence, 130 cancelled.
"""

import errno
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from headway.version import __version__

# A full disk or device, a pipe that nobody reads, a terminal that is gone.
_OUTPUT_FAILS = (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True)
class _Command:
    """Where a command is, and its line in the help."""

    module: str
    name: str
    help: str


_COMMANDS = {
    "diff": _Command("differences", "diff", "Compare two runs, policies or files: A and B."),
    "import": _Command("importing", "import_", "Import result files into the library."),
    "mapping": _Command("mappings", "mapping", "Say what the columns of a table mean."),
    "query": _Command("queries", "query", "Run a stored query over the library."),
    "recheck": _Command("verdicts", "recheck_", "Judge a saved envelope again."),
    "serve": _Command("serving", "serve", "Serve the dashboard."),
    "summary": _Command("summaries", "summary", "Summarise runs: outcomes, rates, percentiles."),
    "validate": _Command("validating", "validate", "Check run files against the record."),
    "verdict": _Command("verdicts", "verdict", "Judge every tested load."),
}


class _Group(click.Group):
    """Commands that are imported when they are run, and end quietly where nobody reads them.

    What the commands import takes a second; the help needs none of it.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is none of this name."""
        del ctx
        found = _COMMANDS.get(cmd_name)
        if found is None:
            return None
        command: click.Command = getattr(import_module(f"{__name__}.{found.module}"), found.name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.help) for name, each in _COMMANDS.items()])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; output that fails is one line on stderr and exit code 1."""
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.errno not in _OUTPUT_FAILS or error.filename is not None:
                raise
            # What is left in the buffers would fail once more when Python flushes them at its end.
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
            with suppress(OSError):
                click.echo(f"headway: the output cannot be written ({error.strerror})", err=True)
            sys.exit(1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="headway")
def main() -> None:
    """Read LLM-serving benchmark results; account for every offered request."""
