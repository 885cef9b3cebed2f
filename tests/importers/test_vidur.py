"""Real outputs of the Vidur simulator: whole, stopped at a limit, and crashed."""

import gzip
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway import record
from headway.errors import ImportRefusedError
from headway.importers import vidur_config
from headway.model import Boundary, IndexBasis, Load, LoadKind, OfferedBasis
from headway.record import Run

type_import = Callable[[Path], Run]
type_rows = Callable[[Run], pl.DataFrame]
type_folder = Callable[[str], Path]

METRICS = "request_metrics.csv"
TOKENS = "requests_with_token_times.jsonl.gz"


@pytest.fixture
def simulation(fixtures: Path, import_vidur: type_import) -> Callable[[str], Run]:
    return lambda name: import_vidur(fixtures / "vidur" / name / METRICS)


def codes(run: Run) -> dict[str, int]:
    return {finding.code: finding.count for finding in run.info.findings}


def outcomes(frame: pl.DataFrame) -> Counter[str]:
    return Counter(frame["outcome"].to_list())


def test_a_whole_simulation(simulation: Callable[[str], Run], rows: type_rows) -> None:
    run = simulation("sarathi-qps4")
    frame = rows(run)
    assert outcomes(frame) == {"completed": 500}
    ttft_ms = frame["ttft_us"].to_numpy() / 1e3
    assert np.percentile(ttft_ms, [50, 99]) == pytest.approx([113, 673], abs=0.5)
    assert codes(run) == {}


def test_the_columns_of_the_simulator_come_out_again(
    simulation: Callable[[str], Run], rows: type_rows, fixtures: Path
) -> None:
    native = pl.read_csv(fixtures / "vidur" / "sarathi-qps4" / METRICS)
    frame = rows(simulation("sarathi-qps4"))
    pairs = {
        "ttft_us": "prefill_e2e_time",
        "latency_us": "request_e2e_time",
        "queue_us": "request_scheduling_delay",
        "preempted_us": "request_preemption_time",
        "prefill_us": "prefill_time_execution_plus_preemption",
    }
    for ours, theirs in pairs.items():
        difference = (frame[ours] - native[theirs] * 1e6).to_numpy()
        assert np.abs(difference).max() <= 1.0
    assert frame["n_chunks"].to_list() == frame["output_tokens"].to_list()
    assert (frame["scheduled_us"] == frame["sent_us"]).all()
    assert (frame["latency_us"] == frame["ttft_us"] + frame["decode_us"]).all()


def test_what_the_configuration_says(simulation: Callable[[str], Run]) -> None:
    info = simulation("sarathi-qps4").info
    assert (info.policy, info.label) == ("sarathi", "sarathi-qps4")
    assert info.policy_parameters["chunk_size"] == "512"
    assert info.load == Load(LoadKind.TRACE, 4.0, arrivals="trace")
    assert (info.boundary, info.index_basis) == (Boundary.SIMULATOR, IndexBasis.SOURCE_ID)
    manifest = info.manifest
    assert manifest.engine == ("Vidur (simulated, approximate kernel profile: linear_regression)")
    assert (manifest.devices, manifest.parallelism) == ("1 × a100", "tensor 1, pipeline 1")
    assert (manifest.token_budget, manifest.batch_cap, manifest.context_limit) == (512, 128, 4096)
    assert manifest.dataset == "vidur_workload_conv500_qps1.csv"


def test_a_time_limit_cuts_requests_off(simulation: Callable[[str], Run], rows: type_rows) -> None:
    run = simulation("vllm-qps8-limit60s")
    frame = rows(run)
    assert run.info.n_offered == 500
    assert run.info.n_offered_basis is OfferedBasis.DECLARED
    assert run.info.time_limit_s == 60
    assert outcomes(frame) == {"completed": 266, "cut_off": 201, "not_sent": 33}
    assert frame["ttft_us"].len() - frame["ttft_us"].null_count() == 355
    assert frame.filter(pl.col("scheduled_us") < 60_000_000).height == 466
    assert frame.filter(pl.col("scheduled_us") < 60_015_400).height == 467
    assert codes(run) == {"time_limit": 234}


def test_what_was_seen_before_the_cut_is_kept(
    simulation: Callable[[str], Run], rows: type_rows
) -> None:
    cut = rows(simulation("vllm-qps8-limit60s")).filter(pl.col("outcome") == "cut_off")
    started = cut.filter(pl.col("ttft_us").is_not_null())
    assert started.height == 89
    assert (started["output_tokens"] == started["n_chunks"]).all()
    assert started["latency_us"].null_count() == started.height
    assert started["queue_us"].null_count() == 0
    waiting = cut.filter(pl.col("ttft_us").is_null())
    assert set(waiting["output_tokens"].to_list()) == {0}
    assert not cut["source_success"].any()


def test_requests_not_yet_due_have_their_time(
    simulation: Callable[[str], Run], rows: type_rows
) -> None:
    late = rows(simulation("vllm-qps8-limit60s")).filter(pl.col("outcome") == "not_sent")
    assert (late["scheduled_us"] > 60_000_000).all()
    assert late["sent_us"].null_count() == 33
    assert late["prompt_tokens"].null_count() == 0


@pytest.mark.parametrize(
    ("name", "completed", "cut_off"),
    [("crashed-orca-qps4", 19, 16), ("crashed-faster_transformer-qps8", 1, 4)],
)
def test_a_crash_is_recognised(
    name: str, completed: int, cut_off: int, simulation: Callable[[str], Run], rows: type_rows
) -> None:
    run = simulation(name)
    assert outcomes(rows(run)) == {"completed": completed, "cut_off": cut_off}
    assert run.info.n_offered_basis is OfferedBasis.ROWS
    assert codes(run) == {"run_crashed": cut_off, "plan_unknown": 1}
    found = {finding.code: finding.message for finding in run.info.findings}
    assert found["run_crashed"].startswith(
        f"{cut_off} of {cut_off + completed} requests have no latencies although no time limit"
    )


def test_a_workload_beside_a_crash_shows_what_was_not_reached(
    folder: type_folder, import_vidur: type_import, rows: type_rows
) -> None:
    place = folder("vidur/crashed-orca-qps4")
    delays = pl.read_csv(place / METRICS)["request_inter_arrival_delay"].fill_null(0)
    native = pl.read_csv(place / METRICS)
    plan = native.select(
        arrived_at=pl.Series(delays.cum_sum() / 0.25),
        num_prefill_tokens="request_num_prefill_tokens",
        num_decode_tokens="request_num_decode_tokens",
    )
    later = plan.tail(1).with_columns(pl.col("arrived_at") + 100)
    pl.concat([plan, later]).write_csv(place / "workload.csv")
    run = import_vidur(place / METRICS)
    assert outcomes(rows(run)) == {"completed": 19, "cut_off": 16, "not_sent": 1}
    assert run.info.n_offered_basis is OfferedBasis.DECLARED
    assert set(codes(run)) == {"run_crashed"}


def test_another_workload_is_not_used(folder: type_folder, import_vidur: type_import) -> None:
    place = folder("vidur/crashed-orca-qps4")
    (place / "workload.csv").write_text(
        "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,1,1\n9.0,1,1\n", "utf-8"
    )
    assert "sidecar_mismatch" in codes(import_vidur(place / METRICS))


@pytest.mark.parametrize("row", ["", "x,1,2\n", ",1,2\n", "1,1,2\n1e300,,\n", "1,2\n"])
def test_a_broken_workload_becomes_a_finding(
    row: str, folder: type_folder, import_vidur: type_import
) -> None:
    place = folder("vidur/crashed-orca-qps4")
    header = "arrived_at,num_prefill_tokens,num_decode_tokens\n"
    (place / "workload.csv").write_text(header + row, "utf-8")
    run = import_vidur(place / METRICS)
    assert set(codes(run)) & {"sidecar_unreadable", "sidecar_mismatch"}
    assert run.info.n_offered == 35


def test_a_number_of_requests_leaves_the_rest_without_a_time(
    folder: type_folder, import_vidur: type_import, rows: type_rows
) -> None:
    place = folder("vidur/crashed-orca-qps4")
    config = json.loads((place / "config.json").read_text("utf-8"))
    config["request_generator_config"] = {
        "name": "synthetic",
        "num_requests": 40,
        "interval_generator_config": {"name": "poisson", "qps": 2.5},
    }
    (place / "config.json").write_text(json.dumps(config), "utf-8")
    run = import_vidur(place / METRICS)
    frame = rows(run)
    assert outcomes(frame)["not_sent"] == 5
    assert frame.tail(5)["scheduled_us"].null_count() == 5
    assert run.info.load == Load(LoadKind.OPEN, 2.5, arrivals="poisson")
    assert run.info.manifest.arrival_process == "poisson"
    assert record.problems(run) == []


def test_samples_of_the_scheduler(simulation: Callable[[str], Run]) -> None:
    run = simulation("vllm-qps8-limit60s")
    assert run.state is not None
    state = pl.DataFrame(pl.from_arrow(run.state))
    assert state.height == 1645
    assert state["duration_us"].null_count() == 1
    assert state["at_us"].is_sorted()
    first = state.row(0, named=True)
    assert (first["running"], first["waiting"], first["paused"]) == (1, 0, 0)
    assert (first["kv_used"], first["kv_total"]) == (26 * 16, 7424 * 16)
    assert (first["prefill_tokens"], first["batch_size"], first["step"]) == (401, 1, 0)
    assert state["paused"].max() == 100
    assert state["kv_reserved"].null_count() == state.height


def test_without_observers_the_columns_alone_are_read(
    folder: type_folder, import_vidur: type_import, rows: type_rows
) -> None:
    place = folder("vidur/vllm-qps8-limit60s")
    for name in (TOKENS, "iterations.csv.gz", "summary.json"):
        (place / name).unlink()
    run = import_vidur(place / METRICS)
    frame = rows(run)
    assert run.state is None
    assert outcomes(frame) == {"completed": 266, "cut_off": 201}
    assert set(codes(run)) == {"time_limit", "plan_unknown"}
    assert frame["chunk_gaps_us"].null_count() == frame.height
    assert frame.filter(pl.col("outcome") == "cut_off")["output_tokens"].null_count() == 201


def test_a_summary_tells_how_many_there_were(
    folder: type_folder, import_vidur: type_import, rows: type_rows
) -> None:
    place = folder("vidur/vllm-qps8-limit60s")
    (place / TOKENS).unlink()
    (place / "summary.json").write_text('{"n": 500, "error": "AssertionError()"}', "utf-8")
    run = import_vidur(place / METRICS)
    assert outcomes(rows(run))["not_sent"] == 33
    assert codes(run)["simulator_error"] == 1


def test_without_a_configuration_the_policy_is_unknown(
    folder: type_folder, import_vidur: type_import
) -> None:
    place = folder("vidur/sarathi-qps4")
    (place / "config.json").unlink()
    run = import_vidur(place / METRICS)
    assert run.info.policy is None
    assert run.info.label is None
    assert "no_configuration" in codes(run)
    assert run.info.manifest.engine is None


def test_a_summary_of_unknown_shape_is_harmless(
    folder: type_folder, import_vidur: type_import
) -> None:
    place = folder("vidur/crashed-orca-qps4")
    (place / "config.json").write_text("[1, 2]", "utf-8")
    (place / "summary.json").write_text('{"n": "many", "error": 3}', "utf-8")
    run = import_vidur(place / METRICS)
    assert "sidecar_unreadable" in codes(run)
    assert run.info.n_offered == 35


@pytest.mark.parametrize("name", [TOKENS, "iterations.csv.gz"])
@pytest.mark.parametrize("content", [b"\x1f\x8b\x08 cut", b"\xff\xfe\x00", b"nothing,here\n1,2\n"])
def test_a_broken_file_of_an_observer_becomes_a_finding(
    name: str, content: bytes, folder: type_folder, import_vidur: type_import
) -> None:
    place = folder("vidur/sarathi-qps4")
    (place / name).write_bytes(content)
    run = import_vidur(place / METRICS)
    assert codes(run)["sidecar_unreadable"] == 1
    assert record.problems(run) == []


def test_token_times_of_another_simulation_are_not_used(
    folder: type_folder, import_vidur: type_import
) -> None:
    place = folder("vidur/sarathi-qps4")
    other = Path(__file__).parent / "vidur" / "vllm-qps8-limit60s" / TOKENS
    (place / TOKENS).write_bytes(other.read_bytes())
    assert "sidecar_mismatch" in codes(import_vidur(place / METRICS))


def test_a_row_lost_from_the_middle_is_unaccounted(
    folder: type_folder, import_vidur: type_import, rows: type_rows
) -> None:
    place = folder("vidur/sarathi-qps4")
    lines = (place / METRICS).read_text("utf-8").splitlines(keepends=True)
    (place / METRICS).write_text("".join(lines[:401]), "utf-8")
    run = import_vidur(place / METRICS)
    assert outcomes(rows(run)) == {"completed": 400, "unaccounted": 100}
    assert codes(run) == {"run_crashed": 100, "rows_missing": 100}


def test_schedulers_that_reserve_are_told_apart(
    folder: type_folder, import_vidur: type_import
) -> None:
    place = folder("vidur/sarathi-qps4")
    text = (place / "config.json").read_text("utf-8").replace('"sarathi"', '"orca"')
    (place / "config.json").write_text(text, "utf-8")
    run = import_vidur(place / METRICS)
    assert run.state is not None
    assert run.state["kv_reserved"].null_count == 0
    assert "cache_reserved" in codes(run)


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (lambda text: text[: len(text) // 2], "damaged"),
        (lambda text: text[:-3], "damaged"),
        (lambda text: text[:40], "damaged"),
        (lambda text: text.splitlines(keepends=True)[0], "empty"),
        (lambda text: text.replace("prefill_e2e_time", "first", 1), "foreign"),
        (lambda text: text.replace("\n1,", "\n0,", 1), "inconsistent"),
        (lambda text: text.replace("\n1,", "\nx,", 1), "inconsistent"),
        (lambda text: text.replace("\n1,", "\n1.5,", 1), "inconsistent"),
        (lambda text: text.replace("\n1,", "\n1,-", 1), "inconsistent"),
        (lambda text: text.replace("\n1,", "\n1,inf", 1), "inconsistent"),
        (lambda text: text.replace("\n1,1.0740640835061892,", "\n1,1e300,", 1), "inconsistent"),
        (lambda text: text.replace("\n1,", '\n1,"', 1), "damaged"),
    ],
)
def test_damage_is_refused(
    edit: Callable[[str], str], code: str, folder: type_folder, import_vidur: type_import
) -> None:
    path = folder("vidur/crashed-orca-qps4") / METRICS
    path.write_text(edit(path.read_text("utf-8")), "utf-8")
    with pytest.raises(ImportRefusedError) as refusal:
        import_vidur(path)
    assert refusal.value.code == code
    assert METRICS in str(refusal.value)


def test_compressed_metrics_are_read(
    folder: type_folder, import_vidur: type_import, rows: type_rows
) -> None:
    path = folder("vidur/crashed-orca-qps4") / METRICS
    packed = path.with_name(f"{METRICS}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert rows(import_vidur(packed)).drop("run_id").equals(rows(import_vidur(path)).drop("run_id"))


def test_a_lost_delay_is_refused(folder: type_folder, import_vidur: type_import) -> None:
    path = folder("vidur/crashed-orca-qps4") / METRICS
    table = pl.read_csv(path)
    table = table.with_columns(request_inter_arrival_delay=pl.lit(None, pl.Float64))
    buffer = io.BytesIO()
    table.write_csv(buffer)
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ImportRefusedError, match="request_inter_arrival_delay"):
        import_vidur(path)


@pytest.mark.parametrize(
    ("output", "label"),
    [
        ("runs/tuned/2026-11-29_18-44-29-157993", "tuned"),
        ("simulator_output/2026-11-29_18-44-29-157993", None),
        ("2026-11-29_18-44-29-157993", None),
        ("/", None),
        (7, None),
    ],
)
def test_labels(output: object, label: str | None) -> None:
    assert vidur_config.label({"metrics_config": {"output_dir": output}}) == label


@pytest.mark.parametrize(
    ("generator", "rate"),
    [
        ({"trace_file": "a_qps2.5.csv", "time_scale_factor": 0.5}, 5.0),
        ({"trace_file": "a_qps2.csv"}, None),
        ({"trace_file": "a_qps2.csv", "time_scale_factor": 0}, None),
        ({"trace_file": "a.csv", "time_scale_factor": 0.5}, None),
        ({}, None),
    ],
)
def test_the_rate_of_a_replayed_trace(generator: dict[str, object], rate: float | None) -> None:
    config = {"request_generator_config": {"name": "trace_replay", **generator}}
    assert vidur_config.load(config).declared_rps == rate
