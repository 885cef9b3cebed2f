"""Start the dashboard as a process of its own, over libraries, run files or raw result files."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from headway import catalog, ingest
from headway.errors import ImportRefusedError, MisuseError

PATHS_VARIABLE = "HEADWAY_PATHS"
_PATIENCE_S = 10
_ENTRY = Path(__file__).parent / "web" / "asgi.py"


def serve(paths: Sequence[Path], *, port: int, address: str, max_upload_mb: int = 64) -> int:
    """Serve until interrupted; return the process's exit code.

    Raw result files are imported into a library that lasts as long as the process.

    Raises
    ------
    MisuseError
        A path does not exist.
    ImportRefusedError
        A raw result file cannot be imported.
    """
    with _stoppable(), TemporaryDirectory(prefix="headway-") as folder:
        shown = _shown(paths, Path(folder))
        environment = os.environ | {
            PATHS_VARIABLE: os.pathsep.join(str(path.resolve()) for path in shown)
        }
        command = [sys.executable, "-m", "streamlit", "run", str(_ENTRY)]
        options = ["--server.port", str(port), "--server.address", address]
        options += ["--server.maxUploadSize", str(max_upload_mb)]
        # Streamlit would ask the internet for its own address when it binds to every interface.
        options += ["--browser.serverAddress", "localhost"]
        process = subprocess.Popen([*command, *options], env=environment)  # noqa: S603 our own entry
        try:
            return process.wait()
        finally:
            _end(process)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Leave by an exception when told to stop, so that everything on the way is cleaned up.

    A second signal changes nothing: the first is being obeyed.
    """

    def stop(*_: object) -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        sys.exit(0)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _shown(paths: Sequence[Path], scratch: Path) -> list[Path]:
    """Return what to show: libraries and run files as they are, everything else imported first."""
    known: list[Path] = []
    raw: list[Path] = []
    for path in paths:
        if not path.exists():
            raise MisuseError(f"{path} does not exist; expected a library, a run or a result file")
        is_library = path.is_dir() and (catalog.run_files([path]) or not any(path.iterdir()))
        (known if is_library or path.suffix == ".parquet" else raw).append(path)
    if raw:
        report = ingest.import_paths(raw, scratch, ingest.Settings())
        if report.refused:
            refusal = report.refused[0]
            raise ImportRefusedError(refusal.code, f"{refusal.source}: {refusal.message}")
        known.append(scratch)
    return known
