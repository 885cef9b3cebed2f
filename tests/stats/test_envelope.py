import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import MisuseError
from headway.stats.envelope import Bracket, Knee, Point, bracket, isotonic, knee
from headway.stats.verdicts import Verdict

VERDICT = {"A": Verdict.ACCEPTED, "R": Verdict.REJECTED, "?": Verdict.UNDECIDED}


def sweep(verdicts: str, shares: list[float] | None = None) -> list[Point]:
    known: list[float | None] = list(shares) if shares else [None] * len(verdicts)
    return [
        Point(float(load), VERDICT[letter], share)
        for load, letter, share in zip(range(1, 99), verdicts, known, strict=False)
    ]


@pytest.mark.parametrize(
    ("verdicts", "last_accepted", "first_rejected", "undecided", "band"),
    [
        ("AAAR", 3, 4, (), ()),
        ("AA??R", 2, 5, (3, 4), (3, 4)),
        ("RRR", None, 1, (), ()),
        ("AAA", 3, None, (), ()),
        ("???", None, None, (1, 2, 3), (1, 2, 3)),
        ("A?A?R?", 3, 5, (2, 4, 6), (4,)),
        ("", None, None, (), ()),
    ],
)
def test_the_bracket(
    verdicts: str,
    last_accepted: float | None,
    first_rejected: float | None,
    undecided: tuple[float, ...],
    band: tuple[float, ...],
) -> None:
    expected = Bracket(last_accepted, first_rejected, undecided, band, (), non_monotone=False)
    assert bracket(sweep(verdicts)) == expected


def test_an_accepted_load_above_a_rejected_one_counts_for_nothing() -> None:
    found = bracket(sweep("ARA"))
    assert (found.last_accepted, found.first_rejected) == (1, 2)
    assert found.contradicted == (3,)
    assert found.non_monotone


def test_a_share_that_rises_with_load_is_flagged() -> None:
    assert bracket(sweep("AAA", [0.999, 0.97, 0.985])).non_monotone
    assert not bracket(sweep("AAA", [1, 1, 0.97])).non_monotone


def test_replicates_must_be_pooled_first() -> None:
    with pytest.raises(MisuseError, match="two verdicts for one load"):
        bracket([Point(4, Verdict.ACCEPTED), Point(4, Verdict.REJECTED)])


@given(letters=st.text("AR?", max_size=12), seed=st.integers(0, 9))
def test_the_bracket_needs_no_order_and_encloses(letters: str, seed: int) -> None:
    points = sweep(letters)
    found = bracket(points)
    shuffled = [points[i] for i in np.random.default_rng(seed).permutation(len(points))]
    assert bracket(shuffled) == found
    if found.last_accepted is not None and found.first_rejected is not None:
        assert found.last_accepted < found.first_rejected
    assert set(found.band) <= set(found.undecided)
    assert (found.last_accepted is None) == (not letters.split("R")[0].count("A"))


@pytest.mark.parametrize(
    ("shares", "smoothed"),
    [
        ([0.999, 0.97, 0.985, 0.90], [0.999, 0.9775, 0.9775, 0.90]),
        ([1, 0.96, 0.98, 0.8], [1, 0.97, 0.97, 0.8]),
    ],
)
def test_isotonic(shares: list[float], smoothed: list[float]) -> None:
    assert isotonic([1, 2, 3, 4], shares).tolist() == pytest.approx(smoothed)
    assert isotonic([4, 3, 2, 1], shares[::-1]).tolist() == pytest.approx(smoothed[::-1])


def test_isotonic_weighs_effective_requests() -> None:
    found = isotonic([1, 2], [0.9, 1.0], weights=[1, 3])
    assert found.tolist() == pytest.approx([0.975, 0.975])


def test_the_knee() -> None:
    offered = [2, 4, 6, 8, 10, 12, 14]
    completed = [2, 3.99, 5.95, 7.9, 9.4, 9.48, 9.5]
    assert knee(offered, completed) == Knee(8, 10, 9.48)
    assert knee(offered[::-1], completed[::-1]) == Knee(8, 10, 9.48)


def test_a_knee_that_was_not_reached_or_not_undercut() -> None:
    assert knee([1, 2], [1, 2]) == Knee(2, None, None)
    assert knee([5, 6], [4, 4.2]) == Knee(None, 5, 4.1)
    assert knee([], []) == Knee(None, None, None)
