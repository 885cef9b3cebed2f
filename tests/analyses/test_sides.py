"""What a name on one side of a comparison stands for."""

from pathlib import Path

import pytest

from headway.analyses import sides
from headway.catalog import Catalog
from headway.errors import MisuseError
from headway.model import Load, LoadKind
from libraries import make_run, offered, open_runs, replicates, run_of


def test_a_run_id_names_its_run(study: Catalog) -> None:
    run_id = run_of(study, "vllm", 4)
    found = sides.named(study, run_id, None, None)
    assert found.run_ids == (run_id,)
    assert (found.line, found.load_text, found.x) == ("vllm", "4 req/s", 4)
    assert found.is_deterministic


def test_a_policy_at_a_load_means_the_run_that_was_not_stopped(study: Catalog) -> None:
    found = sides.named(study, "vllm", 8, "vidur-azure-conversation")
    assert found.run_ids == (run_of(study, "vllm", 8),)


def test_replicates_stand_on_one_side_together(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, *replicates((170, 167, 168)))
    found = sides.named(opened, "policy", 5, None)
    assert found.run_ids == ("r0", "r1", "r2")
    assert found.title == "policy · 5 req/s · 3 replicates"
    assert [side.run_ids for side in sides.every(opened, ["r0", "r1", "r2"])] == [found.run_ids]


@pytest.mark.parametrize(
    ("name", "load", "message"),
    [
        ("vllm", None, "'vllm' is more than one set of runs: vllm · 1 req/s"),
        ("vllm", 5, "no run is at load 5; there are: 1, 2, 3, 4, 6, 8 req/s"),
        ("none", 4, "no policy 'none'; policies: faster_transformer, orca, sarathi, vllm"),
        ("none", None, "no run and no policy 'none'"),
    ],
)
def test_a_name_that_is_nothing_or_more_than_one_lists_the_choices(
    study: Catalog, name: str, load: float | None, message: str
) -> None:
    with pytest.raises(MisuseError, match=message):
        sides.named(study, name, load, None)


def test_a_policy_of_several_studies_needs_one(tmp_path: Path) -> None:
    opened = open_runs(
        tmp_path,
        make_run(offered(10, 10), "a", study="one"),
        make_run(offered(10, 10, jitter_us=1), "b", study="two"),
    )
    with pytest.raises(MisuseError, match="--study"):
        sides.named(opened, "policy", 5, None)
    assert sides.named(opened, "policy", 5, "two").run_ids == ("b",)


def test_a_closed_loop_is_named_by_its_concurrency(tmp_path: Path) -> None:
    load = Load(LoadKind.CLOSED, concurrency=8)
    opened = open_runs(tmp_path, make_run(offered(10, 10), "a", load=load))
    assert sides.named(opened, "policy", 8, None).load_text == "8 concurrent"
