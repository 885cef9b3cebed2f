"""The requests of one measured phase of AIPerf, from the lines to the rows of the record."""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.errors import ImportRefusedError
from headway.importers import aiperf_report, aiperf_rows, closed_loop
from headway.importers.aiperf_files import Beside, Count, Planned
from headway.importers.aiperf_raw import Stream
from headway.importers.aiperf_rows import Entry
from headway.importers.chunks import ChunkCounts
from headway.importers.plans import MAX_WITHOUT_ROW, is_same_pace
from headway.importers.source import as_whole, columns, dig
from headway.importers.spool import Spool
from headway.model import (
    IndexBasis,
    Load,
    OfferedBasis,
    Outcome,
    OutcomeBasis,
    Phase,
    Segment,
)
from headway.record import REQUESTS, requests_table

_UNKNOWN = -1

Ints = npt.NDArray[np.signedinteger[Any]]


class Measured:
    """Gathers the requests of one phase and puts them in order when all are known.

    Parameters
    ----------
    name
        How messages call the file.
    beside
        What the files beside it say.
    index
        The phase's place among the measured ones.
    by_server
        Whether to take the server's token counts where the tool has its own.
    """

    def __init__(self, name: str, beside: Beside, index: int, *, by_server: bool) -> None:
        self.index = index
        self.phase_name = "profiling"
        self.n_warmup = self.n_shifted = self.n_past_deadline = self.n_short = 0
        self.n_partial = self.n_source_success = self.n_broken_off = 0
        self.n_counts = self.n_disagree = self.n_tool_tokens = self.n_server_tokens = 0
        self.n_cut_off = self.n_unaccounted = self.n_not_sent = 0
        self.chunks = ChunkCounts()
        self.index_basis = IndexBasis.SOURCE_ID
        self.zero_us = self.end_us = 0
        self.is_load_inferred = False
        self._name, self._beside, self._by_server = name, beside, by_server
        self._deadline_s = aiperf_report.deadline_s(beside)
        self._forced = aiperf_report.forces_length(beside)
        self._spool = Spool()
        # A few bytes a request, in the order of the lines.
        self._numbers, self._planned = array("i"), array("i")
        self._credits_us = array("q")
        self._is_warmup, self._without_usage = array("b"), array("b")
        self._is_short = array("b")
        self._ends_us = np.array([], np.int64)
        self._plan = sorted(beside.plan.values(), key=lambda request: request.index)

    @property
    def n_rows(self) -> int:
        """How many measured requests have a line."""
        return len(self._is_warmup) - self.n_warmup

    def add(self, row: Entry, stream: Stream | None) -> None:
        """Take a line."""
        partial = self._beside.partials.get(row.request_id or "")
        became = aiperf_rows.outcome(row, stream)
        known = aiperf_rows.times(row, stream, partial, self._deadline_s)
        counts = aiperf_rows.tokens(row, stream, by_server=self._by_server)
        self._spool.add(
            {
                "request_id": row.request_id,
                "session_id": row.conversation_id,
                "turn_index": row.turn_index,
                "phase": row.phase,
                "source_success": row.is_success,
                "request_index": 0,
                "scheduled_us": None if row.credit_ns is None else (row.credit_ns + 500) // 1000,
                "segment": None,
                "prefix_group": None,
                **became,
                **known,
                **counts,
            }
        )
        self._remember(row, stream, became, known, counts)

    def _remember(
        self,
        row: Entry,
        stream: Stream | None,
        became: dict[str, Any],
        known: dict[str, Any],
        counts: dict[str, Any],
    ) -> None:
        is_warmup = row.phase is Phase.WARMUP
        self._is_warmup.append(is_warmup)
        self._numbers.append(_UNKNOWN if row.session_num is None else row.session_num)
        issued_ns = row.credit_ns if row.credit_ns is not None else row.start_ns
        self._credits_us.append(_UNKNOWN if issued_ns is None else (issued_ns + 500) // 1000)
        planned = self._beside.plan.get(row.conversation_id or "")
        self._planned.append(_UNKNOWN if planned is None or row.turn_index else planned.index)
        completed = became["outcome"] is Outcome.COMPLETED
        has_usage = row.metric("usage_completion_tokens") is not None or (
            stream is not None and (stream.output_tokens is not None or stream.is_ended)
        )
        self._without_usage.append(completed and not has_usage)
        asked = counts.get("requested_output_tokens")
        asked = asked if asked is not None or planned is None else planned.output_tokens
        seen = max(counts["output_tokens"] or 0, len(known.get("chunk_gaps_us", ())) + 1)
        self._is_short.append(completed and asked is not None and seen < asked)
        if is_warmup:
            self.n_warmup += 1
            return
        self.phase_name = row.phase_name
        self.n_source_success += row.is_success
        self.n_broken_off += became["outcome"] is Outcome.TRUNCATED
        self.n_shifted += row.is_shifted
        self.n_past_deadline += became["outcome"] is Outcome.TIMED_OUT
        self.n_partial += "n_chunks" in known and "chunk_gaps_us" not in known
        if completed and "chunk_gaps_us" in known:
            self.chunks.add(known["chunk_gaps_us"], counts["output_tokens"])
        self._count_tokens(row)

    def _count_tokens(self, row: Entry) -> None:
        """Hold the tool's count of a success beside the server's."""
        tool = as_whole(row.metric("output_sequence_length"))
        server = as_whole(row.metric("usage_completion_tokens"))
        if row.is_success and tool is not None and server is not None:
            self.n_counts += 1
            self.n_tool_tokens += tool
            self.n_server_tokens += server
            self.n_disagree += abs(tool - server) > 1

    def close(self) -> None:
        """Give up what was gathered."""
        self._spool.close()

    def finish(self) -> pa.Table:
        """Return the rows of the record: numbered, on the run's clock, the missing ones too."""
        table = self._spool.table()
        measured = np.frombuffer(self._is_warmup, np.int8) == 0
        credits_us = np.frombuffer(self._credits_us, np.int64)
        planned = np.frombuffer(self._planned, np.int32)
        plan = self._plan_that_fits(credits_us[measured], planned[measured])
        self._plan = plan or []
        due_us = np.array([round(p.due_ms * 1000) for p in self._plan], np.int64)
        issued = credits_us[measured] - (due_us[planned[measured]] if plan else 0)
        self.zero_us = int(issued[credits_us[measured] != _UNKNOWN].min(initial=2**62))
        self.zero_us = 0 if self.zero_us == 2**62 else self.zero_us
        indices = self._indices(measured, planned, credits_us)
        table = self._placed(table, indices)
        if plan:
            table = self._with_plan(table, measured, planned, due_us)
        table = self._with_truncated(table)
        missing = self._missing(indices[measured])
        self._ends_us = table["ended_us"].filter(pa.array(measured)).drop_null().to_numpy()
        self.end_us = int(self._ends_us.max(initial=0))
        if not missing:
            return table
        return pa.concat_tables([table, requests_table(columns(missing)).cast(table.schema)])

    def _plan_that_fits(self, credits_us: Ints, planned: Ints) -> list[Planned] | None:
        """Return the plan if every row is in it and it was replayed at this very pace."""
        if not self._plan or not len(planned) or (planned == _UNKNOWN).any():
            return None
        due_us = np.array([request.due_ms * 1000 for request in self._plan])[planned]
        fits = is_same_pace(due_us, credits_us)
        self.index_basis = IndexBasis.PLAN if fits else self.index_basis
        return self._plan if fits else None

    @property
    def is_plan_ignored(self) -> bool:
        """Whether there is a plan that is not the one these requests followed."""
        return bool(self._beside.plan) and self.index_basis is not IndexBasis.PLAN

    def _indices(self, measured: npt.NDArray[np.bool_], planned: Ints, credits_us: Ints) -> Ints:
        """Return the requests' numbers: by the plan, by their credits, or in order of time."""
        numbers = np.frombuffer(self._numbers, np.int32).astype(np.int64)
        self._numbers = array("i")  # read once
        if (numbers == _UNKNOWN).any():
            self.index_basis = IndexBasis.ORDER
            for group in (measured, ~measured):
                numbers[group] = np.argsort(np.argsort(credits_us[group], kind="stable"))
            return numbers
        if self.index_basis is IndexBasis.PLAN:
            return np.where(measured, planned, numbers)
        warmups = numbers[~measured]
        if len(warmups) and measured.any() and numbers[measured].min() > warmups.max():
            numbers[measured] -= warmups.max() + 1  # the warm-up took the first credits
        self._refuse_repeated(numbers[measured])
        return numbers

    def _refuse_repeated(self, numbers: Ints) -> None:
        ordered = np.sort(numbers)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(repeated):
            found, times = np.unique(repeated, return_counts=True)
            raise ImportRefusedError(
                "inconsistent",
                f"{self._name} has {times.max() + 1} rows with session_num "
                f"{found[times.argmax()]}; expected one row per request: are two files joined in "
                "it?",
            )

    def _placed(self, table: pa.Table, indices: Ints) -> pa.Table:
        table = _set(table, "request_index", pa.array(indices, pa.int32()))
        for name in ("scheduled_us", "sent_us", "ended_us"):
            known = table[name]
            shifted = pc.subtract(known, pa.scalar(self.zero_us, pa.int64()))
            table = _set(table, name, shifted)
        return table

    def _with_plan(
        self, table: pa.Table, measured: npt.NDArray[np.bool_], planned: Ints, due_us: Ints
    ) -> pa.Table:
        """Put in what the plan knows of every request, those without an answer included."""
        place = np.where(measured, planned, 0)
        segments = self._segments()

        def of(values: Sequence[object], kind: pa.DataType) -> pa.Array:
            chosen = pa.array(values, kind).take(pa.array(place))
            return pc.if_else(pa.array(measured), chosen, pa.scalar(None, kind))

        prompts = of([p.prompt_tokens for p in self._plan], pa.int32())
        filled = {
            "scheduled_us": of(due_us.tolist(), pa.int64()),
            "requested_output_tokens": of([p.output_tokens for p in self._plan], pa.int32()),
            "prefix_group": of([p.prefix_group for p in self._plan], pa.int32()),
            "segment": of([segments.get(p.index) for p in self._plan], pa.string()),
            "prompt_tokens": pc.coalesce(table["prompt_tokens"], prompts),
        }
        for name, values in filled.items():
            table = _set(table, name, values)
        return table

    def _segments(self) -> dict[int, Segment]:
        """Return the part of the load each planned request belongs to, if all parts are known."""
        parts = self._beside.segments
        named = {segment.value for segment in Segment}
        if sum(count for _, count in parts) != len(self._plan) or {n for n, _ in parts} - named:
            return {}
        every = [Segment(name) for name, count in parts for _ in range(count)]
        return dict(enumerate(every))

    def _with_truncated(self, table: pa.Table) -> pa.Table:
        """Mark the successes that did not bring what the others did.

        With usage in other rows, a stream without it did not reach its protocol's end. Where no
        row has it, a forced length that was not reached says the same.
        """
        without = np.frombuffer(self._without_usage, np.int8) > 0
        completed = pc.equal(table["outcome"], Outcome.COMPLETED.value).to_numpy()
        short = np.frombuffer(self._is_short, np.int8) > 0
        if (completed & ~without).any():
            cut, reason = without, "the stream broke off: no usage, which the other answers have"
            self.n_short = int((short & ~without).sum())
        elif self._forced:
            cut, reason = short & completed, "fewer output tokens than were forced"
        else:
            self.n_short = int(short.sum())
            return table
        measured = np.frombuffer(self._is_warmup, np.int8) == 0
        self.n_broken_off += int((cut & measured).sum())
        if not cut.any():
            return table  # as it is: another copy of its texts would have to be held
        mask = pa.array(cut)
        table = _replaced(table, "outcome", mask, Outcome.TRUNCATED)
        table = _replaced(table, "outcome_basis", mask, OutcomeBasis.INFERRED)
        return _replaced(table, "reason", mask, reason)

    def _missing(self, found: Ints) -> list[dict[str, Any]]:
        """Return a row for each request that was offered, or was to be, and has no line."""
        count = self._beside.counts.get(self.phase_name, Count())
        declared = self._declared()
        sent = max(count.n_sent or 0, int(found.max(initial=-1)) + 1)
        total = max(declared or 0, sent)
        if total - len(found) > MAX_WITHOUT_ROW:
            raise ImportRefusedError(
                "inconsistent",
                f"{self._name} has {len(found)} requests and {total} were offered by its numbers "
                f"and the files beside it; expected at most {MAX_WITHOUT_ROW} without a row",
            )
        has_line = np.zeros(total, np.bool_)
        has_line[found[found >= 0]] = True
        absent = np.flatnonzero(~has_line).tolist()
        open_at_end = [i for i in absent if i < sent][-count.n_cancelled or len(absent) :]
        rows = []
        for index in absent:
            row = self._without_line(index)
            if index >= sent and count.n_sent is not None:
                row |= _stated(Outcome.NOT_SENT, "planned, not sent before the phase ended (log)")
                self.n_not_sent += 1
            elif index in open_at_end:
                row |= _stated(Outcome.CUT_OFF, "open when the phase ended (counted in the log)")
                self.n_cut_off += 1
            else:
                row |= {"outcome": Outcome.UNACCOUNTED, "outcome_basis": OutcomeBasis.INFERRED}
                row["reason"] = "offered, and missing from the records"
                self.n_unaccounted += 1
            rows.append(row)
        return rows

    def _without_line(self, index: int) -> dict[str, Any]:
        row: dict[str, Any] = {"request_index": index, "phase": Phase.MEASURED}
        if index >= len(self._plan):
            return row
        planned = self._plan[index]
        return row | {
            "scheduled_us": round(planned.due_ms * 1000),
            "prompt_tokens": planned.prompt_tokens,
            "requested_output_tokens": planned.output_tokens,
            "prefix_group": planned.prefix_group,
            "segment": self._segments().get(index),
        }

    def _declared(self) -> int | None:
        """Return how many requests the plan or the configuration says there are."""
        if self._plan:
            return len(self._plan)
        stated = as_whole(aiperf_report.phase_of(self._beside, self.index).get("requests"))
        target = self._beside.counts.get(self.phase_name, Count()).n_target
        return stated if stated is not None else target

    def offered(self) -> tuple[int, OfferedBasis]:
        """Return how many requests were offered, and how that is known."""
        total = self.n_rows + self.n_cut_off + self.n_unaccounted + self.n_not_sent
        if self._declared() == total:
            return total, OfferedBasis.DECLARED
        if self._beside.counts.get(self.phase_name, Count()).n_sent == total:
            return total, OfferedBasis.LOG
        return total, OfferedBasis.SCHEDULER if self.n_unaccounted else OfferedBasis.ROWS

    def token_basis(self) -> str:
        """Say in words who counted the tokens."""
        if self._by_server:
            return "the server's usage, asked for over the tool's count"
        if dig(self._beside.config, "endpoint", "use_server_token_count") is True:
            return "the server's usage"
        return "the tool's count of the text, with its own tokenizer"

    def inferred_load(self) -> Load:
        """Tell from the credits how requests were offered where no file says."""
        self.is_load_inferred = True
        measured = np.frombuffer(self._is_warmup, np.int8) == 0
        credits_us = np.frombuffer(self._credits_us, np.int64)[measured] - self.zero_us
        return closed_loop.infer(credits_us, self._ends_us)


def _stated(what: Outcome, reason: str) -> dict[str, Any]:
    return {"outcome": what, "outcome_basis": OutcomeBasis.STATED, "reason": reason}


def _set(table: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    position = REQUESTS.get_field_index(name)
    return table.set_column(position, REQUESTS.field(name), values.cast(REQUESTS.field(name).type))


def _replaced(table: pa.Table, name: str, mask: pa.Array, value: str) -> pa.Table:
    return _set(table, name, pc.if_else(mask, pa.scalar(str(value)), table[name]))
