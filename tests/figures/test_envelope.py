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
from headway.figures import load_panels, outcomes, theme, vega
from headway.figures.load_panels import Panel
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


def tables(chart: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a chart's tables, by one of their columns: `start` or `run_id`."""
    found = [table.rows(named=True) for table in vega.drawing(chart).tables.values()]
    return {name: next(rows for rows in found if name in rows[0]) for name in ("start", "run_id")}


def pieces(chart: Any) -> list[dict[str, Any]]:
    return tables(chart)["start"]


def marks(chart: Any) -> list[dict[str, Any]]:
    return tables(chart)["run_id"]


def panel(points: list[LoadPoint], name: str) -> Panel:
    (found,) = [each for each in load_panels.panels(points) if each.name == name]
    return found


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
    chart = figures.strips(envelopes(study, Asked.TRAFFIC, STALL), Asked.TRAFFIC, theme.LIGHT_LOOK)
    kinds = {row["kind"]: row["is_tested"] for row in pieces(chart)}
    assert kinds == {
        "accepted": True,
        "not enough evidence": True,
        "rejected": True,
        figures.NOT_TESTED: False,
        figures.UNSURE: False,
    }
    said = vega.drawing(chart).text.decode()
    assert '"range":[[2,3],[7,4]]' in said
    signs = {row["kind"]: row["mark"] for row in marks(chart)}
    assert signs == {"accepted": "✓", "not enough evidence": "?", "rejected": "✗"}


@pytest.mark.parametrize("asked", list(Asked))
def test_every_judged_run_on_an_axis_has_its_mark(study: Catalog, asked: Asked) -> None:
    chart = figures.strips(envelopes(study, asked, STALL), asked, theme.DARK_LOOK)
    assert sorted(row["run_id"] for row in marks(chart)) == sorted(study.runs)


def test_a_mark_lies_on_the_stretch_of_its_verdict(study: Catalog) -> None:
    chart = figures.strips(envelopes(study, Asked.RUN, STALL), Asked.RUN, theme.LIGHT_LOOK)
    tested = [row for row in pieces(chart) if row["is_tested"]]
    for mark in marks(chart):
        (under,) = [
            row
            for row in tested
            if row["line"] == mark["line"] and row["start"] < mark["x"] < row["end"]
        ]
        assert under["kind"] == mark["kind"]


def test_a_mark_can_be_chosen_by_its_run(study: Catalog) -> None:
    chart = figures.strips(envelopes(study, Asked.RUN, STALL), Asked.RUN, theme.LIGHT_LOOK)
    (selection,) = chart.to_dict()["params"]  # checks it against the Vega-Lite schema
    assert selection["name"] == figures.SELECTED
    assert selection["select"] == {"type": "point", "fields": ["run_id"]}


def test_a_closed_loop_stands_on_concurrency(tmp_path: Path) -> None:
    run = make_run(offered(20, 20), load=Load(LoadKind.CLOSED, concurrency=8))
    chart = figures.strips(envelopes(open_runs(tmp_path, run)), Asked.RUN, theme.LIGHT_LOOK)
    assert '"title":"concurrency"' in vega.drawing(chart).text.decode()


# Names and kinds of traces.


def test_names_in_a_plotly_chart_are_escaped(tmp_path: Path) -> None:
    """Plotly reads a few HTML tags in its labels; Vega reads none."""
    for trace in outcomes.bars(points(sweep(tmp_path, 20, 3, policy=NASTY)), theme.LIGHT_LOOK).data:
        assert all("&lt;b&gt;bold&lt;/b&gt; &amp; &lt;img" in name for name in trace.y)


def test_no_trace_needs_webgl(study: Catalog) -> None:
    figure = outcomes.bars(points(study, STALL), theme.LIGHT_LOOK)
    assert {trace.type for trace in figure.data} == {"bar"}


# Along the load.


def test_every_point_is_drawn_in_every_panel(study: Catalog) -> None:
    found = points(study, STALL)
    shown = load_panels.panels(found)
    assert len(shown) == 6
    for each in shown:
        rate = each.is_over_rate
        wanted = [(p.line, p.completed_rps if rate else p.x) for p in found]
        assert sorted(each.rows.select("line", "x").rows()) == sorted(wanted)


def test_every_panel_is_a_valid_chart(study: Catalog) -> None:
    for each in load_panels.panels(points(study, STALL)):
        chart = load_panels.draw(each, theme.LIGHT_LOOK)
        chart.to_dict()  # checks it against the Vega-Lite schema
        drawn = vega.drawing(chart)
        assert each.title in drawn.text.decode()
        assert len(drawn.tables) == 1 + each.has_diagonal


def test_latency_against_the_rate_follows_the_load(study: Catalog) -> None:
    by_rate = panel(points(study, STALL), "ttft-by-rate").rows
    for _, mine in by_rate.group_by("line"):
        assert mine["load"].is_sorted()


def test_the_tail_and_its_bounds_are_those_of_the_run(study: Catalog) -> None:
    found = points(study, STALL)
    rows = {row["run"]: row for row in panel(found, "ttft").rows.rows(named=True)}
    for point in found:
        tail = point.ttft.percentiles[-1]
        row = rows[point.title]
        assert row["y"] == (None if tail.value_ms is None else tail.value_ms / 1000)
        if tail.value_ms is not None:
            assert row["low"] == (tail.low_ms or tail.value_ms) / 1000
            assert row["high"] == (tail.high_ms or tail.value_ms) / 1000


def test_a_tail_that_is_not_reached_leaves_a_gap(tmp_path: Path) -> None:
    rows = offered(20, 20)
    rows[0] = {"outcome": "rejected", "scheduled_us": 0}
    whole = make_run(offered(20, 20, every_us=100_000), "r1", policy="z")
    found = points(open_runs(tmp_path, make_run(rows), whole))
    assert load_panels.tail_names(found)[0] == load_panels.USUAL_TAIL == "p99"
    tail = panel(found, "ttft").rows.row(0, named=True)
    assert (tail["y"], tail["low"], tail["high"]) == (None, None, None)
    assert tail["said"] == "p99 not reached"
    drawn = vega.drawing(load_panels.draw(panel(found, "ttft"), theme.LIGHT_LOOK)).text.decode()
    assert "break-paths" in drawn


def test_replicates_stand_as_marks_without_a_line(tmp_path: Path) -> None:
    runs = [
        make_run(offered(20, 20, jitter_us=n), f"r{n}", load=Load(LoadKind.OPEN, declared_rps=n))
        for n in (1, 2)
    ]
    rows = panel(points(open_runs(tmp_path, *runs)), "completed").rows
    assert rows["is_joined"].all()
    twice = load_panels.panels([*points(open_runs(tmp_path / "b", *runs))] * 2)
    assert not twice[3].rows["is_joined"].any()


def test_completions_and_goodput_have_the_line_on_which_everything_is_carried(
    study: Catalog,
) -> None:
    with_line = {
        each.name for each in load_panels.panels(points(study, STALL)) if each.has_diagonal
    }
    assert with_line == {"completed", "goodput"}


def test_the_bars_of_outcomes_add_up_to_everything_offered(study: Catalog) -> None:
    found = points(study, STALL)
    totals = dict.fromkeys((point.title for point in found), 0.0)
    for trace in outcomes.bars(found, theme.LIGHT_LOOK).data:
        for title, share in zip(trace.y, trace.x, strict=True):
            totals[title] += share
    assert all(total == pytest.approx(1) for total in totals.values())
