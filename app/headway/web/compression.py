"""The files of the page go out compressed: Streamlit sends them as they are."""

import gzip
from collections import OrderedDict

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TYPES = ("text/", "application/javascript", "application/json", "image/svg+xml")
_LEAST_BYTES = 1024
_LEVEL = 6
# About all of Streamlit's files, compressed.
_MOST_BYTES = 16 * 1024 * 1024


class Compressed:
    """Compress the static files of the page, each once for all readers.

    Their names change with their content, so that a browser asks for each only once; `index.html`
    is known by its ETag.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._known: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._n_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on but the static files that a client takes compressed."""
        if scope["type"] == "http" and _may_be_compressed(scope):
            await self._app(scope, receive, _Response(self, scope["path"], send).send)
        else:
            await self._app(scope, receive, send)

    async def of(self, path: str, etag: str, body: bytes) -> bytes:
        """Return the compressed body of a file."""
        key = path, etag
        if key not in self._known:
            found = await anyio.to_thread.run_sync(gzip.compress, body, _LEVEL)
            self._known[key] = found
            self._n_bytes += len(found)
            while self._n_bytes > _MOST_BYTES:
                _, oldest = self._known.popitem(last=False)
                self._n_bytes -= len(oldest)
            return found
        self._known.move_to_end(key)
        return self._known[key]


def _may_be_compressed(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return (
        scope["method"] == "GET"
        and "_stcore" not in scope["path"]
        and "gzip" in headers.get("accept-encoding", "")
        and "range" not in headers
    )


class _Response:
    """One response: a file that is worth compressing is gathered first, all else passes."""

    def __init__(self, files: Compressed, path: str, send: Send) -> None:
        self._files, self._path, self._send = files, path, send
        self._start: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_worth_it(message):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        headers = MutableHeaders(scope=start)
        etag = headers.get("etag", "")
        body = await self._files.of(self._path, etag, bytes(self._body))
        headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(body))
        headers.add_vary_header("Accept-Encoding")
        if etag and not etag.startswith("W/"):
            headers["ETag"] = f"W/{etag}"
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})


def _is_worth_it(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return (
        start["status"] == 200
        and "etag" in headers
        and "content-encoding" not in headers
        and headers.get("content-type", "").startswith(_TYPES)
        and int(headers.get("content-length", "0")) >= _LEAST_BYTES
    )


COMPRESSED = Middleware(Compressed)
