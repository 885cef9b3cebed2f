"""Static files go out compressed, each compressed once; nothing else is touched."""

import asyncio
import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Scope

from headway.web import compression

SCRIPT = b"const answer = 42;\n" * 500
TAKES_GZIP = {"Accept-Encoding": "gzip, deflate"}
TAKES_NONE = {"Accept-Encoding": "identity"}


@dataclass(frozen=True)
class Answer:
    """What came back, as it was sent."""

    status: int
    headers: Headers
    body: bytes

    @property
    def content(self) -> bytes:
        """What a browser reads."""
        packed = self.headers.get("content-encoding") == "gzip"
        return gzip.decompress(self.body) if packed else self.body


class Client:
    """Asks an application without a server."""

    def __init__(self, app: Starlette) -> None:
        self._app = app

    def get(self, path: str, headers: Mapping[str, str]) -> Answer:
        """Send a request and gather its answer."""
        sent: list[Message] = []
        asked: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Message:
            if not asked:  # the client stays until it has its answer
                await asyncio.Event().wait()
            return asked.pop()

        async def send(message: Message) -> None:
            sent.append(message)

        scope: Scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
        }
        asyncio.run(self._app(scope, receive, send))
        start, *pieces = sent
        body = b"".join(piece.get("body", b"") for piece in pieces)
        return Answer(start["status"], Headers(raw=start["headers"]), body)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    (tmp_path / "page.js").write_bytes(SCRIPT)
    (tmp_path / "small.js").write_bytes(b"1;")
    (tmp_path / "picture.png").write_bytes(bytes(5000))
    routes = [
        Route("/_stcore/health", lambda _: PlainTextResponse("ok" * 2000)),
        Mount("/", StaticFiles(directory=tmp_path)),
    ]
    return Client(Starlette(routes=routes, middleware=[compression.COMPRESSED]))


def test_a_script_is_compressed_and_reads_the_same(client: Client) -> None:
    answer = client.get("/page.js", headers=TAKES_GZIP)
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(SCRIPT) / 10
    assert "Accept-Encoding" in answer.headers["vary"]
    assert answer.content == SCRIPT


def test_it_is_compressed_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    compress = gzip.compress

    def noted(body: bytes, level: int) -> bytes:
        calls.append(len(body))
        return compress(body, level)

    monkeypatch.setattr(gzip, "compress", noted)
    assert [client.get("/page.js", headers=TAKES_GZIP).content for _ in range(3)] == [SCRIPT] * 3
    assert calls == [len(SCRIPT)]


def test_a_changed_file_is_compressed_again(client: Client, tmp_path: Path) -> None:
    client.get("/page.js", headers=TAKES_GZIP)
    (tmp_path / "page.js").write_bytes(SCRIPT + b"more")
    assert client.get("/page.js", headers=TAKES_GZIP).content == SCRIPT + b"more"


def test_a_browser_that_has_it_is_told_so(client: Client) -> None:
    etag = client.get("/page.js", headers=TAKES_GZIP).headers["etag"]
    again = client.get("/page.js", headers={**TAKES_GZIP, "If-None-Match": etag})
    assert again.status == 304


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/page.js", TAKES_NONE),
        ("/page.js", {**TAKES_GZIP, "Range": "bytes=0-9"}),
        ("/small.js", TAKES_GZIP),
        ("/picture.png", TAKES_GZIP),
        ("/_stcore/health", TAKES_GZIP),
        ("/nothing.js", TAKES_GZIP),
    ],
)
def test_everything_else_goes_out_as_it_is(
    client: Client, path: str, headers: dict[str, str]
) -> None:
    assert "content-encoding" not in client.get(path, headers=headers).headers


def test_what_is_kept_is_bounded(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_MOST_BYTES", 10)
    for _ in range(2):
        assert client.get("/page.js", headers=TAKES_GZIP).content == SCRIPT
