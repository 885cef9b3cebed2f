"""What follows from the fields a mapping gives: durations from instants, gaps, and the checks."""

from collections.abc import Mapping as Dict

import polars as pl

from headway.importers.mapped.fields import Converted
from headway.importers.mapped.mapping import DURATIONS, FROM_SEND, Epoch, Kind, Mapping
from headway.importers.mapped.problems import Problem, first, named
from headway.importers.mapped.requests import ROW
from headway.model import Outcome, OutcomeBasis, Phase, Severity

_EARLIEST_UNIX_US = 946_684_800_000_000  # 2000
_LATEST_UNIX_US = 4_102_444_800_000_000  # 2100
_MOST_GAP_US = 2**31 - 1
_ZERO_SHARE = 0.5


def derive(mapping: Mapping, done: Converted) -> pl.DataFrame:
    """Return the rows in columns of the record, instants still absolute, with `ROW`.

    What is wrong with them is added to the problems of `done`.
    """
    columns = dict(done.columns)
    _instants(mapping, columns)
    _streams(mapping, done, columns)
    outcome = columns.get("outcome", pl.Series([None] * done.rows.height, dtype=pl.String))
    columns["outcome"] = outcome.cast(pl.String)
    if done.basis is None:
        done.basis = pl.Series([OutcomeBasis.INFERRED.value]).new_from_index(0, len(outcome))
    columns["outcome_basis"] = done.basis
    phase = columns.get("phase", pl.Series([None] * len(outcome), dtype=pl.String))
    columns["phase"] = phase.cast(pl.String).fill_null(Phase.MEASURED.value)
    rows = pl.DataFrame({ROW: done.rows[ROW], **columns})
    return _sound(mapping, done, rows)


def _instants(mapping: Mapping, columns: dict[str, pl.Series]) -> None:
    """Turn instants after the send into durations from it, and give the end where it follows."""
    sent = columns.get("sent_us")
    for target in FROM_SEND:
        each = mapping.field(target)
        if each is not None and each.says is Kind.INSTANT:
            columns[target] = _minus(columns[target], sent)
    ended = mapping.field("ended_us")
    if ended is not None and ended.says is Kind.DURATION and sent is not None:
        columns["ended_us"] = columns["ended_us"] + sent
    if "latency_us" in columns and sent is not None:
        follows = sent + columns["latency_us"]
        known = columns.get("ended_us")
        columns["ended_us"] = follows if known is None else _first_known(known, follows)


def _minus(instants: pl.Series, sent: pl.Series | None) -> pl.Series:
    if sent is None:
        return pl.Series([None] * len(instants), dtype=pl.Int64)
    return instants - sent


def _first_known(known: pl.Series, other: pl.Series) -> pl.Series:
    return pl.select(pl.coalesce(known, other)).to_series()


def _streams(mapping: Mapping, done: Converted, columns: dict[str, pl.Series]) -> None:
    """Turn the times of a stream into gaps, and into the first token where nothing else says it."""
    each = mapping.field("chunk_gaps_us")
    if each is None:
        return
    times = columns["chunk_gaps_us"]
    if times.dtype == pl.Null:
        del columns["chunk_gaps_us"]
        return
    if each.says is not Kind.GAPS:
        start = times.list.first()
        from_send = start if each.says is Kind.OFFSETS else _minus(start, columns.get("sent_us"))
        known = columns.get("ttft_us")
        columns["ttft_us"] = from_send if known is None else _first_known(known, from_send)
        is_empty = times.list.len() == 0
        gaps = times.list.eval(pl.element().diff()).list.slice(1)
    else:
        # An empty list is one chunk where a first token is known, and else no stream at all.
        ttft = columns.get("ttft_us", pl.Series([None] * len(times), dtype=pl.Int64))
        is_empty = (times.list.len() == 0) & ttft.is_null()
        gaps = times
    columns["chunk_gaps_us"] = _usable(done, gaps, is_empty)
    _match_tokens(done, columns)


def _usable(done: Converted, gaps: pl.Series, is_empty: pl.Series) -> pl.Series:
    beyond = (gaps.list.max() > _MOST_GAP_US).fill_null(value=False)
    if beyond.any():
        rows, n = first(done.rows.filter(beyond)[ROW]), int(beyond.sum())
        message = (
            f"chunk_gaps_us: {n} streams have a gap of over 35 minutes ({named(rows, n)}); they "
            "are unknown"
        )
        done.problems.append(Problem("values_unreadable", message, n, "chunk_gaps_us", rows))
    drop = beyond | is_empty.fill_null(value=True)
    return pl.select(pl.when(~drop).then(gaps)).to_series()


def _match_tokens(done: Converted, columns: dict[str, pl.Series]) -> None:
    tokens = columns.get("chunk_tokens")
    if tokens is None or tokens.dtype == pl.Null:
        return
    n_chunks = columns["chunk_gaps_us"].list.len().cast(pl.Int64) + 1
    differs = (tokens.list.len().cast(pl.Int64) != n_chunks).fill_null(value=False)
    if differs.any():
        rows, n = first(done.rows.filter(differs)[ROW]), int(differs.sum())
        message = (
            f"chunk_tokens: {n} streams have another number of token counts than of chunks "
            f"({named(rows, n)}); the counts are unknown"
        )
        done.problems.append(Problem("values_unreadable", message, n, "chunk_tokens", rows))
        columns["chunk_tokens"] = pl.select(pl.when(~differs).then(tokens)).to_series()


def _sound(mapping: Mapping, done: Converted, rows: pl.DataFrame) -> pl.DataFrame:
    rows = _not_negative(mapping, done, rows)
    rows = _first_before_end(mapping, done, rows)
    rows = _latency_of_success(done, rows)
    _clock_is_wall(mapping, done, rows)
    _not_mostly_zero(done, rows)
    return rows


def _cleared(
    mapping: Mapping, done: Converted, rows: pl.DataFrame, wrong: pl.Series, said: Dict[str, str]
) -> pl.DataFrame:
    """Refuse rows with a value that cannot be, or make it unknown where the mapping says so."""
    n = int(wrong.sum())
    if not n:
        return rows
    target, tolerate = said["target"], said["tolerate"]
    tolerated = tolerate in mapping.tolerate
    where = first(rows.filter(wrong)[ROW])
    message = f"{said['message'].format(n=n)} ({named(where, n)}); "
    message += (
        f"{target} is unknown there"
        if tolerated
        else f'correct the columns or the unit, or add tolerate = ["{tolerate}"] to the mapping '
        f"to make {target} unknown there"
    )
    code = said["code"]
    done.problems.append(Problem(code, message, n, target, where, refuses=not tolerated))
    return rows.with_columns(pl.when(~wrong).then(pl.col(target)).alias(target))


def _not_negative(mapping: Mapping, done: Converted, rows: pl.DataFrame) -> pl.DataFrame:
    for target in (each for each in (*DURATIONS, *_COUNTED) if each in rows.columns):
        wrong = (rows[target].cast(pl.Int64) < 0).fill_null(value=False)
        message = f"{target}: {{n}} values are negative"
        said = {"target": target, "tolerate": "negative", "message": message}
        rows = _cleared(mapping, done, rows, wrong, said | {"code": "negative_values"})
    if "chunk_gaps_us" in rows.columns:
        wrong = (rows["chunk_gaps_us"].list.min() < 0).fill_null(value=False)
        message = "chunk_gaps_us: {n} streams go back in time"
        said = {"target": "chunk_gaps_us", "tolerate": "negative", "message": message}
        rows = _cleared(mapping, done, rows, wrong, said | {"code": "negative_values"})
    return rows


_COUNTED = (
    "prompt_tokens cached_tokens requested_output_tokens output_tokens reasoning_tokens "
    "preemptions recomputed_tokens n_chunks request_index"
).split()


def _first_before_end(mapping: Mapping, done: Converted, rows: pl.DataFrame) -> pl.DataFrame:
    if not {"ttft_us", "latency_us"} <= set(rows.columns):
        return rows
    wrong = (rows["ttft_us"] > rows["latency_us"]).fill_null(value=False)
    said = {
        "target": "ttft_us",
        "tolerate": "first_after_end",
        "code": "first_after_end",
        "message": "ttft_us: {n} first tokens come after the end of the answer",
    }
    return _cleared(mapping, done, rows, wrong, said)


def _latency_of_success(done: Converted, rows: pl.DataFrame) -> pl.DataFrame:
    """Keep a completion latency only where an answer completed; the end itself stays known."""
    if "latency_us" not in rows.columns:
        return rows
    completed = pl.col("outcome") == Outcome.COMPLETED.value
    success = completed
    if "source_success" in rows.columns:
        success = completed | pl.col("source_success").fill_null(value=False)
    lacking = rows.filter(completed & pl.col("latency_us").is_null())
    if lacking.height:
        n, where = lacking.height, first(lacking[ROW])
        message = (
            f"latency_us: {n} completed requests have none ({named(where, n)}); map them to "
            "another outcome, or map what gives the latency: a further column in from, or the end"
        )
        done.problems.append(
            Problem("latency_missing", message, n, "latency_us", where, refuses=True)
        )
    return rows.with_columns(pl.when(success).then(pl.col("latency_us")).alias("latency_us"))


def _clock_is_wall(mapping: Mapping, done: Converted, rows: pl.DataFrame) -> None:
    """Refuse instants that are said to be Unix times and cannot be."""
    for target in ("scheduled_us", "sent_us"):
        each = mapping.field(target)
        if each is None or mapping.epoch_of(each) is not Epoch.UNIX or target not in rows.columns:
            continue
        wrong = ~rows[target].is_between(_EARLIEST_UNIX_US, _LATEST_UNIX_US).fill_null(value=True)
        n, where = int(wrong.sum()), first(rows.filter(wrong)[ROW])
        if n:
            message = (
                f"{target}: {n} instants are not between the years 2000 and 2100 "
                f"({named(where, n)}); the unit is another, or clock is not wall: say "
                'clock = "monotonic" or "relative"'
            )
            done.problems.append(Problem("not_unix", message, n, target, where, refuses=True))


def _not_mostly_zero(done: Converted, rows: pl.DataFrame) -> None:
    for target in ("ttft_us", "latency_us"):
        if target not in rows.columns or not (known := rows[target].drop_nulls()).len():
            continue
        n = int((known == 0).sum())
        if n / known.len() >= _ZERO_SHARE:
            message = (
                f"{target}: {n} of {known.len()} values are exactly 0; if 0 means that it never "
                "happened, say unknown = [0] in the mapping"
            )
            done.problems.append(
                Problem("mostly_zero", message, n, target, severity=Severity.ERROR)
            )
