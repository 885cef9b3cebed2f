import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.stats.steadiness import Steadiness
from headway.stats.verdicts import (
    Attained,
    Claim,
    InRun,
    Settlement,
    Verdict,
    Why,
    attained,
    in_run,
    mean_attained,
    settle_traffic,
    settle_workload,
    traffic,
    workload,
)

STEADY = Steadiness.STEADY
ORDER = [Verdict.REJECTED, Verdict.UNDECIDED, Verdict.ACCEPTED]
RUN_ORDER = [InRun.MISSED, InRun.OPEN, InRun.MET]
TARGETS = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
COUNTS = st.tuples(st.integers(0, 400), st.integers(0, 50), st.integers(0, 400))


def of_180(*met: int) -> list[Attained]:
    return [attained(k, 0, 180) for k in met]


@pytest.mark.parametrize(
    ("met", "verdict", "low", "high"),
    [
        ((170, 167, 168, 170, 169), Verdict.ACCEPTED, 0.9309, None),
        ((160, 150, 149, 159, 158), Verdict.REJECTED, None, 0.8901),
        ((174, 168, 161, 174, 173), Verdict.ACCEPTED, 0.9147, None),
        ((154, 140, 135, 145, 138), Verdict.REJECTED, None, None),
    ],
)
def test_replicates(
    met: tuple[int, ...], verdict: Verdict, low: float | None, high: float | None
) -> None:
    claim = workload(of_180(*met), 0.9)
    assert (claim.verdict, claim.why) == (verdict, Why.BOUND)
    assert low is None or claim.low == pytest.approx(low, abs=5e-5)
    assert high is None or claim.high == pytest.approx(high, abs=5e-5)


def test_one_run_of_an_accepted_set_may_have_missed() -> None:
    found = [in_run(run, 0.9) for run in of_180(174, 168, 161, 174, 173)]
    assert found.count(InRun.MISSED) == 1


def test_a_single_run_is_met_in_the_run_and_decides_nothing() -> None:
    (run,) = of_180(170)
    assert in_run(run, 0.9) is InRun.MET
    assert workload([run], 0.9) == Claim(Verdict.UNDECIDED, None, None, Why.TOO_FEW_RUNS)
    assert settle_workload([run], 0.9) == 3


def test_half_rejected_with_fast_completions_is_missed_and_accepted_nowhere() -> None:
    run = attained(250, 0, 500)
    assert in_run(run, 0.95) is InRun.MISSED
    assert workload([run], 0.95).verdict is Verdict.UNDECIDED
    assert traffic(run, 300, 0.95, STEADY).verdict is Verdict.REJECTED


def test_a_deterministic_run_is_the_answer() -> None:
    met, missed, unclear = attained(500, 0, 500), attained(467, 0, 500), attained(467, 20, 500)
    found = [workload([run], 0.95, deterministic=True) for run in (met, missed, unclear)]
    assert [claim.verdict for claim in found] == [
        Verdict.ACCEPTED,
        Verdict.REJECTED,
        Verdict.UNDECIDED,
    ]
    assert found[0].why is Why.DETERMINISTIC
    assert found[2].why is Why.OPEN_REQUESTS
    assert workload([], 0.95, deterministic=True).why is Why.TOO_FEW_RUNS


@pytest.mark.parametrize(("k", "verdict"), [(162, Verdict.ACCEPTED), (161, Verdict.REJECTED)])
def test_replicates_that_agree_exactly(k: int, verdict: Verdict) -> None:
    claim = workload(of_180(k, k, k), 0.9)
    assert claim.verdict is verdict
    assert claim.low == claim.high == pytest.approx(k / 180)


def test_the_bounds_of_replicates_stay_shares() -> None:
    claim = workload([Attained(0, 0), Attained(1, 1), Attained(1, 1)], 0.9)
    assert (claim.low, claim.high) == (0, 1)


def test_open_requests_widen_the_replicates_interval() -> None:
    claim = workload([attained(160, 15, 180)] * 3, 0.95)
    assert claim.verdict is Verdict.UNDECIDED
    assert claim.why is Why.OPEN_REQUESTS
    assert (claim.low, claim.high) == pytest.approx((160 / 180, 175 / 180))


@pytest.mark.parametrize(
    ("met", "n", "target", "verdict"),
    [
        (500, 500, 0.99, Verdict.ACCEPTED),
        (990, 1000, 0.99, Verdict.UNDECIDED),
        (0, 10, 0.99, Verdict.REJECTED),
        (495, 500, 0.99, Verdict.UNDECIDED),
        (367, 367, 0.99, Verdict.UNDECIDED),
        (368, 368, 0.99, Verdict.ACCEPTED),
        (100, 100, 0.99, Verdict.UNDECIDED),
    ],
)
def test_independent_requests(met: int, n: int, target: float, verdict: Verdict) -> None:
    assert traffic(attained(met, 0, n), n, target, STEADY).verdict is verdict


def test_the_rejecting_bound_of_none_in_ten() -> None:
    assert traffic(attained(0, 0, 10), 10, 0.99, STEADY).high == pytest.approx(1 - 0.05**0.1)


def test_why_traffic_is_undecided() -> None:
    every, most = attained(500, 0, 500), attained(480, 0, 500)
    assert traffic(every, None, 0.95, STEADY) == Claim(
        Verdict.UNDECIDED, None, None, Why.NO_EFFECTIVE_SIZE
    )
    assert traffic(every, 367, 0.99, STEADY).why is Why.TOO_FEW_EFFECTIVE
    assert traffic(most, 500, 0.95, STEADY).why is Why.STRADDLES
    assert traffic(attained(460, 40, 500), 500, 0.95, STEADY).why is Why.OPEN_REQUESTS


def test_a_run_that_is_not_steady_is_never_accepted() -> None:
    every, none = attained(500, 0, 500), attained(0, 0, 500)
    claim = traffic(every, 500, 0.95, Steadiness.NOT_STEADY)
    assert (claim.verdict, claim.why) == (Verdict.UNDECIDED, Why.NOT_STEADY)
    assert traffic(every, 500, 0.95, Steadiness.UNKNOWN).verdict is Verdict.ACCEPTED
    assert traffic(none, 500, 0.95, Steadiness.NOT_STEADY).verdict is Verdict.REJECTED


def test_the_target_itself_is_reached_despite_rounding() -> None:
    for n, share in ((10, 0.9), (1000, 0.07), (180, 0.55), (300, 0.29)):
        assert in_run(attained(round(n * share), 0, n), share) is InRun.MET
        assert in_run(attained(round(n * share) - 1, 0, n), share) is InRun.MISSED


def test_no_request_at_all_is_open() -> None:
    assert in_run(attained(0, 0, 0), 0.95) is InRun.OPEN


def test_replicates_have_one_vote_each() -> None:
    assert mean_attained([Attained(0.8, 0.9), Attained(1, 1)]) == Attained(0.9, 0.95)


def test_what_would_settle_traffic() -> None:
    # All met: 71.9 effective requests are needed for 95%, and 19.9 of 500 were there.
    every = settle_traffic(Attained(1, 1), 500, 19.9, 0.95)
    assert every.if_all_met == every.at_this_share == int(np.ceil(500 / 19.9 * 71.9174))
    on_target = settle_traffic(Attained(0.95, 0.95), 500, 100, 0.95)
    assert on_target.at_this_share is None
    assert on_target.if_all_met == Settlement(on_target.if_all_met, None).if_all_met > 500


@given(
    n=st.integers(20, 5000),
    worth=st.floats(0.01, 0.75),
    share=st.floats(0.5, 1),
    target=TARGETS,
)
def test_a_run_of_the_settled_length_is_decided(
    n: int, worth: float, share: float, target: float
) -> None:
    assume(abs(share - target) > 0.002)
    run = Attained(share, share)
    needed = settle_traffic(run, n, n * worth, target)
    assert needed.if_all_met >= n
    assert needed.at_this_share is not None
    longer = traffic(run, needed.at_this_share * worth, target, STEADY).verdict
    assert longer is (Verdict.ACCEPTED if share > target else Verdict.REJECTED)
    all_met = Attained(1 - (1 - share) * n / needed.if_all_met, 1)
    assert traffic(all_met, needed.if_all_met * worth + 1e-6, target, STEADY).verdict is (
        Verdict.ACCEPTED
    )


def test_what_would_settle_the_workload() -> None:
    assert settle_workload(of_180(170, 170), 0.9) == 3
    close = of_180(163, 166, 158)
    needed = settle_workload(close, 0.9)
    assert needed is not None
    assert workload(close, 0.9).verdict is Verdict.UNDECIDED
    assert settle_workload(of_180(162, 163, 161), 0.9) is None


@given(counts=COUNTS, target=TARGETS, lost=st.integers(1, 200), deff=st.floats(1, 30))
def test_adding_lost_requests_never_improves_a_verdict(
    counts: tuple[int, int, int], target: float, lost: int, deff: float
) -> None:
    n_met, n_open, n_missed = counts
    n = n_met + n_open + n_missed
    assume(n > 0)
    before, after = attained(n_met, n_open, n), attained(n_met, n_open, n + lost)
    first = traffic(before, n / deff, target, STEADY).verdict
    then = traffic(after, (n + lost) / deff, target, STEADY).verdict
    assert ORDER.index(then) <= ORDER.index(first)
    assert RUN_ORDER.index(in_run(after, target)) <= RUN_ORDER.index(in_run(before, target))


@given(
    shares=st.lists(st.floats(0, 1), min_size=3, max_size=8),
    target=TARGETS,
    gap=st.floats(0, 0.3),
)
def test_bounds_are_ordered(shares: list[float], target: float, gap: float) -> None:
    runs = [Attained(share, min(1.0, share + gap)) for share in shares]
    for claim in (workload(runs, target), traffic(mean_attained(runs), 50, target, STEADY)):
        assert claim.low is not None
        assert claim.high is not None
        assert 0 <= claim.low <= claim.high <= 1


@given(n_met=st.integers(0, 100), n_open=st.integers(0, 100), target=TARGETS)
def test_accepted_for_traffic_means_met_in_the_run(n_met: int, n_open: int, target: float) -> None:
    run = attained(n_met, n_open, 200)
    claim = traffic(run, 120, target, STEADY)
    if claim.verdict is Verdict.ACCEPTED:
        assert in_run(run, target) is InRun.MET
    if claim.verdict is Verdict.REJECTED:
        assert in_run(run, target) is InRun.MISSED
