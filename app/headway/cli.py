"""The command line: data on stdout, words on stderr.

Exit codes: 0 fine, 1 some input refused, 2 misuse.
"""

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any

import click
import orjson
import polars as pl

from headway import __version__, catalog, ingest, serving, sql
from headway.analyses import documents
from headway.analyses.summary import RunSummary, summarise
from headway.errors import HeadwayError, MisuseError, QueryError
from headway.model import Basis, Method, Metric, Origin, Selection, Window

_LIBRARY = click.option(
    "--library",
    type=click.Path(path_type=Path),
    default=Path("library"),
    envvar="HEADWAY_LIBRARY",
    show_default=True,
    help="Folder of run files, one sub-folder per study.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def _one_of(kind: type[StrEnum]) -> click.Choice[str]:
    """Return the choice of an enum's values: click would offer the names of its members."""
    return click.Choice([member.value for member in kind])


def _fails_plainly(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a HeadwayError into one line on stderr and an exit code."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except HeadwayError as error:
            click.echo(f"headway: {error}", err=True)
            sys.exit(2 if isinstance(error, MisuseError | QueryError) else 1)

    return run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="headway")
def main() -> None:
    """Read LLM-serving benchmark results; account for every offered request."""


@main.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@_LIBRARY
@click.option("--port", default=8501, show_default=True, envvar="PORT", help="Port to serve on.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Address to bind.")
@_fails_plainly
def serve(paths: tuple[Path, ...], library: Path, port: int, address: str) -> None:
    """Serve the dashboard over the library, or over these libraries, runs or result files."""
    sys.exit(serving.serve(paths or (library,), port=port, address=address))


@main.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_LIBRARY
@click.option("--study", help="Study the runs belong to; else the nearest study.toml's.")
@click.option("--policy", help="Scheduling policy of the runs; else what the source says.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Say what a file omits."
)
@_JSON
@_fails_plainly
def import_(
    paths: tuple[Path, ...],
    library: Path,
    study: str | None,
    policy: str | None,
    settings: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Import result files or folders of them into the library."""
    said = ingest.Settings(study=study, policy=policy, set=dict(_pair(text) for text in settings))
    report = ingest.import_paths(list(paths), library, said)
    if as_json:
        _print_json(ingest.report_json(report))
    else:
        _print_import(report)
    for refusal in report.refused:
        click.echo(f"refused {refusal.source}: {refusal.message}", err=True)
    if not report.imported and not report.refused:
        click.echo("nothing was imported: no file is a result that Headway knows", err=True)
    sys.exit(1 if report.refused or not report.imported else 0)


@main.command()
@_LIBRARY
@click.option("--run", "run_ids", multiple=True, help="Run id; repeat for more. Default: all.")
@click.option("--study", help="Only the runs of this study.")
@click.option("--percentiles", default="50,90,95,99", show_default=True)
@click.option("--method", type=_one_of(Method), default="nearest", show_default=True)
@click.option("--basis", type=_one_of(Basis), default="offered", show_default=True)
@click.option("--origin", type=_one_of(Origin), default="scheduled", show_default=True)
@click.option("--window", default="..", help="A..B over scheduled times, e.g. 0..60s or 500ms..2s.")
@_JSON
@_fails_plainly
def summary(
    library: Path,
    run_ids: tuple[str, ...],
    study: str | None,
    percentiles: str,
    method: str,
    basis: str,
    origin: str,
    window: str,
    *,
    as_json: bool,
) -> None:
    """Summarise runs: accounting, rates, percentiles, and the tool's own numbers."""
    opened = _open(library)
    selection = Selection(
        run_ids=_chosen(opened, run_ids, study),
        window=parse_window(window),
        basis=Basis(basis),
        origin=Origin(origin),
        method=Method(method),
    )
    shares = parse_percentiles(percentiles)
    summaries = summarise(opened, selection, shares=shares)
    if as_json:
        _print_json(documents.summary(selection, summaries))
    else:
        click.echo(_table([_summary_row(each) for each in summaries]))


@main.command()
@click.argument("name", required=False)
@_LIBRARY
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="Value of a parameter.")
@_JSON
@_fails_plainly
def query(name: str | None, library: Path, params: tuple[str, ...], *, as_json: bool) -> None:
    """Run a stored query over the library; without a name, list the queries.

    run_ids is every run unless given. A parameter whose description says what NULL means may be
    left out.
    """
    if name is None:
        _list_queries(as_json=as_json)
        return
    opened = _open(library)
    stored = sql.load(name)
    said = dict(_pair(text) for text in params)
    values = {field.name: _value(field, said, opened) for field in stored.params}
    surplus = {key: value for key, value in said.items() if key not in values}
    rows = stored.run(opened.connection, **values, **surplus)
    if as_json:
        _print_json(rows.to_dicts())
    else:
        click.echo(_table(rows.to_dicts()))


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


_UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000}
_LARGEST_US = 2**62  # far beyond any run, and sums of two still fit the database's integers


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


def _open(library: Path) -> catalog.Catalog:
    if not library.is_dir():
        raise MisuseError(
            f"there is no library {library}; import results first: headway import PATH "
            f"--library {library}"
        )
    opened = catalog.open_catalog([library])
    for broken in opened.broken:
        click.echo(f"skipped {broken.path.name}: {broken.message}", err=True)
    return opened


def _chosen(opened: catalog.Catalog, run_ids: Sequence[str], study: str | None) -> tuple[str, ...]:
    if run_ids:
        return tuple(opened.run(run_id).run_id for run_id in run_ids)
    if study is not None and study not in opened.studies:
        known = ", ".join(sorted(opened.studies)) or "none"
        raise MisuseError(f"there is no study {study!r} in the library; there are: {known}")
    studies = [study] if study is not None else sorted(opened.studies)
    return tuple(run.run_id for each in studies for run in opened.of_study(each))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise MisuseError(f"{text!r}; expected KEY=VALUE")
    return key.strip(), value.strip()


def _value(field: sql.Field, said: dict[str, str], opened: catalog.Catalog) -> object:
    """Return a parameter's value, read by its declared type; absent bounds are NULL."""
    if field.name not in said:
        if field.name == "run_ids":
            return sorted(opened.runs)
        if "NULL" in field.meaning:
            return None
        raise MisuseError(f"missing --param {field.name}=…: {field.meaning}")
    text = said[field.name]
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
        _print_json([documents.query(each) for each in stored])
    else:
        click.echo("\n".join(f"{each.name}  {each.summary.splitlines()[0]}" for each in stored))


def _summary_row(each: RunSummary) -> dict[str, object]:
    ttft, stall, latency = (each.metrics[m] for m in (Metric.TTFT, Metric.STALL, Metric.LATENCY))
    lost = {o.value: n for o, n in each.account.outcomes.items() if n and o.value != "completed"}
    return {
        "run": each.run.run_id,
        "policy": each.run.policy or each.run.label,
        "declared req/s": each.run.load.declared_rps,
        "offered": each.account.n_offered,
        "completed": each.account.outcomes[next(iter(each.account.outcomes))],
        "other": ", ".join(f"{n} {name}" for name, n in lost.items()) or None,
        **{f"TTFT p{k} ms": v for k, v in _points(ttft)},
        **{f"stall p{k} ms": v for k, v in _points(stall)},
        **{f"latency p{k} ms": v for k, v in _points(latency)},
    }


def _points(found: Any) -> list[tuple[str, str]]:
    chosen = [found.percentiles[0], found.percentiles[-1]] if found.percentiles else []
    return [
        (
            documents.percentile_name(point.share),
            "not reached" if point.value_ms is None else f"{point.value_ms:.4g}",
        )
        for point in chosen
    ]


def _print_import(report: ingest.Report) -> None:
    click.echo(
        _table(
            [
                {
                    "run": item.info.run_id,
                    "study": item.info.study,
                    "policy": item.info.policy or item.info.label,
                    "offered": item.info.n_offered,
                    "outcomes": ", ".join(f"{n} {o}" for o, n in item.outcomes.items() if n),
                    "findings": len(item.info.findings),
                    "replaced": "yes" if item.replaced else "",
                    "source": str(item.source),
                }
                for item in report.imported
            ]
        )
    )


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "(no rows)"
    shown = [{name: _printable(value) for name, value in row.items()} for row in rows]
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


def _printable(value: Any) -> Any:
    """Return text from a file without what would steer a terminal or break the line."""
    if not isinstance(value, str):
        return value
    return "".join(letter if letter.isprintable() else " " for letter in value)


def _print_json(document: object) -> None:
    click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
