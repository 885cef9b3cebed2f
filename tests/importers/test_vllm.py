"""Real results of `vllm bench serve`, and hand-made ones with a trap each."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway.errors import ImportRefusedError
from headway.model import (
    Boundary,
    Clock,
    IndexBasis,
    Load,
    LoadKind,
    Metric,
    OfferedBasis,
    Outcome,
    OutcomeBasis,
)
from headway.record import Run

type_import = Callable[[Path], Run]
type_rows = Callable[[Run], pl.DataFrame]


@pytest.fixture
def result(fixtures: Path, import_vllm: type_import) -> Callable[[str], Run]:
    return lambda name: import_vllm(fixtures / "vllm" / name / "result.json")


@pytest.fixture
def case(fixtures: Path, import_vllm: type_import) -> Callable[[str], Run]:
    def load(number: str) -> Run:
        (path,) = fixtures.glob(f"vllm/{number}-*/openai-*.json")
        return import_vllm(path)

    return load


def indices(frame: pl.DataFrame, outcome: Outcome) -> list[int]:
    return frame.filter(pl.col("outcome") == outcome)["request_index"].to_list()


def codes(run: Run) -> dict[str, int]:
    return {finding.code: finding.count for finding in run.info.findings}


def test_a_proxy_that_breaks_streams(result: Callable[[str], Run], rows: type_rows) -> None:
    run = result("faults-proxy-rate5")
    frame = rows(run)
    counts = Counter(frame["outcome"].to_list())
    assert counts == {"completed": 82, "truncated": 4, "rejected": 4, "failed": 10}
    assert indices(frame, Outcome.TRUNCATED) == [20, 24, 70, 74]
    whole = frame.filter(pl.col("request_index").is_in([48, 98]))
    assert whole["outcome"].to_list() == ["completed", "completed"]
    assert whole["output_tokens"].to_list() == [74, 116]
    assert codes(run) == {"short_success": 4, "length_retokenised": 2, "chunks_not_tokens": 12}
    assert run.info.tool.n_failed == 14


def test_a_first_token_before_a_failure_is_kept(
    result: Callable[[str], Run], rows: type_rows
) -> None:
    failed = rows(result("faults-proxy-rate5")).filter(pl.col("outcome") == "failed")
    started = failed.filter(pl.col("ttft_us").is_not_null())
    assert started["n_chunks"].to_list() == [3, 3, 3, 3]
    assert started["latency_us"].null_count() == started.height
    silent = failed.filter(pl.col("ttft_us").is_null())
    assert silent["ended_us"].null_count() == silent.height


def test_statuses_of_refused_requests(result: Callable[[str], Run], rows: type_rows) -> None:
    rejected = rows(result("faults-proxy-rate5")).filter(pl.col("outcome") == "rejected")
    assert Counter(rejected["http_status"].to_list()) == {503: 2, 429: 2}
    assert set(rejected["outcome_basis"].to_list()) == {OutcomeBasis.STATED}


def test_a_killed_engine(result: Callable[[str], Run], rows: type_rows) -> None:
    run = result("serverkill-rate4")
    frame = rows(run)
    assert Counter(frame["outcome"].to_list()) == {"completed": 37, "truncated": 4, "failed": 59}
    assert indices(frame, Outcome.TRUNCATED) == [37, 38, 39, 40]
    assert frame.filter(pl.col("request_index") == 40)["output_tokens"].item() == 207
    assert codes(run)["short_success"] == 4
    assert codes(run)["length_retokenised"] == 1


def test_truncated_answers_keep_the_latency_the_tool_counts(
    result: Callable[[str], Run], rows: type_rows
) -> None:
    frame = rows(result("serverkill-rate4")).filter(pl.col("outcome") == "truncated")
    assert frame["source_success"].all()
    assert frame["latency_us"].null_count() == 0
    assert frame["outcome_basis"].unique().to_list() == [OutcomeBasis.INFERRED]
    assert frame["reason"][0] == "58 of 94 output tokens; no error recorded"


def test_prompts_too_long_for_the_server(result: Callable[[str], Run], rows: type_rows) -> None:
    run = result("overlong-rate5")
    frame = rows(run)
    assert Counter(frame["outcome"].to_list()) == {"completed": 40, "rejected": 20}
    assert set(frame.filter(pl.col("outcome") == "rejected")["http_status"].to_list()) == {400}
    assert codes(run) == {"output_clamped": 7}
    assert run.info.manifest.context_limit == 1024


@pytest.mark.parametrize(
    "name", ["faults-proxy-rate5", "serverkill-rate4", "overlong-rate5", "chat-rate7", "rateinf"]
)
def test_the_tools_own_numbers_come_out_again(
    name: str, result: Callable[[str], Run], rows: type_rows
) -> None:
    run = result(name)
    frame = rows(run).filter(pl.col("source_success"))
    values = {
        Metric.TTFT: frame["ttft_us"].to_numpy() / 1e3,
        Metric.LATENCY: frame["latency_us"].to_numpy() / 1e3,
        Metric.GAP: frame["chunk_gaps_us"].explode().drop_nulls().to_numpy() / 1e3,
        Metric.TPOT: frame.filter(pl.col("output_tokens") > 1)
        .select((pl.col("latency_us") - pl.col("ttft_us")) / (pl.col("output_tokens") - 1) / 1e3)
        .to_series()
        .to_numpy(),
    }
    assert len(run.info.tool.aggregates) == 20
    for aggregate in run.info.tool.aggregates:
        sample = values[aggregate.metric]
        mean = aggregate.statistic == "mean"
        ours = sample.mean() if mean else np.percentile(sample, float(aggregate.statistic[1:]))
        assert ours == pytest.approx(aggregate.value_ms, rel=1e-3)


def test_the_chat_endpoint_announces_a_role_first(result: Callable[[str], Run]) -> None:
    run = result("chat-rate7")
    assert codes(run) == {"chunks_not_tokens": 100}
    assert run.info.index_basis is IndexBasis.PLAN


def test_all_at_once(result: Callable[[str], Run], rows: type_rows) -> None:
    run = result("rateinf")
    assert run.info.load == Load(LoadKind.UNLIMITED)
    frame = rows(run)
    assert (frame["sent_us"] < 50_000).all()
    assert frame["scheduled_us"].min() == 0


def test_bursty_arrivals(result: Callable[[str], Run]) -> None:
    info = result("rate4-burst0.1").info
    assert info.load == Load(LoadKind.OPEN, 4.0, None, "gamma", 0.1)
    assert info.manifest.burst == "gamma arrivals, shape 0.1"


def test_totals_alone_are_refused_with_the_options_to_use(result: Callable[[str], Run]) -> None:
    with pytest.raises(ImportRefusedError, match="--save-result --save-detailed") as refusal:
        result("rate8-nodetail")
    assert refusal.value.code == "aggregate_only"


def test_a_run_of_a_sweep(fixtures: Path, import_vllm: type_import) -> None:
    (path,) = fixtures.glob("vllm/sweep/*/run=0.json")
    info = import_vllm(path).info
    assert info.label == "max_num_seqs=8"
    assert info.policy is None
    assert info.replicate == 0
    assert info.load.declared_rps == 3.0
    assert info.manifest.batch_cap == 8
    assert codes(import_vllm(path))["short_answers_undetectable"] == 40


def test_what_the_files_beside_a_result_add(result: Callable[[str], Run], rows: type_rows) -> None:
    run = result("faults-proxy-rate5")
    info = run.info
    assert info.policy == "chunk2048-seqs32"
    assert info.started_at == "2026-11-29T18:39:22.951+00:00"
    assert info.boundary is Boundary.CLIENT
    assert info.clock is Clock.MONOTONIC
    assert info.n_offered_basis is OfferedBasis.DECLARED
    manifest = info.manifest
    assert (manifest.engine, manifest.engine_build) == ("vLLM", "0.32.0")
    assert (manifest.token_budget, manifest.batch_cap, manifest.seed) == (2048, 32, 7)
    assert manifest.cache_policy == "prefix caching off, block size 32, KV cache space 1 GiB"
    assert manifest.decoding == "temperature 0"
    assert manifest.dataset == "random"
    first = rows(run).row(0, named=True)
    assert (first["request_id"], first["requested_output_tokens"]) == ("frozen7-0", 76)


def test_case_01_failures_that_look_like_zero(case: Callable[[str], Run], rows: type_rows) -> None:
    run = case("01")
    frame = rows(run)
    assert Counter(frame["outcome"].to_list()) == {"completed": 6, "rejected": 2, "failed": 2}
    silent = frame.row(4, named=True)
    assert silent["outcome"] == "failed"
    assert silent["outcome_basis"] == "inferred"
    assert silent["reason"] == "no content received and no error recorded"
    assert silent["ttft_us"] is None
    started = frame.row(7, named=True)
    assert (started["ttft_us"], started["n_chunks"], started["latency_us"]) == (350_000, 3, None)
    completed = frame.filter(pl.col("outcome") == "completed")["ttft_us"].to_numpy() / 1e3
    assert [completed.mean(), np.percentile(completed, 99)] == pytest.approx([150, 199])
    assert codes(run) == {"short_answers_undetectable": 10}


def test_case_04_chunks_are_not_tokens(case: Callable[[str], Run], rows: type_rows) -> None:
    run = case("04")
    frame = rows(run)
    assert set(frame["chunk_gaps_us"].explode().to_list()) == {60_000}
    assert frame["n_chunks"].to_list() == [5, 5]
    assert frame["output_tokens"].to_list() == [13, 13]
    found = {finding.code: finding.message for finding in run.info.findings}
    assert "2.6 tokens per chunk" in found["chunks_not_tokens"]
    assert "10" in found["peak_below_average"]
    assert "26" in found["peak_below_average"]


def test_case_11_a_closed_loop_starts_with_a_burst(
    case: Callable[[str], Run], rows: type_rows
) -> None:
    run = case("11")
    assert run.info.load == Load(LoadKind.CLOSED, concurrency=4)
    frame = rows(run)
    late = frame.filter(pl.col("sent_us") >= 2_500_000)["ttft_us"].to_numpy() / 1e3
    ttft_ms = frame["ttft_us"].to_numpy() / 1e3
    assert np.percentile(ttft_ms, [50, 90, 99, 100]) == pytest.approx([204.5, 358.1, 1961, 2000])
    assert len(late) == 36
    assert np.percentile(late, 99) == pytest.approx(209.0, abs=0.05)
