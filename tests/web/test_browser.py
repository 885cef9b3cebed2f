"""The dashboard in a real Chromium: what only a browser can get wrong."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from libraries import make_run, write
from pages import PAGES, SAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
]
ALERT = "[data-testid=stAlert]"
# A busy machine draws a first chart late, and that is no fault.
expect.set_options(timeout=30_000)
HOSTILE = "![x](https://evil.example/p.png) <img src=https://evil.example/q.png>"


@dataclass
class Seen:
    """What a page asked for and complained about while it was open."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def console(self, message: ConsoleMessage) -> None:
        # Streamlit looks for its health route below the page's own address first, and finds none.
        if message.type == "error" and "404" not in message.text:
            self.complaints.append(message.text)

    def request(self, request: Request) -> None:
        self.requests.append(request.url)


def chromium() -> str | None:
    """Return the browser to drive; None leaves the choice to Playwright."""
    said = os.environ.get("HEADWAY_BROWSER") or shutil.which("chromium")
    return said or None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = chromium()
        if path is None and not Path(playwright.chromium.executable_path).exists():
            absent = "no Chromium: run `playwright install chromium`, or set HEADWAY_BROWSER"
            if os.environ.get("CI"):  # where a skip would pass as a green run
                pytest.fail(absent)
            pytest.skip(absent)
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sample study, and a study whose every name is an attack."""
    folder = tmp_path_factory.mktemp("library")
    shutil.copytree(SAMPLES / "vidur-azure-conversation", folder / "vidur-azure-conversation")
    rows = [
        {"sent_us": i, "ttft_us": 1000, "latency_us": 5000, "outcome": "completed"}
        for i in range(3)
    ]
    lost = {"sent_us": 9, "outcome": "failed", "reason": HOSTILE}
    for name in ("one", "two"):
        run = make_run(
            [*rows, lost], name, study="hostile", policy=f"{HOSTILE} {name}", label=HOSTILE
        )
        write(run, folder)
    return folder


@contextmanager
def serving(library: Path) -> Iterator[str]:
    """Serve a library until the block ends."""
    port = free_port()
    command = [sys.executable, "-c", "from headway.cli import main; main()", "serve"]
    process = subprocess.Popen([*command, str(library), "--port", str(port)])
    base = f"http://127.0.0.1:{port}"
    for _ in range(240):
        try:
            with urlopen(f"{base}/_stcore/health") as answer:  # noqa: S310 - our own server
                if answer.read() == b"ok":
                    break
        except OSError:
            time.sleep(0.25)
    yield base
    process.terminate()
    assert process.wait(timeout=20) == 0


@pytest.fixture(scope="module")
def address(library: Path) -> Iterator[str]:
    with serving(library) as base:
        yield base


def visit(
    browser: Browser, url: str, scheme: str = "light", width: int = 1440, first: str = "h1"
) -> tuple[Page, Seen]:
    context = browser.new_context(
        color_scheme=scheme,  # type: ignore[arg-type] # one of Playwright's literals
        viewport={"width": width, "height": 900},
    )
    page, seen = context.new_page(), Seen()
    page.on("console", seen.console)
    page.on("request", seen.request)
    page.goto(url)
    expect(page.locator(first).first).to_be_visible(timeout=30_000)
    return page, seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", [f"/{name.replace('home', '')}" for name in PAGES])
def test_a_page_talks_to_its_own_server_only(
    path: str, scheme: str, browser: Browser, address: str
) -> None:
    page, seen = visit(browser, f"{address}{path}", scheme)
    page.wait_for_load_state("networkidle")
    outside = [url for url in seen.requests if not url.startswith((address, "data:", "blob:"))]
    assert outside == []
    assert seen.complaints == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.context.close()


def test_the_first_visit_may_be_to_any_page(browser: Browser, library: Path) -> None:
    with serving(library) as base:
        page, _ = visit(browser, f"{base}/envelope?study=vidur-azure-conversation")
        expect(page.get_by_role("heading", name="Acceptance envelope")).to_be_visible()
        links = page.get_by_test_id("stSidebarNav").get_by_role("link").all_inner_texts()
        assert [link.strip().split("\n")[-1] for link in links] == [
            "Home",
            "Runs",
            "Distributions",
            "Envelope",
            "Compare",
            "Import",
            "Methods",
        ]
        page.context.close()


def test_home_draws_a_mark_for_every_run(browser: Browser, address: str) -> None:
    page, _ = visit(browser, f"{address}/?study=vidur-azure-conversation")
    marks = page.locator(".js-plotly-plot .scatterlayer .points path")
    expect(marks).to_have_count(21, timeout=20_000)
    assert page.locator(".js-plotly-plot .gl-container canvas").count() == 0
    page.context.close()


def test_a_mark_opens_its_distributions(browser: Browser, address: str) -> None:
    page, _ = visit(browser, f"{address}/envelope?study=vidur-azure-conversation")
    strips = page.get_by_test_id("stVegaLiteChart").first
    mark = strips.locator('path[aria-label*="sarathi · 1 req/s"]').last
    expect(page.get_by_text("Link to this view")).to_be_visible(timeout=30_000)
    link = page.get_by_role("link", name="Distributions of sarathi · 1 req/s")
    for _ in range(10):  # a chart that is still being drawn takes no clicks
        mark.click(force=True)
        page.wait_for_timeout(1500)
        if link.count():
            break
    link.click()
    expect(page.get_by_text(re.compile("p99 at 1 req.s: sarathi 391"))).to_be_visible()
    expect(page).to_have_url(re.compile("policy=sarathi"))
    assert page.get_by_test_id("stAlert").count() == 0
    page.context.close()


def test_a_section_is_drawn_again_alone_and_the_link_knows_it(
    browser: Browser, address: str
) -> None:
    page, _ = visit(browser, f"{address}/compare?study=vidur-azure-conversation")
    expect(page.get_by_text("Link to this view")).to_be_visible(timeout=30_000)
    page.evaluate("document.querySelector('h1').dataset.seen = 'before'")
    page.get_by_role("radiogroup", name="Metric").get_by_text("Completion").click()
    overlay = page.get_by_label(re.compile("completion latency of A and B"))
    expect(overlay.first).to_be_visible()
    page.get_by_text("Link to this view").click()
    expect(page.get_by_test_id("stCode")).to_contain_text("pair_metric=Completion")
    assert page.locator("h1[data-seen=before]").count() == 1
    page.context.close()


def test_a_folded_section_is_filled_when_it_is_opened(browser: Browser, address: str) -> None:
    page, _ = visit(browser, f"{address}/envelope?study=vidur-azure-conversation")
    expect(page.get_by_text("Link to this view")).to_be_visible(timeout=30_000)
    fact = page.get_by_text("manifest fields recorded")
    assert fact.count() == 0
    page.get_by_text("What each envelope holds for").click()
    expect(fact.first).to_be_visible()
    page.context.close()


def test_the_answer_and_the_picture_are_on_the_first_screen(browser: Browser, address: str) -> None:
    page, _ = visit(browser, f"{address}/?study=vidur-azure-conversation")
    chart = page.locator(".js-plotly-plot").first
    expect(chart).to_be_visible(timeout=20_000)
    box = chart.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 900
    page.context.close()


def test_a_view_is_linked_by_its_address(browser: Browser, address: str) -> None:
    start = f"{address}/distributions?study=vidur-azure-conversation"
    page, _ = visit(browser, start)
    page.get_by_text("Longest stall", exact=True).click()
    expect(page.get_by_role("heading", name="Longest stall of offered requests")).to_be_visible()
    expect(page).to_have_url(re.compile(r"metric=Longest(\+|%20)stall"))
    again, _ = visit(browser, page.url)
    expect(again.get_by_role("heading", name="Longest stall of offered requests")).to_be_visible()
    page.context.close()
    again.context.close()


def test_a_selection_survives_another_page(browser: Browser, address: str) -> None:
    start = f"{address}/distributions?study=vidur-azure-conversation&metric=TPOT&policy=sarathi"
    page, _ = visit(browser, start)
    heading = page.get_by_role("heading", name="Mean time per output token of offered requests")
    expect(heading).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    page.get_by_role("link", name="Distributions").click()
    expect(heading).to_be_visible()
    page.context.close()


@pytest.mark.parametrize("path", ["/", "/runs", "/distributions", "/compare"])
def test_names_from_files_neither_load_nor_link(path: str, browser: Browser, address: str) -> None:
    page, seen = visit(browser, f"{address}{path}?study=hostile")
    page.wait_for_load_state("networkidle")
    expect(page.get_by_text("evil.example").first).to_be_attached()
    assert [url for url in seen.requests if "evil" in url] == []
    assert seen.complaints == []
    assert page.locator("a[href*='evil.example']").count() == 0
    assert page.locator("img[src*='evil.example']").count() == 0
    page.context.close()


def test_responses_carry_security_headers(address: str) -> None:
    with urlopen(f"{address}/") as answer:  # noqa: S310 - our own server
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-eval" not in policy
        assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "same-origin"


def test_what_one_session_brings_no_other_sees(address: str, browser: Browser) -> None:
    """Two people at once: each sees the samples and what they brought, on every page."""
    sources = Path(__file__).parents[1] / "importers" / "vllm"
    brought = {"mine": "chat-rate7", "yours": "rateinf"}
    pages = {}
    for study, folder in brought.items():
        page = browser.new_context().new_page()
        page.goto(f"{address}/import")
        page.locator("input[type=file]").first.set_input_files(sources / folder / "result.json")
        page.get_by_text("What the files do not say").click()
        page.get_by_label("Study", exact=True).fill(study)
        page.get_by_label("Study", exact=True).press("Enter")
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.get_by_text("1 run imported from 1 file")).to_be_visible(timeout=60_000)
        pages[study] = page
    for study, page in pages.items():
        other = next(name for name in brought if name != study)
        page.get_by_role("link", name="Runs", exact=True).click()
        expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible(timeout=30_000)
        page.get_by_role("combobox", name=re.compile("Study")).click()
        options = page.get_by_role("option")
        expect(options.filter(has_text=study)).to_have_count(1)
        expect(options.filter(has_text=other)).to_have_count(0)
    # A third visitor learns that the link's study is not here, and then sees the samples only.
    stranger = browser.new_context().new_page()
    stranger.goto(f"{address}/runs?study=mine")
    alert = stranger.get_by_role("alert").filter(has_text="This link names the study 'mine'")
    expect(alert).to_be_visible(timeout=30_000)
    expect(stranger.get_by_role("heading", name="Runs", exact=True)).to_have_count(0)
    stranger.goto(f"{address}/runs")
    expect(stranger.get_by_role("heading", name="Runs", exact=True)).to_be_visible(timeout=30_000)
    stranger.get_by_role("combobox", name=re.compile("Study")).click()
    expect(stranger.get_by_role("option").filter(has_text="mine")).to_have_count(0)


def test_an_address_that_is_no_page_says_so(browser: Browser, address: str) -> None:
    page, _ = visit(browser, f"{address}/distribution", first=ALERT)
    alert = page.get_by_test_id("stAlert")
    expect(alert).to_contain_text("There is no page 'distribution'; did you mean 'distributions'?")
    expect(page.get_by_role("heading", level=1)).to_have_count(0)


def test_limits_of_envelope_are_in_force_on_compare(browser: Browser, address: str) -> None:
    study = "study=vidur-azure-conversation"
    page, _ = visit(browser, f"{address}/envelope?{study}")
    limit = page.get_by_label("TTFT ≤ (ms)")
    limit.fill("1000")
    limit.press("Enter")
    expect(page.get_by_text("what-if")).to_be_visible(timeout=30_000)
    page.get_by_role("link", name="Compare").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("→", timeout=30_000)
    expect(page.get_by_text("what-if")).to_be_visible(timeout=30_000)
    assert "ttft=1000" in page.url


def test_a_wrong_link_leads_to_the_default_view(browser: Browser, address: str) -> None:
    page, _ = visit(browser, f"{address}/compare?study=vidur-azure-conversation&a=foo", first=ALERT)
    expect(page.get_by_test_id("stAlert")).to_contain_text("This link names the run 'foo'")
    page.get_by_role("link", name="Open the default view").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("→", timeout=30_000)
