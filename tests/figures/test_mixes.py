"""What the picture of two mixes is made of, and what its sentence says."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.analyses import trace_mix
from headway.analyses.trace_mix import Quantity, TraceMix
from headway.figures import mixes, theme
from headway.model import Selection
from libraries import make_run, offered, open_runs

TRACE = """{"timestamp": 0, "input_length": 90, "output_length": 10, "hash_ids": [1, 2]}
{"timestamp": 0, "input_length": 120, "output_length": 20, "hash_ids": [1, 3]}
{"timestamp": 900, "input_length": 100, "output_length": 5, "hash_ids": [4]}
"""
WITHOUT_TIMES = '[{"prompt_len": 1200, "expected_output_len": 3}]'


def mixed(folder: Path, text: str = TRACE) -> TraceMix:
    opened = open_runs(folder, make_run(offered(20, 20)))
    (folder / "study" / "trace").write_text(text, encoding="utf-8")
    study = replace(opened.studies["study"], trace="trace")
    attached = trace_mix.attached(opened, study)
    assert attached is not None
    found = trace_mix.compare(opened, Selection(("r0",)), attached)
    assert isinstance(found, TraceMix)
    return found


def specifications(mix: TraceMix) -> list[dict[str, Any]]:
    return [
        mixes.panel(mix, quantity, theme.LIGHT_LOOK).to_dict() for quantity in mixes.quantities(mix)
    ]


def test_every_point_of_both_sides_is_drawn(tmp_path: Path) -> None:
    mix = mixed(tmp_path)
    rows = []
    for panel, quantity in zip(specifications(mix), Quantity, strict=True):
        (drawn,) = panel["datasets"].values()
        assert {row["quantity"] for row in drawn} == {quantity.value}
        assert {row["side"] for row in drawn} == {"study", "trace"}
        assert "transform" not in panel
        assert "clip" not in panel["mark"]
        rows += drawn
    assert len(rows) == len(mix.points)
    assert all(row["drawn"] > 0 for row in rows)


def test_the_axes_and_sides_are_named(tmp_path: Path) -> None:
    encodings = [panel["encoding"] for panel in specifications(mixed(tmp_path))]
    assert [encoding["x"]["title"] for encoding in encodings] == [
        "prompt tokens (log scale)",
        "output tokens (log scale)",
        "time between arrivals ÷ its mean (log scale)",
    ]
    for encoding in encodings:
        assert encoding["x"]["scale"]["type"] == "log"
        assert encoding["y"]["title"] == "share of requests at most"
        assert encoding["color"]["scale"] == {
            "domain": ["study", "trace"],
            "range": list(theme.LIGHT[:2]),
        }
        assert encoding["strokeDash"]["scale"]["range"] == [[1, 0], [7, 4]]


def test_a_quantity_that_one_side_lacks_keeps_its_panel(tmp_path: Path) -> None:
    mix = mixed(tmp_path, WITHOUT_TIMES)
    assert len(specifications(mix)) == 3
    alone = replace(mix, compared=(*mix.compared[:2], replace(mix.compared[2], study=None)))
    assert len(specifications(alone)) == 2


def test_the_sentence_says_both_sides(tmp_path: Path) -> None:
    said = mixes.sentence(mixed(tmp_path))
    assert said.startswith("Of the trace's 3 requests (Mooncake), the median prompt is 100 tokens")
    assert "the study's 103 (p90 120 against 105" in said
    assert "the median output is 10 tokens, the study's 10" in said
    assert "between arrivals is 1.41 (most of them are 0: its clock is coarse), the stu" in said
    assert "33.3% of its prompts are longer than any in the study" in said
    assert said.endswith("20% of its prompt blocks repeat an earlier prefix.")


@pytest.mark.parametrize(
    ("quantity", "words"),
    [
        (Quantity.PROMPT, "the median prompt is 1,200 tokens (p90 1,200, spread not recorded)"),
        (Quantity.OUTPUT, "the median output is 3 tokens (p90 3, spread not recorded), the st"),
    ],
)
def test_what_a_side_lacks_is_said(tmp_path: Path, quantity: Quantity, words: str) -> None:
    mix = mixed(tmp_path, WITHOUT_TIMES)
    unknown = [
        replace(each, study=None if each.quantity is quantity else each.study)
        for each in mix.compared
    ]
    said = mixes.sentence(replace(mix, compared=tuple(unknown), n_beyond=None))
    assert words in said
    assert "its arrivals are not recorded or at one instant" in said
    assert "longer than any" not in said
