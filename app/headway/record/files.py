"""Run files on disk: written whole, read back as they were."""

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from headway.errors import RecordError
from headway.model import RunInfo
from headway.record.digests import digest, digest_of_batches
from headway.record.rules import RULES, SCHEMA_VERSION, problems, wrong_columns
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
_RUN_SHA256_KEY = b"headway.run_sha256"
_GENERATION_KEY = b"headway.generation"
_INFO = TypeAdapter(RunInfo)

Metadata = dict[bytes, bytes]

# What pyarrow raises over damage: text that is not UTF-8, sizes and types that cannot be, too.
_UNREADABLE = (pa.ArrowException, OSError, ValueError, TypeError, OverflowError)
_DAMAGED = (
    "the file was damaged or changed after it was written; copy it again from where it is whole, "
    "or import the source again"
)

_ROW_GROUP_SAMPLES = 131_072
_RUN_FILE_NAME = re.compile(r"r[0-9a-f]{12}\.parquet")
_FOOTER_BYTES = 1 << 16
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
    said = _described(run.info)
    table = run.requests.replace_schema_metadata(
        {
            _SCHEMA_KEY: SCHEMA_VERSION.encode(),
            RUN_KEY: said,
            _RUN_SHA256_KEY: hashlib.sha256(said).hexdigest().encode(),
        }
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
        write_page_checksum=True,
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
        write_page_checksum=True,
        column_encoding=dict.fromkeys(_RISING, "DELTA_BINARY_PACKED"),
    )


def read_info(path: Path) -> RunInfo:
    """Read a run file's description from its footer.

    Raises
    ------
    RecordError
        The file is not a run file of this schema version.
    """
    return read_described(path)[1]


def read_described(path: Path) -> tuple[bytes, RunInfo]:
    """Read a run file's description from its footer, as JSON and as what it says.

    Raises
    ------
    RecordError
        The file is not a run file of this schema version.
    """
    metadata = read_metadata(path)
    info, wrong = described(metadata, path.name)
    if info is None or wrong:
        raise wrong[0]
    return metadata[RUN_KEY], info


def parse_info(said: bytes) -> RunInfo:
    """Return a description that `read_described` found to be sound."""
    return _INFO.validate_json(said)


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
    except _UNREADABLE as error:
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
    wrong += _damaged_description(metadata, name)
    try:
        info = _INFO.validate_json(metadata.get(RUN_KEY, b""))
    except ValidationError as error:
        for each in error.errors():
            where = ".".join(str(part) for part in each["loc"]) or "headway.run"
            wrong.append(RecordError("description", f"{name}: {where}: {each['msg']}"))
        return None, wrong
    return info, [*wrong, *(RecordError("description", f"{name}: {m}") for m in _impossible(info))]


def _damaged_description(metadata: Metadata, name: str) -> Iterator[RecordError]:
    """Yield what is wrong where the description is not the one that was written."""
    stated = metadata.get(_RUN_SHA256_KEY, b"").decode(errors="replace")
    found = hashlib.sha256(metadata.get(RUN_KEY, b"")).hexdigest()
    if stated and stated != found:
        message = (
            f"the description of {name} gives the digest {found[:12]}…; headway.run_sha256 states "
            f"{stated[:12]!r}…: {_DAMAGED}"
        )
        yield RecordError("description", message)


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
        The file cannot be read as a run, or its rows are not those that its digest names;
        `problems` tells what else is wrong with a readable one.
    """
    info = read_info(path)
    try:
        requests = plain(pq.read_table(path, page_checksum_verification=True))
        state_path = state_of(path, info)
        state = None if state_path is None else plain(_samples(state_path))
    except _UNREADABLE as error:
        raise RecordError("readable", f"{path.name} cannot be read to its end") from error
    requests = requests.replace_schema_metadata(None)
    if not wrong_columns(requests.schema, REQUESTS):
        check_digest(info, digest(requests), path.name)
    return Run(info, requests, state)


def _samples(companion: Path) -> pa.Table:
    return pq.read_table(companion, page_checksum_verification=True)


def check_digest(info: RunInfo, found: str, name: str) -> None:
    """Refuse rows that are not those the description names.

    Raises
    ------
    RecordError
        The description states another digest; a description without one says nothing.
    """
    if info.rows_sha256 and info.rows_sha256 != found:
        message = (
            f"the rows of {name} give the digest {found[:12]}…; its description states "
            f"{info.rows_sha256[:12]}…: {_DAMAGED}"
        )
        raise RecordError("rows_sha256", message)


def read_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a run file or a companion, a few thousand at a time; all columns or some.

    Raises
    ------
    RecordError
        The file breaks off.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(batch_size=ROW_GROUP_REQUESTS, columns=columns):
                yield from plain(pa.Table.from_batches([batch])).to_batches()
    except _UNREADABLE as error:
        raise RecordError("readable", f"{path.name} cannot be read to its end") from error


def verify(path: Path, info: RunInfo) -> str:
    """Return the digest of a run file's rows, once file and companion are known to be whole.

    Every row is read: each must name the run, and together they must give the digest that the
    description states, where it states one.

    Raises
    ------
    RecordError
        The file or its companion cannot be read, or they are not as they were written.
    """
    schema = plain(read_schema(path).empty_table()).schema
    wrong = wrong_columns(schema, REQUESTS)
    if wrong:
        raise wrong[0]
    found = digest_of_batches(REQUESTS, _of_run(info, path))
    check_digest(info, found, path.name)
    companion = state_of(path, info)
    if companion is not None:
        for _ in read_batches(companion):
            pass
    return found


def _of_run(info: RunInfo, path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a run file, each of which names the run."""
    for batch in read_batches(path):
        if pc.unique(batch.column("run_id")).to_pylist() not in ([info.run_id], []):
            raise RecordError("run_id", f"{path.name}: expected that {RULES['run_id']}")
        yield batch


def read_schema(path: Path) -> pa.Schema:
    """Return the columns of a file, as it names and types them.

    Raises
    ------
    RecordError
        The file is not Parquet.
    """
    try:
        return pq.read_schema(path)
    except _UNREADABLE as error:
        raise RecordError("readable", f"{path.name} is not a readable Parquet file") from error


def companion_of(path: Path) -> Path:
    """Return where the companion of a run file is, if it has one."""
    return path.with_name(f"{path.stem}{STATE_SUFFIX}")


def state_of(path: Path, info: RunInfo) -> Path | None:
    """Return the companion of a run file, if one was written together with it."""
    companion = companion_of(path)
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
    """Decide from its footer whether a file is a run file of any version, or of one damaged.

    Where the footer cannot be read, the name of a run file decides, or the key in its last bytes.
    """
    try:
        return RUN_KEY in (pq.read_metadata(path).metadata or {})
    except _UNREADABLE:
        return _RUN_FILE_NAME.fullmatch(path.name) is not None or RUN_KEY in _last_bytes(path)


def _last_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _FOOTER_BYTES))
            return stream.read()
    except OSError:
        return b""


def is_run_file(path: Path) -> bool:
    """Decide by name whether a path is a run file and not a companion or a file being written."""
    return (
        path.suffix == ".parquet"
        and not path.name.endswith(STATE_SUFFIX)
        and not any(part.startswith(".") for part in path.parts[-2:])
    )
