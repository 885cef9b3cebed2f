"""The one line above a chart."""

import pytest

from headway.analyses.distribution import Description, Percentile
from headway.figures import sentences
from headway.model import Metric, Status


def description(
    run_id: str = "r0",
    stratum: str = "all",
    value_ms: float | None = 673.0,
    n: int = 500,
    share: float = 0.99,
) -> Description:
    point = Percentile(share, value_ms, value_ms is None)
    return Description(run_id, stratum, Metric.TTFT, Status.MEASURED, n, 500, percentiles=(point,))


NAMES = {f"r{n}": f"run {n}" for n in range(6)}


def said(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_the_highest_percentile_of_each_run_is_said_with_the_load_they_share() -> None:
    found = sentences.tail_sentence(
        [description(), description("r1", value_ms=18_237)], NAMES, "4 req/s"
    )
    assert said(found) == "p99 at 4 req/s: run 0 673 ms, run 1 18.2 s"


def test_a_percentile_that_is_not_reached_says_how_many_delivered() -> None:
    found = sentences.tail_sentence([description(value_ms=None, n=355)], NAMES, None)
    assert said(found) == "p99: run 0 not reached (71% delivered)"


@pytest.mark.parametrize(
    ("share", "name"), [(0.5, "p50"), (0.999, "p99.9"), (0.9999, "p99.99"), (0.1, "p10")]
)
def test_a_percentile_keeps_its_name(share: float, name: str) -> None:
    assert sentences.tail_sentence([description(share=share)], NAMES, None).startswith(f"{name}:")


def test_many_runs_and_classes_are_left_to_the_table() -> None:
    many = [description(f"r{n}") for n in range(sentences.MOST_RUNS + 1)]
    assert sentences.tail_sentence(many, NAMES, None) == ""
    assert sentences.tail_sentence([description(stratum="cold")], NAMES, None) == ""
    assert sentences.tail_sentence([], NAMES, None) == ""


def test_how_many_delivered_is_said_over_all_runs() -> None:
    found = sentences.delivery_sentence([description(), description("r1", n=355)], Metric.TTFT)
    assert found == "855 of 1,000 delivered a first token"
    every = sentences.delivery_sentence([description()], Metric.LATENCY)
    assert every == "all 500 of 500 completed"


def test_gaps_are_counted_and_not_shares_of_anything() -> None:
    assert sentences.delivery_sentence([description(n=8)], Metric.GAP) == "8 gaps were counted"


def test_warm_up_is_not_among_those_that_could_deliver() -> None:
    found = [description(stratum="warmup", n=10), description(stratum="measured")]
    assert sentences.delivery_sentence(found, Metric.LATENCY) == "all 500 of 500 completed"


def test_without_a_population_nothing_is_said() -> None:
    nothing = Description("r0", "all", Metric.TTFT, Status.NOT_MEASURED)
    assert sentences.delivery_sentence([nothing], Metric.TTFT) == ""
