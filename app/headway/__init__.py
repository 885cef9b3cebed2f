"""Headway: request-level evidence for LLM-serving decisions.

`headway.RunWriter` writes a run from a program, and `headway.open` reads a library from a notebook.
Both are loaded when they are first asked for. No room of Headway may import this front door: it
stands above all of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from headway.version import __version__

if TYPE_CHECKING:  # what is below is hidden from checkers, so that a misspelt name is an error
    from headway import notebook
    from headway.notebook import Library
    from headway.producer import RunWriter

    open = notebook.open

# `open` is left out: `from headway import *` must not take the builtin's place.
__all__ = ["Library", "RunWriter", "__version__"]

_ROOMS = {
    "Library": "headway.notebook",
    "RunWriter": "headway.producer",
    "open": "headway.notebook",
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _ROOMS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
