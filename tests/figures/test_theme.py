"""One palette, in the figures and in the dashboard's own settings."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from headway.figures import theme
from headway.figures.theme import Series

CONFIG = Path(theme.__file__).parents[1] / "web" / ".streamlit" / "config.toml"


@pytest.fixture(scope="module")
def declared() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["theme"]
    return found


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_dashboard_has_the_palette_of_the_figures(declared: dict[str, Any], mode: str) -> None:
    look = theme.look(dark=mode == "dark")
    assert tuple(declared[mode]["chartCategoricalColors"]) == look.palette
    assert declared[mode]["textColor"] == look.ink


def luminance(colour: str) -> float:
    """Return the relative luminance that WCAG defines."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_colour_stands_out_from_its_background(declared: dict[str, Any], mode: str) -> None:
    look = theme.look(dark=mode == "dark")
    background = luminance(declared[mode]["backgroundColor"])
    for colour in (*look.palette, look.ink, look.muted):
        brighter, darker = sorted((luminance(colour), background), reverse=True)
        assert (brighter + 0.05) / (darker + 0.05) >= 2.8, colour


def test_colours_dashes_and_symbols_are_all_different() -> None:
    for kind in (theme.LIGHT, theme.DARK, theme.DASHES, theme.PLOTLY_DASHES, theme.SYMBOLS):
        assert len(set(kind)) == 6


def test_a_group_shares_its_colour_and_parts_by_dash() -> None:
    series = [Series("r0", "a 1", "a"), Series("r1", "b 1", "b"), Series("r2", "a 2", "a")]
    assert theme.colours(series, theme.LIGHT) == [theme.LIGHT[0], theme.LIGHT[1], theme.LIGHT[0]]
    assert theme.places(series) == [0, 0, 1]


def test_more_groups_than_colours_start_over() -> None:
    series = [Series(f"r{n}", f"{n}", f"{n}") for n in range(7)]
    assert theme.colours(series, theme.LIGHT)[6] == theme.LIGHT[0]
