"""The rows of the record from a `vllm bench serve` result, a few thousand requests at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headway.errors import ImportRefusedError
from headway.importers.chunks import ChunkCounts
from headway.importers.gap_lists import Flags, Ints, Seconds, elapsed, gap_column
from headway.importers.plans import MAX_WITHOUT_ROW
from headway.importers.source import Source, as_text, as_whole, to_us
from headway.importers.spool import BATCH_ROWS, Spool
from headway.importers.vllm_files import Bench, Planned
from headway.importers.vllm_outcomes import Verdict
from headway.model import Outcome, OutcomeBasis, Phase, Segment

_SAME_INSTANT_S = 2e-6


def table(
    source: Source,
    bench: Bench,
    planned: list[Planned] | None,
    successes: Sequence[bool],
    verdicts: Sequence[Verdict],
) -> tuple[pa.Table, ChunkCounts]:
    """Return the requests of a result, and what the chunks of the completed ones say."""
    counts, spool = ChunkCounts(), Spool()
    zero_s = _zero_s(bench)
    try:
        for start in range(0, bench.n_rows, BATCH_ROWS):
            rows = slice(start, min(start + BATCH_ROWS, bench.n_rows))
            spool.extend(
                {
                    **_said(bench, rows, planned, successes),
                    **_became(verdicts[rows]),
                    **_times(bench, rows, zero_s, np.array(successes[rows])),
                }
            )
            _count(counts, bench, rows, verdicts[rows])
        for row in _unaccounted(source, bench):
            spool.add(row)
        return spool.table(), counts
    finally:
        spool.close()


def _said(
    bench: Bench, rows: slice, planned: list[Planned] | None, successes: Sequence[bool]
) -> dict[str, Sequence[Any]]:
    n_rows = rows.stop - rows.start
    plan = [Planned(None, None, None)] * n_rows if planned is None else planned[rows]
    segment = Segment.RAMP if as_text(bench.scalars.get("ramp_up_strategy")) else None
    answers = zip(bench.output_lens[rows], successes[rows], strict=True)
    return {
        "request_index": range(rows.start, rows.stop),
        "request_id": [each.request_id for each in plan],
        "phase": [Phase.MEASURED] * n_rows,
        "segment": [segment] * n_rows,
        "prompt_tokens": bench.input_lens[rows],
        "requested_output_tokens": [each.output_tokens for each in plan],
        "output_tokens": [tokens if success else None for tokens, success in answers],
        "source_success": successes[rows],
    }


def _became(verdicts: Sequence[Verdict]) -> dict[str, Sequence[Any]]:
    return {
        "outcome": [verdict.outcome for verdict in verdicts],
        "outcome_basis": [verdict.basis for verdict in verdicts],
        "reason": [verdict.reason for verdict in verdicts],
        "http_status": [verdict.http_status for verdict in verdicts],
    }


def _zero_s(bench: Bench) -> float:
    """Return the run's zero on the client's clock: the first intended arrival, else first send."""
    starts = bench.start_times or []
    waits = bench.queue_times or [0.0] * len(starts)
    due = [s - (w or 0.0) for s, w in zip(starts, waits, strict=True) if s is not None]
    return min(due, default=0.0)


def _times(bench: Bench, rows: slice, zero_s: float, success: Flags) -> dict[str, Any]:
    """Place requests on the run's clock; round instants first, so that durations add up."""
    starts_s = _column(bench.start_times, rows)
    waits_s, ttfts_s = _column(bench.queue_times, rows), _column(bench.ttfts, rows)
    origins_s = np.where(np.isnan(starts_s), 0.0, starts_s - zero_s)
    sent_us = to_us(origins_s)
    answered = ~np.isnan(ttfts_s) & (ttfts_s != 0)
    gaps_s, n_gaps = bench.itls.rows(rows.start, rows.stop)
    seen = answered | (n_gaps > 0)
    since_s, begins = elapsed(gaps_s, n_gaps[seen])
    origins_seen_s = (origins_s + np.where(answered, ttfts_s, 0.0))[seen]
    seen_s = np.repeat(origins_seen_s, n_gaps[seen] + 1) + since_s
    instants_us = to_us(seen_s)
    ends = begins + n_gaps[seen]
    ttft_us, last_us = (np.zeros(len(seen), np.int64) for _ in range(2))
    ttft_us[seen] = instants_us[begins] - sent_us[seen]
    last_us[seen] = instants_us[ends]
    whole = success & answered
    stated_s = _column(bench.latencies, rows)
    stated_s = np.where(stated_s == 0, np.nan, origins_s + stated_s)  # 0 is no number of the tool
    last_us[whole] = _end_us(stated_s, seen, seen_s[ends], last_us)[whole]
    known = {
        "chunk_gaps_us": gap_column(instants_us, begins, seen),
        "ttft_us": pa.array(ttft_us, mask=~answered),
        "latency_us": pa.array(last_us - sent_us, mask=~whole),
    }
    has_start = ~np.isnan(starts_s)
    if has_start.any():
        known["sent_us"] = pa.array(sent_us, mask=~has_start)
        known["ended_us"] = pa.array(last_us, mask=~(has_start & seen))
        has_wait = has_start & ~np.isnan(waits_s)
        due_s = np.where(has_wait, origins_s - waits_s, 0.0)
        known["scheduled_us"] = pa.array(to_us(due_s), mask=~has_wait)
    return known


def _end_us(stated_s: Seconds, seen: Flags, last_s: Seconds, last_us: Ints) -> Ints:
    """Return the ends of answers: the last chunk, unless the tool states another instant.

    Parameters
    ----------
    stated_s
        When the tool says that they ended; NaN where it does not.
    seen
        Which of them have a chunk.
    last_s
        When the last chunk of each of these came.
    last_us
        The same of all, rounded.
    """
    apart_s = np.zeros(len(seen))
    apart_s[seen] = stated_s[seen] - last_s
    stated = ~np.isnan(stated_s) & (np.abs(apart_s) >= _SAME_INSTANT_S)
    return np.where(stated, to_us(np.where(stated, stated_s, 0.0)), last_us)


def _column(values: Sequence[float | None] | None, rows: slice) -> npt.NDArray[np.float64]:
    """Return numbers of some rows, NaN where there is none."""
    n_rows = rows.stop - rows.start
    return np.array([None] * n_rows if values is None else values[rows], dtype=np.float64)


def _count(counts: ChunkCounts, bench: Bench, rows: slice, verdicts: Sequence[Verdict]) -> None:
    completed = np.array([verdict.outcome is Outcome.COMPLETED for verdict in verdicts])
    gaps_s, n_gaps = bench.itls.rows(rows.start, rows.stop)
    tokens = np.array([-1 if n is None else n for n in bench.output_lens[rows]])
    gaps_us = gaps_s[np.repeat(completed, n_gaps)] * 1e6
    counts.add_all(gaps_us, n_gaps[completed], tokens[completed])


def _unaccounted(source: Source, bench: Bench) -> Iterator[dict[str, Any]]:
    """Yield a row for each request that was to be sent and that the lists do not mention."""
    declared = as_whole(bench.scalars.get("num_prompts")) or 0
    if declared - bench.n_rows > MAX_WITHOUT_ROW:
        raise ImportRefusedError(
            "inconsistent",
            f"{source.name}: num_prompts is {declared} and the lists have {bench.n_rows} entries; "
            f"expected at most {MAX_WITHOUT_ROW} requests without one",
        )
    for row in range(bench.n_rows, declared):
        yield {
            "request_index": row,
            "phase": Phase.MEASURED,
            "outcome": Outcome.UNACCOUNTED,
            "outcome_basis": OutcomeBasis.INFERRED,
            "reason": "counted in num_prompts, missing from the lists",
        }
