"""Runs are told apart in as few words as they allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses import configurations, naming
from headway.model import Finding, Load, LoadKind, RunInfo, Severity
from libraries import describe

OPEN_5 = Load(LoadKind.OPEN, declared_rps=5.0)


def names(*runs: RunInfo) -> list[str]:
    return list(naming.titles(runs, {}, configurations.names(runs, {})).values())


@pytest.mark.parametrize(
    ("load", "measured_rps", "expected"),
    [
        (OPEN_5, 4.9, "5 req/s"),
        (Load(LoadKind.TRACE, declared_rps=0.25), None, "0.25 req/s"),
        (Load(LoadKind.OPEN), 4.954, "4.95 req/s measured"),
        (Load(LoadKind.OPEN), None, "load not recorded"),
        (Load(LoadKind.CLOSED, concurrency=4), 3.0, "4 concurrent"),
        (Load(LoadKind.UNLIMITED), 900.0, "unlimited load"),
        (
            Load(LoadKind.OPEN, declared_rps=5.0, concurrency=16),
            None,
            "5 req/s, 16 concurrent at most",
        ),
    ],
)
def test_a_load_says_its_unit_and_whether_it_was_measured(
    load: Load, measured_rps: float | None, expected: str
) -> None:
    assert naming.load_text(load, measured_rps) == expected


def test_policy_and_load_are_enough_where_they_differ() -> None:
    other = describe("r1", load=Load(LoadKind.OPEN, declared_rps=6.0))
    assert names(describe("r0"), other) == ["policy · 5 req/s", "policy · 6 req/s"]


def test_a_label_stands_in_for_a_policy_and_nothing_for_neither() -> None:
    labelled = describe("r0", policy=None, label="night run")
    assert names(labelled) == ["night run · 5 req/s"]
    assert names(describe("r0", policy=None)) == ["policy not recorded · 5 req/s"]


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"load": Load(LoadKind.OPEN, declared_rps=5.0, burstiness=0.1)}, "burstiness 0.1"),
        ({"time_limit_s": 60.0}, "stopped at 60 s"),
        (
            {"findings": (Finding("run_crashed", Severity.ERROR, 1, "x"),)},
            "stopped early, 2 offered",
        ),
        ({"replicate": 2}, "replicate 2"),
        ({"label": "second"}, "second"),
        ({"source_name": "night/result.json"}, "night"),
    ],
)
def test_what_tells_two_runs_apart_is_added(changes: dict[str, object], detail: str) -> None:
    found = names(describe("r0"), describe("r1", **changes))
    assert found[1] == f"policy · 5 req/s · {detail}"


def test_only_a_crash_is_called_an_early_stop() -> None:
    other = (Finding("clock_ran_backwards", Severity.ERROR, 1, "x"),)
    found = names(describe("r0"), describe("r1", findings=other))
    assert found == ["policy · 5 req/s · r0", "policy · 5 req/s · r1"]


def test_the_run_id_comes_last() -> None:
    assert names(describe("r0"), describe("r1")) == [
        "policy · 5 req/s · r0",
        "policy · 5 req/s · r1",
    ]


some_runs: st.SearchStrategy[list[dict[str, object]]] = st.lists(
    st.builds(
        dict,
        policy=st.sampled_from(["a", "b", None]),
        label=st.sampled_from(["x", None]),
        replicate=st.sampled_from([1, 2, None]),
        time_limit_s=st.sampled_from([60.0, None]),
        source_name=st.sampled_from(["one/result.json", "two/result.json", "result.json"]),
        load=st.sampled_from([OPEN_5, Load(LoadKind.CLOSED, concurrency=4)]),
    ),
    max_size=12,
)


@given(some_runs)
def test_no_two_runs_share_a_name(changes: list[dict[str, object]]) -> None:
    runs = [describe(f"r{place}", **each) for place, each in enumerate(changes)]
    assert len(set(names(*runs))) == len(runs)


def test_a_load_that_all_share_is_said_once() -> None:
    runs = [describe("r0", policy="a"), describe("r1", policy="b")]
    titles = naming.titles(runs, {}, configurations.names(runs, {}))
    assert naming.without_common_load(runs, titles, {}) == ("5 req/s", {"r0": "a", "r1": "b"})


def test_different_loads_stay_in_the_names() -> None:
    runs = [describe("r0"), describe("r1", load=Load(LoadKind.UNLIMITED))]
    titles = naming.titles(runs, {}, configurations.names(runs, {}))
    assert naming.without_common_load(runs, titles, {}) == (None, titles)
