"""Commands run in this process, for tests of what they print and how they end."""

import json
from typing import Any

from click.testing import CliRunner, Result

from headway.cli import main

# What a run's entry in `headway summary` says, whatever the run recorded.
SUMMARY_KEYS = {
    "run_id",
    "policy",
    "load",
    "origin_used",
    "n_offered",
    "outcomes",
    "window",
    "completed_rps",
    "goodput_rps",
    "output_tokens_per_s",
    "input_tokens_per_s",
    "total_tokens_per_s",
    "tokens_of",
    "basis_why",
    "n_without_instant",
    "metrics",
    "tool",
}


def headway(*arguments: object, exit_code: int = 0) -> Result:
    """Run a command, which must end with this exit code."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == exit_code, result.output
    return result


def document(*arguments: object, exit_code: int = 0) -> Any:
    """Return the one JSON document that stdout must be."""
    return json.loads(headway(*arguments, "--json", exit_code=exit_code).stdout)
