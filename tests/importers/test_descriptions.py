"""What a `run.json` and the command lines in it say."""

import json
from pathlib import Path
from typing import Any

import pytest

from headway.importers import engine_command, run_json
from headway.importers.source import Source
from headway.model import Manifest
from headway.record import Run


def notes(folder: Path, content: Any) -> run_json.Notes:
    (folder / "run.json").write_text(json.dumps(content), "utf-8")
    result = folder / "result.json"
    result.write_text("{}", "utf-8")
    return run_json.read(Source.open(result), run_json.VLLM)


def test_every_key(tmp_path: Path) -> None:
    found = notes(
        tmp_path,
        {
            "policy": "chunked",
            "label": "night",
            "replicate": 2,
            "vllm_version": "0.32.0",
            "harness_version": "0.33.0",
            "wall_start_unix": 1795977562.5,
            "load": {"offered_mean_rps": 4},
            "bench_command": "vllm bench serve --seed 7",
            "engine": {"command": "vllm serve some/model --max-num-seqs 64"},
            "manifest": {"devices": "2 × H100", "batch_cap": "32", "colour": "red", "seed": "x"},
        },
    )
    assert (found.policy, found.label, found.replicate) == ("chunked", "night", 2)
    assert (found.vllm_version, found.harness_version) == ("0.32.0", "0.33.0")
    assert found.started_at == "2026-11-29T18:39:22.500+00:00"
    assert found.declared_rps == 4.0
    assert found.bench_options == {"seed": "7"}
    assert found.manifest == Manifest(
        model="some/model",
        engine="vLLM",
        engine_build="0.32.0",
        devices="2 × H100",
        batch_cap=32,
    )


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"policy": 3, "replicate": "two", "engine": "vllm", "manifest": [1], "load": 3},
        {"wall_start_unix": 1e300},
        {"ttfts": [], "policy": "of a result"},
        {"request_throughput": 3.0, "policy": "of a result"},
    ],
)
def test_what_does_not_fit_is_passed_over(content: Any, tmp_path: Path) -> None:
    assert notes(tmp_path, content) == run_json.Notes()


@pytest.mark.parametrize("content", [[1], "text", None])
def test_what_is_no_object_becomes_a_finding(content: Any, tmp_path: Path) -> None:
    (finding,) = notes(tmp_path, content).findings
    assert finding.code == "sidecar_unreadable"


def test_without_one_nothing_is_known(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    result.write_text("{}", "utf-8")
    assert run_json.read(Source.open(result), run_json.VLLM) == run_json.Notes()


def test_the_source_wins_over_the_notes(folder: Any, import_vidur: Any) -> None:
    place = folder("vidur/crashed-orca-qps4")
    stated = {"policy": "mine", "replicate": 3, "manifest": {"model": "other", "precision": "fp16"}}
    (place / "run.json").write_text(json.dumps(stated), "utf-8")
    run: Run = import_vidur(place / "request_metrics.csv")
    assert (run.info.policy, run.info.replicate) == ("orca", 3)
    assert run.info.manifest.model == "meta-llama/Llama-2-7b-hf"
    assert run.info.manifest.precision == "fp16"


def test_a_servers_command_line() -> None:
    found = engine_command.manifest(
        "vllm serve org/model --dtype=bfloat16 -q awq -tp 4 --pipeline-parallel-size 2 "
        "--max-model-len 8K --max-num-batched-tokens 2048 --max-num-seqs 64 "
        "--enable-prefix-caching --block-size 32 --kv-cache-dtype fp8 "
        "--gpu-memory-utilization 0.9 --tokenizer org/tokens --enforce-eager",
        "OMP_NUM_THREADS=1 VLLM_CPU_KVCACHE_SPACE=4",
    )
    assert found == Manifest(
        model="org/model",
        tokenizer="org/tokens",
        engine="vLLM",
        precision="bfloat16",
        quantisation="awq",
        parallelism="tensor 4, pipeline 2",
        cache_policy="prefix caching on, block size 32, KV cache type fp8, KV cache space 4 GiB, "
        "memory share 0.9",
        token_budget=2048,
        batch_cap=64,
        context_limit=8192,
    )


def test_the_older_way_to_start_a_server() -> None:
    found = engine_command.manifest(
        "python -m vllm.entrypoints.openai.api_server --model org/model "
        "--no-enable-prefix-caching --enable-expert-parallel --max-model-len 8k"
    )
    assert found.model == "org/model"
    assert found.cache_policy == "prefix caching off"
    assert found.parallelism == "expert"
    assert found.context_limit == 8000


@pytest.mark.parametrize("command", ["", "sglang serve --max-num-seqs 4", "docker run engine"])
def test_another_server_is_not_taken_for_vllm(command: str) -> None:
    assert engine_command.manifest(command) == Manifest()


def test_a_quote_that_never_closes() -> None:
    assert engine_command.options("serve --seed 7 --note 'it") == {"seed": "7", "note": "'it"}
    assert engine_command.options("serve --a -1 --b --c=") == {"a": "-1", "b": "true", "c": ""}
