"""Texts of options become values: percentiles, pairs."""

from headway.errors import MisuseError


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
