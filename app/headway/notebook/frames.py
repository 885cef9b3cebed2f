"""Descriptions and summaries of runs as frames whose columns say their unit."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from headway.analyses.documents import percentile_name
from headway.analyses.summary import RunSummary
from headway.model import Outcome, RunInfo, Selection

Columns = dict[str, type[pl.DataType]]

_RUNS: Columns = {
    **dict.fromkeys(("run_id", "study", "policy", "label"), pl.String),
    "replicate": pl.Int64,
    **dict.fromkeys(("harness", "harness_version", "boundary", "clock", "load_kind"), pl.String),
    "declared_rps": pl.Float64,
    "concurrency": pl.Int64,
    "arrivals": pl.String,
    "burstiness": pl.Float64,
    **dict.fromkeys(("n_offered", "n_warmup"), pl.Int64),
    **dict.fromkeys(("index_basis", "token_basis", "started_at"), pl.String),
    "time_limit_s": pl.Float64,
    "n_findings": pl.Int64,
    **dict.fromkeys(("rows_sha256", "source_name", "file"), pl.String),
}
_WHICH: Columns = dict.fromkeys(("run_id", "study", "policy", "label"), pl.String)
_ACCOUNTS: Columns = {
    **_WHICH,
    "n_offered": pl.Int64,
    **dict.fromkeys([outcome.value for outcome in Outcome], pl.Int64),
    **dict.fromkeys(("start_us", "end_us"), pl.Int64),
    "origin_used": pl.String,
    **dict.fromkeys(("measured_rps", "completed_rps", "goodput_rps"), pl.Float64),
    **dict.fromkeys(
        ("output_tokens_per_s", "input_tokens_per_s", "total_tokens_per_s"), pl.Float64
    ),
    "tokens_of": pl.String,
}
_PERCENTILES: Columns = {
    **_WHICH,
    **dict.fromkeys(("metric", "status"), pl.String),
    **dict.fromkeys(("n", "denominator", "n_not_applicable"), pl.Int64),
    **dict.fromkeys(("mean_ms", "max_ms", "percentile", "value_ms"), pl.Float64),
    "not_reached": pl.Boolean,
    **dict.fromkeys(("low_ms", "high_ms"), pl.Float64),
}


def runs(infos: Sequence[RunInfo], files: Sequence[Path]) -> pl.DataFrame:
    """Return one row for each run: what its description says, and where its file is."""
    rows = [_run(info, path) for info, path in zip(infos, files, strict=True)]
    return pl.DataFrame(rows, schema=_RUNS)


def _run(info: RunInfo, path: Path) -> dict[str, Any]:
    said = asdict(info)
    load = said["load"]
    return {name: said[name] for name in _RUNS if name in said} | {
        "load_kind": info.load.kind.value,
        **{name: load[name] for name in ("declared_rps", "concurrency", "arrivals", "burstiness")},
        "boundary": info.boundary.value,
        "clock": info.clock.value,
        "index_basis": info.index_basis.value,
        "n_findings": len(info.findings),
        "file": str(path),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Accounting, rates and percentiles of runs: two frames, and the results they come from."""

    selection: Selection
    summaries: tuple[RunSummary, ...]

    @property
    def accounts(self) -> pl.DataFrame:
        """One row for each run: the offered requests by outcome, the window, and rates."""
        return pl.DataFrame([_account(each) for each in self.summaries], schema=_ACCOUNTS)

    @property
    def percentiles(self) -> pl.DataFrame:
        """One row for each run, metric and percentile, in milliseconds.

        A percentile among requests that never delivered has no value and is `not_reached`. A
        metric without a number has one row, whose `status` says why.
        """
        rows = [row for each in self.summaries for row in _points(each)]
        return pl.DataFrame(rows, schema=_PERCENTILES)


def _which(each: RunSummary) -> dict[str, Any]:
    return {name: getattr(each.run, name) for name in _WHICH}


def _account(each: RunSummary) -> dict[str, Any]:
    interval, rates = each.interval, each.rates
    return {
        **_which(each),
        "n_offered": each.account.n_offered,
        **{outcome.value: n for outcome, n in each.account.outcomes.items()},
        "start_us": interval.start_us if interval else None,
        "end_us": interval.end_us if interval else None,
        "origin_used": interval.origin_used if interval else "none",
        "measured_rps": interval.measured_rps if interval else None,
        "completed_rps": rates.completed_rps,
        "goodput_rps": each.goodput_rps,
        "output_tokens_per_s": rates.output_tokens_per_s,
        "input_tokens_per_s": rates.input_tokens_per_s,
        "total_tokens_per_s": rates.total_tokens_per_s,
        "tokens_of": rates.tokens_of,
    }


def _points(each: RunSummary) -> list[dict[str, Any]]:
    rows = []
    for metric, found in each.metrics.items():
        about = {
            **_which(each),
            "metric": metric.value,
            "status": found.status.value,
            "n": found.n,
            "denominator": found.denominator,
            "n_not_applicable": found.n_not_applicable,
            "mean_ms": found.mean_ms,
            "max_ms": found.max_ms,
        }
        rows += [
            about
            | {
                "percentile": float(percentile_name(point.share)),
                "value_ms": point.value_ms,
                "not_reached": point.not_reached,
                "low_ms": point.low_ms,
                "high_ms": point.high_ms,
            }
            for point in found.percentiles
        ] or [about]
    return rows
