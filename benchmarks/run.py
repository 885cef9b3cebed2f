"""Ratios of CPU time within one run: Headway's work over the least that the same answer costs."""

import argparse
import gc
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from time import process_time

import imports
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from imports import Measured

from headway import catalog, record, sql
from headway.analyses import comparison, distribution, rates, sides
from headway.model import (
    Basis,
    Boundary,
    Clock,
    IndexBasis,
    Load,
    LoadKind,
    Metric,
    Objective,
    OfferedBasis,
    RunInfo,
    Selection,
)

REPEATS = 3


def cpu_s(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the least CPU time of a piece of work, all threads together, in seconds."""
    found = []
    for _ in range(repeats):
        gc.collect()
        start = process_time()
        work()
        found.append(process_time() - start)
    return min(found)


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


def bench_queries(folder: Path, n_runs: int, n_requests: int, n_gaps: int) -> list[Measured]:
    """Ask what the pages ask, against DuckDB's bare scan of the columns that the answer needs."""
    (folder / "bench").mkdir(parents=True)
    for place in range(n_runs):
        record.write(synthetic_run(place, n_requests, n_gaps), folder / "bench")
    opened = catalog.open_catalog([folder])
    chosen = Selection(tuple(opened.runs))
    one = Selection(("r0000",), basis=Basis.COMPLETED)

    def scan(text: str) -> float:
        return cpu_s(lambda: opened.connection.cursor().execute(text).fetchall())

    scalars = scan("SELECT sum(ttft_us), count(outcome) FROM requests")
    gaps = scan("SELECT sum(list_sum(chunk_gaps_us)) FROM chunks WHERE run_id = 'r0000'")
    files = catalog.run_files([folder])
    narrow = [name for name in record.REQUESTS.names if not name.startswith("chunk_")]
    objective = Objective(ttft_ms=200, stall_ms=50)
    answers = {
        "open the catalog": (
            lambda: catalog.open_catalog([folder]),
            cpu_s(lambda: [pq.read_table(file, columns=narrow) for file in files]),
            "pyarrow read of the same columns",
        ),
        "TTFT percentiles of every run": (
            lambda: distribution.describe(opened, chosen, Metric.TTFT),
            scalars,
            "scan of two columns",
        ),
        "attainment of every run": (
            lambda: rates.attainments(opened, chosen, objective),
            scalars,
            "scan of two columns",
        ),
        "TTFT curves of every run": (
            lambda: distribution.curve(opened, chosen, Metric.TTFT),
            scalars,
            "scan of two columns",
        ),
        "pooled gaps of one run": (
            lambda: distribution.describe(opened, one, Metric.GAP),
            gaps,
            "sum over its gaps",
        ),
    }
    return [
        Measured(what, against, cpu_s(work) / least)
        for what, (work, least, against) in answers.items()
    ]


class PeakMemory(Thread):
    """Watches the memory that this process holds beyond what it held before; Linux only.

    Pages of mapped files do not count: the system takes them back when it needs them.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._done = Event()
        self._before = self._now()
        self.bytes = 0

    def __enter__(self) -> "PeakMemory":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self.join()

    def run(self) -> None:
        """Look every few milliseconds."""
        while not self._done.wait(0.002):
            self.bytes = max(self.bytes, self._now() - self._before)

    @staticmethod
    def _now() -> int:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(
            int(line.split()[1]) * 1024
            for line in status.splitlines()
            if line.startswith("RssAnon")
        )


def bench_record(folder: Path, n_requests: int, n_gaps: int) -> list[Measured]:
    """Seal and write a run mapped from a file, against compressing its lists and no more."""
    folder.mkdir()
    one = synthetic_run(0, record.ROW_GROUP_REQUESTS, n_gaps)
    n_batches = -(-n_requests // one.requests.num_rows)
    spilled = folder / "spilled.arrow"
    with (
        pa.OSFile(str(spilled), "wb") as sink,
        pa.ipc.new_file(sink, record.REQUESTS) as writer,
    ):
        for place in range(n_batches):
            first = place * one.requests.num_rows
            index = pa.array(np.arange(first, first + one.requests.num_rows, dtype="int32"))
            writer.write_table(one.requests.set_column(1, record.REQUESTS.field(1), index))
    with pa.memory_map(str(spilled)) as mapped:
        requests = pa.ipc.open_file(mapped).read_all()
        info = replace(one.info, n_offered=requests.num_rows)
        with PeakMemory() as peak:
            ours = cpu_s(
                lambda: record.write(record.seal(record.Run(info, requests)), folder), repeats=1
            )
        least = cpu_s(
            lambda: pq.write_table(
                requests.select(["chunk_gaps_us"]), folder / "least.parquet", compression="zstd",
                compression_level=9, row_group_size=record.ROW_GROUP_REQUESTS,
                use_dictionary=False, use_byte_stream_split=True,
            ), repeats=1,
        )  # fmt: skip
    named = f"{requests.num_rows} mapped requests"
    return [
        Measured(f"seal, write {named}", "writing their gaps and nothing else", ours / least),
        Measured("memory for that", "a request", peak.bytes / requests.num_rows, "bytes"),
        Measured("memory for that", "the mapped table", peak.bytes / requests.nbytes),
    ]


BARE_JOIN = """
    SELECT
        request_index, a.scheduled_us, a.sent_us, b.sent_us, a.outcome::VARCHAR, b.outcome::VARCHAR,
        a.ttft_us, b.ttft_us, a.latency_us, b.latency_us, a.max_gap_us, b.max_gap_us, a.n_chunks,
        b.n_chunks, a.output_tokens, b.output_tokens, a.requested_output_tokens, a.prompt_tokens,
        a.prefix_group, a.segment, a.turn_index, a.place
    FROM requests AS a
    INNER JOIN requests AS b USING (request_index, phase)
    WHERE a.run_id = 'r0000' AND b.run_id = 'r0001' AND a.phase = 'measured'
"""


def bench_comparison(folder: Path, n_requests: int) -> list[Measured]:
    """Pair two runs request by request, against DuckDB's bare join of the same columns."""
    (folder / "bench").mkdir(parents=True)
    for place in range(2):
        record.write(synthetic_run(place, n_requests, 2), folder / "bench")
    opened = catalog.open_catalog([folder])
    a, b = (sides.of_runs(opened, (run_id,)) for run_id in ("r0000", "r0001"))
    question = comparison.Question(a, b)

    def pairs() -> None:
        opened.query(
            "comparison/pairs",
            runs_a=["r0000"],
            runs_b=["r0001"],
            start_us=None,
            end_us=None,
            origin="scheduled",
        )

    def whole() -> None:
        opened.memory.clear()
        opened.shared.clear()
        comparison.compare(opened, question)

    bare = cpu_s(lambda: opened.connection.cursor().sql(BARE_JOIN).pl())
    named = f"{n_requests} × {n_requests} requests"
    return [
        Measured(f"pair {named}", "bare join of the columns", cpu_s(pairs) / bare),
        Measured(f"compare {named}", "bare join of the columns", cpu_s(whole, 1) / bare),
    ]


def main(arguments: Sequence[str]) -> int:
    """Run the benchmarks and print their ratios; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000, help="requests in a run")
    parser.add_argument("--runs", type=int, default=20, help="runs in the library")
    parser.add_argument("--pairs", type=int, default=1_000_000, help="requests compared in pairs")
    parser.add_argument("--imports", type=int, default=40_000, help="requests in a file imported")
    parser.add_argument("--gaps", type=int, default=100, help="stream gaps in a request")
    said = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as name:
        os.environ["HEADWAY_CACHE"] = str(Path(name) / "cache")
        importing = Path(name) / "import"
        importing.mkdir()
        # First, while this process holds no memory that could be used again.
        found = bench_record(Path(name) / "record", said.pairs, said.gaps)
        found += imports.bench(importing, said.imports, said.gaps)
        found += bench_queries(Path(name) / "library", said.runs, said.requests, said.gaps)
        found += bench_comparison(Path(name) / "pairs", said.pairs)
    sys.stdout.write(
        f"{said.runs} runs × {said.requests} requests × {said.gaps} gaps, "
        f"{os.cpu_count()} cores, {len(sql.names())} queries\n"
    )
    is_met = imports.report(found)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"peak memory {peak_mb:.0f} MB\n")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
