"""The trade in one sentence, and the words around it."""

from pathlib import Path
from typing import Any

import pytest

from headway.analyses import comparison, sides
from headway.analyses.comparability import Reason, Why
from headway.analyses.comparison import Comparison, Question
from headway.analyses.replicated import NoiseFloor
from headway.analyses.shift import Change, ShiftPoint
from headway.catalog import Catalog
from headway.figures import comparison_reasons, comparison_words
from headway.model import Objective
from headway.stats.dominance import Dominance, Relation
from libraries import make_run, offered, open_runs, run_of


def between(opened: Catalog, a: str, b: str, **changes: Any) -> Comparison:
    first, second = (sides.of_runs(opened, (run_id,)) for run_id in (a, b))
    return comparison.compare(opened, Question(first, second, **changes))


def at_load(study: Catalog, a: str, b: str, rps: float) -> Comparison:
    return between(study, run_of(study, a, rps), run_of(study, b, rps))


def stopped(study: Catalog) -> str:
    (found,) = [run.run_id for run in study.runs.values() if run.time_limit_s is not None]
    return found


# The sentence.


def test_the_trade_names_what_gains_and_who_pays(study: Catalog) -> None:
    assert comparison_words.sentence(at_load(study, "vllm", "sarathi", 4)) == (
        "vllm → sarathi, 4 req/s: median longest stall −88%, completion p99 −15%; 463 of 500 wait "
        "longer for their first token, p99 +22%, in every prompt-length quartile."
    )


def test_a_tail_that_goes_the_other_way_is_said_so(study: Catalog) -> None:
    assert comparison_words.sentence(at_load(study, "vllm", "sarathi", 6)) == (
        "vllm → sarathi, 6 req/s: median longest stall −87%, completion p99 −21%; 318 of 500 wait "
        "longer for their first token in every prompt-length quartile, yet its p99 −26%."
    )


def test_the_other_direction_mirrors_it(study: Catalog) -> None:
    assert comparison_words.sentence(at_load(study, "sarathi", "vllm", 4)) == (
        "sarathi → vllm, 4 req/s: 463 of 500 wait shorter for their first token, p99 −18%, in "
        "every prompt-length quartile; median longest stall +711%, completion p99 +18%."
    )


def test_lost_requests_come_first_and_are_no_numbers(study: Catalog) -> None:
    found = between(study, run_of(study, "vllm", 8), stopped(study))
    said = comparison_words.sentence(found)
    assert said.startswith(
        "vllm → vllm, stopped at 60 s, 8 req/s: completed 500 of 500 → 266 of 500 (201 cut off and "
        "33 not sent), the lost counting as the slowest; "
    )
    assert "completion p99 lost (not reached in B)" in said
    assert "145 of 500 never get their first token" in said


def test_the_same_run_has_no_trade(study: Catalog) -> None:
    found = at_load(study, "sarathi", "sarathi", 4)
    assert comparison_words.sentence(found).endswith(
        "4 req/s: the same run on both sides, every difference is zero."
    )
    assert comparison_words.claim(found) == "the same run on both sides"


def test_what_cannot_be_compared_says_why_and_nothing_else(study: Catalog) -> None:
    found = between(study, run_of(study, "vllm", 4), run_of(study, "sarathi", 6))
    assert comparison_words.sentence(found) == (
        "vllm · 4 req/s → sarathi · 6 req/s: not comparable, the same requests arrived at other "
        "times (A 4 req/s, B 6 req/s), 21.0 s apart at the median, 43.2 s at most."
    )


def test_too_few_completed_withhold_the_latency_headline(tmp_path: Path) -> None:
    rows = offered(10, 10)
    for row in rows[1:]:
        row.update(outcome="rejected", ttft_us=None, latency_us=None, sent_us=None)
    opened = open_runs(
        tmp_path, make_run(offered(10, 10), "a"), make_run(rows, "b", policy="other")
    )
    assert comparison_words.sentence(between(opened, "a", "b")) == (
        "policy → other, 5 req/s: completed 10 of 10 → 1 of 10 (9 rejected); no latency headline, "
        "too few completed (A 10 of 10, B 1 of 10)."
    )


def test_a_metric_that_is_not_recorded_is_not_in_the_sentence(tmp_path: Path) -> None:
    opened = open_runs(
        tmp_path,
        make_run(offered(10, 10), "a"),
        make_run(offered(10, 10, jitter_us=20_000), "b", policy="other"),
    )
    assert comparison_words.sentence(between(opened, "a", "b")) == (
        "policy → other, 5 req/s: completion p99 +11%, 10 of 10 wait longer for their first token, "
        "p99 +20%, in every prompt-length quartile; median time per output token unchanged."
    )


# What stands around it.


def test_only_the_policy_changed_or_what_else_did(study: Catalog) -> None:
    assert comparison_words.changed(at_load(study, "vllm", "sarathi", 4)) == (
        "only the policy changed: policy vllm → sarathi; max tokens in batch 4096 → none; "
        "token budget 4096 → 512; chunk size none → 512"
    )
    assert comparison_words.changed(at_load(study, "orca", "vllm", 4)).startswith(
        "not only the policy changed: also batch cap 32 → 128; with the policy: "
    )
    assert comparison_words.changed(between(study, run_of(study, "vllm", 8), stopped(study))) == (
        "the policy is the same; changed: time limit (s) none → 60"
    )
    same = at_load(study, "vllm", "vllm", 4)
    assert comparison_words.changed(same) == "nothing that is recorded differs"


def test_the_workload_says_how_many_are_paired(study: Catalog, tmp_path: Path) -> None:
    found = at_load(study, "vllm", "sarathi", 4)
    assert comparison_words.workload(found) == "same workload: 500 paired"
    opened = open_runs(
        tmp_path, make_run(offered(10, 10), "a"), make_run(offered(8, 8), "b", policy="other")
    )
    assert comparison_words.workload(between(opened, "a", "b")) == (
        "partly the same requests: 8 paired, 8 of them ask for the same, 2 only in A, 0 only in B"
    )


def test_the_claim_of_simulations_and_of_measurements(study: Catalog, tmp_path: Path) -> None:
    assert comparison_words.claim(at_load(study, "vllm", "sarathi", 4)) == (
        "facts of these two runs (deterministic simulator: each would run the same again)"
    )
    opened = open_runs(
        tmp_path,
        make_run(offered(10, 10), "a"),
        make_run(offered(10, 10, jitter_us=5), "b", policy="other"),
    )
    assert comparison_words.claim(between(opened, "a", "b")) == (
        "facts of these two runs, not of the next ones: a claim takes 3 replicates a side, found 1 "
        "and 1"
    )


def test_the_claim_of_replicates_counts_the_verdicts(tmp_path: Path) -> None:
    runs = [
        make_run(
            offered(20, 20, jitter_us=jitter_us + 40 * place), f"{policy}{place}",
            policy=policy, replicate=place, started_at=f"2026-05-12T10:{minute:02}:00+00:00",
        )
        for policy, jitter_us, minutes in (("a", 0, (0, 6, 8)), ("b", 20_000, (2, 4, 10)))
        for place, minute in enumerate(minutes)
    ]  # fmt: skip
    opened = open_runs(tmp_path, *runs)
    first, second = (sides.named(opened, name, 5, None) for name in ("a", "b"))
    found = comparison.compare(opened, Question(first, second))
    assert comparison_words.claim(found) == (
        "3 and 3 replicates, 9 tests against a band of ±5% for percentiles: 6 worse, 3 no "
        "meaningful difference; made interleaved (ABBAAB)"
    )


def test_every_reason_has_words_and_says_what_it_rules_out(study: Catalog) -> None:
    found = at_load(study, "vllm", "sarathi", 4)
    said = {why: comparison_reasons.reason(Reason(why, "x", "y"), found) for why in Why}
    assert len(set(said.values())) == len(Why)
    refused = between(study, run_of(study, "vllm", 4), run_of(study, "sarathi", 6))
    first, second = comparison_words.reasons(refused)
    assert "not compared are" in first
    assert (
        second
        == "the windows differ (A 0–129.477 s, B 0–86.3179 s): not compared are rates and queues"
    )


def test_the_noise_floor_or_why_there_is_none(study: Catalog, tmp_path: Path) -> None:
    a = at_load(study, "vllm", "sarathi", 4).question.a
    assert comparison_words.noise(None, a) == "no noise floor: a simulation repeats itself exactly"
    opened = open_runs(tmp_path, make_run(offered(10, 10), "a"))
    measured = sides.of_runs(opened, ("a",))
    assert "ran twice" in comparison_words.noise(None, measured)
    known = NoiseFloor(("vllm",), 3, {})
    assert "3 pairs (vllm)" in comparison_words.noise(known, measured)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Dominance(Relation.EQUAL), "the same from p5 to p99"),
        (Dominance(Relation.B_LOWER, (), True), "B is nowhere above A from p5 to p99"),
        (Dominance(Relation.CROSSES, (0.83,), True), "B lower at first, crosses at p83"),
        (
            Dominance(Relation.CROSSES, (0.2, 0.6), False),
            "B higher at first, crosses at p20 and p60",
        ),
        (
            Dominance(Relation.CROSSES, (0.1, 0.2, 0.3, 0.9), False),
            "B higher at first, then crosses 4 times, p10 to p90",
        ),
        (None, "not recorded"),
    ],
)
def test_dominance_is_described(found: Dominance | None, words: str) -> None:
    assert comparison_words.crossing(found) == words


def point(a: float | None, b: float | None, change: Change, relative: float | None) -> ShiftPoint:
    delta = None if a is None or b is None else b - a
    return ShiftPoint(0.5, a, b, change, delta, relative, (a,), (b,))


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (point(100, 78, Change.MEASURED, -0.22), "−22%"),
        (point(1000, 1012, Change.MEASURED, 0.012), "+1.2%"),
        (point(1000, 1004, Change.MEASURED, 0.004), "unchanged"),
        (point(0, 5, Change.MEASURED, None), "+5.00 ms"),
        (point(100, None, Change.LOST, None), "lost (not reached in B)"),
        (point(None, 100, Change.GAINED, None), "gained (not reached in A)"),
        (point(None, None, Change.NEITHER, None), "reached on neither side"),
    ],
)
def test_a_change_is_a_number_only_where_both_sides_reach_it(of: ShiftPoint, words: str) -> None:
    assert comparison_words.moved(of) == words


def test_rows_of_the_scorecard_have_units_and_signs() -> None:
    assert comparison_words.score(0.148, "share") == "14.8%"
    assert comparison_words.score(-0.852, "share", signed=True) == "−85.2 points"
    assert comparison_words.score(426, "requests", signed=True) == "+426"
    assert comparison_words.score(0, "requests", signed=True) == "0"
    assert comparison_words.score(870.18, "output tok/s") == "870 output tok/s"
    assert comparison_words.score(None, "share") == "not recorded"
    assert comparison_words.row("timed_out") == "timed out"
    assert comparison_words.row("mean_paused") == "paused after a start, mean"


def test_discordant_pairs_speak_for_these_runs_alone(study: Catalog) -> None:
    a, b = run_of(study, "vllm", 4), run_of(study, "sarathi", 4)
    found = between(study, a, b, objective=Objective(ttft_ms=2000, stall_ms=100))
    assert [comparison_words.discordant(each) for each in found.discordant] == [
        "completed in A only 0, in B only 0",
        "met the objective in A only 0, in B only 426",
    ]
