"""Numbers and words as people read them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.distribution import Description, Percentile
from headway.figures import text
from headway.model import Metric, Outcome, Status


@pytest.mark.parametrize(
    ("value_ms", "expected"),
    [
        (None, "not recorded"),
        (0, "0 ms"),
        (0.0123, "0.0123 ms"),
        (0.5, "0.500 ms"),
        (7.268, "7.27 ms"),
        (9.996, "10.0 ms"),
        (99.96, "100 ms"),
        (112.605, "113 ms"),
        (999.4, "999 ms"),
        (999.5, "1.00 s"),
        (1625.115, "1.63 s"),
        (18_236.9, "18.2 s"),
        (588_315.8, "588 s"),
    ],
)
def test_a_duration_is_in_ms_below_a_second(value_ms: float | None, expected: str) -> None:
    assert text.duration(value_ms).replace("\u00a0", " ") == expected


@given(st.floats(0.001, 1e7))
def test_a_duration_has_three_significant_digits(value_ms: float) -> None:
    number, unit = text.duration(value_ms).replace("\u00a0", " ").split(" ")
    shown = float(number.replace(",", "")) * {"ms": 1, "s": 1000}[unit]
    assert shown == pytest.approx(value_ms, rel=0.0051)
    assert len(number.replace(",", "").replace(".", "").lstrip("0")) <= 3 or shown >= 1e6
    assert "e" not in number


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (3.956, "3.96"),
        (-3.956, "-3.96"),
        (0.25, "0.250"),
        (0.00012345, "0.000123"),
        (12.345, "12.3"),
        (1171.2, "1,171"),
    ],
)
def test_significant_digits_never_become_scientific(value: float, expected: str) -> None:
    assert text.significant(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "not recorded"),
        (0, "0%"),
        (0.0001, "<0.1%"),
        (0.71, "71%"),
        (0.934, "93.4%"),
        (0.9996, ">99.9%"),
        (1, "100%"),
    ],
)
def test_a_share_is_in_per_cent(value: float | None, expected: str) -> None:
    assert text.share(value) == expected


@given(st.integers(1, 10**7), st.data())
def test_a_share_is_0_or_100_per_cent_only_if_it_is(n_offered: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, n_offered))
    shown = text.share(n / n_offered)
    assert (shown == "100%") == (n == n_offered)
    assert (shown == "0%") == (n == 0)
    assert shown not in ("100.0%", "0.0%")


@pytest.mark.parametrize(
    ("value_ms", "expected"), [(100, "100 ms"), (0.5, "0.5 ms"), (2000, "2 s"), (1500, "1.5 s")]
)
def test_a_limit_reads_as_it_was_declared(value_ms: float, expected: str) -> None:
    assert text.limit(value_ms).replace("\u00a0", " ") == expected


def test_counts_rates_and_lists_are_plain_words() -> None:
    assert text.count(12_345) == "12,345"
    assert text.count(None) == "not recorded"
    assert text.rate(3.956, "req/s").replace("\u00a0", " ") == "3.96 req/s"
    assert text.rate(None, "req/s") == "no rate"
    assert text.outcome(Outcome.TIMED_OUT) == "timed out"
    assert [text.listed(w) for w in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_every_metric_and_status_has_words() -> None:
    assert set(text.METRIC_NAMES) == set(Metric)
    assert set(text.STATUS_WORDS) == set(Status)
    assert len(set(text.STATUS_WORDS.values())) == 4


ACTIVE = re.compile(r"(?<!\\)(?:\\\\)*[`*_{}\[\]()<>#+\-.!|~$:&=]")


@given(st.text() | st.text(alphabet="ab\\`*_[]()<>#!|~$:&=-+. \n\r\t1"))
def test_nothing_in_escaped_text_is_active(raw: str) -> None:
    escaped = text.escape(raw)
    assert ACTIVE.search(escaped) is None
    assert len(escaped.splitlines()) <= 1
    trailing = len(escaped) - len(escaped.rstrip("\\"))
    assert trailing % 2 == 0, "a last backslash would escape what follows"


@pytest.mark.parametrize("address", ["https://example.org", "www.example.org", "a@example.org"])
def test_a_bare_address_is_no_link(address: str) -> None:
    """Markdown links bare addresses after it has taken escapes off."""
    shown = re.sub(r"\\(.)", r"\1", text.escape(address))
    assert shown != address
    assert re.search(r"https?://|www\.|\w@\w", shown) is None


@given(st.text(alphabet=st.characters(categories=["L", "N", "Zs"])))
def test_plain_words_survive_escaping(raw: str) -> None:
    if "www" not in raw:
        assert text.escape(raw) == raw


@given(st.text())
def test_no_tag_survives_in_a_label_of_plotly(raw: str) -> None:
    shown = text.plain(raw)
    assert not set("<>") & set(shown)
    assert shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == raw


@pytest.mark.parametrize(
    ("share", "n", "expected"),
    [
        (0.99, 100, "1.23 s"),
        (0.999, 100, "≥ 1.23 s (n = 100 carries up to p99)"),
        (0.999, 1000, "1.23 s"),
        (0.99, 99, "≥ 1.23 s (n = 99 carries up to p98.9)"),
        (0.99, 1, "≥ 1.23 s (n = 1 carries no percentile)"),
        (0.5, 2, "1.23 s"),
        (0.9999, 1500, "≥ 1.23 s (n = 1,500 carries up to p99.9)"),
    ],
)
def test_a_percentile_says_where_so_few_requests_cannot_carry_it(
    share: float, n: int, expected: str
) -> None:
    described = Description("r0", "all", Metric.TTFT, Status.MEASURED, n=n, denominator=n)
    point = Percentile(share, 1230.0, not_reached=False)
    assert text.percentile_value(point, described) == expected
    lost = Percentile(share, None, not_reached=True)
    assert text.percentile_value(lost, described) == "not reached"
