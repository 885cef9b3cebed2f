"""From files to a library: what gets in, what is refused, and that nothing is left half done."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headway import ingest, record, studies
from headway.errors import MisuseError
from headway.ingest import Report, Settings
from headway.ingest.archives import Unpacking
from headway.ingest.settings import check_study
from headway.model import IndexBasis, LoadKind, Objective, Outcome

FIXTURES = Path(__file__).parent / "importers"
VLLM = FIXTURES / "vllm" / "faults-proxy-rate5"
LIMITED = FIXTURES / "vidur" / "vllm-qps8-limit60s"

type_import = Callable[..., Report]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "library"


@pytest.fixture
def bring(library: Path) -> type_import:
    def import_one(*paths: Path, **settings: Any) -> Report:
        return ingest.import_paths(paths, library, Settings(**settings))

    return import_one


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """Return a result with its description in a folder that may be changed."""
    return Path(shutil.copytree(VLLM, tmp_path / "results" / "night")) / "result.json"


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Return every file and folder under a folder, with its content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def run_files(library: Path) -> list[Path]:
    return sorted(path for path in library.rglob("*") if record.is_run_file(path))


def test_a_file_becomes_a_run_file(bring: type_import, library: Path) -> None:
    report = bring(VLLM / "result.json")
    (imported,) = report.imported
    path = library / "default" / f"{imported.info.run_id}.parquet"
    assert run_files(library) == [path]
    run = record.read(path)
    assert run.info == imported.info
    assert record.problems(run) == []
    assert imported.outcomes[Outcome.COMPLETED] == 82
    assert sum(imported.outcomes.values()) == 100
    assert imported.measured_rps == pytest.approx(4.954, abs=1e-3)
    assert (imported.replaced, imported.changes) == (False, ())
    assert sorted(path.name for path in library.iterdir()) == ["default"]


def test_a_companion_comes_with_it(bring: type_import, library: Path) -> None:
    (imported,) = bring(LIMITED).imported
    run = record.read(library / "default" / f"{imported.info.run_id}.parquet")
    assert run.state is not None
    assert run.state.num_rows == 1645


def test_a_folder_is_walked_in_order(bring: type_import, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(FIXTURES / "vidur", folder / "b")
    shutil.copytree(FIXTURES / "vllm" / "rateinf", folder / "a")
    shutil.copytree(FIXTURES / "vllm" / "rateinf", folder / ".hidden")
    (folder / ".hidden.json").write_text("{", "utf-8")
    (folder / "notes.txt").write_text("notes", "utf-8")
    (folder / "link").symlink_to(folder / "missing")
    report = bring(folder)
    assert [run.info.source_name for run in report.imported] == [
        "a/result.json",
        "b/crashed-faster_transformer-qps8/request_metrics.csv",
        "b/crashed-orca-qps4/request_metrics.csv",
        "b/sarathi-qps4/request_metrics.csv",
        "b/vllm-qps8-limit60s/request_metrics.csv",
    ]
    assert [each.source for each in report.skipped] == [folder / "notes.txt"]
    assert report.refused == ()


def test_a_file_named_twice_is_read_once(bring: type_import) -> None:
    assert len(bring(VLLM, VLLM / "result.json").imported) == 1


def test_a_workload_alone_is_skipped(bring: type_import, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    path = tmp_path / "w" / "workload.csv"
    path.write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n", "utf-8")
    assert [each.source for each in bring(tmp_path / "w").skipped] == [path]


def test_a_library_in_the_folder_that_is_named_is_left_alone(tmp_path: Path) -> None:
    shutil.copytree(VLLM, tmp_path / "results")
    library = tmp_path / "library"
    ingest.import_paths([tmp_path], library)
    before = snapshot(library)
    report = ingest.import_paths([tmp_path], library)
    assert [item.info.importer for item in report.imported] == ["vllm"]
    assert snapshot(library) == before


def test_importing_again_replaces_and_says_what_changed(
    bring: type_import, result: Path, library: Path
) -> None:
    bring(result)
    before = snapshot(library)
    (again,) = bring(result).imported
    assert (again.replaced, again.changes) == (True, ())
    assert snapshot(library) == before
    (result.parent / "run.json").unlink()
    (changed,) = bring(result, policy="mine").imported
    assert changed.replaced
    assert {"policy", "started_at", "manifest.token_budget"} <= set(changed.changes)
    assert "rows" not in changed.changes
    assert len(run_files(library)) == 1


def test_rows_that_changed_are_named(bring: type_import, result: Path) -> None:
    bring(result)
    (result.parent / "workload.json").unlink()
    (changed,) = bring(result).imported
    assert {"rows", "index_basis", "findings"} <= set(changed.changes)


def test_a_run_moves_to_another_study(bring: type_import, library: Path) -> None:
    bring(LIMITED)
    (moved,) = bring(LIMITED, study="other").imported
    assert moved.replaced
    assert moved.changes == ("study",)
    assert [path.parent.name for path in run_files(library)] == ["other"]
    assert sorted(path.parent.name for path in library.rglob("*.parquet")) == ["other", "other"]


def test_a_companion_that_is_no_more_is_removed(
    bring: type_import, library: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(LIMITED, tmp_path / "limited"))
    bring(place)
    assert len(list(library.rglob("*.state.parquet"))) == 1
    (place / "iterations.csv.gz").unlink()
    bring(place)
    assert list(library.rglob("*.state.parquet")) == []


def test_the_study_is_the_nearest_above(bring: type_import, result: Path) -> None:
    (result.parents[1] / "study.toml").write_text('title = "Night runs"\n', "utf-8")
    (imported,) = bring(result).imported
    assert imported.info.study == "results"


def test_a_broken_study_file_refuses_only_its_own(
    bring: type_import, result: Path, library: Path
) -> None:
    (result.parent / "study.toml").write_text("title = ", "utf-8")
    report = bring(result, VLLM)
    assert [entry.code for entry in report.refused] == ["misuse"]
    assert len(report.imported) == 1


def test_the_same_rows_in_other_bytes_are_a_copy(bring: type_import, result: Path) -> None:
    (first,) = bring(result).imported
    value = json.loads(result.read_text("utf-8"))
    copy = result.with_name("copy.json")
    copy.write_text(json.dumps(value, indent=1), "utf-8")
    (second,) = bring(copy).imported
    assert second.info.run_id != first.info.run_id
    (finding,) = [f for f in second.info.findings if f.code == "same_measurement"]
    assert first.info.run_id in finding.message
    # The very same file again is no copy of itself.
    (again,) = bring(copy).imported
    assert again.changes == ()


@pytest.mark.parametrize(
    ("stated", "field", "value"),
    [
        ({"label": "night"}, "label", "night"),
        ({"replicate": "2"}, "replicate", 2),
        ({"started_at": "2026-11-29T20:00:00+02:00"}, "started_at", "2026-11-29T18:00:00+00:00"),
        ({"harness_version": "0.32.0"}, "harness_version", "0.32.0"),
        ({"load.declared_rps": "4.5"}, "load.declared_rps", 4.5),
        ({"load.kind": "trace"}, "load.kind", LoadKind.TRACE),
        ({"load.concurrency": "8"}, "load.concurrency", 8),
        ({"manifest.devices": "1 × H100"}, "manifest.devices", "1 × H100"),
        ({"manifest.batch_cap": "64"}, "manifest.batch_cap", 64),
    ],
)
def test_what_the_user_states_wins(
    stated: dict[str, str], field: str, value: object, bring: type_import
) -> None:
    (imported,) = bring(VLLM, set=stated).imported
    found: Any = imported.info
    for name in field.split("."):
        found = getattr(found, name)
    assert found == value


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"colour": "red"}, "unknown key 'colour'; expected one of harness_version, label, load"),
        ({"manifest.colour": "red"}, "unknown key 'manifest.colour'"),
        ({"load": "open"}, "unknown key 'load'"),
        ({"load.declared_rps": "fast"}, "load.declared_rps = 'fast'; input should be"),
        ({"load.declared_rps": "0"}, "expected a number above 0"),
        ({"load.declared_rps": "inf"}, "finite"),
        ({"load.kind": "sideways"}, "'open', 'closed', 'trace' or 'unlimited'"),
        ({"replicate": "-1"}, "expected a number above 0"),
        ({"label": ""}, "label is empty"),
        ({"started_at": "2026-11-29T18:00:00"}, "has no time zone"),
        ({"started_at": "yesterday"}, "started_at = 'yesterday'"),
    ],
)
def test_a_statement_that_makes_no_sense_is_misuse(stated: dict[str, str], message: str) -> None:
    with pytest.raises(MisuseError, match=message):
        Settings(set=stated)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", " a", ".hidden", "a\n", "x" * 101])
def test_a_study_must_be_able_to_be_a_folder(name: str) -> None:
    with pytest.raises(MisuseError, match="cannot be the name of a folder"):
        Settings(study=name)


def test_ordinary_names_of_studies() -> None:
    assert [check_study(name) for name in ("vidur-azure", "Nächte 2026", "a.b")]


BROKEN = [
    ("result.json", b"", "empty"),
    ("notes.txt", b"hello", "foreign"),
    ("table.csv", b"a,b\n1,2\n", "foreign"),
    ("other.json", b'{"a": 1}', "foreign"),
    ("result.json", b'{"a": ', "damaged"),
    ("notes.txt", b"\xff\xfe\x00", "not_utf8"),
    ("run=0.json", b"", "empty"),
    ("run=0.json", b"\xff\xfe\x00", "not_utf8"),
    ("run=0.json", b"[1, 2]", "foreign"),
    ("request_metrics.csv", b"", "empty"),
    ("request_metrics.csv", b"a,b\n1,2\n", "foreign"),
    ("request_metrics.csv", b"\x1f\x8b\x08", "damaged"),
    ("openai-2.0qps-x.json", b'{"date"', "damaged"),
    ("deep.json", b"[" * 100_000, "damaged"),
]


@pytest.mark.parametrize(("name", "content", "code"), BROKEN)
def test_what_cannot_be_read_leaves_no_trace(
    name: str, content: bytes, code: str, bring: type_import, library: Path, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    (refused,) = bring(path).refused
    assert (refused.source, refused.code) == (path, code)
    assert name in refused.message
    assert "\n" not in refused.message
    assert not library.exists()
    bring(VLLM)
    before = snapshot(library)
    assert len(bring(path).refused) == 1
    assert snapshot(library) == before


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize(
    "source", [VLLM / "result.json", FIXTURES / "vidur/sarathi-qps4/request_metrics.csv"]
)
def test_a_half_written_file_leaves_no_trace(
    source: Path, share: float, bring: type_import, library: Path, tmp_path: Path
) -> None:
    bring(VLLM)
    before = snapshot(library)
    content = source.read_bytes()
    path = tmp_path / source.name
    path.write_bytes(content[: int(len(content) * share)].rstrip(b"\n"))
    report = bring(path)
    assert [entry.code for entry in report.refused] == ["damaged"]
    assert snapshot(library) == before


def test_one_bad_object_refuses_the_whole_file(
    bring: type_import, library: Path, tmp_path: Path
) -> None:
    good = (VLLM / "result.json").read_text("utf-8")
    path = tmp_path / "appended.json"
    path.write_text(f"{good}\n{good[:5000]}", "utf-8")
    (refused,) = bring(path).refused
    assert refused.code == "damaged"
    assert "object 2, which starts on line 2" in refused.message
    assert not library.exists()


def test_a_missing_file_is_not_found(bring: type_import, tmp_path: Path) -> None:
    (refused,) = bring(tmp_path / "nowhere.json").refused
    assert refused.code == "not_found"


def test_a_run_file_is_taken_as_it_is(bring: type_import, library: Path, tmp_path: Path) -> None:
    (imported,) = bring(VLLM, study="mine").imported
    (path,) = run_files(library)
    (again,) = ingest.import_paths([path], tmp_path / "other").imported
    assert again.info == imported.info
    (copied,) = run_files(tmp_path / "other")
    assert copied.relative_to(tmp_path / "other") == path.relative_to(library)
    assert copied.read_bytes() == path.read_bytes()


def test_a_run_file_brings_its_state(library: Path, tmp_path: Path) -> None:
    ingest.import_paths([FIXTURES / "vidur" / "sarathi-qps4"], library)
    report = ingest.import_paths([library], tmp_path / "other")
    assert len(report.imported) == 1
    assert not report.refused
    assert not report.skipped
    (companion,) = (tmp_path / "other").rglob("*.state.parquet")
    (original,) = library.rglob("*.state.parquet")
    assert companion.read_bytes() == original.read_bytes()


def test_a_run_file_that_breaks_a_rule_is_refused(
    bring: type_import, library: Path, tmp_path: Path
) -> None:
    bring(VLLM)
    (path,) = run_files(library)
    table = pq.read_table(path)
    metadata = table.schema.metadata
    pq.write_table(table.slice(1).replace_schema_metadata(metadata), tmp_path / path.name)
    (refused,) = ingest.import_paths([tmp_path / path.name], tmp_path / "other").refused
    assert refused.code in ("invalid_record", "offered")
    assert run_files(tmp_path / "other") == []


def packed(folder: Path, *sources: tuple[str, Path]) -> Path:
    path = folder / "results.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sources:
            archive.writestr(zipfile.ZipInfo(name), source.read_bytes())
    return path


def test_a_zip_is_a_folder(bring: type_import, tmp_path: Path) -> None:
    files = [(f"sweep/rate4/{path.name}", path) for path in VLLM.iterdir()]
    path = packed(tmp_path, *files, ("sweep/__MACOSX/._result.json", VLLM / "result.json"))
    report = bring(path)
    (imported,) = report.imported
    assert imported.source == path / "sweep" / "rate4" / "result.json"
    assert imported.info.source_name == "sweep/rate4/result.json"
    assert imported.info.index_basis is IndexBasis.PLAN
    assert not report.skipped


@pytest.mark.parametrize("name", ["../result.json", "/etc/result.json", "a/../../b.json", "C:\b"])
def test_a_zip_cannot_write_elsewhere(
    name: str, bring: type_import, library: Path, tmp_path: Path
) -> None:
    (refused,) = bring(packed(tmp_path, (name, VLLM / "result.json"))).refused
    assert refused.code == "inconsistent"
    assert "leads out of it" in refused.message
    assert not library.exists()


def test_a_zip_unpacks_within_limits(library: Path, tmp_path: Path) -> None:
    path = packed(tmp_path, ("result.json", VLLM / "result.json"))
    small = Unpacking(n_bytes=1000)
    (refused,) = ingest.import_paths([path], library, unpacking=small).refused
    assert refused.code == "too_long"
    # A directory that lies about the size is found out while unpacking.
    data = path.read_bytes()
    size = (VLLM / "result.json").stat().st_size
    lying = data.replace(size.to_bytes(4, "little"), (10).to_bytes(4, "little"))
    path.write_bytes(lying)
    (refused,) = ingest.import_paths([path], library, unpacking=small).refused
    assert refused.code in ("too_long", "damaged")
    assert not library.exists()


def test_a_cut_zip_is_damaged(bring: type_import, tmp_path: Path) -> None:
    path = packed(tmp_path, ("result.json", VLLM / "result.json"))
    path.write_bytes(path.read_bytes()[:-40])
    (refused,) = bring(path).refused
    assert refused.code in ("damaged", "foreign", "not_utf8")


def test_a_study_comes_with_its_description_and_its_trace(
    bring: type_import, library: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(VLLM, folder / "run")
    (folder / "study.toml").write_text('trace = "trace.csv"\n[objective]\nttft_ms = 900\n', "utf-8")
    (folder / "trace.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n", "utf-8")
    bring(folder)
    assert studies.read(library / "mine").objective == Objective(ttft_ms=900)
    assert (library / "mine" / "trace.csv").read_bytes() == (folder / "trace.csv").read_bytes()
    (library / "mine" / "study.toml").write_text('title = "edited"\n', "utf-8")
    bring(folder)
    assert studies.read(library / "mine").title == "edited"


def test_what_is_good_is_kept(bring: type_import, library: Path, tmp_path: Path) -> None:
    bad = tmp_path / "run=0.json"
    bad.write_bytes(b"{")
    report = bring(bad, VLLM, tmp_path / "nowhere")
    assert len(report.imported) == 1
    assert [entry.code for entry in report.refused] == ["damaged", "not_found"]


def test_a_library_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "library").write_text("a file", "utf-8")
    report = ingest.import_paths([VLLM], tmp_path / "library")
    assert [entry.code for entry in report.refused] == ["not_written"]


def test_progress_is_told_before_each_source(library: Path) -> None:
    told: list[ingest.Step] = []
    ingest.import_paths([FIXTURES / "vidur"], library, progress=told.append)
    begun = [step for step in told if step.share == 0]
    assert len([step for step in begun if step.name.endswith(".csv")]) == 4
    assert {step.n_sources for step in told} == {len(begun)}


def test_progress_is_told_while_a_file_is_read(library: Path) -> None:
    told: list[ingest.Step] = []
    source = FIXTURES / "aiperf" / "faults-rate12" / "raw" / "out" / "profile_export.jsonl"
    ingest.import_paths([source], library, progress=told.append)
    shares = [step.share for step in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == 1


def test_the_document_for_scripts(bring: type_import, tmp_path: Path) -> None:
    bad = tmp_path / "run=0.json"
    bad.write_bytes(b"{")
    document = ingest.report_json(bring(VLLM / "result.json", bad, study="s"))
    assert json.loads(json.dumps(document)) == document
    assert set(document) == {"imported", "skipped", "refused", "proposed_policies"}
    (run,) = document["imported"]
    assert run["load"] == {
        "kind": "open",
        "declared_rps": 5.0,
        "measured_rps": pytest.approx(4.954, abs=1e-3),
        "concurrency": None,
        "arrivals": "poisson",
        "burstiness": 1.0,
    }
    expected = {
        "harness": "vllm-bench",
        "study": "s",
        "policy": "chunk2048-seqs32",
        "label": None,
        "boundary": "client",
        "clock": "monotonic",
        "index_basis": "plan",
        "n_offered": 100,
        "n_offered_basis": "declared",
        "n_warmup": 0,
        "replaced": False,
    }
    assert {key: run[key] for key in expected} == expected
    assert list(run["outcomes"]) == [outcome.value for outcome in Outcome]
    assert sum(run["outcomes"].values()) == 100
    assert set(run["findings"][0]) == {"code", "severity", "count", "message"}
    assert [(entry["source"], entry["code"]) for entry in document["refused"]] == [
        (str(bad), "damaged")
    ]


@pytest.mark.parametrize(
    ("scheduled", "sent", "phases", "rate"),
    [
        ([0, 500_000, 1_000_000], [None] * 3, "mmm", 2.0),
        ([None] * 3, [0, 1_000_000, 2_000_000], "mmm", 1.0),
        ([0, 500_000, 1_000_000], [None] * 3, "wmm", 2.0),
        ([5, 5, 5], [None] * 3, "mmm", None),
        ([None] * 3, [None] * 3, "mmm", None),
        ([0, None, None], [None] * 3, "mmm", None),
    ],
)
def test_the_measured_rate(
    scheduled: list[int | None], sent: list[int | None], phases: str, rate: float | None
) -> None:
    table = record.requests_table(
        {
            "scheduled_us": scheduled,
            "sent_us": sent,
            "phase": ["warmup" if letter == "w" else "measured" for letter in phases],
        }
    )
    assert ingest.measured_rps(table) == rate


@pytest.mark.parametrize(("declared", "found"), [("5", []), ("5.3", ["rate_gap"])])
def test_arrivals_off_the_declared_rate_are_a_finding(
    declared: str, found: list[str], bring: type_import
) -> None:
    # The fixture's arrivals came at 4.95 req/s.
    (imported,) = bring(VLLM, set={"load.declared_rps": declared}).imported
    codes = [finding.code for finding in imported.info.findings]
    assert [code for code in codes if code == "rate_gap"] == found
