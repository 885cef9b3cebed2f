"""Every offered request has an outcome, in every window."""

from pathlib import Path

import pytest

from headway.analyses import accounting
from headway.catalog import Catalog
from headway.model import Origin, Outcome, Selection, Window
from libraries import make_run, open_runs, run_from, run_of

SECOND = 1_000_000


def counts(account: accounting.Account) -> dict[str, int]:
    """Return the outcomes that happened."""
    return {outcome.value: n for outcome, n in account.outcomes.items() if n}


def account_of(opened: Catalog, run_id: str, window: Window = Window()) -> accounting.Account:
    return accounting.accounts(opened, Selection((run_id,), window))[run_id]


@pytest.mark.parametrize(
    ("folder", "n_offered", "expected"),
    [
        (
            "01-vllm-failed-rows-look-like-zero-ttft",
            10,
            {"completed": 6, "rejected": 2, "failed": 2},
        ),
        (
            "faults-proxy-rate5",
            100,
            {"completed": 82, "truncated": 4, "rejected": 4, "failed": 10},
        ),
        ("serverkill-rate4", 100, {"completed": 37, "truncated": 4, "failed": 59}),
        ("overlong-rate5", 60, {"completed": 40, "rejected": 20}),
        ("crashed-orca-qps4", 35, {"completed": 19, "cut_off": 16}),
        ("crashed-faster_transformer-qps8", 5, {"completed": 1, "cut_off": 4}),
        ("vllm-qps8-limit60s", 500, {"completed": 266, "cut_off": 201, "not_sent": 33}),
    ],
)
def test_a_real_run_accounts_for_every_request(
    real: Catalog, folder: str, n_offered: int, expected: dict[str, int]
) -> None:
    account = account_of(real, run_from(real, folder))
    assert counts(account) == expected
    assert account.n_offered == n_offered
    assert account.balanced


def test_every_real_run_is_balanced(real: Catalog, study: Catalog) -> None:
    for opened in (real, study):
        found = accounting.accounts(opened, Selection(tuple(opened.runs)))
        assert all(account.balanced for account in found.values())
        assert all(sum(a.outcomes.values()) == a.n_offered for a in found.values())


@pytest.mark.parametrize("policy", ["orca", "vllm", "sarathi", "faster_transformer"])
def test_every_complete_simulation_offers_and_completes_500(study: Catalog, policy: str) -> None:
    for rps in (1.0, 2.0, 4.0, 8.0):
        assert counts(account_of(study, run_of(study, policy, rps))) == {"completed": 500}


def test_a_failure_without_any_text_is_a_failure(real: Catalog) -> None:
    run_id = run_from(real, "01-vllm-failed-rows-look-like-zero-ttft")
    found = accounting.reasons(real, Selection((run_id,)))[run_id]
    assert sum(reason.n for reason in found) == 4
    (silent,) = [reason for reason in found if not reason.stated]
    assert silent.outcome is Outcome.FAILED
    assert silent.reason == "no content received and no error recorded"


def test_reasons_come_in_the_words_of_the_source(real: Catalog) -> None:
    run_id = run_from(real, "01-vllm-failed-rows-look-like-zero-ttft")
    found = accounting.reasons(real, Selection((run_id,)))[run_id]
    assert {"Service Unavailable", "Too Many Requests"} <= {reason.reason for reason in found}


def test_short_successes_are_inferred_not_stated(real: Catalog) -> None:
    run_id = run_from(real, "faults-proxy-rate5")
    truncated = [
        reason
        for reason in accounting.reasons(real, Selection((run_id,)))[run_id]
        if reason.outcome is Outcome.TRUNCATED
    ]
    assert sum(reason.n for reason in truncated) == 4
    assert not any(reason.stated for reason in truncated)
    assert account_of(real, run_id).n_inferred >= 4


def test_a_window_leaves_out_what_was_due_after_it(study: Catalog) -> None:
    (run_id,) = [run.run_id for run in study.runs.values() if run.time_limit_s is not None]
    account = account_of(study, run_id, Window(0, 60 * SECOND))
    assert counts(account) == {"completed": 266, "cut_off": 200}
    assert account.n_offered == 466


def test_a_window_without_requests_counts_zero_of_everything(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"sent_us": 5}]))
    account = account_of(opened, "r0", Window(100, 200))
    assert (account.n_offered, counts(account)) == (0, {})
    assert account.balanced


def test_warm_up_is_never_among_the_offered(tmp_path: Path) -> None:
    rows = [{"phase": "warmup", "sent_us": 0}, {"phase": "measured", "sent_us": 1}]
    account = account_of(open_runs(tmp_path, make_run(rows)), "r0")
    assert account.n_offered == 1


def test_a_run_of_nothing_but_warm_up_offered_nothing(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{"phase": "warmup", "sent_us": 0}]))
    account = account_of(opened, "r0")
    assert (account.n_offered, account.balanced) == (0, True)
    assert accounting.intervals(opened, Selection(("r0",))) == {}


def test_pooled_accounts_add_up(real: Catalog) -> None:
    found = accounting.accounts(real, Selection(tuple(real.runs)))
    pooled = accounting.pooled(found)
    assert pooled.n_offered == sum(pooled.outcomes.values())
    assert pooled.outcomes[Outcome.TRUNCATED] == 8
    assert pooled.balanced


def test_the_window_in_force_runs_from_the_first_to_just_after_the_last_arrival(
    tmp_path: Path,
) -> None:
    rows = [{"scheduled_us": 10, "sent_us": 12}, {"scheduled_us": 40, "sent_us": 50}]
    span = accounting.intervals(open_runs(tmp_path, make_run(rows)), Selection(("r0",)))["r0"]
    assert (span.start_us, span.end_us, span.origin_used) == (10, 41, "scheduled")
    assert span.measured_rps == pytest.approx(1 / 30e-6)


def test_without_times_there_is_no_window_and_no_rate(tmp_path: Path) -> None:
    opened = open_runs(tmp_path, make_run([{}, {}]))
    span = accounting.intervals(opened, Selection(("r0",), Window(0, 10)))["r0"]
    assert (span.start_us, span.end_us, span.measured_rps) == (None, None, None)
    assert span.origin_used == "none"
    assert account_of(opened, "r0", Window(0, 10)).n_offered == 2


def test_a_schedule_that_is_not_complete_is_not_an_origin(tmp_path: Path) -> None:
    rows = [{"scheduled_us": 0, "sent_us": 0}, {"sent_us": 9}]
    opened = open_runs(tmp_path, make_run(rows))
    selection = Selection(("r0",), origin=Origin.SCHEDULED)
    assert accounting.intervals(opened, selection)["r0"].origin_used == "sent"
