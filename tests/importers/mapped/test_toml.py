"""A mapping as a file: read strictly, written so that it reads back the same."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign import RUN
from headway.errors import MisuseError
from headway.importers import mapped
from headway.importers.mapped import saved
from headway.importers.mapped.mapping import (
    COUNTS,
    DURATIONS,
    TEXTS,
    Epoch,
    Fact,
    Field,
    Format,
    Kind,
    Layout,
    Mapping,
    Unit,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
SCALARS = st.one_of(TEXT, st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.booleans())
PAIRS = st.dictionaries(TEXT, TEXT, max_size=3).map(lambda pairs: tuple(pairs.items()))
TIMES = st.builds(
    Field,
    target=st.sampled_from(DURATIONS),
    source=st.lists(TEXT, min_size=1, max_size=3).map(tuple),
    unit=st.none() | st.sampled_from(Unit),
    kind=st.none() | st.just(Kind.DURATION),
    epoch=st.none() | st.sampled_from(Epoch),
    minus=st.none() | TEXT,
    default=st.none() | SCALARS,
    unknown=st.lists(SCALARS, max_size=3).map(tuple),
    optional=st.booleans(),
)
OTHERS = st.builds(
    Field,
    target=st.sampled_from([*COUNTS, *TEXTS]),
    value=SCALARS,
    values=PAIRS,
    otherwise=st.none() | TEXT,
)
FACTS = st.one_of(
    st.builds(
        Fact,
        key=st.sampled_from(["policy", "load.declared_rps", "manifest.model", "label"]),
        source=TEXT,
        values=PAIRS,
        unknown=st.lists(SCALARS, max_size=2).map(tuple),
        optional=st.booleans(),
    ),
    st.builds(
        Fact, key=st.sampled_from(["study", "manifest.dataset", "load.arrivals"]), value=TEXT
    ),
)
FORMATS = st.builds(
    Format,
    delimiter=st.sampled_from([",", ";", "\t"]),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(["utf-8", "utf-16"]),
    table=st.none() | TEXT,
    rows=st.lists(TEXT, max_size=2).map(tuple),
    layout=st.sampled_from([Layout.ROWS, Layout.ARRAYS]),
    only=st.dictionaries(TEXT, st.lists(TEXT, min_size=1).map(tuple), max_size=2).map(
        lambda only: tuple(only.items())
    ),
)
MAPPINGS = st.builds(
    Mapping,
    name=TEXT,
    made_for=st.lists(TEXT, max_size=3).map(tuple),
    format=FORMATS,
    facts=st.lists(FACTS, unique_by=lambda fact: fact.key).map(tuple),
    split_by=st.lists(TEXT, max_size=2).map(tuple),
    fields=st.lists(TIMES | OTHERS, unique_by=lambda field: field.target).map(tuple),
    tolerate=st.lists(st.sampled_from(["negative", "duplicates"]), unique=True).map(tuple),
)


@given(MAPPINGS)
def test_a_mapping_reads_back_the_same(mapping: Mapping) -> None:
    assert mapped.loads(mapped.dumps(mapping, ["a comment\nof two lines"])) == mapping


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name = 'x'", "expected headway_mapping = 1 as its first line"),
        ("headway_mapping = 2", "headway_mapping = 2"),
        ("headway_mapping = true", "headway_mapping = True"),
        ("headway_mapping = 1\nnmae = 'x'", "unknown keys nmae"),
        ("headway_mapping = ", "expected a TOML file"),
        (RUN + "[fields.ttft]\nfrom = 'a'", "'ttft'; expected one of scheduled_us"),
        (RUN + "[fields.ttft_us]\nfrom = 'a'\nunits = 's'", "unknown keys units"),
        (RUN + "[fields.ttft_us]\nfrom = 'a'\nunit = 'sec'", "expected one of s, ms, us, ns"),
        (RUN + "[fields.ttft_us]\nunit = 's'", "expected `from` or `value`, one of them"),
        (RUN + "[fields.ttft_us]\nfrom = 'a'\nvalue = 1", "expected `from` or `value`"),
        (RUN + "[fields.ttft_us]\nfrom = 'a'\nas = 'gaps'", "expected one of duration, instant"),
        (RUN + "[fields.output_tokens]\nfrom = 'a'\nunit = 's'", "unit = 's' of no time"),
        (RUN + "[fields.outcome]\nfrom = 'a'\notherwise = 'ok'", "'ok'; expected one of completed"),
        (RUN + "[fields.outcome]\nfrom = 'a'\nvalues = { x = 'bad' }", "'bad'; expected one of"),
        (RUN + "polcy = 'x'", "[run]: 'polcy'; expected one of boundary"),
        (RUN.replace('"client"', '"laptop"'), "'laptop'; expected one of client, gateway"),
        (RUN + "[format]\nlayout = 'events'", "needs id"),
        (RUN + "[format]\ndelimiter = ';;'", "expected one character"),
        (RUN + "[format]\nencoding = 'latin'", "expected one of utf-8, utf-16, cp1252"),
        ("tolerate = ['all']\n" + RUN, "expected one of negative, first_after_end, duplicates"),
        (
            RUN
            + "[fields.sent_us]\nfrom = 'a'\nunit = 's'\nepoch = 'unix'\n"
            + "[fields.ttft_us]\nfrom = 'b'\nunit = 's'\nas = 'instant'",
            "count from another epoch than those of sent_us",
        ),
    ],
)
def test_what_no_mapping_can_say_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(MisuseError) as caught:
        mapped.loads(text)
    assert complaint in str(caught.value)


def test_saved_mappings_are_listed_and_found(tmp_path: Path) -> None:
    mine = mapped.loads(RUN)
    path = mapped.save(mine, tmp_path)
    assert path == tmp_path / ".mappings" / "house bench.toml"
    assert mapped.find("house bench", tmp_path) == mine
    assert mapped.find(str(path), None) == mine
    (tmp_path / ".mappings" / "odd.toml").write_text("x = 1", encoding="utf-8")
    listed, broken = mapped.listed(tmp_path)
    assert listed[0] == saved.Saved(mine, str(path))
    assert {each.origin for each in listed[1:]} <= {"built-in"}
    assert [each.path.name for each in broken] == ["odd.toml"]
    with pytest.raises(MisuseError, match="there is no mapping 'nosuch'"):
        mapped.find("nosuch", tmp_path)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "x.", " x"])
def test_a_mapping_is_saved_in_its_folder_only(tmp_path: Path, name: str) -> None:
    with pytest.raises(MisuseError, match="cannot be saved under its name"):
        mapped.save(Mapping(name), tmp_path)
    assert list(tmp_path.iterdir()) == []
