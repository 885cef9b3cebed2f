"""A program writes its run request by request, and gets it into the library whole or not at all."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headway
from headway import catalog, ingest, record
from headway.errors import MisuseError, RecordError
from headway.model import Load, LoadKind, Manifest, OfferedBasis, Outcome

Steps = Callable[[headway.RunWriter], object]
MANY = record.ROW_GROUP_REQUESTS + 3


def writer(library: Path, **changes: Any) -> headway.RunWriter:
    said: dict[str, Any] = {"study": "s", "harness": "sim", "boundary": "simulator"}
    return headway.RunWriter(library, **(said | changes))


def write(library: Path, steps: Steps, **changes: Any) -> headway.RunWriter:
    with writer(library, **changes) as run:
        steps(run)
    return run


def refusal(folder: Path, steps: Steps, **changes: Any) -> RecordError:
    """Return the error of a run that is refused, which leaves nothing in the folder."""
    with pytest.raises(RecordError) as caught:
        write(folder / "library", steps, **changes)
    assert left_in(folder) == []
    return caught.value


def rows_of(run: headway.RunWriter) -> list[dict[str, Any]]:
    """Return what the library holds of a run, which must be sound."""
    assert run.path is not None
    whole = record.read(run.path)
    assert record.problems(whole) == []
    assert whole.info == run.info
    rows: list[dict[str, Any]] = whole.requests.to_pylist()
    return rows


def left_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_run_gets_into_the_library(tmp_path: Path) -> None:
    with writer(tmp_path / "deep" / "library", policy="fcfs") as run:
        run.request(
            sent_us=0, ttft_us=10, latency_us=30, outcome="completed", chunk_gaps_us=[5, 15]
        )
        run.request(sent_us=7, outcome=Outcome.REJECTED, reason="queue full")
    rows = rows_of(run)
    assert [row["request_index"] for row in rows] == [0, 1]
    assert [(row["phase"], row["outcome_basis"]) for row in rows] == [("measured", "stated")] * 2
    assert (rows[0]["n_chunks"], rows[0]["max_gap_us"]) == (3, 15)
    assert (rows[1]["ttft_us"], rows[1]["n_chunks"]) == (None, None)
    assert run.info.n_offered == 2
    assert run.info.n_offered_basis is OfferedBasis.ROWS
    opened = catalog.open_catalog([tmp_path / "deep" / "library"])
    assert list(opened.runs) == [run.info.run_id]
    assert left_in(tmp_path / "deep" / "library") == ["s", f"s/{run.info.run_id}.parquet"]


def test_what_is_said_of_a_run_is_in_its_description(tmp_path: Path) -> None:
    with writer(
        tmp_path, policy="p", policy_parameters={"chunk": 512}, label="l", replicate=2, name="n",
        started_at=datetime(2026, 11, 29, 18, tzinfo=UTC), time_limit_s=60, harness_version="1.2",
        load={"kind": "open", "declared_rps": 4, "arrivals": "poisson"},
        manifest={"model": "m", "seed": 7}, clock="monotonic", index_basis="order",
        token_basis="the engine", completion_times=False,
    ) as run:  # fmt: skip
        run.request(outcome="completed")
    info = record.read_info(run.path or Path())
    assert info.load == Load(LoadKind.OPEN, declared_rps=4.0, arrivals="poisson")
    assert info.manifest == Manifest(model="m", seed=7)
    assert (info.label, info.replicate, info.policy_parameters) == ("l", 2, {"chunk": "512"})
    assert (info.started_at, info.time_limit_s) == ("2026-11-29T18:00:00+00:00", 60)
    assert (info.harness, info.harness_version, info.source_name) == ("sim", "1.2", "n")
    assert (info.clock, info.index_basis, info.token_basis) == ("monotonic", "order", "the engine")
    assert info.source_sha256 == info.rows_sha256 != ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"boundary": "moon"}, "boundary is 'moon'; expected one of client, gateway, server"),
        ({"clock": "sun"}, "clock is 'sun'; expected one of wall"),
        ({"study": "a/b"}, "cannot be the name of a folder"),
        ({"harness": " "}, "harness is ' '; expected text"),
        ({"load": {"kind": "open", "rps": 4}}, "unknown key 'load.rps'; expected one of"),
        ({"load": {"declared_rps": -4}}, "load.declared_rps = -4; expected a number above 0"),
        ({"manifest": {"seed": "seven"}}, "manifest.seed = 'seven'"),
        ({"started_at": "2026-11-29T18:00:00"}, "has no time zone"),
        ({"time_limit_s": 0}, "time_limit_s is 0; expected seconds above 0"),
    ],
)
def test_what_cannot_be_said_is_misuse_before_anything_runs(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(MisuseError) as caught:
        writer(tmp_path, **changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"colour": 1}, "request number 2: there is no field colour; expected some of request_in"),
        ({"ttft_ms": 1}, "there is no field ttft_ms; did you mean ttft_us?"),
        ({"run_id": "r"}, "there is no field run_id; expected"),
        ({"request_index": 9, "ttft_us": "fast"}, "request 9: ttft_us is 'fast'; expected a whole"),
        ({"ttft_us": 0.25}, "ttft_us is 0.25; expected a whole number of microseconds"),
        ({"ttft_us": True}, "ttft_us is True"),
        ({"ttft_us": float("nan")}, "ttft_us is nan"),
        (
            {"prompt_tokens": 2**31},
            "prompt_tokens is 2147483648; expected a whole number of up to 32",
        ),
        ({"reason": 3}, "reason is 3; expected text"),
        ({"source_success": 1}, "source_success is 1; expected True or False"),
        ({"chunk_gaps_us": 5}, "chunk_gaps_us is 5; expected a list of whole numbers"),
        ({"chunk_gaps_us": [1, None]}, "element 1: chunk_gaps_us is None"),
        ({"chunk_gaps_us": [1, 2**40]}, "element 1: chunk_gaps_us is 1099511627776"),
        ({"chunk_gaps_us": [[1]]}, "element 0: chunk_gaps_us is [1]"),
        ({"outcome": None}, "request number 2 has no outcome"),
    ],
)
def test_a_value_that_does_not_fit_names_its_request_and_field(
    fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    def steps(run: headway.RunWriter) -> None:
        run.request(outcome="rejected")
        run.request(**({"outcome": "completed"} | fields))

    assert message in str(refusal(tmp_path, steps))


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    with writer(tmp_path) as run:
        run.request(
            outcome="completed", sent_us=np.int64(5), ttft_us=np.float64(3.0), latency_us=9.0,
            chunk_gaps_us=np.array([1, 5], dtype="uint16"), source_success=np.bool_(True),
        )  # fmt: skip
        run.request(outcome="completed", latency_us=1, chunk_gaps_us=[], reason="\ud800")
    first, second = rows_of(run)
    assert (first["sent_us"], first["ttft_us"], first["latency_us"]) == (5, 3, 9)
    assert first["source_success"] is True
    assert (second["n_chunks"], second["max_gap_us"], second["reason"]) == (1, None, "?")


COLUMNS: dict[str, list[Any]] = {
    "sent_us": [1, 2, None],
    "outcome": ["completed", "failed", "not_sent"],
    "latency_us": [8, None, None],
    "chunk_gaps_us": [[1, 2], None, None],
}


@pytest.mark.parametrize(
    "data",
    [
        COLUMNS,
        pa.table(COLUMNS),
        pa.RecordBatch.from_pydict(COLUMNS),
        pl.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS).with_columns(pl.col("outcome").cast(pl.Categorical)),
    ],
    ids=["columns", "table", "batch", "polars", "categories"],
)
def test_many_requests_come_in_any_kind_of_table(data: object, tmp_path: Path) -> None:
    with writer(tmp_path / "many") as many:
        many.requests(data)
    with writer(tmp_path / "one") as one:
        for place in range(3):
            one.request(**{name: values[place] for name, values in COLUMNS.items()})
    assert rows_of(many) == rows_of(one)
    assert many.info == one.info


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"ttft": [1]}, "there is no field ttft; did you mean ttft_us?"),
        ({"outcome": ["completed"], "sent_us": ["1"]}, "column sent_us is string; expected int64"),
        ({"outcome": ["completed"], "sent_us": [1.5]}, "column sent_us: Float value 1.5"),
        ({"outcome": ["completed"], "turn_index": [2**31]}, "column turn_index: Integer value"),
        ({"outcome": ["completed"], "sent_us": [1, 2]}, "expected columns of equal length"),
        (3, "found int"),
    ],
)
def test_a_table_that_does_not_fit_is_named(data: object, message: str, tmp_path: Path) -> None:
    assert message in str(refusal(tmp_path, lambda run: run.requests(data)))


def test_requests_are_numbered_in_their_phase(tmp_path: Path) -> None:
    with writer(tmp_path, completion_times=False) as run:
        run.request(outcome="completed", phase="warmup")
        run.request(outcome="completed")
        run.requests({"outcome": ["completed"] * 3, "phase": ["warmup", "measured", "measured"]})
        run.request(outcome="completed", request_index=10)
        run.request(outcome="completed")
        run.requests({"outcome": ["completed"], "request_index": [20]})
        run.requests({"outcome": ["completed"]})
    numbers: dict[str, list[int]] = {"warmup": [], "measured": []}
    for row in rows_of(run):
        numbers[row["phase"]].append(row["request_index"])
    assert numbers == {"warmup": [0, 1], "measured": [0, 1, 2, 10, 11, 20, 21]}
    assert (run.info.n_offered, run.info.n_warmup) == (7, 2)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_it_does_not_matter_how_rows_are_handed_over(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    n = sum(sizes) + 1
    columns: dict[str, list[Any]] = {"outcome": ["failed"] * n, "sent_us": list(range(n))}
    with writer(tmp_path_factory.mktemp("one")) as whole:
        whole.requests(columns)
    with writer(tmp_path_factory.mktemp("other")) as pieces:
        start = 0
        for size in sizes:
            pieces.requests({k: v[start : start + size] for k, v in columns.items()})
            start += size
        pieces.request(outcome="failed", sent_us=n - 1)
    assert pieces.info == whole.info
    assert (pieces.path or Path()).read_bytes() == (whole.path or Path()).read_bytes()


def test_many_batches_make_one_run(tmp_path: Path) -> None:
    with writer(tmp_path) as run:
        for place in range(MANY):
            run.request(outcome="completed", sent_us=place, latency_us=1)
            run.state(at_us=place, running=1)
    assert len(rows_of(run)) == run.info.n_offered == MANY
    state = record.read(run.path or Path()).state
    assert state is not None
    assert state["at_us"].to_pylist() == list(range(MANY))


def test_samples_come_one_by_one_or_many_at_once(tmp_path: Path) -> None:
    with writer(tmp_path) as run:
        run.request(outcome="failed")
        run.state(at_us=0, running=1, kv_fraction=0.5)
        run.states({"at_us": [5, 6], "waiting": [2, 3]})
    state = record.read(run.path or Path()).state
    assert state is not None
    assert state["waiting"].to_pylist() == [None, 2, 3]
    assert state["run_id"].to_pylist() == [run.info.run_id] * 3


def test_a_sample_that_does_not_fit_is_named(tmp_path: Path) -> None:
    error = refusal(tmp_path, lambda run: run.state(kv_fraction="half"))
    assert str(error).startswith("sample 1: kv_fraction is 'half'; expected a number")


def test_writing_the_same_run_again_replaces_it(tmp_path: Path) -> None:
    def again(sent_us: int, **changes: Any) -> str:
        run = write(tmp_path, lambda run: run.request(outcome="failed", sent_us=sent_us), **changes)
        return run.info.run_id

    first = again(1)
    assert again(1) == first
    assert again(1, study="moved", manifest={"model": "m"}) == first
    assert [path.parent.name for path in tmp_path.glob("*/*.parquet")] == ["moved"]
    others = [again(2), again(1, policy="p"), again(1, replicate=2), again(1, name="a")]
    others += [again(1, name="b"), again(1, load={"declared_rps": 2})]
    assert len({first, *others}) == 7
    assert again(1, name="a", policy="q") == others[3]


def test_a_copy_of_a_run_and_a_rate_that_is_off_are_findings(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with writer(tmp_path, name=name, load={"declared_rps": 4}) as run:
            run.requests({"outcome": ["failed"] * 3, "sent_us": [0, 1_000_000, 2_000_000]})
    assert {each.code for each in run.info.findings} == {"same_measurement", "rate_gap"}


WORKLOAD = {
    "scheduled_us": [0, 10, 20, 30],
    "prompt_tokens": [5, 6, 7, 8],
    "prefix_group": [0, 0, 1, 1],
}


def test_a_workload_fills_in_and_accounts_for_all(tmp_path: Path) -> None:
    with writer(tmp_path, workload=WORKLOAD) as run:
        run.request(outcome="failed", phase="warmup", request_index=2)
        run.request(outcome="completed", request_index=2, latency_us=5)
        run.request(outcome="failed", request_index=0, prompt_tokens=55)
    warm, *measured = rows_of(run)
    assert warm["scheduled_us"] is None
    seen = [[row[k] for k in ("request_index", *WORKLOAD, "outcome")] for row in measured]
    assert seen == [
        [2, 20, 7, 1, "completed"],
        [0, 0, 55, 0, "failed"],
        [1, 10, 6, 0, "unaccounted"],
        [3, 30, 8, 1, "unaccounted"],
    ]
    assert [row["outcome_basis"] for row in measured] == ["stated"] * 2 + ["inferred"] * 2
    assert run.info.n_offered == 4
    assert run.info.n_offered_basis is OfferedBasis.DECLARED


def test_a_request_that_is_not_of_the_workload_is_refused(tmp_path: Path) -> None:
    error = refusal(
        tmp_path, lambda run: run.request(outcome="failed", request_index=4), workload=WORKLOAD
    )
    assert "request 4 is not in the workload of 4 requests" in str(error)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"request_index": [1, 1]}, "workload: request_index is unknown or there twice"),
        ({"outcome": ["failed"]}, "workload: there is no field outcome"),
    ],
)
def test_a_workload_that_is_none_is_refused(workload: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=message):
        writer(tmp_path, workload=workload)


def test_offered_requests_that_never_came_in_are_not_passed_over(tmp_path: Path) -> None:
    error = refusal(tmp_path, lambda run: run.request(outcome="failed"), n_offered=3)
    assert "1 measured rows; the description says 3" in str(error)


def test_every_broken_rule_is_told(tmp_path: Path) -> None:
    def steps(run: headway.RunWriter) -> None:
        run.request(outcome="lost", ttft_us=-1)
        run.request(outcome="completed", request_index=0)

    error = refusal(tmp_path, steps)
    assert error.rule == "outcome"
    assert "request 0 has outcome 'lost'" in str(error)
    notes = "".join(error.__notes__)
    assert "not_negative" in notes
    assert "completion_time" in notes


def test_a_number_that_is_there_twice_is_found_at_the_end(tmp_path: Path) -> None:
    def steps(run: headway.RunWriter) -> None:
        run.request(outcome="failed", request_index=3)
        run.requests({"outcome": ["failed"] * 2, "request_index": [2, 3]})

    error = refusal(tmp_path, steps)
    assert str(error).startswith("request 3: expected that request_index is present and different")


def test_a_broken_row_ends_the_run_when_its_batch_is_full(tmp_path: Path) -> None:
    def steps(run: headway.RunWriter) -> None:
        for place in range(10 * MANY):
            run.request(outcome="failed" if place != 5 else "lost")
            assert place < MANY

    error = refusal(tmp_path, steps)
    assert str(error).startswith("request 5: expected that every row has one of the nine")


def test_rows_that_were_refused_are_not_forgotten(tmp_path: Path) -> None:
    """Whoever catches the error of a batch does not get a run without that batch."""

    def steps(run: headway.RunWriter) -> None:
        with pytest.raises(RecordError):
            run.requests({"outcome": ["lost"] * 3})

    assert refusal(tmp_path, steps).rule == "outcome"


def test_a_request_that_was_refused_can_be_told_better(tmp_path: Path) -> None:
    with writer(tmp_path) as run:
        with pytest.raises(RecordError):
            run.request(outcome="failed", sent_us="now")
        run.request(outcome="failed", sent_us=5)
    assert [row["request_index"] for row in rows_of(run)] == [0]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_an_exception_nothing_is_there(kind: type[BaseException], tmp_path: Path) -> None:
    def steps(run: headway.RunWriter) -> None:
        run.requests({"outcome": ["failed"] * MANY})
        assert len(list((tmp_path / "library").glob(".staging-*/*.arrow"))) == 2
        raise kind

    with pytest.raises(kind):
        write(tmp_path / "library", steps)
    assert left_in(tmp_path) == []


def test_a_failure_leaves_the_former_run_alone(tmp_path: Path) -> None:
    with writer(tmp_path, name="n") as run:
        run.request(outcome="failed")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}

    def steps(run: headway.RunWriter) -> None:
        run.request(outcome="failed")
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        write(tmp_path, steps, name="n")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")} == before
    assert left_in(tmp_path) == ["s", f"s/{run.info.run_id}.parquet"]


KILLED = """
import os, sys
import headway

if sys.argv[2] == "rename":
    os.replace = lambda *paths, **options: os._exit(9)

with headway.RunWriter(sys.argv[1], study="s", harness="sim", boundary="simulator") as run:
    run.requests({"outcome": ["failed"] * 9000})
    run.request(outcome="failed")
    if sys.argv[2] == "rows":
        os._exit(9)
"""


@pytest.fixture(params=["rows", "rename"])
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a library in which a writer was killed, among its rows or at the very end."""
    library = tmp_path / "library"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, str(library), request.param]
    assert subprocess.run(command, env=environment, check=False, timeout=120).returncode == 9
    assert list(library.glob(".staging-*"))
    return library


def test_after_a_kill_the_library_has_no_run(killed: Path) -> None:
    assert catalog.run_files([killed]) == []


def test_the_next_writer_removes_what_a_kill_left(killed: Path) -> None:
    with writer(killed) as run:
        run.request(outcome="failed")
    assert left_in(killed) == ["s", f"s/{run.info.run_id}.parquet"]


def test_the_next_import_removes_what_a_kill_left(killed: Path) -> None:
    ingest.import_paths([], killed)
    assert [name for name in left_in(killed) if name != "s"] == []


def test_writers_side_by_side_leave_each_other_alone(tmp_path: Path) -> None:
    with writer(tmp_path, name="a") as one, writer(tmp_path, name="b") as other:
        one.request(outcome="failed")
        other.request(outcome="failed")
        ingest.import_paths([], tmp_path)
    assert len(rows_of(one)) == len(rows_of(other)) == 1


def test_requests_outside_of_the_context_are_misuse(tmp_path: Path) -> None:
    run = writer(tmp_path)
    with pytest.raises(MisuseError, match="inside of: with"):
        run.request(outcome="failed")
    with run:
        run.request(outcome="failed")
    with pytest.raises(MisuseError, match="inside of: with"):
        run.request(outcome="failed")
    with pytest.raises(MisuseError, match="make one for each run"), run:
        pass


def test_a_run_without_requests_is_a_run_of_nothing(tmp_path: Path) -> None:
    with writer(tmp_path) as run:
        pass
    assert rows_of(run) == []


def test_the_front_door_is_light() -> None:
    """Importing Headway loads nothing of weight until something is asked for."""
    heavy = ("pyarrow", "polars", "duckdb", "streamlit", "numpy", "pydantic")
    script = f"import sys, headway; print([m for m in {heavy} if m in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
    assert "RunWriter" in dir(headway)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        headway.nothing  # type: ignore[attr-defined]  # noqa: B018
