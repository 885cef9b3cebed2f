"""`vllm bench serve` and `vllm bench sweep`: detailed result files of every version since 0.8.5.

There is no version in the file; the keys that are there tell what can be known. docs/formats.md
has the dialects, the outcome rules and the options to record with.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

from headway.importers import run_json, vllm_files, vllm_outcomes, vllm_report, vllm_rows
from headway.importers.engine_command import FLAG
from headway.importers.source import Source, as_text, as_whole
from headway.importers.vllm_files import Bench
from headway.model import Boundary, Clock, IndexBasis, OfferedBasis, RunInfo
from headway.record import Run

_SWEEP_RUN = re.compile(r"run=\d+\.json")
_SWEEP_FOLDER = re.compile(r"SERVE--(?P<server>.+?)(?:-BENCH--.*)?")


@dataclass(frozen=True, slots=True)
class VllmBench:
    """Importer of vLLM's own benchmark."""

    name: str = "vllm"
    version: int = 1

    def claims(self, path: Path) -> bool:
        """Claim by the keys near both ends of the file, or by the tool's file names."""
        return vllm_files.claims(path)

    def sidecars(self, path: Path) -> list[Path]:
        """Return the description and the frozen workload in the same folder."""
        beside = [path.with_name(name) for name in (run_json.NAME, vllm_files.WORKLOAD)]
        return [
            candidate
            for candidate in beside
            if candidate.is_file() and candidate != path and not self.claims(candidate)
        ]

    def runs(self, source: Source) -> Iterator[Run]:
        """Yield one run per result object of the file."""
        notes = run_json.read(source, run_json.VLLM)
        # A loop over the results would hold each of them while its run is sealed and checked.
        yield from map(partial(_run, source, notes), count(), vllm_files.read(source))


IMPORTER = VllmBench()


def _run(source: Source, notes: run_json.Notes, place: int, bench: Bench) -> Run:
    planned, noticed = vllm_files.read_workload(source, bench)
    context_limit = notes.manifest.context_limit or as_whole(bench.scalars.get("max_model_len"))
    known = vllm_outcomes.lengths(bench, planned, _forced(notes.bench_options), context_limit)
    successes = vllm_outcomes.successes(bench)
    verdicts = [vllm_outcomes.judge(bench, row, known) for row in range(bench.n_rows)]
    requests, chunks = vllm_rows.table(source, bench, planned, successes, verdicts)
    noticed += vllm_report.findings(bench, successes, verdicts, known, planned is not None)
    noticed += [*chunks.findings(), *vllm_report.peak(bench)]
    info = _describe(source, place, bench, notes, requests.num_rows)
    basis = IndexBasis.ORDER if planned is None else IndexBasis.PLAN
    info = replace(info, index_basis=basis, findings=tuple(noticed))
    info = run_json.complete(info, replace(notes, harness_version=_version(notes)))
    info = replace(info, policy=info.policy or as_text(bench.scalars.get("label")))
    return Run(info, requests)


def _version(notes: run_json.Notes) -> str | None:
    return notes.harness_version or notes.vllm_version


def _forced(options: dict[str, str] | None) -> bool | None:
    """Tell from the benchmark's command whether answers had to have the length asked for."""
    if options is None:
        return None
    return options.get("ignore-eos") == FLAG or options.get("dataset-name") == "random"


def _label(source: Source, bench: Bench) -> str | None:
    """Return the file's label, else the server options a sweep names its folder after.

    They alone tell one server configuration of a sweep from another; the load options that follow
    them in the folder's name belong to the load.
    """
    said = as_text(bench.scalars.get("label"))
    folder = _SWEEP_FOLDER.fullmatch(source.path.parent.name)
    if said is not None or folder is None or not _SWEEP_RUN.fullmatch(source.path.name):
        return said
    return as_text(folder["server"])


def _describe(
    source: Source, place: int, bench: Bench, notes: run_json.Notes, n_offered: int
) -> RunInfo:
    planned = as_whole(bench.scalars.get("num_prompts"))
    is_declared = planned is not None and planned >= bench.n_rows
    return RunInfo(
        run_id=source.run_id(place),
        study="",
        harness="vllm-bench",
        importer=IMPORTER.name,
        importer_version=IMPORTER.version,
        source_name=source.name,
        source_sha256=source.sha256,
        boundary=Boundary.CLIENT,
        clock=Clock.NONE if bench.start_times is None else Clock.MONOTONIC,
        load=vllm_report.load(bench),
        n_offered=n_offered,
        n_offered_basis=OfferedBasis.DECLARED if is_declared else OfferedBasis.ROWS,
        n_warmup=0,
        index_basis=IndexBasis.ORDER,
        token_basis="the server's usage, or the client's count of the text where usage is missing",
        completion_times=True,
        label=_label(source, bench),
        replicate=as_whole(bench.scalars.get("run_number")),
        tool=vllm_report.tool_report(bench),
        manifest=vllm_report.manifest(bench, notes.bench_options),
    )
