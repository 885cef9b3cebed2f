"""What is known of requests before they run: their numbers, and the frozen workload they are of."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.errors import RecordError
from headway.model import Outcome, OutcomeBasis, Phase
from headway.producer.values import check_names, table_of_columns
from headway.record import REQUESTS, ROW_GROUP_REQUESTS

PLANNED = (
    "request_index",
    "request_id",
    "session_id",
    "turn_index",
    "prefix_group",
    "segment",
    "scheduled_us",
    "prompt_tokens",
    "requested_output_tokens",
)
_WORKLOAD = pa.schema([REQUESTS.field(name) for name in PLANNED])


class Counter:
    """Gives the requests of each phase numbers, from 0 or from after the largest one given."""

    def __init__(self) -> None:
        self._next = dict.fromkeys(Phase, 0)

    def take(self, phase: str) -> int:
        """Return the next number of a phase, or of the measurement where there is no such phase."""
        known = Phase.WARMUP if phase == Phase.WARMUP else Phase.MEASURED
        self._next[known] += 1
        return self._next[known] - 1

    def give(self, phase: str, number: int) -> None:
        """Take note of the number that a request of a phase has."""
        known = Phase.WARMUP if phase == Phase.WARMUP else Phase.MEASURED
        self._next[known] = max(self._next[known], number + 1)

    def number(self, table: pa.Table) -> pa.Table:
        """Return a table with numbers, counted where it brings none at all."""
        is_given = table["request_index"].null_count < table.num_rows
        numbers = np.asarray(table["request_index"].fill_null(-1)).copy()
        in_warmup = _is_warmup(table)
        for phase, mine in ((Phase.WARMUP, in_warmup), (Phase.MEASURED, ~in_warmup)):
            n_mine = int(mine.sum())
            if is_given and n_mine:
                self.give(phase, int(numbers[mine].max()))
            elif n_mine:
                first = self._next[phase]
                numbers[mine] = np.arange(first, first + n_mine)
                self._next[phase] = first + n_mine
        place = REQUESTS.get_field_index("request_index")
        counted = pa.array(numbers, pa.int32())
        return table if is_given else table.set_column(place, REQUESTS.field(place), counted)


class Plan:
    """The frozen workload: every request that is to be offered, held in memory.

    Raises
    ------
    RecordError
        A column is not one that a plan can know, or two requests have one number.
    """

    def __init__(self, workload: object) -> None:
        planned = table_of_columns(workload, REQUESTS, "workload")
        names = [name for name in REQUESTS.names if planned[name].null_count < planned.num_rows]
        check_names(names, _WORKLOAD, "workload")
        counted = Counter().number(planned).select(PLANNED).combine_chunks()
        self._rows: pa.Table = counted
        self._numbers = counted["request_index"].combine_chunks()
        self._is_seen = np.zeros(counted.num_rows, dtype=bool)
        if self._numbers.null_count or len(pc.unique(self._numbers)) < len(self._numbers):
            raise RecordError(
                "request_index",
                "workload: request_index is unknown or there twice; expected a number of its own "
                "for each request, or no such column",
            )

    @property
    def n_requests(self) -> int:
        """How many requests are to be offered."""
        return len(self._numbers)

    def fill(self, table: pa.Table) -> pa.Table:
        """Return measured requests with what the plan says where they themselves say nothing.

        Raises
        ------
        RecordError
            A measured request is not of the plan.
        """
        measured = ~_is_warmup(table)
        places = pc.index_in(table["request_index"], value_set=self._numbers).combine_chunks()
        foreign = measured & np.asarray(places.is_null())
        if foreign.any():
            number = table["request_index"][int(foreign.argmax())].as_py()
            raise RecordError(
                "request_index",
                f"request {number} is not in the workload of {self.n_requests} requests; expected "
                "the request_index that the workload gives it",
            )
        places = pc.if_else(pa.array(measured), places, pa.scalar(None, places.type))
        self._is_seen[np.asarray(places.drop_null())] = True
        for name in PLANNED:
            at = REQUESTS.get_field_index(name)
            known = pc.coalesce(table[name], self._rows[name].take(places))
            table = table.set_column(at, REQUESTS.field(at), known)
        return table

    def missing(self) -> Iterator[pa.Table]:
        """Yield the requests that were never reported, as unaccounted for."""
        never = self._rows.filter(pa.array(~self._is_seen))
        for start in range(0, never.num_rows, ROW_GROUP_REQUESTS):
            rows = never.slice(start, ROW_GROUP_REQUESTS)
            said = {
                "phase": [Phase.MEASURED.value] * rows.num_rows,
                "outcome": [Outcome.UNACCOUNTED.value] * rows.num_rows,
                "outcome_basis": [OutcomeBasis.INFERRED.value] * rows.num_rows,
            }
            columns = said | {name: rows[name] for name in PLANNED}
            yield table_of_columns(columns, REQUESTS, "workload")


def _is_warmup(table: pa.Table) -> npt.NDArray[np.bool_]:
    is_warmup: npt.NDArray[np.bool_] = np.asarray(
        pc.fill_null(pc.equal(table["phase"], Phase.WARMUP.value), fill_value=False)
    )
    return is_warmup
