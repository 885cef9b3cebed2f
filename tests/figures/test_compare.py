"""The pictures of a comparison: what each cell and mark says."""

from pathlib import Path
from typing import Any

import pytest

from headway.analyses import comparison, pairs, sides
from headway.analyses.classes import Split
from headway.analyses.comparison import Comparison, Question
from headway.catalog import Catalog
from headway.figures import compare as figures
from headway.figures import theme
from headway.figures.distribution import Figure
from headway.model import Metric
from libraries import make_run, offered, open_runs, run_of

LOOK = theme.LIGHT_LOOK


def between(opened: Catalog, a: str, b: str) -> Comparison:
    first, second = (sides.of_runs(opened, (run_id,)) for run_id in (a, b))
    return comparison.compare(opened, Question(first, second))


def drawn(figure: Figure) -> list[dict[str, Any]]:
    """Return the rows that a chart draws."""
    found = figure.to_dict()
    (rows,) = found["datasets"].values()
    return list(rows)


def with_lost(tmp_path: Path, n_lost: int) -> Comparison:
    """Return 40 requests of which B rejects the first n."""
    kept = offered(40, 40)
    rows = [
        {key: row[key] for key in ("scheduled_us", "sent_us", "prompt_tokens")}
        | {"outcome": "rejected", "reason": "queue full"}
        if place < n_lost
        else row
        for place, row in enumerate(offered(40, 40, jitter_us=5_000))
    ]
    opened = open_runs(
        tmp_path, make_run(kept, "a", policy="keep"), make_run(rows, "b", policy="shed")
    )
    return between(opened, "a", "b")


def test_every_offered_request_is_in_one_cell(tmp_path: Path) -> None:
    rows = drawn(figures.transitions(with_lost(tmp_path, 12).transitions, LOOK))
    cells = {(row["a"], row["b"]): (row["n"], row["kind"]) for row in rows}
    assert cells == {
        ("completed", "completed"): (28, "same outcome"),
        ("completed", "rejected"): (12, "completed in A only"),
    }


def test_a_grid_grows_with_its_outcomes(tmp_path: Path, study: Catalog) -> None:
    one = between(study, run_of(study, "vllm", 4), run_of(study, "sarathi", 4))
    two = with_lost(tmp_path, 12)
    swapped = [type(each)(each.b, each.a, each.n) for each in two.transitions]
    short = figures.transitions(one.transitions, LOOK).to_dict()["height"]
    assert figures.transitions(swapped, LOOK).to_dict()["height"] > short


def test_the_shift_of_the_sample_study_is_the_one_in_the_file(study: Catalog) -> None:
    found = between(study, run_of(study, "vllm", 4), run_of(study, "sarathi", 4))
    shift = found.shift(Metric.TTFT)
    assert shift is not None
    rows = {row["p"]: row for row in drawn(figures.shift(shift, LOOK))}
    assert rows["p99"]["relative"] == pytest.approx(0.22, abs=0.005)
    assert all(row["word"] is None for row in rows.values())


def test_a_percentile_that_is_lost_is_a_word_and_no_mark(tmp_path: Path) -> None:
    shift = with_lost(tmp_path, 12).shift(Metric.TTFT)
    assert shift is not None
    rows = {row["p"]: row for row in drawn(figures.shift(shift, LOOK))}
    assert rows["p50"]["word"] is None
    assert (rows["p99"]["word"], rows["p99"]["relative"]) == ("lost", None)
    assert rows["p99"]["b"] == "not reached"


def test_a_class_says_its_median_change_and_how_many_pay(study: Catalog) -> None:
    found = between(study, run_of(study, "vllm", 4), run_of(study, "sarathi", 4))
    rows = drawn(figures.classes(_of(found, Split.PROMPT_LENGTH), LOOK))
    first = next(row for row in rows if row["metric"] == "TTFT" and row["order"] == 1)
    assert first["label"] == "2–399 tokens"
    assert first["text"] == "▲ +22%\n108 worse of 127"


def test_a_class_that_lost_requests_says_so_before_any_median(tmp_path: Path) -> None:
    found = with_lost(tmp_path, 12)
    rows = drawn(figures.classes(_of(found, Split.ARRIVAL), LOOK))
    by_tenth = {row["order"]: row["text"] for row in rows if row["metric"] == "TTFT"}
    assert by_tenth[min(by_tenth)] == "▲ no pairs for those\nboth completed\nnet −4 completed"
    assert by_tenth[max(by_tenth)] == "▲ +5% for those\nboth completed\nnet 0 completed"


def test_a_class_that_lost_requests_on_balance_is_never_a_gain(tmp_path: Path) -> None:
    """B answers all others in half the time and loses 4 of the first 40: it pays for them."""
    rows = [
        {key: row[key] for key in ("scheduled_us", "sent_us", "prompt_tokens")}
        | {"outcome": "rejected"}
        if place < 4
        else row | {"ttft_us": row["ttft_us"] // 2, "latency_us": row["latency_us"] // 2}
        for place, row in enumerate(offered(80, 80))
    ]
    runs = make_run(offered(80, 80), "a", policy="keep"), make_run(rows, "b", policy="shed")
    found = between(open_runs(tmp_path, *runs), "a", "b")
    cells = drawn(figures.classes(_of(found, Split.ARRIVAL), LOOK))
    first = next(row for row in cells if row["metric"] == "TTFT" and row["order"] == 1)
    assert first["balance"] == "pays"
    assert first["text"] == "▲ −50% for those\nboth completed\nnet −4 completed"
    last = next(row for row in cells if row["metric"] == "TTFT" and row["order"] == 10)
    assert last["balance"] == "gains"


def test_a_gain_and_a_loss_of_requests_look_different(tmp_path: Path) -> None:
    found = with_lost(tmp_path, 12)
    there = drawn(figures.transitions(found.transitions, LOOK))
    swapped = [type(each)(each.b, each.a, each.n) for each in found.transitions]
    back = drawn(figures.transitions(swapped, LOOK))
    assert {row["kind"] for row in there} == {"same outcome", "completed in A only"}
    assert {row["kind"] for row in back} == {"same outcome", "completed in B only"}


def test_every_pair_that_completed_on_both_sides_is_a_point(tmp_path: Path) -> None:
    found = with_lost(tmp_path, 12)
    opened = open_runs(tmp_path)
    rows = pairs.scatter(comparison.requests(opened, found.question), Metric.TTFT)
    figure = figures.scatter(rows, Metric.TTFT, LOOK)
    assert len(drawn(figure)) == 28


def test_every_pairs_own_difference_is_at_most_the_last(tmp_path: Path) -> None:
    found = with_lost(tmp_path, 12)
    opened = open_runs(tmp_path)
    rows = pairs.differences(comparison.requests(opened, found.question), Metric.TTFT)
    points = drawn(figures.differences(rows, Metric.TTFT, LOOK))
    assert {row["delta_ms"] for row in points} == {5.0}
    assert points[-1]["share"] == 1


def _of(found: Comparison, split: Split) -> list[Any]:
    return [each for each in found.classes if each.split is split]
