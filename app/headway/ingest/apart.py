"""Reading in a process of its own, under limits, for files that nobody vouches for.

A crafted or corrupt file can crash a parser or make it allocate without end. Here that ends the
process and becomes a sentence; the dashboard and the library stay as they were.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import orjson

from headway.importers import mapped
from headway.ingest.archives import Unpacking
from headway.ingest.library import remove_stale_staging
from headway.ingest.settings import Settings

_PATIENCE_S = 5
# A burst of imports waits for its turn: the machine serves the pages too.
_AT_ONCE = threading.BoundedSemaphore(2)
_TURN_S = 0.1
# Of the environment, only what a Python needs to start: no credentials of the host get through.
_KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TZ", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Limits:
    """What an import may take; the system ends it beyond.

    Parameters
    ----------
    memory_bytes
        What it may allocate.
    cpu_s, wall_s
        Processor time, and time altogether.
    file_bytes
        Size of any file that it writes.
    unpacking
        How much a zip may hold.
    """

    memory_bytes: int = 3 << 30
    cpu_s: int = 600
    wall_s: int = 900
    file_bytes: int = 2 << 30
    unpacking: Unpacking = field(default_factory=Unpacking)


_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class State:
    """How far a task is: under way, or over with a result or with why there is none."""

    n_done: int = 0
    n_sources: int = 0
    name: str = ""
    share: float = 0.0
    result: dict[str, Any] | None = None
    failure: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.result is not None or self.failure is not None


def importing(
    paths: Sequence[Path],
    library: Path,
    scratch: Path,
    settings: Settings,
    mapping: mapped.Mapping | None = None,
    limits: Limits = _LIMITS,
) -> "Apart":
    """Start an import; its result is the document of `headway import --json`."""
    asked = {
        "task": "import",
        "paths": [str(path.resolve()) for path in paths],
        "library": str(library.resolve()),
        "settings": {"study": settings.study, "policy": settings.policy, "set": dict(settings.set)},
        "mapping": None if mapping is None else mapped.dumps(mapping),
    }
    return Apart(asked, scratch, limits, library)


def proposing(path: Path, library: Path, scratch: Path, limits: Limits = _LIMITS) -> "Apart":
    """Start to propose a mapping for a table, which says it as TOML, with reasons and questions."""
    asked = {"task": "propose", "path": str(path.resolve()), "library": str(library.resolve())}
    return Apart(asked, scratch, limits)


def previewing(path: Path, mapping: str, scratch: Path, limits: Limits = _LIMITS) -> "Apart":
    """Start to show what the first rows of a table become through a mapping, given as TOML."""
    return Apart(
        {"task": "preview", "path": str(path.resolve()), "mapping": mapping}, scratch, limits
    )


class Apart:
    """A task under way in a child process; `state` tells how far it is, from any thread.

    Parameters
    ----------
    asked
        The request, as `headway.ingest.worker` reads it.
    scratch
        Folder for the child's temporary files, made here and removed at the end.
    limits
        What it may take.
    library
        Library that it writes into, if it does.
    """

    def __init__(
        self, asked: dict[str, Any], scratch: Path, limits: Limits, library: Path | None = None
    ) -> None:
        self._limits, self._library, self._scratch = limits, library, scratch
        self._state = State(name=Path(asked.get("path", "")).name)
        self._is_cancelled = self._is_late = False
        scratch.mkdir(mode=0o700, parents=True)
        self._process: subprocess.Popen[bytes] | None = None
        bounds = asdict(limits)
        self._request = orjson.dumps(
            asked | {"unpacking": bounds.pop("unpacking"), "limits": bounds}
        )
        self._clock = threading.Timer(limits.wall_s, self._end_late)
        self._clock.daemon = True
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()

    @property
    def state(self) -> State:
        """How far it is."""
        return self._state

    def wait(self, timeout_s: float | None = None) -> State:
        """Return the state at the end, or after a time."""
        self._reader.join(timeout_s)
        return self._state

    def cancel(self) -> None:
        """End it; runs of sources that were done before stay in the library."""
        self._is_cancelled = True
        self._kill()
        self._reader.join(_PATIENCE_S)

    def _follow(self) -> None:
        """Wait for a turn, read the child's events until it ends, and clean up after it."""
        code, failure = 0, None
        while not self._is_cancelled and self._process is None:
            if _AT_ONCE.acquire(timeout=_TURN_S):
                try:
                    code, failure = self._run()
                finally:
                    _AT_ONCE.release()
        shutil.rmtree(self._scratch, ignore_errors=True)
        if self._library is not None:
            remove_stale_staging(self._library)
        if self._state.result is None:
            said = failure or self._why(code)
            self._state = State(name=self._state.name, failure=said)

    def _run(self) -> tuple[int, str | None]:
        """Start the child and read it to its end; return its exit code, and why it failed."""
        failure = None
        process = self._process = subprocess.Popen(  # noqa: S603 our own interpreter and module
            _command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(self._scratch),
            cwd=self._scratch,
            start_new_session=True,
        )
        self._clock.start()
        if self._is_cancelled:  # while it was being started
            self._kill()
        try:
            with suppress(BrokenPipeError):
                _pipe(process.stdin).write(self._request)
                _pipe(process.stdin).close()
            for line in _pipe(process.stdout):
                failure = self._take(orjson.loads(line)) or failure
        except (orjson.JSONDecodeError, ValueError, KeyError, TypeError):
            self._kill()
        finally:
            _pipe(process.stdout).close()
            code = process.wait()
            self._clock.cancel()
        return code, failure

    def _take(self, event: dict[str, Any]) -> str | None:
        """Take in an event; return why there will be no result, if it says so."""
        if "step" in event:
            self._state = State(**event["step"])
        elif "result" in event:
            self._state = State(result=event["result"])
        elif "memory" in event:
            return self._too_much(f"{self._limits.memory_bytes / 1e9:.1f} GB of memory")
        return event.get("refused")

    def _why(self, code: int) -> str:
        """Say in words why the child ended without a result."""
        if self._is_cancelled:
            return "Cancelled. What was imported before stays; nothing is left half done."
        if self._is_late:
            return self._too_much(f"{self._limits.wall_s:,} s")
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return self._too_much(f"{self._limits.cpu_s:,} s of processor time, or the memory")
        if code == -signal.SIGXFSZ:
            return self._too_much(f"{self._limits.file_bytes / 1e9:.1f} GB in one file")
        if code == -signal.SIGABRT:
            return self._too_much(f"{self._limits.memory_bytes / 1e9:.1f} GB of memory")
        ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return (
            f"Reading {self._place()} ended the process that read it ({ended}). The file may be "
            "damaged or made to do this; nothing of it was imported."
        )

    def _too_much(self, what: str) -> str:
        return (
            f"Reading {self._place()} took more than it may here: {what}. Nothing of it was "
            "imported. On a machine of your own, `headway import` has no such limit."
        )

    def _place(self) -> str:
        return self._state.name or "the files"

    def _end_late(self) -> None:
        self._is_late = True
        self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise RuntimeError("the child was started without a pipe")
    return stream


def _command() -> list[str]:
    """Return the command: an isolated interpreter that finds this very package."""
    root = str(Path(__file__).parents[2])
    start = (
        f"import sys; sys.path.insert(0, {root!r}); from headway.ingest.worker import main; main()"
    )
    return [sys.executable, "-I", "-c", start]


def _environment(scratch: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "POLARS_MAX_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "ARROW_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }
