"""The rules of the record: what a run file may never say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from headway.errors import RecordError
from headway.model import Outcome, OutcomeBasis, Phase, RunInfo, Segment
from headway.record.schema import LIST_COLUMNS, REQUESTS, STATE, Run, batches

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
    "rows_sha256": "the rows give the digest that `headway.run` states, where it states one",
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
    "gaps_in_answer": "the gaps of a stream fit into its answer: together into latency_us - "
    "ttft_us but for rounding, and the longest into latency_us",
    "chunk_tokens": "chunk_tokens has one entry per chunk",
    "state": "a sample of state has at_us, and no duration or count of it is negative",
}

# What of a row shows how it breaks a rule.
_TELLING = {
    "run_id": ["run_id"],
    "phase": ["phase"],
    "segment": ["segment"],
    "outcome": ["outcome"],
    "outcome_basis": ["outcome_basis"],
    "not_negative": _NOT_NEGATIVE,
    "completion_time": ["outcome", "latency_us"],
    "latency_of_success": ["outcome", "latency_us", "source_success"],
    "first_before_last": ["ttft_us", "latency_us"],
    "not_sent": ["sent_us", "ttft_us", "latency_us", "n_chunks"],
    "gaps": ["n_chunks", "max_gap_us", "n_gaps", "smallest_gap", "largest_gap"],
    "gaps_in_answer": ["ttft_us", "latency_us", "max_gap_us", "sum_of_gaps"],
    "chunk_tokens": ["n_chunks", "n_chunk_tokens"],
}
_SAMPLED = (
    "duration_us running waiting paused kv_used kv_reserved kv_total kv_fraction prefill_tokens "
    "decode_tokens batch_size"
).split()
_SHOWN = 3
_LONGEST_TEXT = 40
_ROUNDING_US = 1000


def problems(run: Run) -> list[RecordError]:
    """Return every broken rule of a run, in the order of `RULES`; empty when it is sound.

    The rows are read batch by batch, and four bytes of each are kept.
    """
    wrong = wrong_columns(run.requests.schema, REQUESTS)
    if run.state is not None:
        wrong += wrong_columns(run.state.schema, STATE)
    if wrong:
        return wrong
    checker = Checker(run.info)
    for batch in batches(run.requests):
        checker.add(batch)
    samples = () if run.state is None else batches(run.state)
    return in_order([*checker.problems(), *sample_problems(samples, run.info.run_id)])


def in_order(found: Iterable[RecordError]) -> list[RecordError]:
    """Return broken rules in the order of `RULES`."""
    order = list(RULES)
    return sorted(found, key=lambda error: order.index(error.rule))


def sample_problems(samples: Iterable[pa.RecordBatch], run_id: str) -> list[RecordError]:
    """Return the rules that samples of the server's state break."""
    checks = {
        "run_id": pl.col("run_id").fill_null("") != run_id,
        "state": pl.col("at_us").is_null()
        | pl.any_horizontal(pl.col(_SAMPLED) < 0).fill_null(value=False),
    }
    broken = dict.fromkeys(checks, 0)
    for batch in samples:
        rows = pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch])))
        for rule, n in rows.select(**checks).sum().row(0, named=True).items():
            broken[rule] += n
    return [
        RecordError(rule, f"{n} samples of state: expected that {RULES[rule]}")
        for rule, n in broken.items()
        if n
    ]


def wrong_columns(found: pa.Schema, expected: pa.Schema) -> list[RecordError]:
    """Return how a table's columns differ from those of the record."""
    if set(found.names) != set(expected.names) or len(found) != len(expected):
        missing = sorted(set(expected.names) - set(found.names))
        surplus = sorted(set(found.names) - set(expected.names))
        twice = sorted({name for name in found.names if found.names.count(name) > 1})
        message = (
            f"columns differ from the record: missing {', '.join(missing) or 'none'}; "
            f"surplus {', '.join(surplus) or 'none'}"
        )
        return [
            RecordError("columns", f"{message}; twice {', '.join(twice)}" if twice else message)
        ]
    wrong = [
        f"column {known.name} is {found.field(known.name).type}; expected {known.type}"
        for known in expected
        if found.field(known.name).type != known.type
    ]
    if not wrong and found.names != expected.names:
        place = next(at for at, name in enumerate(found.names) if name != expected.names[at])
        wrong.append(
            f"column {place + 1} is {found.names[place]}; expected {expected.names[place]}: "
            "the order of the record"
        )
    return [RecordError("columns", message) for message in wrong]


@dataclass(slots=True)
class _Broken:
    """The rows that break one rule: how many, the first few, and what the first one says."""

    n: int = 0
    first: list[object] = field(default_factory=list)
    telling: str = ""

    def add(self, rows: pl.DataFrame, columns: list[str]) -> None:
        if not self.n:
            self.telling = _told(rows.row(0, named=True), columns)
        self.first += rows["request_index"].head(_SHOWN - len(self.first)).to_list()
        self.n += rows.height

    def error(self, rule: str) -> RecordError:
        message = f"{_requests(self.first, self.n)}: expected that {RULES[rule]}"
        return RecordError(rule, f"{message}; request {self.first[0]} has {self.telling}")


class Checker:
    """Checks the rows of a run batch by batch.

    Parameters
    ----------
    info
        The description that the rows must agree with; without one, what rests on it is not checked.
    """

    def __init__(self, info: RunInfo | None) -> None:
        self._info = info
        self._checks = _checks(info)
        self._broken: dict[str, _Broken] = {}
        self._unknown_elements: set[str] = set()
        self._indices: dict[Phase, list[npt.NDArray[np.int32]]] = {phase: [] for phase in Phase}
        self._n_rows = dict.fromkeys(Phase, 0)
        self._n_unnumbered = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Check a batch whose columns are those of the record."""
        # Their type forbids it, and Arrow lets it through.
        self._unknown_elements.update(
            name for name in LIST_COLUMNS if batch.column(name).flatten().null_count
        )
        rows = _frame(batch)
        breaks = rows.select(**self._checks)
        for rule in self._checks:
            if breaks[rule].any():
                self._note(rule, rows.filter(breaks[rule]))
        self._n_unnumbered += rows["request_index"].null_count()
        for phase in Phase:
            mine = rows["request_index"].filter(rows["phase"].eq_missing(phase.value))
            self._n_rows[phase] += len(mine)
            self._indices[phase].append(mine.drop_nulls().to_numpy())

    def row_problems(self) -> list[RecordError]:
        """Return the rules that single rows have broken so far, in the order of `RULES`."""
        unknown = [
            RecordError(
                "columns",
                f"column {name} has an unknown element; expected {REQUESTS.field(name).type}",
            )
            for name in sorted(self._unknown_elements)
        ]
        return unknown + [self._broken[rule].error(rule) for rule in RULES if rule in self._broken]

    def problems(self) -> list[RecordError]:
        """Return every broken rule, in the order of `RULES`, once all rows were added."""
        return in_order([*self.row_problems(), *self._counts(), *self._numbers()])

    def _note(self, rule: str, rows: pl.DataFrame) -> None:
        self._broken.setdefault(rule, _Broken()).add(rows, _TELLING[rule])

    def _counts(self) -> list[RecordError]:
        if self._info is None:
            return []
        declared = {Phase.MEASURED: self._info.n_offered, Phase.WARMUP: self._info.n_warmup}
        return [
            RecordError(
                "offered", f"{self._n_rows[phase]} {phase} rows; the description says {said}"
            )
            for phase, said in declared.items()
            if self._n_rows[phase] != said
        ]

    def _numbers(self) -> list[RecordError]:
        repeated = np.concatenate([_repeated(parts) for parts in self._indices.values()])
        expected = f"expected that {RULES['request_index']}"
        found = []
        if len(repeated):
            shown = _requests(repeated[:_SHOWN].tolist(), len(repeated))
            found.append(f"{shown}: {expected}; found more than once")
        if self._n_unnumbered:
            found.append(f"{self._n_unnumbered} rows without request_index: {expected}")
        return [RecordError("request_index", "; ".join(found))] if found else []


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    gaps = pl.col("chunk_gaps_us").list
    return pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch]))).with_columns(
        n_gaps=gaps.len().cast(pl.Int64),
        smallest_gap=gaps.min().cast(pl.Int64),
        largest_gap=gaps.max().cast(pl.Int64),
        sum_of_gaps=pl.col("chunk_gaps_us").cast(pl.List(pl.Int64)).list.sum(),
        n_chunk_tokens=pl.col("chunk_tokens").list.len().cast(pl.Int64),
    )


def _checks(info: RunInfo | None) -> Mapping[str, pl.Expr]:
    """Return the rules that one row alone can break, each as what is true where it is broken."""
    col = pl.col
    success = col("source_success").fill_null(value=False)
    completed = (col("outcome") == Outcome.COMPLETED).fill_null(value=False)
    responded = pl.any_horizontal(
        col(["sent_us", "ttft_us", "latency_us", "n_chunks"]).is_not_null()
    )
    n_chunks, largest = col("n_chunks").cast(pl.Int64), col("largest_gap")
    wrong_gaps = n_chunks.ne_missing(col("n_gaps") + 1) | col("max_gap_us").ne_missing(largest)
    checks = {
        "phase": ~col("phase").fill_null("").is_in(list(Phase)),
        "segment": ~col("segment").fill_null(Segment.STEADY).is_in(list(Segment)),
        "outcome": ~col("outcome").fill_null("").is_in(list(Outcome)),
        "outcome_basis": ~col("outcome_basis").fill_null("").is_in(list(OutcomeBasis)),
        "not_negative": pl.any_horizontal(col(list(_NOT_NEGATIVE)) < 0),
        "latency_of_success": col("latency_us").is_not_null() & ~completed & ~success,
        "first_before_last": col("ttft_us") > col("latency_us"),
        "not_sent": (col("outcome") == Outcome.NOT_SENT) & responded,
        "gaps": col("n_gaps").is_not_null() & (wrong_gaps | (col("smallest_gap") < 0))
        | (n_chunks < 1).fill_null(value=False),
        "gaps_in_answer": _outlasts_answer(),
        "chunk_tokens": col("n_chunk_tokens") != n_chunks,
    }
    if info is not None:
        checks["run_id"] = col("run_id").fill_null("") != info.run_id
        if info.completion_times:
            checks["completion_time"] = completed & col("latency_us").is_null()
    return {rule: breaks.fill_null(value=False) for rule, breaks in checks.items()}


def _outlasts_answer() -> pl.Expr:
    """Return whether the gaps of a stream are longer than its answer, beyond what rounding adds."""
    col = pl.col
    total = col("sum_of_gaps")
    # Half a unit for each gap: tools write µs, or hundredths, tenths or whole milliseconds.
    rounded_us = (
        pl.when(total % 1000 == 0).then(1000).when(total % 100 == 0).then(100)
        .when(total % 10 == 0).then(10).otherwise(1)
    )  # fmt: skip
    allowed_us = _ROUNDING_US + col("n_gaps") * rounded_us / 2
    answer_us = col("latency_us") - col("ttft_us").fill_null(0)
    longest_us = col("latency_us") + _ROUNDING_US
    sum_outlasts = (total > answer_us + allowed_us).fill_null(value=False)
    return sum_outlasts | (col("max_gap_us") > longest_us).fill_null(value=False)


def _repeated(parts: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
    """Return, each once and sorted, the numbers that occur more than once."""
    numbers = np.concatenate([np.empty(0, np.int32), *parts])
    numbers.sort()
    return np.unique(numbers[1:][numbers[1:] == numbers[:-1]])


def _requests(first: list[object], n: int) -> str:
    shown = ", ".join(str(index) for index in first)
    return f"request {shown}{f' and {n - _SHOWN} more' if n > _SHOWN else ''}"


def _told(row: Mapping[str, object], columns: list[str]) -> str:
    """Return what a row says in these columns, those below 0 where only they are of interest."""
    if columns is _NOT_NEGATIVE:
        columns = [name for name in columns if _is_negative(row[name])]
    return ", ".join(f"{name} {_shown(row[name])}" for name in columns)


def _is_negative(value: object) -> bool:
    return isinstance(value, int) and value < 0


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}…")
    return "unknown" if value is None else str(value)
