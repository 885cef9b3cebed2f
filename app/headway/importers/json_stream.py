"""JSON documents of any size, read as a stream: long lists come in parts of whole elements.

Only the places where elements end are found here, with a search that is as fast as memory. What
stands between them goes to a real parser, which refuses all that is not JSON; bare Infinity and
NaN, which Python's own `json` writes, are numbers.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, Protocol

import orjson

from headway.importers.source import MARK

BLOCK_BYTES = 1 << 20

_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_OPENING = b"[{"
_STRUCTURE = (b'"', b"[", b"]", b"{", b"}")
_SPACE = re.compile(rb"[ \t\n\r]*")
_NOWHERE = 1 << 62
_UNKNOWN = [-1] * len(_STRUCTURE)


class Blocks(Protocol):
    """What gives the content a block at a time, and nothing when it ends."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most as many as asked for."""


class DamagedJsonError(Exception):
    """What was read is no JSON: which document, the line it starts on, and why."""

    def __init__(self, document: int, line: int, why: str) -> None:
        super().__init__(f"document {document}, line {line}: {why}")
        self.document, self.line, self.why = document, line, why


class JsonStream:
    """Reads documents one after another: `next`, then `value`, or `members` and what they hold.

    Parameters
    ----------
    blocks
        The content, UTF-8 with or without a byte order mark.
    block_bytes
        How much is read at once; a part of a list is about as long.

    Raises
    ------
    DamagedJsonError
        From every method: what comes next breaks off or is no JSON.
    UnicodeDecodeError
        The same: it is not UTF-8; `start` counts from the beginning of the content.
    """

    def __init__(self, blocks: Blocks, block_bytes: int = BLOCK_BYTES) -> None:
        self._blocks, self._block_bytes = blocks, block_bytes
        self._window = bytearray()
        self._at = 0  # what stands before it in the window was given out
        self._n_read = self._n_lines = 0
        self._document, self._line = 0, 1
        self._before = b""  # what leads a parser to where this one is
        self._following = _UNKNOWN.copy()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        while len(self._window) < len(MARK) and self._fill():
            pass
        if self._window.startswith(MARK):
            self._at = len(MARK)

    def next(self) -> bool:
        """Go to the next document, the one before having been read; False when there is none."""
        self._before = b""
        if self._peek() is None:
            return False
        self._document += 1
        self._line = 1 + self._n_lines + self._window.count(b"\n", 0, self._at)
        return True

    @property
    def is_object(self) -> bool:
        """Whether an object comes next."""
        return self._peek() == b"{"

    @property
    def is_list(self) -> bool:
        """Whether a list comes next."""
        return self._peek() == b"["

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the value of each must be read before the next."""
        self._at += 1
        self._before = b"{"
        while self._peek() != b"}" or self._before != b"{":
            key = self._key()
            self._before = b'{"":'
            yield key
            self._before, following = b'{"":0', self._peek()
            if following == b"}":
                break
            if following != b",":
                raise self._damage()
            self._at += 1
            self._before = b'{"":0,'
        self._at += 1

    def value(self) -> Any:
        """Return the value that comes next, whole."""
        self._peek()
        end, _ = self._scan(0)
        value = self._parsed(self._window[self._at : end])
        self._at = end
        return value

    def elements(self) -> Iterator[list[Any]]:
        """Yield the elements of a list, some at a time; all must be read before what follows."""
        outside = self._before
        self._at += 1
        self._before, is_last = b"[", False
        while not is_last:
            end, is_last = self._scan(1)
            part = self._window[self._at : end]
            is_empty = _SPACE.fullmatch(part) is not None
            if is_last and self._window[end] != ord("]"):
                raise self._damage()
            if is_empty and not (is_last and self._before == b"["):
                raise self._damage()
            if not is_empty:
                yield self._parsed(b"[" + part + b"]")
            self._at = end + 1
            self._before = b"[0,"
        self._before = outside

    def _fill(self) -> bool:
        """Read on, and forget what was given out; False at the end."""
        block = self._blocks.read(self._block_bytes)
        pending, _ = self._decoder.getstate()
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            error.start += self._n_read - len(pending)
            raise
        self._n_read += len(block)
        self._n_lines += self._window.count(b"\n", 0, self._at)
        del self._window[: self._at]
        self._window += block
        self._at = 0
        self._following = _UNKNOWN.copy()
        return bool(block)

    def _peek(self) -> bytes | None:
        """Go to the next byte that is no space, and return it; None at the end."""
        while True:
            self._at += len(_SPACE.match(self._window, self._at)[0])  # type: ignore[index]
            if self._at < len(self._window):
                return bytes(self._window[self._at : self._at + 1])
            if not self._fill():
                return None

    def _key(self) -> str:
        if self._peek() != b'"':
            raise self._damage()
        while (closing := _closing_quote(self._window, self._at, self._at + 1)) < 0:
            if not self._fill():
                raise self._damage()
        key = str(self._parsed(self._window[self._at : closing + 1]))
        self._at = closing + 1
        if self._peek() != b":":
            self._before = b'{""'
            raise self._damage()
        self._at += 1
        return key

    def _scan(self, level: int) -> tuple[int, bool]:
        """Return where what comes next ends, and whether what it is in is closed there.

        At level 0 that is one value, at level 1 as many elements of a list as are at hand.
        """
        depth, place, searched, end = level, self._at, 0, -1
        while True:
            while (mark := self._structure(place)) < _NOWHERE:
                if depth == level and (end := self._comma(level, place, mark, end)) >= 0 == level:
                    return end, False
                if self._window[mark] == _QUOTE:
                    closing = _closing_quote(self._window, mark, max(searched, mark + 1))
                    if closing < 0:
                        place, searched = mark, len(self._window)
                        break
                    place = closing + 1
                else:
                    place = mark + 1
                    depth += 1 if self._window[mark] in _OPENING else -1
                    if depth < level:
                        return mark, True
                if depth == level == 0:
                    return place, False
            else:
                if depth == level:
                    end = self._comma(level, place, len(self._window), end)
                place = max(place, len(self._window))
            if end >= 0:
                self._following = _UNKNOWN.copy()  # it was looked for beyond that place
                return end, False
            shift = self._at
            if not self._fill():
                if not self._before and depth == level:
                    return len(self._window), False
                raise self._damage()
            place, searched = place - shift, searched - shift

    def _comma(self, level: int, start: int, stop: int, before: int) -> int:
        """Return where what comes next ends: a value at the first comma, elements at the last."""
        find = self._window.rfind if level else self._window.find
        found = find(b",", start, stop)
        return found if found >= 0 else before

    def _structure(self, at: int) -> int:
        """Return the next place with a bracket or a quote."""
        following = self._following
        for kind, place in enumerate(following):
            if place < at:
                found = self._window.find(_STRUCTURE[kind], at)
                following[kind] = found if found >= 0 else _NOWHERE
        return min(following)

    def _parsed(self, text: bytes | bytearray) -> Any:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:  # bare Infinity or NaN, half a surrogate, or damage
            pass
        try:
            return json.loads(text.decode())
        except (ValueError, RecursionError) as error:
            raise self._damage() from error

    def _damage(self) -> DamagedJsonError:
        """Say what is wrong with what comes next, in the words of Python's own parser."""
        rest = (self._before + self._window[self._at :]).decode(errors="replace")
        why = "it is not whole"
        try:
            json.JSONDecoder().raw_decode(rest)
        except json.JSONDecodeError as error:
            why = error.msg
        except (ValueError, RecursionError):
            why = "too large or too deep"
        return DamagedJsonError(self._document, self._line, why)


def _closing_quote(window: bytearray, opening: int, start: int) -> int:
    """Return where a text ends that opens at a place, looking from `start` on; -1 if not here."""
    while (found := window.find(b'"', start)) >= 0:
        before = found - 1
        while before > opening and window[before] == _BACKSLASH:
            before -= 1
        if (found - before) % 2:
            return found
        start = found + 1
    return -1
