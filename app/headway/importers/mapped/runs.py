"""From a table and a mapping to runs: read, convert, check, split, describe."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import polars as pl

from headway.errors import ImportRefusedError, MisuseError
from headway.importers.mapped import derive, fields, requests, run_facts, toml_files
from headway.importers.mapped.mapping import Epoch, Mapping, Purpose
from headway.importers.mapped.problems import Problem, first, named
from headway.importers.mapped.requests import ROW
from headway.importers.source import Source, as_whole
from headway.model import (
    Clock,
    Finding,
    IndexBasis,
    Load,
    LoadKind,
    Manifest,
    OfferedBasis,
    Outcome,
    OutcomeBasis,
    Phase,
    RunInfo,
    Severity,
)
from headway.record import REQUESTS, Run, requests_table

NAME = "mapped"
VERSION = 1

_INSTANTS = ("scheduled_us", "sent_us", "ended_us")
_EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)


def apply(source: Source, mapping: Mapping) -> Iterator[Run]:
    """Yield the runs that a table holds under a mapping, unsealed and without a study.

    Raises
    ------
    MisuseError
        The mapping leaves a required fact open; the message asks for each.
    ImportRefusedError
        The table cannot become runs: the message names every reason, with counts and first rows.
    """
    ask(mapping)
    if mapping.purpose is not Purpose.RUN:
        raise MisuseError(
            f"mapping {mapping.name} is for a workload, which has no results to import; name the "
            "file as trace in study.toml, with trace_mapping"
        )
    table = requests.read(source, mapping)
    done = fields.convert_all(mapping, table.rows)
    rows = derive.derive(mapping, done)
    problems = [*table.problems, *done.problems]
    refuse(source, mapping, problems)
    for place, part in enumerate(_parts(mapping, table.rows, rows)):
        yield _run(source, mapping, place, part, done, problems)


def ask(mapping: Mapping) -> None:
    """Refuse a mapping that leaves open what a run must say, and ask for each.

    Raises
    ------
    MisuseError
        Something is open.
    """
    missing = mapping.missing()
    if missing:
        asked = "; ".join(
            f"{question.key}: {question.text}"
            + (f" ({', '.join(question.choices)})" if question.choices else "")
            for question in missing
        )
        raise MisuseError(f"mapping {mapping.name} leaves {len(missing)} things open. {asked}")


def refuse(source: Source, mapping: Mapping, problems: Sequence[Problem]) -> None:
    """Raise what keeps a table from becoming runs, all of it in one message."""
    grave = [problem for problem in problems if problem.refuses]
    if grave:
        reasons = "; also ".join(problem.message for problem in grave)
        raise ImportRefusedError(
            grave[0].code, f"{source.name}, read through the mapping {mapping.name}: {reasons}"
        )


def digest(mapping: Mapping) -> str:
    """Return what identifies the content of a mapping, whatever file it stands in."""
    return sha256(toml_files.dumps(mapping).encode()).hexdigest()


Part = tuple[pl.DataFrame, pl.DataFrame]


def _parts(mapping: Mapping, raw: pl.DataFrame, rows: pl.DataFrame) -> Iterator[Part]:
    """Yield the source rows and record rows of each run, runs in order of appearance."""
    if not mapping.split_by:
        yield raw, rows
        return
    keys = [pl.col(column).cast(pl.String, strict=False) for column in mapping.split_by]
    together = rows.hstack(
        raw.select(key.alias(f"__split_{place}__") for place, key in enumerate(keys))
    ).with_row_index("__at__")
    names = [f"__split_{place}__" for place in range(len(keys))]
    for part in together.partition_by(names, maintain_order=True):
        yield raw[part["__at__"]], part.drop(*names, "__at__")


def _run(
    source: Source,
    mapping: Mapping,
    place: int,
    part: Part,
    done: fields.Converted,
    problems: Sequence[Problem],
) -> Run:
    raw, rows = part
    facts = run_facts.read(source, mapping, raw)
    noticed = [_of_part(mapping, problem) for problem in problems]
    rows = _identified(source, mapping, facts, rows, noticed)
    rows, zero_us = from_zero(rows)
    rows, basis = _offered(source, facts, rows, noticed)
    info = _described(source, mapping, place, facts, rows)
    info = replace(
        info,
        n_offered_basis=basis,
        started_at=_started_at(mapping, done, zero_us, noticed),
        findings=tuple(_findings(noticed)),
    )
    names = [name for name in rows.columns if name in REQUESTS.names]
    columns: dict[str, Any] = {name: rows[name] for name in names}
    return Run(info, requests_table(columns))


def _of_part(mapping: Mapping, problem: Problem) -> Problem:
    """Say that a problem was counted over the table, where the table is several runs."""
    if not mapping.split_by:
        return problem
    said = f"{problem.message}; counted over the whole table, of which this run is a part"
    return replace(problem, message=said)


def _findings(problems: Sequence[Problem]) -> list[Finding]:
    return [problem.finding() for problem in problems if not problem.refuses]


def _identified(
    source: Source,
    mapping: Mapping,
    facts: dict[str, Any],
    rows: pl.DataFrame,
    noticed: list[Problem],
) -> pl.DataFrame:
    """Give every row of a run its index; requests that appear twice are refused, or counted."""
    by_index = facts["index_basis"] in (IndexBasis.PLAN, IndexBasis.SOURCE_ID)
    if by_index and "request_index" not in rows.columns:
        raise MisuseError(
            f"mapping {mapping.name}: index_basis = {facts['index_basis'].value!r} needs "
            "fields.request_index, a column of whole numbers that is the same in every run of the "
            "workload; else say index_basis = 'order' or 'none'"
        )
    key = "request_index" if by_index else "request_id"
    rows = _once(source, mapping, rows, key, noticed, fatal=by_index)
    if by_index:
        return rows
    index = pl.int_range(pl.len(), dtype=pl.Int32).over("phase")
    return rows.with_columns(request_index=index)


def _once(
    source: Source,
    mapping: Mapping,
    rows: pl.DataFrame,
    key: str,
    noticed: list[Problem],
    *,
    fatal: bool,
) -> pl.DataFrame:
    if key not in rows.columns:
        return rows
    if fatal and rows[key].null_count():
        n, where = rows[key].null_count(), first(rows.filter(pl.col(key).is_null())[ROW])
        raise ImportRefusedError(
            "inconsistent",
            f"{source.name}: {n} rows have no {key} ({named(where, n)}), on which index_basis "
            "rests; say index_basis = 'order' or 'none'",
        )
    again = ~rows.select(
        pl.struct("phase", key).is_first_distinct() | pl.col(key).is_null()
    ).to_series()
    n, where = int(again.sum()), first(rows.filter(again)[ROW])
    if not n:
        return rows
    said = f"{n} rows repeat the {key} of an earlier one ({named(where, n)})"
    if "duplicates" in mapping.tolerate:
        noticed.append(Problem("duplicate_rows", f"{said}; they were left out", n, key, where))
        return rows.filter(~again)
    raise ImportRefusedError(
        "inconsistent",
        f"{source.name}: {said}; if the table holds several runs, say split_by; if rows were "
        'written twice, add tolerate = ["duplicates"] to leave the later ones out',
    )


def from_zero(rows: pl.DataFrame) -> tuple[pl.DataFrame, int | None]:
    """Count instants from the first intended arrival, or from the first send."""
    measured = rows.filter(pl.col("phase") == Phase.MEASURED.value)
    for among in (measured, rows):
        for target in ("scheduled_us", "sent_us"):
            if target in rows.columns and (zero := among[target].min()) is not None:
                known = [name for name in _INSTANTS if name in rows.columns]
                return rows.with_columns(pl.col(known) - zero), int(zero)  # type: ignore[arg-type]
    # An end alone says nothing of when the run began.
    return rows.drop("ended_us", strict=False), None


def _offered(
    source: Source, facts: dict[str, Any], rows: pl.DataFrame, noticed: list[Problem]
) -> tuple[pl.DataFrame, OfferedBasis]:
    """Add a row for every request that was offered and is not in the table."""
    said = facts["offered"]
    n_rows = rows.filter(pl.col("phase") == Phase.MEASURED.value).height
    if said == "rows":
        return rows, OfferedBasis.ROWS
    if said == "some":
        message = (
            f"the table has {n_rows} of the requests that were offered, and how many there were is "
            "not recorded: shares are of the rows, and look better than the service was"
        )
        noticed.append(Problem("offered_unknown", message, n_rows, severity=Severity.ERROR))
        return rows, OfferedBasis.ROWS
    declared = as_whole(said)
    if declared is None or declared < 1:
        raise ImportRefusedError(
            "inconsistent",
            f"{source.name}: offered = {said!r}; expected rows, some, or a number of requests",
        )
    finished = as_whole(facts.get("finished"))
    if finished is not None and n_rows < finished <= declared:
        noticed.append(_sampled(n_rows, finished))
        return rows, OfferedBasis.ROWS
    if declared <= n_rows:
        if declared < n_rows:
            message = (
                f"{n_rows} rows, and {declared} are said to have been offered; all are counted"
            )
            noticed.append(Problem("rows_surplus", message, n_rows - declared))
        return rows, OfferedBasis.ROWS if declared < n_rows else OfferedBasis.DECLARED
    n_missing = declared - n_rows
    message = f"{n_missing} of {declared} requests offered have no row: unaccounted for"
    noticed.append(Problem("rows_missing", message, n_missing, severity=Severity.ERROR))
    return pl.concat([rows, _unaccounted(rows, n_missing)], how="diagonal"), OfferedBasis.DECLARED


def _sampled(n_rows: int, finished: int) -> Problem:
    """Say that the tool kept only some of the requests that it finished: nothing was lost."""
    message = (
        f"the file has {n_rows} of the {finished} requests that the tool finished: a sample of "
        "them, or its own steady window, and not a run with losses. Every share is of these rows; "
        "run the benchmark again so that it keeps all requests"
    )
    return Problem("rows_sampled", message, finished - n_rows, severity=Severity.WARNING)


def _unaccounted(rows: pl.DataFrame, n: int) -> pl.DataFrame:
    used = set(rows.filter(pl.col("phase") == Phase.MEASURED.value)["request_index"].to_list())
    free = (index for index in range(n + len(used)) if index not in used)
    index = pl.Series([next(free) for _ in range(n)], dtype=pl.Int32)
    return pl.DataFrame({"request_index": index}).with_columns(
        phase=pl.lit(Phase.MEASURED.value),
        outcome=pl.lit(Outcome.UNACCOUNTED.value),
        outcome_basis=pl.lit(OutcomeBasis.INFERRED.value),
    )


def _described(
    source: Source, mapping: Mapping, place: int, facts: dict[str, Any], rows: pl.DataFrame
) -> RunInfo:
    n_warmup = rows.filter(pl.col("phase") == Phase.WARMUP.value).height
    load = {key.removeprefix("load."): facts[key] for key in facts if key.startswith("load.")}
    manifest = {
        key.removeprefix("manifest."): facts[key] for key in facts if key.startswith("manifest.")
    }
    kind: LoadKind = load.pop("kind")
    plain = ("harness_version", "policy", "label", "replicate", "time_limit_s")
    return RunInfo(
        run_id=source.run_id(place),
        study=facts.get("study", ""),
        harness=facts.get("harness", mapping.name),
        importer=NAME,
        importer_version=VERSION,
        source_name=source.name,
        source_sha256=source.sha256,
        boundary=facts["boundary"],
        clock=facts["clock"],
        load=Load(kind, **load),
        n_offered=rows.height - n_warmup,
        n_offered_basis=OfferedBasis.ROWS,
        n_warmup=n_warmup,
        index_basis=facts["index_basis"],
        token_basis=facts["token_basis"],
        completion_times=mapping.field("latency_us") is not None,
        manifest=Manifest(**manifest),
        mapping=mapping.name,
        mapping_sha256=digest(mapping),
        **{key: facts[key] for key in plain if key in facts},
    )


def _started_at(
    mapping: Mapping, done: fields.Converted, zero_us: int | None, noticed: list[Problem]
) -> str | None:
    """Return the run's zero in UTC, where the source tells it without a doubt."""
    each = mapping.field("scheduled_us") or mapping.field("sent_us")
    is_unix = each is not None and mapping.epoch_of(each) is Epoch.UNIX
    if zero_us is None or each is None or not is_unix or mapping.constant("clock") != Clock.WALL:
        return None
    zoned = done.zoned.get(each.target)
    if zoned is not None and not zoned.all():
        message = (
            f"the times of {', '.join(each.source)} do not say their zone: when the run began is "
            "not recorded"
        )
        noticed.append(Problem("no_time_zone", message, severity=Severity.INFO))
        return None
    return (_EPOCH_START + timedelta(microseconds=zero_us)).isoformat()
