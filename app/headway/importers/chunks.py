"""What the chunks of a stream say, and do not say, of its tokens."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headway.model import Finding, Severity
from headway.numbers import brief

_NEAR_ZERO_US = 100
_NEAR_ZERO_SHARE = 0.05


@dataclass(slots=True)
class ChunkCounts:
    """Running counts over completed answers, to be held against their tokens at the end."""

    n_answers: int = 0
    n_differing: int = 0
    n_chunks: int = 0
    n_tokens: int = 0
    n_gaps: int = 0
    n_near_zero: int = 0

    def add(self, gaps_us: npt.ArrayLike, n_tokens: int | None) -> None:
        """Count one answer by the gaps between its chunks and its tokens, 0 if not recorded."""
        gaps = np.asarray(gaps_us)
        self.n_answers += 1
        self.n_differing += len(gaps) + 1 != n_tokens
        self.n_chunks += len(gaps) + 1
        self.n_tokens += n_tokens or 0
        self.n_gaps += len(gaps)
        self.n_near_zero += int(np.count_nonzero(gaps < _NEAR_ZERO_US))

    def add_all(
        self, gaps_us: npt.ArrayLike, counts: npt.NDArray[np.int64], n_tokens: npt.NDArray[np.int64]
    ) -> None:
        """Count answers by their gaps, end to end, how many each has, and its tokens.

        Tokens that are not recorded are below 0.
        """
        gaps = np.asarray(gaps_us)
        self.n_answers += len(counts)
        self.n_differing += int((counts + 1 != n_tokens).sum())
        self.n_chunks += len(gaps) + len(counts)
        self.n_tokens += int(n_tokens[n_tokens > 0].sum())
        self.n_gaps += len(gaps)
        self.n_near_zero += int(np.count_nonzero(gaps < _NEAR_ZERO_US))

    def findings(self) -> Iterator[Finding]:
        """Yield what a reader of the gaps has to know."""
        if self.n_differing and self.n_tokens:
            yield Finding(
                "chunks_not_tokens",
                Severity.INFO,
                self.n_differing,
                f"{self.n_differing} of {self.n_answers} answers have another number of chunks "
                f"than of tokens ({brief(self.n_tokens / self.n_chunks)} tokens per chunk "
                "overall): gaps are between chunks, not tokens",
            )
        if self.n_near_zero > _NEAR_ZERO_SHARE * self.n_gaps:
            yield Finding(
                "near_zero_gaps",
                Severity.INFO,
                self.n_near_zero,
                f"{self.n_near_zero} of {self.n_gaps} gaps are under 0.1 ms: several chunks "
                "arrived in one read, which pulls gap percentiles down",
            )
