"""How commands print: tables for people, one JSON document for scripts."""

from collections.abc import Mapping, Sequence
from typing import Any

import click
import orjson
import polars as pl

from headway.errors import legible


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
    """Print one document, indented, on stdout; names of files may have bytes that are no UTF-8."""
    click.echo(orjson.dumps(_legible(document), option=orjson.OPT_INDENT_2).decode())


def _legible(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else legible(value)
    if isinstance(value, Mapping):
        return {_legible(key): _legible(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_legible(each) for each in value]
    return value
