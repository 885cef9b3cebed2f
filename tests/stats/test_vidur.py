"""The sample study through the statistics: attainment, effective sizes and verdicts."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from headway import record
from headway.model import Outcome
from headway.stats.effective import Effective, effective, ends, in_flight, latency_parts
from headway.stats.fingerprint import Component, Level, compare, fingerprint, plan
from headway.stats.repeats import deterministic
from headway.stats.steadiness import steadiness
from headway.stats.verdicts import InRun, Verdict, attained, in_run, traffic

STUDY = Path(__file__).parents[2] / "sample_data" / "vidur-azure-conversation"
COLUMNS = (
    "scheduled_us ended_us ttft_us latency_us output_tokens n_chunks max_gap_us prompt_tokens "
    "requested_output_tokens request_index"
).split()
TTFT_US, TPOT_US, STALL_US = 2e6, 5e4, 1e5
TARGET = 0.95

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """A run of the study in order of arrival; every column is a float with NaN for unknown."""

    columns: dict[str, Floats]
    outcome: NDArray[np.str_]

    def __getattr__(self, name: str) -> Floats:
        return self.columns[name]


@cache
def runs() -> dict[str, Run]:
    found = {}
    for path in sorted(STUDY.iterdir()):
        if record.is_run_file(path):
            run = record.read(path)
            table = run.requests.sort_by("scheduled_us")
            columns = {
                name: np.array(
                    [np.nan if x is None else x for x in table[name].to_pylist()], dtype=float
                )
                for name in COLUMNS
            }
            found[str(run.info.label)] = Run(columns, np.array(table["outcome"].to_pylist()))
    return found


def metrics(run: Run, cadence: str) -> list[tuple[Floats, float, NDArray[np.bool_]]]:
    completed = run.outcome == Outcome.COMPLETED
    if cadence == "tpot":
        applicable = ~(run.output_tokens <= 1)
        spread = np.maximum(run.output_tokens - 1, 1)
        values, limit = (run.latency_us - run.ttft_us) / spread, TPOT_US
    else:
        applicable = ~((run.output_tokens <= 1) | (run.n_chunks <= 1))
        values, limit = run.max_gap_us, STALL_US
    return [
        (run.ttft_us, TTFT_US, np.ones(len(completed), bool)),
        (np.where(completed, values, np.inf), limit, applicable),
    ]


def met(run: Run, cadence: str) -> NDArray[np.bool_]:
    kept = [(values <= limit) | ~applies for values, limit, applies in metrics(run, cadence)]
    every: NDArray[np.bool_] = np.all([run.outcome == Outcome.COMPLETED, *kept], axis=0)
    return every


def size(run: Run, cadence: str) -> Effective:
    last_known = run.scheduled_us + np.fmax(run.ttft_us, run.latency_us)
    is_open = run.outcome == Outcome.CUT_OFF
    flying = in_flight(run.scheduled_us, ends(run.scheduled_us, run.ended_us, last_known, is_open))
    parts = [latency_parts(values, flying, applies) for values, _, applies in metrics(run, cadence)]
    found = effective(parts, met(run, cadence))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("label", "cadence", "n_met"),
    [
        ("vllm-qps4", "tpot", 499),
        ("sarathi-qps4", "tpot", 500),
        ("vllm-qps6", "tpot", 164),
        ("sarathi-qps6", "tpot", 258),
        ("vllm-qps4", "stall", 74),
        ("sarathi-qps4", "stall", 500),
        ("vllm-qps6", "stall", 7),
        ("sarathi-qps6", "stall", 467),
    ],
)
def test_attainment(label: str, cadence: str, n_met: int) -> None:
    assert met(runs()[label], cadence).sum() == n_met


def test_the_design_effect_of_the_worked_example() -> None:
    found = size(runs()["sarathi-qps4"], "stall")
    assert found.n == 500
    assert found.deff == pytest.approx(18.8, abs=0.05)
    assert found.n_eff == pytest.approx(19.9, abs=0.05)


@pytest.mark.parametrize(
    ("label", "cadence", "n_eff"),
    [
        ("sarathi-qps1", "stall", 144),
        ("sarathi-qps2", "stall", 77.3),
        ("sarathi-qps3", "stall", 34.2),
        ("sarathi-qps4", "stall", 19.9),
        ("sarathi-qps6", "stall", 8.39),
        ("sarathi-qps1", "tpot", 120),
        ("vllm-qps1", "tpot", 122),
        ("orca-qps1", "tpot", 124.6),
    ],
)
def test_effective_sizes(label: str, cadence: str, n_eff: float) -> None:
    assert size(runs()[label], cadence).n_eff == pytest.approx(n_eff, rel=0.02)


def verdicts(label: str, cadence: str, target: float = TARGET) -> tuple[InRun, Verdict, Verdict]:
    run = runs()[label]
    share = attained(int(met(run, cadence).sum()), 0, len(run.outcome))
    steady = steadiness(run.ttft_us)
    return (
        in_run(share, target),
        deterministic([share], target).verdict,
        traffic(share, size(run, cadence), target, steady).verdict,
    )


@pytest.mark.parametrize(
    ("label", "traffic_too"),
    [
        ("sarathi-qps1", True),
        ("sarathi-qps2", True),
        ("sarathi-qps3", False),
        ("sarathi-qps4", False),
    ],
)
def test_the_stall_objective_is_met_up_to_four(label: str, traffic_too: bool) -> None:
    expected = Verdict.ACCEPTED if traffic_too else Verdict.UNDECIDED
    assert verdicts(label, "stall") == (InRun.MET, Verdict.ACCEPTED, expected)


def test_the_stall_objective_is_missed_at_six_and_traffic_is_rejected_at_eight() -> None:
    assert verdicts("sarathi-qps6", "stall") == (
        InRun.MISSED,
        Verdict.REJECTED,
        Verdict.UNDECIDED,
    )
    assert verdicts("sarathi-qps8", "stall")[2] is Verdict.REJECTED


@pytest.mark.parametrize("policy", ["vllm", "orca"])
@pytest.mark.parametrize("load", [1, 2, 4, 8])
def test_the_stall_objective_rejects_the_others_from_one(policy: str, load: int) -> None:
    expected = (InRun.MISSED, Verdict.REJECTED, Verdict.REJECTED)
    assert verdicts(f"{policy}-qps{load}", "stall") == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        *((f"{policy}-qps1", Verdict.ACCEPTED) for policy in ("sarathi", "vllm", "orca")),
        *((f"{policy}-qps2", Verdict.UNDECIDED) for policy in ("sarathi", "vllm", "orca")),
        *((f"{policy}-qps3", Verdict.UNDECIDED) for policy in ("sarathi", "vllm")),
        *((f"{policy}-qps4", Verdict.UNDECIDED) for policy in ("sarathi", "vllm", "orca")),
        *((f"{policy}-qps6", Verdict.REJECTED) for policy in ("sarathi", "vllm")),
        ("orca-qps8", Verdict.REJECTED),
    ],
)
def test_the_mean_cadence_objective_for_traffic(label: str, expected: Verdict) -> None:
    assert verdicts(label, "tpot")[2] is expected


@pytest.mark.parametrize("label", [f"sarathi-qps{load}" for load in (1, 2, 3, 4)])
def test_nothing_is_accepted_for_traffic_at_ninety_nine(label: str) -> None:
    assert verdicts(label, "stall", 0.99)[2] is Verdict.UNDECIDED


def test_open_requests_give_bounds() -> None:
    run = runs()["vllm-qps8-limit60s"]
    n_open = int(np.isin(run.outcome, [Outcome.CUT_OFF, Outcome.NOT_SENT]).sum())
    share = attained(int(met(run, "stall").sum()), n_open, len(run.outcome))
    assert n_open == 234
    assert share.high - share.low == pytest.approx(0.468)
    assert size(run, "stall").n_eff < 10


def test_every_run_of_a_load_has_the_same_workload() -> None:
    plans = {
        label: plan(
            run.request_index,
            run.scheduled_us,
            run.prompt_tokens,
            run.requested_output_tokens,
        )
        for label, run in runs().items()
    }
    assert fingerprint(plans["vllm-qps4"]) == fingerprint(plans["sarathi-qps4"])
    assert compare(plans["vllm-qps8"], plans["vllm-qps8-limit60s"]).level is Level.IDENTICAL
    other = compare(plans["vllm-qps4"], plans["vllm-qps8"])
    assert other.level is Level.SAME_REQUESTS
    assert other.differing == {Component.ARRIVAL}
