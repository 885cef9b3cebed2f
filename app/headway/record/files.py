"""Run files on disk: written whole, read back as they were."""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from headway.errors import RecordError
from headway.model import RunInfo
from headway.record.digests import digest, digest_of_batches
from headway.record.rules import SCHEMA_VERSION, problems, wrong_columns
from headway.record.schema import (
    LIST_COLUMNS,
    REQUESTS,
    ROW_GROUP_REQUESTS,
    STATE,
    Run,
    batches,
    plain,
    stamped,
)

STATE_SUFFIX = ".state.parquet"
RUN_KEY = b"headway.run"

_SCHEMA_KEY = b"headway.schema"
_GENERATION_KEY = b"headway.generation"
_INFO = TypeAdapter(RunInfo)

Metadata = dict[bytes, bytes]

_ROW_GROUP_SAMPLES = 131_072
# Steps and sample times rise steadily: as differences they take a twelfth of the space.
_RISING = ("at_us", "step")
_REPEATING = ["run_id", "phase", "segment", "outcome", "outcome_basis", "reason", "replica"]


def seal(run: Run) -> Run:
    """Stamp run_id into every row and the digests into the description.

    `rows_sha256` covers the canonical rows without run_id; `generation` covers the description and
    the state too, and ties the companion file to this very write.

    Raises
    ------
    RecordError
        The columns are not those of the record.
    """
    state = run.state
    wrong = wrong_columns(run.requests.schema, REQUESTS)
    wrong += [] if state is None else wrong_columns(state.schema, STATE)
    if wrong:
        raise wrong[0]
    requests = stamped(run.requests, run.info.run_id)
    state = None if state is None else stamped(state, run.info.run_id)
    info = replace(run.info, rows_sha256=digest(requests), generation="")
    parts = [_described(info), b"" if state is None else digest(state).encode()]
    generation = hashlib.sha256(b"\n".join(parts)).hexdigest()[:16]
    return Run(replace(info, generation=generation), requests, state)


def _described(info: RunInfo) -> bytes:
    """Return a description as it is stored: what is not recorded is absent.

    A field that a later version adds then changes neither the bytes nor the generation of a run
    that does not have it.
    """
    return _INFO.dump_json(info, exclude_none=True)


def write(run: Run, directory: Path) -> list[Path]:
    """Write a sealed run into a directory and return its files, the run file last.

    One row group is held at a time, and its rows alone decide its bytes, however the table is
    chunked. The caller makes the write atomic (see `headway.ingest`).

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
        {_SCHEMA_KEY: SCHEMA_VERSION.encode(), RUN_KEY: _described(run.info)}
    )
    path = directory / f"{run.info.run_id}.parquet"
    _write_requests(table, path)
    return [*written, path]


def _write_requests(table: pa.Table, path: Path) -> None:
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        compression_level=9,
        use_dictionary=_REPEATING,
        column_encoding={f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in LIST_COLUMNS},
    ) as writer:
        for batch in batches(table):
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=ROW_GROUP_REQUESTS)


def _write_state(state: pa.Table, path: Path) -> None:
    pq.write_table(
        state,
        path,
        row_group_size=_ROW_GROUP_SAMPLES,
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
    info, wrong = described(read_metadata(path), path.name)
    if info is None or wrong:
        raise wrong[0]
    return info


def read_metadata(path: Path) -> Metadata:
    """Return the keys and values in a Parquet file's footer.

    Raises
    ------
    RecordError
        The file is not Parquet.
    """
    try:
        found: Metadata = pq.read_metadata(path).metadata or {}
        return found
    except (pa.ArrowException, OSError) as error:
        raise RecordError("readable", f"{path.name} is not a readable Parquet file") from error


def described(metadata: Metadata, name: str) -> tuple[RunInfo | None, list[RecordError]]:
    """Return the description in a file's metadata, if it can be read, and all that is wrong."""
    wrong = []
    version = metadata.get(_SCHEMA_KEY, b"").decode(errors="replace")
    if version != SCHEMA_VERSION:
        found = f"schema version {version!r}" if version else "no `headway.schema`"
        message = (
            f"{name} has {found}; this Headway reads version {SCHEMA_VERSION}: import the "
            "source again, or use the Headway that wrote the file"
        )
        wrong.append(RecordError("schema_version", message))
    try:
        info = _INFO.validate_json(metadata.get(RUN_KEY, b""))
    except ValidationError as error:
        for each in error.errors():
            where = ".".join(str(part) for part in each["loc"]) or "headway.run"
            wrong.append(RecordError("description", f"{name}: {where}: {each['msg']}"))
        return None, wrong
    return info, [*wrong, *(RecordError("description", f"{name}: {m}") for m in _impossible(info))]


def _impossible(info: RunInfo) -> Iterator[str]:
    """Yield what a description says that no run can be."""
    for name, value in (("run_id", info.run_id), ("study", info.study), ("harness", info.harness)):
        if not value.strip():
            yield f"{name}: found {value!r}; expected text"
    loads = {"declared_rps": info.load.declared_rps, "concurrency": info.load.concurrency}
    for name, amount in loads.items():
        if amount is not None and not (amount > 0 and math.isfinite(amount)):
            yield f"load.{name}: found {amount:g}; expected a number above 0, or null"
    for name, count in (("n_offered", info.n_offered), ("n_warmup", info.n_warmup)):
        if count < 0:
            yield f"{name}: found {count}; expected 0 or more"


def read(path: Path) -> Run:
    """Read a run file and its companion.

    Raises
    ------
    RecordError
        The file cannot be read as a run; `problems` tells what else is wrong with a readable one.
    """
    info = read_info(path)
    try:
        requests = plain(pq.read_table(path))
        state_path = state_of(path, info)
        state = None if state_path is None else plain(pq.read_table(state_path))
    except (pa.ArrowException, OSError) as error:
        raise RecordError("readable", f"{path.name} cannot be read to its end") from error
    return Run(info, requests.replace_schema_metadata(None), state)


def read_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a run file or a companion, a few thousand at a time; all columns or some.

    Raises
    ------
    RecordError
        The file breaks off.
    """
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=ROW_GROUP_REQUESTS, columns=columns):
                yield from plain(pa.Table.from_batches([batch])).to_batches()
    except (pa.ArrowException, OSError) as error:
        raise RecordError("readable", f"{path.name} cannot be read to its end") from error


def rows_sha256(path: Path) -> str:
    """Return the digest of a run file's rows, as they are and not as its description says.

    Raises
    ------
    RecordError
        The file cannot be read, or its columns are not those of the record.
    """
    schema = plain(read_schema(path).empty_table()).schema
    wrong = wrong_columns(schema, REQUESTS)
    if wrong:
        raise wrong[0]
    return digest_of_batches(REQUESTS, read_batches(path))


def read_schema(path: Path) -> pa.Schema:
    """Return the columns of a file, as it names and types them.

    Raises
    ------
    RecordError
        The file is not Parquet.
    """
    try:
        return pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise RecordError("readable", f"{path.name} is not a readable Parquet file") from error


def state_of(path: Path, info: RunInfo) -> Path | None:
    """Return the companion of a run file, if one was written together with it."""
    companion = path.with_name(f"{path.stem}{STATE_SUFFIX}")
    if not companion.exists() or generation_of(companion) != info.generation:
        return None
    return companion


def generation_of(companion: Path) -> str:
    """Return the write that a companion belongs to; empty where it does not say.

    Raises
    ------
    RecordError
        The companion is not Parquet.
    """
    return read_metadata(companion).get(_GENERATION_KEY, b"").decode(errors="replace")


def describes_run(path: Path) -> bool:
    """Decide from its footer whether a file is a run file of any version, or of one damaged."""
    try:
        return RUN_KEY in (pq.read_metadata(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def is_run_file(path: Path) -> bool:
    """Decide by name whether a path is a run file and not a companion or a file being written."""
    return (
        path.suffix == ".parquet"
        and not path.name.endswith(STATE_SUFFIX)
        and not any(part.startswith(".") for part in path.parts[-2:])
    )
