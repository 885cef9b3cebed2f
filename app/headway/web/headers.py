"""Security headers: Streamlit sends none of its own."""

import base64
import hashlib
import re
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def _script_hashes() -> str:
    """Return the hashes of the inline scripts in Streamlit's own index page."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_bytes()
    digests = [hashlib.sha256(script).digest() for script in _INLINE_SCRIPT.findall(page)]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def content_security_policy() -> str:
    """Return a policy under which the page talks to its own server only.

    Text from result files can then neither load an image from elsewhere nor run a script.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {_script_hashes()}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "media-src 'self'",
            "manifest-src 'self'",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


class SecurityHeaders:
    """Add the headers to every HTTP response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = {
            "Content-Security-Policy": content_security_policy(),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; only the start of the response changes."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


HEADERS = Middleware(SecurityHeaders)
