"""Before it is ready, the server measures what the first visit shows."""

from pathlib import Path

import anyio
import pytest

from headway.errors import QueryError
from headway.serving import PATHS_VARIABLE
from headway.web import warm_up
from pages import SAMPLES, Open


def test_the_first_visit_asks_nothing_more(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, ran: list[str]
) -> None:
    monkeypatch.setenv(PATHS_VARIABLE, str(SAMPLES))
    warm_up.first_views()
    assert ran
    ran.clear()
    assert not open_page("home").exception
    assert ran == []


def test_an_empty_library_is_ready_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(PATHS_VARIABLE, str(tmp_path))
    warm_up.first_views()


def test_what_goes_wrong_is_left_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise QueryError("refused")

    monkeypatch.setattr(warm_up, "first_views", refuse)

    async def enter() -> bool:
        async with warm_up.ready(None):  # type: ignore[arg-type] # the app is not used
            return True

    assert anyio.run(enter)
