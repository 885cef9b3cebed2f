"""How often are claims wrong that rest on replicates? Queues whose machine varies from run to run.

    python benchmarks/simulate_replicates.py --repeats 20000 --pairs 4000 --write

makes the tables of docs/error-rates.md and of the Methods page. Each workload is a frozen plan of
arrivals and services. A replicate runs the plan on a machine that is faster or slower as a whole.
Two questions:

- **At the bound**: all K replicates met, so at least a share of such runs would. How often is it
  said of a workload of which fewer do?
- **No difference**: both sides of a comparison are the same policy. How often is any test better or
  worse, by order in which the runs were made?
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import published
from numpy.typing import NDArray
from scipy import special

from headway.analyses.replicated import MetShares, judged
from headway.analyses.shift import Taken
from headway.model import Metric
from headway.stats.comparison import Difference
from headway.stats.order import order, plan
from headway.stats.repeats import repeats, workload
from headway.stats.verdicts import Attained, Verdict

Floats = NDArray[np.float64]

SEED = 20_261_202
K = (1, 2, 3, 5, 10, 19)
N_REQUESTS = 500
N_POOL = 400  # runs of each workload, that tell which share of them meets
N_SETS = 200  # sets drawn from each workload
PHI = 0.9
LIMIT_SHARE = 0.95


@dataclass(frozen=True)
class Machine:
    """How the speed of a machine varies from run to run: factors of shape (workloads, runs)."""

    name: str
    load: float
    factors: Callable[[np.random.Generator, int, int], Floats]


def noisy(rng: np.random.Generator, n: int, runs: int, *, sd: float) -> Floats:
    """Return independent factors with this spread."""
    return rng.lognormal(0, sd, (n, runs))


def sometimes_slow(rng: np.random.Generator, n: int, runs: int) -> Floats:
    """Return a machine on which one run in seven is 30% slower, and 1% noise."""
    return noisy(rng, n, runs, sd=0.01) * np.where(rng.random((n, runs)) < 1 / 7, 1.3, 1.0)


def drifting(rng: np.random.Generator, n: int, runs: int, *, sd: float) -> Floats:
    """Return factors that follow one another: AR(1) with a correlation of 0.9."""
    series = rng.standard_normal((n, runs)) * np.sqrt(1 - PHI**2)
    series[:, 0] /= np.sqrt(1 - PHI**2)
    for i in range(1, runs):
        series[:, i] += PHI * series[:, i - 1]
    return np.asarray(np.exp(sd * series))


def trending(rng: np.random.Generator, n: int, runs: int) -> Floats:
    """Return a machine that becomes 10% slower over the runs, with 2% noise."""
    return noisy(rng, n, runs, sd=0.02) * np.linspace(1, 1.1, runs)


def stepping(rng: np.random.Generator, n: int, runs: int) -> Floats:
    """Return a machine that is 10% slower from some run on, with 2% noise."""
    later = np.arange(runs) >= rng.integers(1, runs, (n, 1))
    return noisy(rng, n, runs, sd=0.02) * np.where(later, 1.1, 1.0)


def cold(rng: np.random.Generator, n: int, runs: int) -> Floats:
    """Return a machine whose first run is 8% slower, with 2% noise."""
    return noisy(rng, n, runs, sd=0.02) * np.where(np.arange(runs) == 0, 1.08, 1.0)


MACHINES = (
    *(Machine(f"{sd:.0%} noise", 0.9, partial(noisy, sd=sd)) for sd in (0.01, 0.02, 0.05, 0.10)),
    Machine("one run in seven 30% slower", 0.9, sometimes_slow),
    Machine("one run in seven 30% slower", 0.7, sometimes_slow),
)


def latencies(
    rng: np.random.Generator, load: float, factors: Floats, n_requests: int = N_REQUESTS
) -> tuple[Floats, Floats]:
    """Return waits and completion latencies of a queue with one slot, (workloads, runs, requests).

    By Lindley's recursion: a wait is the walk of services minus gaps above its minimum so far. The
    mean service takes 1 on a machine of factor 1.
    """
    shape = (len(factors), 1, n_requests)
    gaps = rng.exponential(1 / load, shape)
    service = rng.lognormal(-0.5, 1, shape) * factors[:, :, None]
    walk = np.zeros(service.shape)
    np.cumsum(service[..., :-1] - gaps[..., 1:], axis=2, out=walk[..., 1:])
    wait = walk - np.minimum.accumulate(walk, axis=2)
    return wait, wait + service


# --- Repeatable on this workload ---------------------------------------------------------------


def met_in_pools(rng: np.random.Generator, machine: Machine, n: int) -> Iterator[Floats]:
    """Yield, for each workload, the share that meets the objective in every run of its pool."""
    for _ in range(n):
        _, times = latencies(rng, machine.load, machine.factors(rng, 1, N_POOL))
        limit = float(np.median(np.quantile(times[0], LIMIT_SHARE, axis=1)))
        yield (times[0] <= limit).mean(axis=1)


def at_the_bound(machine: Machine, place: int, n_sets: int, seed: int) -> list[published.Row]:
    """Return how often K runs show more than is true, and how often they are accepted.

    The target is placed so that just fewer runs of the workload meet it than K of K show: the worst
    case. Where the shares are too coarse for that, the next lower share is taken.
    """
    rng = np.random.default_rng([seed, place])
    false = dict.fromkeys(K, 0)
    shown = {k: repeats([Attained(1, 1)] * k, 0.5).low for k in K}
    n_workloads = max(1, n_sets // N_SETS)
    for shares in met_in_pools(rng, machine, n_workloads):
        for k in K:
            levels = np.unique(shares)
            meet = np.array([(shares >= level).mean() for level in levels])
            below = levels[meet < shown[k]]
            target = float(below[0]) if len(below) else 1.0 + 1e-6
            for _ in range(N_SETS):
                drawn = rng.choice(shares, k)
                found = repeats([Attained(s, s) for s in drawn.tolist()], min(target, 1.0))
                false[k] += found.low >= shown[k] - 1e-12 and bool(np.all(drawn >= target))
    n = n_workloads * N_SETS
    return [
        {
            "machine": machine.name, "load": machine.load, "k": k, "sets": n,
            "shown": round(shown[k], 4), "false_bound": round(false[k] / n, 4),
        }
        for k in K
    ]  # fmt: skip


def slow_runs(n_sets: int, seed: int) -> list[published.Row]:
    """Return what sets claim of a machine on which six runs of seven meet, and of a good one."""
    rng = np.random.default_rng([seed, 50])
    rows = []
    for name, share in (("six runs of seven meet", 6 / 7), ("99% of runs meet", 0.99)):
        for k in K:
            met = rng.binomial(k, share, n_sets)
            low = {m: repeats(_runs(m, k), 0.5).low for m in range(k + 1)}
            accepts = {m: workload(repeats(_runs(m, k), 0.5)).verdict for m in range(k + 1)}
            accepted = [accepts[m] is Verdict.ACCEPTED for m in met]
            lows = np.array([low[m] for m in met])
            rows.append(
                {
                    "machine": name, "k": k, "sets": n_sets,
                    "accepted": round(float(np.mean(accepted)), 4),
                    "claims_too_much": round(float(np.mean(lows > share)), 4),
                }
            )  # fmt: skip
    return rows


def _runs(n_met: int, k: int) -> list[Attained]:
    return [Attained(1, 1)] * n_met + [Attained(0, 0)] * (k - n_met)


def drift(n_sets: int, seed: int) -> list[published.Row]:
    """Return how a set of a drifting session speaks of its next run, and of other days.

    The target is met by just fewer runs over all days than K of K show.
    """
    rng = np.random.default_rng([seed, 60])
    rows = []
    for k in (3, 5, 10, 19):
        shown = repeats([Attained(1, 1)] * k, 0.5).low
        meets = drifting(rng, n_sets, k + 1, sd=1.0)
        limit = float(np.exp(special.ndtri(shown)))
        ok = meets <= limit
        all_met = ok[:, :k].all(axis=1)
        rows.append(
            {
                "k": k, "sets": n_sets, "shown": round(shown, 4),
                "all_met": round(float(all_met.mean()), 4),
                "next_met": round(float(ok[all_met, k].mean()), 4),
            }
        )  # fmt: skip
    return rows


# --- No difference -----------------------------------------------------------------------------

PAIRS = (
    ("1% noise", 0.7, partial(noisy, sd=0.01)),
    ("3% noise", 0.7, partial(noisy, sd=0.03)),
    ("5% noise", 0.9, partial(noisy, sd=0.05)),
    ("10% noise", 0.9, partial(noisy, sd=0.10)),
    ("one run in seven 30% slower", 0.9, sometimes_slow),
    ("AR(1) drift of 5%", 0.9, partial(drifting, sd=0.05)),
    ("10% slower by the end", 0.9, trending),
    ("10% slower from some run on", 0.9, stepping),
    ("first run 8% slower", 0.9, cold),
)
SIDES = (3, 5)
BATCH = 100
N_BLOCKED = 500  # pairs judged in blocks too: the rule gives none of them a verdict


def any_verdict(waits: Floats, times: Floats, letters: str, limit: float) -> set[Difference]:
    """Return the verdicts of all tests on runs made in this order; shapes (runs, requests)."""
    sides: dict[str, list[dict[Metric, Taken]]] = {"A": [], "B": []}
    shares: dict[str, list[float]] = {"A": [], "B": []}
    for run, side in enumerate(letters):
        sides[side].append(
            {Metric.TTFT: Taken(waits[run], 0), Metric.LATENCY: Taken(times[run], 0)}
        )
        shares[side].append(float(np.mean(times[run] <= limit)))
    met = MetShares(tuple(shares["A"]), tuple(shares["B"]), waits.shape[1])
    metrics = [Metric.TTFT, Metric.LATENCY]
    found = judged(sides["A"], sides["B"], metrics, met, order=order(letters))
    return {each.verdict for each in found}


def same_policy(place: int, n_pairs: int, seed: int) -> list[published.Row]:
    """Return how often two sets of one policy differ, by order and replicates a side."""
    name, load, factors = PAIRS[place]
    rows = []
    for k in SIDES:
        interleaved = plan(k, k)
        blocks = "A" * k + "B" * k
        rng = np.random.default_rng([seed, 70, place, k])
        wrong = {interleaved: 0, blocks: 0}
        n = 0
        while n < n_pairs:
            size = min(BATCH, n_pairs - n)
            waits, times = latencies(rng, load, factors(rng, size, 2 * k))
            for pair in range(size):
                limit = float(np.quantile(times[pair], LIMIT_SHARE))
                for letters in wrong if n + pair < N_BLOCKED else (interleaved,):
                    said = any_verdict(waits[pair], times[pair], letters, limit)
                    wrong[letters] += bool(said & {Difference.BETTER, Difference.WORSE})
            n += size
        rows.append(
            {
                "machine": name, "load": load, "k": k, "pairs": n,
                "interleaved": round(wrong[interleaved] / n, 4),
                "blocks": round(wrong[blocks] / min(n, N_BLOCKED), 4),
            }
        )  # fmt: skip
    return rows


def slower_policy(n_pairs: int, seed: int) -> list[published.Row]:
    """Return how often a B that is 20% slower is found worse, with 3% noise, interleaved."""
    rows = []
    for k in (3, 5, 10):
        rng = np.random.default_rng([seed, 80, k])
        letters, n, found = plan(k, k), 0, 0
        slower = np.array([1.2 if side == "B" else 1.0 for side in letters])
        while n < n_pairs:
            size = min(BATCH, n_pairs - n)
            waits, times = latencies(rng, 0.7, noisy(rng, size, 2 * k, sd=0.03) * slower)
            for pair in range(size):
                limit = float(np.quantile(times[pair], LIMIT_SHARE))
                said = any_verdict(waits[pair], times[pair], letters, limit)
                found += Difference.WORSE in said
            n += size
        rows.append({"k": k, "pairs": n, "worse": round(found / n, 4)})
    return rows


# --- Output ------------------------------------------------------------------------------------

WORKLOAD = {
    "machine": "Machine", "load": "Load", "k": "Runs", "shown": "Shown by all met",
    "false_bound": "**Fewer meet than shown**",
}  # fmt: skip
SLOW = {
    "machine": "Machine", "k": "Runs", "accepted": "Accepted", "claims_too_much": "Claims too much",
}  # fmt: skip
DRIFT = {
    "k": "Runs", "shown": "Shown by all met", "all_met": "All met (across days)",
    "next_met": "Next run of the session meets",
}  # fmt: skip
SAME = {
    "machine": "Machine", "load": "Load", "k": "Runs a side",
    "interleaved": "**Interleaved: better or worse**", "blocks": "In blocks",
}  # fmt: skip
WORSE = {"k": "Runs a side", "worse": "Found worse"}


def main() -> None:
    """Simulate, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20_000, help="sets of replicates a cell")
    parser.add_argument("--pairs", type=int, default=4000, help="pairs of sides a cell")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", action="store_true", help="put the tables into docs and Methods")
    options = parser.parse_args()
    n, pairs, seed = options.repeats, options.pairs, options.seed
    for section, keys, headings, rows in (
        ("workload", ("machine", "load", "k"), WORKLOAD,
         [row for i, m in enumerate(MACHINES) for row in at_the_bound(m, i, n, seed)]),
        ("slow_runs", ("machine", "k"), SLOW, slow_runs(n, seed)),
        ("drift", ("k",), DRIFT, drift(n, seed)),
        ("slower_policy", ("k",), WORSE, slower_policy(max(2000, pairs // 10), seed)),
        ("same_policy", ("machine", "load", "k"), SAME,
         [row for i in range(len(PAIRS)) for row in same_policy(i, pairs, seed)]),
    ):  # fmt: skip
        text = published.table(rows, headings, {"load": 1})
        sys.stdout.write(text + "\n\n")
        sys.stdout.flush()
        if options.write:
            published.keep(section, rows, keys)
            published.put(section, text)


if __name__ == "__main__":
    main()
