"""Does a run of the advised length decide? Undecided runs of independent requests, run again.

    python benchmarks/simulate_settle.py --repeats 200 --write

makes a table of docs/error-rates.md. Each undecided run is told how long a fresh run would have to
be. Two fresh runs of that length follow, each judged once: one with the share that was seen, which
is what the advice speaks of, and one with the true share, which nobody knows.
"""

import argparse
import sys

import numpy as np
import published

from headway.stats.effective import Effective, effective, latency_parts
from headway.stats.settle import run_length
from headway.stats.steadiness import Steadiness
from headway.stats.verdicts import Attained, Verdict, traffic

SEED = 20_261_203
TARGETS = (0.90, 0.95, 0.99)
LENGTHS = (500, 2000)
# How far the true share lies from the target, as a part of the misses that the target allows.
DISTANCES = (-0.5, 0.3, 0.5)


def run(
    rng: np.random.Generator, n: int, share: float, target: float
) -> tuple[float, Effective, Verdict]:
    """Return the share, the size and the verdict of one run of independent requests."""
    ttft = rng.random(n)
    met = ttft <= share
    size = effective([latency_parts(ttft, rng.poisson(10, n))], met)
    if size is None:
        raise ValueError(f"{n} requests are too few")
    found = float(met.mean())
    claim = traffic(Attained(found, found), size, target, Steadiness.STEADY)
    return found, size, claim.verdict


def cell(target: float, n: int, distance: float, repeats: int, seed: int) -> published.Row:
    """Return how many undecided runs get a length, and how often it decides."""
    rng = np.random.default_rng([seed, round(target * 100), n, round(distance * 10) + 10])
    true_share = target + distance * (1 - target)
    n_tried = n_undecided = n_advised = decided_if = decided = 0
    while n_undecided < repeats and n_tried < 40 * repeats:
        n_tried += 1
        share, size, verdict = run(rng, n, true_share, target)
        if verdict is not Verdict.UNDECIDED:
            continue
        n_undecided += 1
        length = run_length(share, size, target)
        if length is None:
            continue
        n_advised += 1
        decided_if += run(rng, length, share, target)[2] is not Verdict.UNDECIDED
        decided += run(rng, length, true_share, target)[2] is not Verdict.UNDECIDED
    return {
        "target": target, "n": n, "true_share": round(true_share, 4), "undecided": n_undecided,
        "advised": n_advised,
        "decides_if": round(decided_if / n_advised, 3) if n_advised else None,
        "decides": round(decided / n_undecided, 3) if n_undecided else None,
    }  # fmt: skip


HEADINGS = {
    "target": "Target", "n": "Requests", "true_share": "True share", "undecided": "Undecided runs",
    "advised": "Told a length", "decides_if": "**Decides, share as seen**",
    "decides": "Decides, of all undecided",
}  # fmt: skip
DIGITS = {"target": 2, "true_share": 3}


def main() -> None:
    """Simulate, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200, help="undecided runs a cell")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", action="store_true", help="put the table into docs")
    options = parser.parse_args()
    rows = [
        cell(target, n, distance, options.repeats, options.seed)
        for target in TARGETS
        for n in LENGTHS
        for distance in DISTANCES
    ]
    text = published.table(rows, HEADINGS, DIGITS)
    sys.stdout.write(text + "\n")
    if options.write:
        published.keep("settle", rows, ("target", "n", "true_share"))
        published.put("settle", text)


if __name__ == "__main__":
    main()
