"""The strips of an envelope, and the panels along its load."""

from pathlib import Path
from typing import Any

import pytest

from headway.analyses import acceptance, envelope, load_curves
from headway.analyses.acceptance import Asked
from headway.analyses.envelope import Envelope
from headway.analyses.load_curves import LoadPoint
from headway.catalog import Catalog
from headway.figures import envelope as figures
from headway.figures import outcomes, theme
from headway.model import Load, LoadKind, Objective, Selection
from headway.stats.verdicts import Verdict
from libraries import make_run, offered, open_runs

STALL = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)
TTFT = Objective(ttft_ms=200, attainment=0.9)
YES, NO, UNSURE = Verdict.ACCEPTED, Verdict.REJECTED, Verdict.UNDECIDED
NASTY = "<b>bold</b> & <img src=x>"


def selected(opened: Catalog) -> Selection:
    runs = [run for name in sorted(opened.studies) for run in opened.of_study(name)]
    return Selection(tuple(run.run_id for run in runs))


def envelopes(
    opened: Catalog, asked: Asked = Asked.RUN, objective: Objective = TTFT
) -> list[Envelope]:
    judged = acceptance.judge(opened, selected(opened), objective)
    return envelope.envelopes(opened, judged, asked)


def points(opened: Catalog, objective: Objective = TTFT) -> list[LoadPoint]:
    judged = acceptance.judge(opened, selected(opened), objective)
    return load_curves.points(opened, selected(opened), judged)


def sweep(tmp_path: Path, *counts: int, policy: str = "policy") -> Catalog:
    runs = [
        make_run(
            offered(20, n_met, jitter_us=rps),
            f"r{rps}",
            load=Load(LoadKind.OPEN, declared_rps=rps),
            policy=policy,
        )
        for rps, n_met in enumerate(counts, start=1)
    ]
    return open_runs(tmp_path, *runs)


def bars(figure: Any) -> list[Any]:
    return [trace for trace in figure.data if trace.type == "bar"]


def marks(figure: Any) -> list[Any]:
    return [trace for trace in figure.data if trace.type == "scatter" and trace.mode != "lines"]


# Stretches.


def verdicts_at(each: Envelope) -> list[tuple[float, Verdict]]:
    return [
        (round((one.start + one.end) / 2, 9), one.verdict)
        for one in figures.stretches(each)
        if one.verdict is not None
    ]


def test_only_tested_loads_have_a_verdict(study: Catalog) -> None:
    by_line = {each.line: each for each in envelopes(study, Asked.TRAFFIC, STALL)}
    assert verdicts_at(by_line["sarathi"]) == [
        (1, YES), (2, YES), (3, UNSURE), (4, UNSURE), (6, UNSURE), (8, NO),
    ]  # fmt: skip
    assert verdicts_at(by_line["vllm"]) == [(x, NO) for x in (1, 2, 4, 6, 8)] or verdicts_at(
        by_line["vllm"]
    ) == [(x, NO) for x in (1, 2, 3, 4, 6, 8)]


@pytest.mark.parametrize("asked", list(Asked))
def test_the_most_of_a_strip_was_not_tested(study: Catalog, asked: Asked) -> None:
    for each in envelopes(study, asked, STALL):
        found = figures.stretches(each)
        assert [one.end for one in found[:-1]] == [one.start for one in found[1:]]
        coloured = sum(one.end - one.start for one in found if one.verdict is not None)
        plain = sum(one.end - one.start for one in found if one.verdict is None)
        assert coloured < plain / 2 or len(each.verdicts) == 1


def test_the_edge_lies_between_the_last_accepted_and_the_first_rejected(study: Catalog) -> None:
    (each,) = [e for e in envelopes(study, Asked.WORKLOAD, STALL) if e.line == "sarathi"]
    (edge,) = [one for one in figures.stretches(each) if one.is_edge]
    assert 4 < edge.start < edge.end < 6


def test_without_an_accepted_load_no_stretch_is_called_the_edge(tmp_path: Path) -> None:
    (each,) = envelopes(sweep(tmp_path, 3, 3, 3))
    assert not any(one.is_edge for one in figures.stretches(each))


# Strips.


def test_the_three_ideas_of_not_knowing_look_and_read_differently(study: Catalog) -> None:
    figure = figures.strips(envelopes(study, Asked.TRAFFIC, STALL), Asked.TRAFFIC, theme.LIGHT_LOOK)
    hatches = {bar.name: bar.marker.pattern.shape for bar in bars(figure)}
    assert hatches["not enough evidence"] == "/"
    assert len(set(hatches.values())) == len(hatches) == 3
    lines = {t.name: t.line.dash for t in figure.data if t.type == "scatter" and t.mode == "lines"}
    assert lines == {figures.NOT_TESTED: "dot", figures.UNSURE: "dash"}
    named = [t.name for t in figure.data if t.showlegend]
    assert {figures.NOT_TESTED, figures.UNSURE, "not enough evidence"} <= set(named)


@pytest.mark.parametrize("asked", list(Asked))
def test_every_judged_run_on_an_axis_has_its_mark(study: Catalog, asked: Asked) -> None:
    figure = figures.strips(envelopes(study, asked, STALL), asked, theme.DARK_LOOK)
    marked = [custom[3] for trace in marks(figure) for custom in trace.customdata or ()]
    assert sorted(marked) == sorted(study.runs)
    for trace in marks(figure):
        assert len(set(trace.text or ())) <= 1
        assert trace.name.split()[0] in ("✓", "✗", "?")


def test_a_strip_and_its_marks_stand_on_the_same_rows(study: Catalog) -> None:
    found = envelopes(study, Asked.RUN, STALL)
    figure = figures.strips(found, Asked.RUN, theme.LIGHT_LOOK)
    rows = {y for trace in marks(figure) for y in trace.y}
    assert rows == {each.line for each in found}
    assert {bar.y[0] for bar in bars(figure)} <= rows


def test_a_closed_loop_stands_on_concurrency(tmp_path: Path) -> None:
    run = make_run(offered(20, 20), load=Load(LoadKind.CLOSED, concurrency=8))
    figure = figures.strips(envelopes(open_runs(tmp_path, run)), Asked.RUN, theme.LIGHT_LOOK)
    assert "concurrency" in figure.layout.xaxis.title.text


# Names and kinds of traces.


def text_of(figure: Any) -> str:
    """Return all that a figure could show of a name."""
    shown = [trace.name or "" for trace in figure.data]
    for trace in figure.data:
        shown += [str(y) for y in trace.y if isinstance(y, str)] if trace.y is not None else []
        shown += [str(each[0]) for each in trace.customdata or ()]
    return " ".join(shown)


def test_names_from_files_are_escaped(tmp_path: Path) -> None:
    opened = sweep(tmp_path, 20, 3, policy=NASTY)
    found = points(opened)
    for figure in (
        figures.strips(envelopes(opened), Asked.RUN, theme.LIGHT_LOOK),
        figures.along_load(found, theme.LIGHT_LOOK),
        outcomes.bars(found, theme.LIGHT_LOOK),
    ):
        assert "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;img" in text_of(figure)
        assert "<b>" not in text_of(figure)
        assert "<img" not in text_of(figure)


def test_no_trace_needs_webgl(study: Catalog) -> None:
    found = points(study, STALL)
    for figure in (
        figures.strips(envelopes(study, Asked.RUN, STALL), Asked.RUN, theme.LIGHT_LOOK),
        figures.along_load(found, theme.LIGHT_LOOK),
        outcomes.bars(found, theme.LIGHT_LOOK),
    ):
        assert {trace.type for trace in figure.data} <= {"scatter", "bar"}


# Along the load.


def test_every_point_is_drawn_in_every_panel(study: Catalog) -> None:
    found = points(study, STALL)
    figure = figures.along_load(found, theme.LIGHT_LOOK)
    for axis in ("y", "y2", "y3", "y4", "y5", "y6"):
        drawn = [
            x
            for trace in figure.data
            if (trace.yaxis or "y") == axis and trace.legendgroup != "diagonal"
            for x in trace.x
        ]
        over_rate = axis == "y3"
        wanted = [p.completed_rps or 0.0 if over_rate else p.x for p in found]
        assert sorted(drawn) == sorted(wanted)


def test_latency_against_the_rate_follows_the_load(study: Catalog) -> None:
    found = points(study, STALL)
    figure = figures.along_load(found, theme.LIGHT_LOOK)
    for trace in (each for each in figure.data if each.yaxis == "y3"):
        loads = [float(text) for text in trace.text]
        assert loads == sorted(loads)


def test_a_tail_that_is_not_reached_leaves_a_gap(tmp_path: Path) -> None:
    rows = offered(20, 20)
    rows[0] = {"outcome": "rejected", "scheduled_us": 0}
    whole = make_run(offered(20, 20, every_us=100_000), "r1", policy="z")
    found = points(open_runs(tmp_path, make_run(rows), whole))
    figure = figures.along_load(found, theme.LIGHT_LOOK)
    tail = figure.data[0]
    assert figures.tail_names(found)[0] == figures.USUAL_TAIL == "p99"
    assert list(tail.y) == [None]
    assert tail.connectgaps is False
    assert tail.customdata[0][1] == "p99 not reached"


def test_goodput_has_the_line_on_which_everything_is_carried(study: Catalog) -> None:
    figure = figures.along_load(points(study, STALL), theme.LIGHT_LOOK)
    diagonals = [trace for trace in figure.data if trace.legendgroup == "diagonal"]
    assert len(diagonals) == 2
    assert all(list(trace.x) == list(trace.y) for trace in diagonals)


def test_the_bars_of_outcomes_add_up_to_everything_offered(study: Catalog) -> None:
    found = points(study, STALL)
    totals = dict.fromkeys((point.title for point in found), 0.0)
    for trace in outcomes.bars(found, theme.LIGHT_LOOK).data:
        for title, share in zip(trace.y, trace.x, strict=True):
            totals[title] += share
    assert all(total == pytest.approx(1) for total in totals.values())
