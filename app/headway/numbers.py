"""Numbers as people write them: never in scientific notation."""

import math


def brief(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits, without zeros that say nothing.

    Whole numbers keep all their digits, with separators for thousands.

    Examples
    --------
    >>> brief(10_303.9), brief(4.0), brief(0.0000123), brief(1234.5, 6)
    ('10,304', '4', '0.0000123', '1,234.5')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    rounded = float(f"{value:.{digits}g}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    said = f"{value:,.{decimals}f}"
    return said.rstrip("0").rstrip(".") if decimals else said
