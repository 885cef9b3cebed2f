"""Rates over one window, and how many requests met an objective."""

from pathlib import Path

import pytest

from headway.analyses import rates
from headway.catalog import Catalog
from headway.model import Objective, Selection, Window
from libraries import make_run, open_runs, run_from, run_of

SECOND = 1_000_000


def attained(
    opened: Catalog, run_id: str, window: Window = Window(), **limits: float
) -> tuple[int, int]:
    found = rates.attainments(opened, Selection((run_id,), window), Objective(**limits))[run_id]
    return found.n_met, found.n_offered


def test_a_limit_is_met_by_three_of_ten_offered_not_three_of_six(real: Catalog) -> None:
    run_id = run_from(real, "01-vllm-failed-rows-look-like-zero-ttft")
    assert attained(real, run_id, ttft_ms=150) == (3, 10)


@pytest.mark.parametrize(("rps", "n_met"), [(1.0, 500), (4.0, 500), (6.0, 467), (8.0, 163)])
def test_sarathi_meets_the_declared_objective_so_often(
    study: Catalog, rps: float, n_met: int
) -> None:
    run_id = run_of(study, "sarathi", rps)
    assert attained(study, run_id, ttft_ms=2000, stall_ms=100) == (n_met, 500)


def test_mean_and_longest_stall_flip_the_same_limit(study: Catalog) -> None:
    run_id = run_of(study, "vllm", 4.0)
    assert attained(study, run_id, ttft_ms=2000, tpot_ms=100)[0] > 490
    assert attained(study, run_id, ttft_ms=2000, stall_ms=100) == (74, 500)


def test_more_load_carries_a_little_less_and_serves_far_fewer(study: Catalog) -> None:
    six, eight = (run_of(study, "sarathi", rps) for rps in (6.0, 8.0))
    found = rates.rates(study, Selection((six, eight)))
    tokens = [found[run_id].output_tokens_per_s for run_id in (six, eight)]
    assert tokens == pytest.approx([1171.2, 1150.9], abs=0.1)
    assert found[six].tokens_of == "delivered"


def test_goodput_is_the_requests_that_met_over_the_length_of_the_window(study: Catalog) -> None:
    run_id = run_of(study, "sarathi", 6.0)
    selection = Selection((run_id,))
    met = rates.attainments(study, selection, Objective(ttft_ms=2000, stall_ms=100))[run_id]
    rate = rates.rates(study, selection)[run_id]
    assert rate.window_s is not None
    assert rates.goodput_rps(met, rate) == pytest.approx(467 / rate.window_s)
    assert rates.goodput_rps(None, rate) is None


def test_an_answer_of_one_token_passes_the_cadence_limits_and_is_counted(tmp_path: Path) -> None:
    rows = [{"ttft_us": 1000, "latency_us": 1000, "output_tokens": 1, "chunk_gaps_us": []}]
    opened = open_runs(tmp_path, make_run(rows))
    objective = Objective(tpot_ms=1, stall_ms=1)
    found = rates.attainments(opened, Selection(("r0",)), objective)["r0"]
    assert (found.n_met, found.n_no_cadence) == (1, 1)


def test_a_value_that_is_unknown_meets_no_limit(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"latency_us": 1000}]))
    assert attained(opened, "r0", ttft_ms=1e9) == (0, 1)
    assert attained(opened, "r0", latency_ms=1) == (1, 1)


def test_a_fast_first_token_of_a_request_that_failed_meets_nothing(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"outcome": "failed", "ttft_us": 1}]))
    assert attained(opened, "r0", ttft_ms=1000) == (0, 1)


def test_a_run_without_times_has_no_rates(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"latency_us": 1000, "output_tokens": 5}]))
    assert rates.rates(opened, Selection(("r0",)))["r0"] == rates.Rates("r0")


def test_a_window_under_a_second_has_counts_and_no_rates(tmp_path: Path) -> None:
    rows = [{"sent_us": 0, "latency_us": 100, "output_tokens": 5}]
    found = rates.rates(open_runs(tmp_path, make_run(rows)), Selection(("r0",)))["r0"]
    assert found.completed_rps is None
    assert found.total_tokens_per_s is None


def test_unlimited_load_has_no_rates(real: Catalog) -> None:
    run_id = run_from(real, "rateinf")
    assert rates.rates(real, Selection((run_id,)))[run_id].output_tokens_per_s is None


def test_a_run_where_everything_failed_completes_nothing_per_second(tmp_path: Path) -> None:
    rows = [{"outcome": "failed", "sent_us": at} for at in (0, 2 * SECOND)]
    found = rates.rates(open_runs(tmp_path, make_run(rows)), Selection(("r0",)))["r0"]
    assert (found.completed_rps, found.output_tokens_per_s) == (0, 0)


def test_input_and_output_are_added_under_their_own_name(tmp_path: Path) -> None:
    row = {"ttft_us": 1, "latency_us": 1, "prompt_tokens": 7, "output_tokens": 1}
    rows = [row | {"sent_us": at, "chunk_gaps_us": []} for at in (0, 2 * SECOND - 1)]
    selection = Selection(("r0",), Window(0, 2 * SECOND))
    found = rates.rates(open_runs(tmp_path, make_run(rows)), selection)["r0"]
    assert (found.output_tokens_per_s, found.input_tokens_per_s) == (0.5, 3.5)
    assert found.total_tokens_per_s == 4
