"""What each number means, in one place: the Methods page shows it, and the charts quote it."""

from dataclasses import dataclass

from headway.model import Metric


@dataclass(frozen=True, slots=True)
class Definition:
    """A metric in words: its formula, what it counts, and the query behind it."""

    metric: Metric
    name: str
    formula: str
    counts: str
    query: str


DEFINITIONS = {
    definition.metric: definition
    for definition in (
        Definition(
            Metric.TTFT,
            "TTFT, time to first token",
            "first generated token − origin (the scheduled arrival where known, else the send)",
            "Every request that delivered a first token, whatever became of it later, over all "
            "offered requests.",
            "distribution/percentiles",
        ),
        Definition(
            Metric.TPOT,
            "TPOT, mean time per output token",
            "(completion latency − TTFT) ÷ (output tokens − 1), one value per request",
            "Completed requests over offered; the others stand at infinity. Answers of one token "
            "have no cadence: they leave the population and pass the objective.",
            "distribution/percentiles",
        ),
        Definition(
            Metric.STALL,
            "Longest stall",
            "the largest gap between two chunks of one answer, one value per request",
            "Completed requests over offered; the others stand at infinity. Answers of one token "
            "or one chunk leave the population.",
            "distribution/percentiles",
        ),
        Definition(
            Metric.GAP,
            "Gaps between stream chunks",
            "every gap between consecutive chunks, pooled over requests",
            "Gaps that were delivered, so there is no offered basis; long answers weigh more. A "
            "chunk may carry several tokens: these are not token gaps.",
            "distribution/percentiles",
        ),
        Definition(
            Metric.LATENCY,
            "Completion latency",
            "last chunk of the answer − origin (the scheduled arrival where known, else the send)",
            "Completed requests over offered; the others stand at infinity.",
            "distribution/percentiles",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of counting that holds for every number."""

    name: str
    text: str


RULES = (
    Rule(
        "Population.",
        "Offered: every offered request, those that never delivered at infinity, so a percentile "
        "may be not reached. Completed: survivors only, and labelled so. The tool's own: what the "
        "tool counted as good, to reconcile with its numbers and for nothing else. Warm-up "
        "requests are never counted among the offered.",
    ),
    Rule(
        "Percentile.",
        "Nearest rank: the smallest observed value that at least that share of the population "
        "does not exceed; always an observed request. Linear interpolation, position (n − 1) × p, "
        "repeats what most tools print. No percentile is interpolated towards a lost request.",
    ),
    Rule(
        "Window.",
        "One half-open interval [start, end) over scheduled arrivals (sends where the schedule is "
        "unknown), by default from the first to one microsecond after the last. A request belongs "
        "by its arrival and keeps its whole life. Tokens and completions count by their own time "
        "inside the window, rates divide by its length, and a window under one second has none.",
    ),
    Rule(
        "Origin.",
        "Latency counts from the scheduled arrival where the source knows it, so that a client "
        "that falls behind its own schedule cannot hide the wait (coordinated omission).",
    ),
    Rule(
        "Tokens per second.",
        "Output tokens count when they are delivered where chunk times are known, else when their "
        "request completes; input tokens when the first token arrives, else at completion.",
    ),
    Rule(
        "Missing.",
        "Not measured, not applicable, not recorded and not reached are four different answers, "
        "and none of them is zero.",
    ),
)


CLAIMS = (
    Rule(
        "In this run.",
        "Met, missed or open: counts of this run's own requests, without any inference. Requests "
        "that were open when the run ended and are past no limit could have gone either way.",
    ),
    Rule(
        "Repeatable on this workload.",
        "The same requests and arrivals sent again: with 95% confidence, at least a share of such "
        "runs would meet the objective. Accepted if every replicate met and that share reaches the "
        "one asked for, 50% unless declared: five runs. After a miss no further run accepts the "
        "set. It speaks of runs in the session that is named. A deterministic simulator repeats "
        "itself, so its one run is the answer.",
    ),
    Rule(
        "For traffic like this.",
        "Requests that queue together fail together, so n requests are worth fewer: n_eff = n ÷ "
        "design effect, estimated on ten blocks of arrivals. Accepted if the exact 97.5% low bound "
        "on n_eff requests reaches the target, rejected if the exact 95% high bound does not. An "
        "acceptance holds if no spell of common trouble is longer than its reach, which is "
        "shown beside it. A run seen to be unsteady is not accepted; below 300 requests that is "
        "unknown.",
    ),
    Rule(
        "Envelope.",
        "The last accepted load with no rejected load below it, the first rejected load, and the "
        "unsure band between them. Tested loads only; nothing is interpolated into a claim.",
    ),
    Rule(
        "What it holds for.",
        "One configuration, one set of requests and one arrival process. When any of them changes "
        "the envelope lapses.",
    ),
)
