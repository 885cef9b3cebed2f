"""AIPerf's own files: every request, what became of it, and what the tool's rows get wrong."""

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from headway import record
from headway.errors import ImportRefusedError
from headway.importers import aiperf, aiperf_files, spool
from headway.importers.aiperf_files import Count
from headway.importers.source import Source
from headway.model import IndexBasis, Load, LoadKind, OfferedBasis, TokenCounter
from headway.record import Run

type_import = Callable[[Path], Run]
type_rows = Callable[[Run], pl.DataFrame]
type_folder = Callable[[str], Path]

RECORDS = "profile_export.jsonl"
RAW = "profile_export_raw.jsonl.gz"
TOTALS = "profile_export_aiperf.json"
FAULTS = "aiperf/faults-rate12/raw/out"
CLEAN = "aiperf/clean-conc4/raw/out"
STUDY = "aiperf/study/kv96-rate6.8"

# What the server says it did, and the outcome that this is for the client.
BECAME = {
    "ok": "completed",
    "429": "rejected",
    "500": "failed",
    "reset": "failed",
    "errev": "truncated",
    "nodone": "truncated",
}


def codes(run: Run) -> dict[str, int]:
    return {finding.code: finding.count for finding in run.info.findings}


def outcomes(frame: pl.DataFrame) -> dict[str, int]:
    return dict(Counter(frame["outcome"].to_list()))


def served(path: Path) -> dict[str, dict[str, Any]]:
    """Return the server's account by the id that the client sent."""
    entries = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {entry["headers"]["X-Request-ID"]: entry for entry in entries}


def edit(path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    entries = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in change(entries)), "utf-8")


def test_every_outcome_is_what_the_server_says(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    frame = rows(import_aiperf(fixtures / FAULTS / RECORDS))
    account = served(fixtures / "aiperf/faults-rate12/server.jsonl")
    assert len(account) == frame.height == 90
    for row in frame.iter_rows(named=True):
        entry = account[row["request_id"]]
        gone = {"stall": "timed_out"}.get(entry["fault"], "cancelled")
        assert row["outcome"] == BECAME.get(entry["status"], gone), entry
        assert row["requested_output_tokens"] == entry["body"]["max_completion_tokens"]
    assert outcomes(frame) == {
        "completed": 57,
        "truncated": 3,
        "cancelled": 10,
        "rejected": 9,
        "timed_out": 4,
        "failed": 7,
    }


def test_the_reasons_are_kept(fixtures: Path, import_aiperf: type_import, rows: type_rows) -> None:
    frame = rows(import_aiperf(fixtures / FAULTS / RECORDS))
    reasons = frame.filter(pl.col("outcome") != "completed")["reason"]
    assert reasons.null_count() == 0
    start = Counter(reason.split(":")[0].split("(")[0] for reason in reasons)
    assert start == {
        "RequestCancellationError": 10,
        "Too Many Requests": 9,
        "Internal Server Error": 3,
        "ClientPayloadError": 4,
        "TimeoutError": 4,
        "the stream was closed without its end": 2,
        "error event in the stream": 1,
    }
    statuses = frame.drop_nulls("http_status")["http_status"].value_counts().rows()
    assert dict(statuses)[429] == 9
    assert dict(statuses)[500] == 3


def test_the_tool_counts_more_than_were_completed(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    run = import_aiperf(fixtures / FAULTS / RECORDS)
    assert rows(run)["source_success"].sum() == 60
    assert run.info.tool.n_completed == 60
    [finding] = [each for each in run.info.findings if each.code == "short_success"]
    assert finding.count == 3
    assert "counts 60 successes" in finding.message
    assert "completes 57" in finding.message


@pytest.mark.parametrize(
    "run",
    ["clean-conc4/raw/out", "faults-rate12/raw/out", "multiturn/raw/out"]
    + [f"sweep-rate/raw/out/rate_{rate}" for rate in ("6.0", "20.0")],
)
def test_the_tools_own_percentiles_come_out_again(
    run: str, fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    folder = fixtures / "aiperf" / run
    totals = json.loads((folder / TOTALS).read_text("utf-8"))
    frame = rows(import_aiperf(folder / RECORDS)).filter("source_success")
    tokens = frame.filter(pl.col("output_tokens") > 1)
    computed = {
        "time_to_first_token": frame["ttft_us"],
        "request_latency": frame["latency_us"],
        "inter_token_latency": (tokens["latency_us"] - tokens["ttft_us"])
        / (tokens["output_tokens"] - 1),
        "inter_chunk_latency": frame["chunk_gaps_us"].explode().drop_nulls(),
    }
    for name, values_us in computed.items():
        for q in (50, 95, 99):
            found_ms = np.percentile(values_us.to_numpy(), q) / 1e3
            assert found_ms == pytest.approx(totals[name][f"p{q}"], rel=1e-3), (name, q)


def test_a_cancelled_row_begins_with_its_cancellation(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    """The server saw them arrive about 0.25 s before the start that the rows state."""
    run = import_aiperf(fixtures / FAULTS / RECORDS)
    account = served(fixtures / "aiperf/faults-rate12/server.jsonl")
    cancelled = rows(run).filter(outcome="cancelled")
    for row in cancelled.iter_rows(named=True):
        entry = account[row["request_id"]]
        took_s = (row["ended_us"] - row["sent_us"]) / 1e6
        assert took_s == pytest.approx(entry["t_end"] - entry["t_recv"], abs=0.02)
        assert row["sent_us"] == row["scheduled_us"]
        assert row["latency_us"] is None
    assert codes(run)["cancelled_start_shifted"] == cancelled.height == 10


def test_a_cancelled_row_with_a_true_start_is_left_alone(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    run = import_aiperf(fixtures / "aiperf/07-aiperf-warmup-cancelled-errors" / RECORDS)
    [row] = rows(run).filter(outcome="cancelled").to_dicts()
    assert row["ended_us"] - row["sent_us"] == 3_000_000
    assert "cancelled_start_shifted" not in codes(run)


def test_a_timed_out_request_lasts_to_the_deadline_and_keeps_its_tokens(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    """The rows end with the last event and have no metrics; the raw export has the tokens."""
    account = served(fixtures / "aiperf/faults-rate12/server.jsonl")
    timed_out = rows(import_aiperf(fixtures / FAULTS / RECORDS)).filter(outcome="timed_out")
    for row in timed_out.iter_rows(named=True):
        entry = account[row["request_id"]]
        assert row["ended_us"] - row["sent_us"] == 3_000_000
        assert entry["t_end"] - entry["t_recv"] == pytest.approx(3.0, abs=0.03)
        assert row["n_chunks"] == len(row["chunk_gaps_us"]) + 1 == len(entry["token_t"])
        ttft_s = entry["token_t"][0] - entry["t_recv"]
        assert row["ttft_us"] / 1e6 == pytest.approx(ttft_s, abs=0.05)
        assert row["output_tokens"] is None


def test_a_rejected_row_repeats_its_start_as_its_end(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    frame = rows(import_aiperf(fixtures / FAULTS / RECORDS))
    assert frame.filter(outcome="rejected")["ended_us"].null_count() == 9
    stated = rows(
        import_aiperf(fixtures / "aiperf/07-aiperf-warmup-cancelled-errors" / RECORDS)
    ).filter(outcome="rejected")
    assert (stated["ended_us"] - stated["sent_us"]).to_list() == [5000]


def test_raw_and_records_give_the_same_requests(
    folder: type_folder, import_aiperf: type_import, rows: type_rows
) -> None:
    """Alone, either has every request; both together have the events of the failures too."""
    out = folder(FAULTS)
    both = rows(import_aiperf(out / RECORDS)).sort("request_index")
    (out / TOTALS).unlink()
    (out / RECORDS).rename(out / "alone.jsonl")
    records = rows(import_aiperf(out / "alone.jsonl")).sort("request_index")
    assert aiperf.IMPORTER.claims(out / RAW)
    raw = rows(import_aiperf(out / RAW)).sort("request_index")
    same = ["request_index", "request_id", "outcome", "sent_us", "scheduled_us"]
    assert raw.select(same).equals(both.select(same))
    assert records.select(same).equals(both.select(same))
    completed = both["outcome"] == "completed"
    for name in ("ttft_us", "latency_us", "output_tokens", "prompt_tokens", "n_chunks"):
        assert raw.filter(completed)[name].equals(both.filter(completed)[name]), name
    assert records.filter(outcome="timed_out")["ttft_us"].null_count() == 4


def test_without_usage_elsewhere_nothing_is_called_truncated(
    folder: type_folder, import_aiperf: type_import, rows: type_rows
) -> None:
    out = folder(CLEAN)
    (out / RAW).unlink()

    def without_usage(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for entry in entries:
            metrics = entry["metrics"]
            entry["metrics"] = {k: v for k, v in metrics.items() if "usage" not in k}
        return entries

    edit(out / RECORDS, without_usage)
    assert outcomes(rows(import_aiperf(out / RECORDS))) == {"completed": 40}


def test_a_forced_length_that_is_not_reached_is_truncated(
    folder: type_folder, import_aiperf: type_import, rows: type_rows
) -> None:
    """No row has usage; one answer lost its last chunks, and the schedule forces the length."""
    out = folder(STUDY)

    def shortened(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for entry in entries:
            entry["metrics"] = {k: v for k, v in entry["metrics"].items() if "usage" not in k}
        metrics = entries[0]["metrics"]
        metrics["inter_chunk_latency"]["value"] = metrics["inter_chunk_latency"]["value"][:3]
        metrics["output_sequence_length"]["value"] = 4
        return entries

    edit(out / RECORDS, shortened)
    found = outcomes(rows(import_aiperf(out / RECORDS)))
    assert found == {"completed": 125, "truncated": 1, "cancelled": 7, "timed_out": 47}


@pytest.fixture
def cut(folder: type_folder) -> Path:
    """Return the folder of a run that was stopped: the log counts what the records do not have."""
    out = folder(CLEAN)
    edit(out / RECORDS, lambda entries: [e for e in entries if e["metadata"]["session_num"] < 20])
    log = (out / aiperf_files.LOG).read_text("utf-8")
    log = log.replace("sent=40, completed=37, in_flight=3", "sent=33, completed=20, in_flight=13")
    log = log.replace(
        "complete | completed=40, cancelled=0", "complete | completed=20, cancelled=12"
    )
    (out / aiperf_files.LOG).write_text(log, "utf-8")
    return out


def test_requests_open_at_the_end_come_from_the_log(
    cut: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    run = import_aiperf(cut / RECORDS)
    assert outcomes(rows(run)) == {
        "completed": 20,
        "cut_off": 12,
        "unaccounted": 1,
        "not_sent": 7,
    }
    assert run.info.n_offered == 40
    assert run.info.n_offered_basis is OfferedBasis.DECLARED
    assert codes(run)["in_flight_dropped"] == 12
    assert sorted(rows(run)["request_index"]) == list(range(40))
    unknown = rows(run).filter(outcome="unaccounted")
    assert unknown["request_index"].to_list() == [20]


def test_a_run_that_stops_by_time_offers_what_it_sent(
    cut: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    log = cut / aiperf_files.LOG
    log.write_text(log.read_text("utf-8").replace("target: 40 requests", "target: 3s"), "utf-8")
    totals = json.loads((cut / TOTALS).read_text("utf-8"))
    totals["input_config"]["phases"][0] = {"type": "concurrency", "concurrency": 4, "duration": 3}
    (cut / TOTALS).write_text(json.dumps(totals), "utf-8")
    run = import_aiperf(cut / RECORDS)
    assert (run.info.n_offered, run.info.n_offered_basis) == (33, OfferedBasis.LOG)
    assert run.info.time_limit_s == 3
    assert outcomes(rows(run)) == {"completed": 20, "cut_off": 12, "unaccounted": 1}


def test_records_alone_are_a_lower_bound(
    fixtures: Path, tmp_path: Path, import_aiperf: type_import
) -> None:
    shutil.copy(fixtures / CLEAN / RECORDS, tmp_path)
    run = import_aiperf(tmp_path / RECORDS)
    assert run.info.n_offered_basis is OfferedBasis.ROWS
    assert {"offered_lower_bound", "load_inferred"} <= set(codes(run))
    assert run.info.load == Load(LoadKind.CLOSED, concurrency=4)


def test_the_load_comes_from_the_configuration(fixtures: Path, import_aiperf: type_import) -> None:
    assert import_aiperf(fixtures / FAULTS / RECORDS).info.load == Load(
        LoadKind.OPEN, 12.0, None, "poisson", 1.0
    )
    multiturn = import_aiperf(fixtures / "aiperf/multiturn/raw/out" / RECORDS)
    assert multiturn.info.load == Load(LoadKind.CLOSED, concurrency=4)
    study = import_aiperf(fixtures / STUDY / RECORDS)
    assert study.info.load.kind is LoadKind.TRACE
    assert study.info.load.declared_rps == 6.8


def test_turns_of_a_session_are_requests_of_their_own(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    frame = rows(import_aiperf(fixtures / "aiperf/multiturn/raw/out" / RECORDS))
    turns = frame.group_by("session_id").agg(pl.col("turn_index").sort())
    assert turns.height == 8
    assert all(found == [0, 1, 2] for found in turns["turn_index"].to_list())


def test_a_damaged_line_is_a_finding_and_its_request_unaccounted(
    folder: type_folder, import_aiperf: type_import, rows: type_rows
) -> None:
    out = folder(FAULTS)
    lines = (out / RECORDS).read_text("utf-8").splitlines()
    lines[3] = lines[3][:200]
    (out / RECORDS).write_text("\n".join(lines), "utf-8")
    run = import_aiperf(out / RECORDS)
    assert run.info.n_offered == 90
    assert outcomes(rows(run))["unaccounted"] == 1
    assert codes(run)["damaged_lines"] == codes(run)["rows_missing"] == 1


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda lines: [line[:50] for line in lines], "damaged", "no line that is a whole record"),
        (lambda lines: [*lines, lines[0]], "inconsistent", "2 rows with session_num"),
        (
            lambda lines: [lines[0].replace('"session_num":', '"session_num": 999999'), *lines[1:]],
            "inconsistent",
            "at most 1000000 without a row",
        ),
    ],
)
def test_what_is_no_run_is_refused(
    change: Callable[[list[str]], list[str]],
    code: str,
    words: str,
    folder: type_folder,
    import_aiperf: type_import,
) -> None:
    out = folder(FAULTS)
    lines = (out / RECORDS).read_text("utf-8").splitlines()
    (out / RECORDS).write_text("\n".join(change(lines)), "utf-8")
    with pytest.raises(ImportRefusedError, match=words) as refusal:
        import_aiperf(out / RECORDS)
    assert refusal.value.code == code


def test_totals_alone_are_refused_with_what_to_run_again(
    fixtures: Path, tmp_path: Path, import_aiperf: type_import
) -> None:
    path = Path(shutil.copy(fixtures / CLEAN / TOTALS, tmp_path))
    assert aiperf.IMPORTER.claims(path)
    assert not aiperf.IMPORTER.claims(fixtures / CLEAN / TOTALS)
    with pytest.raises(ImportRefusedError, match="--export-level records") as refusal:
        import_aiperf(path)
    assert refusal.value.code == "aggregate_only"


def test_a_cell_that_was_never_run_is_named(
    folder: type_folder, import_aiperf: type_import
) -> None:
    out = folder("aiperf/sweep-rate/raw/out")
    (out / "rate_6.0" / RECORDS).unlink()
    run = import_aiperf(out / "rate_20.0" / RECORDS)
    [finding] = [each for each in run.info.findings if each.code == "cells_not_run"]
    assert "rate_6.0" in finding.message


def test_warm_up_is_a_phase_of_its_own(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    folder = fixtures / "aiperf/07-aiperf-warmup-cancelled-errors"
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    run = import_aiperf(folder / RECORDS)
    frame = rows(run)
    measured = frame.filter(phase="measured")
    assert run.info.n_warmup == expected["warmup"]
    assert run.info.n_offered == expected["offered"]
    assert sorted(measured["request_index"]) == list(range(8))
    found = outcomes(measured)
    assert found["completed"] == expected["completed"]
    assert found["cancelled"] == expected["cancelled"]
    assert found["rejected"] + found["timed_out"] == expected["failed"]
    completed = measured.filter(outcome="completed")
    ttft_ms = completed["ttft_us"].to_numpy() / 1e3
    assert np.median(ttft_ms) == expected["ttft_ms"]["p50"]
    assert np.percentile(ttft_ms, 99) == pytest.approx(expected["ttft_ms"]["p99_linear"])
    assert ttft_ms.max() == expected["ttft_ms"]["max"]
    assert np.median(completed["latency_us"].to_numpy()) / 1e3 == expected["e2e_ms_p50"]
    tpot_us = (completed["latency_us"] - completed["ttft_us"]) / (completed["output_tokens"] - 1)
    assert set(tpot_us.to_list()) == {expected["itl_ms"] * 1e3}
    assert measured["output_tokens"].sum() == expected["output_tokens_completed"]
    assert run.info.started_at == expected["start_utc"].replace("Z", ".000+00:00")


def test_two_counts_of_tokens_are_never_mixed(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    folder = fixtures / "aiperf/13-token-count-disagreement"
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    run = import_aiperf(folder / RECORDS)
    assert rows(run)["output_tokens"].sum() == expected["client_tokens"]
    assert codes(run)["token_counts_disagree"] == expected["rows_disagreeing_gt1"]
    source = Source.open(folder / RECORDS, counter=TokenCounter.SERVER)
    [other] = list(aiperf.IMPORTER.runs(source))
    assert rows(record.seal(other))["output_tokens"].sum() == expected["server_tokens"]
    assert "server" in other.info.token_basis


def test_a_schedule_beside_the_records_is_the_plan(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    """Rows stand in order of completion; the plan puts them in the order they were offered."""
    run = import_aiperf(fixtures / STUDY / RECORDS)
    frame = rows(run).sort("request_index")
    plan = [
        json.loads(line)
        for line in (fixtures / STUDY / aiperf_files.PLAN).read_text("utf-8").splitlines()
    ]
    assert run.info.index_basis is IndexBasis.PLAN
    assert run.info.n_offered_basis is OfferedBasis.DECLARED
    assert frame["session_id"].to_list() == [entry["session_id"] for entry in plan]
    assert frame["scheduled_us"].to_list() == [1000 * entry["timestamp"] for entry in plan]
    assert frame["prompt_tokens"].to_list() == [entry["input_length"] for entry in plan]
    assert frame["requested_output_tokens"].to_list() == [e["output_length"] for e in plan]
    assert all(frame["sent_us"] >= frame["scheduled_us"])
    assert Counter(frame["segment"]) == {"steady": 100, "burst": 45, "recovery": 35}
    groups = Counter(frame["prefix_group"].drop_nulls())
    assert sorted(groups.values()) == [10, 15, 16, 19]


def test_a_schedule_of_another_pace_is_not_believed(
    folder: type_folder, import_aiperf: type_import, rows: type_rows
) -> None:
    out = folder(STUDY)
    edit(
        out / aiperf_files.PLAN,
        lambda plan: [entry | {"timestamp": entry["timestamp"] * 6.8} for entry in plan],
    )
    run = import_aiperf(out / RECORDS)
    assert run.info.index_basis is IndexBasis.SOURCE_ID
    assert codes(run)["plan_ignored"] == 1
    assert rows(run)["request_index"].sort().to_list() == list(range(180))


def test_partial_answers_keep_the_time_of_their_first_token(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    run = import_aiperf(fixtures / STUDY / RECORDS)
    timed_out = rows(run).filter(outcome="timed_out")
    assert timed_out.height == 47
    assert timed_out["ttft_us"].drop_nulls().len() == codes(run)["partial_answers"] == 30
    assert (timed_out["ended_us"] - timed_out["sent_us"]).unique().to_list() == [10_000_000]


def test_server_samples_stand_on_the_clock_of_the_requests(
    fixtures: Path, import_aiperf: type_import, rows: type_rows
) -> None:
    run = import_aiperf(fixtures / STUDY / RECORDS)
    assert run.state is not None
    state = pl.DataFrame(pl.from_arrow(run.state))
    counters = state["preemptions_total"].to_list()
    assert max(counters) - min(counters) == 14
    assert state["kv_fraction"].max() == 1.0
    assert (max(state["waiting"]), max(state["running"])) == (58, 14)
    assert state["kv_total"].unique().to_list() == [3072]
    at_us = state["at_us"].to_numpy()
    ended_us = rows(run)["ended_us"].drop_nulls().to_numpy()
    assert at_us[0] <= 0 < at_us[2]
    assert at_us[-1] <= ended_us.max()
    assert codes(run)["server_samples"] == state.height


def test_samples_of_another_hour_are_not_used(
    folder: type_folder, import_aiperf: type_import
) -> None:
    out = folder(STUDY)
    table = pl.read_csv(out / "server_timeseries.csv")
    table.with_columns(pl.col("unix_s") + 3600).write_csv(out / "server_timeseries.csv")
    run = import_aiperf(out / RECORDS)
    assert run.state is None
    assert codes(run)["server_samples_apart"] == table.height


def test_compressed_records_become_the_same_requests(
    folder: type_folder, import_aiperf: type_import, rows: type_rows
) -> None:
    out = folder(STUDY)
    plain = import_aiperf(out / RECORDS)
    packed = out / f"{RECORDS}.gz"
    packed.write_bytes(gzip.compress((out / RECORDS).read_bytes()))
    (out / RECORDS).unlink()
    assert aiperf.IMPORTER.claims(packed)
    again = import_aiperf(packed)
    assert again.info.rows_sha256 == plain.info.rows_sha256


def test_a_long_file_is_gathered_outside_of_memory(
    fixtures: Path, import_aiperf: type_import, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = import_aiperf(fixtures / FAULTS / RECORDS)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(spool, "BATCH_ROWS", 7)
    monkeypatch.setattr(spool.Spool.__init__, "__defaults__", (1,))
    spilled = import_aiperf(fixtures / FAULTS / RECORDS)
    assert spilled.info.rows_sha256 == plain.info.rows_sha256
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_leaves_no_temporary_file(
    folder: type_folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = folder(FAULTS)
    edit(out / RECORDS, lambda entries: [*entries, entries[0]])
    kept = tmp_path / "temporary"
    kept.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(kept))
    monkeypatch.setattr(spool, "BATCH_ROWS", 7)
    monkeypatch.setattr(spool.Spool.__init__, "__defaults__", (1,))
    with pytest.raises(ImportRefusedError):
        list(aiperf.IMPORTER.runs(Source.open(out / RECORDS)))
    assert list(kept.iterdir()) == []


def test_what_the_log_counts() -> None:
    lines = [
        "12:00 - PhaseRunner - NOTICE - Phase profiling (profiling) started | phase_index=0 | "
        "profiling_index=0 | target: 90 requests, 8 sessions",
        "Phase profiling (profiling) sending complete | sent=83, completed=20, in_flight=63 | "
        "sessions: sent=8, completed=6",
        "Phase profiling (profiling) complete | completed=20, cancelled=63, errors=0 | sessions: "
        "completed=6, cancelled=2 | elapsed=3.00s",
        "Phase warm (warmup) started | phase_index=1 | target: 2 sessions",
    ]
    assert aiperf_files.read_counts(lines) == {
        "profiling": Count(n_target=90, n_sent=83, n_cancelled=63)
    }


def test_the_description_of_another_tools_run_is_not_used(
    folder: type_folder, fixtures: Path, import_aiperf: type_import
) -> None:
    """Files of two tools dropped at once lie in one folder."""
    out = folder(FAULTS)
    shutil.copy(fixtures / "vllm" / "faults-proxy-rate5" / "run.json", out)
    run = import_aiperf(out / RECORDS)
    assert run.info.policy is None
    assert run.info.manifest.token_budget is None
    assert codes(run)["sidecar_mismatch"] == 1
