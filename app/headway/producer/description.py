"""What a producer says of a run as a whole becomes its description."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from headway.errors import MisuseError, member
from headway.ingest import Settings
from headway.model import (
    Boundary,
    Clock,
    Finding,
    IndexBasis,
    Load,
    LoadKind,
    Manifest,
    OfferedBasis,
    RunInfo,
)

IMPORTER = "run_writer"
IMPORTER_VERSION = 1


@dataclass(frozen=True, slots=True)
class Said:
    """Everything that `headway.RunWriter` was told about a run."""

    study: str
    harness: str
    boundary: Boundary | str
    policy: str | None
    name: str | None
    load: Load | Mapping[str, object] | None
    manifest: Manifest | Mapping[str, object] | None
    policy_parameters: Mapping[str, object]
    label: str | None
    replicate: int | None
    started_at: datetime | str | None
    time_limit_s: float | None
    harness_version: str | None
    clock: Clock | str
    index_basis: IndexBasis | str
    token_basis: str
    completion_times: bool
    n_offered: int | None
    findings: Sequence[Finding]


def described(said: Said) -> RunInfo:
    """Return the description of a run that has no rows yet.

    Raises
    ------
    MisuseError
        A word is not one of those that there are, or a value does not fit: the message lists them.
    """
    for name in ("harness", "token_basis"):
        if not isinstance(value := getattr(said, name), str) or not value.strip():
            raise MisuseError(f"{name} is {value!r}; expected text")
    limit = said.time_limit_s
    if limit is not None and not (math.isfinite(limit) and limit > 0):
        raise MisuseError(f"time_limit_s is {limit!r}; expected seconds above 0")
    blank = RunInfo(
        run_id="",
        study="",
        harness=said.harness,
        importer=IMPORTER,
        importer_version=IMPORTER_VERSION,
        source_name=said.name or said.harness,
        source_sha256="",
        boundary=member(Boundary, said.boundary, "boundary"),
        clock=member(Clock, said.clock, "clock"),
        load=Load(LoadKind.OPEN),
        n_offered=said.n_offered or 0,
        n_offered_basis=OfferedBasis.ROWS if said.n_offered is None else OfferedBasis.DECLARED,
        n_warmup=0,
        index_basis=member(IndexBasis, said.index_basis, "index_basis"),
        token_basis=said.token_basis,
        completion_times=said.completion_times,
        policy_parameters={key: str(value) for key, value in said.policy_parameters.items()},
        time_limit_s=limit,
        findings=tuple(said.findings),
    )
    settings = Settings(study=said.study, policy=said.policy, set=_stated(said))
    return replace(settings.apply(blank), study=said.study)


def run_id_of(info: RunInfo, rows_sha256: str, name: str | None) -> str:
    """Return the id of a run: of its rows and its name, else of what tells it from other runs.

    Writing the same run again gives the same id, under whatever study.
    """
    known = (info.harness, info.policy, info.policy_parameters, info.label, info.replicate)
    told = name or repr((*known, asdict(info.load)))
    text = f"headway-run-writer-v1\n{rows_sha256}\n{told}"
    return "r" + hashlib.sha256(text.encode()).hexdigest()[:12]


def _stated(said: Said) -> dict[str, object]:
    """Return what was said in the keys of an import's settings, which know how to check it."""
    tables = {"load": said.load, "manifest": said.manifest}
    inside = {
        f"{table}.{key}": value
        for table, values in tables.items()
        for key, value in _members(values).items()
    }
    plain = {
        name: getattr(said, name)
        for name in ("label", "replicate", "started_at", "harness_version")
    }
    return {key: value for key, value in (inside | plain).items() if value is not None}


def _members(values: Load | Manifest | Mapping[str, object] | None) -> Mapping[str, object]:
    if isinstance(values, Load | Manifest):
        return asdict(values)
    return values or {}
