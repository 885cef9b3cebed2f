"""`vllm bench serve` and `vllm bench sweep`: detailed result files of every version since 0.8.5.

There is no version in the file; the keys that are there tell what can be known. docs/formats.md
has the dialects, the outcome rules and the options to record with.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import ImportRefusedError
from headway.importers import run_json, vllm_files, vllm_outcomes, vllm_report
from headway.importers.engine_command import FLAG
from headway.importers.source import Source, as_text, as_whole, columns, to_us
from headway.importers.vllm_files import Bench, Planned
from headway.importers.vllm_outcomes import Verdict
from headway.model import (
    Boundary,
    Clock,
    IndexBasis,
    OfferedBasis,
    Outcome,
    OutcomeBasis,
    Phase,
    RunInfo,
    Segment,
)
from headway.record import Run, requests_table

_SWEEP_RUN = re.compile(r"run=\d+\.json")
_SWEEP_FOLDER = re.compile(r"SERVE--(?P<server>.+?)(?:-BENCH--.*)?")
_SAME_INSTANT_S = 2e-6
_MAX_UNACCOUNTED = 1_000_000


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
        for place, bench in enumerate(vllm_files.read(source)):
            yield _run(source, place, bench, notes)


IMPORTER = VllmBench()


def _run(source: Source, place: int, bench: Bench, notes: run_json.Notes) -> Run:
    planned, noticed = vllm_files.read_workload(source, bench)
    context_limit = notes.manifest.context_limit or as_whole(bench.scalars.get("max_model_len"))
    known = vllm_outcomes.lengths(bench, planned, _forced(notes.bench_options), context_limit)
    successes = vllm_outcomes.successes(bench)
    verdicts = [vllm_outcomes.judge(bench, row, known) for row in range(bench.n_rows)]
    rows = _rows(source, bench, planned, successes, verdicts)
    noticed += vllm_report.findings(bench, successes, verdicts, known, planned is not None)
    info = _describe(source, place, bench, notes, len(rows))
    basis = IndexBasis.ORDER if planned is None else IndexBasis.PLAN
    info = replace(info, index_basis=basis, findings=tuple(noticed))
    info = run_json.complete(info, replace(notes, harness_version=_version(notes)))
    info = replace(info, policy=info.policy or as_text(bench.scalars.get("label")))
    return Run(info, requests_table(columns(rows)))


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


def _rows(
    source: Source,
    bench: Bench,
    planned: list[Planned] | None,
    successes: Sequence[bool],
    verdicts: Sequence[Verdict],
) -> list[dict[str, Any]]:
    zero_s = _zero_s(bench)
    plan = planned or [Planned(None, None, None)] * bench.n_rows
    segment = Segment.RAMP if as_text(bench.scalars.get("ramp_up_strategy")) else None
    rows = []
    for row, verdict in enumerate(verdicts):
        rows.append(
            {
                "request_index": row,
                "request_id": plan[row].request_id,
                "phase": Phase.MEASURED,
                "segment": segment,
                "prompt_tokens": bench.input_lens[row],
                "requested_output_tokens": plan[row].output_tokens,
                "output_tokens": bench.output_lens[row] if successes[row] else None,
                "outcome": verdict.outcome,
                "outcome_basis": verdict.basis,
                "source_success": successes[row],
                "reason": verdict.reason,
                "http_status": verdict.http_status,
                **_times(bench, row, zero_s, successes[row]),
            }
        )
    return [*rows, *_unaccounted(source, bench)]


def _zero_s(bench: Bench) -> float:
    """Return the run's zero on the client's clock: the first intended arrival, else first send."""
    starts = bench.start_times or []
    waits = bench.queue_times or [0.0] * len(starts)
    due = [s - (w or 0.0) for s, w in zip(starts, waits, strict=True) if s is not None]
    return min(due, default=0.0)


def _times(bench: Bench, row: int, zero_s: float, success: bool) -> dict[str, Any]:
    """Place one request on the run's clock; round instants first, so that durations add up."""
    start_s = None if bench.start_times is None else bench.start_times[row]
    wait_s = None if bench.queue_times is None else bench.queue_times[row]
    origin_s = 0.0 if start_s is None else start_s - zero_s
    sent_us = int(to_us(origin_s))
    known: dict[str, Any] = {}
    last_us = None
    if bench.answered(row) or len(bench.itls[row]):
        ttft_s = bench.ttfts[row] or 0.0
        seen_s = origin_s + ttft_s + np.concatenate([[0.0], np.cumsum(bench.itls[row])])
        instants = to_us(seen_s)
        known["chunk_gaps_us"] = np.diff(instants)
        last_us = int(instants[-1])
        if bench.answered(row):
            known["ttft_us"] = int(instants[0]) - sent_us
        if success and bench.answered(row):
            last_us = _end_us(bench, row, origin_s, float(seen_s[-1]))
            known["latency_us"] = last_us - sent_us
    if start_s is not None:
        known["sent_us"] = sent_us
        known["ended_us"] = last_us
        known["scheduled_us"] = None if wait_s is None else int(to_us(origin_s - wait_s))
    return known


def _end_us(bench: Bench, row: int, origin_s: float, last_chunk_s: float) -> int:
    """Return the end of an answer: the last chunk, unless the tool states another instant."""
    stated_s = bench.latencies[row] if bench.latencies is not None else None
    if not stated_s or abs(origin_s + stated_s - last_chunk_s) < _SAME_INSTANT_S:
        return int(to_us(last_chunk_s))
    return int(to_us(origin_s + stated_s))


def _unaccounted(source: Source, bench: Bench) -> list[dict[str, Any]]:
    """Return a row for each request that was to be sent and that the lists do not mention."""
    declared = as_whole(bench.scalars.get("num_prompts")) or 0
    if declared - bench.n_rows > _MAX_UNACCOUNTED:
        raise ImportRefusedError(
            "inconsistent",
            f"{source.name}: num_prompts is {declared} and the lists have {bench.n_rows} entries; "
            f"expected at most {_MAX_UNACCOUNTED} requests without one",
        )
    return [
        {
            "request_index": row,
            "phase": Phase.MEASURED,
            "outcome": Outcome.UNACCOUNTED,
            "outcome_basis": OutcomeBasis.INFERRED,
            "reason": "counted in num_prompts, missing from the lists",
        }
        for row in range(bench.n_rows, declared)
    ]
