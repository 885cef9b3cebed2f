"""Queries keep their contracts."""

from pathlib import Path

import pytest

from headway import catalog, sql
from headway.errors import QueryError
from libraries import make_run, open_runs

HEADER = "-- Answers.\n-- @param x BIGINT A number.\n-- @column y BIGINT The number.\n"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> catalog.Catalog:
    state = [{"at_us": 0, "running": 1, "waiting": 0, "paused": 0}]
    return open_runs(tmp_path_factory.mktemp("library"), make_run([{}, {}], state=state))


@pytest.mark.parametrize("name", sql.names())
def test_a_header_declares_what_the_query_takes_and_returns(
    name: str, opened: catalog.Catalog
) -> None:
    query = sql.load(name)
    (statement,) = opened.connection.extract_statements(query.text)
    assert set(statement.named_parameters) == {param.name for param in query.params}
    query.run(opened.connection, **{param.name: None for param in query.params})


@pytest.mark.parametrize("name", sql.names())
def test_a_header_says_what_everything_means(name: str) -> None:
    query = sql.load(name)
    assert len(query.summary.splitlines()[0]) > 20
    assert all(field.meaning.endswith(".") for field in (*query.params, *query.columns))


def test_missing_and_surplus_parameters_are_refused(opened: catalog.Catalog) -> None:
    query = sql.parse("t/q", HEADER + "SELECT $x::BIGINT AS y")
    with pytest.raises(QueryError, match="missing parameters x; surplus z; it takes x"):
        query.run(opened.connection, z=1)
    assert query.run(opened.connection, x=3).to_dicts() == [{"y": 3}]


@pytest.mark.parametrize(
    "select",
    ["SELECT $x::BIGINT AS z", "SELECT $x::INTEGER AS y", "SELECT $x::BIGINT AS y, 1 AS more"],
)
def test_a_result_that_differs_from_the_header_is_refused(
    select: str, opened: catalog.Catalog
) -> None:
    with pytest.raises(QueryError, match="its header declares"):
        sql.parse("t/q", HEADER + select).run(opened.connection, x=1)


def test_an_unreadable_header_line_is_refused() -> None:
    with pytest.raises(QueryError, match="expected '-- @param name TYPE"):
        sql.parse("t/q", "-- Answers.\n-- @param x\nSELECT 1")


def test_an_unknown_query_names_those_there_are() -> None:
    with pytest.raises(QueryError, match="distribution/percentiles"):
        sql.load("distribution/nothing")


@pytest.mark.parametrize(
    "attack",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO '/tmp/headway-attack.csv'",
        "ATTACH '/tmp/headway-attack.db'",
        "SET enable_external_access = true",
    ],
)
def test_an_open_catalog_reaches_nothing_but_its_runs(attack: str, opened: catalog.Catalog) -> None:
    with pytest.raises(sql.SqlError):
        opened.connection.cursor().execute(attack)
    assert not list(Path("/tmp").glob("headway-attack*"))  # noqa: S108 - it must not be there


def test_parallel_queries_get_their_own_rows(opened: catalog.Catalog) -> None:
    from concurrent.futures import ThreadPoolExecutor

    query = sql.parse("t/q", HEADER + "SELECT $x::BIGINT AS y")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: query.run(opened.connection, x=n)["y"][0], range(200)))
    assert found == list(range(200))
