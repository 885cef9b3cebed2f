"""Proposals: what names, units and values suggest, with reasons; the rest is asked."""

import json
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from foreign import RUN, mapping, run, values, written
from headway import record
from headway.importers import mapped
from headway.importers.mapped import vocabulary
from headway.importers.mapped.mapping import Kind, Layout, Purpose, Unit
from libraries import make_run, write


def proposed(path: Path) -> dict[str, tuple[tuple[str, ...], Unit | None, Kind | None]]:
    proposal = mapped.propose(path)
    return {
        field.target: (field.source, field.unit, field.kind) for field in proposal.mapping.fields
    }


def asked(path: Path) -> set[str]:
    return {question.key for question in mapped.propose(path).questions}


def test_there_are_words_of_twenty_tools() -> None:
    assert len(vocabulary.tools()) >= 20


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("TTFT (ms)", [("ttft_ms", Unit.MS), ("ttft", Unit.MS)]),
        ("ContextTokens", [("context_tokens", None)]),
        (
            "metrics.timeToFirstToken.value",
            [("metrics_time_to_first_token", None), ("time_to_first_token", None)],
        ),
        ("^config.max_concurrency", [("config_max_concurrency", None), ("max_concurrency", None)]),
        ("itl_ms", [("itl_ms", Unit.MS), ("itl", Unit.MS)]),
    ],
)
def test_names_are_parted_from_their_units(
    column: str, names: list[tuple[str, Unit | None]]
) -> None:
    assert vocabulary.names_of(column) == names


FACTS = {"boundary", "load.kind", "token_basis", "index_basis", "offered"}


def test_names_with_units_leave_only_the_facts_open(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "t.csv",
        "request_id,start_ns,ttft_ms,e2e_s,output_tokens,status\n"
        "a,1795976816303152001,12.5,0.5,3,ok\nb,1795976817303152001,-1,0.25,0,429\n",
    )
    assert proposed(path) == {
        "request_id": (("request_id",), None, None),
        "sent_us": (("start_ns",), Unit.NS, None),
        "ttft_us": (("ttft_ms",), Unit.MS, Kind.DURATION),
        "latency_us": (("e2e_s",), Unit.S, Kind.DURATION),
        "output_tokens": (("output_tokens",), None, None),
        "outcome": (("status",), None, None),
    }
    assert asked(path) == FACTS
    proposal = mapped.propose(path)
    outcome, ttft = (proposal.mapping.field(name) for name in ("outcome", "ttft_us"))
    assert outcome is not None
    assert outcome.values == (("ok", "completed"), ("429", "rejected"))
    assert ttft is not None
    assert ttft.unknown == (-1,)
    assert proposal.mapping.constant("clock") == "wall"
    assert all(line.reason for line in proposal.lines)


@pytest.mark.parametrize(
    ("cells", "unit"),
    [
        ((1_795_976_816, 1_795_976_817), Unit.S),
        ((1_795_976_816_303, 1_795_976_817_303), Unit.MS),
        ((1_795_976_816_303_152, 1_795_976_817_303_152), Unit.US),
        ((1_795_976_816_303_152_001, 1_795_976_817_303_152_001), Unit.NS),
        (("2026-11-29T18:26:56Z", "2026-11-29T18:26:57Z"), Unit.ISO),
        ((0.5, 1.5), None),
        ((0, 1_795_976_817), None),
    ],
)
def test_instants_tell_their_unit_where_they_are_of_the_calendar(
    tmp_path: Path, cells: tuple[object, ...], unit: Unit | None
) -> None:
    lines = "\n".join(f"{cell},1" for cell in cells)
    path = written(tmp_path, "t.csv", f"sent_at,ttft_s\n{lines}\n")
    assert proposed(path)["sent_us"][1] is unit
    assert ("fields.sent_us.unit" in asked(path)) is (unit is None)
    assert ("clock" in asked(path)) is (unit is None)


@pytest.mark.parametrize(
    ("median", "unit"),
    [
        ("0.06", Unit.S),  # in milliseconds it would be 60 microseconds
        ("60", None),  # a minute, or 60 milliseconds
        ("2.5", None),
        ("60000", None),  # a minute in milliseconds, or 60 milliseconds in microseconds
        ("90000000000", Unit.NS),
    ],
)
def test_durations_tell_their_unit_only_where_no_other_is_plausible(
    tmp_path: Path, median: str, unit: Unit | None
) -> None:
    path = written(tmp_path, "t.csv", f"ttft,ok\n{median},true\n{median},true\n")
    assert proposed(path)["ttft_us"][1] is unit
    assert ("fields.ttft_us.unit" in asked(path)) is (unit is None)


def test_a_latency_that_would_end_before_its_first_token_excludes_a_unit(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "ttft,e2e_latency,ok\n0.4,1.3,true\n0.3,1.2,true\n")
    assert proposed(path)["latency_us"][1] is Unit.S


def test_the_time_between_two_instants_tells_the_unit(tmp_path: Path) -> None:
    lines = "".join(f"{at}.0,{at + 2}.5,2500,true\n" for at in range(1_795_976_816, 1_795_976_820))
    path = written(tmp_path, "t.csv", f"start_time,end_time,latency,ok\n{lines}")
    assert proposed(path)["latency_us"][1] is Unit.MS


def test_a_mean_per_token_is_not_turned_into_anything(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "tpot_ms,itl_ms,ok\n20,21,true\n20,21,true\n")
    assert set(proposed(path)) == {"outcome"}
    lines = mapped.propose(path).lines
    unused = {line.columns for line in lines if line.key == "(not used)"}
    assert unused == {("tpot_ms",)}


def test_values_of_a_status_that_no_word_knows_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "ttft_ms,status\n20,ok\n20,odd\n")
    assert "fields.outcome.values" in asked(path)
    (question,) = (q for q in mapped.propose(path).questions if q.key == "fields.outcome.values")
    assert "'odd'" in question.text


def test_a_column_of_errors_says_what_failed(tmp_path: Path) -> None:
    rows = [
        {"ttft_ms": 20, "latency_ms": 30, "error": None},
        {"ttft_ms": None, "latency_ms": None, "error": "HTTP 429: busy"},
        {"ttft_ms": None, "latency_ms": None, "error": "boom"},
    ]
    path = written(tmp_path, "t.jsonl", "\n".join(map(json.dumps, rows)))
    draft = mapped.propose(path).mapping
    complete = mapped.Mapping(
        "m", facts=mapping("").facts, format=draft.format, fields=draft.fields
    )
    assert values(run(path, complete), "outcome") == ["completed", "rejected", "failed"]


def test_columns_that_name_facts_part_the_table(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "policy,qps,model,ttft_ms,ok\na,1,m,20,1\nb,1,m,20,1\n")
    draft = mapped.propose(path).mapping
    assert draft.split_by == ("policy",)
    assert {fact.key: fact.source for fact in draft.facts} == {
        "policy": "policy",
        "load.declared_rps": "qps",
        "manifest.model": "model",
        "clock": None,
    }


def test_events_are_told_by_ids_that_repeat(tmp_path: Path) -> None:
    lines = []
    for request in range(3):
        at = 1_795_976_816 + request
        lines += [
            {"ts": at, "type": "request_start", "request_id": request, "prompt_size": 7},
            {"ts": at + 0.25, "type": "tokens", "request_id": request},
            {"ts": at + 0.5, "type": "tokens", "request_id": request},
            {"ts": at + 0.75, "type": "request_end", "request_id": request},
        ]
    path = written(tmp_path, "t.jsonl", "\n".join(map(json.dumps, lines)))
    draft = mapped.propose(path).mapping
    assert draft.format.layout is Layout.EVENTS
    complete = mapped.Mapping(
        "m", facts=mapping("").facts, format=draft.format, fields=draft.fields
    )
    found = run(path, complete)
    assert values(found, "ttft_us") == [250_000] * 3
    assert values(found, "chunk_gaps_us") == [[250_000]] * 3
    assert values(found, "latency_us") == [750_000] * 3
    assert values(found, "prompt_tokens") == [7] * 3


def test_requests_deep_in_a_document_are_found(tmp_path: Path) -> None:
    levels = [
        {"value": level, "requests": [{"start_s": 1.0, "ttft_ms": 20, "ok": True}]}
        for level in (2, 4)
    ]
    path = written(tmp_path, "t.json", json.dumps({"config": {"model": "m"}, "levels": levels}))
    draft = mapped.propose(path).mapping
    assert draft.format.rows == ("levels[].requests[]",)
    assert {fact.source for fact in draft.facts} == {"^^config.model"}


def test_lists_side_by_side_are_found(tmp_path: Path) -> None:
    document = {
        "request_rate": 4,
        "duration": 9.0,
        "ttfts": [0.06, 0.07],
        "itls": [[0.01], []],
        "output_lens": [2, 1],
        "errors": ["", ""],
        "rps_change_events": [1, 2, 3],
    }
    path = written(tmp_path, "t.json", json.dumps(document))
    draft = mapped.propose(path).mapping
    assert draft.format.layout is Layout.ARRAYS
    assert "latency_us" not in proposed(path)
    complete = mapped.Mapping(
        "m", facts=mapping("").facts, format=draft.format, fields=draft.fields
    )
    found = run(path, complete)
    assert values(found, "ttft_us") == [60_000, 70_000]
    assert values(found, "chunk_gaps_us") == [[10_000], []]


def test_the_table_with_the_most_words_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE meta (key TEXT, value TEXT)")
        connection.execute("CREATE TABLE result (ttft_ms REAL, success INTEGER)")
        connection.execute("INSERT INTO result VALUES (20, 1)")
    connection.close()
    assert mapped.propose(path).mapping.format.table == "result"


def test_lengths_without_results_are_a_workload(tmp_path: Path) -> None:
    path = written(
        tmp_path, "t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9,7,1\n"
    )
    proposal = mapped.propose(path)
    assert proposal.mapping.purpose is Purpose.WORKLOAD
    assert proposal.questions == ()
    assert mapped.workload(path, proposal.mapping).rows["prompt_tokens"].to_list() == [7]


def test_a_saved_mapping_that_fits_is_the_proposal(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "dauer,ende\n1,x\n")
    mine = mapping(
        '[fields.ttft_us]\nfrom = "dauer"\nunit = "s"\n[fields.outcome]\nvalue = "failed"'
    )
    mapped.save(mine, tmp_path)
    proposal = mapped.propose(path, tmp_path)
    assert proposal.known == "house bench"
    assert proposal.mapping == mine
    assert proposal.questions == ()


def test_a_run_file_proposes_itself(tmp_path: Path) -> None:
    times = {"ttft_us": 250_000, "latency_us": 300_000, "ended_us": 300_000}
    rows = [
        {"sent_us": 0, "chunk_gaps_us": [50_000], **times},
        {"sent_us": 7, "outcome": "failed"},
    ]
    original = make_run(rows, completion_times=True)
    path = write(original, tmp_path)
    proposal = mapped.propose(path)
    assert proposal.questions == ()
    again = run(path, proposal.mapping)
    assert record.digest(again.requests) == original.info.rows_sha256
    assert again.info.load == original.info.load
    # The same columns elsewhere: complete but for what the run file alone says.
    other = tmp_path / "plain.parquet"
    pl.read_parquet(path).write_parquet(other)
    keys = {question.key for question in mapped.propose(other).questions}
    assert keys == FACTS | {"clock"}
    facts = pl.lit("client").alias("boundary"), pl.lit("relative").alias("clock")
    more = pl.lit("open").alias("load.kind"), pl.lit("x").alias("token_basis")
    rest = pl.lit("plan").alias("index_basis"), pl.lit("rows").alias("offered")
    pl.read_parquet(path).with_columns(*facts, *more, *rest).write_parquet(other)
    assert mapped.propose(other).questions == ()
    assert record.digest(run(other, mapped.propose(other).mapping).requests) == (
        original.info.rows_sha256
    )


def test_a_proposal_reads_back_from_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "policy,ttft_ms,ok\na,20,1\nb,20,0\n")
    proposal = mapped.propose(path)
    comments = [question.text for question in proposal.questions]
    assert mapped.loads(mapped.dumps(proposal.mapping, comments)) == proposal.mapping
    assert RUN  # the facts that tests add are complete
