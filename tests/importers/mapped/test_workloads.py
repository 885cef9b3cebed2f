"""Foreign workloads become traces of a study through a mapping."""

import gzip
import json
from pathlib import Path

import pytest

from foreign import mapping, written
from headway.analyses import trace_mix
from headway.errors import ImportRefusedError, MisuseError
from headway.importers import mapped
from headway.model import Selection
from libraries import make_run, open_runs

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n"
)
AZURE_MAPPING = """
headway_mapping = 1
kind = "workload"
[fields.scheduled_us]
from = "TIMESTAMP"
unit = "iso"
[fields.prompt_tokens]
from = "ContextTokens"
[fields.output_tokens]
from = "GeneratedTokens"
"""
MOONCAKE = [
    {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]},
    {"timestamp": 3000, "input_length": 1500, "output_length": 7, "hash_ids": [1, 3, 4]},
]
MOONCAKE_MAPPING = """
headway_mapping = 1
kind = "workload"
[fields.scheduled_us]
from = "timestamp"
unit = "ms"
[fields.prompt_tokens]
from = "input_length"
[fields.output_tokens]
from = "output_length"
[fields.prefix_blocks]
from = "hash_ids"
"""


def test_a_trace_in_the_shape_of_azure(tmp_path: Path) -> None:
    trace = mapped.workload(written(tmp_path, "t.csv", AZURE), mapped.loads(AZURE_MAPPING))
    assert trace.rows.to_dicts() == [
        {"arrival_s": 0.0, "prompt_tokens": 4808, "output_tokens": 10},
        {"arrival_s": 0.052, "prompt_tokens": 3180, "output_tokens": 8},
    ]
    assert trace.n_blocks is None


def test_a_trace_in_the_shape_of_mooncake(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, MOONCAKE)).encode()))
    trace = mapped.workload(path, mapped.loads(MOONCAKE_MAPPING))
    assert trace.rows["arrival_s"].to_list() == [0.0, 3.0]
    assert (trace.n_blocks, trace.n_blocks_seen) == (5, 1)


@pytest.mark.parametrize(
    ("cell", "complaint"),
    [
        ("many", "'many'"),
        ("-4", "missing or below 0"),
        ("", "missing or below 0"),
    ],
)
def test_a_plan_with_a_length_that_is_none_is_refused(
    tmp_path: Path, cell: str, complaint: str
) -> None:
    path = written(tmp_path, "t.csv", AZURE.replace("3180", cell))
    with pytest.raises(ImportRefusedError, match=complaint):
        mapped.workload(path, mapped.loads(AZURE_MAPPING))


def test_a_mapping_is_for_runs_or_for_a_workload(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", AZURE)
    with pytest.raises(MisuseError, match="expected one with kind = 'workload'"):
        mapped.workload(path, mapping(""))
    source = mapped.preview(path, mapped.loads(AZURE_MAPPING))
    assert source.is_usable


def test_a_study_names_its_trace_and_the_mapping(tmp_path: Path) -> None:
    run = make_run([{"scheduled_us": 0, "prompt_tokens": 10, "requested_output_tokens": 2}] * 2)
    opened = open_runs(tmp_path / "library", run)
    folder = tmp_path / "library" / "study"
    written(folder, "log.csv", "n_in,n_out\n10,2\n20,2\n30,2\n")
    written(
        folder,
        "log.toml",
        'headway_mapping = 1\nkind = "workload"\n[fields.prompt_tokens]\nfrom = "n_in"\n',
    )
    written(folder, "study.toml", 'trace = "log.csv"\ntrace_mapping = "log.toml"\n')
    opened = open_runs(tmp_path / "library")
    attached = trace_mix.attached(opened, opened.studies["study"])
    assert attached is not None
    mix = trace_mix.compare(opened, Selection(("r0",)), attached)
    assert isinstance(mix, trace_mix.TraceMix)
    assert (mix.n_requests, mix.shape) == (3, "mapping log")
    (folder / "log.toml").unlink()
    again = trace_mix.attached(opened, opened.studies["study"])
    assert again is not None
    unread = trace_mix.compare(opened, Selection(("r0",)), again)
    assert isinstance(unread, trace_mix.Unread)
    assert "log.toml is not in the study's folder" in unread.why
