"""How often is a verdict about traffic wrong? Simulated traffic whose long-run answer is known.

    python benchmarks/simulate.py --repeats 2000 --jobs 2 --write

makes the tables of docs/error-rates.md and of the Methods page; `--only NAME` makes the rows of one
generator. The same seed and repeats give the same rows.

A limit is "at the boundary" when, in the long run, exactly the target share of requests meets it:
every acceptance there is a false one. A generator's clustering C is its largest design effect over
windows of up to ten times the run, measured on long runs of its own. The promise is about the
acceptances whose reach is at least C; those with any reach are printed beside them.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import published
from generators import GENERATORS, Booleans, Floats, Generator, Runs

from headway.stats.effective import (
    N_LONG_BLOCKS,
    block_ratio_of_counts,
    blocks,
    effective,
    effective_of_metric,
    few_blocks,
    in_flight,
    latency_parts,
)
from headway.stats.intervals import LEVEL, Side, clopper_pearson, order_statistic_ranks
from headway.stats.reach import bears
from headway.stats.steadiness import steadiness
from headway.stats.verdicts import Attained, Verdict, traffic

SEED = 20_261_201
LENGTHS = (500, 2000, 10_000)
TARGETS = (0.90, 0.95, 0.99)
POWER_SHARE, REJECT_SHARE, POWER_TARGET = 0.99, 0.85, 0.95
SHARES = (REJECT_SHARE, *TARGETS)
SPELLS = (10, 30)
CHUNK = 250
N_LONG, LONG_ROWS = 100_000, 96
# Power and coverage need fewer runs than a rate of 5%: those of the first chunks.
POWER_CHUNKS, REJECT_CHUNKS = 2, 1
WINDOWS = tuple(int(w) for w in np.unique(np.geomspace(1, N_LONG, 41).astype(int)))


@dataclass(frozen=True)
class Cell:
    """A target, and the share that the traffic attains."""

    target: float
    share: float


CELLS = (
    *(Cell(target, target) for target in TARGETS),
    Cell(POWER_TARGET, POWER_SHARE),
    Cell(POWER_TARGET, REJECT_SHARE),
)


@dataclass(frozen=True)
class Known:
    """What the long runs of a generator tell: limits by share, and clustering by share and length.

    `percentiles` are those of the last metric at the shares of the targets.
    """

    limits: dict[float, tuple[float, ...]]
    clustering: dict[tuple[float, int], float]
    percentiles: dict[float, float]


def rng(place: int, purpose: int, chunk: int, seed: int = SEED) -> np.random.Generator:
    """Return the random generator of one chunk of runs."""
    return np.random.default_rng(np.random.SeedSequence([seed, place, purpose, chunk]))


def made(of: Generator, generator: np.random.Generator, n_runs: int, n: int, share: float) -> Runs:
    """Make runs, without the warm-up in which a server fills."""
    runs = of.simulate(generator, n_runs, of.n_warmup + n, share)
    after = slice(of.n_warmup, None)
    metrics = tuple(metric[:, after] for metric in runs.metrics)
    return Runs(runs.arrival[:, after], runs.end[:, after], metrics)


def limits_for(metrics: Sequence[Floats], share: float) -> tuple[float, ...]:
    """Return limits that the share meets together; of two, the first takes half the misses."""
    if len(metrics) == 1:
        return (float(np.quantile(metrics[0], share)),)
    first, second = metrics
    limit = float(np.quantile(first, 1 - (1 - share) / 2))
    kept = first <= limit
    return limit, float(np.quantile(second[kept], share / kept.mean()))


def meets(metrics: Sequence[Floats], limits: Sequence[float]) -> Booleans:
    """Tell which requests keep every limit; a lost one keeps none."""
    kept = [metric <= limit for metric, limit in zip(metrics, limits, strict=True)]
    return np.asarray(np.logical_and.reduce(kept), bool)


def largest_effects(met: Booleans, share: float) -> dict[int, float]:
    """Return the largest design effect over windows of up to ten times each length.

    The variance is about the true share, over every whole window of each row.
    """
    total = np.cumsum(np.pad(met, ((0, 0), (1, 0))), axis=1, dtype=np.int64)
    effects = {}
    for window in WINDOWS:
        if window > met.shape[1]:
            break
        starts = np.arange(0, met.shape[1] - window + 1, window)
        means = (total[:, starts + window] - total[:, starts]) / window
        effects[window] = float(np.mean((means - share) ** 2) * window / (share * (1 - share)))
    return {n: max(e for window, e in effects.items() if window <= 10 * n) for n in LENGTHS}


def learn(place: int, seed: int = SEED) -> Known:
    """Return what long runs of a generator tell."""
    of = GENERATORS[place]
    limits: dict[float, tuple[float, ...]] = {}
    clustering: dict[tuple[float, int], float] = {}
    percentiles: dict[float, float] = {}
    runs = made(of, rng(place, 0, 0, seed), LONG_ROWS, of.n_long, 0.5) if of.is_server else None
    for share in SHARES:
        if runs is None:
            one = made(of, rng(place, 0, 0, seed), LONG_ROWS, of.n_long, share)
            limits[share] = (float(np.finfo(float).max),)
            met, true_share = meets(one.metrics, limits[share]), share
        else:
            limits[share] = limits_for(runs.metrics, share)
            met = meets(runs.metrics, limits[share])
            true_share = float(met.mean())
            percentiles[share] = float(np.quantile(runs.metrics[-1], share))
        for n, effect in largest_effects(met, true_share).items():
            clustering[share, n] = effect
    return Known(limits, clustering, percentiles)


# --- Judging -------------------------------------------------------------------------------------


def judge_all(runs: Runs, n: int, cell: Cell, limits: tuple[float, ...]) -> list[Verdict]:
    """Judge the beginnings of runs by the full rule.

    Most runs at the boundary cannot be decided whatever their latencies look like. They are left
    out first by what they miss and how the misses cluster, which is the same bound on less.
    """
    metrics = [metric[:, :n] for metric in runs.metrics]
    met = meets(metrics, limits)
    n_missed = n - met.sum(axis=1)
    edges = np.cumsum(blocks(n)) - blocks(n)
    counts = np.add.reduceat(met, edges, axis=1)
    verdicts = []
    for row in range(len(met)):
        ten = block_ratio_of_counts(counts[row], blocks(n))
        five = block_ratio_of_counts(
            counts[row].reshape(N_LONG_BLOCKS, -1).sum(1),
            blocks(n).reshape(N_LONG_BLOCKS, -1).sum(1),
        )
        least = few_blocks(1) * max(1.0, ten, five)
        trials = n / (few_blocks(1) * max(1.0, ten))
        share = 1 - n_missed[row] / n
        high = clopper_pearson(share * trials, trials, LEVEL, Side.UPPER)[1]
        if bears(n, n_missed[row], cell.target, least) or high < cell.target:
            verdicts.append(judge(runs, row, n, cell, met[row]))
        else:
            verdicts.append(Verdict.UNDECIDED)
    return verdicts


def judge(runs: Runs, row: int, n: int, cell: Cell, met: Booleans, spell: float = 0.0) -> Verdict:
    """Judge the beginning of one run as the product does."""
    flying = in_flight(runs.arrival[row, :n], runs.end[row, :n])
    metrics = [metric[row, :n] for metric in runs.metrics]
    size = effective([latency_parts(metric, flying) for metric in metrics], met)
    share = float(met.mean())
    steady = steadiness(metrics[0])
    return traffic(Attained(share, share), size, cell.target, steady, spell).verdict


def covers(runs: Runs, n: int, target: float, percentile: float) -> list[bool]:
    """Tell in which runs the 95% interval of a percentile covers the long-run one."""
    found = []
    for row in range(len(runs.arrival)):
        metric = runs.metrics[-1][row, :n]
        flying = in_flight(runs.arrival[row, :n], runs.end[row, :n])
        size = effective_of_metric(latency_parts(metric, flying), n)
        ranks = order_statistic_ranks(size.n_eff if size else n, n, target)
        ordered = np.sort(metric)
        below = ranks[0] is None or ordered[ranks[0] - 1] <= percentile
        above = ranks[1] is None or ordered[ranks[1] - 1] >= percentile
        found.append(bool(below and above))
    return found


def is_judged(cell: Cell, chunk: int) -> bool:
    """Tell whether a chunk counts for a cell."""
    if cell.share == cell.target:
        return True
    return chunk < (POWER_CHUNKS if cell.share > cell.target else REJECT_CHUNKS)


NAMES = ("attained", "accept", "accept_within", "reject", "naive")


@dataclass(frozen=True)
class Counts:
    """Counts of one chunk of runs: by length, cell and name; by length and target; by spell."""

    rates: Floats
    covered: Floats
    spells: Floats


def chunk_of(place: int, known: Known, seed: int, chunk: int, n_runs: int) -> Counts:
    """Judge one chunk of runs in every cell: counts by length and cell."""
    of = GENERATORS[place]
    made_of: dict[float, Runs] = {}
    for share in SHARES:
        if of.is_server and made_of:
            made_of[share] = next(iter(made_of.values()))
        elif any(is_judged(cell, chunk) for cell in CELLS if cell.share == share):
            made_of[share] = made(of, rng(place, 1, chunk, seed), n_runs, max(LENGTHS), share)
    rates = np.zeros((len(LENGTHS), len(CELLS), len(NAMES)))
    covered = np.zeros((len(LENGTHS), len(TARGETS), 2))
    spells = np.zeros((len(LENGTHS), len(SPELLS)))
    for i, n in enumerate(LENGTHS):
        for j, cell in enumerate(CELLS):
            if not is_judged(cell, chunk):
                continue
            runs, limits = made_of[cell.share], known.limits[cell.share]
            verdicts = judge_all(runs, n, cell, limits)
            accepted = np.array([each is Verdict.ACCEPTED for each in verdicts])
            rejected = np.array([each is Verdict.REJECTED for each in verdicts])
            met = meets([metric[:, :n] for metric in runs.metrics], limits)
            n_missed = n - met.sum(axis=1)
            within = bears(n, n_missed, cell.target, known.clustering[cell.share, n])
            naive = bears(n, n_missed, cell.target, 1.0)
            counts = (met.mean(axis=1), accepted, accepted & within, rejected, naive)
            rates[i, j] = [column.sum() for column in counts]
            if cell.share == POWER_SHARE and cell.target == POWER_TARGET and place == 0:
                for k, spell in enumerate(SPELLS):
                    spells[i, k] = sum(
                        judge(runs, row, n, cell, met[row], spell) is Verdict.ACCEPTED
                        for row in range(n_runs)
                        if accepted[row]
                    )
        if of.is_server and chunk == 0:
            for j, target in enumerate(TARGETS):
                hits = covers(made_of[target], n, target, known.percentiles[target])
                covered[i, j] = sum(hits), len(hits)
    return Counts(rates, covered, spells)


# --- Rows ----------------------------------------------------------------------------------------


def simulate(
    place: int, repeats: int, seed: int = SEED, jobs: int = 1
) -> dict[str, list[published.Row]]:
    """Return the rows of one generator: at the boundary, and away from it."""
    known = learn(place, seed)
    sizes = [min(CHUNK, repeats - start) for start in range(0, repeats, CHUNK)]
    work = partial(chunk_of, place, known, seed)
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            parts = list(pool.map(work, range(len(sizes)), sizes))
    else:
        parts = [work(chunk, size) for chunk, size in enumerate(sizes)]
    n_judged = np.array(
        [sum(size for chunk, size in enumerate(sizes) if is_judged(cell, chunk)) for cell in CELLS]
    )
    rates = np.sum([part.rates for part in parts], axis=0) / n_judged[:, None]
    covered = np.sum([part.covered for part in parts], axis=0)
    spells = np.sum([part.spells for part in parts], axis=0) / n_judged[len(TARGETS)]
    of = GENERATORS[place]
    boundary, power = [], []
    for i, n in enumerate(LENGTHS):
        for j, target in enumerate(TARGETS):
            rate = dict(zip(NAMES, (round(float(x), 4) for x in rates[i, j]), strict=True))
            hits, tried = covered[i, j]
            boundary.append(
                {
                    "traffic": of.name, "family": of.family, "n": n, "target": target,
                    "repeats": repeats,
                    "clustering": round(known.clustering[target, n], 2),
                    "attained": rate["attained"],
                    "false_accept_within": rate["accept_within"],
                    "false_accept": rate["accept"],
                    "false_reject": rate["reject"],
                    "naive_false_accept": rate["naive"],
                    "percentile_coverage": round(float(hits / tried), 3) if tried else None,
                }
            )  # fmt: skip
        power.append(
            {
                "traffic": of.name, "n": n, "repeats": int(n_judged[len(TARGETS)]),
                "accepts": round(float(rates[i, len(TARGETS), 1]), 4),
                "rejects": round(float(rates[i, len(TARGETS) + 1, 3]), 4),
                **({} if place else {
                    f"accepts_spell_{spell}": round(float(spells[i, k]), 4)
                    for k, spell in enumerate(SPELLS)
                }),
            }
        )  # fmt: skip
    return {"traffic": boundary, "power": power}


BOUNDARY = {
    "traffic": "Traffic",
    "n": "Requests",
    "target": "Target",
    "clustering": "C",
    "attained": "Attained",
    "false_accept_within": "**False accept, reach ≥ C**",
    "false_accept": "any reach",
    "false_reject": "False reject",
    "naive_false_accept": "naive exact",
    "percentile_coverage": "Percentile covered",
}
POWER = {
    "traffic": "Traffic",
    "n": "Requests",
    "accepts": "Accepts 99%",
    "rejects": "Rejects 85%",
}
DIGITS = {"target": 2, "clustering": 1, "attained": 4, "naive_false_accept": 2}


def ordered(rows: Sequence[published.Row]) -> list[published.Row]:
    """Return rows in the order of the generators, each with its shortest run first."""
    places = {of.name: place for place, of in enumerate(GENERATORS)}
    return sorted(rows, key=lambda row: (places[row["traffic"]], row["n"], row.get("target", 0)))


def main() -> None:
    """Simulate and print; write each generator as soon as it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", action="append", help="a generator's name; may be repeated")
    parser.add_argument("--write", action="store_true", help="put the tables into docs and Methods")
    options = parser.parse_args()
    for place, of in enumerate(GENERATORS):
        if options.only and of.name not in options.only:
            continue
        found = simulate(place, options.repeats, options.seed, options.jobs)
        sys.stdout.write(published.table(found["traffic"], BOUNDARY, DIGITS) + "\n")
        sys.stdout.write(published.table(found["power"], POWER, {}) + "\n")
        sys.stdout.flush()
        if options.write:
            published.keep("traffic", found["traffic"], ("traffic", "n", "target"))
            published.keep("power", found["power"], ("traffic", "n"))
    if options.write:
        known = published.read()
        published.put("traffic", published.table(ordered(known["traffic"]), BOUNDARY, DIGITS))
        published.put("power", published.table(ordered(known["power"]), POWER, {}))


if __name__ == "__main__":
    main()
