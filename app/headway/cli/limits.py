"""Options of the command line that state an objective."""

from collections.abc import Callable

import click

_DEMANDS = {
    "--repeats": "Share of runs of one workload that must meet the objective; 0.5 unless declared.",
    "--spell-s": "Longest spell of common trouble, in seconds, that an acceptance must cover.",
}
_LIMITS = {
    "--ttft-ms": "Largest acceptable TTFT.",
    "--tpot-ms": "Largest acceptable mean time per output token.",
    "--stall-ms": "Longest acceptable stall; instead of --tpot-ms.",
    "--latency-ms": "Largest acceptable completion latency.",
}


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the four limits an objective can have, in milliseconds."""
    for name, meaning in reversed(_LIMITS.items()):
        command = click.option(name, type=float, help=meaning)(command)
    return command


def demand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add what an acceptance must show beyond the limits."""
    for name, meaning in reversed(_DEMANDS.items()):
        command = click.option(name, type=float, help=meaning)(command)
    return command
