"""Texts of options become values: windows, percentiles, pairs."""

from headway.errors import MisuseError
from headway.model import Window

_UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000}
_LARGEST_US = 2**62  # far beyond any run, and sums of two still fit the database's integers


def parse_window(text: str) -> Window:
    """Read A..B: each end a number with s, ms or us; an open end is the run's own.

    An end without a unit takes the other end's, else seconds.

    Raises
    ------
    MisuseError
        The text is not A..B, or the window is empty.
    """
    start, dots, end = text.partition("..")
    unit = _unit(start) or _unit(end) or "s"
    try:
        if not dots:
            raise ValueError(text)
        window = Window(_instant_us(start, unit), _instant_us(end, unit))
    except (ValueError, OverflowError) as error:
        raise MisuseError(f"window {text!r}; expected A..B, for example 0..60s") from error
    if None not in (window.start_us, window.end_us) and window.start_us >= window.end_us:  # type: ignore[operator]
        raise MisuseError(f"window {text!r} is empty; expected its start before its end")
    return window


def _unit(text: str) -> str | None:
    return next((unit for unit in ("us", "ms", "s") if text.strip().endswith(unit)), None)


def _instant_us(text: str, default_unit: str) -> int | None:
    bare = text.strip()
    if not bare:
        return None
    unit = _unit(bare)
    number = bare.removesuffix(unit) if unit else bare
    instant_us = round(float(number) * _UNITS_US[unit or default_unit])
    if abs(instant_us) >= _LARGEST_US:
        raise OverflowError(text)
    return instant_us


def parse_percentiles(text: str) -> list[float]:
    """Read "50,99.9" as shares, sorted and each once.

    Raises
    ------
    MisuseError
        A value is not a number strictly between 0 and 100.
    """
    try:
        found = sorted({round(float(part) / 100, 9) for part in text.split(",")})
    except ValueError as error:
        raise MisuseError(f"percentiles {text!r}; expected numbers, for example 50,99") from error
    if not all(0 < share < 1 for share in found):
        raise MisuseError(f"percentiles {text!r}; expected numbers between 0 and 100")
    return found


def pair(text: str) -> tuple[str, str]:
    """Read KEY=VALUE.

    Raises
    ------
    MisuseError
        There is no equals sign.
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise MisuseError(f"{text!r}; expected KEY=VALUE")
    return key.strip(), value.strip()
