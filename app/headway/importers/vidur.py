"""Vidur, the simulator of LLM serving: `request_metrics.csv` and what lies beside it.

A simulated request has one arrival and no network: it is scheduled and sent in the same instant.
Blank latencies mean that the simulation stopped first. docs/formats.md has the outcome rules.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import ImportRefusedError
from headway.importers import run_json, vidur_config
from headway.importers.plans import MAX_WITHOUT_ROW
from headway.importers.source import Source, Times, columns, dig, head, json_object, to_us
from headway.importers.vidur_files import (
    CONFIG,
    REQUESTS,
    SIDECARS,
    SUMMARY,
    Arrival,
    Row,
    TokenTimes,
    read_plan,
    read_requests,
    read_state,
    read_token_times,
)
from headway.model import (
    Boundary,
    Clock,
    Finding,
    IndexBasis,
    OfferedBasis,
    Outcome,
    OutcomeBasis,
    Phase,
    RunInfo,
    Severity,
)
from headway.record import Run, requests_table

_HEADER = b"Request Id,request_e2e_time"


@dataclass(frozen=True, slots=True)
class Vidur:
    """Importer of Vidur's per-request metrics."""

    name: str = "vidur"
    version: int = 1

    def claims(self, path: Path) -> bool:
        """Claim by Vidur's file name or by its first column names."""
        return path.name in (REQUESTS, f"{REQUESTS}.gz") or head(path).startswith(_HEADER)

    def sidecars(self, path: Path) -> list[Path]:
        """Return the files of the same simulation in the same folder."""
        names = [variant for name in SIDECARS for variant in (name, f"{name}.gz")]
        return [path.with_name(name) for name in names if path.with_name(name).is_file()]

    def runs(self, source: Source) -> Iterator[Run]:
        """Yield the one run of the file."""
        yield _run(source)


IMPORTER = Vidur()


@dataclass(frozen=True, slots=True)
class _Simulation:
    """Everything the files of one simulation say, by request id."""

    requests: Mapping[int, Row]
    tokens: Mapping[int, TokenTimes]
    plan: Mapping[int, Arrival]
    n_planned: int | None
    time_limit_s: float | None

    @property
    def is_plan_known(self) -> bool:
        return self.n_planned is not None and self.n_planned >= len(self.requests)

    def indices(self) -> list[int]:
        """Return every request there is word of; a bare number adds some at the end."""
        known = sorted({*self.requests, *self.plan})
        surplus = (self.n_planned or 0) - len(known)
        return [*known, *range(known[-1] + 1, known[-1] + 1 + max(0, surplus))]


def _run(source: Source) -> Run:
    config, unreadable = json_object(source.beside(CONFIG))
    requests = read_requests(source)
    tokens, token_findings = read_token_times(source, requests)
    plan, n_planned, plan_findings = read_plan(source, config, requests, tokens)
    state, state_findings = read_state(source, config)
    simulation = _Simulation(requests, tokens, plan, n_planned, vidur_config.time_limit_s(config))
    _check_surplus(source, simulation)
    rows = [_request(simulation, index) for index in simulation.indices()]
    noticed = [
        unreadable,
        None if config or unreadable else _no_configuration(),
        *token_findings,
        *plan_findings,
        *state_findings,
        *_how_it_ended(simulation, rows),
        _simulator_error(source),
    ]
    findings = tuple(finding for finding in noticed if finding is not None)
    info = _describe(source, config, simulation, findings)
    return Run(
        run_json.complete(info, run_json.read(source, run_json.VIDUR)),
        requests_table(columns(rows)),
        state,
    )


def _check_surplus(source: Source, simulation: _Simulation) -> None:
    surplus = (simulation.n_planned or 0) - len(simulation.requests)
    if surplus > MAX_WITHOUT_ROW:
        raise ImportRefusedError(
            "inconsistent",
            f"{source.name} has {len(simulation.requests)} rows and the files beside it declare "
            f"{simulation.n_planned} requests; expected at most {MAX_WITHOUT_ROW} without a row",
        )


def _describe(
    source: Source,
    config: vidur_config.Config,
    simulation: _Simulation,
    findings: tuple[Finding, ...],
) -> RunInfo:
    basis = OfferedBasis.DECLARED if simulation.is_plan_known else OfferedBasis.ROWS
    return RunInfo(
        run_id=source.run_id(0),
        study="",
        harness="vidur",
        importer=IMPORTER.name,
        importer_version=IMPORTER.version,
        source_name=source.name,
        source_sha256=source.sha256,
        boundary=Boundary.SIMULATOR,
        clock=Clock.RELATIVE,
        load=vidur_config.load(config),
        n_offered=len(simulation.indices()),
        n_offered_basis=basis,
        n_warmup=0,
        index_basis=IndexBasis.SOURCE_ID,
        token_basis="tokens the simulator scheduled; one token per chunk",
        completion_times=True,
        label=vidur_config.label(config),
        policy=vidur_config.policy(config),
        policy_parameters=vidur_config.policy_parameters(config),
        time_limit_s=simulation.time_limit_s,
        manifest=vidur_config.manifest(config),
        findings=findings,
    )


def _request(simulation: _Simulation, index: int) -> dict[str, Any]:
    row, seen = simulation.requests.get(index), simulation.tokens.get(index)
    if row is None:
        return _without_row(simulation, index)
    arrived_us = int(to_us(row.arrived_s))
    common = {
        "request_index": index,
        "request_id": str(index),
        "phase": Phase.MEASURED,
        "scheduled_us": arrived_us,
        "sent_us": arrived_us,
        "prompt_tokens": row.prompt_tokens,
        "requested_output_tokens": row.decode_tokens,
        "source_success": row.latency_s is not None,
    }
    if row.latency_s is None:
        return common | _cut_off(row, seen, simulation.time_limit_s)
    return common | _completed(row, seen, row.latency_s)


def _completed(row: Row, seen: TokenTimes | None, latency_s: float) -> dict[str, Any]:
    """Describe a finished request; its token times are pinned to the simulator's own columns."""
    arrived_us, ended_us = to_us([row.arrived_s, row.arrived_s + latency_s]).tolist()
    ttft_us = None if row.ttft_s is None else int(to_us(row.arrived_s + row.ttft_s)) - arrived_us
    known: dict[str, Any] = {
        "ended_us": ended_us,
        "ttft_us": ttft_us,
        "latency_us": ended_us - arrived_us,
        "output_tokens": row.decode_tokens,
        "outcome": Outcome.COMPLETED,
        "outcome_basis": OutcomeBasis.STATED,
        "queue_us": _duration_us(row.queue_s),
        "prefill_us": _duration_us(row.prefill_s),
        "decode_us": None if ttft_us is None else ended_us - arrived_us - ttft_us,
        "preemptions": row.restarts,
        "preempted_us": _duration_us(row.preempted_s),
    }
    if seen is not None and len(seen.tokens_s) and ttft_us is not None:
        instants = to_us(seen.tokens_s)
        instants[0], instants[-1] = arrived_us + ttft_us, ended_us
        known["chunk_gaps_us"] = _gaps(instants.clip(instants[0], ended_us))
    return known


def _cut_off(row: Row, seen: TokenTimes | None, limit_s: float | None) -> dict[str, Any]:
    """Describe a request the simulation left open: blanks, and what an observer saw before."""
    known: dict[str, Any] = {
        "outcome": Outcome.CUT_OFF,
        "outcome_basis": OutcomeBasis.INFERRED,
        "reason": "no latencies: " + _stopped_when(limit_s),
    }
    if seen is None:
        return known
    known["output_tokens"] = len(seen.tokens_s)
    known["preemptions"] = seen.restarts
    if seen.scheduled_at_s is not None:
        known["queue_us"] = int(to_us(seen.scheduled_at_s) - to_us(row.arrived_s))
        known["preempted_us"] = _duration_us(seen.preempted_s)
    if len(seen.tokens_s):
        instants = to_us(seen.tokens_s)
        known["ttft_us"] = int(instants[0] - to_us(row.arrived_s))
        known["ended_us"] = int(instants[-1])
        known["chunk_gaps_us"] = _gaps(instants)
    return known


def _without_row(simulation: _Simulation, index: int) -> dict[str, Any]:
    """Describe a planned request the metrics do not mention: not due yet, or unaccounted for."""
    due = simulation.plan.get(index, Arrival(np.inf, None, None))
    seen = simulation.tokens.get(index)
    last_s = max(row.arrived_s for row in simulation.requests.values())
    started = seen is not None and (len(seen.tokens_s) or seen.scheduled_at_s is not None)
    lost = started or due.arrived_s < last_s
    return {
        "request_index": index,
        "request_id": str(index),
        "phase": Phase.MEASURED,
        "scheduled_us": int(to_us(due.arrived_s)) if np.isfinite(due.arrived_s) else None,
        "prompt_tokens": due.prompt_tokens,
        "requested_output_tokens": due.decode_tokens,
        "source_success": False,
        "outcome": Outcome.UNACCOUNTED if lost else Outcome.NOT_SENT,
        "outcome_basis": OutcomeBasis.INFERRED,
        "reason": "planned, and missing from the metrics"
        if lost
        else "not due before the end: " + _stopped_when(simulation.time_limit_s),
    }


def _stopped_when(limit_s: float | None) -> str:
    if limit_s is None:
        return "the simulator stopped early"
    return f"the simulation stopped at its limit of {limit_s:g} s"


def _gaps(instants: Times) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.diff(instants)


def _duration_us(seconds: float | None) -> int | None:
    return None if seconds is None else int(to_us(seconds))


def _how_it_ended(simulation: _Simulation, rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    counts = Counter(row["outcome"] for row in rows)
    lost = counts[Outcome.CUT_OFF] + counts[Outcome.NOT_SENT] + counts[Outcome.UNACCOUNTED]
    n_open, n_rows = counts[Outcome.CUT_OFF], len(simulation.requests)
    if lost and simulation.time_limit_s is not None:
        yield Finding(
            "time_limit",
            Severity.INFO,
            lost,
            f"the simulation stopped at its limit of {simulation.time_limit_s:g} s: {n_open} "
            f"requests were open and {counts[Outcome.NOT_SENT]} not yet due",
        )
    if lost and simulation.time_limit_s is None:
        yield Finding(
            "run_crashed",
            Severity.ERROR,
            lost,
            f"{n_open} of {n_rows} requests have no latencies although no time limit was set: "
            "the simulator stopped early",
        )
    if lost and not simulation.is_plan_known:
        yield Finding(
            "plan_unknown",
            Severity.WARNING,
            1,
            "how many requests the workload had is not recorded: those not reached are missing "
            "from the count; put the workload.csv beside the metrics and import again",
        )
    if counts[Outcome.UNACCOUNTED]:
        yield Finding(
            "rows_missing",
            Severity.ERROR,
            counts[Outcome.UNACCOUNTED],
            f"{counts[Outcome.UNACCOUNTED]} requests were due before the end and have no row",
        )


def _no_configuration() -> Finding:
    return Finding(
        "no_configuration",
        Severity.WARNING,
        1,
        f"no {CONFIG} beside the metrics: policy, load and time limit are not recorded",
    )


def _simulator_error(source: Source) -> Finding | None:
    """Pass on the error an observer saw the simulator end with."""
    summary, _ = json_object(source.beside(SUMMARY))
    error = dig(summary, "error")
    if not isinstance(error, str) or not error:
        return None
    return Finding(
        "simulator_error",
        Severity.WARNING,
        1,
        f"{SUMMARY} says that the simulator ended with {error[:200]}",
    )
