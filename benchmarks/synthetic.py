"""Libraries to measure: made once from fixed seeds, and kept in an ignored folder."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from headway import record
from headway.model import (
    Boundary,
    Clock,
    IndexBasis,
    Load,
    LoadKind,
    OfferedBasis,
    RunInfo,
)

FOLDER = Path(__file__).parents[1] / ".bench"
_REPLICATES, _POLICIES = 3, ("alpha", "beta")
_STUDY = """
title = "Synthetic"
question = "Which policy carries more?"

[objective]
ttft_ms = 300
stall_ms = 25
attainment = 0.8
"""


def synthetic_run(place: int, n_requests: int, n_gaps: int) -> record.Run:
    """Return a sealed run of completed and a few failed requests; all runs share one workload."""
    rng, workload = np.random.default_rng(place), np.random.default_rng(2026)
    gaps = rng.lognormal(9.2, 0.25, (n_requests, n_gaps)).astype("int32")
    ttft = rng.lognormal(11.5, 0.8, n_requests).astype("int64")
    failed = rng.random(n_requests) < 0.01
    arrivals = np.cumsum(workload.exponential(50_000, n_requests)).astype("int64")
    offsets = pa.array(np.arange(0, n_requests * n_gaps + 1, n_gaps), pa.int32())
    columns = {
        "request_index": np.arange(n_requests, dtype="int32"),
        "phase": ["measured"] * n_requests,
        "outcome": np.where(failed, "failed", "completed"),
        "outcome_basis": ["stated"] * n_requests,
        "scheduled_us": arrivals,
        "sent_us": arrivals,
        "ttft_us": ttft,
        "latency_us": pa.array(ttft + gaps.sum(axis=1, dtype="int64"), mask=failed),
        "prompt_tokens": workload.integers(10, 4000, n_requests, dtype="int32"),
        "requested_output_tokens": np.full(n_requests, n_gaps + 1, dtype="int32"),
        "output_tokens": np.full(n_requests, n_gaps + 1, dtype="int32"),
        "n_chunks": np.full(n_requests, n_gaps + 1, dtype="int32"),
        "max_gap_us": gaps.max(axis=1),
        "chunk_gaps_us": pa.ListArray.from_arrays(
            offsets, pa.array(gaps.ravel()), type=record.REQUESTS.field("chunk_gaps_us").type
        ),
    }
    info = RunInfo(
        run_id=f"r{place:04d}",
        study="bench",
        harness="bench",
        importer="bench",
        importer_version=1,
        source_name="bench",
        source_sha256="",
        boundary=Boundary.CLIENT,
        clock=Clock.RELATIVE,
        load=Load(LoadKind.OPEN, 20.0),
        n_offered=n_requests,
        n_offered_basis=OfferedBasis.ROWS,
        n_warmup=0,
        index_basis=IndexBasis.PLAN,
        token_basis="one token per chunk",
        completion_times=True,
    )
    return record.seal(record.Run(info, record.requests_table(columns)))


def library(n_runs: int, n_requests: int, n_gaps: int) -> Path:
    """Return a library of one study: loads of two policies, three replicates each."""
    made = FOLDER / f"{n_runs}x{n_requests}x{n_gaps}"
    finished = made / "finished"
    if not finished.is_file():
        study = made / "bench"
        study.mkdir(parents=True, exist_ok=True)
        (study / "study.toml").write_text(_STUDY, encoding="utf-8")
        for place in range(n_runs):
            record.write(_placed(synthetic_run(place, n_requests, n_gaps), place), study)
        finished.touch()
    return made


def _placed(run: record.Run, place: int) -> record.Run:
    """Give a run its load, policy and replicate."""
    load, policy = divmod(place // _REPLICATES, len(_POLICIES))
    info = replace(
        run.info,
        load=Load(LoadKind.OPEN, 1.0 + load),
        policy=_POLICIES[policy],
        replicate=1 + place % _REPLICATES,
    )
    return record.Run(info, run.requests)
