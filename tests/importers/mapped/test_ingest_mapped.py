"""Tables through `headway import --mapping`: identity, replacement, advice where nothing fits."""

from pathlib import Path

import polars as pl
import pytest

from commands import document, headway
from foreign import RUN, mapping, written
from headway import ingest, record
from headway.importers import mapped
from headway.ingest import Settings

TABLE = "policy,ttft,sent\nfcfs,0.5,0\nfcfs,0.7,1\nsjf,0.2,5\n"
FIELDS = """
[fields.sent_us]
from = "sent"
unit = "s"
[fields.ttft_us]
from = "ttft"
unit = "s"
[fields.outcome]
value = "completed"
"""
SPLIT = RUN.replace("[run]", 'made_for = ["policy", "ttft", "sent"]\nsplit_by = ["policy"]\n[run]')


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path, "table.csv", TABLE)


@pytest.fixture
def said() -> mapped.Mapping:
    return mapping('policy = { from = "policy" }\nstudy = "night"\n' + FIELDS, SPLIT)


def ids(library: Path) -> set[str]:
    return {path.stem for path in library.glob("*/*.parquet")}


def test_a_table_gets_into_the_library(table: Path, said: mapped.Mapping, tmp_path: Path) -> None:
    library = tmp_path / "library"
    report = ingest.import_paths([table], library, mapping=said)
    assert [(i.info.study, i.info.policy, i.info.n_offered) for i in report.imported] == [
        ("night", "fcfs", 2),
        ("night", "sjf", 1),
    ]
    (info, _) = (record.read_info(path) for path in sorted(library.glob("night/*.parquet")))
    assert info.mapping == "house bench"
    assert info.mapping_sha256 is not None
    assert len(info.mapping_sha256) == 64
    stated = ingest.import_paths([table], library, Settings(study="other"), mapping=said)
    assert {i.info.study for i in stated.imported} == {"other"}
    assert list(library.glob("night/*")) == []


def test_another_mapping_replaces_the_runs_and_says_what_changed(
    table: Path, said: mapped.Mapping, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    before = ingest.import_paths([table], library, mapping=said)
    assert len(ids(library)) == 2
    again = ingest.import_paths([table], library, mapping=said)
    assert [i.changes for i in again.imported] == [(), ()]
    whole = mapping("study = 'night'\n" + FIELDS)
    (only,) = ingest.import_paths([table], library, mapping=whole).imported
    assert only.replaced
    assert {"mapping_sha256", "n_offered", "policy", "rows"} <= set(only.changes)
    assert ids(library) == {before.imported[0].info.run_id}


def test_a_refused_table_leaves_the_library_as_it_was(
    table: Path, said: mapped.Mapping, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    ingest.import_paths([table], library, mapping=said)
    before = {path: path.read_bytes() for path in library.rglob("*") if path.is_file()}
    wrong = mapping(FIELDS.replace('"sent"', '"policy"'))
    (refused,) = ingest.import_paths([table], library, mapping=wrong).refused
    assert refused.code == "values_unreadable"
    assert {path: path.read_bytes() for path in library.rglob("*") if path.is_file()} == before


def test_of_a_folder_the_files_that_fit_are_read(
    table: Path, said: mapped.Mapping, tmp_path: Path
) -> None:
    other = written(tmp_path, "other.csv", "a,b\n1,2\n")
    report = ingest.import_paths([tmp_path], tmp_path / "library", mapping=said)
    assert {i.source for i in report.imported} == {table}
    assert other in [each.source for each in report.skipped]


def test_the_command_takes_a_file_or_a_name(
    table: Path, said: mapped.Mapping, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    path = written(tmp_path, "m.toml", mapped.dumps(said))
    named = document("import", table, "--mapping", path, "--library", library)
    assert [run["policy"] for run in named["imported"]] == ["fcfs", "sjf"]
    mapped.save(said, library)
    headway("import", table, "--mapping", "house bench", "--library", library)
    missing = headway("import", table, "--mapping", "nosuch", "--library", library, exit_code=2)
    assert "there is no mapping 'nosuch'" in missing.stderr


def test_an_incomplete_mapping_asks_and_imports_nothing(table: Path, tmp_path: Path) -> None:
    path = written(tmp_path, "m.toml", "headway_mapping = 1\n" + FIELDS)
    library = tmp_path / "library"
    result = headway("import", table, "--mapping", path, "--library", library, exit_code=2)
    assert "boundary: where did the clock stand" in result.stderr
    assert not library.exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_that_nothing_claims_is_refused_with_advice(
    table: Path, said: mapped.Mapping, tmp_path: Path, suffix: str
) -> None:
    path = table
    if suffix == "parquet":
        path = tmp_path / "table.parquet"
        pl.read_csv(table).write_parquet(path)
    library = tmp_path / "library"
    (refused,) = ingest.import_paths([path], library).refused
    assert refused.code == "foreign"
    assert f"headway mapping propose {path.name} -o mapping.toml" in refused.message
    mapped.save(said, library)
    (refused,) = ingest.import_paths([path], library).refused
    assert "its columns fit a saved mapping" in refused.message
    assert f"headway import --mapping 'house bench' {path.name}" in refused.message
