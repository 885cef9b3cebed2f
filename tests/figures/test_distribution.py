"""What a distribution's chart is made of."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

from headway.analyses import distribution
from headway.catalog import Catalog
from headway.figures import distribution as figures
from headway.figures import theme
from headway.figures.theme import Series
from headway.model import Metric, Selection, Stratum
from libraries import make_run, open_runs

LABELS = figures.Labels("TTFT", "offered requests", ", from the send")
SERIES = [Series("r0", "policy · 4 req/s", "policy"), Series("r1", "<b>other</b> · x", "other")]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    rows = [{"ttft_us": 1000 * (n + 1), "prompt_tokens": n} for n in range(40)]
    return open_runs(
        tmp_path_factory.mktemp("library"),
        make_run([*rows, *[{"outcome": "failed", "prompt_tokens": 1}] * 10], "r0"),
        make_run([*rows, {"ttft_us": 0, "prompt_tokens": 9}], "r1"),
    )


def points_of(opened: Catalog, stratum: Stratum = Stratum.NONE) -> pl.DataFrame:
    selection = Selection(("r0", "r1"), stratum=stratum)
    found = distribution.curve(opened, selection, Metric.TTFT)
    return figures.named(found, SERIES, Metric.TTFT)


def specification(figure: figures.Figure) -> dict[str, Any]:
    with alt.data_transformers.enable(max_rows=None):
        found: dict[str, Any] = figure.to_dict()
    return found


def data_rows(specified: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that the chart draws from, of all its data sets."""
    return [row for rows in specified["datasets"].values() for row in rows]


def parts(node: Any, key: str) -> Iterator[Any]:
    """Yield every value under a key, at any depth of the specification."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == key:
                yield value
            if name != "datasets":
                yield from parts(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from parts(value, key)


def marks(specified: dict[str, Any]) -> list[str]:
    return [mark["type"] for mark in parts(specified, "mark")]


draws = pytest.mark.parametrize("draw", [figures.ecdf, figures.tail])


@draws
def test_every_row_is_drawn_and_none_is_filtered_out(draw: Any, opened: Catalog) -> None:
    points = points_of(opened)
    specified = specification(draw(points, SERIES, LABELS, theme.LIGHT_LOOK))
    assert len(data_rows(specified)) == len(points)
    line, *_ = [layer for layer in specified["layer"] if layer["mark"]["type"] == "line"]
    assert "transform" not in line
    assert "clip" not in line["mark"]


@draws
def test_every_series_has_a_name_a_colour_and_a_dash(draw: Any, opened: Catalog) -> None:
    specified = specification(draw(points_of(opened), SERIES, LABELS, theme.LIGHT_LOOK))
    assert {row["series"] for row in data_rows(specified)} == {each.name for each in SERIES}
    for channel, expected in (
        ("color", list(theme.LIGHT[:2])),
        ("strokeDash", [[1, 0], [1, 0]]),
    ):
        scale = next(parts(specified, channel))["scale"]
        assert scale["domain"] == [each.name for each in SERIES]
        assert scale["range"] == expected


@draws
def test_the_axes_say_what_they_count(draw: Any, opened: Catalog) -> None:
    specified = specification(draw(points_of(opened), SERIES, LABELS, theme.DARK_LOOK))
    x, y = next(parts(specified, "x")), next(parts(specified, "y"))
    assert x["title"] == "TTFT (ms, log scale), from the send"
    assert x["scale"]["type"] == "log"
    assert y["title"].startswith("share of offered requests")


def test_the_ecdf_reaches_from_none_to_all(opened: Catalog) -> None:
    specified = specification(figures.ecdf(points_of(opened), SERIES, LABELS, theme.LIGHT_LOOK))
    assert next(parts(specified, "y"))["scale"]["domain"] == [0, 1]


def test_the_tail_is_logarithmic_both_ways(opened: Catalog) -> None:
    specified = specification(figures.tail(points_of(opened), SERIES, LABELS, theme.LIGHT_LOOK))
    assert next(parts(specified, "y"))["scale"] == {"domainMax": 1, "type": "log"}


def test_the_lost_are_a_plateau_with_words(opened: Catalog) -> None:
    specified = specification(figures.ecdf(points_of(opened), SERIES, LABELS, theme.LIGHT_LOOK))
    labelled = [row for row in data_rows(specified) if row["label"] is not None]
    assert [(row["run_id"], row["label"]) for row in labelled] == [
        ("r0", "20% without a first token")
    ]
    (plateau,) = labelled
    assert plateau["share"] == 0.8
    assert plateau["drawn_ms"] == max(row["drawn_ms"] for row in data_rows(specified))


def test_a_delay_of_zero_stays_on_the_log_axis(opened: Catalog) -> None:
    points = points_of(opened)
    assert points["value_ms"].min() == 0
    assert points["drawn_ms"].min() == 0.001


@draws
def test_a_limit_is_a_layer_with_its_value(draw: Any, opened: Catalog) -> None:
    without = specification(draw(points_of(opened), SERIES, LABELS, theme.LIGHT_LOOK))
    specified = specification(draw(points_of(opened), SERIES, LABELS, theme.LIGHT_LOOK, 2000.0))
    assert "rule" not in marks(without)
    assert marks(specified).count("rule") == 1
    assert {"datum": 2000.0} in list(parts(specified, "x"))
    assert any("limit 2\\xa0s" in str(value) for value in parts(specified, "text"))


def test_classes_have_a_panel_each(opened: Catalog) -> None:
    points = points_of(opened, Stratum.PROMPT_LENGTH)
    specified = specification(figures.ecdf(points, SERIES, LABELS, theme.LIGHT_LOOK))
    assert specified["facet"]["sort"] == points["stratum"].unique(maintain_order=True).to_list()
    assert len(specified["facet"]["sort"]) == 4
    assert len(data_rows(specified)) == len(points)


def test_a_curve_with_no_loss_has_no_label(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"ttft_us": 5}]))
    found = distribution.curve(opened, Selection(("r0",)), Metric.TTFT)
    named = figures.named(found, SERIES, Metric.TTFT)
    assert named["label"].to_list() == [None, None]
    assert named["series"].unique().to_list() == ["policy · 4 req/s"]


def test_what_was_lost_depends_on_the_metric(opened: Catalog) -> None:
    found = distribution.curve(opened, Selection(("r0",)), Metric.TTFT)
    words = figures.named(found, SERIES, Metric.LATENCY)["label"].drop_nulls().to_list()
    assert words == ["20% never completed"]


def test_a_population_is_named_in_words() -> None:
    assert figures.population("completed", gaps=False) == "completed requests"
    assert figures.population("source", gaps=True) == "gaps of requests the tool counts as good"
