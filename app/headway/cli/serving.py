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
@click.option(
    "--max-upload-mb",
    type=click.IntRange(1, 8000),
    default=64,
    show_default=True,
    help="Size of the largest file that the Import page takes.",
)
@fails_plainly
def serve(
    paths: tuple[Path, ...], library: Path, port: int, address: str, max_upload_mb: int
) -> None:
    """Serve the dashboard over the library, or over these libraries, runs or result files."""
    shown = paths or (library,)
    sys.exit(serving.serve(shown, port=port, address=address, max_upload_mb=max_upload_mb))
