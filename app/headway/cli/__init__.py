"""The command line: data on stdout, words on stderr.

Exit codes: 0 fine or accepted, 1 some input refused, rejected or not comparable, 2 misuse, 3 not
enough evidence, 130 cancelled.
"""

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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="headway")
def main() -> None:
    """Read LLM-serving benchmark results; account for every offered request."""


for _command in (serve, import_, mapping, summary, verdict, recheck_, diff, query, validate):
    main.add_command(_command)
