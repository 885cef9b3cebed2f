"""CPU time and memory of Headway's work, where possible against the least that an answer costs.

python benchmarks/run.py          all of it, a quarter of an hour; writes latest.json and
the table of docs/performance.md
python benchmarks/run.py quick    smaller data, three minutes; writes nothing
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from time import process_time

import imports
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import synthetic
import visits
from lines import Measured, Report

from headway import catalog, record
from headway.analyses import comparison, distribution, rates, sides
from headway.model import Basis, Metric, Objective, Selection

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


def bench_queries(n_runs: int, n_requests: int, n_gaps: int) -> Iterator[Measured]:
    """Ask what the pages ask, against DuckDB's bare scan of the columns that the answer needs."""
    folder = synthetic.library(n_runs, n_requests, n_gaps)
    opened = catalog.open_catalog([folder])
    chosen = Selection(tuple(opened.runs))
    one = Selection(("r0000",), basis=Basis.COMPLETED)
    objective = Objective(ttft_ms=200, stall_ms=50)

    def scan(text: str) -> float:
        return cpu_s(lambda: opened.connection.cursor().execute(text).fetchall())

    def afresh(work: Callable[[], object]) -> Callable[[], object]:
        """Return the work with nothing of it remembered."""

        def run() -> None:
            opened.memory.clear()
            opened.shared.clear()
            work()

        return run

    scalars = scan("SELECT sum(ttft_us), count(outcome) FROM requests")
    gaps = scan("SELECT sum(list_sum(chunk_gaps_us)) FROM chunks WHERE run_id = 'r0000'")
    two = "a scan of two columns"
    cold = "measured results are not kept on disk yet"
    bins = "no histogram of gaps is kept yet"
    attain = partial(rates.attainments, opened, chosen, objective)
    bounds = partial(distribution.described_with_bounds, opened, chosen, Metric.TTFT)
    curve = partial(distribution.curve, opened, chosen, Metric.TTFT)
    pooled = partial(distribution.describe, opened, one, Metric.GAP)
    named = f"{n_runs * n_requests:,} requests"
    yield Measured(
        f"attainment of every run, cold, {named}",
        two,
        cpu_s(afresh(attain)) / scalars,
        goal=3,
        stretch=1,
        why=cold,
    )
    attain()
    yield Measured(
        f"attainment of every run, another limit, {named}",
        two,
        cpu_s(partial(rates.attainments, opened, chosen, Objective(ttft_ms=210))) / scalars,
        goal=3,
        stretch=1,
    )
    yield Measured(
        f"TTFT percentiles with bounds, cold, {named}",
        two,
        cpu_s(afresh(bounds)) / scalars,
        goal=3,
        stretch=0.3,
        why=cold,
    )
    bounds()
    yield Measured(
        f"TTFT percentiles with bounds, again, {named}",
        two,
        cpu_s(bounds) / scalars,
        goal=3,
        stretch=0.3,
    )
    yield Measured(
        f"TTFT curves of every run, {named}",
        two,
        cpu_s(afresh(curve)) / scalars,
        goal=100,
        stretch=3,
        why=cold,
    )
    yield Measured("pooled gaps of one run", "a sum over them", cpu_s(pooled) / gaps,
                   goal=1 / 300, stretch=1 / 1000, why=bins)  # fmt: skip


def bench_opening(n_requests: int, n_gaps: int) -> Iterator[Measured]:
    """Open a library for the first time ever, again, and with one more file."""
    large, many = synthetic.library(60, n_requests, n_gaps), synthetic.library(1000, 20, 3)
    folder = Path(os.environ["HEADWAY_CACHE"])
    for made, goal, stretch in ((large, 0.1, 0.03), (many, 0.2, 0.05)):
        os.environ["HEADWAY_CACHE"] = str(folder / made.name)  # in which nothing is known yet
        named = f"{len(catalog.run_files([made])):,} files"
        first = cpu_s(partial(catalog.open_catalog, [made]), 1)
        if made is large:
            yield Measured(f"first opening ever, {named}", "CPU", first, "s", goal=6, stretch=3)
        again = cpu_s(partial(catalog.open_catalog, [made]))
        yield Measured(f"open again, {named}", "CPU", again, "s", goal=goal, stretch=stretch,
                       why="the schema and macros are built anew for each instance")  # fmt: skip
    added = synthetic.synthetic_run(5000, 20, 3)
    written = record.write(added, many / "bench")
    try:
        more = cpu_s(partial(catalog.open_catalog, [many]), 1)
    finally:
        for path in written:
            path.unlink()
    yield Measured(
        "open 1,000 files and one that is new",
        "CPU",
        more,
        "s",
        goal=0.2,
        why="the index of all files is written again",
    )


def bench_pages(n_requests: int, n_gaps: int) -> Iterator[Measured]:
    """Visit pages over 60 runs, and move their controls; CPU of the server's script."""
    made = synthetic.library(60, n_requests, n_gaps)
    done = subprocess.run(
        [sys.executable, str(Path(visits.__file__)), str(made)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    taken = found["cpu_s"]
    named = f"{60 * n_requests:,} requests in 60 runs"
    envelope_s = 0.25 if n_requests < 1000 else 0.35
    drawn = "20 sets are judged, and the strips, a table and a panel are built anew"
    cold = "measured results are not kept on disk yet"
    lines = (
        ("warm-up before the server is ready", "warm-up", 6.0, 3.0, cold),
        ("Home, first visit after warm-up", "home", 0.5, 0.2, ""),
        ("Envelope, TTFT limit moved", "envelope, limit", envelope_s, 0.1, drawn),
        ("Envelope, share moved", "envelope, share", envelope_s, 0.1, drawn),
        ("Compare, TTFT limit moved", "compare, limit", 0.15, 0.1, ""),
        ("Distributions, all runs", "distributions, all runs", 1.0, 0.3, ""),
        ("Distributions, window of all runs moved", "distributions, window of all runs", 1.0,
         0.3, "every request of the new window is ranked again"),
    )  # fmt: skip
    for what, step, goal, stretch, why in lines:
        yield Measured(f"{what}, {named}", "CPU", taken[step], "s", goal, stretch, why)
    yield Measured(
        f"memory of the server, peak, {named}",
        "RSS",
        found["peak_mb"],
        "MB",
        goal=1024,
        why="the requests of all runs are in memory twice while they are measured",
    )


def bench_commands() -> Iterator[Measured]:
    """Run commands as processes of their own, start included."""
    made = synthetic.library(60, 167, 30)
    start = "import sys; from headway.cli import main; main(sys.argv[1:])"
    lines = (
        ("headway --help", ("--help",), 0.15, None),
        ("headway summary of 60 runs", ("summary", "--library", made, "--json"), 1.5, None),
        ("headway verdict of 60 runs",
         ("verdict", "--library", made, "--json"), 1.0, None),
    )  # fmt: skip
    why = "importing numpy, Polars, PyArrow, DuckDB and SciPy takes 1 s of it"
    for what, arguments, goal, stretch in lines:
        taken = min(imports.cost(start, *arguments, ends=(0, 1, 3)).cpu_s for _ in range(REPEATS))
        yield Measured(what, "CPU, whole process", taken, "s", goal, stretch, why)


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


def bench_record(folder: Path, n_requests: int, n_gaps: int) -> Iterator[Measured]:
    """Seal and write a run mapped from a file, against compressing its lists and no more."""
    folder.mkdir()
    one = synthetic.synthetic_run(0, record.ROW_GROUP_REQUESTS, n_gaps)
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
    named = f"{requests.num_rows:,} mapped requests"
    yield Measured(f"seal and write {named}", "writing their gaps and nothing else", ours / least,
                   goal=5)  # fmt: skip
    yield Measured("memory for that", "a request", peak.bytes / requests.num_rows, "bytes",
                   goal=300)  # fmt: skip


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


def bench_comparison(n_requests: int) -> Iterator[Measured]:
    """Pair two runs request by request, against DuckDB's bare join of the same columns."""
    opened = catalog.open_catalog([synthetic.library(2, n_requests, 2)])
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
    named = f"{n_requests:,} × {n_requests:,} requests"
    against = "a bare join of the columns"
    yield Measured(
        f"pair {named}",
        against,
        cpu_s(pairs) / bare,
        goal=3,
        why="the query numbers the pairs of runs, so that one answers for all replicates",
    )
    yield Measured(
        f"compare {named}, cold",
        against,
        cpu_s(whole, 1) / bare,
        goal=6,
        stretch=3,
        why="each metric is sorted once for the side and once for each class",
    )


def main(arguments: Sequence[str]) -> int:
    """Run the benchmarks and print each line as it comes; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", nargs="?", choices=("quick", "full"), default="full")
    said = parser.parse_args(arguments)
    quick = said.size == "quick"
    n_requests, n_pairs = (1_667, 100_000) if quick else (16_667, 1_000_000)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as name:
        os.environ["HEADWAY_CACHE"] = str(Path(name) / "cache")
        importing = Path(name) / "import"
        importing.mkdir()
        # First, while this process holds no memory that could be used again.
        writing = bench_record(Path(name) / "record", n_pairs, 20 if quick else 100)
        reading = imports.bench(importing, 5_000 if quick else 40_000, 100)
        for lines in (writing, reading):
            # In a small file the start outweighs the work, which the goals are about.
            report.add(replace(line, goal=None) if quick else line for line in lines)
        report.add(bench_commands())
        report.add(bench_opening(n_requests, 30))
        report.add(bench_queries(60, n_requests, 30))
        report.add(bench_comparison(n_pairs))
        for size in (167, n_requests):
            report.add(bench_pages(size, 30))
    if not quick:
        report.write()
    sys.stdout.write(
        f"{len(report.found)} lines, {report.n_missed} goals missed; {os.cpu_count()} cores\n"
    )
    return 1 if report.n_missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
