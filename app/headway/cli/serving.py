"""`headway serve`: the dashboard."""

import sys
from pathlib import Path

import click

from headway import serving
from headway.cli.options import LIBRARY, fails_plainly


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@LIBRARY
@click.option("--port", default=8501, show_default=True, envvar="PORT", help="Port to serve on.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Address to bind.")
@fails_plainly
def serve(paths: tuple[Path, ...], library: Path, port: int, address: str) -> None:
    """Serve the dashboard over the library, or over these libraries, runs or result files."""
    sys.exit(serving.serve(paths or (library,), port=port, address=address))
