"""The rules of the record: what a run file may never say."""

import polars as pl
import pyarrow as pa

from headway.errors import RecordError
from headway.model import Outcome, OutcomeBasis, Phase, RunInfo, Segment
from headway.record.schema import LIST_COLUMNS, REQUESTS, Run

SCHEMA_VERSION = "1"

_NOT_NEGATIVE = (
    "ttft_us latency_us first_visible_us prompt_tokens cached_tokens requested_output_tokens "
    "output_tokens reasoning_tokens queue_us prefill_us decode_us preemptions preempted_us "
    "recomputed_tokens n_chunks max_gap_us request_index"
).split()

RULES = {
    "readable": "the file is Parquet and can be read to its end",
    "schema_version": f"`headway.schema` is {SCHEMA_VERSION}",
    "description": "`headway.run` is JSON that describes a run",
    "columns": "the columns are those of the record, in name and type",
    "run_id": "every row names the run of the description",
    "request_index": "request_index is present and different in every row of a phase",
    "phase": "phase is warmup or measured",
    "segment": "segment is steady, burst, recovery, ramp, or unknown",
    "outcome": "every row has one of the nine outcomes",
    "outcome_basis": "every outcome says whether the source stated it",
    "offered": "rows = n_offered + n_warmup, counted by phase",
    "not_negative": "durations and counts are not negative",
    "completion_time": "a completed request has latency_us where the source has completion times",
    "latency_of_success": "latency_us is known only of completed requests and the tool's successes",
    "first_before_last": "ttft_us is at most latency_us",
    "not_sent": "a request that was not sent has no send time and no response",
    "gaps": "n_chunks and max_gap_us agree with chunk_gaps_us, and no gap is negative",
    "chunk_tokens": "chunk_tokens has one entry per chunk",
}


def problems(run: Run) -> list[RecordError]:
    """Return every broken rule of a run, in the order of `RULES`; empty when it is sound."""
    wrong = _wrong_columns(run.requests.schema)
    if wrong:
        return [RecordError("columns", wrong)]
    scalars = pl.DataFrame(pl.from_arrow(run.requests.drop_columns(list(LIST_COLUMNS))))
    broken = [*_broken_rows(run.info, scalars), *_broken_counts(run.info, scalars)]
    lists = _broken_lists(run.requests)
    order = list(RULES)
    return sorted([*broken, *lists], key=lambda error: order.index(error.rule))


def _wrong_columns(schema: pa.Schema) -> str | None:
    if schema.names != REQUESTS.names:
        missing = sorted(set(REQUESTS.names) - set(schema.names))
        surplus = sorted(set(schema.names) - set(REQUESTS.names))
        return (
            f"columns differ from the record: missing {', '.join(missing) or 'none'}; "
            f"surplus {', '.join(surplus) or 'none'}"
        )
    for found, expected in zip(schema, REQUESTS, strict=True):
        if found.type != expected.type:
            return f"column {found.name} is {found.type}; expected {expected.type}"
    return None


def _broken_rows(info: RunInfo, rows: pl.DataFrame) -> list[RecordError]:
    """Check the rules that one row alone can break."""
    success = pl.col("source_success").fill_null(value=False)
    completed = pl.col("outcome") == Outcome.COMPLETED
    responded = pl.any_horizontal(
        pl.col(["sent_us", "ttft_us", "latency_us", "n_chunks"]).is_not_null()
    )
    negative = pl.any_horizontal(pl.col(list(_NOT_NEGATIVE)) < 0).fill_null(value=False)
    checks = {
        "run_id": pl.col("run_id").fill_null("") != info.run_id,
        "phase": ~pl.col("phase").fill_null("").is_in(list(Phase)),
        "segment": ~pl.col("segment").fill_null(Segment.STEADY).is_in(list(Segment)),
        "outcome": ~pl.col("outcome").fill_null("").is_in(list(Outcome)),
        "outcome_basis": ~pl.col("outcome_basis").fill_null("").is_in(list(OutcomeBasis)),
        "not_negative": negative,
        "completion_time": completed & pl.col("latency_us").is_null() & info.completion_times,
        "latency_of_success": pl.col("latency_us").is_not_null() & ~completed & ~success,
        "first_before_last": (pl.col("ttft_us") > pl.col("latency_us")).fill_null(value=False),
        "not_sent": (pl.col("outcome") == Outcome.NOT_SENT) & responded,
    }
    broken = []
    for rule, breaks in checks.items():
        indices = rows.filter(breaks)["request_index"]
        if indices.len():
            broken.append(_row_error(rule, indices))
    return broken


def _row_error(rule: str, indices: pl.Series) -> RecordError:
    shown = ", ".join(str(index) for index in indices.head(3))
    more = f" and {indices.len() - 3} more" if indices.len() > 3 else ""
    return RecordError(rule, f"request {shown}{more}: expected that {RULES[rule]}")


def _broken_counts(info: RunInfo, rows: pl.DataFrame) -> list[RecordError]:
    broken = []
    counted = {
        Phase.MEASURED: info.n_offered,
        Phase.WARMUP: info.n_warmup,
    }
    for phase, declared in counted.items():
        found = rows.filter(pl.col("phase") == phase).height
        if found != declared:
            broken.append(
                RecordError("offered", f"{found} {phase} rows; the description says {declared}")
            )
    keys = rows.select("phase", "request_index")
    if keys["request_index"].null_count() or keys.is_duplicated().any():
        broken.append(RecordError("request_index", f"expected that {RULES['request_index']}"))
    return broken


def _broken_lists(requests: pa.Table) -> list[RecordError]:
    rows = pl.DataFrame(
        pl.from_arrow(requests.select(["request_index", "n_chunks", "max_gap_us", "chunk_gaps_us"]))
    ).with_columns(n_tokens=pl.Series(requests["chunk_tokens"]).list.len())
    gaps = pl.col("chunk_gaps_us")
    wrong_count = pl.col("n_chunks").cast(pl.Int64).ne_missing(gaps.list.len().cast(pl.Int64) + 1)
    wrong_max = pl.col("max_gap_us").ne_missing(gaps.list.max().cast(pl.Int64))
    checks = {
        "gaps": gaps.is_not_null() & (wrong_count | wrong_max | (gaps.list.min() < 0)),
        "chunk_tokens": pl.col("n_tokens").cast(pl.Int64) != pl.col("n_chunks").cast(pl.Int64),
    }
    broken = []
    for rule, breaks in checks.items():
        indices = rows.filter(breaks.fill_null(value=False))["request_index"]
        if indices.len():
            broken.append(_row_error(rule, indices))
    return broken
