"""`headway mapping`: propose, check and list."""

from pathlib import Path

import pytest

from commands import document, headway
from foreign import RUN, mapping, written
from headway.importers import mapped

TABLE = "sent,ttft_ms,ok\n0,20,true\n1,30,false\n"
FIELDS = """
[fields.sent_us]
from = "sent"
unit = "s"
[fields.ttft_us]
from = "ttft_ms"
unit = "ms"
[fields.outcome]
from = "ok"
values = { true = "completed", false = "failed" }
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path, "t.csv", TABLE)


def test_propose_writes_a_draft_that_asks(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.toml"
    result = headway("mapping", "propose", table, "-o", out)
    assert "time_to_first_token" not in result.stdout
    assert "its name says ms" in result.stdout
    assert "open: boundary: where did the clock stand" in result.stderr
    text = out.read_text(encoding="utf-8")
    assert "# to be said: boundary: " in text
    assert mapped.loads(text) == mapped.propose(table).mapping
    again = headway("mapping", "propose", table, "-o", out, exit_code=2)
    assert "name a file that is not there yet" in again.stderr


def test_propose_prints_the_mapping_alone_on_stdout(table: Path) -> None:
    result = headway("mapping", "propose", table)
    assert mapped.loads(result.stdout, "t") == mapped.propose(table).mapping
    said = document("mapping", "propose", table)
    assert set(said) == {"mapping", "known", "lines", "questions"}
    assert {"key", "columns", "confidence", "reason"} == set(said["lines"][0])
    assert {"key", "text", "choices"} == set(said["questions"][0])


def test_a_proposal_becomes_an_import_once_its_questions_are_answered(
    table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m.toml"
    headway("mapping", "propose", table, "-o", out)
    library = tmp_path / "library"
    headway("import", table, "--mapping", out, "--library", library, exit_code=2)
    answers = RUN.split("[run]\n")[1]
    text = out.read_text(encoding="utf-8").replace('from = "sent"', 'from = "sent"\nunit = "s"')
    out.write_text(text.replace("\n[fields", f"\n[run]\n{answers}\n[fields", 1), encoding="utf-8")
    said = document("import", table, "--mapping", out, "--library", library)
    assert said["imported"][0]["outcomes"]["failed"] == 1


def test_check_shows_what_becomes_of_rows(table: Path, tmp_path: Path) -> None:
    path = written(tmp_path, "m.toml", mapped.dumps(mapping(FIELDS)))
    result = headway("mapping", "check", path, table)
    assert "30000" in result.stdout
    assert "run 0: 2 requests" in result.stdout
    said = document("mapping", "check", path, table)
    assert set(said) == {"n_read", "rows", "fields", "runs", "problems", "questions"}
    assert {"field", "from", "found", "becomes", "n_known"} == set(said["fields"][0])
    assert said["runs"] == [{"place": 0, "split": {}, "n_rows": 2}]


def test_check_ends_as_an_import_would(table: Path, tmp_path: Path) -> None:
    wrong = mapping(FIELDS.replace("false = ", "no = "))
    path = written(tmp_path, "m.toml", mapped.dumps(wrong))
    result = headway("mapping", "check", path, table, exit_code=1)
    assert "refused: outcome: 1 rows have a value of ok" in result.stderr
    draft = written(tmp_path, "d.toml", "headway_mapping = 1\n" + FIELDS)
    assert "open: boundary" in headway("mapping", "check", draft, table, exit_code=2).stderr
    assert headway("mapping", "check", "nosuch", table, exit_code=2)
    # Duplicates only show when rows become runs.
    ids = mapping(FIELDS + '[fields.request_id]\nfrom = "sent"\n')
    twice = written(tmp_path, "twice.csv", TABLE + "1,30,true\n")
    path = written(tmp_path, "i.toml", mapped.dumps(ids))
    assert "repeat the request_id" in headway("mapping", "check", path, twice, exit_code=1).stderr


def test_list_shows_where_each_mapping_is_from(tmp_path: Path) -> None:
    mapped.save(mapping(FIELDS), tmp_path)
    written(tmp_path / ".mappings", "odd.toml", "x")
    said = document("mapping", "list", "--library", tmp_path)
    assert {"name", "kind", "origin", "made_for"} == set(said[0])
    assert said[0]["name"] == "house bench"
    shown = headway("mapping", "list", "--library", tmp_path)
    assert "house bench" in shown.stdout
    assert "skipped odd.toml" in shown.stderr
