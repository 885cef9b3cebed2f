"""What became of each request of a `vllm bench serve` result.

The tool has one bit for success, and sets it too readily: a stream that an error event or a closed
connection ends early still counts. Where the frozen workload forces the output length, a short
answer tells. docs/formats.md states the rules in full.
"""

import math
import re
from dataclasses import dataclass
from http import HTTPStatus

import numpy as np

from headway.importers.outcomes import last_line, of_exception, of_status
from headway.importers.vllm_files import Bench, Planned
from headway.model import Outcome, OutcomeBasis
from headway.numbers import brief

# Python and the servers it talks to know these statuses by several names.
_PHRASES = {status.phrase.lower(): status.value for status in HTTPStatus} | {
    "request entity too large": 413,
    "payload too large": 413,
    "content too large": 413,
    "unprocessable entity": 422,
    "unprocessable content": 422,
}
_STATUS = re.compile(
    r"(?:HTTP(?:/[\d.]+)?\s+|.*\bClientResponseError:\s*|status[ :=]+)?([45]\d\d)\b"
)
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?=:|\s*$)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one request, and how we know.

    `note` counts what the result does not say openly: `short`, `clamped` or `retokenised`.
    """

    outcome: Outcome
    basis: OutcomeBasis
    reason: str | None = None
    http_status: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many output tokens each request had to produce, and what can be told from a count.

    Parameters
    ----------
    expected
        Tokens each request must produce; empty where nothing forces a length.
    tokens_per_chunk
        Upper bound (95th percentile) over the requests whose count can be trusted.
    context_limit
        Tokens of prompt and output together at which the server ends an answer.
    """

    expected: tuple[int | None, ...] = ()
    tokens_per_chunk: float = 1.0
    context_limit: int | None = None

    def of(self, row: int) -> int | None:
        """Return the tokens a request must produce, if that is known."""
        return self.expected[row] if self.expected else None


def successes(bench: Bench) -> list[bool]:
    """Return what the tool itself counts as a success.

    Older versions also count a 200 without content; the file's own total tells which.
    """
    silent = [error == "" for error in bench.errors]
    answered = [quiet and bench.answered(row) for row, quiet in enumerate(silent)]
    total = bench.scalars.get("completed")
    return silent if total == sum(silent) and total != sum(answered) else answered


def lengths(
    bench: Bench,
    planned: list[Planned] | None,
    forced: bool | None,
    context_limit: int | None,
) -> Lengths:
    """Work out the forced output lengths.

    `forced` is None where no command says; then they are if half of the successes hit theirs.
    """
    if planned is None or forced is False:
        return Lengths(context_limit=context_limit)
    expected = tuple(plan.output_tokens for plan in planned)
    rows = [row for row, ok in enumerate(successes(bench)) if ok]
    exact = [row for row in rows if expected[row] and bench.output_lens[row] == expected[row]]
    if forced is None and (not exact or 2 * len(exact) < len(rows)):
        return Lengths(context_limit=context_limit)
    ratios = [(expected[row] or 0) / bench.n_chunks(row) for row in exact]
    per_chunk = float(np.percentile(ratios, 95)) if ratios else 1.0
    return Lengths(expected, per_chunk, context_limit)


def judge(bench: Bench, row: int, known: Lengths) -> Verdict:
    """Decide what became of one request."""
    error = bench.errors[row]
    if error:
        outcome, status = classify_error(error)
        return Verdict(outcome, OutcomeBasis.STATED, last_line(error), status)
    if not bench.answered(row):
        return Verdict(
            Outcome.FAILED, OutcomeBasis.INFERRED, "no content received and no error recorded"
        )
    return _judge_answer(bench, row, known)


def _judge_answer(bench: Bench, row: int, known: Lengths) -> Verdict:
    expected, counted = known.of(row), bench.output_lens[row] or 0
    if expected is None:
        return _COMPLETED if counted else _short("0 output tokens; no error recorded")
    if counted == expected:
        return _COMPLETED
    chunks = bench.n_chunks(row)
    if counted > expected:
        if math.ceil(chunks * known.tokens_per_chunk) >= expected:
            return _RETOKENISED
        return _short(
            f"{chunks} chunks of about {brief(known.tokens_per_chunk)} tokens cannot hold the "
            f"{expected} output tokens asked for (the tool counts {counted} in the text); no "
            "error recorded"
        )
    if chunks - bench.is_chat >= expected:
        return _RETOKENISED
    prompt = bench.input_lens[row] or 0
    if known.context_limit is not None and prompt + counted >= known.context_limit:
        return _CLAMPED
    return _short(f"{counted} of {expected} output tokens; no error recorded")


_COMPLETED = Verdict(Outcome.COMPLETED, OutcomeBasis.STATED)
_RETOKENISED = Verdict(Outcome.COMPLETED, OutcomeBasis.INFERRED, note="retokenised")
_CLAMPED = Verdict(
    Outcome.COMPLETED,
    OutcomeBasis.INFERRED,
    "the answer ends at the context limit",
    note="clamped",
)


def _short(reason: str) -> Verdict:
    return Verdict(Outcome.TRUNCATED, OutcomeBasis.INFERRED, reason, note="short")


def classify_error(text: str) -> tuple[Outcome, int | None]:
    """Tell from the tool's error text how a request left, and with which HTTP status.

    The text is a reason phrase, a message of the tool's own, or a whole traceback.

    Examples
    --------
    >>> classify_error("Too Many Requests")
    (<Outcome.REJECTED: 'rejected'>, 429)
    """
    line = last_line(text)
    status = _http_status(line)
    if status is not None:
        return of_status(status), status
    return of_exception(_exception(line)), None


def _http_status(line: str) -> int | None:
    named = _PHRASES.get(line.rstrip(".").lower())
    if named is not None:
        return named if named >= 400 else None
    numbered = _STATUS.match(line)
    return int(numbered.group(1)) if numbered else None


def _exception(line: str) -> str:
    """Return the class an exception's line names; a traceback in one line ends with it."""
    if line.startswith("Traceback"):
        return line.split()[-1].rpartition(".")[2]
    match = _EXCEPTION.match(line)
    return match.group(1) if match else ""
