"""How far an import is, on one line of the terminal that is gone at the end."""

import shutil
import sys
from types import TracebackType
from typing import Self, TextIO

from headway.ingest import Step

_BAR = 24
_CLEAR = "\r\x1b[K"


class Bar:
    """Shows the source under way and the share of it that is read, where that is a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = ""
        self._is_shown = self._stream.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def __call__(self, step: Step) -> None:
        """Show a step, if it looks other than the one before."""
        if not self._is_shown:
            return
        line = self._line(step)
        if line != self._shown:
            self._shown = line
            self._stream.write(_CLEAR + line)
            self._stream.flush()

    @staticmethod
    def _line(step: Step) -> str:
        filled = round(_BAR * step.share)
        doing = "write" if step.share >= 1 else f"{step.share:.0%}"
        # A name from an archive may hold what a terminal takes for a command.
        name = "".join(letter if letter.isprintable() else "?" for letter in step.name)
        of_all = f" ({step.n_done + 1} of {step.n_sources})" if step.n_sources > 1 else ""
        line = f"[{'#' * filled}{'-' * (_BAR - filled)}] {doing:>5} {name}{of_all}"
        return line[: shutil.get_terminal_size().columns - 1]
