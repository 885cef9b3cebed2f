"""What else changed between two sides, and what must match."""

from typing import Any

import pytest

from headway.analyses import changes
from headway.analyses.accounting import Interval
from headway.analyses.changes import Check, Kind
from headway.model import Boundary, Clock, Load, LoadKind, Manifest, OfferedBasis
from libraries import describe


def kinds(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Kind]:
    pairs = changes.side_by_side(describe(**first), describe(**second))
    return {each.field: each.kind for each in changes.changes(pairs)}


def only_policy(first: dict[str, Any], second: dict[str, Any]) -> bool:
    pairs = changes.side_by_side(describe(**first), describe(**second))
    return changes.is_only_policy(changes.changes(pairs))


def test_a_policy_with_its_own_parameters_is_one_change() -> None:
    vllm = {
        "policy": "vllm",
        "policy_parameters": {"block": "16", "max_tokens": "4096"},
        "manifest": Manifest(token_budget=4096, batch_cap=128),
    }
    sarathi = {
        "policy": "sarathi",
        "policy_parameters": {"block": "16", "chunk_size": "512"},
        "manifest": Manifest(token_budget=512, batch_cap=128),
    }
    assert only_policy(vllm, sarathi)
    assert set(kinds(vllm, sarathi)) == {
        "policy", "policy: max_tokens", "policy: chunk_size", "token_budget",
    }  # fmt: skip


def test_a_batch_cap_that_differs_is_a_second_change_and_is_named_once() -> None:
    orca = {
        "policy": "orca",
        "policy_parameters": {"batch_size_cap": "32"},
        "manifest": Manifest(batch_cap=32),
    }
    vllm = {
        "policy": "vllm",
        "policy_parameters": {"batch_size_cap": "128"},
        "manifest": Manifest(batch_cap=128),
    }
    assert kinds(orca, vllm) == {"policy": Kind.POLICY, "batch_cap": Kind.OTHER}
    assert not only_policy(orca, vllm)


def test_a_parameter_that_both_policies_have_was_turned_as_well() -> None:
    first = {"policy": "a", "policy_parameters": {"watermark": "0.01"}}
    second = {"policy": "b", "policy_parameters": {"watermark": "0.05"}}
    assert kinds(first, second)["policy: watermark"] is Kind.OTHER


def test_a_parameter_of_one_policy_is_the_policys() -> None:
    first = {"policy_parameters": {"chunk_size": "512"}}
    second = {"policy_parameters": {"chunk_size": "1024"}}
    assert kinds(first, second) == {"policy: chunk_size": Kind.POLICY}


def test_parameters_that_one_side_does_not_record_at_all_prove_nothing() -> None:
    assert kinds({}, {"policy_parameters": {"chunk_size": "512"}}) == {
        "policy: chunk_size": Kind.UNPROVEN
    }


def test_what_one_side_does_not_record_is_not_proven_equal() -> None:
    first, second = {"manifest": Manifest(precision="fp8")}, {"policy": "other"}
    assert kinds(first, second) == {"policy": Kind.POLICY, "precision": Kind.UNPROVEN}
    assert not only_policy(first, second)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"load": Load(LoadKind.OPEN, declared_rps=6)}, Kind.LOAD),
        ({"time_limit_s": 60.0}, Kind.OTHER),
        ({"manifest": Manifest(model="other")}, Kind.OTHER),
        ({"manifest": Manifest(model="m", arrival_process="poisson")}, Kind.LOAD),
    ],
    ids=str,
)
def test_a_change_has_its_kind(change: dict[str, Any], kind: Kind) -> None:
    found = kinds({"manifest": Manifest(model="m")}, {"manifest": Manifest(model="m")} | change)
    assert list(found.values()) == [kind]


def test_fields_that_differ_come_first_and_unrecorded_ones_last() -> None:
    first = describe(manifest=Manifest(model="m", precision="fp8"))
    second = describe(manifest=Manifest(model="m", precision="bf16"))
    pairs = changes.side_by_side(first, second)
    assert pairs[0].field == "precision"
    recorded = [pair.a is not None for pair in pairs]
    assert recorded == sorted(recorded, reverse=True)
    assert {pair.field for pair in pairs} >= {"model", "seed", "load", "policy"}


def test_nothing_changed_between_equal_descriptions() -> None:
    assert kinds({}, {}) == {}
    assert not only_policy({}, {})


def interval(end_us: int | None, origin: str = "scheduled") -> Interval:
    return Interval(0, end_us, origin, 2, 2, 2, 1.0)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"boundary": Boundary.SERVER}, Check.BOUNDARY),
        ({"clock": Clock.WALL}, Check.CLOCK),
        ({"token_basis": "the client's count"}, Check.TOKENS),
        ({"harness": "other"}, Check.HARNESS),
        ({"n_offered_basis": OfferedBasis.LOG}, Check.OFFERED),
    ],
    ids=str,
)
def test_what_must_match_is_checked(change: dict[str, Any], check: Check) -> None:
    found = changes.checks(describe(), describe(**change), interval(10), interval(10))
    assert [each.check for each in found if not each.matches] == [check]
    assert [each.check for each in found] == list(Check)


def test_windows_match_within_a_hundredth_and_origins_exactly() -> None:
    def differing(a: Interval | None, b: Interval | None) -> list[Check]:
        found = changes.checks(describe(), describe(), a, b)
        return [each.check for each in found if not each.matches]

    assert differing(interval(5_000_000), interval(5_050_000)) == []
    assert differing(interval(5_000_000), interval(5_050_001)) == [Check.WINDOW]
    assert differing(interval(50_000), interval(51_000)) == []
    assert differing(interval(50_000), interval(51_001)) == [Check.WINDOW]
    assert differing(interval(5_000_000), interval(None)) == [Check.WINDOW]
    assert differing(interval(5), interval(5, "sent")) == [Check.ORIGIN]
    assert differing(None, None) == []
