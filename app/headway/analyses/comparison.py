"""Who gains and who pays between two sides, and what may be claimed at all?

What must match is checked first. Where it does not, only the comparison that stays honest is made:
each part of the answer that a difference forbids is absent, and the reason says why.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

import polars as pl

from headway.analyses import (
    accounting,
    changes,
    classes,
    comparability,
    pairs,
    rates,
    replicated,
    run_order,
    scorecard,
    shift,
    workload,
)
from headway.analyses.accounting import Account
from headway.analyses.changes import Change, Checked, FieldPair
from headway.analyses.classes import ClassRow
from headway.analyses.comparability import Part, Reason
from headway.analyses.measured import METRICS
from headway.analyses.pairs import Discordant, Success, Transition
from headway.analyses.replicated import MetShares, NoiseFloor, Tested
from headway.analyses.scorecard import ScoreRow
from headway.analyses.shift import MetricShift, RunValues
from headway.analyses.sides import Side
from headway.catalog import Catalog
from headway.model import Metric, Objective, Origin, Selection, Window
from headway.stats.comparison import BAND
from headway.stats.fingerprint import Component, Match
from headway.stats.order import Order, order


class Claimed(StrEnum):
    """What the comparison speaks for."""

    FACTS = "facts_of_these_runs"
    REPLICATED = "replicated"


@dataclass(frozen=True, slots=True)
class Question:
    """Two sides, the window and origin of every number, and the limits that count as met.

    `band` is the practical band of percentiles, declared before.
    """

    a: Side
    b: Side
    window: Window = Window()
    origin: Origin = Origin.SCHEDULED
    objective: Objective | None = None
    band: float = BAND

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What the answer depends on, beside the data of the runs."""
        return (
            self.a.run_ids,
            self.b.run_ids,
            self.window,
            self.origin,
            self.objective,
            self.band,
        )

    @property
    def without_objective(self) -> "Question":
        """The same question without limits: latencies and outcomes do not depend on them."""
        return replace(self, objective=None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything a page, a command or a report says of two sides.

    `accounts` are sums over the runs of a side. `transitions` count all offered requests of both
    sides, over pairs of runs where there are several. `sequence` is the order in which the runs
    were made, as letters; None where it is not known. What a reason forbids is empty or None.
    """

    question: Question
    is_same_run: bool
    match: Match
    checks: tuple[Checked, ...]
    fields: tuple[FieldPair, ...]
    changes: tuple[Change, ...]
    reasons: tuple[Reason, ...]
    accounts: tuple[Account, Account]
    transitions: tuple[Transition, ...]
    n_pairs_of_runs: int
    discordant: tuple[Discordant, ...]
    shifts: tuple[MetricShift, ...]
    classes: tuple[ClassRow, ...]
    scorecard: tuple[ScoreRow, ...]
    claim: Claimed
    tests: tuple[Tested, ...]
    noise: NoiseFloor | None
    sequence: str | None

    @property
    def order(self) -> Order:
        """Whether the runs of both sides were interleaved in time."""
        return order(self.sequence)

    @property
    def allowed(self) -> frozenset[Part]:
        """The parts of the answer that no reason forbids."""
        return comparability.allowed(self.reasons)

    @property
    def is_comparable(self) -> bool:
        """Whether outcomes, TTFT and completion may be compared."""
        return self.allowed >= comparability.NEEDED

    @property
    def is_only_policy(self) -> bool:
        """Whether the policy changed, and nothing else that is recorded."""
        return changes.is_only_policy(self.changes)

    @property
    def arrivals_known(self) -> bool:
        """Whether both sides record the plan of arrivals."""
        return Component.ARRIVAL not in self.match.unknown

    def shift(self, metric: Metric) -> MetricShift | None:
        """Return one metric's shift; None where it may not be compared."""
        return next((each for each in self.shifts if each.metric is metric), None)


def compare(catalog: Catalog, question: Question) -> Comparison:
    """Compare two sides, remembered with the catalog."""
    key = ("comparison", *question.key)
    return catalog.remember(key, lambda: _compare(catalog, question))


def requests(catalog: Catalog, question: Question) -> pl.DataFrame:
    """Return the requests of both sides, one row each: see `pairs.frame`."""
    a, b = question.a, question.b
    return pairs.frame(catalog, a, b, question.window, question.origin, question.objective)


def members(
    catalog: Catalog, question: Question, cell: Transition, n_rows: int = 200
) -> pl.DataFrame:
    """Return the requests behind one cell of the transitions, by arrival within a pair of runs.

    Columns are those of the query comparison/cell, and `pair`, from 1; at most `n_rows` of a pair.
    """
    a, b = question.a, question.b
    rows = pairs.members(catalog, a, b, question.window, question.origin, (cell.a, cell.b), n_rows)
    return rows.with_columns(pair=pl.col("pair") + 1)


def _compare(catalog: Catalog, question: Question) -> Comparison:
    a, b = question.a, question.b
    both = Selection((*a.run_ids, *b.run_ids), question.window, origin=question.origin)
    found_spans = accounting.intervals(catalog, both)
    spans = [found_spans.get(side.run.run_id) for side in (a, b)]
    match = workload.match(catalog, a.run.run_id, b.run.run_id)
    checked = changes.checks(a.run, b.run, *spans)
    counted = accounting.accounts(catalog, both)
    accounts = tuple(
        accounting.pooled({run_id: counted[run_id] for run_id in side.run_ids}) for side in (a, b)
    )
    reasons = tuple(comparability.reasons(a, b, match, checked, spans, accounts))
    allowed = comparability.allowed(reasons)
    fields = tuple(changes.side_by_side(a.run, b.run))
    rows = requests(catalog, question)
    letters = run_order.sequence(catalog, a, b)
    found = _latencies(catalog, question, allowed)
    claims = Part.CLAIM in allowed and replicated.is_replicated(a, b)
    return Comparison(
        question=question,
        is_same_run=comparability.is_same(a, b),
        match=match,
        checks=checked,
        fields=fields,
        changes=tuple(changes.changes(fields)),
        reasons=reasons,
        accounts=(accounts[0], accounts[1]),
        transitions=pairs.transitions(rows) if Part.OUTCOMES in allowed else (),
        n_pairs_of_runs=min(len(a.runs), len(b.runs)),
        discordant=tuple(_discordant(question, rows, allowed)),
        shifts=found.shifts,
        classes=found.classes,
        scorecard=_scorecard(catalog, question, allowed),
        claim=Claimed.REPLICATED if claims else Claimed.FACTS,
        tests=_tests(catalog, question, found, allowed, order(letters)) if claims else (),
        noise=found.noise,
        sequence=letters,
    )


def _metrics(allowed: frozenset[Part]) -> tuple[Metric, ...]:
    return tuple(metric for metric in METRICS if Part(metric.value) in allowed)


def _discordant(
    question: Question, rows: pl.DataFrame, allowed: frozenset[Part]
) -> Iterator[Discordant]:
    if Part.OUTCOMES in allowed:
        yield pairs.discordant(rows, Success.COMPLETED)
        if question.objective is not None and Part.MET in allowed:
            yield pairs.discordant(rows, Success.MET)


def _scorecard(
    catalog: Catalog, question: Question, allowed: frozenset[Part]
) -> tuple[ScoreRow, ...]:
    return scorecard.scorecard(
        catalog,
        question.a,
        question.b,
        question.window,
        question.origin,
        question.objective,
        compares_counts=Part.OUTCOMES in allowed,
        compares_met=Part.MET in allowed,
        compares_rates=Part.RATES in allowed,
    )


@dataclass(frozen=True, slots=True)
class _Latencies:
    """The parts that rest on the latencies of every run, and on no limit."""

    of_a: list[RunValues]
    of_b: list[RunValues]
    shifts: tuple[MetricShift, ...]
    noise: NoiseFloor | None
    classes: tuple[ClassRow, ...]


def _latencies(catalog: Catalog, question: Question, allowed: frozenset[Part]) -> _Latencies:
    """Measure both sides; kept while limits move."""

    def measure() -> _Latencies:
        a, b, metrics = question.a, question.b, _metrics(allowed)
        window, origin = question.window, question.origin
        rows = requests(catalog, question.without_objective)
        of_a = shift.of_side(catalog, a, rows, "a", window, origin)
        of_b = shift.of_side(catalog, b, rows, "b", window, origin)
        noise = replicated.noise_floor(catalog, a, window, origin) if metrics else None
        known = {} if noise is None else noise.relative
        compared = Part.PAIRS in allowed
        single = compared and len(a.runs) == len(b.runs) == 1 and not comparability.is_same(a, b)
        within = shift.within(rows, metrics) if single else {}
        shifts = tuple(
            shift.shift(
                m,
                of_a,
                of_b,
                pairs.paired(rows, m) if compared else None,
                known,
                within.get(m, ()),
            )
            for m in metrics
        )
        by_class = classes.rows_of(rows, metrics) if compared else ()
        return _Latencies(of_a, of_b, shifts, noise, by_class)

    return catalog.remember(("latencies", *question.without_objective.key), measure)


def _tests(
    catalog: Catalog,
    question: Question,
    found: _Latencies,
    allowed: frozenset[Part],
    made: Order,
) -> tuple[Tested, ...]:
    """Judge the differences between replicated sides."""
    measured = [each.metric for each in found.shifts if each.is_measured]
    met = _met_shares(catalog, question) if Part.MET in allowed else None
    return replicated.judged(found.of_a, found.of_b, measured, met, band=question.band, order=made)


def _met_shares(catalog: Catalog, question: Question) -> MetShares | None:
    """Return the share of every run that met the objective; None without one."""
    if question.objective is None:
        return None
    a, b = question.a.run_ids, question.b.run_ids
    selection = Selection((*a, *b), question.window, origin=question.origin)
    known = rates.attainments(catalog, selection, question.objective)
    counts = [[known[run_id] for run_id in run_ids if run_id in known] for run_ids in (a, b)]
    first, second = (tuple(each.attained for each in side) for side in counts)
    return MetShares(first, second, min(each.n_offered for side in counts for each in side))
