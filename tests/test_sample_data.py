"""The sample study is sound, small, and what its README says."""

import hashlib
import re
from collections import Counter
from pathlib import Path

import pytest

from headway import record, studies
from headway.model import Outcome

STUDY = Path(__file__).parents[1] / "sample_data" / "vidur-azure-conversation"
RUNS = sorted(path for path in STUDY.iterdir() if record.is_run_file(path))


def test_there_are_twenty_whole_runs_and_one_cut_off() -> None:
    outcomes = [Counter(record.read(path).requests["outcome"].to_pylist()) for path in RUNS]
    cut = {Outcome.COMPLETED: 266, Outcome.CUT_OFF: 201, Outcome.NOT_SENT: 33}
    assert outcomes.count(Counter({Outcome.COMPLETED: 500})) == 20
    assert outcomes.count(Counter(cut)) == 1


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_every_run_is_sound_and_has_its_states(path: Path) -> None:
    run = record.read(path)
    assert record.problems(run) == []
    assert run.state is not None
    assert record.seal(run).info == run.info
    assert run.info.study == STUDY.name
    assert run.info.source_name == f"{run.info.label}/request_metrics.csv"


def test_the_readme_has_every_file_with_its_digest() -> None:
    text = (STUDY / "README.md").read_text("utf-8")
    stated = dict(re.findall(r"\| `(\S+)` \| `([0-9a-f]{64})` \|", text))
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in STUDY.iterdir()
        if path.name != "README.md"
    }
    assert stated == found


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in STUDY.iterdir()) < 10_000_000


def test_the_study_declares_its_objective() -> None:
    study = studies.read(STUDY)
    assert study.objective is not None
    limits = (study.objective.ttft_ms, study.objective.stall_ms, study.objective.attainment)
    assert limits == (2000, 100, 0.95)
    assert [alternate.objective.tpot_ms for alternate in study.alternates] == [50]
    assert len(study.unresolved) >= 2
