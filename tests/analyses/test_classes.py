"""Winners and losers by class."""

from pathlib import Path
from typing import Any

from headway.analyses import classes, comparison, sides
from headway.analyses.classes import Balance, ClassRow, Split
from headway.analyses.comparison import Question
from headway.catalog import Catalog
from headway.model import Metric
from libraries import make_run, offered, open_runs, run_of


def rows_between(opened: Catalog, a: str, b: str) -> tuple[ClassRow, ...]:
    first, second = (sides.of_runs(opened, (run_id,)) for run_id in (a, b))
    return comparison.compare(opened, Question(first, second)).classes


def of_ttft(rows: tuple[ClassRow, ...], split: Split) -> list[ClassRow]:
    return [row for row in rows if row.split is split and row.metric is Metric.TTFT]


def two(tmp_path: Path, **columns: list[Any]) -> tuple[ClassRow, ...]:
    """Compare runs of four requests: B serves the first two sooner and the others later."""
    a, b = offered(4, 4), offered(4, 4)
    for name, values in columns.items():
        for rows in (a, b):
            for row, value in zip(rows, values, strict=True):
                row[name] = value
    for place, row in enumerate(b):
        row["ttft_us"] += -50_000 if place < 2 else 50_000
    opened = open_runs(tmp_path, make_run(a, "a"), make_run(b, "b", policy="other"))
    return rows_between(opened, "a", "b")


def test_every_quartile_of_the_sample_study_waits_longer(study: Catalog) -> None:
    rows = rows_between(study, run_of(study, "vllm", 4), run_of(study, "sarathi", 4))
    found = of_ttft(rows, Split.PROMPT_LENGTH)
    assert [row.paired.n for row in found] == [127, 123, 125, 125]
    assert {row.balance for row in found} == {Balance.PAYS}
    assert sum(row.paired.n_worse for row in found) == 463
    assert [row.label for row in found] == [f"{row.low}–{row.high} tokens" for row in found]
    tenths = of_ttft(rows, Split.ARRIVAL)
    assert [(row.label, row.paired.n) for row in tenths] == [
        (f"tenth {n}", 50) for n in range(1, 11)
    ]
    assert {row.split for row in rows} == {
        Split.PROMPT_LENGTH, Split.OUTPUT_LENGTH, Split.ARRIVAL,
    }  # fmt: skip


def test_winners_and_losers_are_told_by_segment(tmp_path: Path) -> None:
    rows = two(tmp_path, segment=["steady", "steady", "burst", "burst"])
    found = [(row.label, row.balance, row.paired.n) for row in of_ttft(rows, Split.SEGMENT)]
    assert found == [("steady", Balance.WINS, 2), ("burst", Balance.PAYS, 2)]


def test_cold_and_warm_and_turns_are_told_apart(tmp_path: Path) -> None:
    rows = two(tmp_path, prefix_group=[1, 2, 1, 2], turn_index=[0, 1, 3, 9])
    cold, warm = of_ttft(rows, Split.PREFIX)
    assert (cold.label, cold.balance) == ("cold: first of its prefix group", Balance.WINS)
    assert (warm.label, warm.balance) == ("eligible for a warm prefix", Balance.PAYS)
    turns = [(row.label, row.paired.n) for row in of_ttft(rows, Split.TURN)]
    assert turns == [("turn 1", 1), ("turn 2", 1), ("turn 4 and later", 2)]


def test_one_class_alone_is_no_split(tmp_path: Path) -> None:
    rows = two(tmp_path, segment=["steady"] * 4)
    assert of_ttft(rows, Split.SEGMENT) == []


def test_a_request_without_a_class_is_in_no_row(tmp_path: Path) -> None:
    rows = two(tmp_path, segment=["steady", None, "burst", None])
    assert [row.paired.n for row in of_ttft(rows, Split.SEGMENT)] == [1, 1]
    assert classes.Split.SEGMENT in {row.split for row in rows}


def test_a_class_has_the_percentiles_of_its_own_requests(tmp_path: Path) -> None:
    rows = two(tmp_path, segment=["steady", "steady", "burst", "burst"])
    steady, _ = of_ttft(rows, Split.SEGMENT)
    assert [(p.share, p.a_ms, p.b_ms, p.delta_ms) for p in steady.points] == [
        (0.5, 100, 50, -50), (0.99, 100, 50, -50),
    ]  # fmt: skip
