"""The sample study is sound, small, and what its README says."""

import hashlib
import re
from collections import Counter
from pathlib import Path

import pytest

from headway import record, studies
from headway.model import Outcome

SAMPLES = Path(__file__).parents[1] / "sample_data"
STUDIES = sorted(path.parent for path in SAMPLES.glob(f"*/{studies.FILE_NAME}"))
STUDY = SAMPLES / "vidur-azure-conversation"
ENGINE = SAMPLES / "vllm-aiperf"


def runs_of(study: Path) -> list[Path]:
    return sorted(path for path in study.iterdir() if record.is_run_file(path))


RUNS = runs_of(STUDY)
EVERY_RUN = [path for study in STUDIES for path in runs_of(study)]


def test_there_are_twenty_whole_runs_and_one_cut_off() -> None:
    outcomes = [Counter(record.read(path).requests["outcome"].to_pylist()) for path in RUNS]
    cut = {Outcome.COMPLETED: 266, Outcome.CUT_OFF: 201, Outcome.NOT_SENT: 33}
    assert outcomes.count(Counter({Outcome.COMPLETED: 500})) == 20
    assert outcomes.count(Counter(cut)) == 1


@pytest.mark.parametrize("path", EVERY_RUN, ids=lambda path: path.stem)
def test_every_run_is_sound_and_has_its_states(path: Path) -> None:
    run = record.read(path)
    assert record.problems(run) == []
    assert run.state is not None
    assert record.seal(run).info == run.info
    assert run.info.study == path.parent.name


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_simulation_is_named_after_its_folder(path: Path) -> None:
    run = record.read(path)
    assert run.info.source_name == f"{run.info.label}/request_metrics.csv"


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.name)
def test_the_readme_has_every_file_with_its_digest(study: Path) -> None:
    text = (study / "README.md").read_text("utf-8")
    stated = dict(re.findall(r"\| `(\S+)` \| `([0-9a-f]{64})` \|", text))
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in study.iterdir()
        if path.name != "README.md"
    }
    assert stated == found


def test_all_samples_together_are_small() -> None:
    sizes = [path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file()]
    assert sum(sizes) < 15_000_000


def test_the_study_declares_its_objective() -> None:
    study = studies.read(STUDY)
    assert study.objective is not None
    limits = (study.objective.ttft_ms, study.objective.stall_ms, study.objective.attainment)
    assert limits == (2000, 100, 0.95)
    assert [alternate.objective.tpot_ms for alternate in study.alternates] == [50]
    assert len(study.unresolved) >= 2


def test_the_engine_study_accounts_for_every_request() -> None:
    """The table of its origin: 180 offered in each of 32 runs, and what became of them."""
    runs = [record.read(path) for path in runs_of(ENGINE)]
    assert len(runs) == 32
    assert {run.info.n_offered for run in runs} == {180}
    outcomes = sum((Counter(run.requests["outcome"].to_pylist()) for run in runs), Counter())
    assert outcomes == {
        Outcome.COMPLETED: 5272,
        Outcome.TIMED_OUT: 346,
        Outcome.CANCELLED: 141,
        Outcome.FAILED: 1,
    }
    [failed] = [
        row for run in runs for row in run.requests.to_pylist() if row["outcome"] == Outcome.FAILED
    ]
    assert failed["reason"].startswith("ClientOSError")
    assert (failed["session_id"], failed["sent_us"] is not None) == ("req-0178", True)


def within(policy: str, rps: float, limit_us: int = 2_000_000) -> list[float]:
    """Return the share of offered requests that completed in time, by replicate."""
    runs = [record.read(path) for path in runs_of(ENGINE)]
    chosen = sorted(
        (run for run in runs if (run.info.policy, run.info.load.declared_rps) == (policy, rps)),
        key=lambda run: run.info.replicate or 0,
    )
    met = [
        sum(
            row["outcome"] == Outcome.COMPLETED and row["ttft_us"] <= limit_us
            for row in run.requests.to_pylist()
        )
        for run in chosen
    ]
    return [round(count / 180, 3) for count in met]


@pytest.mark.parametrize(
    ("policy", "rps", "shares"),
    [
        ("budget256", 2.4, [0.989]),
        ("budget256", 3.2, [0.978]),
        ("budget256", 4.0, [0.944, 0.928, 0.933, 0.944, 0.939]),
        ("budget2048", 4.0, [0.967, 0.933, 0.894, 0.967, 0.961]),
        ("budget2048-kv96", 4.0, [0.65]),
        ("budget2048-kv96", 6.8, [0.3]),
    ],
)
def test_the_share_in_time_is_that_of_the_raw_files(
    policy: str, rps: float, shares: list[float]
) -> None:
    assert within(policy, rps) == shares


def test_the_tiny_cache_is_full_and_preempts() -> None:
    runs = [record.read(path) for path in runs_of(ENGINE)]
    found = {}
    for run in runs:
        if run.info.policy == "budget2048-kv96" and run.state is not None:
            counter = run.state["preemptions_total"].to_pylist()
            full = max(run.state["kv_fraction"].to_pylist())
            found[run.info.load.declared_rps] = (max(counter) - min(counter), full)
    assert found == {4.0: (24, 1.0), 6.8: (14, 1.0)}


def test_one_workload_is_offered_in_every_run_of_the_engine() -> None:
    """Requests pair by their place in the plan, whatever the order of the rows."""
    plans = set()
    for path in runs_of(ENGINE):
        rows = sorted(record.read(path).requests.to_pylist(), key=lambda row: row["request_index"])
        keys = ("session_id", "prompt_tokens", "requested_output_tokens", "prefix_group")
        plans.add(tuple(tuple(row[key] for key in keys) for row in rows))
        assert Counter(row["segment"] for row in rows) == {
            "steady": 100,
            "burst": 45,
            "recovery": 35,
        }
        assert sum(row["prefix_group"] is not None for row in rows) == 60
    assert len(plans) == 1
