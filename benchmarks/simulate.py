"""How often is a verdict about traffic wrong? Simulated servers whose long-run answer is known.

    python benchmarks/simulate.py --repeats 2000 --jobs 2 --write

prints the table of docs/error-rates.md; `--write` also puts it there and into the module that the
Methods page reads. The same seed and number of repeats give the same table.

Each server is simulated in many independent runs, advanced side by side as rows of an array. A run
starts empty and its first requests are left out, so that the measured ones see the long-run state.
A limit is "at the boundary" when, in the long run, exactly the target share of requests meets it;
accepting there is a coin that should fall the wrong way in at most 5% of runs. Limits come from
calibration runs of their own.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.analyses.error_rates import ErrorRate
from headway.stats.effective import effective, in_flight, latency_parts
from headway.stats.intervals import (
    EARLY_STOPPING_LEVEL,
    allowed_failures,
    order_statistic_ranks,
)
from headway.stats.steadiness import Steadiness, steadiness
from headway.stats.verdicts import ACCEPT_LEVEL, Attained, Verdict, traffic

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "error-rates.md"
MODULE = ROOT / "app" / "headway" / "analyses" / "error_rates.py"

SEED = 20_261_129
LENGTHS = (1000, 4000)
TARGETS = (0.90, 0.95, 0.99)
N_WARMUP = 3000
CHUNK = 125  # runs advanced side by side


@dataclass(frozen=True)
class Runs:
    """Simulated runs, one in each row; times of one unit. `metrics` begins with the TTFT."""

    arrival: Floats
    end: Floats
    metrics: tuple[Floats, ...]


@dataclass(frozen=True)
class Server:
    """A server under a load, as a function from a generator, runs and requests to runs."""

    name: str
    simulate: Callable[[np.random.Generator, int, int], Runs]


@dataclass(frozen=True)
class Limits:
    """Limits on each metric that a known long-run share of requests meets."""

    at: tuple[float, ...]
    above: tuple[float, ...]
    below: tuple[float, ...]
    percentile: float  # long-run percentile of the last metric, at the target share


# --- Servers -----------------------------------------------------------------------------------


def first_come(
    rng: np.random.Generator, n_runs: int, n: int, *, slots: int, load: float, shape: float
) -> Runs:
    """Serve in order of arrival on identical slots; lognormal services of mean 1 and sigma 1.

    Gaps between arrivals are gamma with this shape (1 is Poisson, 0.25 has a coefficient of
    variation of 2). TTFT is the wait for a slot.
    """
    gaps = rng.gamma(shape, 1 / (shape * load * slots), (n_runs, n))
    service = rng.lognormal(-0.5, 1, (n_runs, n))
    return serve(np.cumsum(gaps, axis=1), service, slots)


def serve(arrival: Floats, service: Floats, slots: int) -> Runs:
    """Serve each row of requests in order of arrival on its own slots."""
    wait, free = np.empty(arrival.shape), np.zeros((len(arrival), slots))
    rows = np.arange(len(arrival))
    for i in range(arrival.shape[1]):
        slot = free.argmin(axis=1)
        start = np.maximum(arrival[:, i], free[rows, slot])
        free[rows, slot] = start + service[:, i]
        wait[:, i] = start - arrival[:, i]
    return Runs(arrival, arrival + wait + service, (wait,))


BASE_MS, PER_REQUEST_MS, PER_PROMPT_MS = 10.0, 1.0, 4.0
BATCH_CAP, MEAN_OUTPUT = 64, 50


class Batching:
    """Continuous batching: every iteration gives each request of the batch one token.

    Requests join in order of arrival as soon as the batch has room. An iteration takes 10 ms, 1 ms
    for each request in the batch and about 4 ms for each prompt that joins, so that the cadence of
    all grows with the batch. Answers have a geometric number of tokens, 50 on average; prompts cost
    a lognormal time. The metrics are TTFT and mean time per output token.
    """

    def __init__(self, rng: np.random.Generator, n_runs: int, n: int, rate_per_ms: float) -> None:
        shape = (n_runs, n)
        self.arrival = np.cumsum(rng.exponential(1 / rate_per_ms, shape), axis=1)
        self.output = 1 + rng.geometric(1 / (MEAN_OUTPUT - 1), shape)
        self.prompt_ms = PER_PROMPT_MS * rng.lognormal(-0.5, 1, shape)
        self.first, self.last = np.full(shape, np.nan), np.full(shape, np.nan)
        self.left = np.zeros((n_runs, BATCH_CAP), dtype=np.int64)  # tokens still to come
        self.who = np.zeros((n_runs, BATCH_CAP), dtype=np.int64)
        self.clock = np.zeros(n_runs)
        self.next = np.zeros(n_runs, dtype=np.int64)
        self.rows = np.arange(n_runs)

    def run(self) -> Runs:
        """Advance every run, an iteration at a time, until all requests are answered."""
        while np.isnan(self.last).any() if self.next.min() == self.output.shape[1] else True:
            self.iterate()
        spread = (self.last - self.first) / (self.output - 1)
        return Runs(self.arrival, self.last, (self.first - self.arrival, spread))

    def iterate(self) -> None:
        """Let requests join, then give every request of the batch a token."""
        n = self.output.shape[1]
        coming = self.arrival[self.rows, np.minimum(self.next, n - 1)]
        idle = ~self.left.any(axis=1) & (self.next < n)
        self.clock = np.where(idle, np.maximum(self.clock, coming), self.clock)
        joined_ms = self.join()
        active = self.left > 0
        size = active.sum(axis=1)
        step = BASE_MS + PER_REQUEST_MS * size + joined_ms
        self.clock = self.clock + np.where(size > 0, step, 0)
        self.left -= active
        done_run, done_slot = np.nonzero(active & (self.left == 0))
        self.last[done_run, self.who[done_run, done_slot]] = self.clock[done_run]
        new_run, new_slot = np.nonzero(active & (self.left == self.of_slots(self.output) - 1))
        self.first[new_run, self.who[new_run, new_slot]] = self.clock[new_run]

    def of_slots(self, values: Integers) -> Integers:
        """Return a request's value for every slot."""
        return values[self.rows[:, None], self.who]

    def join(self) -> Floats:
        """Put requests that have arrived into free slots; return the time their prompts take."""
        n = self.output.shape[1]
        taken = np.zeros(len(self.rows))
        while True:
            who = np.minimum(self.next, n - 1)
            slot = self.left.argmin(axis=1)
            can = (self.next < n) & (self.arrival[self.rows, who] <= self.clock)
            can &= self.left[self.rows, slot] == 0
            if not can.any():
                return taken
            run, request = self.rows[can], who[can]
            self.left[run, slot[can]] = self.output[run, request]
            self.who[run, slot[can]] = request
            taken[can] += self.prompt_ms[run, request]
            self.next[can] += 1


def batching(rng: np.random.Generator, n_runs: int, n: int, *, load: float) -> Runs:
    """Offer a share of what the batching server can carry with a full batch."""
    full_ms = BASE_MS + PER_REQUEST_MS * BATCH_CAP
    per_request_ms = MEAN_OUTPUT * full_ms / BATCH_CAP + PER_PROMPT_MS
    return Batching(rng, n_runs, n, load / per_request_ms).run()


SERVERS = (
    Server("M/G/1, load 0.8", partial(first_come, slots=1, load=0.8, shape=1)),
    Server("G/G/16, load 0.8, bursty", partial(first_come, slots=16, load=0.8, shape=0.25)),
    Server("M/G/32, load 0.9", partial(first_come, slots=32, load=0.9, shape=1)),
    Server("continuous batching, load 0.8", partial(batching, load=0.8)),
)


# --- One cell ----------------------------------------------------------------------------------


def generator(seed: int, server: int, purpose: int, chunk: int) -> np.random.Generator:
    """Return the generator of one chunk of runs."""
    return np.random.default_rng(np.random.SeedSequence([seed, server, purpose, chunk]))


def limits_for(metrics: Sequence[Floats], share: float) -> tuple[float, ...]:
    """Return limits that the share meets together; of two, the first takes half the misses."""
    if len(metrics) == 1:
        return (float(np.quantile(metrics[0], share)),)
    first, second = metrics
    limit = float(np.quantile(first, 1 - (1 - share) / 2))
    kept = first <= limit
    return limit, float(np.quantile(second[kept], share / kept.mean()))


def calibrate(metrics: Sequence[Floats], target: float) -> Limits:
    """Return limits at the boundary, well above it (a fifth of the misses) and below (three)."""
    miss = 1 - target
    return Limits(
        at=limits_for(metrics, target),
        above=limits_for(metrics, 1 - miss / 5),
        below=limits_for(metrics, 1 - 3 * miss),
        percentile=float(np.quantile(metrics[-1], target)),
    )


NAMES = (
    "attained accept reject covered naive early_stopping percentile accept_above reject_below "
    "n_eff possible steady"
).split()


def judge(
    metrics: Sequence[Floats], flying: Integers, target: float, limits: Limits
) -> list[float]:
    """Judge one run at one target; the values are those of `NAMES`."""
    n = len(flying)
    steady = steadiness(metrics[0])
    parts = [latency_parts(metric, flying) for metric in metrics]

    def claim(chosen: tuple[float, ...]) -> tuple[float, float, Verdict, float, float]:
        met = np.all([m <= limit for m, limit in zip(metrics, chosen, strict=True)], axis=0)
        size = effective(parts, met)
        if size is None:
            raise ValueError(f"{n} requests are too few")
        share = float(met.mean())
        found = traffic(Attained(share, share), size.n_eff, target, steady, size.n_accept)
        return share, size.n_eff, found.verdict, found.low or 0.0, found.high or 0.0

    share, n_eff, verdict, low, high = claim(limits.at)
    failures = round((1 - share) * n)
    whole = effective(parts[-1:], np.ones(n))
    ranks = order_statistic_ranks(whole.n_eff if whole else n, n, target)
    ordered = np.sort(metrics[-1])
    below = ranks[0] is None or ordered[ranks[0] - 1] <= limits.percentile
    above = ranks[1] is None or ordered[ranks[1] - 1] >= limits.percentile
    possible = effective(parts, np.ones(n))
    return [
        share,
        verdict is Verdict.ACCEPTED,
        verdict is Verdict.REJECTED,
        low <= target <= high,
        bool(failures <= allowed_failures(n, target, ACCEPT_LEVEL)),
        bool(failures <= allowed_failures(n, target, EARLY_STOPPING_LEVEL)),
        below and above,
        claim(limits.above)[2] is Verdict.ACCEPTED,
        claim(limits.below)[2] is Verdict.REJECTED,
        n_eff,
        possible is not None and target**possible.n_accept <= 1 - ACCEPT_LEVEL,
        steady is not Steadiness.NOT_STEADY,
    ]


def chunk_of_cells(
    seed: int, server: int, limits: dict[float, Limits], chunk: int, n_runs: int
) -> NDArray[np.float64]:
    """Judge one chunk of runs in every cell; shape (lengths, targets, runs, names)."""
    rng = generator(seed, server, 1, chunk)
    runs = SERVERS[server].simulate(rng, n_runs, N_WARMUP + max(LENGTHS))
    found = np.empty((len(LENGTHS), len(TARGETS), n_runs, len(NAMES)))
    for row in range(n_runs):
        flying = in_flight(runs.arrival[row], runs.end[row])
        for i, n in enumerate(LENGTHS):
            part = slice(N_WARMUP, N_WARMUP + n)
            metrics = [metric[row, part] for metric in runs.metrics]
            for j, target in enumerate(TARGETS):
                found[i, j, row] = judge(metrics, flying[part], target, limits[target])
    return found


def calibration(seed: int, server: int, chunk: int, n_runs: int) -> list[Floats]:
    """Return the measured requests of one chunk of calibration runs, by metric."""
    runs = SERVERS[server].simulate(generator(seed, server, 0, chunk), n_runs, N_WARMUP + 8000)
    return [metric[:, N_WARMUP:].ravel() for metric in runs.metrics]


# --- All cells ---------------------------------------------------------------------------------


def chunks(repeats: int) -> list[int]:
    """Return the sizes of the chunks that the repeats are simulated in."""
    return [min(CHUNK, repeats - start) for start in range(0, repeats, CHUNK)]


def simulate(
    repeats: int, seed: int = SEED, jobs: int = 1, servers: Sequence[int] = range(len(SERVERS))
) -> list[ErrorRate]:
    """Return the error rates of every cell of these servers."""
    with ProcessPoolExecutor(jobs) as pool:
        return [rate for server in servers for rate in _of_server(pool, server, repeats, seed)]


def _of_server(pool: ProcessPoolExecutor, server: int, repeats: int, seed: int) -> list[ErrorRate]:
    sizes = chunks(repeats)
    each = range(len(sizes))
    samples = list(pool.map(partial(calibration, seed, server), each, sizes))
    metrics = [np.concatenate(parts) for parts in zip(*samples, strict=True)]
    limits = {target: calibrate(metrics, target) for target in TARGETS}
    work = partial(chunk_of_cells, seed, server, limits)
    found = np.concatenate(list(pool.map(work, each, sizes)), axis=2)
    return [
        summary(SERVERS[server].name, n, target, found[i, j])
        for i, n in enumerate(LENGTHS)
        for j, target in enumerate(TARGETS)
    ]


def summary(server: str, n: int, target: float, values: Floats) -> ErrorRate:
    """Return a cell's rates, rounded as they are printed."""
    by_name = dict(zip(NAMES, values.T, strict=True))
    mean = {name: round(float(column.mean()), 4) for name, column in by_name.items()}
    return ErrorRate(
        server=server,
        n=n,
        target=target,
        repeats=len(values),
        attained=mean["attained"],
        false_accept=mean["accept"],
        naive_false_accept=mean["naive"],
        early_stopping_false_accept=mean["early_stopping"],
        false_reject=mean["reject"],
        coverage=mean["covered"],
        percentile_coverage=mean["percentile"],
        accepts_above=mean["accept_above"],
        rejects_below=mean["reject_below"],
        n_eff=round(float(np.median(by_name["n_eff"])), 1),
        acceptable=mean["possible"],
        flagged=round(1 - mean["steady"], 4),
    )


# --- Output ------------------------------------------------------------------------------------

HEADINGS = {
    "server": "Server",
    "n": "Requests",
    "target": "Target",
    "attained": "Attained",
    "false_accept": "**False accept**",
    "naive_false_accept": "naive exact",
    "early_stopping_false_accept": "MLPerf rule",
    "false_reject": "False reject",
    "coverage": "Coverage",
    "percentile_coverage": "Percentile covered",
    "accepts_above": "Accepts above",
    "rejects_below": "Rejects below",
    "n_eff": "n_eff",
    "acceptable": "Could accept",
    "flagged": "Not steady",
}


def cell(rate: ErrorRate, name: str) -> str:
    """Return one number as it is printed."""
    value = getattr(rate, name)
    if name == "false_accept" and rate.vacuous:
        return "vacuous"
    if name == "target":
        return f"p{100 * value:g}"
    if name == "n_eff":
        return f"{value:.0f}"
    if isinstance(value, float):
        return f"{value:.4f}" if name == "attained" else f"{value:.3f}"
    return str(value)


def table(rates: Sequence[ErrorRate]) -> str:
    """Return the rates as a Markdown table."""
    lines = [list(HEADINGS.values()), ["---"] * len(HEADINGS)]
    lines += [[cell(rate, name) for name in HEADINGS] for rate in rates]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def source(rates: Sequence[ErrorRate]) -> str:
    """Return the rates as Python."""
    rows = []
    for rate in rates:
        values = [repr(getattr(rate, f.name)).replace("'", '"') for f in fields(rate)]
        halves = (", ".join(values[:6]), ", ".join(values[6:]))
        rows.append(
            "    ErrorRate(\n" + "".join(f"        {half},\n" for half in halves) + "    ),"
        )
    return "\n".join(["RATES: tuple[ErrorRate, ...] = (", *rows, ")"])


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
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="put the table into docs and Methods")
    options = parser.parse_args()
    rates = simulate(options.repeats, options.seed, options.jobs)
    sys.stdout.write(table(rates) + "\n")
    if options.write:
        replace_between(PAGE, "<!-- table -->", "<!-- end of table -->", table(rates))
        replace_between(MODULE, "# fmt: off", "# fmt: on", source(rates))


if __name__ == "__main__":
    main()
