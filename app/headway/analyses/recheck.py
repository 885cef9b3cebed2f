"""Does a saved envelope still hold? Two documents in, a list of named changes out.

An envelope lapses when anything it rests on changed: the configuration, the workload, the rows or
the set of runs, or the verdicts themselves.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from headway.analyses.acceptance import Asked
from headway.errors import MisuseError
from headway.model import Objective, Origin, Window
from headway.stats.verdicts import Verdict

SCHEMA = "headway.envelope/1"
Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class SavedSelection:
    """Which runs were judged, and over what."""

    study: str | None
    policy: str | None
    load: float | None
    claim: Asked
    origin: Origin
    window: Window
    up_to: float | None = None


@dataclass(frozen=True, slots=True)
class SavedRun:
    """What was known of one run: its place, what it was measured on, and digests of both."""

    run_id: str
    policy: str
    load_text: str
    load: dict[str, Value]
    rows_sha256: str
    source_sha256: str
    workload: dict[str, str]
    configuration: dict[str, str]

    @property
    def about(self) -> str:
        """The run by policy and load."""
        return f"{self.policy} at {self.load_text} ({self.run_id})"


@dataclass(frozen=True, slots=True)
class SavedJudged:
    """The verdict on one run or set of replicates."""

    replicates: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class SavedEnvelope:
    """The edges of one envelope, and the runs it was read from."""

    configuration: str
    run_ids: tuple[str, ...]
    last_accepted: float | None
    first_rejected: float | None


@dataclass(frozen=True, slots=True)
class SavedVerdict:
    """What was concluded."""

    objective: Objective
    declared: bool
    runs: tuple[SavedJudged, ...]
    envelopes: tuple[SavedEnvelope, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved envelope, as far as checking it again needs it."""

    schema: Literal["headway.envelope/1"]
    headway: str
    date: str
    selection: SavedSelection
    runs: tuple[SavedRun, ...]
    verdict: SavedVerdict


@dataclass(frozen=True, slots=True)
class Change:
    """One field that is no longer what it was; None is absent, or not recorded."""

    about: str
    field: str
    was: Value
    now: Value


_SAVED = TypeAdapter(Saved)


def read(content: bytes, name: str) -> Saved:
    """Read the document that `headway verdict --out` writes.

    Raises
    ------
    MisuseError
        It is not JSON, not such a document, or lacks something.
    """
    try:
        return _SAVED.validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise MisuseError(
            f"{name} is not an envelope to check again ({place}: {first['msg']}); expected a file "
            f"of schema {SCHEMA}, written by headway verdict --out"
        ) from error


def changes(was: Saved, now: Saved) -> list[Change]:
    """Return every named difference between an envelope and the same question asked again."""
    return [
        *_of_study(was.verdict, now.verdict),
        *_of_runs(was, now),
        *_of_loads(was, now),
        *_of_envelopes(was.verdict, now.verdict),
        *_compared("the whole selection", "verdict", was.verdict.verdict, now.verdict.verdict),
    ]


def _of_study(was: SavedVerdict, now: SavedVerdict) -> Iterator[Change]:
    """Yield a change where the study no longer declares, or now declares, this objective."""
    yield from _compared("the study", "objective is declared", was.declared, now.declared)


def _of_runs(was: Saved, now: Saved) -> Iterator[Change]:
    before = {run.run_id: run for run in was.runs}
    after = {run.run_id: run for run in now.runs}
    for run_id, run in before.items():
        if run_id not in after:
            yield Change(run.about, "run", run_id, None)
        else:
            yield from _of_run(run, after[run_id])
    for run in now.runs:
        if run.run_id not in before:
            yield from _of_new(run, was)


def _of_run(was: SavedRun, now: SavedRun) -> Iterator[Change]:
    about = was.about
    yield from _of_fields(about, "", was.configuration, now.configuration)
    yield from _of_fields(about, "load.", was.load, now.load)
    yield from _of_fields(about, "workload.", was.workload, now.workload)
    yield from _compared(about, "rows_sha256", was.rows_sha256, now.rows_sha256)
    yield from _compared(about, "source_sha256", was.source_sha256, now.source_sha256)


def _of_new(run: SavedRun, was: Saved) -> Iterator[Change]:
    """Yield what a new run changes: it adds to a known configuration, or departs from its policy's.

    A run of a policy that was not judged before says nothing about those that were.
    """
    if any(run.configuration == known.configuration for known in was.runs):
        yield Change(run.about, "run", None, run.run_id)
        return
    known = next((each for each in was.runs if each.policy == run.policy), None)
    if known is not None:
        yield from _of_fields(run.about, "", known.configuration, run.configuration)


def _of_loads(was: Saved, now: Saved) -> Iterator[Change]:
    after = {run_id: each for each in now.verdict.runs for run_id in each.replicates}
    places = {run.run_id: f"{run.policy} at {run.load_text}" for run in was.runs}
    for each in was.verdict.runs:
        again = next((after[run_id] for run_id in each.replicates if run_id in after), None)
        if again is not None:
            first = each.replicates[0]
            yield from _compared(places.get(first, first), "verdict", each.verdict, again.verdict)


def _of_envelopes(was: SavedVerdict, now: SavedVerdict) -> Iterator[Change]:
    after = {run_id: each for each in now.envelopes for run_id in each.run_ids}
    for each in was.envelopes:
        again = next((after[run_id] for run_id in each.run_ids if run_id in after), None)
        if again is not None:
            for name in ("last_accepted", "first_rejected"):
                about = each.configuration
                yield from _compared(about, name, getattr(each, name), getattr(again, name))


def _of_fields(
    about: str, prefix: str, was: Mapping[str, Value], now: Mapping[str, Value]
) -> Iterator[Change]:
    for name in dict.fromkeys((*was, *now)):
        yield from _compared(about, f"{prefix}{name}", was.get(name), now.get(name))


def _compared(about: str, field: str, was: Value, now: Value) -> Iterator[Change]:
    if was != now:
        yield Change(about, field, was, now)
