"""`headway query`: stored queries over the library."""

from collections.abc import Callable
from pathlib import Path

import click

from headway import sql
from headway.analyses import asking, documents
from headway.cli.options import JSON, LIBRARY, fails_plainly, open_library
from headway.cli.parsing import pair
from headway.cli.tables import print_json, table
from headway.errors import MisuseError


@click.command()
@click.argument("name", required=False)
@LIBRARY
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="Value of a parameter.")
@JSON
@fails_plainly
def query(name: str | None, library: Path, params: tuple[str, ...], *, as_json: bool) -> None:
    """Run a stored query over the library; without a name, list the queries.

    run_ids is every run unless given. A parameter whose description says what NULL means may be
    left out.
    """
    if name is None:
        _list_queries(as_json=as_json)
        return
    opened = open_library(library)
    stored = sql.load(name)
    said = dict(pair(text) for text in params)
    known = {field.name: field for field in stored.params}
    values = {key: _value(known[key], text) if key in known else text for key, text in said.items()}
    rows = opened.query(name, **asking.query_values(opened, stored, values))
    if as_json:
        print_json(rows.to_dicts())
    else:
        click.echo(table(rows.to_dicts()))


def _value(field: sql.Field, text: str) -> object:
    """Return a parameter's value, read by its declared type."""
    read: dict[str, Callable[[str], object]] = {
        "VARCHAR": str,
        "BIGINT": int,
        "DOUBLE": float,
        "VARCHAR[]": lambda value: value.split(","),
        "DOUBLE[]": lambda value: [float(part) for part in value.split(",")],
    }
    if text.lower() == "null":
        return None
    try:
        return read[field.type](text)
    except ValueError as error:
        raise MisuseError(f"--param {field.name}={text}; expected {field.type}") from error


def _list_queries(*, as_json: bool) -> None:
    stored = [sql.load(name) for name in sql.names()]
    if as_json:
        print_json([documents.query(each) for each in stored])
    else:
        click.echo("\n".join(f"{each.name}  {each.summary.splitlines()[0]}" for each in stored))
