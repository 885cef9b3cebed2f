"""Twelve foreign tables become runs through mappings, without code, or are refused clearly.

Every number was worked out by hand from the table above it.
"""

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from foreign import RUN, codes, mapping, rows, run, runs, values, written
from headway.errors import ImportRefusedError, MisuseError

OK = '[fields.outcome]\nvalue = "completed"\n'


def refusal(path: Path, said: object) -> ImportRefusedError:
    with pytest.raises(ImportRefusedError) as caught:
        runs(path, said)  # type: ignore[arg-type]
    return caught.value


# 1: wide

WIDE = """\
id,start,first,end,in,out,policy,rate,ok
a,10.5,10.75,12.0,100,20,fcfs,2,true
b,11.0,,11.25,50,0,fcfs,2,false
a,3.0,3.1,3.4,100,20,sjf,4,true
"""
WIDE_FIELDS = """
policy = { from = "policy" }
load.declared_rps = { from = "rate" }
[fields.request_id]
from = "id"
[fields.sent_us]
from = "start"
unit = "s"
[fields.ttft_us]
from = "first"
unit = "s"
as = "instant"
[fields.latency_us]
from = "end"
unit = "s"
as = "instant"
[fields.prompt_tokens]
from = "in"
[fields.output_tokens]
from = "out"
[fields.outcome]
from = "ok"
values = { true = "completed", false = "failed" }
"""
SPLIT = RUN.replace("[run]", 'split_by = ["policy", "rate"]\n[run]')


def test_a_wide_table_of_two_runs(tmp_path: Path) -> None:
    fcfs, sjf = runs(written(tmp_path, "wide.csv", WIDE), mapping(WIDE_FIELDS, SPLIT))
    assert [(r.info.policy, r.info.load.declared_rps, r.info.n_offered) for r in (fcfs, sjf)] == [
        ("fcfs", 2.0, 2),
        ("sjf", 4.0, 1),
    ]
    assert rows(fcfs, "sent_us", "ttft_us", "latency_us", "ended_us", "outcome") == [
        {
            "sent_us": 0,
            "ttft_us": 250_000,
            "latency_us": 1_500_000,
            "ended_us": 1_500_000,
            "outcome": "completed",
        },
        # It failed: its end is known, and is no completion latency.
        {
            "sent_us": 500_000,
            "ttft_us": None,
            "latency_us": None,
            "ended_us": 750_000,
            "outcome": "failed",
        },
    ]
    assert values(sjf, "ttft_us") == [100_000]
    assert fcfs.info.run_id != sjf.info.run_id
    assert fcfs.info.importer == "mapped"
    assert fcfs.info.mapping == "house bench"


def test_a_table_of_several_runs_is_not_taken_for_one(tmp_path: Path) -> None:
    path = written(tmp_path, "wide.csv", WIDE.replace("\na,3", "\nc,3"))
    assert "add 'policy' to split_by" in str(refusal(path, mapping(WIDE_FIELDS)))


# 2: long


LONG = """\
req,kind,t,n
1,send,100,
2,send,110,
1,chunk,150,1
2,fail,120,
1,chunk,180,2
1,chunk,190,1
1,done,195,
,heartbeat,200,
"""
LONG_RUN = RUN.replace(
    "[run]", '[format]\nlayout = "events"\nid = "req"\nevent = "kind"\norder = "t"\n[run]'
)
LONG_FIELDS = """
[fields.request_id]
from = "req"
[fields.sent_us]
from = "t@send"
unit = "ms"
[fields.chunk_gaps_us]
from = "t@chunk[]"
unit = "ms"
as = "instants"
[fields.chunk_tokens]
from = "n@chunk[]"
[fields.output_tokens]
from = "n@chunk[+]"
[fields.latency_us]
from = "t@done"
unit = "ms"
as = "instant"
[fields.ended_us]
from = ["t@done", "t@fail"]
unit = "ms"
[fields.outcome]
from = "t@done"
otherwise = "completed"
default = "failed"
"""


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_long_table_of_events(tmp_path: Path, shuffled: bool) -> None:
    header, *lines = LONG.splitlines()
    text = "\n".join([header, *(sorted(lines, reverse=True) if shuffled else lines)]) + "\n"
    found = run(written(tmp_path, "long.csv", text), mapping(LONG_FIELDS, LONG_RUN))
    by_id = {row["request_id"]: row for row in found.requests.to_pylist()}
    one, two = by_id["1"], by_id["2"]
    assert (one["sent_us"], two["sent_us"]) == (0, 10_000)
    assert one["ttft_us"] == 50_000
    assert one["chunk_gaps_us"] == [30_000, 10_000]
    assert one["chunk_tokens"] == [1, 2, 1]
    assert (one["output_tokens"], one["n_chunks"], one["max_gap_us"]) == (4, 3, 30_000)
    assert one["latency_us"] == 95_000
    assert two["outcome"] == "failed"
    assert two["ended_us"] == 20_000
    assert (two["ttft_us"], two["chunk_gaps_us"], two["output_tokens"]) == (None, None, None)
    assert codes(found) == {"rows_left_out": 1}


# 3: times in ms, ns and ISO


@pytest.mark.parametrize(
    ("unit", "cells"),
    [
        ("s", ["1795976816.303152", "1795976816.403153", "1795976817.303152"]),
        ("ms", ["1795976816303.152", "1795976816403.153", "1795976817303.152"]),
        ("us", ["1795976816303152", "1795976816403153", "1795976817303152"]),
        ("ns", ["1795976816303152001", "1795976816403152999", "1795976817303152499"]),
        (
            "iso",
            [
                "2026-11-29T18:26:56.303152Z",
                "2026-11-29 19:26:56.403153+01:00",
                "2026-11-29T18:26:57.303152001Z",
            ],
        ),
    ],
)
def test_one_instant_in_every_unit(tmp_path: Path, unit: str, cells: list[str]) -> None:
    moment = datetime.fromtimestamp(1_795_976_816, UTC).replace(microsecond=303_152)
    said = mapping(
        f"""
[fields.sent_us]
from = "sent"
unit = "{unit}"
[fields.ttft_us]
from = "first"
unit = "{unit}"
as = "instant"
[fields.latency_us]
from = "end"
unit = "{unit}"
as = "instant"
{OK}""",
        clock='clock = "wall"',
    )
    found = run(written(tmp_path, "t.csv", f"sent,first,end\n{','.join(cells)}\n"), said)
    assert found.info.started_at == moment.isoformat()
    assert rows(found, "sent_us", "ttft_us", "latency_us") == [
        {"sent_us": 0, "ttft_us": 100_001, "latency_us": 1_000_000}
    ]


def test_times_without_a_zone_say_nothing_of_when(tmp_path: Path) -> None:
    said = mapping('[fields.sent_us]\nfrom = "at"\nunit = "iso"\n' + OK, clock='clock = "wall"')
    found = run(
        written(tmp_path, "t.csv", "at\n2026-11-29 19:46:56.5\n2026-11-29 19:46:58\n"), said
    )
    assert values(found, "sent_us") == [0, 1_500_000]
    assert found.info.started_at is None
    assert codes(found) == {"no_time_zone": 1}


def test_a_wrong_unit_of_a_wall_clock_is_refused(tmp_path: Path) -> None:
    said = mapping('[fields.sent_us]\nfrom = "at"\nunit = "s"\n' + OK, clock='clock = "wall"')
    error = refusal(written(tmp_path, "t.csv", "at\n1795976\n1795977\n"), said)
    assert error.code == "not_unix"
    assert "2 instants are not between the years 2000 and 2100 (rows 1, 2)" in str(error)


# 4: nested lists


NESTED: list[dict[str, Any]] = [
    {"m": {"sent": 5.0, "tok": [5.1, 5.15, 5.35]}, "gap": [50, 200], "off": [0.1, 0.15, 0.35]},
    {"m": {"sent": 6.0, "tok": [6.25]}, "gap": [], "off": [0.25]},
    {"m": {"sent": 7.0, "tok": []}, "gap": None, "off": None},
]


@pytest.mark.parametrize(
    "field",
    [
        'from = "m.tok"\nunit = "s"\nas = "instants"',
        'from = "off"\nunit = "s"\nas = "offsets"',
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "json", "parquet", "csv"])
def test_nested_lists_of_token_times(tmp_path: Path, form: str, field: str) -> None:
    path = tmp_path / f"nested.{form}"
    if form == "parquet":
        pl.DataFrame(NESTED).write_parquet(path)
    elif form == "csv":
        pl.DataFrame(
            [
                {
                    "m.sent": row["m"]["sent"],
                    "m.tok": json.dumps(row["m"]["tok"]),
                    "off": json.dumps(row["off"]),
                }
                for row in NESTED
            ]
        ).write_csv(path)
    else:
        whole = json.dumps(NESTED, indent=1)
        path.write_text(whole if form == "json" else "\n".join(map(json.dumps, NESTED)))
    said = mapping(
        f'[fields.sent_us]\nfrom = "m.sent"\nunit = "s"\n[fields.chunk_gaps_us]\n{field}\n{OK}'
    )
    if form == "csv" and "off" in field:
        said = mapping(
            f'[fields.sent_us]\nfrom = "m.sent"\nunit = "s"\n[fields.chunk_gaps_us]\n{field}\n'
            f'unknown = ["null"]\n{OK}'
        )
    found = run(path, said)
    assert values(found, "ttft_us") == [100_000, 250_000, None]
    assert values(found, "chunk_gaps_us") == [[50_000, 200_000], [], None]
    assert values(found, "n_chunks") == [3, 1, None]


def test_nested_lists_of_gaps(tmp_path: Path) -> None:
    path = written(tmp_path, "gaps.jsonl", "\n".join(map(json.dumps, NESTED)))
    gaps = '[fields.chunk_gaps_us]\nfrom = "gap"\nunit = "ms"\n'
    first = '[fields.ttft_us]\nvalue = 0.5\nunit = "s"\n'
    found = run(path, mapping(gaps + first + OK))
    assert values(found, "chunk_gaps_us") == [[50_000, 200_000], [], None]
    assert values(found, "ttft_us") == [500_000] * 3


# 5: sentinels

SENTINELS = "sent,ttft,lat,out\n0,-1,0,0\n1,0.5,2,7\n2,NaN,,-1\n3,0,null,0\n"
SENTINEL_FIELDS = """
[fields.sent_us]
from = "sent"
unit = "s"
[fields.ttft_us]
from = "ttft"
unit = "s"
unknown = [-1, 0]
[fields.latency_us]
from = "lat"
unit = "s"
unknown = [0, "null"]
[fields.output_tokens]
from = "out"
unknown = -1
[fields.outcome]
from = "lat"
unknown = [0, "null"]
otherwise = "completed"
default = "failed"
"""


def test_sentinels_mean_unknown_only_where_the_mapping_says_so(tmp_path: Path) -> None:
    found = run(written(tmp_path, "s.csv", SENTINELS), mapping(SENTINEL_FIELDS))
    assert values(found, "sent_us") == [0, 1_000_000, 2_000_000, 3_000_000]
    assert values(found, "ttft_us") == [None, 500_000, None, None]
    assert values(found, "latency_us") == [None, 2_000_000, None, None]
    assert values(found, "output_tokens") == [0, 7, None, 0]
    assert values(found, "outcome") == ["failed", "completed", "failed", "failed"]
    assert values(found, "outcome_basis") == ["inferred", "stated", "inferred", "inferred"]


def test_a_sentinel_that_is_not_declared_is_refused_with_its_rows(tmp_path: Path) -> None:
    said = mapping(SENTINEL_FIELDS.replace("unknown = [-1, 0]", "", 1))
    error = refusal(written(tmp_path, "s.csv", SENTINELS), said)
    assert error.code == "negative_values"
    assert "ttft_us: 1 values are negative (row 1)" in str(error)


def test_mostly_zeros_are_a_finding(tmp_path: Path) -> None:
    said = mapping('[fields.ttft_us]\nfrom = "t"\nunit = "s"\n' + OK)
    found = run(written(tmp_path, "z.csv", "t\n0\n0\n1\n"), said)
    assert codes(found) == {"mostly_zero": 2}
    assert values(found, "ttft_us") == [0, 0, 1_000_000]


# 6: categorical outcomes

STATUSES = "t,status\n1,OK\n1,429\n1,HTTP 503: busy\n1,HTTP 504: slow\n1,\n1,weird\n1,weird\n"
STATUS_FIELDS = """
[fields.ttft_us]
from = "t"
unit = "s"
[fields.outcome]
from = "status"
default = "unaccounted"
[fields.outcome.values]
"ok" = "completed"
"429" = "rejected"
"HTTP 503*" = "rejected"
"HTTP*" = "failed"
"""


def test_every_value_of_a_status_is_mapped_or_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, "c.csv", STATUSES)
    error = refusal(path, mapping(STATUS_FIELDS))
    assert error.code == "unknown_status"
    assert "outcome: 2 rows have a value of status that the mapping does not know: 'weird' (2)" in (
        str(error)
    )
    found = run(path, mapping(STATUS_FIELDS + '"weird" = "truncated"\n'))
    assert values(found, "outcome") == [
        "completed",
        "rejected",
        "rejected",
        "failed",
        "unaccounted",
        "truncated",
        "truncated",
    ]


def test_a_missing_status_is_refused_unless_its_meaning_is_said(tmp_path: Path) -> None:
    said = STATUS_FIELDS.replace('default = "unaccounted"\n', "") + '"weird" = "failed"\n'
    error = refusal(written(tmp_path, "c.csv", STATUSES), mapping(said))
    assert "1 rows have no value in status (row 5); say in default what that means" in str(error)


# 7: missing columns


def test_a_missing_column_is_named_with_what_is_there(tmp_path: Path) -> None:
    said = mapping('[fields.ttft_us]\nfrom = "ttft_s"\nunit = "s"\n' + OK)
    error = refusal(written(tmp_path, "m.csv", "ttft,out\n1,2\n"), said)
    assert error.code == "missing_column"
    assert "no column 'ttft_s' (did you mean 'ttft'?)" in str(error)
    assert "The file has: ttft, out" in str(error)


def test_an_optional_column_may_be_missing(tmp_path: Path) -> None:
    said = mapping(
        '[fields.ttft_us]\nfrom = "ttft"\nunit = "s"\n[fields.outcome]\nfrom = "error"\n'
        'optional = true\notherwise = "failed"\ndefault = "completed"\n'
    )
    found = run(written(tmp_path, "m.jsonl", '{"ttft": 1}\n{"ttft": 2}\n'), said)
    assert values(found, "outcome") == ["completed", "completed"]


def test_required_facts_are_asked_for_and_never_guessed(tmp_path: Path) -> None:
    path = written(tmp_path, "m.csv", "ttft\n1\n")
    bare = 'headway_mapping = 1\n[fields.ttft_us]\nfrom = "ttft"\n'
    with pytest.raises(MisuseError) as caught:
        runs(path, mapping("", bare))
    asked = str(caught.value)
    for key in ("boundary", "clock", "load.kind", "token_basis", "index_basis", "offered"):
        assert f"{key}: " in asked
    assert "fields.outcome: " in asked
    assert "fields.ttft_us.unit: " in asked


# 8: duplicates

TWICE = "id,t\na,1\nb,2\na,3\n"
TWICE_FIELDS = '[fields.request_id]\nfrom = "id"\n[fields.ttft_us]\nfrom = "t"\nunit = "s"\n' + OK


def test_requests_that_appear_twice_are_refused_or_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "d.csv", TWICE)
    error = refusal(path, mapping(TWICE_FIELDS))
    assert "1 rows repeat the request_id of an earlier one (row 3)" in str(error)
    tolerant = RUN.replace("[run]", 'tolerate = ["duplicates"]\n[run]')
    found = run(path, mapping(TWICE_FIELDS, tolerant))
    assert values(found, "ttft_us") == [1_000_000, 2_000_000]
    assert codes(found) == {"duplicate_rows": 1}


# 9: a million rows


def test_a_million_rows(tmp_path: Path) -> None:
    n = 1_000_000
    at = pl.int_range(n, eager=True)
    path = tmp_path / "million.parquet"
    pl.DataFrame(
        {
            "sent_ns": 1_795_976_816_000_000_000 + at * 1_000_000,
            "ttft_ms": (at % 1000) + 0.5,
            "code": pl.Series([200, 429, 200, 200]).gather(at % 4),
        }
    ).write_parquet(path)
    said = mapping(
        """
[fields.sent_us]
from = "sent_ns"
unit = "ns"
[fields.ttft_us]
from = "ttft_ms"
unit = "ms"
[fields.outcome]
from = "code"
values = { 200 = "completed", 429 = "rejected" }
"""
    )
    found = run(path, said)
    assert found.info.n_offered == n
    assert values(found, "sent_us")[-1] == (n - 1) * 1000
    assert values(found, "ttft_us")[998:1001] == [998_500, 999_500, 500]
    outcomes = pl.Series(values(found, "outcome"))
    assert dict(outcomes.value_counts().iter_rows()) == {"completed": 750_000, "rejected": 250_000}


# 10: names in Unicode


def test_names_in_unicode(tmp_path: Path) -> None:
    path = written(tmp_path, "表.csv", "延迟 (ms),état,🙂\n12.5,terminé,x\n7,échoué,y\n")
    said = mapping(
        """
[fields.ttft_us]
from = "延迟 (ms)"
unit = "ms"
[fields.request_id]
from = "🙂"
[fields.outcome]
from = "état"
values = { "terminé" = "completed", "échoué" = "failed" }
"""
    )
    found = run(path, said)
    assert rows(found, "request_id", "ttft_us", "outcome") == [
        {"request_id": "x", "ttft_us": 12_500, "outcome": "completed"},
        {"request_id": "y", "ttft_us": 7_000, "outcome": "failed"},
    ]


# 11: as a spreadsheet writes it

SHEET = "Zeit;TTFT;Status\r\n0,25;1234,5;ja\r\n1;0,125;nein\r\n"
SHEET_FIELDS = """
[fields.sent_us]
from = "Zeit"
unit = "s"
[fields.ttft_us]
from = "TTFT"
unit = "ms"
[fields.outcome]
from = "Status"
values = { ja = "completed", nein = "failed" }
"""
SHEET_RUN = RUN.replace("[run]", '[format]\ndelimiter = ";"\ndecimal = ","\n[run]')


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_table_as_a_spreadsheet_writes_it(tmp_path: Path, encoding: str) -> None:
    declared = {"utf-16": "utf-16", "cp1252": "cp1252"}.get(encoding, "utf-8")
    said = SHEET_RUN.replace("[run]", f'encoding = "{declared}"\n[run]')
    found = run(written(tmp_path, "sheet.csv", SHEET, encoding), mapping(SHEET_FIELDS, said))
    assert rows(found, "sent_us", "ttft_us", "outcome") == [
        {"sent_us": 0, "ttft_us": 1_234_500, "outcome": "completed"},
        {"sent_us": 750_000, "ttft_us": 125, "outcome": "failed"},
    ]


def test_a_wrong_decimal_mark_is_refused_with_examples(tmp_path: Path) -> None:
    said = SHEET_RUN.replace('decimal = ","\n', "")
    path = written(tmp_path, "sheet.csv", SHEET.replace("\r\n1;", "\r\n1,5;"))
    error = refusal(path, mapping(SHEET_FIELDS, said))
    assert error.code == "values_unreadable"
    assert "2 of 2 values of Zeit are not a time in s ('0,25', '1,5'; rows 1, 2)" in str(error)


# 12: databases


COLUMNS = '"the runs" ("at" DOUBLE, "first ms" INTEGER, gaps {})'
ROWS = '"the runs" VALUES (1.5, 250, {}), (2, NULL, {})'
LISTS_AS_TEXT = ("'[0.1, 0.2]'", "'[]'")


def duck(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE TABLE "the runs" ("at" DOUBLE, "first ms" INTEGER, gaps DOUBLE[])'
        )
        connection.execute(
            """INSERT INTO "the runs" VALUES (1.5, 250, [0.1, 0.2]), (2, NULL, [])"""
        )
        connection.execute("CREATE VIEW leak AS SELECT * FROM read_text('/etc/hostname')")


def lite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "the runs" ("at" REAL, "first ms" INTEGER, gaps TEXT)')
        connection.execute(
            """INSERT INTO "the runs" VALUES (1.5, 250, '[0.1, 0.2]'), (2, NULL, '[]')"""
        )
        connection.execute('CREATE VIEW leak AS SELECT * FROM "the runs"')
    connection.close()


DATABASE_FIELDS = """
[fields.sent_us]
from = "at"
unit = "s"
[fields.ttft_us]
from = "first ms"
unit = "ms"
[fields.chunk_gaps_us]
from = "gaps"
unit = "s"
"""


@pytest.mark.parametrize("make", [duck, lite])
def test_a_table_of_a_database(tmp_path: Path, make: object) -> None:
    path = tmp_path / "results.db"
    make(path)  # type: ignore[operator]
    before = sorted(tmp_path.iterdir())
    found = run(path, mapping(DATABASE_FIELDS + OK))
    assert rows(found, "sent_us", "ttft_us", "chunk_gaps_us") == [
        {"sent_us": 0, "ttft_us": 250_000, "chunk_gaps_us": [100_000, 200_000]},
        {"sent_us": 500_000, "ttft_us": None, "chunk_gaps_us": None},
    ]
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("make", [duck, lite])
def test_a_view_of_a_database_never_runs(tmp_path: Path, make: object) -> None:
    path = tmp_path / "results.db"
    make(path)  # type: ignore[operator]
    said = RUN.replace("[run]", '[format]\ntable = "leak"\n[run]')
    error = refusal(path, mapping(DATABASE_FIELDS + OK, said))
    assert error.code == "no_table"
    assert "does not say a table 'leak'; it has the runs (views are not read)" in str(error)


@pytest.mark.parametrize(("make", "suffix"), [(duck, ".wal"), (lite, "-wal")])
def test_a_database_that_is_still_open_is_refused(
    tmp_path: Path, make: object, suffix: str
) -> None:
    path = tmp_path / "results.db"
    make(path)  # type: ignore[operator]
    (tmp_path / f"results.db{suffix}").write_bytes(b"rows")
    assert refusal(path, mapping(DATABASE_FIELDS + OK)).code == "unfinished"
