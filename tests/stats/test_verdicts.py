from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.stats.effective import Effective, few_blocks
from headway.stats.steadiness import Steadiness
from headway.stats.verdicts import (
    Attained,
    Claim,
    InRun,
    Verdict,
    Why,
    attained,
    in_run,
    mean_attained,
    reach_of,
    traffic,
)

STEADY = Steadiness.STEADY
ORDER = [Verdict.REJECTED, Verdict.UNDECIDED, Verdict.ACCEPTED]
RUN_ORDER = [InRun.MISSED, InRun.OPEN, InRun.MET]
TARGETS = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
COUNTS = st.tuples(st.integers(0, 400), st.integers(0, 50), st.integers(0, 400))


def worth(n: int, n_eff: float) -> Effective:
    """Return the size of a run of n requests that counts for n_eff."""
    return Effective(n, n / n_eff, n_eff, n / n_eff)


def of_180(*met: int) -> list[Attained]:
    return [attained(k, 0, 180) for k in met]


def test_one_run_of_a_set_may_have_missed() -> None:
    found = [in_run(run, 0.9) for run in of_180(174, 168, 161, 174, 173)]
    assert found.count(InRun.MISSED) == 1


def test_half_rejected_with_fast_completions_is_missed_and_rejected() -> None:
    run = attained(250, 0, 500)
    assert in_run(run, 0.95) is InRun.MISSED
    assert traffic(run, worth(500, 300), 0.95, STEADY).verdict is Verdict.REJECTED


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
    assert traffic(attained(met, 0, n), worth(n, n), target, STEADY).verdict is verdict


def test_the_rejecting_bound_of_none_in_ten() -> None:
    high = traffic(attained(0, 0, 10), worth(10, 10), 0.99, STEADY).high
    assert high == pytest.approx(1 - 0.05**0.1)


def test_why_traffic_is_undecided() -> None:
    every, most = attained(500, 0, 500), attained(480, 0, 500)
    assert traffic(every, None, 0.95, STEADY) == Claim(
        Verdict.UNDECIDED, None, None, Why.NO_EFFECTIVE_SIZE
    )
    assert traffic(every, worth(500, 367), 0.99, STEADY).why is Why.TOO_FEW_EFFECTIVE
    assert traffic(most, worth(500, 500), 0.95, STEADY).why is Why.STRADDLES
    some_open = attained(460, 40, 500)
    assert traffic(some_open, worth(500, 500), 0.95, STEADY).why is Why.OPEN_REQUESTS


def test_a_run_that_is_not_steady_is_never_accepted() -> None:
    every, none, size = attained(500, 0, 500), attained(0, 0, 500), worth(500, 500)
    claim = traffic(every, size, 0.95, Steadiness.NOT_STEADY)
    assert (claim.verdict, claim.why) == (Verdict.UNDECIDED, Why.NOT_STEADY)
    assert traffic(every, size, 0.95, Steadiness.UNKNOWN).verdict is Verdict.ACCEPTED
    assert traffic(none, size, 0.95, Steadiness.NOT_STEADY).verdict is Verdict.REJECTED


@pytest.mark.parametrize(
    ("n", "n_missed", "spell", "verdict"),
    [
        (2000, 20, 10, Verdict.ACCEPTED),
        (2000, 20, 17.5, Verdict.ACCEPTED),
        (2000, 20, 17.7, Verdict.UNDECIDED),
        (2000, 20, 30, Verdict.UNDECIDED),
        (2000, 0, 27, Verdict.ACCEPTED),
        (2000, 0, 28, Verdict.UNDECIDED),
    ],
)
def test_an_acceptance_covers_the_declared_spell(
    n: int, n_missed: int, spell: float, verdict: Verdict
) -> None:
    run, size = attained(n - n_missed, 0, n), worth(n, n / few_blocks(1))
    claim = traffic(run, size, 0.95, STEADY, spell)
    assert claim.verdict is verdict
    assert claim.why is (Why.BOUND if verdict is Verdict.ACCEPTED else Why.LONG_SPELL)


def test_a_spell_beyond_the_run_is_never_covered() -> None:
    claim = traffic(attained(500, 0, 500), worth(500, 500), 0.95, STEADY, float("inf"))
    assert (claim.verdict, claim.why) == (Verdict.UNDECIDED, Why.LONG_SPELL)


@given(n=st.integers(20, 5000), share=st.floats(0.5, 1), deff=st.floats(1, 60), target=TARGETS)
def test_the_reach_is_what_decides_an_acceptance(
    n: int, share: float, deff: float, target: float
) -> None:
    """Today's bound on n effective requests, written as a reach."""
    run = Attained(round(share * n) / n, round(share * n) / n)
    size = worth(n, n / deff)
    known = reach_of(run, size, target)
    assume(abs(known.requests - deff) > 1e-6 * deff)
    accepted = traffic(run, size, target, STEADY).verdict is Verdict.ACCEPTED
    assert accepted == (known.requests >= known.needed)


def test_the_target_itself_is_reached_despite_rounding() -> None:
    for n, share in ((10, 0.9), (1000, 0.07), (180, 0.55), (300, 0.29)):
        assert in_run(attained(round(n * share), 0, n), share) is InRun.MET
        assert in_run(attained(round(n * share) - 1, 0, n), share) is InRun.MISSED


def test_no_request_at_all_is_open() -> None:
    assert in_run(attained(0, 0, 0), 0.95) is InRun.OPEN


def test_replicates_have_one_vote_each() -> None:
    assert mean_attained([Attained(0.8, 0.9), Attained(1, 1)]) == Attained(0.9, 0.95)


@given(counts=COUNTS, target=TARGETS, lost=st.integers(1, 200), deff=st.floats(1, 30))
def test_adding_lost_requests_never_improves_a_verdict(
    counts: Sequence[int], target: float, lost: int, deff: float
) -> None:
    n_met, n_open, n_missed = counts
    n = n_met + n_open + n_missed
    assume(n > 0)
    before, after = attained(n_met, n_open, n), attained(n_met, n_open, n + lost)
    first = traffic(before, worth(n, n / deff), target, STEADY).verdict
    then = traffic(after, worth(n + lost, (n + lost) / deff), target, STEADY).verdict
    assert ORDER.index(then) <= ORDER.index(first)
    assert RUN_ORDER.index(in_run(after, target)) <= RUN_ORDER.index(in_run(before, target))


@given(share=st.floats(0, 1), target=TARGETS, gap=st.floats(0, 0.3), spell=st.floats(0, 400))
def test_bounds_are_ordered(share: float, target: float, gap: float, spell: float) -> None:
    run = Attained(share, min(1.0, share + gap))
    claim = traffic(run, worth(200, 50), target, STEADY, spell)
    assert claim.low is not None
    assert claim.high is not None
    assert 0 <= claim.low <= claim.high <= 1


@given(n_met=st.integers(0, 100), n_open=st.integers(0, 100), target=TARGETS)
def test_accepted_for_traffic_means_met_in_the_run(n_met: int, n_open: int, target: float) -> None:
    run = attained(n_met, n_open, 200)
    claim = traffic(run, worth(200, 120), target, STEADY)
    if claim.verdict is Verdict.ACCEPTED:
        assert in_run(run, target) is InRun.MET
    if claim.verdict is Verdict.REJECTED:
        assert in_run(run, target) is InRun.MISSED
