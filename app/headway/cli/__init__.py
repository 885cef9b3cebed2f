"""The command line: data on stdout, words on stderr.

Exit codes: 0 fine or accepted, 1 some input refused, rejected or not comparable, 2 misuse, 3 not
enough evidence, 130 cancelled.
"""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from headway.cli.differences import diff
from headway.cli.importing import import_
from headway.cli.mappings import mapping
from headway.cli.queries import query
from headway.cli.serving import serve
from headway.cli.summaries import summary
from headway.cli.validating import validate
from headway.cli.verdicts import recheck_, verdict
from headway.version import __version__

# A full disk or device, a pipe that nobody reads, a terminal that is gone.
_OUTPUT_FAILS = (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG)


class _Group(click.Group):
    """Commands that end quietly where nobody takes what they print."""

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


for _command in (serve, import_, mapping, summary, verdict, recheck_, diff, query, validate):
    main.add_command(_command)
