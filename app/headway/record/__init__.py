"""The record: one run, one Parquet file, complete by itself.

`<library>/<study>/<run_id>.parquet` has one row per request, offered and warm-up. The run's
description is JSON in the file's key-value metadata under `headway.run`, the schema version under
`headway.schema`. `<run_id>.state.parquet`, where present, holds samples of the server's state.
docs/formats.md describes the layout for writers in other languages.
"""

from headway.record.conformance import Conformance, Poor, check
from headway.record.digests import digest
from headway.record.files import (
    STATE_SUFFIX,
    companion_of,
    describes_run,
    is_run_file,
    parse_info,
    read,
    read_batches,
    read_described,
    read_info,
    seal,
    state_of,
    verify,
    write,
)
from headway.record.rules import RULES, SCHEMA_VERSION, Checker, problems
from headway.record.schema import (
    REQUESTS,
    ROW_GROUP_REQUESTS,
    STATE,
    Run,
    plain,
    requests_table,
    state_table,
    with_stream_summary,
)
from headway.record.spill import Spill

__all__ = [
    "REQUESTS",
    "ROW_GROUP_REQUESTS",
    "RULES",
    "SCHEMA_VERSION",
    "STATE",
    "STATE_SUFFIX",
    "Checker",
    "Conformance",
    "Poor",
    "Run",
    "Spill",
    "check",
    "companion_of",
    "describes_run",
    "digest",
    "is_run_file",
    "parse_info",
    "plain",
    "problems",
    "read",
    "read_batches",
    "read_described",
    "read_info",
    "requests_table",
    "seal",
    "state_of",
    "state_table",
    "verify",
    "with_stream_summary",
    "write",
]
