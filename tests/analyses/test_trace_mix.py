"""The mix of a trace beside that of the runs, worked out by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.analyses import trace_mix
from headway.analyses.trace_mix import Quantity, TraceMix, Unread
from headway.catalog import Catalog
from headway.model import Load, LoadKind, Selection
from headway.stats.mix import Summary
from libraries import make_run, open_runs

HEADER = "arrived_at,num_prefill_tokens,num_decode_tokens\n"
TRACE = HEADER + "0,10,1\n1,20,3\n4,60,2\n"


def row(arrival_s: float, prompt: int, output: int) -> dict[str, int]:
    return {
        "scheduled_us": int(arrival_s * 1e6),
        "prompt_tokens": prompt,
        "requested_output_tokens": output,
    }


FAST = make_run([row(0, 10, 4), row(1, 30, 4), row(4, 20, 4)], "fast")
SLOW = make_run([row(0, 40, 8), row(30, 40, 8), row(40, 50, 8)], "slow")
CLOSED = make_run(
    [row(0, 10, 4), row(1, 10, 4)], "closed", load=Load(LoadKind.CLOSED, concurrency=2)
)


def compare(opened: Catalog, name: str = "trace.csv") -> TraceMix | Unread:
    study = replace(opened.studies["study"], trace=name)
    found = trace_mix.attached(opened, study)
    assert found is not None
    return trace_mix.compare(opened, Selection(tuple(sorted(opened.runs))), found)


def attach(library: Path, text: str = TRACE) -> None:
    (library / "study" / "trace.csv").write_text(text, encoding="utf-8")


@pytest.fixture
def mixed(tmp_path: Path) -> TraceMix:
    opened = open_runs(tmp_path, FAST, SLOW)
    attach(tmp_path)
    found = compare(opened)
    assert isinstance(found, TraceMix)
    return found


def test_lengths_are_pooled_over_the_runs(mixed: TraceMix) -> None:
    prompt, output = mixed.of(Quantity.PROMPT), mixed.of(Quantity.OUTPUT)
    assert prompt.study is not None
    assert (prompt.study.n, prompt.study.median, prompt.study.p90) == (6, 30, 50)
    assert prompt.trace is not None
    assert (prompt.trace.n, prompt.trace.median, prompt.trace.p90) == (3, 20, 60)
    assert prompt.trace.spread == pytest.approx(0.8819171)  # 26.45751 ÷ 30
    assert output.study is not None
    assert (output.study.median, output.study.largest) == (4, 8)
    assert output.trace == Summary(3, median=2, p90=3, largest=3, spread=0.5)


def test_gaps_are_by_the_mean_of_their_own_run(mixed: TraceMix) -> None:
    gaps = mixed.of(Quantity.GAP)
    assert gaps.study is not None  # 1 and 3 of mean 2; 30 and 10 of mean 20
    assert (gaps.study.n, gaps.study.median, gaps.study.largest) == (4, 0.5, 1.5)
    assert gaps.trace is not None
    assert (gaps.trace.n, gaps.trace.median, gaps.trace.largest) == (2, 0.5, 1.5)
    assert gaps.is_near


def test_prompts_beyond_the_longest_are_counted(mixed: TraceMix) -> None:
    assert (mixed.n_requests, mixed.n_beyond) == (3, 1)
    assert mixed.beyond == pytest.approx(1 / 3)


def test_points_hold_both_sides_with_their_denominators(mixed: TraceMix) -> None:
    points = mixed.points.filter(quantity="prompt_tokens")
    assert points.select("side", "value", "n_at_most", "n").rows() == [
        ("study", 10.0, 1, 6),
        ("study", 20.0, 2, 6),
        ("study", 30.0, 3, 6),
        ("study", 40.0, 5, 6),
        ("study", 50.0, 6, 6),
        ("trace", 10.0, 1, 3),
        ("trace", 20.0, 2, 3),
        ("trace", 60.0, 3, 3),
    ]
    assert (points["share"] == points["n_at_most"] / points["n"]).all()


def test_a_long_trace_is_thinned(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, FAST)
    attach(tmp_path, HEADER + "".join(f"{n * n},{n},{n}\n" for n in range(3000)))
    found = compare(opened)
    assert isinstance(found, TraceMix)
    assert found.points.group_by("quantity", "side").len()["len"].max() <= 600  # type: ignore[operator]
    assert found.points["drawn"].min() == trace_mix.LEAST_DRAWN


def test_a_closed_loop_has_no_arrivals_of_its_own(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, CLOSED)
    attach(tmp_path)
    found = compare(opened)
    assert isinstance(found, TraceMix)
    assert found.of(Quantity.GAP).study is None
    assert found.of(Quantity.GAP).is_near is None
    assert found.of(Quantity.PROMPT).study is not None


def test_a_trace_that_changes_is_read_again(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, FAST)
    attach(tmp_path)
    first = compare(opened)
    assert compare(opened) is first
    attach(tmp_path, TRACE + "5,10,1\n")
    again = compare(opened)
    assert isinstance(again, TraceMix)
    assert again.n_requests == 4


def test_a_study_without_a_trace_has_none_attached(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, FAST)
    assert trace_mix.attached(opened, opened.studies["study"]) is None


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    opened = open_runs(tmp_path / "library", FAST)
    missing = compare(opened, "gone.csv")
    assert isinstance(missing, Unread)
    assert "put it beside study.toml" in missing.why
    attach(tmp_path / "library", "a,b\n1,2\n")
    foreign = compare(opened)
    assert isinstance(foreign, Unread)
    assert "no trace that Headway knows" in foreign.why


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    opened = open_runs(tmp_path / "library", FAST)
    outside = tmp_path / "outside.csv"
    outside.write_text(TRACE, encoding="utf-8")
    (tmp_path / "library" / "study" / "trace.csv").symlink_to(outside)
    found = compare(opened)
    assert isinstance(found, Unread)
    assert "leads out of the study's folder" in found.why
