"""The record: one run, one Parquet file, complete by itself.

`<library>/<study>/<run_id>.parquet` has one row per request, offered and warm-up. The run's
description is JSON in the file's key-value metadata under `headway.run`, the schema version under
`headway.schema`. `<run_id>.state.parquet`, where present, holds samples of the server's state.
docs/formats.md describes the layout for writers in other languages.
"""

from headway.record.files import (
    ROW_GROUP_REQUESTS,
    STATE_SUFFIX,
    describes_run,
    is_run_file,
    read,
    read_info,
    seal,
    state_of,
    write,
)
from headway.record.rules import RULES, SCHEMA_VERSION, problems
from headway.record.schema import REQUESTS, STATE, Run, digest, requests_table, state_table

__all__ = [
    "REQUESTS",
    "ROW_GROUP_REQUESTS",
    "RULES",
    "SCHEMA_VERSION",
    "STATE",
    "STATE_SUFFIX",
    "Run",
    "describes_run",
    "digest",
    "is_run_file",
    "problems",
    "read",
    "read_info",
    "requests_table",
    "seal",
    "state_of",
    "state_table",
    "write",
]
