"""Limits on the command line: the options."""

from collections.abc import Callable

import click

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
