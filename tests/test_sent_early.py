"""Requests sent before their schedule: latency from the send, and a finding, in every path."""

from pathlib import Path
from typing import Any

import pytest

import headway
from commands import document
from headway import catalog
from headway.errors import RecordError

N = 400
LEAD_US = 5_000_000

MAPPING = """
headway_mapping = 1
name = "early"
kind = "run"

[run]
boundary = "client"
clock = "relative"
token_basis = "none"
index_basis = "order"
offered = "rows"
load.kind = "open"

[fields.scheduled_us]
from = "due"
unit = "s"

[fields.sent_us]
from = "sent"
unit = "s"

[fields.ttft_us]
from = "ttft"
unit = "s"

[fields.latency_us]
from = "latency"
unit = "s"

[fields.outcome]
value = "completed"
"""


def from_a_table(folder: Path) -> Path:
    table = folder / "table.csv"
    rows = "".join(f"{10 + at},{5 + at},3.0,4.0\n" for at in range(N))
    table.write_text(f"due,sent,ttft,latency\n{rows}")
    (folder / "mapping.toml").write_text(MAPPING)
    library = folder / "library"
    document("import", table, "--mapping", folder / "mapping.toml", "--library", library)
    return library


def from_a_program(folder: Path) -> Path:
    library = folder / "library"
    with headway.RunWriter(
        library, study="study", harness="test", boundary="client", load={"kind": "open"},
    ) as run:  # fmt: skip
        for at in range(N):
            sent_us = 5_000_000 + at * 1_000_000
            run.request(
                outcome="completed", scheduled_us=sent_us + LEAD_US, sent_us=sent_us,
                ttft_us=3_000_000, latency_us=4_000_000,
            )  # fmt: skip
    return library


@pytest.mark.parametrize("write", [from_a_table, from_a_program])
def test_they_count_from_their_send_and_are_noticed(write: Any, tmp_path: Path) -> None:
    library = write(tmp_path)
    (run,) = document("summary", "--library", library)["runs"]
    assert run["metrics"]["ttft_ms"]["p"]["50"]["value"] == 3000.0
    assert run["metrics"]["latency_ms"]["p"]["99"]["value"] == 4000.0
    (info,) = catalog.open_catalog([library]).runs.values()
    (finding,) = [each for each in info.findings if each.code == "sent_early"]
    assert finding.count == N
    assert f"{N} of {N}" in finding.message
    assert "5.000 s" in finding.message


def test_a_verdict_does_not_accept_what_is_late_from_the_send(tmp_path: Path) -> None:
    library = from_a_table(tmp_path)
    told = document(
        "verdict", "--library", library, "--ttft-ms", "2000", "--claim", "run", exit_code=1
    )
    assert [run["n_met"] for run in told["runs"]] == [0]


def test_a_program_cannot_write_a_stall_longer_than_its_answer(tmp_path: Path) -> None:
    with pytest.raises(RecordError) as caught, headway.RunWriter(
        tmp_path, study="study", harness="test", boundary="client", load={"kind": "open"},
    ) as run:  # fmt: skip
        run.request(
            outcome="completed", sent_us=0, ttft_us=100_000, latency_us=300_000,
            chunk_gaps_us=[500_000, 900_000],
        )  # fmt: skip
    assert "gaps_in_answer" in str(caught.value)
    assert not list(tmp_path.rglob("*.parquet"))
