"""One look for every figure: colour, dash and symbol per series, light and dark."""

from collections.abc import Sequence
from dataclasses import dataclass

# Okabe and Ito's colours, which stay apart for colour-blind readers; black and yellow are left out
# because each vanishes on one of the two backgrounds. Dark uses their lighter relatives.
LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07C00", "#3E8FC4")
DARK = ("#56B4E9", "#F0854A", "#3CC79B", "#E3A6C9", "#E9B93F", "#9AD0F2")

DASHES = ((1, 0), (7, 4), (2, 3), (9, 3, 2, 3), (4, 2), (1, 2))
PLOTLY_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
# Plotly and Vega both know these.
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")


@dataclass(frozen=True, slots=True)
class Look:
    """What depends on the page's mode."""

    palette: tuple[str, ...]
    ink: str
    muted: str
    grid: str
    band: str
    paper: str


LIGHT_LOOK = Look(LIGHT, "#1F2933", "#5F6B7A", "#E3E7EC", "#8A97A6", "#FFFFFF")
DARK_LOOK = Look(DARK, "#E8EDF2", "#A3AFBD", "#323C48", "#7C8896", "#11161C")


def look(*, dark: bool) -> Look:
    """Return the look of a mode."""
    return DARK_LOOK if dark else LIGHT_LOOK


@dataclass(frozen=True, slots=True)
class Series:
    """A curve or a line of marks: its name in words, and the group that gives it its colour."""

    key: str
    name: str
    group: str


def colours(series: Sequence[Series], palette: Sequence[str]) -> list[str]:
    """Return one colour per series, the same for all series of a group."""
    groups = list(dict.fromkeys(each.group for each in series))
    return [palette[groups.index(each.group) % len(palette)] for each in series]


def places(series: Sequence[Series]) -> list[int]:
    """Return each series' place within its group, which picks its dash."""
    seen: dict[str, int] = {}
    found = []
    for each in series:
        found.append(seen.get(each.group, 0))
        seen[each.group] = found[-1] + 1
    return found
