"""How the verdict at one load moves with the limits."""

import pytest

from headway.analyses import acceptance, sensitivity
from headway.analyses.acceptance import Asked
from headway.catalog import Catalog
from headway.model import Objective, Selection
from headway.stats.verdicts import Verdict
from libraries import run_of

STALL = Objective(ttft_ms=2000, stall_ms=100, attainment=0.95)


def cells(study: Catalog, policy: str, rps: float, objective: Objective) -> list[sensitivity.Cell]:
    selection = Selection((run_of(study, policy, rps),))
    (judged,) = acceptance.judge(study, selection, objective)
    return sensitivity.sensitivity(study, selection, objective, judged, Asked.WORKLOAD)


def test_the_declared_limits_are_one_of_the_cells(study: Catalog) -> None:
    found = cells(study, "sarathi", 6, STALL)
    assert len(found) == len(sensitivity.FACTORS) ** 2
    (declared,) = [cell for cell in found if (cell.ttft_ms, cell.cadence_ms) == (2000, 100)]
    assert (declared.n_met, declared.n_offered) == (467, 500)
    assert declared.verdict is Verdict.REJECTED


def test_looser_limits_never_lose_a_request(study: Catalog) -> None:
    found = cells(study, "vllm", 4, STALL)
    met = {(cell.ttft_ms, cell.cadence_ms): cell.n_met for cell in found}
    for (ttft_ms, cadence_ms), n_met in met.items():
        for (other_ttft, other_cadence), n_other in met.items():
            if other_ttft >= ttft_ms and other_cadence >= cadence_ms:
                assert n_other >= n_met


def test_the_mean_is_moved_where_the_mean_is_limited(study: Catalog) -> None:
    found = cells(study, "vllm", 4, Objective(ttft_ms=2000, tpot_ms=50, attainment=0.95))
    assert {cell.cadence_ms for cell in found} == {50 * factor for factor in sensitivity.FACTORS}


@pytest.mark.parametrize(
    "objective", [Objective(ttft_ms=2000), Objective(stall_ms=100), Objective(latency_ms=9000)]
)
def test_without_both_limits_there_is_no_map(study: Catalog, objective: Objective) -> None:
    assert cells(study, "vllm", 4, objective) == []
