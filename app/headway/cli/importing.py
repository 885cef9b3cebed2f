"""`headway import`: result files into the library."""

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from headway import ingest
from headway.cli import import_words
from headway.cli.options import JSON, LIBRARY, fails_plainly
from headway.cli.parsing import pair
from headway.cli.progress import Bar
from headway.cli.tables import print_json, printable, table
from headway.importers import mapped
from headway.ingest import policy_names

_INTERRUPTED = 130


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@LIBRARY
@click.option("--study", help="Study the runs belong to; else the nearest study.toml's.")
@click.option("--policy", help="Scheduling policy of the runs; else what the source says.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Say what a file omits."
)
@click.option("--mapping", help="What the columns of a table mean: a TOML file, or a saved name.")
@JSON
@fails_plainly
def import_(
    paths: tuple[Path, ...],
    library: Path,
    study: str | None,
    policy: str | None,
    settings: tuple[str, ...],
    mapping: str | None,
    *,
    as_json: bool,
) -> None:
    """Import result files or folders of them into the library."""
    said = ingest.Settings(study=study, policy=policy, set=dict(pair(text) for text in settings))
    read_through = None if mapping is None else mapped.find(mapping, library)
    report = _import(paths, library, said, read_through)
    if as_json:
        print_json(ingest.report_json(report))
    else:
        _print_import(report)
        _print_proposals(report, _options(library, study, settings, mapping))
    for line in import_words.lines(report, library):
        click.echo(printable(line), err=True)
    is_whole = report.imported and not report.refused and not report.left_out
    sys.exit(0 if is_whole else 1)


def _import(
    paths: Iterable[Path], library: Path, said: ingest.Settings, mapping: mapped.Mapping | None
) -> ingest.Report:
    try:
        with ingest.stoppable(), Bar() as progress:
            return ingest.import_paths(paths, library, said, progress, mapping)
    except KeyboardInterrupt as interrupt:
        n_runs = interrupt.n_runs if isinstance(interrupt, ingest.CancelledImport) else 0
        runs = f"{n_runs} run{'' if n_runs == 1 else 's'}"
        click.echo(f"cancelled; the library holds the {runs} imported before", err=True)
        sys.exit(_INTERRUPTED)


def _options(
    library: Path, study: str | None, settings: tuple[str, ...], mapping: str | None
) -> list[str]:
    """Return the options of this import, for the command that repeats it."""
    said = [("--library", str(library)), ("--study", study), ("--mapping", mapping)]
    said += [("--set", each) for each in settings]
    return [word for name, value in said if value is not None for word in (name, value)]


def _print_proposals(report: ingest.Report, options: list[str]) -> None:
    """Say how to name the policies of runs that state none, one command for each group."""
    unnamed = [item for item in report.imported if item.info.policy is None]
    if not unnamed:
        return
    proposals = report.proposed_policies
    runs = f"{len(unnamed)} run{'s state' if len(unnamed) != 1 else ' states'} no policy"
    how = (
        "their files suggest these names; run the commands to set them:"
        if proposals
        else "import again with --policy NAME to name it."
    )
    click.echo(f"{runs}, and {how}", err=True)
    for proposal in proposals:
        said = policy_names.command(proposal, options)
        if not all(source.exists() for source in proposal.sources):
            said = f"--policy {proposal.policy}, for files of a zip: unpack it first"
        click.echo(f"  {printable(said)}", err=True)


def _print_import(report: ingest.Report) -> None:
    click.echo(
        table(
            [
                {
                    "run": item.info.run_id,
                    "study": item.info.study,
                    "policy": item.info.policy or item.info.label,
                    "offered": item.info.n_offered,
                    "outcomes": ", ".join(f"{n} {o}" for o, n in item.outcomes.items() if n),
                    "findings": len(item.info.findings),
                    "replaced": "yes" if item.replaced else "",
                    "source": str(item.source),
                }
                for item in report.imported
            ]
        )
    )
