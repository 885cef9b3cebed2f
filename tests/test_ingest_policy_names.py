"""Names for policies, proposed from folders and files."""

from pathlib import Path

import pytest

from headway.ingest import policy_names
from headway.model import Load, LoadKind, RunInfo
from libraries import describe


def run(place: int, rps: float, policy: str | None = None) -> RunInfo:
    return describe(f"r{place}", policy=policy, load=Load(LoadKind.OPEN, declared_rps=rps))


def named(*files: str) -> dict[str, list[str]]:
    """Return the files of each proposed policy; each file's load is the number in its name."""
    runs = [(Path(file), run(place, 4)) for place, file in enumerate(files)]
    return {
        proposal.policy: [path.as_posix() for path in proposal.sources]
        for proposal in policy_names.proposed(runs)
    }


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            ["d/chunk256-rate4.json", "d/chunk2048-rate4.json", "d/chunk256-rate7.json"],
            {
                "chunk256": ["d/chunk256-rate4.json", "d/chunk256-rate7.json"],
                "chunk2048": ["d/chunk2048-rate4.json"],
            },
        ),
        (
            ["s/chunk256-seqs32/rate4/result.json", "s/chunk2048-seqs32/rate4/result.json"],
            {
                "chunk256": ["s/chunk256-seqs32/rate4/result.json"],
                "chunk2048": ["s/chunk2048-seqs32/rate4/result.json"],
            },
        ),
        (["d/rate4.json", "d/rate7.json"], {}),
        (
            ["d/a/x-rate4.json", "d/b/x-rate4.json"],
            {"a": ["d/a/x-rate4.json"], "b": ["d/b/x-rate4.json"]},
        ),
    ],
)
def test_loads_numbers_and_shared_words_are_left_out(
    files: list[str], expected: dict[str, list[str]]
) -> None:
    assert named(*files) == expected


def test_a_run_with_a_policy_needs_no_proposal() -> None:
    assert policy_names.proposed([(Path("d/a.json"), run(0, 4, policy="p"))]) == ()
    assert policy_names.proposed([]) == ()


def test_the_command_can_be_pasted_whatever_the_names_hold() -> None:
    (proposal,) = policy_names.proposed([(Path("d/it's x-rate4.json"), run(0, 4))])
    said = policy_names.command(proposal, ["--library", "my library"])
    assert said == (
        """headway import --policy 'it'"'"'s x' --library 'my library' 'd/it'"'"'s x-rate4.json'"""
    )
