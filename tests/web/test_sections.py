"""Folded sections: closed they compute and send nothing, open they are part of the page."""

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from headway.errors import QueryError
from pages import Open, link, unfold, words


def shown_queries(app: AppTest) -> set[str]:
    (section,) = [each for each in app.expander if "behind these numbers" in each.label]
    return {each.value.strip("`") for each in section.caption}


def test_a_closed_section_asks_nothing(open_page: Open, ran: list[str]) -> None:
    app = open_page("distributions")
    assert "distribution/worst" not in ran
    assert not app.dataframe
    unfold(app, "worst")
    assert "distribution/worst" in ran
    assert app.dataframe


def test_a_section_names_its_queries_once_it_is_open(open_page: Open) -> None:
    app = unfold(open_page("distributions"), "queries")
    assert "distribution/worst" not in shown_queries(app)
    assert "distribution/worst" in shown_queries(unfold(app, "worst"))


def test_reasons_and_configurations_are_there_on_request(open_page: Open) -> None:
    app = open_page("envelope")
    assert "manifest fields recorded" not in words(app)
    said = words(unfold(app, "reasons", "holds-for"))
    assert "manifest fields recorded" in said
    assert "requests (fingerprint)" in said


def test_the_pairs_and_the_requests_of_a_cell_are_there_on_request(
    open_page: Open, ran: list[str]
) -> None:
    app = open_page("compare")
    assert "comparison/cell" not in ran
    unfold(app, "cell")
    assert "comparison/cell" in ran
    assert app.selectbox(key="cell").value


def test_an_error_in_a_section_leaves_the_page(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> pl.DataFrame:
        raise QueryError("the query is refused")

    app = open_page("distributions")
    monkeypatch.setattr("headway.analyses.distribution.worst", refuse)
    unfold(app, "worst")
    assert "refused" in app.error[0].value
    assert "delivered a first token" in words(app)
    assert not app.exception


def test_an_open_section_is_in_the_address_and_in_the_link(open_page: Open) -> None:
    app = open_page("envelope", **{"sensitivity-open": "true"})
    assert app.selectbox(key="close").value
    assert "class" not in {each.key for each in app.selectbox}
    assert link(app)["sensitivity-open"] == ["true"]
    assert "sensitivity-open" not in link(open_page("envelope"))
