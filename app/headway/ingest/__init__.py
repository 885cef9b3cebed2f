"""From result files to run files: recognise, read, and write all of a file's runs or none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from headway import record, studies
from headway.errors import HeadwayError, ImportRefusedError
from headway.importers import mapped
from headway.importers.source import Source
from headway.importers.survival import survived
from headway.ingest import candidates, frozen, unclaimed
from headway.ingest.archives import Unpacking
from headway.ingest.candidates import Candidate
from headway.ingest.interrupts import CancelledImport, stoppable, uninterrupted
from headway.ingest.library import Library, remove_stale_staging
from headway.ingest.noticed import noticed
from headway.ingest.policy_names import Proposal
from headway.ingest.report import (
    Imported,
    Refused,
    Report,
    Skipped,
    load_json,
    measured_rps,
    outcome_counts,
    report_json,
)
from headway.ingest.settings import Settings, check_study, differences, valid_keys
from headway.model import RunInfo
from headway.record import Run

__all__ = [
    "CancelledImport",
    "Imported",
    "Progress",
    "Proposal",
    "Refused",
    "Report",
    "Settings",
    "Skipped",
    "Step",
    "import_paths",
    "load_json",
    "measured_rps",
    "rehearse",
    "report_json",
    "stoppable",
    "valid_keys",
]


@dataclass(frozen=True, slots=True)
class Step:
    """How far an import is: sources done of all, the one under way, and the share of it read."""

    n_done: int
    n_sources: int
    name: str
    share: float = 0.0


Progress = Callable[[Step], None]

_DEFAULTS = Settings()
_UNPACKING = Unpacking()


def import_paths(
    paths: Iterable[Path],
    library: Path,
    settings: Settings = _DEFAULTS,
    progress: Progress | None = None,
    mapping: mapped.Mapping | None = None,
    unpacking: Unpacking = _UNPACKING,
) -> Report:
    """Import files, and the files in folders and zips, into a library.

    Parameters
    ----------
    paths
        Result files, run files, or folders and zips of them, where the rest is skipped.
    library
        Folder of the library, made when the first run gets in.
    settings
        What the caller states over the sources.
    progress
        Called before each source and while it is read.
    mapping
        What columns mean, of the files named and of those in folders that fit; must be complete.
    unpacking
        How much a zip may hold.

    Returns
    -------
    Report
        What was imported, skipped and refused. A refused source leaves the library as it was,
        and so does the one at which an interrupt raises CancelledImport.
    """
    with _opened(library) as shelf, TemporaryDirectory(prefix="headway-") as scratch:
        reads = mapped.Readers(mapping and mapping.answered(settings.set), library, settings.set)
        found, unpackable = candidates.find(paths, library, reads, Path(scratch), unpacking)
        imported, refused = _each(found, shelf, settings, progress)
        skipped = _passed_over(found, library)
    refused[:0] = (_refused(path, library, error) for path, error in unpackable)
    return Report(tuple(imported), skipped, tuple(refused))


def _passed_over(found: Sequence[Candidate], library: Path) -> tuple[Skipped, ...]:
    """Say of each file that was passed over why."""
    sources = [each.path.parent for each in found if each.importer is not None]
    return tuple(
        unclaimed.skipped(
            each,
            library,
            beside_sources=any(
                each.path.is_relative_to(folder) or folder.is_relative_to(each.path.parent)
                for folder in sources
            ),
        )
        for each in found
        if each.is_passed_over
    )


@contextmanager
def _opened(library: Path) -> Iterator[Library]:
    """Open a library to import into; an interrupt then says how many runs came in."""
    remove_stale_staging(library)
    shelf = Library(library)
    try:
        yield shelf
    except KeyboardInterrupt as interrupt:
        raise CancelledImport(shelf.n_added) from interrupt


def _each(
    found: Sequence[Candidate], shelf: Library, settings: Settings, progress: Progress | None
) -> tuple[list[Imported], list[Refused]]:
    imported, refused = list[Imported](), list[Refused]()
    for done, candidate in enumerate(found):
        step = Step(done, len(found), candidate.name)
        if progress is not None:
            progress(step)
        try:
            with survived(candidate.name):
                imported += _import(candidate, shelf, settings, progress, step)
        except (HeadwayError, OSError) as error:
            refused.append(_refused(candidate.shown, shelf.folder, error))
    return imported, refused


def rehearse(path: Path, mapping: mapped.Mapping) -> None:
    """Make the runs of a table as an import would, and write nothing.

    Raises
    ------
    HeadwayError
        The import would refuse the table.
    """
    if mapping.purpose is mapped.Purpose.WORKLOAD:
        mapped.workload(path, mapping)
        return
    for run in mapped.apply(Source.open(path), mapping):
        broken = record.problems(record.seal(run))
        if broken:
            raise broken[0]


def _refused(path: Path, library: Path, error: HeadwayError | OSError) -> Refused:
    if isinstance(error, HeadwayError):
        return Refused(path, error.code, str(error))
    reason = error.strerror or type(error).__name__
    return Refused(
        path,
        "not_written",
        f"the library {library} cannot be written ({reason}); check its permissions and the free "
        "space, then import again",
    )


def _import(
    candidate: Candidate,
    shelf: Library,
    settings: Settings,
    progress: Progress | None,
    step: Step,
) -> list[Imported]:
    if candidate.is_passed_over:
        return []
    if candidate.damage is not None:
        raise candidate.damage
    if candidate.importer is None:
        raise unclaimed.refusal(candidate.path, candidate.name, shelf.folder)
    watch = None if progress is None else lambda share: progress(replace(step, share=share))
    source = Source.open(candidate.path, candidate.name, settings.counter, watch)
    folder = None if settings.study else studies.nearest(candidate.path)
    described = studies.Study(studies.DEFAULT) if folder is None else studies.read(folder)
    plan = None if folder is None else frozen.read(described, folder)
    nearest = described.name
    runs = []
    for found in candidate.importer.runs(source):
        run = found if plan is None else frozen.held_against(found, plan)
        # A table of several studies, and a run file, name the study of each run.
        study = check_study(settings.study or run.info.study or nearest)
        runs.append(_finished(run, shelf, settings.apply(replace(run.info, study=study))))
    if not runs:
        raise ImportRefusedError(
            "empty", f"{candidate.name} holds no run; expected at least one: repeat the benchmark"
        )
    former = [shelf.find(run.info.run_id) for run in runs]
    with shelf.adding(runs) as place, uninterrupted():
        place()
        if isinstance(candidate.importer, mapped.MappedImporter):
            # Under another mapping the same table may have been more runs, which it is no longer.
            shelf.withdraw(source.sha256, [run.info.run_id for run in runs])
        if folder is not None and any(run.info.study == nearest for run in runs):
            shelf.describe(nearest, folder)
    pairs = zip(runs, former, strict=True)
    return [_imported(run, candidate.shown, before) for run, before in pairs]


def _finished(run: Run, shelf: Library, info: RunInfo) -> Run:
    """Seal a run, with what only shows once the run stands as a whole."""
    sealed = record.seal(replace(run, info=info))
    known = {finding.code for finding in info.findings}
    findings = [each for each in noticed(sealed, shelf) if each.code not in known]
    if not findings:
        return sealed
    return record.seal(replace(run, info=replace(info, findings=(*info.findings, *findings))))


def _imported(run: Run, source: Path, former: RunInfo | None) -> Imported:
    return Imported(
        info=run.info,
        source=source,
        outcomes=outcome_counts(run.requests),
        measured_rps=measured_rps(run.requests),
        replaced=former is not None,
        changes=() if former is None else differences(former, run.info),
    )
