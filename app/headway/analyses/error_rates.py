"""How often is a verdict about traffic wrong? Measured on simulated servers, for the Methods page.

The rows are written by `benchmarks/simulate.py --write`; docs/error-rates.md says how they came
about and what they mean.
"""

import math
from dataclasses import dataclass

SEED = 20_261_129
NOMINAL = 0.05
TOLERATED = 0.055


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
    def exceeds(self) -> bool:
        """Whether false accepts are above 5.5% by more than two standard errors."""
        variance = TOLERATED * (1 - TOLERATED) / self.repeats
        return self.false_accept > TOLERATED + 2 * math.sqrt(variance)

    @property
    def vacuous(self) -> bool:
        """Whether no repeat had enough effective requests to accept anything."""
        return self.acceptable == 0


@dataclass(frozen=True, slots=True)
class ReplicatedRate:
    """Error rates of the claims that rest on replicates, with a machine that varies by 2%.

    `p50_differs` and the like: how often a percentile seems to differ between two sets of
    replicates of one policy, at 5%. `false_accept` and `false_reject`: how often replicates accept
    or reject a target that their workload attains exactly, on average over the machine's variation;
    5% each.
    """

    load: float
    replicates: int
    repeats: int
    p50_differs: float
    p90_differs: float
    p99_differs: float
    false_accept: float
    false_reject: float


# replicates {
REPLICATED: tuple[ReplicatedRate, ...] = (
    ReplicatedRate(0.7, 3, 2000, 0.0315, 0.029, 0.0295, 0.0655, 0.0435),
    ReplicatedRate(0.7, 5, 2000, 0.0485, 0.048, 0.044, 0.075, 0.046),
    ReplicatedRate(0.9, 3, 2000, 0.0375, 0.036, 0.036, 0.154, 0.03),
    ReplicatedRate(0.9, 5, 2000, 0.04, 0.041, 0.0395, 0.1365, 0.0245),
)
# }

# fmt: off
RATES: tuple[ErrorRate, ...] = (
    ErrorRate(
        "M/G/1, load 0.8", 1000, 0.9, 4000, 0.899, 0.0512,
        0.52, 0.5048, 0.0288, 0.9197, 0.9087, 0.1305, 0.6997, 19.5, 0.1338, 0.0165,
    ),
    ErrorRate(
        "M/G/1, load 0.8", 1000, 0.95, 4000, 0.9488, 0.0115,
        0.5813, 0.5677, 0.029, 0.9593, 0.9605, 0.0132, 0.3125, 19.9, 0.0135, 0.0165,
    ),
    ErrorRate(
        "M/G/1, load 0.8", 1000, 0.99, 4000, 0.9897, 0.0,
        0.7945, 0.7857, 0.0192, 0.9808, 0.986, 0.0, 0.0785, 20.2, 0.0, 0.0165,
    ),
    ErrorRate(
        "M/G/1, load 0.8", 4000, 0.9, 4000, 0.8999, 0.0343,
        0.4688, 0.4507, 0.0145, 0.9513, 0.9433, 0.429, 0.987, 46.3, 0.5923, 0.008,
    ),
    ErrorRate(
        "M/G/1, load 0.8", 4000, 0.95, 4000, 0.95, 0.0325,
        0.5038, 0.4918, 0.0118, 0.9557, 0.9475, 0.159, 0.727, 45.8, 0.1807, 0.008,
    ),
    ErrorRate(
        "M/G/1, load 0.8", 4000, 0.99, 4000, 0.9902, 0.0005,
        0.6448, 0.6342, 0.0077, 0.9918, 0.9958, 0.0008, 0.1055, 48.0, 0.0008, 0.008,
    ),
    ErrorRate(
        "G/G/16, load 0.8, bursty", 1000, 0.9, 4000, 0.9014, 0.0285,
        0.5995, 0.591, 0.053, 0.9183, 0.919, 0.035, 0.4965, 13.9, 0.0355, 0.0353,
    ),
    ErrorRate(
        "G/G/16, load 0.8, bursty", 1000, 0.95, 4000, 0.9514, 0.0008,
        0.6875, 0.6767, 0.0465, 0.9527, 0.9653, 0.0008, 0.2455, 14.0, 0.0008, 0.0353,
    ),
    ErrorRate(
        "G/G/16, load 0.8, bursty", 1000, 0.99, 4000, 0.9896, 0.0,
        0.8788, 0.875, 0.0222, 0.9778, 0.981, 0.0, 0.071, 14.0, 0.0, 0.0353,
    ),
    ErrorRate(
        "G/G/16, load 0.8, bursty", 4000, 0.9, 4000, 0.901, 0.0432,
        0.5295, 0.518, 0.0173, 0.9393, 0.93, 0.2362, 0.8932, 27.4, 0.2635, 0.0118,
    ),
    ErrorRate(
        "G/G/16, load 0.8, bursty", 4000, 0.95, 4000, 0.9509, 0.0227,
        0.5763, 0.5685, 0.0143, 0.9627, 0.9587, 0.044, 0.4268, 27.5, 0.0445, 0.0118,
    ),
    ErrorRate(
        "G/G/16, load 0.8, bursty", 4000, 0.99, 4000, 0.9899, 0.0,
        0.7442, 0.7378, 0.0107, 0.9892, 0.995, 0.0, 0.0698, 28.0, 0.0, 0.0118,
    ),
    ErrorRate(
        "M/G/32, load 0.9", 1000, 0.9, 4000, 0.9005, 0.0067,
        0.6647, 0.6567, 0.0788, 0.9145, 0.9247, 0.007, 0.3935, 11.3, 0.007, 0.0573,
    ),
    ErrorRate(
        "M/G/32, load 0.9", 1000, 0.95, 4000, 0.9495, 0.0,
        0.765, 0.762, 0.0648, 0.9353, 0.949, 0.0, 0.217, 11.3, 0.0, 0.0573,
    ),
    ErrorRate(
        "M/G/32, load 0.9", 1000, 0.99, 4000, 0.9906, 0.0,
        0.9307, 0.9295, 0.0203, 0.9798, 0.982, 0.0, 0.0678, 11.3, 0.0, 0.0573,
    ),
    ErrorRate(
        "M/G/32, load 0.9", 4000, 0.9, 4000, 0.8991, 0.0405,
        0.5707, 0.5627, 0.0348, 0.9247, 0.9183, 0.0865, 0.6585, 17.9, 0.0865, 0.0162,
    ),
    ErrorRate(
        "M/G/32, load 0.9", 4000, 0.95, 4000, 0.949, 0.0077,
        0.633, 0.6288, 0.0323, 0.96, 0.9685, 0.0083, 0.286, 18.0, 0.0083, 0.0162,
    ),
    ErrorRate(
        "M/G/32, load 0.9", 4000, 0.99, 4000, 0.9897, 0.0,
        0.8375, 0.8353, 0.022, 0.978, 0.985, 0.0, 0.0678, 18.1, 0.0, 0.0162,
    ),
    ErrorRate(
        "continuous batching, load 0.8", 1000, 0.9, 4000, 0.8993, 0.0005,
        0.5495, 0.536, 0.0302, 0.9692, 0.9768, 0.001, 0.4402, 11.3, 0.001, 0.0135,
    ),
    ErrorRate(
        "continuous batching, load 0.8", 1000, 0.95, 4000, 0.9497, 0.0,
        0.627, 0.6135, 0.0245, 0.9755, 0.98, 0.0, 0.2203, 11.3, 0.0, 0.0135,
    ),
    ErrorRate(
        "continuous batching, load 0.8", 1000, 0.99, 4000, 0.9899, 0.0,
        0.5673, 0.4705, 0.012, 0.988, 0.9892, 0.0, 0.0542, 11.3, 0.0, 0.0135,
    ),
    ErrorRate(
        "continuous batching, load 0.8", 4000, 0.9, 4000, 0.9008, 0.0053,
        0.4878, 0.4753, 0.0073, 0.9875, 0.9822, 0.0835, 0.8347, 24.6, 0.1465, 0.0002,
    ),
    ErrorRate(
        "continuous batching, load 0.8", 4000, 0.95, 4000, 0.9506, 0.0,
        0.5215, 0.5092, 0.0053, 0.9948, 0.9942, 0.0065, 0.4377, 24.7, 0.0127, 0.0002,
    ),
    ErrorRate(
        "continuous batching, load 0.8", 4000, 0.99, 4000, 0.9902, 0.0,
        0.634, 0.6092, 0.0037, 0.9962, 0.998, 0.0, 0.0488, 24.8, 0.0, 0.0002,
    ),
)
# fmt: on
