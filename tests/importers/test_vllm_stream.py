"""A result of vLLM read block by block is what it is when read whole."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import ImportRefusedError
from headway.importers import vllm_files
from headway.importers.gap_lists import GapLists, elapsed, gap_column
from headway.importers.source import Source, as_whole, to_us
from headway.importers.spool import Spool
from headway.importers.vllm_files import Bench

SECONDS = st.floats(0, 1e6) | st.integers(0, 1000)
MAYBE = SECONDS | st.none() | st.just(math.nan)
TEXTS = st.text(st.sampled_from('"\\[]{},: ab é\n'), max_size=12)
COUNTS = st.integers(0, 4000) | st.none() | st.integers(0, 4000).map(str)


@st.composite
def results(draw: st.DrawFn) -> dict[str, Any]:
    n_rows = draw(st.integers(1, 5))

    def rows(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n_rows, max_size=n_rows))

    result = {
        "num_prompts": draw(COUNTS),
        "request_rate": draw(st.sampled_from([4.0, "inf", math.inf])),
        "label": draw(TEXTS),
        "extra_body": {"stop": draw(st.lists(TEXTS, max_size=2))},
        "input_lens": rows(COUNTS),
        "output_lens": rows(COUNTS),
        "ttfts": rows(MAYBE),
        "itls": rows(st.lists(SECONDS, max_size=5)),
        "generated_texts": rows(TEXTS),
        "nested": draw(st.lists(st.lists(TEXTS | st.dictionaries(TEXTS, MAYBE), max_size=3))),
    }
    if draw(st.booleans()):
        result["errors"] = rows(TEXTS)
    if draw(st.booleans()):
        result |= {name: rows(MAYBE) for name in ("latencies", "start_times", "queue_times")}
    return {key: result[key] for key in draw(st.permutations(list(result)))}


def known(values: list[Any] | None) -> list[Any] | None:
    """Return numbers, None where one is not a number."""
    if values is None:
        return None
    return [None if value is None or math.isnan(value) else float(value) for value in values]


def assert_is_the_result(bench: Bench, text: str) -> None:
    """Compare with the same text read whole, by Python's own parser."""
    value = json.loads(text)
    assert bench.scalars == {key: each for key, each in value.items() if type(each) is not list}
    assert bench.input_lens == [as_whole(each) for each in value["input_lens"]]
    assert bench.output_lens == [as_whole(each) for each in value["output_lens"]]
    times = (bench.ttfts, bench.latencies, bench.start_times, bench.queue_times)
    names = ("ttfts", "latencies", "start_times", "queue_times")
    assert list(times) == [known(value.get(name)) for name in names]
    lasts = [each.strip().splitlines() for each in value.get("errors", [""] * bench.n_rows)]
    assert bench.errors == [lines[-1].strip() if lines else "" for lines in lasts]
    gaps, counts = bench.itls.rows(0, bench.n_rows)
    assert counts.tolist() == [len(each) for each in value["itls"]]
    assert gaps.tolist() == [gap for each in value["itls"] for gap in each]


@given(
    st.lists(results(), min_size=1, max_size=2),
    st.integers(1, 300),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_blocks_make_no_difference(
    tmp_path_factory: pytest.TempPathFactory,
    found: list[dict[str, Any]],
    block_bytes: int,
    indent: int | None,
    is_ascii: bool,
) -> None:
    texts = [json.dumps(each, indent=indent, ensure_ascii=is_ascii) for each in found]
    path = tmp_path_factory.mktemp("stream") / "result.json"
    path.write_text("\n".join(texts), "utf-8")
    benches = list(vllm_files.read(Source.open(path), block_bytes))
    assert len(benches) == len(texts)
    for bench, text in zip(benches, texts, strict=True):
        assert_is_the_result(bench, text)


def test_a_result_that_breaks_off_is_refused_with_its_place(fixtures: Path, tmp_path: Path) -> None:
    whole = (fixtures / "vllm" / "rate4-burst0.1" / "result.json").read_bytes()
    path = tmp_path / "result.json"
    for cut in (len(whole) // 3, len(whole) - 2):
        path.write_bytes(whole + b"\n\n" + whole[:cut])
        with pytest.raises(ImportRefusedError, match="object 2, which starts on line 3") as refusal:
            list(vllm_files.read(Source.open(path), 4096))
        assert refusal.value.code == "damaged"


def test_a_result_that_is_still_being_written_is_refused(fixtures: Path, tmp_path: Path) -> None:
    whole = (fixtures / "vllm" / "rate4-burst0.1" / "result.json").read_bytes()
    path = tmp_path / "result.json"
    path.write_bytes(whole)
    source = Source.open(path)
    for content in (whole + whole, whole[:1000], whole.replace(b"vllm", b"vLLM")):
        path.write_bytes(content)
        with pytest.raises(ImportRefusedError, match="import it again") as refusal:
            list(vllm_files.read(source))
        assert refusal.value.code == "changed"


def test_how_far_a_result_is_read_is_told(fixtures: Path) -> None:
    shares: list[float] = []
    path = fixtures / "vllm" / "rate4-burst0.1" / "result.json"
    list(vllm_files.read(Source.open(path, watch=shares.append)))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    "wrong", [None, "12", 1.5, {"a": 1}, [None], [[1.0]], [-1.0], [1e300], [{}], [1.0, [2]]]
)
def test_the_first_row_that_is_no_list_of_seconds_is_remembered(wrong: Any) -> None:
    gaps = GapLists()
    gaps.add([[1.0], [2, True, "0.5"]])
    gaps.add([[], [3.0], wrong, [4.0], wrong])
    gaps.add([[5.0], wrong])
    assert (gaps.wrong, len(gaps)) == (4, 9)
    assert gaps.rows(0, 4)[0].tolist() == [1.0, 2.0, 1.0, 0.5, 3.0]


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.lists(st.floats(0, 1e3), max_size=6), st.booleans()),
        max_size=6,
    )
)
def test_gaps_of_many_rows_are_those_of_each(rows: list[tuple[float, list[float], bool]]) -> None:
    seen = np.array([is_seen for _, _, is_seen in rows], np.bool_)
    shown = [(origin, gaps) for origin, gaps, is_seen in rows if is_seen]
    counts = np.array([len(gaps) for _, gaps in shown], np.int64)
    flat = np.array([gap for _, gaps in shown for gap in gaps], np.float64)
    sums, starts = elapsed(flat, counts)
    instants = to_us(np.repeat([origin for origin, _ in shown], counts + 1) + sums)
    each = iter(
        np.diff(to_us(origin + np.concatenate([[0.0], np.cumsum(gaps)]))).tolist()
        for origin, gaps in shown
    )
    expected = [next(each) if is_seen else None for is_seen in seen]
    assert gap_column(instants, starts, seen).to_pylist() == expected


def test_a_spool_gives_back_what_it_took_from_memory_and_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    frames = []
    for limit in (1, 1 << 30):
        spool = Spool(limit)
        spool.add({"request_index": 0})
        for start in (1, 3):
            spool.extend({"request_index": [start, start + 1], "chunk_gaps_us": [[1, 2], None]})
        assert list(tmp_path.iterdir()) == []  # a file without a name cannot be left behind
        frames.append(pl.DataFrame(pl.from_arrow(spool.table())))
    assert frames[0].equals(frames[1])
    assert frames[0]["request_index"].to_list() == [0, 1, 2, 3, 4]
    assert frames[0]["n_chunks"].to_list() == [None, 3, None, 3, None]
