"""Broken, hostile and odd files are refused in words, or lose nothing silently."""

import gzip
from collections.abc import Callable
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from foreign import RUN, codes, mapping, run, values, written
from headway.errors import HeadwayError, ImportRefusedError
from headway.importers import mapped
from headway.importers.mapped import documents
from headway.importers.mapped.mapping import TIMES
from headway.importers.source import Source

FIELDS = """
[fields.sent_us]
from = "sent"
unit = "s"
[fields.ttft_us]
from = "ttft"
unit = "s"
[fields.outcome]
from = "ok"
values = { true = "completed" }
otherwise = "failed"
"""
ROW = b'{"sent":1,"ttft":1,"ok":true}\n'
SAID = mapping(FIELDS)


def refusal(call: Callable[[], object]) -> HeadwayError | None:
    """Return how a call was refused; any other error is a bug and escapes."""
    try:
        call()
    except HeadwayError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"sent,ttft,ok\n", "empty"),
        (b"sent,ttft,ok,ok\n1,2,true,false\n", "inconsistent"),
        (b"sent,ttft,ok\n1,2,true\n1,2,true,9\n", "damaged"),
        (b"sent,ttft,ok\n1,\x002,true\n", "values_unreadable"),
        (b"sent,ttft,ok,x\n1,2,true,\xe9\n", "not_utf8"),
        (b"sent\tttft\tok\n1\t2\ttrue\n", "missing_column"),
        (b"5", "missing_column"),
        (b"[1, 2]", "missing_column"),
        (b"[]", "missing_column"),
        (b"{}", "missing_column"),
        (b"[" * 100_000 + b"]" * 100_000, "damaged"),
        (b'{"sent": 1,\n', "damaged"),
        (gzip.compress(ROW * 5000)[:-20], "damaged"),
        (b"PAR1" + bytes(100), "damaged"),
        (b"SQLite format 3\0" + bytes(2000), "damaged"),
        (bytes(8) + b"DUCK" + bytes(5000), "damaged"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ImportRefusedError) as caught:
        run(path, SAID)
    assert caught.value.code == code
    assert str(caught.value).isprintable()
    assert mapped.preview(path, SAID).problems[0].refuses
    refused = refusal(lambda: mapped.propose(path))
    assert refused is None or str(refused).isprintable()


def test_lines_that_are_no_json_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(ROW + b'{"sent":2,"tt\n[1]\n' + ROW)
    found = run(path, SAID)
    assert found.info.n_offered == 2
    assert codes(found) == {"rows_unreadable": 2}
    assert "first: line 2, 3" in found.info.findings[0].message


@pytest.mark.parametrize("content", [b"[" + ROW.strip() + b"]", b"[\n" + ROW + b"]", ROW])
@pytest.mark.parametrize("packed", [False, True])
def test_documents_have_a_limit_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, packed: bool
) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert run(path, SAID).info.n_offered == 1
    monkeypatch.setattr(documents, "MOST_DOCUMENT_BYTES", 20)
    refused = refusal(lambda: run(path, SAID))
    assert refused is not None
    assert refused.code == "too_long"


@pytest.mark.parametrize("content", [ROW * 3, b"sent,ttft,ok\n1,2,true\n"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    source = Source.open(path)
    path.write_bytes(content + content.splitlines()[-1] + b"\n")
    refused = refusal(lambda: list(mapped.apply(source, SAID)))
    assert refused is not None
    assert refused.code == "changed"


def test_a_byte_order_mark_is_no_part_of_json(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + ROW)
    assert run(path, SAID).info.n_offered == 1


def test_blank_rows_of_a_csv_are_no_requests(tmp_path: Path) -> None:
    text = "sent,ttft,ok\r\n1,2,true\r\n\r\n,,\r\n2,x,false\r\n3,1,true\r\n"
    found = run(written(tmp_path, "t.csv", text), SAID)
    assert values(found, "outcome") == ["completed", "failed", "completed"]
    assert codes(found) == {"rows_left_out": 2, "values_unreadable": 1}
    # The number of the row in the table, blank ones among them.
    assert "row 4" in found.info.findings[1].message


def test_cells_may_hold_lines_and_delimiters(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", 'sent,ttft,ok\n1,2,"a\nb, c"\n2,3,true\n')
    assert values(run(path, SAID), "outcome") == ["failed", "completed"]


def test_numbers_that_json_does_not_know_are_unknown(tmp_path: Path) -> None:
    lines = ['{"sent":1,"ttft":NaN,"ok":true}', '{"sent":2,"ttft":Infinity,"ok":true}']
    found = run(written(tmp_path, "t.jsonl", "\n".join(lines)), SAID)
    assert values(found, "ttft_us") == [None, None]
    assert codes(found) == {"values_unreadable": 1}


def test_integers_beside_floats_keep_their_digits(tmp_path: Path) -> None:
    said = mapping(FIELDS.replace('unit = "s"', 'unit = "ns"', 1), clock='clock = "wall"')
    lines = [
        '{"sent":1795976816303152501,"ttft":1,"ok":true}',
        '{"sent":1795976816303153500.0,"ttft":1,"ok":true}',
        '{"sent":"1795976816303154499","ttft":1,"ok":true}',
    ]
    found = run(written(tmp_path, "t.jsonl", "\n".join(lines)), said)
    assert values(found, "sent_us")[0] == 0
    assert values(found, "sent_us")[2] == 1


def test_batches_of_different_types_are_one_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_BATCH_ROWS", 1)
    cells = ["1", "2.5", '"3"', "null", "4"]
    text = "\n".join(f'{{"sent":{cell},"ttft":1,"ok":true,"g":[]}}' for cell in cells)
    found = run(written(tmp_path, "t.jsonl", text), SAID)
    assert values(found, "sent_us") == [0, 1_500_000, 2_000_000, None, 3_000_000]


def test_events_with_a_time_that_is_none_keep_their_order(tmp_path: Path) -> None:
    said = RUN.replace("[run]", '[format]\nlayout = "events"\nid = "id"\norder = "t"\n[run]')
    fields = '[fields.chunk_gaps_us]\nfrom = "t[]"\nunit = "s"\nas = "offsets"\n'
    path = written(tmp_path, "t.csv", "id,t\n1,10\n1,9\n1,x\n1,100\n")
    with pytest.raises(ImportRefusedError, match="are not a time in s"):
        run(path, mapping(fields + '[fields.outcome]\nvalue = "completed"\n', said))
    path = written(tmp_path, "t.csv", "id,t\n1,10\n1,9\n1,100\n")
    found = run(path, mapping(fields + '[fields.outcome]\nvalue = "completed"\n', said))
    assert values(found, "chunk_gaps_us") == [[1_000_000, 90_000_000]]


ODD: dict[str, Any] = {
    "structs": [[{"a": 1}]],
    "nested": [{"a": {"b": [1]}}],
    "bytes": [b"\xff\xfe"],
    "array": pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
    "duration": [timedelta(1)],
    "date": [date(2020, 1, 1)],
    "time": [time(1, 2)],
    "unsigned": pl.Series([2**63 + 5], dtype=pl.UInt64),
    "decimal": [Decimal("1.5")],
    "category": pl.Series(["x"], dtype=pl.Categorical),
    "flag": [True],
    "nothing": [None],
}


@pytest.mark.parametrize("column", [*ODD, "nested.a.b"])
@pytest.mark.parametrize(
    "target",
    ["reason", "prompt_tokens", "ttft_us", "sent_us", "chunk_gaps_us", "source_success", "outcome"],
)
def test_a_column_of_any_type_is_read_or_refused(tmp_path: Path, column: str, target: str) -> None:
    path = tmp_path / "odd.parquet"
    pl.DataFrame({"usual": [1.0], **ODD}).write_parquet(path)
    unit = 'unit = "ms"\n' if target in TIMES else ""
    meaning = 'otherwise = "failed"\ndefault = "failed"\n' if target == "outcome" else ""
    text = f'[fields.{target}]\nfrom = "{column}"\n{unit}{meaning}'
    if target != "outcome":
        text += '[fields.outcome]\nvalue = "failed"\n'
    if target not in TIMES:
        text += '[fields.ttft_us]\nfrom = "usual"\nunit = "s"\n'
    said = mapping(text)
    refused = refusal(lambda: list(mapped.apply(Source.open(path), said)))
    assert refused is None or refused.code in ("values_unreadable", "negative_values")
    assert mapped.preview(path, said).n_read == 1


def test_a_table_of_odd_columns_can_be_proposed(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    pl.DataFrame({"ttft_ms": [1.0], "n": [1], **ODD}).write_parquet(path)
    assert mapped.propose(path).mapping.field("ttft_us") is not None
