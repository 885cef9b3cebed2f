"""Reading a source once, naming its runs, and refusing it in plain words."""

import gzip
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import ImportRefusedError
from headway.importers import packed
from headway.importers import source as sources
from headway.importers.source import Source, as_number, as_text, as_whole, columns, dig, to_us


def write(folder: Path, content: bytes) -> Path:
    path = folder / "result.json"
    path.write_bytes(content)
    return path


def test_a_run_is_named_after_bytes_and_place(tmp_path: Path) -> None:
    first = Source.open(write(tmp_path, b"{}"), "a/result.json")
    again = Source.open(write(tmp_path, b"{}"), "b/result.json")
    other = Source.open(write(tmp_path, b"{ }"))
    assert first.run_id(0) == again.run_id(0)
    assert len({first.run_id(0), first.run_id(1), other.run_id(0)}) == 3
    # sha256("headway-run-v1\n" + sha256("{}") + "\n0"): the id must never change.
    assert first.run_id(0) == "rf29e5c4c8d83"


@pytest.mark.parametrize("content", [b"", b" \n"])
def test_nothing_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match="is empty") as refusal:
        Source.open(write(tmp_path, content))
    assert refusal.value.code == "empty"


def test_a_folder_cannot_be_read_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match="cannot be read") as refusal:
        Source.open(tmp_path)
    assert refusal.value.code == "unreadable"


def test_text_is_utf_8_with_or_without_a_mark(tmp_path: Path) -> None:
    assert Source.open(write(tmp_path, "\ufeffé".encode())).text() == "é"
    assert Source.open(write(tmp_path, gzip.compress("é".encode()))).text() == "é"
    with pytest.raises(ImportRefusedError, match="byte 0") as refusal:
        Source.open(write(tmp_path, "é".encode("latin-1"))).text()
    assert refusal.value.code == "not_utf8"


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("end", [5, 12, -1])
def test_a_cut_compressed_file_is_damaged(codec: str, end: int, tmp_path: Path) -> None:
    packed = PACKED[codec](b"some text\n" * 100)
    source = Source.open(write(tmp_path, packed[:end]))
    for read in (source.text, lambda: list(source.lines())):
        with pytest.raises(ImportRefusedError, match=codec) as refusal:
            read()
        assert refusal.value.code == "damaged"


@pytest.mark.parametrize("pack", [bytes, *PACKED.values()])
def test_lines_are_numbered_and_blank_ones_left_out(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    content = b"\xef\xbb\xbffirst\r\n\n  \nfourth"
    found = list(Source.open(write(tmp_path, pack(content))).lines())
    assert [(number, line.strip()) for number, line in found] == [(1, b"first"), (4, b"fourth")]


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path) -> None:
    source = Source.open(write(tmp_path, b"a\nb\n"))
    source.path.write_bytes(b"a\nb\nc\n")
    for read in (source.text, lambda: list(source.lines())):
        with pytest.raises(ImportRefusedError, match="import it again") as refusal:
            read()
        assert refusal.value.code == "changed"


def test_looking_at_a_file_never_fails(tmp_path: Path) -> None:
    assert sources.head(tmp_path) == sources.tail(tmp_path) == b""
    assert sources.head(write(tmp_path, b"\x1f\x8bno gzip")) == b""
    path = write(tmp_path, gzip.compress(b"x" * 100_000))
    assert sources.head(path) == b"x" * sources.SNIFF_BYTES


@pytest.mark.parametrize(
    ("value", "number", "whole"),
    [
        (3, 3.0, 3),
        ("3", 3.0, 3),
        (" 2.5 ", 2.5, None),
        (2.0, 2.0, 2),
        (True, None, None),
        (None, None, None),
        ("many", None, None),
        (math.inf, None, None),
        ("nan", None, None),
        (10**400, None, None),
        (2**31, 2.0**31, None),
        ([3], None, None),
    ],
)
def test_numbers_are_numbers_or_nothing(
    value: object, number: float | None, whole: int | None
) -> None:
    assert as_number(value) == number
    assert as_whole(value) == whole


def test_text_and_nested_values() -> None:
    assert [as_text(value) for value in (" a ", "", " ", 3, None)] == ["a"] + [None] * 4
    assert dig({"a": {"b": 1}}, "a", "b") == 1
    assert dig({"a": 3}, "a", "b") is None
    assert dig(None, "a") is None


def test_rows_become_columns() -> None:
    assert columns([{"a": 1}, {"b": 2}]) == {"a": [1, None], "b": [None, 2]}


@given(
    st.floats(0, 1e6),
    st.floats(0, 1e4),
    st.lists(st.floats(0, 1e3), max_size=50),
)
def test_rounded_instants_keep_their_sums(
    sent_s: float, ttft_s: float, gaps_s: list[float]
) -> None:
    instants_s = sent_s + ttft_s + np.concatenate([[0.0], np.cumsum(gaps_s)])
    sent_us, instants = to_us(sent_s), to_us(instants_s)
    ttft_us, gaps_us = instants[0] - sent_us, np.diff(instants)
    assert ttft_us + gaps_us.sum() == instants[-1] - sent_us
    assert ttft_us >= 0
    assert (gaps_us >= 0).all()
    assert abs(ttft_us - ttft_s * 1e6) <= 1.5


@pytest.mark.parametrize("codec", PACKED)
def test_what_unpacks_without_end_is_refused(
    codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MOST_TEXT_BYTES", 1000)
    Source.open(write(tmp_path, PACKED[codec](b"x" * 1000))).text()
    with pytest.raises(ImportRefusedError, match="unpacks to more than") as refusal:
        Source.open(write(tmp_path, PACKED[codec](b"x" * 1001))).text()
    assert refusal.value.code == "too_long"
