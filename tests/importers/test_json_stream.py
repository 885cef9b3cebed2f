"""Reading JSON as a stream gives what reading it whole gives, wherever the blocks end."""

import io
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.importers.json_stream import DamagedJsonError, JsonStream

SPACE = st.text(" \n\t\r", max_size=3)
TEXTS = st.text(st.sampled_from('"\\[]{},:ab é\u2028😀\n'), max_size=8)
NUMBERS = st.integers(-(2**40), 2**40) | st.floats(allow_nan=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)
AWKWARD = rb'{"a": ["\"],[", "\\", "\\\""], "b": [[1, 2], [], [3]], "]": {"}": [1]}, "\u00e9": ""}'


def read(content: bytes, block_bytes: int) -> Iterator[Any]:
    """Read documents as a stream, lists of objects part by part."""
    stream = JsonStream(io.BytesIO(content), block_bytes)
    while stream.next():
        if not stream.is_object:
            yield stream.value()
            continue
        found: dict[str, Any] = {}
        for key in stream.members():
            if stream.is_list:
                found[key] = [each for part in stream.elements() for each in part]
            else:
                found[key] = stream.value()
        yield found


def fault(content: bytes, block_bytes: int) -> tuple[int, int, str]:
    with pytest.raises(DamagedJsonError) as caught:
        list(read(content, block_bytes))
    return caught.value.document, caught.value.line, caught.value.why


def refusal(text: str) -> str | None:
    """Return why Python's own parser refuses a text, if it does."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.msg
    return None


@given(
    st.lists(OBJECTS, max_size=3),
    st.integers(1, 40),
    st.none() | st.integers(0, 2),
    st.booleans(),
    SPACE,
)
def test_a_stream_reads_what_json_reads(
    documents: list[Any], block_bytes: int, indent: int | None, is_ascii: bool, space: str
) -> None:
    texts = (json.dumps(each, indent=indent, ensure_ascii=is_ascii) for each in documents)
    content = space + space.join(texts) + space
    assert list(read(content.encode(), block_bytes)) == documents


@pytest.mark.parametrize("block_bytes", range(1, len(AWKWARD) + 2))
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_block_may_end_anywhere(block_bytes: int, mark: bytes) -> None:
    content = mark + AWKWARD + b"\n" + AWKWARD
    assert list(read(content, block_bytes)) == [json.loads(AWKWARD)] * 2


@pytest.mark.parametrize("cut", range(1, len(AWKWARD)))
@pytest.mark.parametrize("block_bytes", [1, 7, 1000])
def test_a_document_that_breaks_off_is_told_in_the_words_of_json(
    cut: int, block_bytes: int
) -> None:
    text = AWKWARD[:cut].decode()
    with pytest.raises(json.JSONDecodeError) as expected:
        json.loads(text)
    assert fault(b"{}\n\n" + AWKWARD[:cut], block_bytes) == (2, 3, expected.value.msg)


@given(st.integers(0, len(AWKWARD) - 1), st.sampled_from('"\\[]{},: 1x\n'), st.integers(1, 40))
@example(6, "]", 40)
def test_a_wrong_byte_is_refused_when_json_refuses_it(
    place: int, byte: str, block_bytes: int
) -> None:
    text = AWKWARD.decode()
    text = text[:place] + byte + text[place + 1 :]
    why = refusal(text)
    if why is None:
        assert list(read(text.encode(), block_bytes)) == [json.loads(text)]
    elif why != "Extra data":  # of another document
        assert fault(text.encode(), block_bytes)[2] == why


@pytest.mark.parametrize(
    "content",
    [b'{"a": [1,]}', b'{"a": [,1]}', b'{"a": [1,,2]}', b'{"a": [1}', b'{"a": [[1}, 2]}', b'{"a"]'],
)
def test_lists_that_are_none(content: bytes) -> None:
    for block_bytes in range(1, 12):
        fault(content, block_bytes)


def test_bare_numbers_that_are_none_are_numbers() -> None:
    content = b'{"a": [1, NaN, -Infinity], "b": Infinity}'
    for block_bytes in range(1, 45):
        (found,) = read(content, block_bytes)
        assert math.isnan(found["a"][1])
        assert (found["a"][0], found["a"][2], found["b"]) == (1, -math.inf, math.inf)


def test_half_a_surrogate_is_text() -> None:
    assert list(read(b'{"a": ["\\ud800"]}', 5)) == [{"a": ["\ud800"]}]


def test_what_is_nested_too_deep_is_refused() -> None:
    content = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert fault(content, 1000)[2] == "too large or too deep"


def test_text_that_is_not_utf_8_is_refused_with_its_place() -> None:
    content = b'{"a": "' + "é".encode() * 20 + b'\xff"}'
    for block_bytes in range(1, 60):
        with pytest.raises(UnicodeDecodeError) as caught:
            list(read(content, block_bytes))
        assert caught.value.start == 47
    with pytest.raises(UnicodeDecodeError):
        list(read(b'{"a": "\xc3', 4))


def test_other_documents_are_values() -> None:
    assert list(read(b' [1, [2]] "x" {} ', 3)) == [[1, [2]], "x", {}]
    assert list(read(b"3", 1)) == [3]
    assert list(read(b"  ", 1)) == []
