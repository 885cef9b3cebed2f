"""What the picture of a study is made of."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.figures import overview, theme
from headway.figures.overview import Mark

MARKS = [
    Mark("r0", "orca", 1.0, 0.788, 394, 500, "orca · 1 req/s", missed=True),
    Mark("r1", "orca", 2.0, 0.566, 283, 500, "orca · 2 req/s", missed=True),
    Mark("r2", "sarathi", 1.0, 1.0, 500, 500, "sarathi · 1 req/s", solid=False),
    Mark("r3", "sarathi", 8.0, 0.326, 163, 500, "sarathi · 8 req/s", missed=True),
]


def drawn(marks: list[Mark], target: float | None = 0.95) -> Any:
    return overview.shares_by_load(marks, "offered load", "share", theme.LIGHT_LOOK, target)


def lines(figure: Any) -> list[Any]:
    return [trace for trace in figure.data if "markers" in trace.mode]


def test_every_run_has_its_mark() -> None:
    placed = {
        (trace.name, x, y)
        for trace in lines(drawn(MARKS))
        for x, y in zip(trace.x, trace.y, strict=True)
    }
    assert placed == {(mark.policy, mark.x, mark.share) for mark in MARKS}


def test_a_miss_is_a_cross_and_a_run_that_met_is_hollow() -> None:
    symbols = {trace.name: list(trace.marker.symbol) for trace in lines(drawn(MARKS))}
    assert symbols == {"orca": ["x", "x"], "sarathi": ["square-open", "x"]}


def test_a_run_whose_workload_holds_is_solid() -> None:
    (line,) = lines(drawn([Mark("r0", "orca", 1.0, 1.0, 5, 5, "orca · 1 req/s")]))
    assert list(line.marker.symbol) == ["circle"]


def test_every_trace_is_svg() -> None:
    assert {trace.type for trace in drawn(MARKS).data} == {"scatter"}
    assert not drawn(MARKS).layout.shapes


def test_each_policy_has_its_own_colour_and_dash() -> None:
    found = lines(drawn(MARKS))
    assert [trace.line.color for trace in found] == list(theme.LIGHT[:2])
    assert [trace.line.dash for trace in found] == ["solid", "dash"]


def test_the_counts_behind_a_share_are_a_hover_away() -> None:
    sarathi = lines(drawn(MARKS))[1]
    assert list(sarathi.customdata[1]) == ["sarathi · 8 req/s", "163", "500"]
    assert "of %{customdata[2]} offered" in sarathi.hovertemplate


def test_only_tested_loads_are_on_the_axis_and_it_starts_at_zero() -> None:
    axis = drawn(MARKS).layout.xaxis
    assert list(axis.tickvals) == [1, 2, 8]
    assert axis.rangemode == "tozero"
    assert axis.title.text == "offered load"


def test_the_declared_share_is_a_trace() -> None:
    (target,) = [trace for trace in drawn(MARKS).data if trace.name == "target share"]
    assert list(target.y) == [0.95, 0.95]
    assert "95%" in target.text[0]
    assert not any(trace.name == "target share" for trace in drawn(MARKS, None).data)


def test_replicates_stand_as_marks_without_a_line() -> None:
    twice = [*MARKS[2:], Mark("r9", "sarathi", 8.0, 0.4, 200, 500, "again")]
    (trace,) = lines(drawn(twice))
    assert trace.mode == "markers"
    assert len(trace.x) == 3


def test_names_from_files_cannot_format_a_label() -> None:
    mark = Mark("r0", "<b>bold</b>", 1.0, 0.5, 1, 2, "<a href='x'>name</a>")
    figure = drawn([mark])
    shown = [lines(figure)[0].name, lines(figure)[0].customdata[0][0], figure.data[1].text[0]]
    assert not any("<" in text for text in shown)


@pytest.mark.parametrize("n_policies", [5, 6])
def test_many_policies_get_a_legend_instead_of_labels(n_policies: int) -> None:
    marks = [Mark(f"r{n}", f"p{n}", 1.0, 0.5, 1, 2, "x") for n in range(n_policies)]
    figure = drawn(marks, None)
    assert figure.layout.showlegend == (n_policies == 6)
    assert len(lines(figure)) == n_policies


def test_nothing_to_draw_is_an_empty_figure() -> None:
    assert len(drawn([]).data) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_labels_at_one_load_stand_apart_and_inside_the_plot(shares: list[float]) -> None:
    placed = overview.spread([(8.0, share) for share in shares])
    heights = sorted(y for _, y in placed)
    assert all(b - a > 0.0599 for a, b in pairwise(heights))
    assert heights[0] >= -0.04
    assert heights[-1] <= 1.12
    assert [x for x, _ in placed] == [8.0] * len(shares)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5, unique=True))
def test_labels_keep_the_order_of_their_lines(shares: list[float]) -> None:
    placed = [y for _, y in overview.spread([(8.0, share) for share in shares])]
    by_share = [y for _, y in sorted(zip(shares, placed, strict=True))]
    assert by_share == sorted(by_share)


def test_labels_at_different_loads_stay_where_they_are() -> None:
    ends = [(1.0, 0.5), (2.0, 0.5)]
    assert overview.spread(ends) == ends
