"""The JSON that scripts rely on keeps its shape."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from commands import SUMMARY_KEYS
from headway import sql
from headway.analyses import documents
from headway.analyses.summary import summarise
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Outcome, Selection
from libraries import make_run, open_runs, run_from

LOAD_KEYS = {"kind", "declared_rps", "measured_rps", "concurrency", "arrivals", "burstiness"}


def document(opened: Catalog, *run_ids: str) -> dict[str, Any]:
    selection = Selection(run_ids or tuple(opened.runs))
    found: dict[str, Any] = json.loads(
        orjson.dumps(documents.summary(selection, summarise(opened, selection)))
    )
    return found


def test_a_summary_has_the_documented_keys(real: Catalog) -> None:
    found = document(real)
    assert set(found) == {"method", "basis", "runs"}
    for run in found["runs"]:
        assert set(run) >= SUMMARY_KEYS
        assert set(run["load"]) == LOAD_KEYS
        assert set(run["window"]) == {"start_us", "end_us"}
        assert list(run["outcomes"]) == [outcome.value for outcome in Outcome]
        assert sum(run["outcomes"].values()) == run["n_offered"]


def test_a_metric_says_why_it_has_no_number(real: Catalog) -> None:
    (run,) = document(real, run_from(real, "crashed-orca-qps4"))["runs"]
    assert list(run["metrics"]) == ["ttft_ms", "tpot_ms", "stall_ms", "gap_ms", "latency_ms"]
    for metric in run["metrics"].values():
        assert set(metric) >= {"status", "n", "denominator", "mean", "max", "p"}
    assert run["metrics"]["gap_ms"]["status"] == "not_applicable"
    assert run["metrics"]["gap_ms"]["p"] == {}
    assert run["metrics"]["stall_ms"]["status"] == "not_recorded"
    assert run["tool"] == {}


def test_a_percentile_that_is_not_reached_is_null_and_says_so(real: Catalog) -> None:
    (run,) = document(real, run_from(real, "vllm-qps8-limit60s"))["runs"]
    points = run["metrics"]["ttft_ms"]["p"]
    assert list(points) == ["50", "90", "95", "99"]
    assert points["99"] == {"value": None, "low": None, "high": None, "not_reached": True}
    assert points["50"]["not_reached"] is False
    assert run["metrics"]["ttft_ms"]["mean"] is None


def test_the_tools_numbers_stand_beside_ours(real: Catalog) -> None:
    (run,) = document(real, run_from(real, "faults-proxy-rate5"))["runs"]
    p99 = run["tool"]["ttft_ms"]["p99"]
    assert set(p99) == {"reported", "recomputed", "agrees", "definition"}
    assert p99["agrees"] is True
    assert p99["reported"] == pytest.approx(p99["recomputed"], rel=0.001)
    assert "4 truncated" in run["tool_why"]


def test_unknown_is_null_and_never_zero(tmp_path: Path) -> None:
    (run,) = document(open_runs(tmp_path, make_run([{}])))["runs"]
    unknown = ("completed_rps", "goodput_rps", "output_tokens_per_s", "tokens_of")
    assert [run[key] for key in unknown] == [None] * 4
    assert run["window"] == {"start_us": None, "end_us": None}
    assert run["load"]["measured_rps"] is None
    assert run["origin_used"] == "none"
    assert run["metrics"]["ttft_ms"]["mean"] is None


@pytest.mark.parametrize(
    ("share", "name"), [(0.5, "50"), (0.999, "99.9"), (0.9999, "99.99"), (0.07, "7"), (0.1, "10")]
)
def test_a_percentile_is_named_as_people_write_it(share: float, name: str) -> None:
    assert documents.percentile_name(share) == name


def test_a_load_has_the_measured_rate_beside_the_declared_one() -> None:
    found = documents.load(Load(LoadKind.OPEN, declared_rps=5.0, burstiness=0.1), 4.9)
    assert set(found) == LOAD_KEYS
    assert (found["kind"], found["declared_rps"], found["measured_rps"]) == ("open", 5.0, 4.9)


def test_a_query_lists_its_contract() -> None:
    found = documents.query(sql.load("accounting/outcomes"))
    assert set(found) == {"name", "summary", "params", "columns"}
    assert [param["name"] for param in found["params"]] == ["run_ids", "start_us", "end_us"]
    assert all(set(entry) == {"name", "type", "meaning"} for entry in found["columns"])
