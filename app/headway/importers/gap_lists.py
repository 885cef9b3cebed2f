"""The gaps between the chunks of many answers, kept as plain numbers and turned into the record.

As Python objects they would take four times the memory, which is most of what an import needs.
"""

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headway.errors import RecordError
from headway.importers.source import MAX_SECONDS
from headway.record import REQUESTS

_FIRST_GAPS = 1 << 12

Seconds = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class GapLists:
    """Lists of seconds, one for each request, in one array.

    Attributes
    ----------
    wrong
        The first row that is no list of seconds, after which nothing is kept; None if all are.
    """

    def __init__(self) -> None:
        self.wrong: int | None = None
        self._seconds = np.empty(_FIRST_GAPS)
        self._ends = array("q", [0])
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def add(self, lists: list[Any]) -> None:
        """Take the next rows as they stand in the source."""
        self._n_rows += len(lists)
        if self.wrong is not None:
            return
        try:
            self._keep(_flat(lists), [len(each) for each in lists])
        except (TypeError, ValueError, OverflowError):
            self._add_each(lists)

    def count(self, row: int) -> int:
        """Return how many gaps a row has."""
        return self._ends[row + 1] - self._ends[row]

    def rows(self, start: int, stop: int) -> tuple[Seconds, Ints]:
        """Return the gaps of consecutive rows, end to end, and how many each row has.

        Nothing can be added afterwards.
        """
        ends = np.frombuffer(self._ends, np.int64)[start : stop + 1]
        return self._seconds[ends[0] : ends[-1]], np.diff(ends)

    def _add_each(self, lists: list[Any]) -> None:
        for place, values in enumerate(lists):
            try:
                self._keep(np.asarray(values, dtype=np.float64), [np.shape(values)[0]])
            except (TypeError, ValueError, OverflowError, IndexError):
                self.wrong = self._n_rows - len(lists) + place
                return

    def _keep(self, seconds: Seconds, counts: list[int]) -> None:
        if seconds.ndim != 1 or not ((seconds >= 0) & (seconds <= MAX_SECONDS)).all():
            raise ValueError
        end = self._ends[-1] + len(seconds)
        if end > len(self._seconds):
            # Twice as much: unlike an array that grows in place, it can be given back whole, and
            # what is not written to takes no memory.
            larger = np.empty(max(end, 2 * len(self._seconds)))
            larger[: self._ends[-1]] = self._seconds[: self._ends[-1]]
            self._seconds = larger
        self._seconds[self._ends[-1] : end] = seconds
        self._ends.frombytes((self._ends[-1] + np.cumsum(counts, dtype=np.int64)).tobytes())


def _flat(lists: list[Any]) -> Seconds:
    """Return all numbers of lists of numbers, which is much faster than list by list."""
    if set(map(type, lists)) - {list}:
        raise TypeError
    flat = list(chain.from_iterable(lists))
    if set(map(type, flat)) - {float, int}:
        raise TypeError
    return np.array(flat, dtype=np.float64)


def elapsed(gaps: Seconds | Ints, counts: Ints) -> tuple[Seconds | Ints, Ints]:
    """Add up the gaps of each row from 0 on.

    Returns
    -------
    tuple
        The sums, one more than gaps in each row, end to end; and where each row begins.
    """
    starts = np.concatenate([[0], np.cumsum(counts + 1)])
    sums = np.zeros(starts[-1], gaps.dtype)
    end = 0
    for count, start in zip(counts.tolist(), starts.tolist(), strict=False):
        if count:
            # Row by row, and not over all with the rows before taken off: sums of seconds are
            # rounded, and a row must not depend on its neighbours.
            gaps[end : end + count].cumsum(out=sums[start + 1 : start + count + 1])
            end += count
    return sums, starts[:-1]


def gap_column(instants_us: Ints, starts: Ints, known: Flags) -> pa.Array:
    """Return the gaps between instants as a column of the record.

    Parameters
    ----------
    instants_us
        The instants of the rows that have any, end to end.
    starts
        Where each of these rows begins.
    known
        Which rows those are, of all.

    Raises
    ------
    RecordError
        A gap does not fit the column's type.
    """
    within = np.ones(len(instants_us), np.bool_)
    within[starts] = False
    counts = np.zeros(len(known), np.int64)
    counts[known] = np.diff(np.append(starts, len(instants_us))) - 1
    return _column(np.diff(instants_us)[within[1:]], counts, known)


def list_column(lists: Sequence[Any]) -> pa.Array:
    """Return arrays of gaps, None where there is none, as a column of the record.

    Raises
    ------
    RecordError
        A gap does not fit the column's type.
    """
    known = np.array([each is not None for each in lists], np.bool_)
    arrays = [np.asarray(each) for each in lists if each is not None]
    counts = np.zeros(len(known), np.int64)
    counts[known] = [len(each) for each in arrays]
    gaps = np.concatenate([np.empty(0, np.int64), *arrays])
    return _column(gaps, counts, known)


def _column(gaps: Ints, counts: Ints, known: Flags) -> pa.Array:
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    kind = REQUESTS.field("chunk_gaps_us").type
    try:
        values = pa.array(gaps).cast(kind.value_type)
    except pa.ArrowInvalid as error:
        raise RecordError("columns", f"column chunk_gaps_us: {error}") from error
    return pa.ListArray.from_arrays(offsets, values, type=kind, mask=pa.array(~known))
