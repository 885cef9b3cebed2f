"""Is the study's traffic like the customer's? The mix of an attached trace over that of the runs.

Each quantity is compared by itself. Times between arrivals are taken ÷ their mean, run by run, so
that only their unevenness is compared and not the load, which every run chooses. Runs of a closed
loop have no arrivals of their own: there the server's answers decide when requests come.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import polars as pl

from headway.catalog import Catalog
from headway.errors import HeadwayError, ImportRefusedError
from headway.importers import mapped, traces
from headway.model import LoadKind, Selection
from headway.stats import mix
from headway.stats.mix import Floats, Summary
from headway.studies import Study

# A median within this factor, and at most this share beyond the study's longest prompt, is alike.
NEAR = 1.5
MOST_BEYOND = 0.05
# A logarithmic axis has no 0: smaller values are drawn here.
LEAST_DRAWN = 0.001

_PLANNED = (LoadKind.OPEN, LoadKind.TRACE)


class Quantity(StrEnum):
    """What a mix is compared by."""

    PROMPT = "prompt_tokens"
    OUTPUT = "output_tokens"
    GAP = "gap_by_mean"


class Side(StrEnum):
    """Whose mix it is."""

    STUDY = "study"
    TRACE = "trace"


@dataclass(frozen=True, slots=True)
class Attached:
    """The trace that a study names, and what tells whether a file of it changed.

    `mapping` says what its columns mean, where the study names one.
    """

    name: str
    folder: Path
    n_bytes: int | None
    modified_ns: int | None
    mapping: str | None = None
    mapping_modified_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """A quantity of both sides; None where a side does not know it."""

    quantity: Quantity
    study: Summary | None
    trace: Summary | None

    @property
    def is_near(self) -> bool | None:
        """Whether the medians are within the factor `NEAR`; None where they cannot be compared.

        A trace with a median gap of 0 has a clock too coarse for its arrivals.
        """
        if self.study is None or self.trace is None:
            return None
        low, high = sorted((self.study.median, self.trace.median))
        if self.quantity is Quantity.GAP and not self.trace.median:
            return None
        return high <= NEAR * low


@dataclass(frozen=True, slots=True)
class TraceMix:
    """The mix of a trace beside that of the study's runs.

    `n_beyond` of the trace's prompts are longer than the study's longest, None where that is not
    known. `blocks_seen` is the share of its prompt blocks that an earlier prompt began with too.
    `points` has a row for each point to draw: `quantity`, `side`, `value`, `drawn`, `n_at_most`,
    `n` and `share`.
    """

    name: str
    shape: str
    n_requests: int
    compared: tuple[Compared, ...]
    n_beyond: int | None
    blocks_seen: float | None
    points: pl.DataFrame

    def of(self, quantity: Quantity) -> Compared:
        """Return one quantity of both sides."""
        return next(each for each in self.compared if each.quantity is quantity)

    def points_of(self, quantity: Quantity) -> pl.DataFrame:
        """Return the points of one quantity, both sides."""
        return self.points.filter(quantity=quantity.value)

    @property
    def beyond(self) -> float | None:
        """Share of the trace's prompts that are longer than any in the study."""
        return None if self.n_beyond is None else self.n_beyond / self.n_requests


@dataclass(frozen=True, slots=True)
class Unread:
    """A trace that a study names and that cannot be read, and why."""

    name: str
    why: str


def attached(catalog: Catalog, study: Study) -> Attached | None:
    """Return the trace that a study names; None where it names none."""
    if study.trace is None or study.name not in catalog.folders:
        return None
    folder = catalog.folders[study.name]
    stat = _stat(folder / study.trace)
    mapping_stat = None if study.trace_mapping is None else _stat(folder / study.trace_mapping)
    return Attached(
        study.trace,
        folder,
        stat.st_size if stat else None,
        stat.st_mtime_ns if stat else None,
        study.trace_mapping,
        mapping_stat.st_mtime_ns if mapping_stat else None,
    )


def _stat(path: Path) -> os.stat_result | None:
    return path.stat() if path.is_file() else None


def compare(catalog: Catalog, selection: Selection, found: Attached) -> TraceMix | Unread:
    """Compare an attached trace with the offered requests of the selected runs."""
    key = ("trace_mix", selection.run_ids, found)
    return catalog.remember(key, lambda: _compare(catalog, selection, found))


def _compare(catalog: Catalog, selection: Selection, found: Attached) -> TraceMix | Unread:
    try:
        trace = _read(found)
    except HeadwayError as error:
        return Unread(found.name, str(error))
    values = {Side.STUDY: _of_runs(catalog, selection), Side.TRACE: _of_trace(trace)}
    compared = tuple(
        Compared(each, *(mix.summary(values[side][each]) for side in Side)) for each in Quantity
    )
    longest = compared[0].study
    return TraceMix(
        name=found.name,
        shape=trace.shape,
        n_requests=trace.rows.height,
        compared=compared,
        n_beyond=(
            None
            if longest is None
            else mix.n_beyond(values[Side.TRACE][Quantity.PROMPT], longest.largest)
        ),
        blocks_seen=(trace.n_blocks_seen or 0) / trace.n_blocks if trace.n_blocks else None,
        points=_points(values),
    )


def _read(found: Attached) -> traces.Trace:
    path = _inside(found.folder, found.name)
    if found.mapping is None:
        return traces.read(path, found.name)
    return mapped.workload(path, mapped.read(_inside(found.folder, found.mapping)), found.name)


def _inside(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise ImportRefusedError(
            "not_found", f"{name} is not in the study's folder; put it beside study.toml"
        )
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ImportRefusedError(
            "unreadable", f"{name} leads out of the study's folder; put the file itself there"
        )
    return path


def _of_trace(trace: traces.Trace) -> dict[Quantity, Floats]:
    rows = trace.rows
    return {
        Quantity.PROMPT: _known(rows["prompt_tokens"]),
        Quantity.OUTPUT: _known(rows["output_tokens"]),
        Quantity.GAP: mix.gaps_by_mean(_known(rows["arrival_s"])),
    }


def _of_runs(catalog: Catalog, selection: Selection) -> dict[Quantity, Floats]:
    rows = catalog.query("workload/offered", run_ids=list(selection.run_ids))
    gaps = [
        mix.gaps_by_mean(_known(arrivals))
        for run_id, arrivals in _by_run(rows)
        if catalog.runs[run_id].load.kind in _PLANNED
    ]
    return {
        Quantity.PROMPT: _known(rows["prompt_tokens"]),
        Quantity.OUTPUT: _known(rows["output_tokens"]),
        Quantity.GAP: np.concatenate([np.empty(0), *gaps]),
    }


def _by_run(rows: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
    for run_id, mine in rows.group_by("run_id", maintain_order=True):
        yield str(run_id[0]), mine["arrival_us"]


def _known(column: pl.Series) -> Floats:
    return column.drop_nulls().cast(pl.Float64).to_numpy()


def _points(values: Mapping[Side, Mapping[Quantity, Floats]]) -> pl.DataFrame:
    parts = []
    for quantity in Quantity:
        for side in Side:
            drawn, n_at_most = mix.curve(values[side][quantity])
            n = len(values[side][quantity])
            part = pl.DataFrame({"value": drawn, "n_at_most": n_at_most})
            parts.append(part.with_columns(quantity=pl.lit(quantity), side=pl.lit(side), n=n))
    return pl.concat(parts).with_columns(
        drawn=pl.max_horizontal("value", pl.lit(LEAST_DRAWN)),
        share=pl.col("n_at_most") / pl.col("n"),
    )
