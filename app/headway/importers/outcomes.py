"""What stated errors mean, the same for every format: docs/formats.md has the table."""

from headway.model import Outcome

REASON_LENGTH = 200
REJECTIONS = {429, 503, 400, 413, 422}


def of_status(status: int) -> Outcome:
    """Return what an HTTP error status says of a request: not admitted, or failed."""
    return Outcome.REJECTED if status in REJECTIONS else Outcome.FAILED


def of_exception(name: str) -> Outcome:
    """Return what an exception in the client says of a request, connecting included.

    Examples
    --------
    >>> of_exception("ServerTimeoutError")
    <Outcome.TIMED_OUT: 'timed_out'>
    """
    if "Timeout" in name:
        return Outcome.TIMED_OUT
    return Outcome.CANCELLED if name == "CancelledError" else Outcome.FAILED


def last_line(text: str) -> str:
    """Return the last line with content, shortened: where a traceback names its error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return shortened(lines[-1] if lines else "")


def shortened(text: str) -> str:
    """Return a text of at most `REASON_LENGTH` characters."""
    return text if len(text) <= REASON_LENGTH else f"{text[: REASON_LENGTH - 1]}…"
