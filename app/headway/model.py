"""The words Headway thinks in: enums and frozen dataclasses, no behaviour beyond their meaning.

Times are integer microseconds (`_us`) from the run's own zero. `None` is "not recorded"; 0 is a
measured zero. Field names follow docs/glossary.md.
"""

from dataclasses import dataclass, field, fields
from enum import StrEnum


class Outcome(StrEnum):
    """What became of an offered request."""

    COMPLETED = "completed"
    TRUNCATED = "truncated"
    REJECTED = "rejected"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    FAILED = "failed"
    CUT_OFF = "cut_off"
    NOT_SENT = "not_sent"
    UNACCOUNTED = "unaccounted"


OUTCOME_MEANING = {
    Outcome.COMPLETED: "the whole answer arrived",
    Outcome.TRUNCATED: "the stream broke off before its end",
    Outcome.REJECTED: "never admitted by the server",
    Outcome.TIMED_OUT: "a client deadline passed first",
    Outcome.CANCELLED: "the client gave it up",
    Outcome.FAILED: "a server or transport error ended it",
    Outcome.CUT_OFF: "still open when the run ended",
    Outcome.NOT_SENT: "in the plan, never dispatched",
    Outcome.UNACCOUNTED: "offered, but nothing is known of it",
}


class OutcomeBasis(StrEnum):
    """Whether the source said what became of a request or the importer concluded it."""

    STATED = "stated"
    INFERRED = "inferred"


class Boundary(StrEnum):
    """Where the clock that measured the latencies stood."""

    CLIENT = "client"
    GATEWAY = "gateway"
    SERVER = "server"
    IN_PROCESS = "in_process"
    SIMULATOR = "simulator"


class Clock(StrEnum):
    """What the time offsets of a run count from."""

    WALL = "wall"
    MONOTONIC = "monotonic"
    RELATIVE = "relative"
    NONE = "none"


class LoadKind(StrEnum):
    """How requests were offered."""

    OPEN = "open"
    CLOSED = "closed"
    TRACE = "trace"
    UNLIMITED = "unlimited"


class IndexBasis(StrEnum):
    """What `request_index` rests on; only plan and source_id pair two runs."""

    PLAN = "plan"
    SOURCE_ID = "source_id"
    ORDER = "order"
    NONE = "none"


class OfferedBasis(StrEnum):
    """How the number of offered requests is known."""

    DECLARED = "declared"
    ROWS = "rows"
    SCHEDULER = "scheduler"
    LOG = "log"


class Phase(StrEnum):
    """Whether a request belongs to the measurement."""

    WARMUP = "warmup"
    MEASURED = "measured"


class Segment(StrEnum):
    """Part of the load description a request belongs to."""

    STEADY = "steady"
    BURST = "burst"
    RECOVERY = "recovery"
    RAMP = "ramp"


class TokenCounter(StrEnum):
    """Whose count of tokens a run takes, where a source has the tool's and the server's."""

    TOOL = "tool"
    SERVER = "server"


class Severity(StrEnum):
    """How much a finding should worry the reader."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Metric(StrEnum):
    """The latency metrics a distribution can be asked for."""

    TTFT = "ttft_ms"
    TPOT = "tpot_ms"
    STALL = "stall_ms"
    GAP = "gap_ms"
    LATENCY = "latency_ms"


class Basis(StrEnum):
    """Which requests are the population of a distribution."""

    OFFERED = "offered"
    COMPLETED = "completed"
    SOURCE = "source"


class Origin(StrEnum):
    """The instant a latency counts from."""

    SCHEDULED = "scheduled"
    SENT = "sent"


class Method(StrEnum):
    """How a percentile is read off the sorted values."""

    NEAREST = "nearest"
    LINEAR = "linear"


class Status(StrEnum):
    """Why a number is there, or is not."""

    MEASURED = "measured"
    NOT_MEASURED = "not_measured"
    NOT_APPLICABLE = "not_applicable"
    NOT_RECORDED = "not_recorded"


class Stratum(StrEnum):
    """What a distribution can be split by."""

    NONE = "none"
    PROMPT_LENGTH = "prompt_length"
    OUTPUT_LENGTH = "output_length"
    PREFIX = "prefix"
    PREFIX_HIT = "prefix_hit"
    SEGMENT = "segment"
    PHASE = "phase"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something the importer noticed about a source."""

    code: str
    severity: Severity
    count: int
    message: str


@dataclass(frozen=True, slots=True)
class Load:
    """The traffic a run was offered.

    `declared_rps` is what the source or the user said, in requests per second; the measured rate
    is computed from arrivals and never stored. `burstiness` is the shape of the gamma
    inter-arrival distribution (1 is Poisson, infinity is evenly spaced and is stored as None with
    arrivals "constant").
    """

    kind: LoadKind
    declared_rps: float | None = None
    concurrency: int | None = None
    arrivals: str | None = None
    burstiness: float | None = None
    phases: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a result holds for; every field is "not recorded" until a source states it."""

    model: str | None = None
    artifact: str | None = None
    tokenizer: str | None = None
    engine: str | None = None
    engine_build: str | None = None
    devices: str | None = None
    interconnect: str | None = None
    precision: str | None = None
    quantisation: str | None = None
    parallelism: str | None = None
    cache_policy: str | None = None
    token_budget: int | None = None
    batch_cap: int | None = None
    context_limit: int | None = None
    decoding: str | None = None
    arrival_process: str | None = None
    dataset: str | None = None
    seed: int | None = None
    length_mix: str | None = None
    prefix_share: str | None = None
    burst: str | None = None
    client_location: str | None = None
    client_hosts: int | None = None

    def recorded(self) -> int:
        """Return how many fields a source stated."""
        return sum(getattr(self, f.name) is not None for f in fields(self))

    @classmethod
    def size(cls) -> int:
        """Return how many fields there are."""
        return len(fields(cls))


@dataclass(frozen=True, slots=True)
class ToolAggregate:
    """A number the measuring tool printed, kept for cross-checking only.

    `statistic` is `mean`, `max`, or `p50`, `p99` and so on; `value_ms` is in milliseconds.
    """

    metric: Metric
    statistic: str
    value_ms: float
    definition: str


@dataclass(frozen=True, slots=True)
class ToolReport:
    """What the measuring tool said about the whole run."""

    n_completed: int | None = None
    n_failed: int | None = None
    duration_s: float | None = None
    requests_per_s: float | None = None
    output_tokens_per_s: float | None = None
    total_tokens_per_s: float | None = None
    throughput_counts: str | None = None
    aggregates: tuple[ToolAggregate, ...] = ()


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The description stored in a run file under `headway.run`.

    `run_id` comes from the bytes of the request-level file and the run's place in it, so that
    importing again replaces the description and never adds a second copy. `rows_sha256` is a
    digest over the canonical rows: two runs that share it are one measurement. `mapping` and
    `mapping_sha256` name the mapping a foreign table was read through.
    """

    run_id: str
    study: str
    harness: str
    importer: str
    importer_version: int
    source_name: str
    source_sha256: str
    boundary: Boundary
    clock: Clock
    load: Load
    n_offered: int
    n_offered_basis: OfferedBasis
    n_warmup: int
    index_basis: IndexBasis
    token_basis: str
    completion_times: bool
    label: str | None = None
    policy: str | None = None
    policy_parameters: dict[str, str] = field(default_factory=dict)
    harness_version: str | None = None
    started_at: str | None = None
    replicate: int | None = None
    time_limit_s: float | None = None
    client_timeout_s: float | None = None
    mapping: str | None = None
    mapping_sha256: str | None = None
    tool: ToolReport = ToolReport()
    manifest: Manifest = Manifest()
    findings: tuple[Finding, ...] = ()
    rows_sha256: str = ""
    generation: str = ""


@dataclass(frozen=True, slots=True)
class Objective:
    """Limits a request must meet, and the share of offered requests that must meet all of them.

    `repeats` is the share of runs of one workload that must meet it, so that the workload is
    accepted. `spell_s` is the longest spell of common trouble, in seconds, that an acceptance for
    traffic must cover; None demands nothing.
    """

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    stall_ms: float | None = None
    latency_ms: float | None = None
    attainment: float = 0.95
    repeats: float = 0.5
    spell_s: float | None = None

    def limits(self) -> dict[Metric, float]:
        """Return the declared limits by metric, in milliseconds."""
        stated = {
            Metric.TTFT: self.ttft_ms,
            Metric.TPOT: self.tpot_ms,
            Metric.STALL: self.stall_ms,
            Metric.LATENCY: self.latency_ms,
        }
        return {metric: limit for metric, limit in stated.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open interval [start, end) over scheduled times, in microseconds of run time.

    An end that is None is the run's own: the first or the last scheduled time.
    """

    start_us: int | None = None
    end_us: int | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Everything that decides which requests a number counts and how."""

    run_ids: tuple[str, ...]
    window: Window = Window()
    basis: Basis = Basis.OFFERED
    origin: Origin = Origin.SCHEDULED
    method: Method = Method.NEAREST
    stratum: Stratum = Stratum.NONE
