"""A trace is told by its header or keys, and whatever else is refused in one sentence."""

import gzip
from pathlib import Path

import pytest

from headway.errors import ImportRefusedError
from headway.importers import traces

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens\r
2023-11-16 18:15:46.6805900,374,44\r
2023-11-16 18:15:50.9951690,396,109\r
"""
AZURE_ZONED = """TIMESTAMP,NumImages,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,0,2162,5
2024-05-10 00:00:01+00:00,1,2399,6
"""
BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,0,1087,API log
"""
VIDUR = """num_prefill_tokens,arrived_at,num_decode_tokens
401,0.0,94
394,1.025203348294905,93
"""
MOONCAKE = """{"timestamp": 1000, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}

{"timestamp": 4000.5, "input_length": 7322, "output_length": 490, "hash_ids": [0, 1, 9]}
"""
WORKLOAD = """[
  {"i": 0, "request_id": "a", "prompt_len": 278, "expected_output_len": 76},
  {"i": 1, "request_id": "b", "prompt_len": 216, "expected_output_len": 55}
]"""

SHAPES = [
    ("Azure", AZURE, [(0.0, 374, 44), (4.314579, 396, 109)]),
    ("Azure", AZURE_ZONED, [(0.0, 2162, 5), (0.99007, 2399, 6)]),
    ("BurstGPT", BURSTGPT, [(0.0, 472, 18), (40.0, 1087, None)]),
    ("Vidur", VIDUR, [(0.0, 401, 94), (1.025203348294905, 394, 93)]),
    ("Mooncake", MOONCAKE, [(0.0, 6758, 500), (3.0005, 7322, 490)]),
    ("vLLM workload.json", WORKLOAD, [(None, 278, 76), (None, 216, 55)]),
]


def read(folder: Path, text: str | bytes, name: str = "a.trace") -> traces.Trace:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return traces.read(path)


def refusal(folder: Path, text: str | bytes) -> tuple[str, str]:
    with pytest.raises(ImportRefusedError) as caught:
        read(folder, text)
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("shape", "text", "expected"), SHAPES)
def test_a_shape_is_told_by_what_it_holds(
    tmp_path: Path,
    shape: str,
    text: str,
    expected: list[tuple[float | None, int, int | None]],
    packed: bool,
) -> None:
    found = read(tmp_path, gzip.compress(text.encode()) if packed else text)
    assert found.shape == shape
    assert found.rows.columns == ["arrival_s", "prompt_tokens", "output_tokens"]
    for row, wanted in zip(found.rows.rows(), expected, strict=True):
        assert row == pytest.approx(wanted, abs=1e-9)


def test_every_shape_is_tested() -> None:
    assert {shape for shape, _, _ in SHAPES} == set(traces.SHAPES)


def test_arrivals_count_from_the_first_in_time(tmp_path: Path) -> None:
    text = "arrived_at,num_prefill_tokens,num_decode_tokens\n7,1,1\n5,1,1\n"
    assert read(tmp_path, text).rows["arrival_s"].to_list() == [2.0, 0.0]


def test_blocks_seen_before_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, MOONCAKE)
    assert (found.n_blocks, found.n_blocks_seen) == (6, 2)
    without = read(tmp_path, MOONCAKE.replace(', "hash_ids": [0, 1, 9]', ""))
    assert (without.n_blocks, without.n_blocks_seen) == (None, None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0,0,0,,0,0\n600,0,0,,0,0\n", "read as CSV it has 0, 0, 0, , 0, 0"),
        ("TIMESTAMP,ContextTokens\n2023-11-16 18:15:46,5\n", "has TIMESTAMP, ContextTokens"),
        ('{"timestamp": 0, "input_length": 5}\n', "read as JSONL it has timestamp, input_length"),
        ('[{"prompt_len": 5}]', "read as JSON list it has prompt_len"),
        ('{\n  "0": {"input_tokens": "{}"}\n}\n', "line 1 is not a JSON object"),
        ("[1, 2]", "entry 1 is not a JSON object"),
    ],
)
def test_another_shape_is_refused_with_those_known(tmp_path: Path, text: str, found: str) -> None:
    code, message = refusal(tmp_path, text)
    assert code == "foreign"
    assert found in message
    assert [shape for shape in traces.SHAPES if f"{shape} (" not in message] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (AZURE.replace(",396,", ",many,"), "request 2: ContextTokens is 'many'; expected a number"),
        (AZURE.replace(",396,", ",,"), "request 2: ContextTokens is missing"),
        (AZURE.replace(",44", ",-1"), "request 1: GeneratedTokens is '-1'"),
        (AZURE.replace("2023-11-16 18:15:46", "yesterday"), "expected a time in date and time"),
        (VIDUR.replace("94", "94.5"), "num_decode_tokens is '94.5'"),
        (VIDUR.replace("0.0", "inf"), "expected a time in seconds"),
        (MOONCAKE.replace("7322", '"long"'), "request 2: input_length is missing or no number"),
        (MOONCAKE + '{"timestamp": 5', "line 4 is not a JSON object"),
        (WORKLOAD[:-2], "no whole JSON list"),
    ],
)
def test_a_value_that_is_none_is_named(tmp_path: Path, text: str, found: str) -> None:
    code, message = refusal(tmp_path, text)
    assert code == "damaged"
    assert found in message


def test_a_row_of_other_width_is_refused(tmp_path: Path) -> None:
    code, message = refusal(tmp_path, AZURE + "2023-11-16 18:15:52,1,2,3,4\r\n")
    assert code == "damaged"
    assert "copy it again, whole" in message


@pytest.mark.parametrize("text", ["", "[]", AZURE.split("\n")[0] + "\n"])
def test_a_trace_without_requests_is_empty(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text)[0] == "empty"


@pytest.mark.parametrize("text", [text for _, text, _ in SHAPES])
def test_too_many_rows_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(traces, "MAX_ROWS", 2)
    assert read(tmp_path, text).rows.height == 2
    monkeypatch.setattr(traces, "MAX_ROWS", 1)
    code, message = refusal(tmp_path, text)
    assert code == "too_long"
    assert "more than 1 rows" in message
