"""One bad file never costs its neighbours: whatever reading it raises becomes a refusal."""

from collections.abc import Iterator
from contextlib import contextmanager

from headway.errors import HeadwayError, ImportRefusedError

_LONGEST_REASON = 200


@contextmanager
def survived(name: str) -> Iterator[None]:
    """Turn what no importer foresaw, a panic of a parser included, into a refusal in words.

    Refusals, errors of the file system and requests to stop pass as they are.

    Raises
    ------
    ImportRefusedError
        Reading took more memory than there is (`too_long`), or failed otherwise (`damaged`).
    """
    try:
        yield
    except (HeadwayError, OSError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError as error:
        raise ImportRefusedError(
            "too_long",
            f"{name} takes more memory to read than there is here; expected a smaller file, or one "
            "that is not damaged: cut it to the runs that matter, or import it on a machine of "
            "your own",
        ) from error
    except BaseException as error:  # polars panics with no Exception
        raise ImportRefusedError(
            "damaged",
            f"{name} cannot be read ({_reason(error)}); the file may be damaged: copy it again, "
            "whole, and if it is as the tool wrote it, report this",
        ) from error


def _reason(error: BaseException) -> str:
    said = " ".join(str(error).split())[:_LONGEST_REASON]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
