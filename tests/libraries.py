"""Small libraries of runs for tests, built the way an importer builds them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway import catalog, record
from headway.model import (
    Boundary,
    Clock,
    IndexBasis,
    Load,
    LoadKind,
    OfferedBasis,
    RunInfo,
)

ROW = {"phase": "measured", "outcome": "completed", "outcome_basis": "stated"}


def describe(run_id: str = "r0", **changes: Any) -> RunInfo:
    """Return the description of a run of two offered requests, changed as asked."""
    fields: dict[str, Any] = {
        "run_id": run_id,
        "study": "study",
        "harness": "test",
        "importer": "test",
        "importer_version": 1,
        "source_name": "folder/result.json",
        "source_sha256": "0" * 64,
        "boundary": Boundary.CLIENT,
        "clock": Clock.MONOTONIC,
        "load": Load(LoadKind.OPEN, declared_rps=5.0),
        "n_offered": 2,
        "n_offered_basis": OfferedBasis.ROWS,
        "n_warmup": 0,
        "index_basis": IndexBasis.PLAN,
        "token_basis": "as the test says",
        "completion_times": False,
        "policy": "policy",
    }
    return RunInfo(**(fields | changes))


def make_run(
    rows: Sequence[Mapping[str, Any]],
    run_id: str = "r0",
    state: Sequence[Mapping[str, Any]] = (),
    **changes: Any,
) -> record.Run:
    """Return a sealed run of rows; what a row does not say is a completed, measured request."""
    filled = [{"request_index": place} | ROW | dict(row) for place, row in enumerate(rows)]
    n_warmup = sum(row["phase"] == "warmup" for row in filled)
    counts = {"n_offered": len(filled) - n_warmup, "n_warmup": n_warmup}
    info = describe(run_id, **(counts | changes))
    samples = record.state_table(_columns(state)) if state else None
    return record.seal(record.Run(info, record.requests_table(_columns(filled)), samples))


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def write(run: record.Run, library: Path) -> Path:
    """Write a run into its study's folder of a library and return the run file."""
    folder = library / run.info.study
    folder.mkdir(parents=True, exist_ok=True)
    return record.write(run, folder)[-1]


def open_runs(library: Path, *runs: record.Run) -> catalog.Catalog:
    """Write runs into a library and open it."""
    for run in runs:
        write(run, library)
    return catalog.open_catalog([library])


def run_from(opened: catalog.Catalog, folder: str) -> str:
    """Return the id of the run whose source lay in a folder of that name."""
    (found,) = [run.run_id for run in opened.runs.values() if folder in run.source_name.split("/")]
    return found


def run_of(opened: catalog.Catalog, policy: str, rps: float) -> str:
    """Return the id of a policy's complete run at a declared load."""
    (found,) = [
        run.run_id
        for run in opened.runs.values()
        if (run.policy, run.load.declared_rps, run.time_limit_s) == (policy, rps, None)
    ]
    return found


def offered(
    n: int, n_met: int, *, jitter_us: int = 0, every_us: int = 200_000
) -> list[dict[str, Any]]:
    """Return n requests of a workload that any run repeats: n_met have a TTFT of about 100 ms.

    The others take a second and are spread evenly. Jitter tells runs apart, as a machine does.
    """
    n_missed = n - n_met
    missed = {place * n // n_missed for place in range(n_missed)}
    rows = []
    for place in range(n):
        ttft_us = (1_000_000 if place in missed else 100_000) + jitter_us
        rows.append(
            {
                "scheduled_us": place * every_us,
                "sent_us": place * every_us,
                "prompt_tokens": 100 + place % 7,
                "requested_output_tokens": 10,
                "output_tokens": 10,
                "ttft_us": ttft_us,
                "latency_us": ttft_us + 90_000,
            }
        )
    return rows


def replicates(counts: Sequence[int], n: int = 180, **changes: Any) -> list[record.Run]:
    """Return one run for each count of requests that met, all of the same n requests."""
    return [
        make_run(
            offered(n, n_met, jitter_us=place),
            f"r{place}",
            replicate=place,
            source_sha256=f"{place:064}",
            **changes,
        )
        for place, n_met in enumerate(counts)
    ]
