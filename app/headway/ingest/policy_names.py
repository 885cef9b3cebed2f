"""Names for the policies of runs that state none, proposed from their folders and files."""

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway import source_names
from headway.model import RunInfo


@dataclass(frozen=True, slots=True)
class Proposal:
    """A name for the runs of these sources, which their names alone suggest."""

    policy: str
    sources: tuple[Path, ...]
    run_ids: tuple[str, ...]


def proposed(runs: Iterable[tuple[Path, RunInfo]]) -> tuple[Proposal, ...]:
    """Return a name for each group of runs without a policy whose sources are named alike.

    Loads, times, numbers of replicates and the words that all names share are left out. A group
    whose names say nothing else gets no proposal.

    Parameters
    ----------
    runs
        Each run's source, and its description.
    """
    unnamed = [(source.absolute(), source, info) for source, info in runs if info.policy is None]
    if not unnamed:
        return ()
    above = os.path.commonpath([whole.parent for whole, _, _ in unnamed])
    groups: dict[str, list[tuple[Path, RunInfo]]] = {}
    for whole, source, info in unnamed:
        name = _family(whole.relative_to(above).as_posix(), info)
        groups.setdefault(name, []).append((source, info))
    short = source_names.without_common_ends(name for name in groups if name)
    return tuple(
        Proposal(
            policy=short[name].replace("/", "-"),
            sources=tuple(dict.fromkeys(source for source, _ in mine)),
            run_ids=tuple(info.run_id for _, info in mine),
        )
        for name, mine in groups.items()
        if name
    )


def _family(name: str, info: RunInfo) -> str:
    said = source_names.read(name, info.load.declared_rps or info.load.concurrency)
    return "/".join(part for part in (said.folder, said.file) if part)


def command(proposal: Proposal, options: Sequence[str] = ()) -> str:
    """Return the command that imports the sources of a proposal again under its name.

    `options` are those of the first import, quoted for the shell.
    """
    words = ["headway", "import", "--policy", proposal.policy, *options]
    return shlex.join([*words, *(str(path) for path in proposal.sources)])
