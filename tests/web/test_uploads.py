"""The quota of a session: what it holds at once, whatever a request announces."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from headway.web import uploads
from headway.web.uploads import UploadQuota


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "quota_bytes", lambda: 100)
    monkeypatch.setattr(uploads, "MAX_FILES", 3)


class Server:
    """Reads a request to its end, as Streamlit does, and answers 204."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self.n_cut = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        n_bytes = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.n_cut += 1
                return
            n_bytes += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        self.received.append(n_bytes)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def ask(
    app: UploadQuota, method: str, path: str, body: bytes = b"", announced: int | None = None
) -> int | None:
    """Send a request in pieces of 10 bytes and return the status of the answer."""
    pieces = [body[place : place + 10] for place in range(0, len(body), 10)] or [b""]
    messages: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": place < len(pieces) - 1}
        for place, piece in enumerate(pieces)
    ]
    statuses: list[int] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    length = len(body) if announced is None else announced
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(b"content-length", str(length).encode())],
    }
    asyncio.run(app(scope, receive, send))
    return statuses[0] if statuses else None


def test_a_session_holds_what_it_may_and_no_more() -> None:
    server = Server()
    app = UploadQuota(server)
    assert ask(app, "PUT", "/_stcore/upload_file/s1/f1", b"x" * 60) == 204
    assert ask(app, "PUT", "/_stcore/upload_file/s1/f2", b"x" * 60) == 413
    assert ask(app, "PUT", "/_stcore/upload_file/s2/f2", b"x" * 60) == 204
    assert ask(app, "DELETE", "/_stcore/upload_file/s1/f1") == 204
    assert ask(app, "PUT", "/base/_stcore/upload_file/s1/f2", b"x" * 60) == 204
    assert server.received == [60, 60, 0, 60]


def test_a_file_may_be_sent_again() -> None:
    app = UploadQuota(Server())
    for _ in range(3):
        assert ask(app, "PUT", "/_stcore/upload_file/s1/f1", b"x" * 90) == 204


def test_the_number_of_files_is_limited_too() -> None:
    app = UploadQuota(Server())
    answers = [ask(app, "PUT", f"/_stcore/upload_file/s1/f{place}", b"x") for place in range(5)]
    assert answers == [204, 204, 204, 413, 413]


def test_an_announcement_is_not_believed() -> None:
    server = Server()
    app = UploadQuota(server)
    path = "/_stcore/upload_file/s1/f1"
    assert ask(app, "PUT", path, b"x" * 500, announced=10) is None
    assert (server.n_cut, server.received) == (1, [])


def test_everything_else_passes() -> None:
    server = Server()
    app = UploadQuota(server)
    assert ask(app, "GET", "/_stcore/health", b"x" * 500) == 204
    assert ask(app, "POST", "/_stcore/upload_file/s1/f1", b"x" * 500) == 204


def test_the_quota_follows_the_largest_file() -> None:
    assert uploads.largest_bytes() >= 1 << 20
