"""Whether a run file, by any writer, keeps the rules, and what about it is legal but poor."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headway.errors import RecordError
from headway.model import Finding, Load, Manifest, RunInfo, ToolAggregate, ToolReport
from headway.record.digests import digest_of_batches
from headway.record.files import (
    RUN_KEY,
    STATE_SUFFIX,
    check_digest,
    described,
    generation_of,
    read_batches,
    read_metadata,
    read_schema,
)
from headway.record.rules import Checker, in_order, sample_problems, wrong_columns
from headway.record.schema import LIST_COLUMNS, REQUESTS, ROW_GROUP_REQUESTS, STATE, plain

_LARGEST_GROUP = 8 * ROW_GROUP_REQUESTS
_SMALLEST_GROUP = ROW_GROUP_REQUESTS // 16
_MEMBERS = {"load": Load, "manifest": Manifest, "tool": ToolReport}
_LISTED = {"findings": Finding, "tool.aggregates": ToolAggregate}


@dataclass(frozen=True, slots=True)
class Poor:
    """Something that a run file may be, and had better not."""

    code: str
    message: str


@dataclass(slots=True)
class Conformance:
    """What was found in one run file: the rules that it breaks, and what is legal but poor."""

    path: Path
    info: RunInfo | None = None
    problems: list[RecordError] = field(default_factory=list)
    warnings: list[Poor] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether it breaks no rule."""
        return not self.problems


def check(path: Path) -> Conformance:
    """Check a run file and its companion against every rule, a batch of rows at a time."""
    found = Conformance(path)
    try:
        metadata = read_metadata(path)
        found.info, found.problems = described(metadata, path.name)
        found.warnings += _of_description(metadata, path, found.info)
        found.problems += _of_rows(path, found)
        found.warnings += _of_layout(pq.read_metadata(path))
    except RecordError as error:
        found.problems.append(error)
    try:
        found.problems += _of_companion(path, found)
    except RecordError as error:
        found.problems.append(error)
    found.problems = in_order(found.problems)
    return found


def _of_rows(path: Path, found: Conformance) -> list[RecordError]:
    """Check the columns, and the rows where these are those of the record; compare the digest."""
    wrong = wrong_columns(plain(read_schema(path).empty_table()).schema, REQUESTS)
    if wrong:
        return wrong
    checker = Checker(found.info)

    def passing() -> Iterator[pa.RecordBatch]:
        for batch in read_batches(path):
            checker.add(batch)
            yield batch

    digest = digest_of_batches(REQUESTS, passing())
    return [*_of_digest(found, digest), *checker.problems()]


def _of_digest(found: Conformance, digest: str) -> list[RecordError]:
    """Compare the digest of the rows with the one stated; a missing one is poor."""
    if found.info is None:
        return []
    if not found.info.rows_sha256:
        message = f"rows_sha256 is not recorded; the rows give {digest}: damage cannot be noticed"
        found.warnings.append(Poor("rows_sha256", message))
    try:
        check_digest(found.info, digest, found.path.name)
    except RecordError as error:
        return [error]
    return []


def _of_description(
    metadata: Mapping[bytes, bytes], path: Path, info: RunInfo | None
) -> list[Poor]:
    if info is None:
        return []
    said = json.loads(metadata[RUN_KEY])
    unknown = sorted(_unknown(said, RunInfo, ""))
    poor = [
        Poor("unknown_member", f"headway.run has {name}, which nothing reads; is it misspelt?")
        for name in unknown
    ]
    if path.name != f"{info.run_id}.parquet":
        message = f"{path.name} holds run {info.run_id}; expected the name {info.run_id}.parquet"
        poor.append(Poor("file_name", message))
    return poor


def _unknown(said: Mapping[str, Any], kind: type[Any], prefix: str) -> Iterator[str]:
    """Yield the members of a description that no field is named after."""
    known = {each.name for each in fields(kind)}
    for name, value in said.items():
        path = f"{prefix}{name}"
        if name not in known:
            yield path
        elif path in _MEMBERS and isinstance(value, Mapping):
            yield from _unknown(value, _MEMBERS[path], f"{path}.")
        elif path in _LISTED:
            for at, entry in enumerate(value or ()):
                yield from _unknown(entry, _LISTED[path], f"{path}.{at}.")


def _of_layout(metadata: pq.FileMetaData) -> list[Poor]:
    """Say what makes the file larger, or slower to read, than it has to be."""
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    poor = []
    packed = {chunk.compression for chunk in chunks} - {"ZSTD"}
    if packed:
        poor.append(
            Poor("compression", f"found {', '.join(sorted(packed))}; ZSTD takes less space")
        )
    plain_lists = {
        chunk.path_in_schema.split(".")[0]
        for chunk in chunks
        if chunk.path_in_schema.startswith(LIST_COLUMNS)
        and chunk.num_values
        and "BYTE_STREAM_SPLIT" not in chunk.encodings
    }
    poor += [
        Poor(
            "encoding", f"the elements of {name} are not BYTE_STREAM_SPLIT, which takes less space"
        )
        for name in sorted(plain_lists)
    ]
    sizes = [group.num_rows for group in groups]
    if sizes and max(sizes) > _LARGEST_GROUP:
        message = f"a row group has {max(sizes)} requests; expected about {ROW_GROUP_REQUESTS}"
        poor.append(Poor("row_groups", f"{message}: a reader holds one at a time"))
    elif len(sizes) > 1 and sum(sizes) / len(sizes) < _SMALLEST_GROUP:
        message = f"{sum(sizes)} requests are in {len(sizes)} row groups"
        poor.append(Poor("row_groups", f"{message}; expected about {ROW_GROUP_REQUESTS} in each"))
    return poor


def _of_companion(path: Path, found: Conformance) -> list[RecordError]:
    companion = path.with_name(f"{path.stem}{STATE_SUFFIX}")
    if not companion.exists() or found.info is None:
        return []
    theirs, ours = generation_of(companion), found.info.generation
    if theirs != ours:
        message = (
            f"{companion.name} is not read: its headway.generation is {theirs!r}, the run's is "
            f"{ours!r}"
        )
        found.warnings.append(Poor("generation", message))
        return []
    if not ours:
        message = f"nothing ties {companion.name} to this write of the run: no headway.generation"
        found.warnings.append(Poor("generation", message))
    wrong = wrong_columns(plain(read_schema(companion).empty_table()).schema, STATE)
    return wrong or sample_problems(read_batches(companion), found.info.run_id)
