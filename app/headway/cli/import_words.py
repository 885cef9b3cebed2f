"""What `headway import` says in words: what was noticed, refused and passed over, and what next."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from headway.ingest import Imported, Report, Skipped
from headway.model import Severity

_MOST_NAMED = 20


def lines(report: Report, library: Path) -> Iterator[str]:
    """Yield one sentence a line."""
    for run in report.imported:
        yield from _of_run(run)
    for refusal in report.refused:
        yield f"refused {refusal.source}: {refusal.message}"
    yield from _passed_over(report.skipped)
    if not report.imported and not report.refused:
        yield "nothing was imported: no file is a result that Headway reads by itself"
    if report.imported:
        where = quote(str(library))
        yield f"next: headway summary --library {where}, or headway serve {where}"


def _of_run(run: Imported) -> Iterator[str]:
    info = run.info
    if info.mapping is not None:
        yield f"read {run.source} through the mapping {info.mapping}"
    for finding in info.findings:
        if finding.severity is not Severity.INFO:
            yield f"{finding.severity.value}, run {info.run_id}: {finding.message}"


def _passed_over(skipped: tuple[Skipped, ...]) -> Iterator[str]:
    """Yield a line for each result left out, and one for the other files of one reason."""
    for each in skipped:
        if each.is_result:
            yield f"left out {each.source}: {each.why}"
    others: dict[str, list[str]] = {}
    for each in skipped:
        if not each.is_result:
            others.setdefault(each.why, []).append(str(each.source))
    for why, names in others.items():
        more = len(names) - _MOST_NAMED
        rest = f" and {more:,} more, which --json names" if more > 0 else ""
        yield f"passed over, {why}: {', '.join(names[:_MOST_NAMED])}{rest}"
