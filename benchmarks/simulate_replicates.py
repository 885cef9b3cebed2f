"""How often are claims that rest on replicates wrong? One queue whose machine varies by 2%.

    python benchmarks/simulate_replicates.py --repeats 2000 --write

Each workload is a frozen plan of arrivals and services. A replicate runs the plan on a machine that
is faster or slower as a whole, by a lognormal factor with a spread of 2%. Two questions:

- **No difference**: both sides of a comparison are the same policy. How often does the replicated
  rule (Welch on logarithms, 5%) see a difference in a percentile of the latency?
- **At the boundary**: the target is the share that this workload attains on average over the
  machine's variation. How often does the rule of three or more replicates accept, or reject?
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.analyses.error_rates import SEED, ReplicatedRate
from headway.stats.comparison import welch_ratio
from headway.stats.verdicts import Attained, Verdict, workload

Floats = NDArray[np.float64]

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "error-rates.md"
MODULE = ROOT / "app" / "headway" / "analyses" / "error_rates.py"

LOADS = (0.7, 0.9)
REPLICATES = (3, 5)
SHARES = (0.5, 0.9, 0.99)
NOISE = 0.02
N_REQUESTS = 2000
N_TRUTH = 150  # runs that tell what a workload attains on average
LIMIT_SHARE = 0.95
NOMINAL = 0.05
BATCH = 20  # workloads simulated side by side


def replicate(rng: np.random.Generator, load: float, n_workloads: int, n_runs: int) -> Floats:
    """Return completion latencies of a queue with one slot, shape (workloads, runs, requests).

    By Lindley's recursion: a wait is the walk of services minus gaps above its minimum so far.
    """
    shape = (n_workloads, 1, N_REQUESTS)
    gaps = rng.exponential(1 / load, shape)
    speed = rng.lognormal(0, NOISE, (n_workloads, n_runs, 1))
    service = rng.lognormal(-0.5, 1, shape) * speed
    walk = np.zeros(service.shape)
    np.cumsum(service[..., :-1] - gaps[..., 1:], axis=2, out=walk[..., 1:])
    return walk - np.minimum.accumulate(walk, axis=2) + service


def differs(values: Floats, k: int) -> bool:
    """Tell whether the first k runs seem to differ from the next k; shape (runs,)."""
    found = welch_ratio(values[:k], values[k : 2 * k])
    return found is not None and found.p < NOMINAL


def wrong_verdicts(times: Floats, k: int) -> tuple[bool, bool]:
    """Return whether k replicates accept and reject their own average; shape (runs, requests).

    The runs after the first 2k tell the average.
    """
    limit = float(np.quantile(times, LIMIT_SHARE))
    shares = (times <= limit).mean(axis=1)
    truth = float(shares[-N_TRUTH:].mean())
    verdict = workload([Attained(s, s) for s in shares[:k].tolist()], truth).verdict
    return verdict is Verdict.ACCEPTED, verdict is Verdict.REJECTED


def simulate(repeats: int, seed: int = SEED) -> list[ReplicatedRate]:
    """Return the error rates for every load and number of replicates."""
    return [
        rate
        for i, load in enumerate(LOADS)
        for rate in _of_load(np.random.default_rng([seed, 100 + i]), load, repeats)
    ]


def _of_load(rng: np.random.Generator, load: float, repeats: int) -> list[ReplicatedRate]:
    most = max(REPLICATES)
    columns = (len(REPLICATES), repeats, len(SHARES) + 2)
    found = np.zeros(columns)
    for start in range(0, repeats, BATCH):
        times = replicate(rng, load, min(BATCH, repeats - start), 2 * most + N_TRUTH)
        quantiles = np.quantile(times, SHARES, axis=2, method="inverted_cdf")
        for i, k in enumerate(REPLICATES):
            for row in range(len(times)):
                differences = [differs(values[row], k) for values in quantiles]
                found[i, start + row] = [*differences, *wrong_verdicts(times[row], k)]
    return [
        ReplicatedRate(load, k, repeats, *(round(float(x), 4) for x in found[i].mean(axis=0)))
        for i, k in enumerate(REPLICATES)
    ]


def table(rates: Sequence[ReplicatedRate]) -> str:
    """Return the rates as a Markdown table."""
    heading = (
        "| Load | Replicates | p50 differs | p90 differs | p99 differs | False accept | "
        "False reject |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    rows = [
        f"| {r.load:g} | {r.replicates} | {r.p50_differs:.3f} | {r.p90_differs:.3f} | "
        f"{r.p99_differs:.3f} | {r.false_accept:.3f} | {r.false_reject:.3f} |"
        for r in rates
    ]
    return "\n".join([heading, *rows])


def source(rates: Sequence[ReplicatedRate]) -> str:
    """Return the rates as Python."""
    rows = [
        f"    ReplicatedRate({r.load}, {r.replicates}, {r.repeats}, {r.p50_differs}, "
        f"{r.p90_differs}, {r.p99_differs}, {r.false_accept}, {r.false_reject}),"
        for r in rates
    ]
    return "\n".join(["REPLICATED: tuple[ReplicatedRate, ...] = (", *rows, ")"])


def replace_between(path: Path, start: str, end: str, text: str) -> None:
    """Put a text between two marker lines of a file."""
    before, _, rest = path.read_text("utf-8").partition(start)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{start}\n{text}\n{end}{after}", "utf-8")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", action="store_true", help="put the table into docs and Methods")
    options = parser.parse_args()
    rates = simulate(options.repeats, options.seed)
    sys.stdout.write(table(rates) + "\n")
    if options.write:
        start, end = "<!-- replicates -->", "<!-- end of replicates -->"
        replace_between(PAGE, start, end, table(rates))
        replace_between(MODULE, "# replicates {", "# }", source(rates))


if __name__ == "__main__":
    main()
