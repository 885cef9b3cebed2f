"""A library of runs in a notebook: the numbers of the commands and pages, as frames and results.

Each method asks the same analysis as the command of its name, and so gets the same numbers.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl
import pyarrow as pa

from headway import catalog, record, sql
from headway.analyses import asking, comparison, documents, judgement, sides
from headway.analyses.acceptance import Asked
from headway.analyses.comparison import Comparison
from headway.analyses.judgement import Answer
from headway.analyses.summary import summarise
from headway.catalog import Broken, Catalog
from headway.errors import MisuseError, member
from headway.figures import comparison_json, envelope_json
from headway.model import Basis, Method, Metric, Origin, RunInfo, Selection, Window
from headway.notebook import frames
from headway.notebook.frames import Summary

__all__ = ["Library", "Summary", "open"]

_PERCENTILES = (50, 90, 95, 99)


def open(*paths: str | os.PathLike[str]) -> "Library":
    """Open libraries and run files; what cannot be read is warned of and left out.

    Parameters
    ----------
    paths
        Folders of run files, and run files.

    Raises
    ------
    MisuseError
        A path does not exist, or none is given.
    """
    if not paths:
        raise MisuseError("expected at least one library folder or run file to open")
    return Library(catalog.open_catalog([Path(path) for path in paths]))


class Library:
    """The runs of libraries and run files, as they were when they were opened.

    A context manager; `close` does the same. `headway.open` makes one.
    """

    def __init__(self, opened: Catalog) -> None:
        self._catalog: Catalog | None = opened
        for broken in opened.broken:
            warnings.warn(f"left out {broken.path.name}: {broken.message}", stacklevel=3)

    def __enter__(self) -> "Library":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._catalog is None:
            return "<headway library, closed>"
        studies = ", ".join(sorted(self._catalog.studies)) or "none"
        return f"<headway library of {len(self._catalog.runs)} runs; studies: {studies}>"

    def close(self) -> None:
        """Give back what the library holds; twice is as good as once."""
        if self._catalog is not None:
            self._catalog.instance.close()
            self._catalog = None

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The files that could not be read as runs, and why."""
        return self._opened.broken

    @property
    def runs(self) -> pl.DataFrame:
        """One row for each run, in reading order: what its description says."""
        opened = self._opened
        run_ids = asking.chosen_runs(opened, (), None)
        infos = [opened.runs[run_id] for run_id in run_ids]
        return frames.runs(infos, self._files(run_ids, of_state=False))

    def info(self, run_id: str) -> RunInfo:
        """Return the whole description of a run.

        Raises
        ------
        MisuseError
            There is no such run.
        """
        return self._opened.run(run_id)

    def requests(
        self, *run_ids: str, study: str | None = None, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Return the requests of runs, every one or a study's, in the columns of the record.

        Parameters
        ----------
        run_ids
            The runs; none for all.
        study
            Only the runs of this study.
        columns
            Only these columns of the record, in this order.

        Raises
        ------
        MisuseError
            There is no such run, study or column.
        """
        return self._rows(record.REQUESTS, run_ids, study, columns, of_state=False)

    def state(
        self, *run_ids: str, study: str | None = None, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Return the samples of the server's state, as `requests` returns requests."""
        return self._rows(record.STATE, run_ids, study, columns, of_state=True)

    def summary(
        self, *run_ids: str, study: str | None = None, percentiles: Sequence[float] = _PERCENTILES,
        method: str = "nearest", basis: str = "offered", origin: str = "scheduled",
        window: str | Window = "..",
    ) -> Summary:  # fmt: skip
        """Return accounting, rates and percentiles of runs, as `headway summary` says them.

        Parameters
        ----------
        run_ids, study
            The runs, as for `requests`.
        percentiles
            Numbers between 0 and 100.
        method, basis, origin, window
            As the command's options.

        Raises
        ------
        MisuseError
            There is no such run or study, or a value is not one of those that there are.
        """
        wrong = [each for each in percentiles if not 0 < each < 100]
        if wrong:
            raise MisuseError(f"percentiles {wrong}; expected numbers between 0 and 100")
        selection = Selection(
            run_ids=asking.chosen_runs(self._opened, run_ids, study),
            window=_window(window),
            basis=member(Basis, basis, "basis"),
            origin=member(Origin, origin, "origin"),
            method=member(Method, method, "method"),
        )
        shares = sorted({round(each / 100, 9) for each in percentiles})
        found = summarise(self._opened, selection, shares=shares)
        return Summary(selection, tuple(found))

    def verdict(
        self, *, study: str | None = None, policy: str | None = None, load: float | None = None,
        up_to: float | None = None, claim: str = "workload", origin: str = "scheduled",
        window: str | Window = "..", **limits: float | None,
    ) -> Answer:  # fmt: skip
        """Judge every tested load, one of them or those up to one, as `headway verdict` does.

        Parameters
        ----------
        study, policy, load, up_to, claim, origin, window
            As the command's options.
        limits
            `ttft_ms`, `tpot_ms`, `stall_ms`, `latency_ms`, `attainment`, `repeats` and `spell_s`;
            else those declared.

        Raises
        ------
        MisuseError
            Nothing is selected, there is no objective, or a value does not fit.
        """
        opened = self._opened
        _check_limits(limits, *asking.DEMANDS)
        name = asking.study_asked(opened, study, limits)
        question = judgement.Question(
            objective=asking.objective_asked(limits, asking.declared_by(opened, name)),
            claim=member(Asked, claim, "claim"),
            study=name,
            policy=policy,
            load=load,
            up_to=up_to,
            window=_window(window),
            origin=member(Origin, origin, "origin"),
        )
        judgement.demand(opened, question)
        return judgement.answer(opened, question)

    def diff(
        self, a: str, b: str, *, load: float | None = None, study: str | None = None,
        origin: str = "scheduled", window: str | Window = "..", **limits: float | None,
    ) -> Comparison:  # fmt: skip
        """Return the comparison of two runs or policies, as `headway diff` makes it.

        Parameters
        ----------
        a, b
            Each a run id or a policy.
        load, study, origin, window
            As the command's options.
        limits
            `ttft_ms`, `tpot_ms`, `stall_ms` and `latency_ms`; else those declared.

        Raises
        ------
        MisuseError
            A side is not there or is more than one, or a value does not fit.
        """
        opened = self._opened
        _check_limits(limits)
        if study is not None:
            asking.study_of(opened, study)
        first, second = (sides.named(opened, name, load, study) for name in (a, b))
        question = comparison.Question(
            a=first,
            b=second,
            window=_window(window),
            origin=member(Origin, origin, "origin"),
            objective=asking.objective_between(opened, (first, second), limits),
        )
        return comparison.compare(opened, question)

    def query(self, name: str, **params: object) -> pl.DataFrame:
        """Return the rows of a stored query; `run_ids` is every run unless given.

        Raises
        ------
        QueryError
            There is no such query, or the parameters are not its own.
        MisuseError
            A parameter that must be given is missing.
        """
        stored = sql.load(name)
        values = asking.query_values(self._opened, stored, params)
        return self._opened.query(name, **values)

    @staticmethod
    def document(result: Summary | Answer | Comparison) -> dict[str, Any]:
        """Return a result as the document that its command prints with `--json`."""
        if isinstance(result, Summary):
            return documents.summary(result.selection, list(result.summaries))
        if isinstance(result, Answer):
            return envelope_json.verdict(result)
        return comparison_json.difference(result)

    @property
    def _opened(self) -> Catalog:
        if self._catalog is None:
            raise MisuseError("this library is closed; open it again: headway.open(…)")
        return self._catalog

    def _rows(
        self,
        schema: pa.Schema,
        run_ids: Sequence[str],
        study: str | None,
        columns: Sequence[str] | None,
        *,
        of_state: bool,
    ) -> pl.DataFrame:
        names = list(schema.names if columns is None else columns)
        unknown = [name for name in names if name not in schema.names]
        if unknown:
            known = ", ".join(schema.names)
            raise MisuseError(f"there are no columns {', '.join(unknown)}; there are: {known}")
        chosen = asking.chosen_runs(self._opened, run_ids, study)
        wanted = pa.schema([schema.field(name) for name in names])
        batches = [
            batch.select(names)
            for path in self._files(chosen, of_state=of_state)
            for batch in record.read_batches(path, names)
        ]
        return pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches, wanted)))

    def _files(self, run_ids: Sequence[str], *, of_state: bool) -> list[Path]:
        opened = self._opened
        files = [opened.files[run_id] for run_id in run_ids]
        if not of_state:
            return files
        states = [
            record.state_of(path, opened.runs[run_id])
            for run_id, path in zip(run_ids, files, strict=True)
        ]
        return [path for path in states if path is not None]


def _window(said: str | Window) -> Window:
    return said if isinstance(said, Window) else asking.parse_window(said)


def _check_limits(given: Mapping[str, float | None], *others: str) -> None:
    """Refuse names that are no limit."""
    known = [metric.value for metric in Metric if metric is not Metric.GAP] + [*others]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise MisuseError(f"there is no {', '.join(unknown)}; expected some of {', '.join(known)}")
