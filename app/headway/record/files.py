"""Run files on disk: written whole, read back as they were."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from headway.errors import RecordError
from headway.model import RunInfo
from headway.record.rules import SCHEMA_VERSION, problems
from headway.record.schema import LIST_COLUMNS, REQUESTS, STATE, Run, digest

ROW_GROUP_REQUESTS = 8192
STATE_SUFFIX = ".state.parquet"

_RUN_KEY = b"headway.run"
_SCHEMA_KEY = b"headway.schema"
_GENERATION_KEY = b"headway.generation"
_INFO = TypeAdapter(RunInfo)
_ADDED = ("mapping", "mapping_sha256")
# Steps and sample times rise steadily: as differences they take a twelfth of the space.
_RISING = ("at_us", "step")
_REPEATING = ["run_id", "phase", "segment", "outcome", "outcome_basis", "reason", "replica"]


def seal(run: Run) -> Run:
    """Stamp run_id into every row and the digests into the description.

    `rows_sha256` covers the canonical rows without run_id; `generation` covers the description and
    the state too, and ties the companion file to this very write.
    """
    n_rows = run.requests.num_rows
    requests = run.requests.set_column(
        0, REQUESTS.field(0), pa.array([run.info.run_id] * n_rows, pa.string())
    )
    state = run.state
    if state is not None:
        stamp = pa.array([run.info.run_id] * state.num_rows, pa.string())
        state = state.set_column(0, STATE.field(0), stamp)
    info = replace(run.info, rows_sha256=digest(requests), generation="")
    parts = [_described(info), b"" if state is None else digest(state).encode()]
    generation = hashlib.sha256(b"\n".join(parts)).hexdigest()[:16]
    return Run(replace(info, generation=generation), requests, state)


def _described(info: RunInfo) -> bytes:
    """Return a description as JSON.

    Members added after the first release are left out where they are unknown, so that a run keeps
    its generation.
    """
    return _INFO.dump_json(info, exclude={n for n in _ADDED if getattr(info, n) is None})


def write(run: Run, directory: Path) -> list[Path]:
    """Write a sealed run into a directory and return its files, the run file last.

    The caller makes the write atomic (see `headway.ingest`).

    Raises
    ------
    RecordError
        The run breaks a rule; nothing is written.
    """
    broken = problems(run)
    if broken:
        raise broken[0]
    written = []
    generation = run.info.generation.encode()
    if run.state is not None:
        state_path = directory / f"{run.info.run_id}{STATE_SUFFIX}"
        _write_state(run.state.replace_schema_metadata({_GENERATION_KEY: generation}), state_path)
        written.append(state_path)
    table = run.requests.replace_schema_metadata(
        {_SCHEMA_KEY: SCHEMA_VERSION.encode(), _RUN_KEY: _described(run.info)}
    )
    path = directory / f"{run.info.run_id}.parquet"
    pq.write_table(
        table,
        path,
        row_group_size=ROW_GROUP_REQUESTS,
        compression="zstd",
        compression_level=9,
        use_dictionary=_REPEATING,
        column_encoding={f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in LIST_COLUMNS},
    )
    return [*written, path]


def _write_state(state: pa.Table, path: Path) -> None:
    pq.write_table(
        state,
        path,
        compression="zstd",
        compression_level=9,
        use_dictionary=[name for name in STATE.names if name not in _RISING],
        column_encoding=dict.fromkeys(_RISING, "DELTA_BINARY_PACKED"),
    )


def read_info(path: Path) -> RunInfo:
    """Read a run file's description from its footer.

    Raises
    ------
    RecordError
        The file is not a run file of this schema version.
    """
    try:
        metadata = pq.read_metadata(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise RecordError("readable", f"{path.name} is not a readable Parquet file") from error
    version = metadata.get(_SCHEMA_KEY, b"").decode(errors="replace")
    if version != SCHEMA_VERSION:
        found = f"schema version {version!r}" if version else "no `headway.schema`"
        raise RecordError(
            "schema_version",
            f"{path.name} has {found}; this Headway reads version {SCHEMA_VERSION}: import the "
            "source again, or use the Headway that wrote the file",
        )
    try:
        return _INFO.validate_json(metadata.get(_RUN_KEY, b""))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "headway.run"
        raise RecordError("description", f"{path.name}: {where}: {first['msg']}") from error


def read(path: Path) -> Run:
    """Read a run file and its companion.

    Raises
    ------
    RecordError
        The file cannot be read as a run; `problems` tells what else is wrong with a readable one.
    """
    info = read_info(path)
    try:
        requests = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise RecordError("readable", f"{path.name} cannot be read to its end") from error
    state_path = state_of(path, info)
    state = None if state_path is None else pq.read_table(state_path)
    return Run(info, requests.replace_schema_metadata(None), state)


def state_of(path: Path, info: RunInfo) -> Path | None:
    """Return the companion of a run file, if one was written together with it."""
    companion = path.with_name(f"{path.stem}{STATE_SUFFIX}")
    if not companion.exists():
        return None
    metadata = pq.read_metadata(companion).metadata or {}
    matches = metadata.get(_GENERATION_KEY, b"").decode(errors="replace") == info.generation
    return companion if matches else None


def describes_run(path: Path) -> bool:
    """Decide from its footer whether a file is a run file of any version, or of one damaged."""
    try:
        return _RUN_KEY in (pq.read_metadata(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def is_run_file(path: Path) -> bool:
    """Decide by name whether a path is a run file and not a companion or a file being written."""
    return (
        path.suffix == ".parquet"
        and not path.name.endswith(STATE_SUFFIX)
        and not any(part.startswith(".") for part in path.parts[-2:])
    )
