"""Every dialect of vLLM's result file, made from a real one by changing its keys."""

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from headway import importers, record
from headway.errors import ImportRefusedError
from headway.importers.source import Source
from headway.model import Clock, IndexBasis, Load, LoadKind, OfferedBasis
from headway.record import Run

type_edit = Callable[..., Path]
type_import = Callable[[Path], Run]
type_rows = Callable[[Run], pl.DataFrame]

REAL = "rate4-burst0.1"


def codes(run: Run) -> set[str]:
    return {finding.code for finding in run.info.findings}


def test_before_0_32_there_are_no_latencies_and_no_waits(
    edited: type_edit, import_vllm: type_import, rows: type_rows, fixtures: Path
) -> None:
    run = import_vllm(edited(REAL, "latencies", "queue_times"))
    whole = rows(import_vllm(fixtures / "vllm" / REAL / "result.json"))
    frame = rows(run)
    assert ((frame["latency_us"] - whole["latency_us"]).abs() <= 1).all()
    assert frame["scheduled_us"].null_count() == 100
    assert frame["sent_us"].min() == 0
    assert run.info.clock is Clock.MONOTONIC
    assert "no_queue_times" not in codes(run)


def test_before_0_32_waits_for_a_free_slot_are_lost(
    edited: type_edit, import_vllm: type_import
) -> None:
    run = import_vllm(edited(REAL, "latencies", "queue_times", max_concurrency=8))
    assert "no_queue_times" in codes(run)


def test_before_0_16_there_are_no_send_times(
    edited: type_edit, import_vllm: type_import, rows: type_rows
) -> None:
    run = import_vllm(edited(REAL, "latencies", "queue_times", "start_times"))
    frame = rows(run)
    for unknown in ("scheduled_us", "sent_us", "ended_us"):
        assert frame[unknown].null_count() == 100
    assert frame["latency_us"].null_count() == 0
    assert run.info.clock is Clock.NONE
    assert "no_send_times" in codes(run)
    assert record.problems(record.seal(run)) == []


def test_before_0_12_failures_are_not_counted(edited: type_edit, import_vllm: type_import) -> None:
    run = import_vllm(edited("faults-proxy-rate5", "failed"))
    assert run.info.tool.n_failed is None
    assert run.info.tool.n_completed == 86


def test_the_first_script_and_its_key_with_a_colon(
    edited: type_edit, import_vllm: type_import
) -> None:
    newer = [
        "latencies",
        "queue_times",
        "start_times",
        "failed",
        "endpoint_type",
        "label",
        "rtfx",
        "max_output_tokens_per_s",
        "max_concurrent_requests",
        "request_goodput",
    ]
    path = edited(REAL, *newer, **{"best_of": 1, "request_goodput:": None})
    assert importers.find(path) is importers.load("vllm")
    run = import_vllm(path)
    assert run.info.n_offered == 100
    assert run.info.tool.requests_per_s is not None


def test_the_first_cli_has_no_backend(edited: type_edit, import_vllm: type_import) -> None:
    path = edited(REAL, "backend")
    assert importers.find(path) is importers.load("vllm")
    assert import_vllm(path).info.load.declared_rps == 4.0


def test_an_empty_answer_was_a_success_once(
    edited: type_edit, import_vllm: type_import, rows: type_rows, fixtures: Path
) -> None:
    value = json.loads((fixtures / "vllm" / REAL / "result.json").read_text("utf-8"))
    for key, nothing in {"ttfts": 0.0, "latencies": 0.0, "output_lens": 0, "itls": []}.items():
        value[key][5] = nothing
    row = rows(import_vllm(edited(REAL, **value))).row(5, named=True)
    assert (row["outcome"], row["source_success"]) == ("failed", True)
    assert (row["ttft_us"], row["latency_us"]) == (None, None)
    value["completed"] = 99
    row = rows(import_vllm(edited(REAL, **value))).row(5, named=True)
    assert (row["outcome"], row["source_success"]) == ("failed", False)


@pytest.mark.parametrize(
    ("changes", "load"),
    [
        ({"request_rate": 3}, Load(LoadKind.OPEN, 3.0, None, "gamma", 0.1)),
        ({"request_rate": "3.0"}, Load(LoadKind.OPEN, 3.0, None, "gamma", 0.1)),
        ({"request_rate": 3, "burstiness": 1.0}, Load(LoadKind.OPEN, 3.0, None, "poisson", 1.0)),
        ({"burstiness": math.inf}, Load(LoadKind.OPEN, 4.0, None, "constant", None)),
        ({"max_concurrency": 8}, Load(LoadKind.OPEN, 4.0, 8, "gamma", 0.1)),
        ({"request_rate": "inf"}, Load(LoadKind.UNLIMITED)),
        ({"request_rate": math.inf}, Load(LoadKind.UNLIMITED)),
        ({"request_rate": "inf", "max_concurrency": 4}, Load(LoadKind.CLOSED, concurrency=4)),
        ({"request_rate": None}, Load(LoadKind.UNLIMITED)),
        (
            {
                "request_rate": "inf",
                "ramp_up_strategy": "linear",
                "ramp_up_start_rps": 2,
                "ramp_up_end_rps": 14,
                "rps_change_events": [{"rps": 2, "timestamp": "2026-11-29T18:39:22"}],
            },
            Load(LoadKind.OPEN, arrivals="ramp", phases="linear 2→14 req/s"),
        ),
    ],
)
def test_loads(
    changes: dict[str, Any], load: Load, edited: type_edit, import_vllm: type_import
) -> None:
    assert import_vllm(edited(REAL, **changes)).info.load == load


def test_a_ramp_marks_its_requests(
    edited: type_edit, import_vllm: type_import, rows: type_rows
) -> None:
    path = edited(REAL, ramp_up_strategy="linear", ramp_up_start_rps=2, ramp_up_end_rps=14)
    assert rows(import_vllm(path))["segment"].unique().to_list() == ["ramp"]


def test_waits_in_the_client_count_from_the_intended_arrival(
    edited: type_edit, import_vllm: type_import, rows: type_rows
) -> None:
    waits = [0.0] * 50 + [2.0] * 50
    run = import_vllm(edited(REAL, queue_times=waits, max_concurrency=8))
    frame = rows(run)
    slip_us = frame["sent_us"] - frame["scheduled_us"]
    assert (slip_us.head(50) <= 1).all()
    assert ((slip_us.tail(50) - 2_000_000).abs() <= 1).all()
    assert frame["scheduled_us"].min() == 0
    assert "client_queue" in codes(run)


def test_metadata_are_text_at_the_top(edited: type_edit, import_vllm: type_import) -> None:
    info = import_vllm(edited(REAL, max_num_seqs="64", team="search", label="tuned")).info
    assert info.manifest.batch_cap == 64
    assert (info.label, info.policy) == ("tuned", "tuned")


def test_several_objects_are_several_runs(edited: type_edit, tmp_path: Path) -> None:
    first = edited(REAL, burstiness=math.inf).read_text("utf-8")
    second = edited(REAL, request_rate=8.0).read_text("utf-8")
    path = tmp_path / "appended.json"
    path.write_text(f"{first}\n{second}", "utf-8")
    importer = importers.load("vllm")
    assert importer.claims(path)
    runs = list(importer.runs(Source.open(path)))
    assert [run.info.load.declared_rps for run in runs] == [4.0, 8.0]
    assert runs[0].info.run_id != runs[1].info.run_id
    # The second run keeps its id while further results are appended only as long as the bytes stay.
    assert runs[0].info.run_id == Source.open(path).run_id(0)


def test_compressed_results_are_read(edited: type_edit, tmp_path: Path) -> None:
    path = tmp_path / "result.json.gz"
    path.write_bytes(gzip.compress(edited(REAL).read_bytes()))
    assert importers.find(path) is importers.load("vllm")
    (run,) = importers.load("vllm").runs(Source.open(path))
    assert run.info.n_offered == 100


def test_sorted_and_indented_keys_are_still_recognised(edited: type_edit) -> None:
    path = edited(REAL)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2, sort_keys=True), "utf-8")
    assert importers.find(path) is importers.load("vllm")


@pytest.mark.parametrize(
    "name", ["summary.json", "warmup.json", "run=0.failure.json", "SERVE--a-failure.json"]
)
def test_the_other_files_of_a_sweep_are_no_runs(
    name: str, edited: type_edit, tmp_path: Path
) -> None:
    path = edited(REAL).rename(tmp_path / name)
    assert importers.find(path) is None


def test_requests_missing_from_the_lists_are_unaccounted(
    edited: type_edit, import_vllm: type_import, rows: type_rows
) -> None:
    run = import_vllm(edited(REAL, num_prompts=103))
    assert (run.info.n_offered, run.info.n_offered_basis) == (103, OfferedBasis.DECLARED)
    assert rows(run).tail(3)["outcome"].to_list() == ["unaccounted"] * 3
    assert "rows_missing" in codes(run)
    assert record.problems(record.seal(run)) == []


def test_more_rows_than_declared_all_count(edited: type_edit, import_vllm: type_import) -> None:
    run = import_vllm(edited(REAL, num_prompts=90))
    assert (run.info.n_offered, run.info.n_offered_basis) == (100, OfferedBasis.ROWS)
    assert "rows_surplus" in codes(run)


def test_an_absurd_number_of_prompts_is_refused(
    edited: type_edit, import_vllm: type_import
) -> None:
    with pytest.raises(ImportRefusedError, match="num_prompts is 2000000000"):
        import_vllm(edited(REAL, num_prompts=2_000_000_000))


def test_a_total_that_the_rows_contradict(edited: type_edit, import_vllm: type_import) -> None:
    assert "count_mismatch" in codes(import_vllm(edited(REAL, completed=97)))


def test_zeros_of_a_run_without_success_are_not_measured(
    edited: type_edit, import_vllm: type_import
) -> None:
    run = import_vllm(edited(REAL, completed=0, mean_ttft_ms=0.0, errors=["Bad Gateway"] * 100))
    assert run.info.tool.aggregates == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ttfts": [0.1] * 99}, "differ in length"),
        ({"errors": ["", ""]}, "differ in length"),
        ({"latencies": "none"}, "latencies is str"),
        ({"ttfts": ["fast"] * 100}, r"ttfts\[0\] is 'fast'"),
        ({"ttfts": [-1.0] * 100}, r"ttfts\[0\] is -1.0"),
        ({"ttfts": [1e300] * 100}, r"ttfts\[0\] is 1e\+300"),
        ({"itls": [["x"]] * 100}, r"itls\[0\]"),
        ({"itls": [[math.nan]] * 100}, r"itls\[0\]"),
        ({"itls": [0.1] * 100}, r"itls\[0\]"),
    ],
)
def test_contradictions_are_refused(
    changes: dict[str, Any], message: str, edited: type_edit, import_vllm: type_import
) -> None:
    with pytest.raises(ImportRefusedError, match=message) as refusal:
        import_vllm(edited(REAL, **changes))
    assert refusal.value.code == "inconsistent"


def test_lists_without_an_entry_are_refused(edited: type_edit, import_vllm: type_import) -> None:
    empty: dict[str, list[float]] = {
        name: []
        for name in (
            "input_lens output_lens ttfts itls errors latencies start_times queue_times".split()
        )
    }
    with pytest.raises(ImportRefusedError, match="without an entry"):
        import_vllm(edited(REAL, **empty))


def test_missing_numbers_are_unknown(
    edited: type_edit, import_vllm: type_import, rows: type_rows, fixtures: Path
) -> None:
    value = json.loads((fixtures / "vllm" / REAL / "result.json").read_text("utf-8"))
    value["start_times"][3] = math.nan
    value["input_lens"][4] = None
    frame = rows(import_vllm(edited(REAL, **value)))
    assert frame["sent_us"][3] is None
    assert frame["latency_us"][3] is not None
    assert frame["prompt_tokens"][4] is None


def test_text_that_is_no_valid_unicode_is_mended(
    edited: type_edit, import_vllm: type_import, rows: type_rows
) -> None:
    path = edited(REAL, errors=["boom \ud800"] * 100, completed=0)
    assert rows(import_vllm(path))["reason"][0] == "boom ?"


def test_a_workload_of_another_result_is_not_used(
    folder: Callable[[str], Path], import_vllm: type_import
) -> None:
    place = folder("vllm/faults-proxy-rate5")
    workload = json.loads((place / "workload.json").read_text("utf-8"))
    (place / "workload.json").write_text(json.dumps(workload[:50]), "utf-8")
    run = import_vllm(place / "result.json")
    assert run.info.index_basis is IndexBasis.ORDER
    assert {"sidecar_mismatch", "short_answers_undetectable"} <= codes(run)
    for entry in workload:
        entry["prompt_len"] += 500
    (place / "workload.json").write_text(json.dumps(workload), "utf-8")
    assert "sidecar_mismatch" in codes(import_vllm(place / "result.json"))


def test_a_shuffled_workload_is_put_in_order(
    folder: Callable[[str], Path], import_vllm: type_import, rows: type_rows
) -> None:
    place = folder("vllm/faults-proxy-rate5")
    workload = json.loads((place / "workload.json").read_text("utf-8"))
    (place / "workload.json").write_text(json.dumps(workload[::-1]), "utf-8")
    assert rows(import_vllm(place / "result.json"))["request_id"][1] == "frozen7-1"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"3", b'[{"i": 0}, 4]'])
def test_a_broken_workload_becomes_a_finding(
    content: bytes, folder: Callable[[str], Path], import_vllm: type_import
) -> None:
    place = folder("vllm/faults-proxy-rate5")
    (place / "workload.json").write_bytes(content)
    assert "sidecar_unreadable" in codes(import_vllm(place / "result.json"))


def test_without_a_command_exact_lengths_say_that_they_were_forced(
    folder: Callable[[str], Path], import_vllm: type_import, rows: type_rows
) -> None:
    place = folder("vllm/faults-proxy-rate5")
    (place / "run.json").unlink()
    frame = rows(import_vllm(place / "result.json"))
    assert frame.filter(pl.col("outcome") == "truncated")["request_index"].to_list() == [
        20,
        24,
        70,
        74,
    ]


def test_answers_of_free_length_are_not_called_short(
    folder: Callable[[str], Path], import_vllm: type_import, rows: type_rows
) -> None:
    place = folder("vllm/faults-proxy-rate5")
    command = "vllm bench serve --dataset-name sharegpt --dataset-path data/sharegpt.json"
    (place / "run.json").write_text(json.dumps({"bench_command": command}), "utf-8")
    run = import_vllm(place / "result.json")
    truncated = rows(run).filter(pl.col("outcome") == "truncated")
    assert truncated["output_tokens"].to_list() == [0]
    assert truncated["reason"].to_list() == ["0 output tokens; no error recorded"]
    assert "short_answers_undetectable" in codes(run)
    assert run.info.manifest.dataset == "sharegpt sharegpt.json"
