"""Cancelling an import: at any moment but the few in which runs take their place."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class CancelledImport(KeyboardInterrupt):
    """An import that was interrupted, with the number of runs that it had brought in."""

    def __init__(self, n_runs: int) -> None:
        super().__init__()
        self.n_runs = n_runs


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a signal to stop raise KeyboardInterrupt, once: what is then cleaned up is not disturbed.

    A no-op on other threads, which get no signals.
    """
    if not _is_main():
        yield
        return

    def stop(*_: object) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back signals to stop until the end: what is within happens whole."""
    if not _is_main():
        yield
        return
    held: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: held.append(number)) for number in _SIGNALS
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
