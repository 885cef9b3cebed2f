"""Why a file that the user named is no source, as precisely as its content allows."""

from pathlib import Path

import orjson

from headway import importers
from headway.errors import ImportRefusedError
from headway.importers import mapped
from headway.importers.source import Source


def refusal(path: Path, name: str, library: Path) -> ImportRefusedError:
    """Say what a file is not, and what can be done with it."""
    if not path.exists():
        return ImportRefusedError("not_found", f"there is no file or folder {path}")
    if (unreadable := _unreadable(path, name)) is not None:
        return unreadable
    known = ", ".join(importers.names())
    return ImportRefusedError(
        "foreign",
        f"{name} looks like none of the formats Headway reads ({known}); expected the file with "
        "one record per request, as the tool wrote it; "
        f"{mapped.advice(path, name, library)}",
    )


def _unreadable(path: Path, name: str) -> ImportRefusedError | None:
    """Say why a file is not even a whole text, where it should be one."""
    try:
        source = Source.open(path, name)
        if mapped.is_binary_table(path):
            return None
        text = source.text()
        if path.suffix in (".json", ".jsonl"):
            orjson.loads(text.partition("\n")[0] if path.suffix == ".jsonl" else text)
    except ImportRefusedError as refused:
        return refused
    except orjson.JSONDecodeError as error:
        return ImportRefusedError(
            "damaged",
            f"{name} is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}); "
            "was the run interrupted while it was written?",
        )
    return None
