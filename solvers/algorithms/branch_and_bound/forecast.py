"""How long a depth-first search will still take, beside a search with triangle inequalities from the root.

A depth-first search returns to shallower and shallower nodes. While the number of handled nodes
doubles, the shallowest node that it returns to rises by some levels. If it rises by as many with
every further doubling, the search ends after 2^(depth / rise) times the nodes so far. Measured on
QPLIB 5882 (n = 150) and dense normal scores (n = 140), this is within a factor of two of the truth
after a sixth of the search; before, it is far too large.
"""

from __future__ import annotations

import math
import time

STRONG_SECONDS = 1.5e-6
"""Of a search with triangle inequalities, in units of n^3, where the root has a gap of `REFERENCE_GAP`."""

REFERENCE_GAP, GROWTH = 1.75, 4.5
"""In mean d_i, and by how much the logarithm of that time grows with each unit of the gap.

Measured for n = 90 to 150, in microseconds: 3 and 4 at 1.75, 8 at 1.89, 14 at 1.97, 22 at 2.17.
Since then the kernels take 0.4 of their time, measured for whole trees of n = 60 and 70, which
`STRONG_SECONDS` contains.
"""

MOST_LOGARITHM = 60.0
"""Of a factor: beyond it a search is taken to have no end."""


class Forecast:
    """Two forecasts for one instance, in seconds of this thread's CPU time.

    Args:
        n: number of variables.
        gap: of the root, in mean d_i.
        calls: of the depth-first search after which the two are compared first.
    """

    def __init__(self, n: int, gap: float, calls: int) -> None:
        growth = min(MOST_LOGARITHM, GROWTH * (gap - REFERENCE_GAP))
        self.strong = STRONG_SECONDS * n**3 * math.exp(growth)
        self._due, self._depths = calls, list[int]()
        self._begin = time.thread_time()

    @property
    def is_due(self) -> bool:
        """Whether it is time to compare the two."""
        return len(self._depths) >= self._due

    def note(self, depth: int) -> None:
        """Add a call of the depth-first search, which handles equally many nodes as any other and ends at `depth`."""
        self._depths.append(depth)

    @property
    def factor(self) -> float:
        """How many times the calls so far are still to come; infinite where the search has not risen."""
        half = len(self._depths) // 2
        if half < 2:
            return math.inf
        now = min(self._depths[half:])
        before = min(self._depths[half // 2 : half])
        if now >= before or now > MOST_LOGARITHM * (before - now):
            return math.inf
        return float(2.0 ** (now / (before - now)) - 1.0)

    def depth_first_ends_sooner(self, seconds_left: float) -> bool:
        """Return whether the depth-first search will end before the other one would, and within `seconds_left`.

        The next comparison is due when the calls have doubled.
        """
        self._due = max(1, 2 * len(self._depths))
        remaining = self.factor * (time.thread_time() - self._begin)
        return remaining <= min(self.strong, seconds_left)
