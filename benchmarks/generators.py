"""Traffic whose long-run answer is known: requests that fail together, and servers with a queue.

Every generator makes many independent runs at once, one in each row. Outcome generators say which
requests are lost, for a share that is known by construction; of the others the long run tells.
Times have one unit; services have a mean of 1 unless said otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import signal, special

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Runs:
    """Simulated runs, one in each row. `metrics` begins with the TTFT; infinity is lost."""

    arrival: Floats
    end: Floats
    metrics: tuple[Floats, ...]


@dataclass(frozen=True)
class Generator:
    """One kind of traffic.

    `simulate` makes runs from a random generator, a number of runs, requests, and the share that
    meets. A server has no share: its limit is placed later, and `is_server` says so. `family` is
    the kind of trouble. Its clustering is measured on runs of `n_long` requests.
    """

    name: str
    family: str
    simulate: Callable[[np.random.Generator, int, int, float], Runs]
    is_server: bool = False
    n_warmup: int = 0
    n_long: int = 100_000


# --- Outcomes ----------------------------------------------------------------------------------


def with_outcomes(rng: np.random.Generator, lost: Booleans) -> Runs:
    """Return runs on an unloaded server in which some requests are lost."""
    arrival = np.cumsum(rng.exponential(1, lost.shape), axis=1)
    latency = rng.exponential(1, lost.shape)
    metric = np.where(lost, np.inf, latency)
    return Runs(arrival, arrival + latency, (metric,))


def independent(rng: np.random.Generator, n_runs: int, n: int, share: float) -> Runs:
    """Lose each request by itself."""
    return with_outcomes(rng, rng.random((n_runs, n)) >= share)


def ar1(rng: np.random.Generator, n_runs: int, n: int, phi: float) -> Floats:
    """Return stationary normal series with a correlation of phi between neighbours."""
    noise = rng.standard_normal((n_runs, n)) * np.sqrt(1 - phi**2)
    noise[:, 0] /= np.sqrt(1 - phi**2)
    return np.asarray(signal.lfilter([1.0], [1.0, -phi], noise, axis=1), float)


def ar1_errors(rng: np.random.Generator, n_runs: int, n: int, share: float, *, phi: float) -> Runs:
    """Lose the requests at which a correlated series is high."""
    return with_outcomes(rng, ar1(rng, n_runs, n, phi) > special.ndtri(share))


def ar1_latency(rng: np.random.Generator, n_runs: int, n: int, share: float, *, phi: float) -> Runs:
    """Make the requests slow at which a correlated series is high, and lose none."""
    del share
    arrival = np.cumsum(rng.exponential(1, (n_runs, n)), axis=1)
    latency = np.exp(0.5 * ar1(rng, n_runs, n, phi))
    return Runs(arrival, arrival + latency, (latency,))


def spells(
    rng: np.random.Generator,
    n_runs: int,
    n: int,
    share: float,
    *,
    mean: int,
    lengths: str = "equal",
    fails: float = 1.0,
) -> Runs:
    """Lose requests in spells that begin at random; lengths are equal, uniform or geometric.

    In a spell each request fails with probability `fails`.
    """
    inside = (1 - share) / fails
    gap = mean * (1 - inside) / inside
    n_spells = int(n / (mean + gap) * 1.5 + 30)
    size = (n_runs, n_spells)
    if lengths == "equal":
        length = np.full(size, mean)
    elif lengths == "uniform":
        length = rng.integers(1, 2 * mean, size)
    else:
        length = rng.geometric(1 / mean, size)
    pause = rng.geometric(1 / (gap + 1), size) - 1
    # A stationary start: the first spell begins before the run, somewhere in a long past.
    past = rng.integers(0, int(20 * (mean + gap)), n_runs)
    begins = np.cumsum(pause + length, axis=1) - length - past[:, None]
    more = int(np.ceil((past.max() + n) / (mean + gap)))
    if more > n_spells * 0.9:
        extra = rng.geometric(1 / (gap + 1), (n_runs, more)) - 1
        longer = length[:, rng.integers(0, n_spells, more)]
        later = begins[:, -1:] + length[:, -1:] + np.cumsum(extra + longer, axis=1) - longer
        begins, length = np.hstack([begins, later]), np.hstack([length, longer])
    change = np.zeros((n_runs, n + 1), dtype=np.int32)
    rows = np.repeat(np.arange(n_runs), begins.shape[1])
    np.add.at(change, (rows, np.clip(begins, 0, n).ravel()), 1)
    np.add.at(change, (rows, np.clip(begins + length, 0, n).ravel()), -1)
    lost = np.cumsum(change[:, :n], axis=1) > 0
    if fails < 1:
        lost &= rng.random(lost.shape) < fails
    return with_outcomes(rng, lost)


def cycle(
    rng: np.random.Generator, n_runs: int, n: int, share: float, *, period: int, depth: float
) -> Runs:
    """Lose requests with a probability that rises and falls, from a random phase."""
    phase = rng.random((n_runs, 1)) * 2 * np.pi
    chance = (1 - share) * (1 + depth * np.sin(2 * np.pi * np.arange(n) / period + phase))
    return with_outcomes(rng, rng.random((n_runs, n)) < chance)


# --- Servers -----------------------------------------------------------------------------------


def serve(arrival: Floats, service: Floats, slots: int) -> Runs:
    """Serve each row of requests in order of arrival on its own slots; TTFT is the wait."""
    wait, free = np.empty(arrival.shape), np.zeros((len(arrival), slots))
    rows = np.arange(len(arrival))
    for i in range(arrival.shape[1]):
        slot = free.argmin(axis=1)
        start = np.maximum(arrival[:, i], free[rows, slot])
        free[rows, slot] = start + service[:, i]
        wait[:, i] = start - arrival[:, i]
    return Runs(arrival, arrival + wait + service, (wait,))


def first_come(
    rng: np.random.Generator, n_runs: int, n: int, share: float, *, slots: int, load: float,
    shape: float = 1, tail: float | None = None,
) -> Runs:  # fmt: skip
    """Serve in order of arrival on identical slots.

    Gaps between arrivals are gamma with this shape (1 is Poisson, 0.25 has a coefficient of
    variation of 2). Services are lognormal (sigma 1), or Pareto with this tail.
    """
    del share
    gaps = rng.gamma(shape, 1 / (shape * load * slots), (n_runs, n))
    if tail is None:
        service = rng.lognormal(-0.5, 1, (n_runs, n))
    else:
        service = (rng.pareto(tail, (n_runs, n)) + 1) * (tail - 1) / tail
    return serve(np.cumsum(gaps, axis=1), service, slots)


def modulated(
    rng: np.random.Generator, n_runs: int, n: int, share: float, *, burst: int, slots: int,
    load: float,
) -> Runs:  # fmt: skip
    """Serve arrivals whose rate switches between a half and one and a half of its mean.

    Each state lasts for a geometric number of requests, `burst` on average.
    """
    del share
    switch = rng.random((n_runs, n)) < 1 / burst
    busy = (np.cumsum(switch, axis=1) + rng.integers(0, 2, (n_runs, 1))) % 2
    rate = np.where(busy == 1, 1.5, 0.5)
    rate *= load * slots / 0.75  # equally many requests in both states: the mean gap is 4/3
    gaps = rng.exponential(1, (n_runs, n)) / rate
    service = rng.lognormal(-0.5, 1, (n_runs, n))
    return serve(np.cumsum(gaps, axis=1), service, slots)


def sharing(
    rng: np.random.Generator, n_runs: int, n: int, share: float, *, load: float, slots: int = 48
) -> Runs:
    """Share one processor equally among all requests, at most `slots` of them; TTFT is the whole.

    A virtual clock advances by the time ÷ the requests in service, and a request ends when it has
    advanced by its work.
    """
    del share
    arrival = np.cumsum(rng.exponential(1 / load, (n_runs, n)), axis=1)
    work = rng.lognormal(-0.5, 1, (n_runs, n))
    ends, who = np.full((n_runs, slots), np.inf), np.zeros((n_runs, slots), dtype=np.int64)
    clock, virtual = np.zeros(n_runs), np.zeros(n_runs)
    n_active, following = np.zeros(n_runs, dtype=np.int64), np.zeros(n_runs, dtype=np.int64)
    finish = np.full((n_runs, n), np.nan)
    rows = np.arange(n_runs)
    for _ in range(2 * n):
        slot = ends.argmin(axis=1)
        leaves = clock + (ends[rows, slot] - virtual) * np.maximum(n_active, 1)
        next_one = np.minimum(following, n - 1)
        comes = np.where(following < n, arrival[rows, next_one], np.inf)
        comes = np.where(n_active < slots, np.maximum(comes, clock), np.inf)
        joins = comes <= leaves
        now = np.where(joins, comes, leaves)
        virtual += np.where(n_active > 0, (now - clock) / np.maximum(n_active, 1), 0)
        clock = now
        into = np.isinf(ends).argmax(axis=1)
        j = rows[joins]
        ends[j, into[joins]] = virtual[joins] + work[j, next_one[joins]]
        who[j, into[joins]] = next_one[joins]
        following[joins] += 1
        out = rows[~joins]
        finish[out, who[out, slot[~joins]]] = clock[~joins]
        ends[out, slot[~joins]] = np.inf
        n_active += np.where(joins, 1, -1)
    return Runs(arrival, finish, (finish - arrival,))


BASE_MS, PER_REQUEST_MS, PER_PROMPT_MS = 10.0, 1.0, 4.0
BATCH_CAP, MEAN_OUTPUT, MEAN_PROMPT = 64, 50, 100


class Batching:
    """Continuous batching: every iteration gives each request of the batch one token.

    Requests join in order of arrival as soon as the batch has room and the cache has space for
    their prompt and answer. An iteration takes 10 ms, 1 ms for each request in the batch and about
    4 ms for each prompt that joins, so that the cadence of all grows with the batch. Answers have a
    geometric number of tokens, 50 on average; prompts a lognormal one, 100 on average. The metrics
    are TTFT and mean time per output token.
    """

    def __init__(
        self, rng: np.random.Generator, n_runs: int, n: int, rate_per_ms: float, cache: float
    ) -> None:
        shape = (n_runs, n)
        self.arrival = np.cumsum(rng.exponential(1 / rate_per_ms, shape), axis=1)
        self.output = 1 + rng.geometric(1 / (MEAN_OUTPUT - 1), shape)
        length = rng.lognormal(-0.5, 1, shape)
        self.prompt_ms = PER_PROMPT_MS * length
        self.need = np.minimum(MEAN_PROMPT * length + self.output, cache)
        self.space = np.full(n_runs, cache)
        self.first, self.last = np.full(shape, np.nan), np.full(shape, np.nan)
        self.left = np.zeros((n_runs, BATCH_CAP), dtype=np.int64)  # tokens still to come
        self.who = np.zeros((n_runs, BATCH_CAP), dtype=np.int64)
        self.clock = np.zeros(n_runs)
        self.next = np.zeros(n_runs, dtype=np.int64)
        self.rows = np.arange(n_runs)

    def run(self) -> Runs:
        """Advance every run, an iteration at a time, until all requests are answered."""
        n = self.output.shape[1]
        while self.next.min() < n or self.left.any():
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
        done = self.who[done_run, done_slot]
        self.last[done_run, done] = self.clock[done_run]
        np.add.at(self.space, done_run, self.need[done_run, done])
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
            can &= self.need[self.rows, who] <= self.space + 1e-6
            if not can.any():
                return taken
            run, request = self.rows[can], who[can]
            self.left[run, slot[can]] = self.output[run, request]
            self.who[run, slot[can]] = request
            self.space[run] -= self.need[run, request]
            taken[can] += self.prompt_ms[run, request]
            self.next[can] += 1


def batching(
    rng: np.random.Generator, n_runs: int, n: int, share: float, *, load: float,
    cache: float = np.inf,
) -> Runs:  # fmt: skip
    """Offer a share of what the batching server carries with as many requests as fit."""
    del share
    fits = min(BATCH_CAP, cache / (MEAN_PROMPT + MEAN_OUTPUT))
    full_ms = BASE_MS + PER_REQUEST_MS * fits
    per_request_ms = MEAN_OUTPUT * full_ms / fits + PER_PROMPT_MS
    return Batching(rng, n_runs, n, load / per_request_ms, cache).run()


def _outcomes(
    name: str, family: str, simulate: Callable[..., Runs], **options: object
) -> Generator:
    return Generator(name, family, partial(simulate, **options) if options else simulate)


def _server(name: str, simulate: Callable[..., Runs], **options: object) -> Generator:
    return Generator(name, "queue", partial(simulate, **options), is_server=True, n_warmup=3000)


GENERATORS = (
    _outcomes("independent errors", "independent", independent),
    _outcomes("AR(1) errors, phi 0.9", "error bursts", ar1_errors, phi=0.9),
    _outcomes("AR(1) errors, phi 0.99", "error bursts", ar1_errors, phi=0.99),
    _outcomes("outages of 20", "outages", spells, mean=20),
    _outcomes("outages of 1 to 39", "outages", spells, mean=20, lengths="uniform"),
    _outcomes("outages of 20 on average", "outages", spells, mean=20, lengths="geometric"),
    _outcomes("outages of 200", "outages", spells, mean=200),
    _outcomes("outages of 200 on average", "outages", spells, mean=200, lengths="geometric"),
    _outcomes("half fail in spells of 50", "error bursts", spells, mean=50, fails=0.5),
    _outcomes("cycle of 1,000 requests", "cycle", cycle, period=1000, depth=1.0),
    _outcomes("cycle of 20,000 requests", "cycle", cycle, period=20_000, depth=1.0),
    Generator("AR(1) latency, phi 0.9", "queue", partial(ar1_latency, phi=0.9), is_server=True),
    _server("M/G/1, load 0.8", first_come, slots=1, load=0.8),
    _server("G/G/16, load 0.8, bursty", first_come, slots=16, load=0.8, shape=0.25),
    _server("modulated arrivals of 300, load 0.6", modulated, burst=300, slots=8, load=0.6),
    _server("Pareto 2.2 services, load 0.6", first_come, slots=8, load=0.6, tail=2.2),
    _server("Pareto 1.5 services, load 0.6", first_come, slots=8, load=0.6, tail=1.5),
    _server("processor sharing, load 0.6", sharing, load=0.6),
    Generator(
        "batching with a small cache, load 0.67",
        "queue",
        partial(batching, load=0.6, cache=3000.0),
        is_server=True,
        n_warmup=2000,
        n_long=20_000,
    ),
)
