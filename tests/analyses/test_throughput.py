"""A higher load that buys tokens with requests that nobody would accept."""

from pathlib import Path

from headway import record
from headway.analyses import acceptance, envelope, throughput
from headway.analyses.acceptance import Asked
from headway.analyses.throughput import Trade
from headway.model import Load, LoadKind, Objective, Selection
from libraries import make_run, offered, open_runs

TTFT = Objective(ttft_ms=200, attainment=0.9)


def at(rps: float, n_met: int, *, place: int = 0, output_tokens: int = 10) -> record.Run:
    """Return a run of 40 requests at a load, n_met of which met."""
    every_us = round(1_000_000 / rps)
    rows = offered(40, n_met, every_us=every_us, jitter_us=round(rps) + place)
    for row in rows:
        row["output_tokens"] = output_tokens
    load = Load(LoadKind.OPEN, declared_rps=rps)
    return make_run(rows, f"r{rps:g}-{place}", load=load, source_sha256=f"{place:064}")


def trades(folder: Path, *runs: record.Run) -> list[Trade]:
    opened = open_runs(folder, *runs)
    selection = Selection(tuple(run.run_id for run in opened.of_study("study")))
    judged = acceptance.judge(opened, selection, TTFT)
    found = envelope.envelopes(opened, judged, Asked.RUN)
    return throughput.trades(opened, selection, found)


def test_each_load_is_divided_by_what_it_was_offered_itself(tmp_path: Path) -> None:
    """Three replicates at 5 req/s, 120 of 120; one run at 10 req/s, 30 of 40."""
    low = [at(5, 40, place=place) for place in range(3)]
    (trade,) = trades(tmp_path, *low, at(10, 30))
    assert (trade.low, trade.high) == (5, 10)
    assert (trade.share_low, trade.share_high) == (1.0, 0.75)
    assert trade.makespan_change > 0.5


def test_a_step_that_loses_nothing_is_no_trade(tmp_path: Path) -> None:
    assert trades(tmp_path, at(5, 40), at(10, 40)) == []


def test_a_step_that_buys_no_tokens_is_no_trade(tmp_path: Path) -> None:
    assert trades(tmp_path, at(5, 40), at(10, 30, output_tokens=1)) == []
