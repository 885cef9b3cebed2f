"""What replicates show: exact bounds, and never more than k of K runs carry."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.stats.repeats import (
    Repeats,
    deterministic,
    misses_to_reject,
    repeats,
    runs_needed,
    workload,
)
from headway.stats.verdicts import Attained, Verdict, Why, attained

MET, MISSED, OPEN = Attained(1, 1), Attained(0, 0), Attained(0.5, 1)


def of(n_met: int, n_missed: int, n_open: int = 0, asked: float = 0.5) -> Repeats:
    return repeats([MET] * n_met + [MISSED] * n_missed + [OPEN] * n_open, 0.9, asked)


@pytest.mark.parametrize(
    ("n_met", "n_missed", "low", "high"),
    [
        (3, 0, 0.368, 1),
        (5, 0, 0.549, 1),
        (10, 0, 0.741, 1),
        (4, 1, 0.343, 0.990),
        (0, 5, 0, 0.451),
        (1, 0, 0.05, 1),
    ],
)
def test_the_bounds_of_clopper_and_pearson(
    n_met: int, n_missed: int, low: float, high: float
) -> None:
    found = of(n_met, n_missed)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(
    ("n_met", "n_missed", "asked", "verdict", "why"),
    [
        (5, 0, 0.5, Verdict.ACCEPTED, Why.REPEATED),
        (4, 0, 0.5, Verdict.UNDECIDED, Why.TOO_FEW_RUNS),
        (3, 0, 0.36, Verdict.ACCEPTED, Why.REPEATED),
        (3, 0, 0.5, Verdict.UNDECIDED, Why.TOO_FEW_RUNS),
        (14, 0, 0.8, Verdict.ACCEPTED, Why.REPEATED),
        (13, 0, 0.8, Verdict.UNDECIDED, Why.TOO_FEW_RUNS),
        (4, 1, 0.5, Verdict.UNDECIDED, Why.SOME_MISSED),
        (4, 1, 0.3, Verdict.UNDECIDED, Why.SOME_MISSED),
        (99, 1, 0.5, Verdict.UNDECIDED, Why.SOME_MISSED),
        (0, 5, 0.5, Verdict.REJECTED, Why.REPEATED),
        (0, 4, 0.5, Verdict.UNDECIDED, Why.SOME_MISSED),
    ],
)
def test_accepted_only_where_every_run_met_and_the_bound_reaches(
    n_met: int, n_missed: int, asked: float, verdict: Verdict, why: Why
) -> None:
    claim = workload(of(n_met, n_missed, asked=asked))
    assert (claim.verdict, claim.why) == (verdict, why)


def test_the_sample_set_with_a_missed_run_is_not_accepted() -> None:
    """budget2048 at 4 req/s: 174, 168, 161, 174 and 173 of 180 met, and 90% was asked."""
    found = repeats([attained(k, 0, 180) for k in (174, 168, 161, 174, 173)], 0.9)
    assert (found.n_met, found.n_runs, found.n_missed) == (4, 5, 1)
    assert workload(found).verdict is Verdict.UNDECIDED


def test_open_runs_are_neither_met_nor_missed() -> None:
    assert workload(of(5, 0, 1)).why is Why.OPEN_REQUESTS
    assert of(5, 0, 1).n_missed == 0


def test_no_run_at_all_shows_nothing() -> None:
    found = repeats([], 0.9)
    assert (found.low, found.high) == (0, 1)
    assert workload(found).why is Why.TOO_FEW_RUNS


@pytest.mark.parametrize("asked", [0.36, 0.5, 0.8, 0.9])
def test_the_runs_needed_are_the_fewest_that_are_accepted(asked: float) -> None:
    n = runs_needed(asked)
    assert workload(of(n, 0, asked=asked)).verdict is Verdict.ACCEPTED
    assert workload(of(n - 1, 0, asked=asked)).verdict is Verdict.UNDECIDED


@given(n_met=st.integers(0, 10), n_missed=st.integers(1, 10))
def test_so_many_more_misses_reject_and_one_fewer_does_not(n_met: int, n_missed: int) -> None:
    more = misses_to_reject(of(n_met, n_missed))
    assert workload(of(n_met, n_missed + more)).verdict is Verdict.REJECTED
    if more:
        assert workload(of(n_met, n_missed + more - 1)).verdict is not Verdict.REJECTED


@given(k=st.integers(1, 30), true=st.fractions(Fraction(1, 100), Fraction(99, 100)))
def test_the_bound_is_wrong_in_one_set_of_twenty_at_most(k: int, true: Fraction) -> None:
    """Exactly, over all outcomes of K independent runs: how often the bound exceeds the truth."""
    wrong = sum(
        comb(k, n_met) * true**n_met * (1 - true) ** (k - n_met)
        for n_met in range(k + 1)
        if of(n_met, k - n_met).low > true
    )
    assert wrong <= Fraction(5, 100) + Fraction(1, 10**9)


def test_a_simulator_is_the_answer() -> None:
    found = [
        deterministic([attained(n_met, n_open, 500)], 0.95)
        for n_met, n_open in ((500, 0), (467, 0), (467, 20))
    ]
    assert [(claim.verdict, claim.why) for claim in found] == [
        (Verdict.ACCEPTED, Why.DETERMINISTIC),
        (Verdict.REJECTED, Why.DETERMINISTIC),
        (Verdict.UNDECIDED, Why.OPEN_REQUESTS),
    ]
