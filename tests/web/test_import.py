"""The Import page: what is brought, what becomes of it, and that it stays with its session."""

import io
import json
import sys
import time
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headway import record
from headway.ingest.settings import Settings
from headway.web.workspace import Workspace, safe_name
from pages import ROOT, SAMPLES, Open, unfold, words

FIXTURES = ROOT / "tests" / "importers"
VLLM = FIXTURES / "vllm" / "faults-proxy-rate5"
AIPERF = FIXTURES / "aiperf" / "faults-rate12" / "raw" / "out"

Upload = tuple[str, bytes, str]


def upload(path: Path, name: str | None = None) -> Upload:
    return (name or path.name, path.read_bytes(), "application/octet-stream")


def until_over(app: AppTest) -> AppTest:
    """Run the page again until the import has ended, as the browser does by itself."""
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        app.run()
        assert not app.exception
        if not [button for button in app.button if button.key == "cancel"]:
            return app
        time.sleep(0.1)
    raise AssertionError("the import did not end")


def bring(app: AppTest, *files: Upload) -> AppTest:
    app.file_uploader[0].set_value(list(files)).run()
    app.button(key="import").click().run()
    return until_over(app)


def test_without_files_there_is_nothing_to_do_but_a_sample(open_page: Open) -> None:
    app = open_page("import")
    assert app.button(key="import").disabled
    assert "stay private to this session" in words(app)
    app.button(key="samples").click().run()
    said = words(until_over(app))
    assert "9 runs imported" in said
    assert "57 completed, 3 truncated" in said


def test_a_run_appears_with_its_accounting_and_its_findings(open_page: Open) -> None:
    app = bring(open_page("import"), *(upload(path) for path in sorted(VLLM.iterdir())))
    said = words(app)
    assert "1 run imported from 3 files" in said
    assert "**offered**,**100**" in said
    assert "✓ offered = the sum of 4 outcomes" in said
    assert "4 of 86 successes" in said or "broke off" in said
    assert "read by vllm" in said


def test_the_run_stands_on_every_page_beside_the_samples(open_page: Open) -> None:
    app = bring(open_page("import"), *(upload(path) for path in sorted(VLLM.iterdir())))
    for page in ("runs", "distributions", "home"):
        app.switch_page(f"../pages/{page}.py")
        app.run()
        assert not app.exception
        studies = app.sidebar.selectbox(key="study").options
        assert studies == ["default", "vidur-azure-conversation", "vllm-aiperf"]
        app.sidebar.selectbox(key="study").set_value("default").run()
        assert not app.exception
        assert "chunk2048-seqs32" in words(app)


def test_what_is_stated_wins(open_page: Open) -> None:
    app = open_page("import")
    app.text_input(key="study-0").set_value("mine")
    app.text_input(key="policy-0").set_value("fcfs")
    app.number_input(key="rate-0").set_value(4.0)
    said = words(bring(app, upload(VLLM / "result.json")))
    assert "study mine" in said
    assert "fcfs · 4 req/s" in said


def test_a_damaged_file_leaves_the_others(open_page: Open) -> None:
    damaged = ("run=0.json", b'{"date": "20260101", "ttfts": [', "application/json")
    app = bring(open_page("import"), damaged, upload(VLLM / "result.json"))
    said = words(app)
    assert "1 run imported, 1 refused from 2 files" in said
    assert "run=0.json,damaged" in said
    assert "headway-session" not in said


def test_a_zip_is_unpacked(open_page: Open) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in VLLM.iterdir():
            archive.write(path, f"night/{path.name}")
    app = bring(open_page("import"), ("night.zip", packed.getvalue(), "application/zip"))
    said = words(app)
    assert "1 run imported from 1 file" in said
    assert "Passed over" not in said


def test_a_run_file_can_be_brought_again(open_page: Open) -> None:
    path = next(path for path in (SAMPLES / "vllm-aiperf").iterdir() if record.is_run_file(path))
    said = words(bring(open_page("import"), upload(path)))
    assert "1 run imported" in said
    assert "study vllm-aiperf" in said


def test_policies_are_proposed_from_file_names_and_set_by_a_click(
    open_page: Open, tmp_path: Path
) -> None:
    result = json.loads((VLLM / "result.json").read_bytes())
    files = []
    for place, name in enumerate(("chunk256-rate5.json", "chunk2048-rate5.json")):
        path = tmp_path / name
        path.write_text(json.dumps(result | {"label": None, "date": f"20260101-00000{place}"}))
        files.append(upload(path))
    app = bring(open_page("import"), *files)
    names = [each for each in app.text_input if (each.key or "").startswith("policy-name-")]
    assert [each.value for each in names] == ["chunk2048", "chunk256"]
    names[1].set_value("small chunks").run()
    (button,) = [each for each in app.button if (each.key or "").startswith("policies-")]
    button.click().run()
    assert not app.exception
    assert not [each for each in app.button if (each.key or "").startswith("policies-")]
    app.switch_page("../pages/runs.py").run()
    assert "Only this browser session has the imported runs" in words(unfold(app, "link"))
    policies = set(app.dataframe[0].value["policy"])
    assert {"chunk2048", "small chunks"} <= policies


def test_a_run_can_be_removed(open_page: Open) -> None:
    app = bring(open_page("import"), upload(VLLM / "result.json"))
    assert "Runs of this session" in words(app)
    app.button(key="remove").click().run()
    assert not app.exception
    assert "Runs of this session" not in words(app)


def test_the_death_of_the_child_is_a_sentence(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "headway.ingest.apart._command",
        lambda: ["/bin/sh", "-c", "cat > /dev/null; kill -SEGV $$"],
    )
    app = bring(open_page("import"), upload(VLLM / "result.json"))
    assert "ended the process that read it" in app.error[0].value


TABLE = (
    b'id;start;"ttft (ms)";"e2e (ms)";status\n'
    b'1;2026-01-01 10:00:00,250;"120,5";"800,25";ok\n'
    b'2;2026-01-01 10:00:01,250;"99";"700";ok\n'
    b"3;2026-01-01 10:00:02,250;;;busy\n"
)
ANSWERS = {
    "boundary": "client",
    "load.kind": "open",
    "index_basis": "order",
    "offered": "rows",
}


def test_a_foreign_table_is_mapped_on_the_page(open_page: Open) -> None:
    app = bring(open_page("import"), ("mine.csv", TABLE, "text/csv"))
    said = words(app)
    assert "0 runs imported from 1 file" in said
    assert "Still to be said before it can be imported" in said
    assert "'busy' (1)" in said
    for key, answer in ANSWERS.items():
        (box,) = [each for each in app.selectbox if (each.key or "").endswith(f"-0-{key}")]
        box.set_value(answer).run()
    (basis,) = [each for each in app.text_input if (each.key or "").endswith("token_basis")]
    basis.set_value("as the server reports").run()
    (other,) = [each for each in app.selectbox if (each.key or "").endswith("-otherwise")]
    other.set_value("rejected").run()
    assert not app.exception
    assert "Still to be said" not in words(app)
    (button,) = [each for each in app.button if each.label == "Import with this mapping"]
    assert not button.disabled
    button.click().run()
    said = words(until_over(app))
    assert "1 run imported from 1 file" in said
    assert "completed,2" in said
    assert "rejected,1" in said
    assert "read by mapped" in said


def test_a_mapping_as_text_that_is_broken_says_why(open_page: Open) -> None:
    app = bring(open_page("import"), ("mine.csv", TABLE, "text/csv"))
    (area,) = app.text_area
    area.set_value("no toml [").run()
    (use,) = [each for each in app.button if each.label == "Use this text"]
    use.click().run()
    assert not app.exception
    assert any("toml" in error.value.lower() for error in app.error)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a/b.json", "a/b.json"),
        ("../../etc/passwd", "etc/passwd"),
        ("/abs/x.csv", "abs/x.csv"),
        ("C:\\runs\\x.csv", "C:/runs/x.csv"),
        (".hidden/..x", "hidden/x"),
        ("", "file"),
        ("..", "file"),
        ("a\x00b.json", "ab.json"),
    ],
)
def test_names_lead_nowhere_else(name: str, kept: str) -> None:
    assert safe_name(name).as_posix() == kept


def test_a_workspace_leaves_nothing_behind(tmp_path: Path) -> None:
    here = Workspace(tmp_path / "session")
    batch = here.bring([("result.json", (VLLM / "result.json").read_bytes())], Settings())
    here.start(batch)
    here.close()
    assert not here.folder.exists()
    assert here.job is not None
    assert here.job.state.is_over


def test_a_table_that_one_built_in_mapping_fits_is_read_at_once(open_page: Open) -> None:
    real = FIXTURES / "mapped" / "real" / "guidellm-faults.json.gz"
    app = until_over(bring(open_page("import"), upload(real)))
    said = words(app)
    assert "1 run imported from 1 file" in said
    assert "through the mapping guidellm" in said
    assert "Import with this mapping" not in [each.label for each in app.button]


def test_a_table_that_fits_and_leaves_something_open_is_named(open_page: Open) -> None:
    real = FIXTURES / "mapped" / "real" / "evalscope.db"
    app = until_over(bring(open_page("import"), upload(real)))
    assert "mapping **evalscope**" in app.success[0].value


def test_an_import_under_way_shows_how_far_it_is_and_can_be_cancelled(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = (
        "import sys, time; sys.stdin.buffer.read(); "
        'print(\'{"step": {"n_done": 1, "n_sources": 4, "name": "big.json", "share": 0.5}}\', '
        "flush=True); time.sleep(60)"
    )
    monkeypatch.setattr("headway.ingest.apart._command", lambda: [sys.executable, "-c", told])
    app = open_page("import")
    app.file_uploader[0].set_value([upload(VLLM / "result.json")]).run()
    app.button(key="import").click().run()
    until_s = time.monotonic() + 30
    while "big" not in app.get("progress")[0].proto.text and time.monotonic() < until_s:
        app.run()
    (bar,) = app.get("progress")
    assert "2 of 4: big.json" in bar.proto.text.replace("\\", "")
    assert bar.proto.value == 37
    assert app.button(key="import").disabled
    app.button(key="cancel").click().run()
    app.run()
    assert not app.exception
    assert app.error[0].value.startswith("Cancelled")
    assert "Runs of this session" not in words(app)
