"""Claims from replicates, and the noise between runs of one policy."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway import record
from headway.analyses import comparison, replicated, sides
from headway.analyses.comparison import Claimed, Comparison, Question
from headway.analyses.replicated import MetShares
from headway.analyses.shift import SHARES, Taken
from headway.catalog import Catalog
from headway.model import Boundary, Metric, Objective
from headway.stats.comparison import Difference
from headway.stats.order import Order
from libraries import make_run, offered, open_runs

TTFT_P99 = (Metric.TTFT, 0.99)


MINUTES = {"a": (0, 6, 8, 14, 16), "b": (2, 4, 10, 12, 18)}


def runs(policy: str, ttfts_ms: Sequence[float], **changes: Any) -> list[record.Run]:
    """Return one run for each TTFT, which all of its 20 requests have.

    Those of a and b are made in turns: A B B A A B.
    """
    found = []
    for place, ttft_ms in enumerate(ttfts_ms):
        began = f"2026-05-12T10:{MINUTES[policy][place]:02}:00+00:00"
        rows = offered(20, 20)
        for row in rows:
            row["ttft_us"] = round(ttft_ms * 1000)
            row["latency_us"] = row["ttft_us"] + 90_000
        name = f"{policy}{place}"
        described = {"started_at": began} | changes
        found.append(make_run(rows, name, policy=policy, replicate=place, **described))
    return found


def compared(opened: Catalog, **changes: Any) -> Comparison:
    a, b = (sides.named(opened, name, 5.0, None) for name in ("a", "b"))
    return comparison.compare(opened, Question(a, b, **changes))


def test_three_replicates_a_side_are_tested_as_worked(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *runs("a", (100, 102, 98)), *runs("b", (110, 113, 108)))
    found = compared(opened)
    assert found.claim is Claimed.REPLICATED
    assert found.n_pairs_of_runs == 3
    (ttft,) = [each for each in found.tests if (each.metric, each.percentile) == TTFT_P99]
    assert (found.sequence, found.order) == ("ABBAAB", Order.INTERLEAVED)
    assert ttft.ratio is not None
    assert ttft.ratio.p == pytest.approx(0.00518, abs=5e-6)
    assert (ttft.ratio.low, ttft.ratio.high) == pytest.approx((1.0506, 1.1586), abs=5e-5)
    assert ttft.verdict is Difference.WORSE
    shift = found.shift(Metric.TTFT)
    assert shift is not None
    point = shift.at(0.99)
    assert point.relative == pytest.approx(ttft.ratio.ratio - 1)
    assert (point.a_runs, point.b_runs) == ((100, 102, 98), (110, 113, 108))


@pytest.mark.parametrize(
    ("began", "letters", "order"),
    [
        ({"a": (0, 2, 4), "b": (6, 8, 10)}, "AAABBB", Order.BLOCKS),
        ({"a": (0, 2, 4), "b": (0, 8, 10)}, None, Order.UNKNOWN),
        ({"a": (None, 2, 4), "b": (6, 8, 10)}, None, Order.UNKNOWN),
    ],
)
@pytest.mark.parametrize("slower", [1.0, 1.2])
def test_runs_that_are_not_interleaved_have_no_verdict(
    tmp_path: Path,
    began: dict[str, tuple[int | None, ...]],
    letters: str | None,
    order: Order,
    slower: float,
) -> None:
    """Neither worse nor no meaningful difference: a drift could make one and hide the other."""
    made = []
    for policy, factor in (("a", 1.0), ("b", slower)):
        for run, minute in zip(
            runs(policy, [x * factor for x in (100, 100.4, 99.8)]), began[policy], strict=True
        ):
            when = None if minute is None else f"2026-05-12T10:{minute:02}:00+00:00"
            made.append(replace(run, info=replace(run.info, started_at=when)))
    found = compared(open_runs(tmp_path, *made), objective=Objective(ttft_ms=110))
    assert (found.sequence, found.order) == (letters, order)
    assert {each.verdict for each in found.tests} == {Difference.UNDECIDED}
    assert any(each.is_withheld for each in found.tests)
    (ttft,) = [each for each in found.tests if (each.metric, each.percentile) == TTFT_P99]
    assert ttft.ratio is not None
    assert ttft.ratio.ratio == pytest.approx(slower, rel=1e-3)


def test_the_share_that_met_is_tested_first(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *runs("a", (100, 102, 98)), *runs("b", (110, 113, 108)))
    found = compared(opened, objective=Objective(ttft_ms=105))
    first = found.tests[0]
    assert (first.metric, first.percentile) == (None, None)
    assert first.difference is not None
    # All 20 met in A and none in B: the spread counts as one request of 20, 0.05 · √(2/3).
    assert first.difference.difference == -1
    assert first.difference.high == pytest.approx(-1 + 2.776 * 0.05 * (2 / 3) ** 0.5, abs=1e-4)
    assert first.verdict is Difference.WORSE


def test_single_runs_are_counted_and_not_tested(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *runs("a", (100,)), *runs("b", (110,)))
    found = compared(opened, objective=Objective(ttft_ms=105))
    assert (found.claim, found.tests) == (Claimed.FACTS, ())
    assert [(each.a_only, each.b_only) for each in found.discordant] == [(0, 0), (20, 0)]
    assert not hasattr(found.discordant[0], "p")


def test_two_replicates_are_facts_of_these_runs(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *runs("a", (100, 102)), *runs("b", (110, 113, 108)))
    found = compared(opened)
    assert (found.claim, found.tests) == (Claimed.FACTS, ())
    shift = found.shift(Metric.TTFT)
    assert shift is not None
    assert shift.at(0.5).b_runs == (110, 113, 108)


def test_the_noise_floor_is_the_widest_pair_of_runs_of_one_policy(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *runs("a", (100, 102, 98)), *runs("b", (110,)))
    found = compared(opened)
    assert found.noise is not None
    assert (found.noise.policies, found.noise.n_pairs) == (("a",), 3)
    assert found.noise.relative[TTFT_P99] == pytest.approx(102 / 98 - 1)
    shift = found.shift(Metric.TTFT)
    assert shift is not None
    assert shift.at(0.99).noise == found.noise.relative[TTFT_P99]


def test_another_load_or_workload_gives_no_noise_floor(tmp_path: Path) -> None:
    other = [run | {"prompt_tokens": 7} for run in offered(20, 20)]
    elsewhere = [make_run(other, f"c{n}", policy="c", source_sha256=str(n)) for n in range(2)]
    opened = open_runs(tmp_path, *runs("a", (100,)), *runs("b", (110,)), *elsewhere)
    assert compared(opened).noise is None


def test_simulations_have_no_noise_floor(tmp_path: Path) -> None:
    simulated = {"boundary": Boundary.SIMULATOR}
    opened = open_runs(
        tmp_path, *runs("a", (100, 101), **simulated), *runs("b", (110,), **simulated)
    )
    first, second = (sides.of_runs(opened, (name,)) for name in ("a0", "b0"))
    assert comparison.compare(opened, Question(first, second)).noise is None


def of(values: Sequence[float]) -> list[dict[Metric, Taken]]:
    return [{Metric.TTFT: Taken(np.full(10, value), 0)} for value in values]


def test_a_percentile_that_one_run_does_not_reach_is_undecided() -> None:
    found = replicated.judged(of([100, 102, 98]), of([110, 113, np.inf]), [Metric.TTFT])
    assert {(each.ratio, each.q, each.verdict) for each in found} == {
        (None, None, Difference.UNDECIDED)
    }


def test_all_tests_are_adjusted_together() -> None:
    a, b = of([100, 102, 98]), of([110, 113, 108])
    alone = replicated.judged(a, b, [Metric.TTFT])
    met = MetShares((1.0, 0.9, 0.95), (0.95, 0.9, 1.0), 20)
    beside = replicated.judged(a, b, [Metric.TTFT], met)
    assert [each.percentile for each in alone] == [0.5, 0.9, 0.99]
    assert [each.percentile for each in beside] == [None, 0.5, 0.9, 0.99]
    assert set(replicated.TESTED_SHARES) <= set(SHARES)
    assert alone[0].q is not None
    assert beside[1].q is not None
    assert beside[1].q > alone[0].q


def test_better_needs_the_adjusted_p_too() -> None:
    # Beyond a band of nothing at 95%, but not once adjusted beside two metrics of pure noise.
    a = [
        {Metric.TTFT: Taken(np.full(9, x), 0), Metric.LATENCY: Taken(np.full(9, y), 0)}
        for x, y in ((100, 100), (104, 130), (96, 70))
    ]
    b = [
        {Metric.TTFT: Taken(np.full(9, x), 0), Metric.LATENCY: Taken(np.full(9, y), 0)}
        for x, y in ((110, 71), (114, 101), (106, 131))
    ]
    alone = replicated.judged(a, b, [Metric.TTFT], band=0)
    beside = replicated.judged(a, b, [Metric.TTFT, Metric.LATENCY], band=0)
    assert alone[0].verdict is Difference.WORSE
    assert beside[0].q is not None
    assert alone[0].q is not None
    assert beside[0].q > alone[0].q
