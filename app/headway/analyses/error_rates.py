"""How often is a verdict about traffic wrong? Measured on simulated servers, for the Methods page.

The rows are written by `benchmarks/simulate.py --write`; docs/error-rates.md says how they came
about and what they mean.
"""

from dataclasses import dataclass

SEED = 20_261_129
NOMINAL = 0.05


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Rates of one simulated server, run length and target, each a share of the repeats.

    At the boundary, where the long-run share equals the target: `attained` is the mean share of
    the runs; the three false accepts are those of Headway, of the exact interval that takes
    requests as independent, and of MLPerf's early stopping; then Headway's false rejects, how often
    its interval (one-sided 95% each way) covers the target, and how often the 95% interval of the
    percentile covers the long-run percentile. `accepts_above` is at a fifth of the misses that the
    target allows, `rejects_below` at three times as many. `n_eff` is the median, `acceptable` the
    share of repeats with enough effective requests to accept anything, and `flagged` the share
    called not steady.
    """

    server: str
    n: int
    target: float
    repeats: int
    attained: float
    false_accept: float
    naive_false_accept: float
    early_stopping_false_accept: float
    false_reject: float
    coverage: float
    percentile_coverage: float
    accepts_above: float
    rejects_below: float
    n_eff: float
    acceptable: float
    flagged: float

    @property
    def vacuous(self) -> bool:
        """Whether no repeat had enough effective requests to accept anything."""
        return self.acceptable == 0


# fmt: off
RATES: tuple[ErrorRate, ...] = ()
# fmt: on
