"""Is B worse than A in a way that a pipeline should stop for?"""

from collections.abc import Sequence
from enum import StrEnum

from headway.analyses import rates
from headway.analyses.comparison import Claimed, Comparison
from headway.catalog import Catalog
from headway.errors import MisuseError
from headway.model import Outcome, Selection
from headway.stats.comparison import Difference


class FailOn(StrEnum):
    """What a comparison fails on.

    `worse`: a test whose verdict is worse for B; without replicates, B met the objective for a
    smaller share of requests. `lost`: a larger share of B's requests did not complete. `undecided`:
    any test without a verdict.
    """

    WORSE = "worse"
    LOST = "lost"
    UNDECIDED = "undecided"


def fired(catalog: Catalog, found: Comparison, gates: Sequence[FailOn]) -> tuple[FailOn, ...]:
    """Return the gates that a comparison does not pass.

    Raises
    ------
    MisuseError
        `worse` without replicates takes an objective, and there is none.
    """
    checks = {
        FailOn.WORSE: lambda: _is_worse(catalog, found),
        FailOn.LOST: lambda: _loses_more(found),
        FailOn.UNDECIDED: lambda: any(t.verdict is Difference.UNDECIDED for t in found.tests),
    }
    return tuple(gate for gate in FailOn if gate in gates and checks[gate]())


def _is_worse(catalog: Catalog, found: Comparison) -> bool:
    if found.claim is Claimed.REPLICATED:
        return any(each.verdict is Difference.WORSE for each in found.tests)
    question = found.question
    if question.objective is None:
        raise MisuseError(
            "--fail-on worse compares how many requests met the objective, and none is declared; "
            "give limits, such as --ttft-ms 2000"
        )
    shares = []
    for side in (question.a, question.b):
        selection = Selection(side.run_ids, question.window, origin=question.origin)
        counts = rates.attainments(catalog, selection, question.objective).values()
        n_offered = sum(each.n_offered for each in counts)
        shares.append(sum(each.n_met for each in counts) / n_offered if n_offered else 0.0)
    return shares[1] < shares[0]


def _loses_more(found: Comparison) -> bool:
    a, b = found.accounts
    lost = [each.n_offered - each.outcomes[Outcome.COMPLETED] for each in (a, b)]
    return lost[1] * a.n_offered > lost[0] * b.n_offered
