"""A quota for what one session may hold: Streamlit limits each file and not their sum.

Its upload address takes any number of files from anyone who has a session, also on pages without an
uploader, and keeps them in memory.
"""

import re
from collections import OrderedDict

import streamlit as st
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# How many times the largest single file all files of a session together may be.
TIMES_THE_LARGEST = 8
MAX_FILES = 500
_ADDRESS = re.compile(r"/_stcore/upload_file/(?P<session>[^/]+)/(?P<file>[^/]+)$")
_MOST_SESSIONS = 4096


def largest_bytes() -> int:
    """Return the size of the largest file that can be brought."""
    return int(st.get_option("server.maxUploadSize")) << 20


def quota_bytes() -> int:
    """Return the size that all files of a session together may have."""
    return TIMES_THE_LARGEST * largest_bytes()


class UploadQuota:
    """Refuse uploads beyond the quota of their session."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._held: OrderedDict[str, dict[str, int]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what a PUT sends and a DELETE gives back; everything else passes."""
        match = _ADDRESS.search(scope.get("path", ""))
        if scope["type"] != "http" or match is None:
            await self._app(scope, receive, send)
            return
        files = self._files_of(match["session"])
        if scope["method"] == "DELETE":
            files.pop(match["file"], None)
        if scope["method"] != "PUT":
            await self._app(scope, receive, send)
            return
        if not self._admits(files, match["file"], _announced(scope)):
            refusal = PlainTextResponse("This session holds as many files as it may.", 413)
            await refusal(scope, receive, send)
            return
        await self._app(scope, self._counting(receive, files, match["file"]), send)

    def _files_of(self, session: str) -> dict[str, int]:
        files = self._held.setdefault(session, {})
        self._held.move_to_end(session)
        while len(self._held) > _MOST_SESSIONS:
            self._held.popitem(last=False)
        return files

    def _admits(self, files: dict[str, int], name: str, n_bytes: int) -> bool:
        others = [size for file, size in files.items() if file != name]
        return len(others) < MAX_FILES and sum(others) + n_bytes <= quota_bytes()

    def _counting(self, receive: Receive, files: dict[str, int], name: str) -> Receive:
        """Count what really comes: what a request announces may be wrong."""
        files[name] = 0

        async def counted() -> Message:
            message = await receive()
            files[name] += len(message.get("body", b""))
            if not self._admits(files, name, files[name]):
                return {"type": "http.disconnect"}
            return message

        return counted


def _announced(scope: Scope) -> int:
    said = dict(scope["headers"]).get(b"content-length", b"0")
    return int(said) if said.isdigit() else 0


QUOTA = Middleware(UploadQuota)
