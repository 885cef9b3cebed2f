"""What the importer of AIPerf noticed: what was put right, and what the files cannot say."""

from collections.abc import Iterator

from headway.importers import aiperf_files, aiperf_report
from headway.importers.aiperf_files import Beside, Count
from headway.importers.aiperf_phase import Measured
from headway.importers.source import Source
from headway.importers.wording import counted
from headway.model import Finding, OfferedBasis, Severity

_ROUNDED_ABOVE_S = 5.0


def of_rows(phase: Measured, n_damaged: int) -> Iterator[Finding]:
    """Yield what single rows showed."""
    if n_damaged:
        yield Finding(
            "damaged_lines",
            Severity.WARNING,
            n_damaged,
            f"{counted(n_damaged, 'line')} passed over, not being a whole record; a request whose "
            "number is missing is unaccounted",
        )
    if phase.n_broken_off:
        yield Finding(
            "short_success",
            Severity.WARNING,
            phase.n_broken_off,
            f"the tool counts {counted(phase.n_source_success, 'success', 'successes')}, "
            f"{phase.n_broken_off} of which broke off, with an error event or without the end of "
            f"the stream: Headway completes {phase.n_source_success - phase.n_broken_off}",
        )
    if phase.n_shifted:
        yield Finding(
            "cancelled_start_shifted",
            Severity.INFO,
            phase.n_shifted,
            f"{counted(phase.n_shifted, 'row')} of cancelled requests with the cancellation as "
            "start: sent is when the credit was issued, ended is that cancellation",
        )
    yield from _timeouts(phase)
    yield from phase.chunks.findings()
    yield from _lengths(phase)


def _lengths(phase: Measured) -> Iterator[Finding]:
    if phase.n_short:
        yield Finding(
            "short_answers",
            Severity.INFO,
            phase.n_short,
            f"{counted(phase.n_short, 'answer')} shorter than was asked for, and whole: the server "
            "ended early",
        )
    if phase.n_disagree:
        yield Finding(
            "token_counts_disagree",
            Severity.WARNING,
            phase.n_disagree,
            f"{phase.n_disagree} of {phase.n_counts} answers have output counts of tool and "
            f"server more than 1 apart (in all {phase.n_tool_tokens} and {phase.n_server_tokens} "
            "tokens); this run takes the "
            f"{'server' if phase.token_basis().endswith('count') else 'tool'}'s, "
            "--set token_counter=tool or server chooses",
        )


def _timeouts(phase: Measured) -> Iterator[Finding]:
    if phase.n_past_deadline:
        yield Finding(
            "timeouts_end_at_deadline",
            Severity.INFO,
            phase.n_past_deadline,
            f"{counted(phase.n_past_deadline, 'row')} of timed-out requests with the last event as "
            "end: ended is the client's deadline where the configuration states one",
        )
    if phase.n_partial:
        yield Finding(
            "partial_answers",
            Severity.INFO,
            phase.n_partial,
            f"{counted(phase.n_partial, 'request')} without a whole answer and with the time of "
            f"the first token from {aiperf_files.DIGEST}; the gaps are not recorded",
        )


def of_run(source: Source, beside: Beside, phase: Measured) -> Iterator[Finding]:
    """Yield what the files as a whole show, or cannot say."""
    _, basis = phase.offered()
    count = beside.counts.get(phase.phase_name, Count())
    if phase.n_cut_off:
        yield Finding(
            "in_flight_dropped",
            Severity.WARNING,
            phase.n_cut_off,
            f"{counted(phase.n_cut_off, 'request')} open when the phase ended, without a record: "
            "counted in the log, not in the tool's totals",
        )
    if basis is OfferedBasis.ROWS and count.n_sent is None:
        yield Finding(
            "offered_lower_bound",
            Severity.WARNING,
            1,
            "AIPerf writes no record of requests that are open at the end, and no log or "
            f"configuration beside the records tells how many: {phase.n_rows} offered is a lower "
            "bound; import the folder with its logs/aiperf.log",
        )
    yield from _unexplained(phase)
    if phase.is_load_inferred:
        yield _load_inferred(source)
    missing = aiperf_files.not_run(source)
    if missing:
        yield Finding(
            "cells_not_run",
            Severity.WARNING,
            len(missing),
            f"{counted(len(missing), 'cell')} of this sweep declared and not run: "
            f"{', '.join(missing[:10])}",
        )
    deadline_s = aiperf_report.deadline_s(beside)
    if deadline_s is not None and deadline_s > _ROUNDED_ABOVE_S and phase.n_past_deadline:
        yield _rounding(deadline_s)


def _unexplained(phase: Measured) -> Iterator[Finding]:
    if phase.n_unaccounted:
        yield Finding(
            "rows_missing",
            Severity.ERROR,
            phase.n_unaccounted,
            f"{counted(phase.n_unaccounted, 'request')} offered, without a record",
        )
    if phase.is_plan_ignored:
        yield Finding(
            "plan_ignored",
            Severity.WARNING,
            1,
            f"{aiperf_files.PLAN} was not used: it lacks requests of the records, or spans another "
            "time; expected the schedule as it was replayed",
        )


def _load_inferred(source: Source) -> Finding:
    return Finding(
        "load_inferred",
        Severity.WARNING,
        1,
        f"no {aiperf_files.Names.of(source.path).totals()} beside the records says how requests "
        "were offered; told from the times of the credits. --set load.kind and load.declared_rps "
        "or load.concurrency state it",
    )


def _rounding(deadline_s: float) -> Finding:
    return Finding(
        "deadline_rounded",
        Severity.INFO,
        1,
        f"the client's deadline is {deadline_s:g} s; its HTTP library rounds deadlines above 5 s "
        "up to a whole second of its own clock, so an answer can complete a little later",
    )
