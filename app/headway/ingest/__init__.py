"""From result files to run files: recognise, read, and write all of a file's runs or none."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from headway import importers, record, studies
from headway.errors import HeadwayError, ImportRefusedError
from headway.importers import Importer, mapped
from headway.importers.source import Source
from headway.ingest.library import Library, remove_stale_staging
from headway.ingest.report import (
    Imported,
    Refused,
    Report,
    load_json,
    measured_rps,
    outcome_counts,
    report_json,
)
from headway.ingest.settings import Settings, check_study, differences, valid_keys
from headway.model import Finding, RunInfo, Severity
from headway.record import Run

__all__ = [
    "Imported",
    "Progress",
    "Refused",
    "Report",
    "Settings",
    "import_paths",
    "load_json",
    "measured_rps",
    "rehearse",
    "report_json",
    "valid_keys",
]

Progress = Callable[[int, int, str], None]

_DEFAULTS = Settings()

RATE_GAP = 0.05


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file to look at, and how to call it: relative to what the user named."""

    path: Path
    name: str
    named: bool
    importer: Importer | None

    @property
    def is_passed_over(self) -> bool:
        """Whether it only lay in a folder and is nothing that Headway knows."""
        return self.importer is None and not self.named


def import_paths(
    paths: Iterable[Path],
    library: Path,
    settings: Settings = _DEFAULTS,
    progress: Progress | None = None,
    mapping: mapped.Mapping | None = None,
) -> Report:
    """Import files, and the files in folders, into a library.

    Parameters
    ----------
    paths
        Result files, or folders to walk: there, what no importer claims is skipped.
    library
        Folder of the library, made when the first run gets in.
    settings
        What the caller states over the sources.
    progress
        Called before each source: how many are done, how many there are, and its name.
    mapping
        What columns mean, of the files named and of those in folders that fit; must be complete.

    Returns
    -------
    Report
        What was imported, skipped and refused. A refused source leaves the library as it was.
    """
    remove_stale_staging(library)
    shelf = Library(library)
    imported, refused = list[Imported](), list[Refused]()
    candidates = _candidates(paths, mapping and mapping.answered(settings.set))
    for done, candidate in enumerate(candidates):
        if progress is not None:
            progress(done, len(candidates), candidate.name)
        try:
            imported += [] if candidate.is_passed_over else _import(candidate, shelf, settings)
        except (HeadwayError, OSError) as error:
            refused.append(_refused(candidate.path, library, error))
    skipped = [candidate.path for candidate in candidates if candidate.is_passed_over]
    return Report(tuple(imported), tuple(skipped), tuple(refused))


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


def _import(candidate: _Candidate, shelf: Library, settings: Settings) -> list[Imported]:
    if candidate.importer is None:
        raise _unclaimed(candidate, shelf)
    source = Source.open(candidate.path, candidate.name, settings.counter)
    nearest = settings.study or studies.nearest(candidate.path) or studies.DEFAULT
    runs = []
    for run in candidate.importer.runs(source):
        # A table of several studies names the study of each run; what is stated wins over it.
        study = check_study(settings.study or run.info.study or nearest)
        runs.append(_finished(run, shelf, settings.apply(replace(run.info, study=study))))
    if not runs:
        raise ImportRefusedError(
            "empty", f"{candidate.name} holds no run; expected at least one: repeat the benchmark"
        )
    former = [shelf.find(run.info.run_id) for run in runs]
    shelf.add(runs)
    if isinstance(candidate.importer, mapped.MappedImporter):
        # Under another mapping the same table may have been more runs, which it is no longer.
        shelf.withdraw(source.sha256, [run.info.run_id for run in runs])
    return [
        _imported(run, candidate.path, before) for run, before in zip(runs, former, strict=True)
    ]


def _finished(run: Run, shelf: Library, info: RunInfo) -> Run:
    """Seal a run, with what only shows once the run stands as a whole."""
    sealed = record.seal(replace(run, info=info))
    noticed = [*_copies(sealed.info, shelf), *_rate_gap(sealed)]
    if not noticed:
        return sealed
    return record.seal(replace(run, info=replace(info, findings=(*info.findings, *noticed))))


def _copies(info: RunInfo, shelf: Library) -> list[Finding]:
    """Name the run that this one is a copy of, if the library has one."""
    twin = shelf.same_rows(info)
    if twin is None:
        return []
    message = (
        f"run {twin.run_id} of study {twin.study} has the very same rows: these are copies of one "
        "measurement, not replicates"
    )
    return [Finding("same_measurement", Severity.WARNING, 1, message)]


def _rate_gap(run: Run) -> list[Finding]:
    """Say when arrivals came at another rate than the declared one, which names the load."""
    declared, measured = run.info.load.declared_rps, measured_rps(run.requests)
    if declared is None or measured is None or abs(measured / declared - 1) <= RATE_GAP:
        return []
    message = (
        f"arrivals came at {measured:.3g} req/s, declared are {declared:.3g}: the load axis shows "
        "the declared rate"
    )
    return [Finding("rate_gap", Severity.WARNING, 1, message)]


def _imported(run: Run, source: Path, former: RunInfo | None) -> Imported:
    return Imported(
        info=run.info,
        source=source,
        outcomes=outcome_counts(run.requests),
        measured_rps=measured_rps(run.requests),
        replaced=former is not None,
        changes=() if former is None else differences(former, run.info),
    )


def _candidates(paths: Iterable[Path], mapping: mapped.Mapping | None) -> list[_Candidate]:
    """List the files to look at, each once; files that accompany another are not among them."""
    if mapping is not None:
        mapped.ask(mapping)
    found: dict[Path, _Candidate] = {}
    for given in paths:
        for path in _walk(given):
            name = path.name if path == given else path.relative_to(given).as_posix()
            importer = _importer(path, mapping, named=path == given)
            found.setdefault(path.resolve(), _Candidate(path, name, path == given, importer))
    accompanying = {
        beside.resolve()
        for candidate in found.values()
        if candidate.importer is not None
        for beside in candidate.importer.sidecars(candidate.path)
    }
    return [entry for path, entry in found.items() if entry.named or path not in accompanying]


def _importer(path: Path, mapping: mapped.Mapping | None, *, named: bool) -> Importer | None:
    if mapping is not None:
        reader = mapped.MappedImporter(mapping)
        if (named and path.is_file()) or reader.claims(path):
            return reader
    return importers.find(path)


def _walk(given: Path) -> Iterator[Path]:
    """Yield a file itself, or the visible files under a folder in a fixed order."""
    if not given.is_dir():
        yield given
        return
    for folder, subfolders, names in os.walk(given):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _unclaimed(candidate: _Candidate, shelf: Library) -> ImportRefusedError:
    """Say why a file the user named is no source, as precisely as its content allows."""
    path, name = candidate.path, candidate.name
    if not path.exists():
        return ImportRefusedError("not_found", f"there is no file or folder {path}")
    known = ", ".join(importers.names())
    if record.is_run_file(path) and record.describes_run(path):
        return ImportRefusedError(
            "foreign",
            f"{name} is a run file of Headway, not a result file, and is opened as it is: put it "
            "in a study's folder of the library",
        )
    if (unreadable := _unreadable(path, name)) is not None:
        return unreadable
    return ImportRefusedError(
        "foreign",
        f"{name} looks like none of the formats Headway reads ({known}); expected the file with "
        "one record per request, as the tool wrote it; "
        f"{mapped.advice(path, name, shelf.folder)}",
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
    except ImportRefusedError as refusal:
        return refusal
    except orjson.JSONDecodeError as error:
        return ImportRefusedError(
            "damaged",
            f"{name} is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}); "
            "was the run interrupted while it was written?",
        )
    return None
