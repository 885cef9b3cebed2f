"""Which runs repeat one another."""

from pathlib import Path
from typing import Any

import pytest

from headway.analyses import configurations, replicates
from headway.catalog import Catalog
from headway.model import Boundary, Load, LoadKind, Manifest
from libraries import make_run, offered, open_runs


def sizes(opened: Catalog) -> list[int]:
    return sorted(len(group) for group in replicates.sets(opened, sorted(opened.runs)))


def pair(tmp_path: Path, **changes: Any) -> Catalog:
    """Return a library of a run and of another that repeats it, changed as asked."""
    rows = changes.pop("rows", offered(40, 40, jitter_us=1))
    first = {name: changes[name] for name in ("policy", "boundary") if name in changes}
    runs = make_run(offered(40, 40), "r0", **first), make_run(rows, "r1", **changes)
    return open_runs(tmp_path, *runs)


def test_runs_of_the_same_requests_and_load_repeat_one_another(tmp_path: Path) -> None:
    assert sizes(pair(tmp_path)) == [2]


def test_arrivals_that_one_plan_can_have_are_the_same(tmp_path: Path) -> None:
    rows = offered(40, 40)
    for row in rows[1:]:
        row["scheduled_us"] += 10_000  # 5% of the gap of 0.2 s, on nearly every request
        row["sent_us"] += 10_000
    assert sizes(pair(tmp_path / "near", rows=rows)) == [2]
    for row in rows[1:]:
        row["scheduled_us"] += 1000
        row["sent_us"] += 1000
    assert sizes(pair(tmp_path / "far", rows=rows)) == [1, 1]


def test_other_requests_are_no_replicate(tmp_path: Path) -> None:
    rows = offered(40, 40, jitter_us=1)
    rows[3]["prompt_tokens"] += 1
    assert sizes(pair(tmp_path, rows=rows)) == [1, 1]


def test_a_copy_of_a_measurement_is_no_replicate(tmp_path: Path) -> None:
    copied = pair(tmp_path, rows=offered(40, 40), source_sha256="1" * 64)
    assert len({run.rows_sha256 for run in copied.runs.values()}) == 1
    assert sizes(copied) == [1, 1]


@pytest.mark.parametrize(
    "changes",
    [
        {"manifest": Manifest(precision="fp8")},
        {"policy_parameters": {"chunk": "512"}},
        {"time_limit_s": 60.0},
        {"load": Load(LoadKind.OPEN, declared_rps=6)},
        {"load": Load(LoadKind.OPEN, declared_rps=5, arrivals="gamma", burstiness=0.1)},
        {"load": Load(LoadKind.CLOSED, concurrency=5)},
    ],
    ids=str,
)
def test_another_configuration_or_load_is_no_replicate(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    assert sizes(pair(tmp_path, **changes)) == [1, 1]


def test_what_only_describes_the_load_does_not_part_replicates(tmp_path: Path) -> None:
    assert sizes(pair(tmp_path, manifest=Manifest(arrival_process="poisson"))) == [2]


def test_an_unknown_policy_is_never_pooled(tmp_path: Path) -> None:
    assert sizes(pair(tmp_path, policy=None, label="x")) == [1, 1]


def test_runs_of_two_studies_are_never_pooled(tmp_path: Path) -> None:
    assert sizes(pair(tmp_path, study="elsewhere")) == [1, 1]


def test_simulations_are_never_pooled(tmp_path: Path) -> None:
    assert sizes(pair(tmp_path, boundary=Boundary.SIMULATOR)) == [1, 1]


def test_a_bursty_run_is_no_replicate_of_a_poisson_one(tmp_path: Path) -> None:
    bursty = offered(40, 40)
    for row in bursty[::2]:
        row["scheduled_us"] += 150_000
        row["sent_us"] += 150_000
    poisson = Load(LoadKind.OPEN, declared_rps=4, arrivals="poisson", burstiness=1)
    gamma = Load(LoadKind.OPEN, declared_rps=4, arrivals="gamma", burstiness=0.1)
    runs = [
        make_run(offered(40, 40), "r0", label="rate4", load=poisson),
        make_run(bursty, "r1", label="rate4-burst0.1", load=gamma),
    ]
    assert sizes(open_runs(tmp_path, *runs)) == [1, 1]


def test_a_configuration_names_only_what_is_known(tmp_path: Path) -> None:
    run = make_run(
        [{}, {}],
        policy_parameters={"chunk": "512"},
        manifest=Manifest(precision="fp8", arrival_process="poisson", burst="x"),
    )
    assert dict(configurations.fields_of(run.info)) == {
        "policy": "policy",
        "policy: chunk": "512",
        "boundary": "client",
        "precision": "fp8",
    }
