"""Words that findings of several importers share."""


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, as in `1 row` and `2 rows`."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
