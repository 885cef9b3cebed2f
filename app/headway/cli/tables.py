"""How commands print: tables for people, one JSON document for scripts."""

from collections.abc import Sequence
from typing import Any

import click
import orjson
import polars as pl


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as a table that nothing is cut off from."""
    if not rows:
        return "(no rows)"
    shown = [{name: printable(value) for name, value in row.items()} for row in rows]
    frame = pl.DataFrame(shown, infer_schema_length=None)
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=1000,
        fmt_str_lengths=200,
        fmt_table_cell_list_len=-1,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_formatting="ASCII_MARKDOWN",
    ):
        return str(frame)


def printable(value: Any) -> Any:
    """Return text from a file without what would steer a terminal or break the line."""
    if not isinstance(value, str):
        return value
    return "".join(letter if letter.isprintable() else " " for letter in value)


def print_json(document: object) -> None:
    """Print one document, indented, on stdout."""
    click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
