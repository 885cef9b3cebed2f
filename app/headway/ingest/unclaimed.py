"""Why a file is no source, as precisely as its content allows: one named, or one passed over."""

from pathlib import Path

from headway import importers
from headway.errors import ImportRefusedError
from headway.importers import mapped
from headway.importers.source import Source
from headway.ingest.candidates import Candidate
from headway.ingest.report import Skipped


def refusal(path: Path, name: str, library: Path) -> ImportRefusedError:
    """Say what a file that was named is not, and what can be done with it."""
    if not path.exists():
        return ImportRefusedError("not_found", f"there is no file or folder {path}")
    if (unreadable := _unreadable(path, name)) is not None:
        return unreadable
    if mapped.holds(path) is mapped.Holds.TOTALS and not mapped.fitting(path, library):
        return mapped.totals_refusal(Source.open(path, name))
    known = ", ".join(importers.names())
    return ImportRefusedError(
        "foreign",
        f"{name} looks like none of the formats Headway reads ({known}); expected the file with "
        "one record per request, as the tool wrote it; "
        f"{mapped.advice(path, name, library)}",
    )


def skipped(found: Candidate, library: Path, *, beside_sources: bool) -> Skipped:
    """Say why a file in a folder was passed over, and whether a result was left out with it.

    Totals are left out where no source lay beside them: else they are likely to be its own.
    """
    if not mapped.may_be_table(found.path):
        return Skipped(found.shown, "it is no table by its name")
    fitting = mapped.fitting(found.path, library)
    if fitting:
        why = mapped.advice(found.path, found.name, library)
        return Skipped(found.shown, why, fitting[0].name, is_result=True)
    holds = mapped.holds(found.path)
    if holds is mapped.Holds.TOTALS:
        why = "it holds totals of a whole benchmark, not requests"
        return Skipped(found.shown, why, is_result=not beside_sources)
    if holds is mapped.Holds.REQUESTS:
        why = mapped.advice(found.path, found.name, library)
        return Skipped(found.shown, f"it looks like requests: {why}", is_result=True)
    return Skipped(found.shown, "nothing in it looks like requests")


def _unreadable(path: Path, name: str) -> ImportRefusedError | None:
    """Say why a file is not even a whole text, where it should be one."""
    try:
        source = Source.open(path, name)
        if mapped.is_binary_table(path):
            return None
        source.text()
        if path.suffix in (".json", ".jsonl"):
            mapped.check_json(source)
    except ImportRefusedError as refused:
        return refused
    return None
