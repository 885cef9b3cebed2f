"""Foreign tables: any Parquet, CSV, JSON, DuckDB or SQLite file becomes runs through a mapping.

docs/mapping.md is the reference; `Mapping` says what the columns of a table mean.
"""

from headway.importers.mapped.documents import first as check_json
from headway.importers.mapped.importer import MappedImporter, Readers, advice
from headway.importers.mapped.mapping import Fact, Field, Format, Mapping, Purpose, Question
from headway.importers.mapped.previewing import FieldPreview, Preview, RunPreview, preview
from headway.importers.mapped.problems import Problem
from headway.importers.mapped.proposal import Confidence, Line, Proposal
from headway.importers.mapped.proposing import propose
from headway.importers.mapped.runs import apply, ask
from headway.importers.mapped.saved import (
    Broken,
    Saved,
    alone,
    find,
    fits,
    fitting,
    listed,
    save,
)
from headway.importers.mapped.seen import Holds, holds, may_be_table
from headway.importers.mapped.tables import is_binary as is_binary_table
from headway.importers.mapped.toml_files import dumps, loads, read
from headway.importers.mapped.totals import refusal as totals_refusal
from headway.importers.mapped.workloads import workload

__all__ = [
    "Broken",
    "Confidence",
    "Fact",
    "Field",
    "FieldPreview",
    "Format",
    "Holds",
    "Line",
    "MappedImporter",
    "Mapping",
    "Preview",
    "Problem",
    "Proposal",
    "Purpose",
    "Question",
    "Readers",
    "RunPreview",
    "Saved",
    "advice",
    "alone",
    "apply",
    "ask",
    "check_json",
    "dumps",
    "find",
    "fits",
    "fitting",
    "holds",
    "is_binary_table",
    "listed",
    "loads",
    "may_be_table",
    "preview",
    "propose",
    "read",
    "save",
    "totals_refusal",
    "workload",
]
