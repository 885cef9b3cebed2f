"""Values that are computed once and kept within a number of bytes.

Several readers share one memory. A value that two of them ask for at once is computed once: the
second waits for the first. The values that nobody has asked for the longest are forgotten first.
"""

import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from threading import Lock, RLock
from typing import Any, TypeVar

import numpy as np
import polars as pl

from headway import sql

LIMIT_BYTES = 256 * 1024 * 1024
_LOOKED_AT = 2
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Kept:
    value: Any
    queries: tuple[str, ...]
    n_bytes: int


class Remembered:
    """Values by key, at most `limit_bytes` of them; the key says all that a value depends on.

    The queries behind a value are noted each time that it is used (`sql.recording`), not only when
    they run. A value larger than the limit is returned and not kept.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.n_bytes = 0
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._guard = Lock()
        self._busy: dict[Hashable, tuple[RLock, int]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def value(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return the value of a key, computed if it is not known."""
        return self.values({"": key}, lambda _: {"": compute()})[""]

    def values(
        self, keys: Mapping[str, Hashable], compute: Callable[[list[str]], Mapping[str, _T]]
    ) -> dict[str, _T]:
        """Return the values of several keys, each under its name.

        `compute` gets the names of all keys that are not known, and returns a value for each: one
        call answers for all of them.
        """
        found = {name: kept for name, key in keys.items() if (kept := self._find(key)) is not None}
        missing = {name: key for name, key in keys.items() if name not in found}
        if missing:
            found |= self._computed(missing, compute)
        for kept in found.values():
            sql.note(kept.queries)
        return {name: found[name].value for name in keys}

    def clear(self) -> None:
        """Forget everything."""
        with self._guard:
            self._kept.clear()
            self.n_bytes = 0

    def _computed(
        self, keys: Mapping[str, Hashable], compute: Callable[[list[str]], Mapping[str, Any]]
    ) -> dict[str, _Kept]:
        with self._locked(list(keys.values())):
            # Another reader may have computed some of them while this one waited.
            found = {
                name: kept for name, key in keys.items() if (kept := self._find(key)) is not None
            }
            missing = [name for name in keys if name not in found]
            if not missing:
                return found
            with sql.recording() as queries:
                values = compute(missing)
            for name in missing:
                value = values[name]
                found[name] = _Kept(value, tuple(queries), size_of(value))
                self._keep(keys[name], found[name])
            return found

    @contextmanager
    def _locked(self, keys: Sequence[Hashable]) -> Iterator[None]:
        """Lock keys in one order for all readers, so that no two wait for each other."""
        with ExitStack() as stack:
            for key in sorted(set(keys), key=repr):
                stack.enter_context(self._lock(key))
            yield

    @contextmanager
    def _lock(self, key: Hashable) -> Iterator[None]:
        with self._guard:
            lock, n_users = self._busy.get(key, (RLock(), 0))
            self._busy[key] = lock, n_users + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, n_users = self._busy[key]
                if n_users == 1:
                    del self._busy[key]
                else:
                    self._busy[key] = lock, n_users - 1

    def _find(self, key: Hashable) -> _Kept | None:
        with self._guard:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
            return kept

    def _keep(self, key: Hashable, kept: _Kept) -> None:
        if kept.n_bytes > self.limit_bytes:
            return
        with self._guard:
            self._kept[key] = kept
            self.n_bytes += kept.n_bytes
            while self.n_bytes > self.limit_bytes:
                _, oldest = self._kept.popitem(last=False)
                self.n_bytes -= oldest.n_bytes


def size_of(value: object) -> int:
    """Return about how many bytes a value takes: arrays and tables exactly, the rest roughly."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes) + sys.getsizeof(0)
    if isinstance(value, pl.DataFrame):
        return int(value.estimated_size())
    if is_dataclass(value) and not isinstance(value, type):
        return 64 + sum(size_of(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, Mapping):
        return 64 + _size_of_all(value.keys()) + _size_of_all(value.values())
    if isinstance(value, (tuple, list, set, frozenset)):
        return 64 + _size_of_all(value)
    return sys.getsizeof(value)


def _size_of_all(values: Collection[object]) -> int:
    """Return about how many bytes values take: of many alike, a few are looked at."""
    looked_at = list(islice(values, _LOOKED_AT))
    if not looked_at:
        return 0
    return sum(map(size_of, looked_at)) * len(values) // len(looked_at)
