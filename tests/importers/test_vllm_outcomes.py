"""How an error text becomes an outcome."""

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.importers.outcomes import REASON_LENGTH, last_line
from headway.importers.vllm_outcomes import classify_error
from headway.model import Outcome

TRACEBACK = 'Traceback (most recent call last):\n  File "client.py", line 1, in request\n'


@pytest.mark.parametrize(
    ("text", "outcome", "status"),
    [
        ("Too Many Requests", Outcome.REJECTED, 429),
        ("Service Unavailable", Outcome.REJECTED, 503),
        ("Bad Request", Outcome.REJECTED, 400),
        ("Request Entity Too Large", Outcome.REJECTED, 413),
        ("Content Too Large", Outcome.REJECTED, 413),
        ("Payload Too Large", Outcome.REJECTED, 413),
        ("Unprocessable Entity", Outcome.REJECTED, 422),
        ("Unprocessable Content", Outcome.REJECTED, 422),
        ("503 Service Unavailable", Outcome.REJECTED, 503),
        ("HTTP/1.1 429 Too Many Requests", Outcome.REJECTED, 429),
        ("Internal Server Error", Outcome.FAILED, 500),
        ("Gateway Timeout", Outcome.FAILED, 504),
        ("Not Found", Outcome.FAILED, 404),
        (TRACEBACK + "TimeoutError", Outcome.TIMED_OUT, None),
        (TRACEBACK + "asyncio.exceptions.TimeoutError", Outcome.TIMED_OUT, None),
        (
            TRACEBACK + "aiohttp.client_exceptions.ServerTimeoutError: Timeout on reading",
            Outcome.TIMED_OUT,
            None,
        ),
        (
            TRACEBACK + "aiohttp.client_exceptions.ConnectionTimeoutError: Connection timeout",
            Outcome.TIMED_OUT,
            None,
        ),
        (TRACEBACK + "aiohttp.client_exceptions.SocketTimeoutError", Outcome.TIMED_OUT, None),
        ("Traceback (most recent call last): ... TimeoutError", Outcome.TIMED_OUT, None),
        (TRACEBACK + "asyncio.exceptions.CancelledError", Outcome.CANCELLED, None),
        (
            TRACEBACK + "aiohttp.client_exceptions.ClientResponseError: 503, message='busy'",
            Outcome.REJECTED,
            503,
        ),
        (
            TRACEBACK + "aiohttp.client_exceptions.ClientPayloadError: 400, payload not completed",
            Outcome.FAILED,
            None,
        ),
        (
            TRACEBACK + "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host",
            Outcome.FAILED,
            None,
        ),
        ("Never received a valid chunk to calculate TTFT.", Outcome.FAILED, None),
        ("OK", Outcome.FAILED, None),
        ("a Timeout was mentioned somewhere", Outcome.FAILED, None),
        ("4290 of something", Outcome.FAILED, None),
    ],
)
def test_error_texts(text: str, outcome: Outcome, status: int | None) -> None:
    assert classify_error(text) == (outcome, status)


@given(st.text())
def test_any_text_has_an_outcome(text: str) -> None:
    outcome, status = classify_error(text)
    assert outcome in {Outcome.REJECTED, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.CANCELLED}
    assert outcome is not Outcome.REJECTED or status is not None


@given(st.sampled_from([status for status in HTTPStatus if status >= 400]), st.booleans())
def test_every_reason_phrase_keeps_its_status(status: HTTPStatus, shout: bool) -> None:
    text = status.phrase.upper() if shout else status.phrase
    assert classify_error(text)[1] == status.value


@given(st.text(min_size=1))
def test_a_reason_is_one_short_line(text: str) -> None:
    line = last_line(text)
    assert len(line) <= REASON_LENGTH
    assert line.splitlines() in ([], [line])


def test_the_last_line_of_a_traceback_names_the_error() -> None:
    assert last_line(TRACEBACK + "ValueError: x\n\n") == "ValueError: x"
