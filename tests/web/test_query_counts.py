"""A view is a few queries, however many runs there are."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headway import sql
from headway.model import Load, LoadKind
from libraries import make_run, offered, write
from pages import Open

MOST_QUERIES = 15
OBJECTIVE = "[objective]\nttft_ms = 500\nstall_ms = 50\nattainment = 0.9\n"


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the queries that run, as they run."""
    names: list[str] = []
    run = sql.Query.run

    def noted(self: sql.Query, *args: object, **values: object) -> object:
        names.append(self.name)
        return run(self, *args, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(sql.Query, "run", noted)
    return names


def library(folder: Path, n_runs: int, n_replicates: int = 3) -> Path:
    """Write runs of two policies, so many replicates a load, every run on the same requests."""
    for place in range(n_runs):
        load = Load(LoadKind.OPEN, declared_rps=1.0 + place // (2 * n_replicates))
        run = make_run(
            offered(20, 15 + place % 5),
            f"r{place}",
            load=load,
            policy="ab"[place % 2],
            replicate=place // 2 % n_replicates,
        )
        write(run, folder)
    (folder / "study" / "study.toml").write_text(OBJECTIVE, encoding="utf-8")
    return folder


def limit(app: AppTest, key: str, value: float) -> None:
    (control,) = [each for each in app.number_input if each.key == key]
    control.set_value(value)
    app.run()


@pytest.mark.parametrize("n_runs", [3, pytest.param(300, marks=pytest.mark.slow)])
def test_a_view_and_a_moved_limit_are_a_few_queries(
    n_runs: int, tmp_path: Path, open_page: Open, queries: list[str]
) -> None:
    app = open_page("envelope", library(tmp_path, n_runs))
    assert not app.exception
    assert 0 < len(queries) <= MOST_QUERIES
    queries.clear()
    for key, value in (("ttft", 300.0), ("share", 80.0)):
        limit(app, key, value)
        assert not app.exception
        assert queries == []  # limits and shares are applied to what was read before


@pytest.mark.parametrize("page", ["home", "runs", "distributions"])
def test_other_pages_are_a_few_queries(
    page: str, tmp_path: Path, open_page: Open, queries: list[str]
) -> None:
    app = open_page(page, library(tmp_path, 12))
    assert not app.exception
    assert 0 < len(queries) <= MOST_QUERIES


@pytest.mark.parametrize("n_replicates", [1, 3, 10])
def test_two_sides_are_a_few_queries_however_many_replicates(
    n_replicates: int, tmp_path: Path, open_page: Open, queries: list[str]
) -> None:
    app = open_page("compare", library(tmp_path, 2 * n_replicates, n_replicates))
    assert not app.exception
    assert queries.count("comparison/pairs") == 1
    assert len(queries) <= MOST_QUERIES
