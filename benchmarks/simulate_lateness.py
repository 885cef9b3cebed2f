"""Does it matter that a client issues one plan a little late? Runs of one policy, late and not.

    python benchmarks/simulate_lateness.py --repeats 1000 --write

One queue as in `simulate_replicates.py`. A late client sends each request an exponential 1% of the
mean gap late, and one in a hundred sends begins a stall of a mean gap on average, which holds up
the requests behind it. Sends stay in order. Two questions about two sides of the same policy:

- How often does the replicated rule see a difference, with no side late, both, or only B?
- By how much does lateness on one side alone move a percentile?
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.stats.comparison import welch_ratio

Floats = NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs" / "error-rates.md"
SEED = 20_261_129
LOADS = (0.7, 0.9)
K = 5
SHARES = (0.5, 0.9, 0.99)
NOISE = 0.02
NOMINAL = 0.05
N_REQUESTS = 1000
LATE_OF_GAP, STALLS = 0.01, 0.01
SIDES = {"neither": (False, False), "both": (True, True), "B only": (False, True)}
BATCH = 25


@dataclass(frozen=True, slots=True)
class Lateness:
    """How often K runs a side differ, how far apart arrivals are, and what lateness moves.

    `median_gaps` and `most_gaps` are differences between two runs' arrivals in mean gaps; `moved`
    is the mean relative change of each percentile from A to B.
    """

    load: float
    late: str
    repeats: int
    median_gaps: float
    most_gaps: float
    differs: tuple[float, ...]
    moved: tuple[float, ...]


def runs(
    rng: np.random.Generator, load: float, late: Sequence[bool], n_workloads: int
) -> tuple[Floats, Floats]:
    """Return completion latencies and sends, shape (workloads, runs, requests)."""
    gap = 1 / load
    shape = (n_workloads, len(late), N_REQUESTS)
    planned = np.cumsum(rng.exponential(gap, (n_workloads, 1, N_REQUESTS)), axis=2)
    stalls = (rng.random(shape) < STALLS) * rng.exponential(gap, shape)
    slip = (rng.exponential(LATE_OF_GAP * gap, shape) + stalls) * np.array(late)[None, :, None]
    sent = np.maximum.accumulate(planned + slip, axis=2)
    speed = rng.lognormal(0, NOISE, (n_workloads, len(late), 1))
    service = rng.lognormal(-0.5, 1, (n_workloads, 1, N_REQUESTS)) * speed
    walk = np.zeros(shape)
    np.cumsum(service[..., :-1] - np.diff(sent, axis=2), axis=2, out=walk[..., 1:])
    return walk - np.minimum.accumulate(walk, axis=2) + service, sent


def simulate(repeats: int, seed: int = SEED) -> Iterator[Lateness]:
    """Yield the rates for every load and side that is late."""
    for place, load in enumerate(LOADS):
        for name, sides in SIDES.items():
            rng = np.random.default_rng([seed, 200 + place])
            yield _of(rng, load, name, sides, repeats)


def _of(
    rng: np.random.Generator, load: float, name: str, sides: tuple[bool, bool], repeats: int
) -> Lateness:
    late = [side for side in sides for _ in range(K)]
    differ, moved, apart = [], [], []
    for start in range(0, repeats, BATCH):
        times, sent = runs(rng, load, late, min(BATCH, repeats - start))
        values = np.quantile(times, SHARES, axis=2, method="inverted_cdf")
        logs = np.log(values)
        moved.append(logs[:, :, K:].mean(axis=2) - logs[:, :, :K].mean(axis=2))
        from_first = sent - sent[..., :1]
        apart.append(np.abs(from_first[:, K] - from_first[:, 0]) * load)
        for row in range(len(times)):
            found = [welch_ratio(each[row, :K], each[row, K:]) for each in values]
            differ.append([ratio is not None and ratio.p < NOMINAL for ratio in found])
    gaps = np.concatenate(apart)
    return Lateness(
        load=load,
        late=name,
        repeats=repeats,
        median_gaps=float(np.median(gaps, axis=1).mean()),
        most_gaps=float(gaps.max(axis=1).mean()),
        differs=tuple(np.mean(differ, axis=0).tolist()),
        moved=tuple(np.expm1(np.concatenate(moved, axis=1).mean(axis=1)).tolist()),
    )


def table(found: Sequence[Lateness]) -> str:
    """Return the rates as a Markdown table."""
    heading = (
        "| Load | Late | Apart, median | Apart, most | p50 differs | p90 differs | p99 differs | "
        "p50 moved | p90 moved | p99 moved |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    rows = [
        f"| {each.load:g} | {each.late} | {each.median_gaps:.1%} | {each.most_gaps:.1f} gaps | "
        + " | ".join(f"{rate:.3f}" for rate in each.differs)
        + " | "
        + " | ".join(f"{change:+.1%}" for change in each.moved)
        + " |"
        for each in found
    ]
    return "\n".join([heading, *rows]).replace("-0.0%", "0.0%").replace("+0.0%", "0.0%")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", action="store_true", help="put the table into docs")
    options = parser.parse_args()
    text = table(list(simulate(options.repeats, options.seed)))
    sys.stdout.write(text + "\n")
    if options.write:
        start, end = "<!-- lateness -->", "<!-- end of lateness -->"
        before, _, rest = PAGE.read_text("utf-8").partition(start)
        _, _, after = rest.partition(end)
        PAGE.write_text(f"{before}{start}\n{text}\n{end}{after}", "utf-8")


if __name__ == "__main__":
    main()
