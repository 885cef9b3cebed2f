"""Samples of a server's state as a client scraped them: gauges and counters over time.

Two shapes are read: AIPerf's own export of a scrape (one JSON object a scrape), and a table with a
column for each gauge and counter. Both carry the client's wall clock, as its requests do, so that
no clock has to be fitted to another.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from headway.errors import ImportRefusedError
from headway.importers.source import (
    Source,
    as_number,
    as_whole,
    columns,
    decode,
    dig,
    json_object,
    open_stream,
    read_bytes,
    unreadable_sidecar,
)
from headway.model import Finding, Severity
from headway.record import state_table

SCRAPES = "server_metrics_export.jsonl"
TABLE = "server_timeseries.csv"
TOTALS = "server_metrics_export.json"

# What engines call it, by column of the record; a counter may or may not end in `_total`.
_GAUGES = {
    "running": ("vllm:num_requests_running", "sglang:num_running_reqs"),
    "waiting": ("vllm:num_requests_waiting", "sglang:num_queue_reqs"),
    "kv_fraction": (
        "vllm:kv_cache_usage_perc",
        "vllm:gpu_cache_usage_perc",
        "sglang:token_usage",
    ),
    "preemptions_total": ("vllm:num_preemptions",),
    "prefix_hits_total": ("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"),
    "prefix_queries_total": ("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries"),
}
_COLUMNS = {
    "running": "running",
    "waiting": "waiting",
    "kv_fraction": "kv_cache_usage",
    "preemptions_total": "preemptions_total",
    "prefix_hits_total": "prefix_cache_hits_total",
    "prefix_queries_total": "prefix_cache_queries_total",
}
_SHARES = {"kv_fraction"}


@dataclass(frozen=True, slots=True)
class Samples:
    """A scraped server: its samples by instant in nanoseconds of the wall clock."""

    at_ns: tuple[int, ...]
    rows: tuple[Mapping[str, Any], ...]
    name: str


def read(source: Source, *, zero_us: int, end_us: int) -> tuple[pa.Table | None, list[Finding]]:
    """Read the samples beside a source and place them on the run's clock.

    Parameters
    ----------
    source
        The request-level file.
    zero_us
        The run's zero on the client's wall clock.
    end_us
        The last thing known of any request, from that zero; samples after it are left out.
    """
    samples, broken = _samples(source)
    noticed = [broken] if broken is not None else []
    if samples is None:
        return None, noticed
    at_us = np.array(samples.at_ns, np.int64) // 1000 - zero_us
    order = np.argsort(at_us, kind="stable")
    at_us, rows = at_us[order], [samples.rows[place] for place in order]
    # A sample holds until the next: the last one before the first request is needed too.
    inside = (np.append(at_us[1:], at_us[-1:]) >= 0) & (at_us <= end_us)
    if not inside.any():
        return None, [*noticed, _apart(samples, int(at_us[0]), end_us)]
    kept = [dict(row) for row, keep in zip(rows, inside, strict=True) if keep]
    kept_us = at_us[inside]
    total = _kv_total(source)
    for row, instant, following in zip(kept, kept_us, [*kept_us[1:], None], strict=True):
        row["at_us"] = int(instant)
        row["duration_us"] = None if following is None else int(following - instant)
        row["kv_total"] = total
    return state_table(columns(kept)), [*noticed, _aligned(samples, kept_us)]


def _samples(source: Source) -> tuple[Samples | None, Finding | None]:
    scrapes = source.beside(SCRAPES, f"{SCRAPES}.gz", f"{SCRAPES}.zst")
    table = source.beside(TABLE, f"{TABLE}.gz")
    path = scrapes or table
    if path is None:
        return None, None
    try:
        found = list(_scrapes(path) if scrapes is not None else _table(path))
    except (ImportRefusedError, csv.Error) as error:
        return None, unreadable_sidecar(path, str(error))
    if not found:
        return None, unreadable_sidecar(path, "it has no sample with a time and a known gauge")
    at_ns, rows = zip(*found, strict=True)
    return Samples(at_ns, rows, path.name), None


def _scrapes(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with open_stream(path, path.name) as stream:
        for line in stream:
            try:
                scrape = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            at_ns, metrics = dig(scrape, "timestamp_ns"), dig(scrape, "metrics")
            if isinstance(at_ns, int) and isinstance(metrics, dict):
                row = {name: _value(name, metrics, names) for name, names in _GAUGES.items()}
                if any(value is not None for value in row.values()):
                    yield at_ns, row


def _value(column: str, metrics: Mapping[str, Any], names: Iterable[str]) -> float | int | None:
    """Return a gauge over the engines of one server: counts add up, a share is the highest."""
    known = (name for base in names for name in (base, f"{base}_total") if name in metrics)
    series = metrics.get(next(known, ""), [])
    values = [as_number(dig(entry, "value")) for entry in series if isinstance(entry, dict)]
    found = [value for value in values if value is not None]
    if not found:
        return None
    return max(found) if column in _SHARES else as_whole(sum(found))


def _table(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for row in csv.DictReader(io.StringIO(decode(read_bytes(path, path.name), path.name))):
        at_s = as_number(row.get("unix_s"))
        if at_s is None:
            continue
        known = {
            column: (as_number if column in _SHARES else as_whole)(row.get(name))
            for column, name in _COLUMNS.items()
        }
        if any(value is not None for value in known.values()):
            yield round(at_s * 1e6) * 1000, known


def _kv_total(source: Source) -> int | None:
    """Return the tokens of cache there are, from the configuration that the server exports."""
    totals, _ = json_object(source.beside(TOTALS, f"{TOTALS}.gz"))
    series = dig(totals, "metrics", "vllm:cache_config_info", "series")
    if not isinstance(series, list) or len(series) != 1:
        return None
    blocks = as_whole(dig(series[0], "labels", "num_gpu_blocks"))
    size = as_whole(dig(series[0], "labels", "block_size"))
    return None if blocks is None or size is None else blocks * size


def _aligned(samples: Samples, at_us: np.ndarray[Any, np.dtype[np.int64]]) -> Finding:
    return Finding(
        "server_samples",
        Severity.INFO,
        len(at_us),
        f"{len(at_us)} samples of the server from {samples.name}, placed by the client's wall "
        f"clock that stamps the requests too (offset 0): the first {at_us[0] / 1e6:+.3f} s from "
        f"the run's zero, the last {at_us[-1] / 1e6:+.3f} s",
    )


def _apart(samples: Samples, first_us: int, end_us: int) -> Finding:
    return Finding(
        "server_samples_apart",
        Severity.WARNING,
        len(samples.rows),
        f"{samples.name} was not used: its samples begin {first_us / 1e6:+.1f} s from the run's "
        f"zero, outside the run's {end_us / 1e6:.1f} s; expected the scrape of this very run",
    )
