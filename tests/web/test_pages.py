"""Every page, on the sample study and on the libraries that usually break pages."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter
from streamlit.testing.v1 import AppTest

from headway import ingest, record, sql
from headway.model import RunInfo
from libraries import make_run, offered, write
from pages import PAGES, Open, link, unfold, words

HOSTILE = "![x](https://evil.example/p.png) <b>bold</b> :red[text] [link](https://evil.example)"


def everything_failed(folder: Path) -> None:
    rows = [
        {"scheduled_us": i * 100_000, "sent_us": i * 100_000, "outcome": outcome, "reason": reason}
        for i, (outcome, reason) in enumerate(
            [("rejected", "Too Many Requests")] * 3 + [("failed", HOSTILE)] * 2
        )
    ]
    write(make_run(rows), folder)


def one_run(folder: Path) -> None:
    rows = [
        {"sent_us": i * 100_000, "ttft_us": 1000 * i, "latency_us": 9000, "output_tokens": 2}
        for i in range(1, 6)
    ]
    write(make_run(rows), folder)


def without_times(folder: Path) -> None:
    write(make_run([{"ttft_us": 1000, "latency_us": 5000, "output_tokens": 3}] * 4), folder)


def sixty_runs(folder: Path) -> None:
    for place in range(60):
        row = {"sent_us": place, "ttft_us": 1000, "latency_us": 5000, "output_tokens": 3}
        write(make_run([row, row], f"r{place}", policy=f"policy {place % 7}"), folder)


def hostile_names(folder: Path) -> None:
    rows = [{"sent_us": i, "ttft_us": 1000, "latency_us": 5000} for i in range(3)]
    run = make_run(rows, policy=HOSTILE, label=HOSTILE, source_name=HOSTILE, token_basis=HOSTILE)
    path = write(run, folder)
    text = f'title = """{HOSTILE}"""\nquestion = """{HOSTILE}"""\nnotes = ["""{HOSTILE}"""]\n'
    (path.parent / "study.toml").write_text(text, encoding="utf-8")


LIBRARIES = [everything_failed, one_run, without_times, sixty_runs, hostile_names]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_sample_study(page: str, open_page: Open) -> None:
    app = open_page(page)
    assert not app.exception
    assert not app.error
    assert app.title


@pytest.mark.parametrize("fill", LIBRARIES, ids=lambda fill: fill.__name__)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_survives_a_library(
    page: str, fill: Callable[[Path], None], open_page: Open, tmp_path: Path
) -> None:
    fill(tmp_path)
    assert not open_page(page, tmp_path).exception


@pytest.mark.parametrize("metric", ["TTFT", "TPOT", "Longest stall", "Gaps", "Completion"])
@pytest.mark.parametrize("fill", LIBRARIES, ids=lambda fill: fill.__name__)
def test_every_metric_survives_a_library(
    metric: str, fill: Callable[[Path], None], open_page: Open, tmp_path: Path
) -> None:
    fill(tmp_path)
    for view in ("ECDF", "tail"):
        assert not open_page("distributions", tmp_path, metric=metric, view_as=view).exception


@pytest.mark.parametrize("page", ["home", "runs", "distributions", "envelope"])
def test_an_empty_library_says_what_to_do(page: str, open_page: Open, tmp_path: Path) -> None:
    app = open_page(page, tmp_path)
    assert not app.exception
    assert "No runs yet" in words(app)
    assert "headway import RESULTS" in app.code[0].value
    app.button[0].click().run()
    assert not app.exception
    assert "No runs yet" not in words(app)


@pytest.mark.parametrize("page", ["home", "runs", "distributions"])
def test_when_everything_failed_the_reasons_are_said(
    page: str, open_page: Open, tmp_path: Path
) -> None:
    everything_failed(tmp_path)
    app = open_page(page, tmp_path)
    assert "None of the 5 offered requests completed" in app.error[0].value
    assert "3 rejected**: Too Many Requests" in words(app)


@pytest.mark.parametrize("page", ["home", "runs", "distributions", "envelope"])
def test_names_from_files_stay_text(page: str, open_page: Open, tmp_path: Path) -> None:
    hostile_names(tmp_path)
    app = open_page(page, tmp_path)
    kinds = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error")
    said = [element.value for kind in kinds for element in getattr(app, kind)]
    said += [cell for table in app.table for cell in table.value.to_numpy().ravel()]
    shown = [str(text) for text in said if "evil" in str(text)]
    assert shown
    for text in shown:
        assert "![x]" not in text
        assert "https://" not in text
        assert ":red[" not in text
        assert "<b>" not in text


def test_home_answers_with_facts_and_accounts(open_page: Open) -> None:
    said = words(open_page("home"))
    assert "Which scheduler carries 4 req/s" in said
    assert "TTFT ≤ 2 s and longest stall ≤ 100 ms for 95% of offered requests" in said
    assert (
        "✓ sarathi carries up to 4 req/s; it misses at 6 req/s (467 of 500 requests met)." in said
    )
    assert "✓ sarathi carries up to 2 req/s, if no spell of common trouble" in said
    assert "✗ faster_transformer, orca and vllm miss at every load tested (1–8 req/s)." in said
    for claim in ("In this run", "Repeatable on this workload", "For traffic like this"):
        assert f"**{claim}**" in said
    assert (
        "sarathi 6 → 8 req/s: output tok/s +4% over makespan, −2% in the window, "
        "acceptable requests 93% → 33%"
    ) in said
    assert "**10,500**" in said
    for account in ('completed,"10,266"', "cut off,201", "not sent,33"):
        assert account in said
    assert "✓ offered = the sum of 3 outcomes" in said
    assert "✗ 93.4% (467/500)" in said


def symbols(app: AppTest) -> dict[str, list[str]]:
    """Return the symbols of the marks on Home's chart, by line and in order of load."""
    (chart,) = app.get("plotly_chart")
    traces = json.loads(chart.proto.spec)["data"]
    return {
        trace["name"]: trace["marker"]["symbol"]
        for trace in traces
        if "markers" in trace["mode"] and trace["name"] != "target share"
    }


def test_a_mark_is_solid_only_where_the_load_is_accepted_for_the_workload(
    open_page: Open, tmp_path: Path
) -> None:
    """A simulator answers in one run; a client's one run met, and says nothing of the next."""
    assert symbols(open_page("home"))["sarathi"] == ["diamond"] * 4 + ["x"] * 2
    write(make_run(offered(40, 40)), tmp_path)
    toml = "[objective]\nttft_ms = 200\nattainment = 0.9\n"
    (tmp_path / "study" / "study.toml").write_text(toml, encoding="utf-8")
    assert symbols(open_page("home", tmp_path))["policy"] == ["circle-open"]


def test_accounts_that_do_not_add_up_are_red(open_page: Open, tmp_path: Path) -> None:
    path = write(make_run([{"sent_us": 1}, {"sent_us": 2}]), tmp_path)
    run = record.read(path)
    described = replace(run.info, n_offered=3)
    described_as = TypeAdapter(RunInfo).dump_json(described)
    metadata = pq.read_schema(path).metadata | {b"headway.run": described_as}
    del metadata[b"headway.run_sha256"]  # a program that states no digest of its description
    pq.write_table(run.requests.replace_schema_metadata(metadata), path)
    app = open_page("home", tmp_path)
    assert "do not add up" in app.error[0].value


def test_distributions_start_with_one_comparison(open_page: Open) -> None:
    app = open_page("distributions")
    said = words(app)
    assert "TTFT of offered requests" in said
    assert (
        "p99 at 4 req/s: faster_transformer 524 s, orca 719 ms, sarathi 673 ms, vllm 550 ms" in said
    )
    assert "all 2,000 of 2,000 delivered a first token" in said


def test_undelivered_requests_are_said_and_not_averaged_away(open_page: Open) -> None:
    app = open_page("distributions", policy=["vllm"], load=["8 req/s"])
    said = words(app)
    assert "not reached (71% delivered)" in said
    assert "355 of 500" in said


def test_survivors_are_labelled(open_page: Open) -> None:
    app = open_page("distributions", policy=["vllm"], load=["8 req/s"], basis="completed")
    said = words(app)
    assert "TTFT of completed requests" in said
    assert "Survivors only" in said
    assert "12.1 s" in said


def test_runs_shows_our_number_beside_the_tools(open_page: Open, tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "importers" / "vllm" / "faults-proxy-rate5"
    report = ingest.import_paths([source], tmp_path, ingest.Settings(study="faults"))
    assert not report.refused
    said = words(open_page("runs", tmp_path))
    assert "The tool counts 86 of 100 requests as good; Headway counts 82 completed" in said
    assert "4 truncated" in said
    assert "1.46 s" in said
    assert "1.49 s" in said


CONTROLS = {
    "metric": "Completion",
    "view_as": "tail",
    "split": "prompt length",
    "basis": "completed",
    "origin": "sent",
    "method": "linear",
    "policy": ["sarathi"],
    "load": ["6 req/s"],
    "from_s": "10.0",
    "to_s": "40.0",
}


def control(app: AppTest, key: str) -> object:
    for kind in ("selectbox", "multiselect", "number_input", "button_group"):
        for widget in getattr(app, kind):
            if widget.key == key:
                return widget.value
    raise AssertionError(f"no control {key}")


def test_the_address_sets_every_control(open_page: Open) -> None:
    app = open_page("distributions", **CONTROLS)
    assert not app.exception
    said = words(app)
    assert "Completion latency of completed requests" in said
    assert "linear interpolation" in said
    assert "tokens" in said
    assert control(app, "policy") == ["sarathi"]
    assert control(app, "load") == ["6 req/s"]
    assert (control(app, "from_s"), control(app, "to_s")) == (10.0, 40.0)
    assert {key: app.query_params[key] for key in CONTROLS}


def test_the_link_spells_every_control_out(open_page: Open) -> None:
    for page, expected in {
        "distributions": {"study", "policy", "load", "basis", "origin", "method", "metric"},
        "envelope": {"study", "policies", "ttft", "cadence", "cadence_ms", "share", "claim"},
        "runs": {"study", "run"},
        "home": {"study"},
    }.items():
        assert {"data", *expected} <= set(link(open_page(page)))
    said = link(open_page("distributions", **CONTROLS))
    assert said["metric"] == ["Completion"]
    assert said["load"] == ["6 req/s"]
    assert said["split"] == ["prompt length"]


def test_the_window_of_the_sidebar_moves_the_numbers(open_page: Open, tmp_path: Path) -> None:
    """One request each 0.2 s from 0: the first 10 s hold 50 of the 100, the one at 10 s not."""
    write(make_run(offered(100, 90)), tmp_path)
    assert "all 100 of 100 delivered a first token" in words(open_page("distributions", tmp_path))
    windowed = words(open_page("distributions", tmp_path, from_s="0.0", to_s="10.0"))
    assert "all 50 of 50 delivered a first token" in windowed
    late = words(open_page("distributions", tmp_path, from_s="15.0"))
    assert "all 25 of 25 delivered a first token" in late


def test_an_empty_window_is_named(open_page: Open) -> None:
    app = open_page("distributions", from_s="40.0", to_s="10.0")
    assert "must start before its end" in app.error[0].value


def test_a_link_to_other_data_says_so_first(open_page: Open) -> None:
    app = open_page("home", data="000000000000")
    assert "made from other data" in app.error[0].value
    assert not open_page("home").error


@pytest.mark.parametrize(
    ("page", "asked", "named", "nearest"),
    [
        ("home", {"study": "vidur"}, "study 'vidur'", "'vidur-azure-conversation'"),
        ("compare", {"a": "sarathi · 5 req/s"}, "run 'sarathi · 5 req/s'", "'sarathi · 4 req/s'"),
        ("compare", {"b": "bar"}, "run 'bar'", "there are"),
        ("compare", {"by": "colour"}, "split 'colour'", "there are"),
        ("runs", {"run": "orca · 5 req/s"}, "run 'orca · 5 req/s'", "'orca · 4 req/s'"),
        ("distributions", {"policy": "sarati"}, "policy 'sarati'", "'sarathi'"),
        ("distributions", {"load": "5 req/s"}, "load '5 req/s'", "'6 req/s'"),
        ("distributions", {"from_s": "abc"}, "start of the window as 'abc'", "a number"),
        ("distributions", {"to_s": "nan"}, "end of the window as 'nan'", "a number"),
        ("distributions", {"basis": "everyone"}, "population 'everyone'", "'offered'"),
        ("envelope", {"ttft": "abc"}, "the TTFT limit as 'abc'", "a number of at least 0.001"),
        ("envelope", {"ttft": "-5"}, "the TTFT limit as '-5'", "at least 0.001"),
        ("envelope", {"share": "100"}, "the share as '100'", "at most 99.99"),
        ("envelope", {"cadence": "worst"}, "cadence 'worst'", "'longest stall'"),
        ("envelope", {"claim": "always"}, "claim 'always'", "'workload'"),
        ("envelope", {"policies": "x"}, "policy 'x'", "there are"),
        ("envelope", {"close": "x"}, "run 'x'", "there are"),
        ("envelope", {"class": "x"}, "class 'x'", "there are"),
    ],
)
def test_a_link_that_names_what_is_not_here_shows_nothing_else(
    page: str, asked: dict[str, str], named: str, nearest: str, open_page: Open
) -> None:
    app = open_page(page, **asked)
    assert not app.exception
    (error,) = [each.value.replace("\\", "") for each in app.error]
    assert named in error
    assert nearest in error
    assert not app.title
    assert not app.table
    assert not app.get("vega_lite_chart")
    assert not app.get("plotly_chart")


def test_one_objective_is_in_force_on_every_page(open_page: Open) -> None:
    """With a TTFT limit of 1 s instead of 2 s, sarathi at 6 req/s and others meet less."""
    what_if = "TTFT ≤ 1 s and longest stall ≤ 100 ms for 95% of offered requests** · :orange[**wh"
    counts = {}
    for page in ("home", "distributions", "envelope", "compare"):
        said = words(open_page(page, ttft="1000"))
        assert what_if in said
        assert "declared: TTFT ≤ 2 s" in said
        counts[page] = said
    alone = words(open_page("home"))
    assert "what-if" not in alone
    assert "467/500" in alone
    assert "467/500" not in counts["home"]
    at_home = {line for line in counts["home"].splitlines() if line.startswith("sarathi,")}
    assert at_home


def test_the_scorecard_says_what_is_a_mean_and_in_which_unit(open_page: Open) -> None:
    app = open_page("compare", study="vllm-aiperf")
    (card,) = [table.value for table in app.table if "B − A" in table.value.columns]
    assert list(card.columns) == ["", "A, mean of 3 runs", "B", "B − A"]
    rows = set(card[""].str.replace("\\", ""))
    assert {"completed (requests)", "timed out (requests)"} <= rows
    said = words(app)
    assert "Requests of A's replicate 1 of 3 runs and B's one run alone." in said


def test_limits_survive_a_change_of_page_and_stand_in_every_link(open_page: Open) -> None:
    app = open_page("envelope")
    app.number_input(key="ttft").set_value(1000.0).run()
    for page in ("compare", "distributions", "home"):
        app.switch_page(f"../pages/{page}.py").run()
        assert not app.exception
        assert "what-if" in words(app)
        said = link(app)
        assert (said["ttft"], said["cadence_ms"]) == (["1000.0"], ["100.0"])
    app.button(key="reset-objective").click().run()
    assert "what-if" not in words(app)
    assert "467/500" in words(app)


def test_a_limit_that_was_taken_away_stays_away_in_the_link(open_page: Open) -> None:
    app = open_page("envelope")
    app.number_input(key="ttft").set_value(None).run()
    said_there = link(app)
    assert "ttft" not in said_there
    kept = {key: said_there[key][0] for key in ("cadence", "cadence_ms", "share")}
    said = words(open_page("envelope", **kept))
    assert "Objective: **longest stall ≤ 100 ms for 95%" in said


def test_another_study_is_judged_by_its_own_objective(open_page: Open) -> None:
    app = open_page("envelope", ttft="1000")
    other = next(name for name in app.selectbox(key="study").options if "aiperf" in name)
    app.selectbox(key="study").set_value(other).run()
    said = words(app)
    assert "what-if" not in said
    assert "for 90% of offered requests" in said


def test_a_bad_file_is_named_and_the_others_are_shown(open_page: Open, tmp_path: Path) -> None:
    one_run(tmp_path)
    (tmp_path / "study" / "half.parquet").write_bytes(b"PAR1")
    app = open_page("home", tmp_path)
    assert "half.parquet is left out" in words(app)
    assert not app.exception


def test_a_mistake_in_study_toml_is_named(open_page: Open, tmp_path: Path) -> None:
    one_run(tmp_path)
    (tmp_path / "study" / "study.toml").write_text("[objective]\nttft_ms = -1", encoding="utf-8")
    app = open_page("home", tmp_path)
    (left_out,) = [each.value.replace("\\", "") for each in app.warning]
    assert "study.toml is left out" in left_out
    assert "expected a number above 0" in left_out
    assert "**5**" in words(app)  # the runs of the study stay
    assert not app.exception


def test_a_new_run_appears_without_a_restart(open_page: Open, tmp_path: Path) -> None:
    one_run(tmp_path)
    app = open_page("home", tmp_path)
    assert "**5**" in words(app)
    write(make_run([{"sent_us": 5}], "r9"), tmp_path)
    assert "**6**" in words(app.run())


def shown_queries(app: AppTest) -> list[str]:
    unfold(app, "queries")
    (expander,) = [each for each in app.expander if "behind these numbers" in each.label]
    return [each.value.strip("`") for each in expander.caption]


@pytest.mark.parametrize("page", ["home", "runs", "distributions", "envelope", "compare"])
def test_a_page_shows_the_queries_that_ran(
    page: str, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: dict[str, None] = {}
    run = sql.Query.run

    def noted(query: sql.Query, *args: Any, **values: Any) -> pl.DataFrame:
        ran[query.name] = None
        return run(query, *args, **values)

    monkeypatch.setattr(sql.Query, "run", noted)
    app = open_page(page)
    assert set(shown_queries(app)) == set(ran)
    texts = [code.value.strip() for each in app.expander for code in each.code]
    assert all(sql.load(name).text.strip() in texts for name in ran)
    # A second visit takes every result from a cache, and rests on the same queries.
    ran.clear()
    again = shown_queries(app.run())
    assert sorted(again) == sorted(shown_queries(app))
    assert len(ran) < len(again)


def test_methods_shows_every_query(open_page: Open) -> None:
    app = open_page("methods")
    labels = " ".join(expander.label for expander in app.expander)
    assert all(name in labels for name in sql.names())


def test_envelope_answers_for_the_claim_asked(open_page: Open) -> None:
    said = words(open_page("envelope"))
    assert "**Repeatable on this workload**" in said
    assert (
        "✓ sarathi carries up to 4 req/s; it misses at 6 req/s (467 of 500 requests met)." in said
    )
    assert "of offered requests** · declared 2026" in said
    traffic = words(open_page("envelope", claim="traffic"))
    assert "✓ sarathi carries up to 2 req/s" in traffic
    assert "a fresh run of 1,589 requests of the same mix at this load" in traffic
    assert "if the true share is 100%" in traffic


def test_another_objective_than_the_declared_is_said(open_page: Open) -> None:
    said = words(open_page("envelope", cadence="mean per token", cadence_ms="50"))
    assert "what-if" in said
    assert "499 of 500 requests met" in said


def test_no_acceptable_load_is_said_and_nothing_is_best(open_page: Open) -> None:
    app = open_page("envelope", ttft="1", share="99")
    said = words(app)
    assert "No load tested is acceptable" in said
    assert "carries up to" not in said


def test_at_99_per_cent_no_load_is_accepted_for_traffic(open_page: Open) -> None:
    app = open_page("envelope", share="99", claim="traffic")
    said = words(app)
    assert "✓ accepted" not in "".join(
        str(cell) for table in app.table for cell in table.value.get("for traffic like this", [])
    )
    assert "requests of the same mix at this load" in said


def test_the_review_says_what_the_study_lacks(open_page: Open) -> None:
    said = words(open_page("envelope"))
    assert "every manifest field,✗ fails" in said
    assert '"enough replicates, or a deterministic simulator",✓ passes' in said
    assert "cold and warm-prefix requests,? not recorded" in said


def attach(folder: Path, trace: str) -> None:
    write(make_run(offered(20, 20)), folder)
    (folder / "study" / "study.toml").write_text(
        'trace = "day.csv"\n[objective]\nttft_ms = 200\n', encoding="utf-8"
    )
    (folder / "study" / "day.csv").write_text(trace, encoding="utf-8")


TRACE = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n1,106,9\n2,90,9\n"


def test_without_a_trace_the_envelope_says_how_to_attach_one(open_page: Open) -> None:
    said = words(open_page("envelope"))
    assert "like the customer's traffic,? not recorded,no trace is attached" in said
    assert 'name it at the top of study.toml: trace = "file name"' in said
    assert "Against the customer's trace" not in said


def test_a_trace_is_drawn_over_the_study(open_page: Open, tmp_path: Path) -> None:
    attach(tmp_path, TRACE)
    app = open_page("envelope", tmp_path)
    assert not app.exception
    said = words(app)
    assert "like the customer's traffic,✓ passes" in said
    assert "the median prompt is 100 tokens, the study's 103" in said
    assert "name it at the top" not in said
    attach(tmp_path, TRACE + "3,900,10\n")
    said = words(app.run())
    assert "like the customer's traffic,✗ fails" in said
    assert "25% of its prompts are longer than any in the study" in said


def test_a_trace_that_cannot_be_read_leaves_the_page_whole(open_page: Open, tmp_path: Path) -> None:
    attach(tmp_path, f"{HOSTILE},b\n1,2\n")
    app = open_page("envelope", tmp_path)
    assert not app.exception
    assert not app.error
    said = words(app)
    assert "The trace is not drawn: day.csv is no trace that Headway knows" in said
    assert "like the customer's traffic,? not recorded" in said
    assert "How close is the call?" in [each.label for each in app.expander]


def test_without_a_limit_the_envelope_asks_for_one(open_page: Open, tmp_path: Path) -> None:
    one_run(tmp_path)
    app = open_page("envelope", tmp_path)
    assert not app.exception
    assert "No limit is set" in words(app)


REJECTED = {
    "outcome": "rejected",
    "reason": "queue full",
    "output_tokens": None,
    "ttft_us": None,
    "latency_us": None,
}


def test_compare_starts_with_two_policies_and_one_workload(open_page: Open) -> None:
    app = open_page("compare")
    assert app.title[0].value == "vllm · 4 req/s → sarathi · 4 req/s"
    said = words(app)
    # Counted on the simulator's own columns: 463 of 500 wait longer, and 74 met the limits in A.
    assert "463 of 500 wait longer for their first token" in said
    assert "same workload: 500 paired" in said
    assert "only the policy changed" in said
    assert "met the objective in A only 0, in B only 426" in said
    assert "facts of these two runs" in said


def test_the_two_sides_are_chosen_by_the_address(open_page: Open) -> None:
    app = open_page("compare", a="sarathi · 2 req/s", b="orca · 2 req/s")
    assert app.title[0].value == "sarathi · 2 req/s → orca · 2 req/s"


def test_a_share_just_below_all_keeps_its_sign(open_page: Open) -> None:
    app = open_page("compare", a="vllm · 8 req/s", b="vllm · 8 req/s · stopped at 60 s")
    cells = [
        cell
        for table in app.table
        for row in table.value.astype(str).itertuples(index=False)
        if "cache in use, most" in row
        for cell in row
    ]
    # The simulator's own log peaks at 99.9x% of the cache; a bare > would begin a quotation.
    assert "\\>99.9%" in cells


def test_a_run_beside_itself_changes_nothing(open_page: Open) -> None:
    app = open_page("compare", a="orca · 2 req/s", b="orca · 2 req/s")
    assert "the same run on both sides, every difference is zero" in words(app)


def test_lost_requests_stand_before_every_latency(open_page: Open, tmp_path: Path) -> None:
    shed = [row | REJECTED if i < 12 else row for i, row in enumerate(offered(40, 40))]
    write(make_run(offered(40, 40), "r0", policy="r0"), tmp_path)
    write(make_run(shed, "r1", policy="r1"), tmp_path)
    said = words(open_page("compare", tmp_path, a="r0 · 5 req/s", b="r1 · 5 req/s"))
    assert "completed 40 of 40 → 28 of 40 (12 rejected)" in said
    assert "completed in A only 12, in B only 0" in said
    assert "McNemar" not in said
    assert "28 of 40 delivered on both sides; 12 delivered in A only" in said


def test_requests_of_unknown_length_are_not_called_the_same(
    open_page: Open, tmp_path: Path
) -> None:
    unknown = {"prompt_tokens": None, "requested_output_tokens": None}
    for name, jitter_us in (("r0", 0), ("r1", 5_000)):
        rows = [row | unknown for row in offered(40, 40, jitter_us=jitter_us)]
        write(make_run(rows, name, policy=name), tmp_path)
    said = words(open_page("compare", tmp_path))
    assert "same workload" not in said
    assert "same arrivals, lengths not recorded on both sides: 40 paired" in said
    assert "No differences request by request" in said


def test_one_run_cannot_be_compared_and_the_page_says_so(open_page: Open, tmp_path: Path) -> None:
    one_run(tmp_path)
    assert "Import a second run of the same workload" in words(open_page("compare", tmp_path))


def test_different_requests_are_refused_with_the_reason(open_page: Open, tmp_path: Path) -> None:
    for name, tokens in (("r0", 10), ("r1", 900)):
        rows = [dict(row) | {"prompt_tokens": tokens + i} for i, row in enumerate(offered(20, 20))]
        write(make_run(rows, name, policy=name), tmp_path)
    app = open_page("compare", tmp_path)
    assert "not comparable" in words(app)
    assert app.error
    assert not app.get("vega_lite_chart")
