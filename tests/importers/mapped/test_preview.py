"""Previews: the first rows, what becomes of them, and what is wrong; nothing is raised."""

from pathlib import Path

from foreign import RUN, mapping, written
from headway.importers import mapped

TABLE = "policy,sent,ttft,status\na,10,0.5,ok\na,11,x,ok\nb,12.5,-1,odd\n"
FIELDS = """
[fields.sent_us]
from = "sent"
unit = "s"
[fields.ttft_us]
from = "ttft"
unit = "s"
[fields.outcome]
from = "status"
values = { ok = "completed" }
"""


def test_rows_and_what_becomes_of_them(tmp_path: Path) -> None:
    said = mapping(FIELDS, RUN.replace("[run]", 'split_by = ["policy"]\n[run]'))
    seen = mapped.preview(written(tmp_path, "t.csv", TABLE), said, n=2)
    by_target = {field.target: field for field in seen.fields}
    assert seen.row_numbers == (1, 2)
    assert seen.n_read == 3
    assert not seen.is_sample
    assert by_target["sent_us"].found == (("10", "11"),)
    assert by_target["sent_us"].becomes == (0, 1_000_000)
    assert by_target["ttft_us"].becomes == (500_000, None)
    assert by_target["outcome"].becomes == ("completed", "completed")
    assert [(run.split, run.n_rows) for run in seen.runs] == [
        ((("policy", "a"),), 2),
        ((("policy", "b"),), 1),
    ]
    codes = {problem.code: problem.refuses for problem in seen.problems}
    assert codes == {"unknown_status": True, "negative_values": True, "values_unreadable": False}
    assert seen.problems[-1].code == "values_unreadable"
    assert [problem.code for problem in by_target["outcome"].problems] == ["unknown_status"]
    assert not seen.is_usable


def test_a_draft_shows_what_it_can(tmp_path: Path) -> None:
    bare = (
        'headway_mapping = 1\n[fields.sent_us]\nfrom = "sent"\n[fields.request_id]\nfrom = "policy"'
    )
    seen = mapped.preview(written(tmp_path, "t.csv", TABLE), mapped.loads(bare))
    assert [field.target for field in seen.fields] == ["request_id"]
    assert {"boundary", "fields.sent_us.unit", "fields.outcome"} <= {
        question.key for question in seen.questions
    }


def test_a_sample_says_so(tmp_path: Path) -> None:
    seen = mapped.preview(written(tmp_path, "t.csv", TABLE), mapping(FIELDS), limit=2)
    assert (seen.n_read, seen.is_sample) == (2, True)


def test_what_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    seen = mapped.preview(written(tmp_path, "t.csv", "a,b\n1,2\n"), mapping(FIELDS))
    assert seen.fields == ()
    assert [problem.code for problem in seen.problems] == ["missing_column"]
    assert mapped.preview(tmp_path / "none.csv", mapping(FIELDS)).problems[0].code == "unreadable"
