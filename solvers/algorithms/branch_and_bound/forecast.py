"""Forecast how long a depth-first search will still take, and a search by triangle inequalities.

A depth-first search returns to shallower and shallower nodes. While the number of handled nodes
doubles, the shallowest node that it returns to rises by some levels. If every further doubling
raises it by as many levels, the search ends after 2^(depth / rise) times the nodes so far. After a
sixth of the search, this forecast is within a factor of two of the truth; before that, it is far
too large. This was measured on QPLIB 5882 (n = 150) and on dense normal scores (n = 140).

A search that ends soon has a factor that falls at each doubling. If it does not fall, the search
will not end soon: on QPLIB 5721 (n = 299), the factor stays between 2 and 20 for 100 s.
"""

from __future__ import annotations

import math
import time

STRONG_SECONDS = 1.2e-7
"""Time of a depth-first search with triangle inequalities, per n^3, at a gap of `REFERENCE_GAP`.

Measured for four instances of n = 150 with normal scores:

| gap in mean d_i | seconds |
|---|---|
| 1.7 | 0.2 |
| 1.9 | 1.3 |
| 2.1 | 0.6 |
| 2.2 | 3.1 |
"""

BEST_FIRST_SECONDS = 1.5e-6
"""Time of a best-first search with triangle inequalities, per n^3, at a gap of `REFERENCE_GAP`.

Measured for n = 90 to 150.
"""

REFERENCE_GAP = 1.75
"""Gap of the root, in mean d_i, to which these times refer."""

GROWTH = 4.5
"""Growth of the logarithm of these times for each unit of the gap."""

LEAST_GAP = 1.4
"""Gap below which the time of a search by triangle inequalities does not fall any further."""

MOST_LOGARITHM = 60.0
"""Logarithm of the factor beyond which a search counts as endless."""


class Forecast:
    """Two forecasts for one instance, in seconds of the searching thread's CPU time.

    Args:
        n: number of variables.
        calls: number of calls of the depth-first search before the first comparison.
    """

    def __init__(self, n: int, calls: int) -> None:
        self._n = n
        self._due = calls
        self._depths: list[int] = []
        self._compared = 0
        self._last_factor = math.inf
        self._falls = False
        self._seconds = 0.0
        self.resume()

    def resume(self) -> None:
        """Continue to count seconds, those of the present thread."""
        self._since = time.thread_time()

    @property
    def seconds(self) -> float:
        """Seconds of the depth-first search so far."""
        return self._seconds

    @property
    def calls(self) -> int:
        """Number of calls of the depth-first search so far."""
        return len(self._depths)

    @property
    def is_due(self) -> bool:
        """Whether it is time to compare the two forecasts."""
        return self.calls >= self._due

    def note(self, depth: int) -> None:
        """Add a call of the depth-first search, which ended at `depth`.

        All calls handle equally many nodes.
        """
        self._depths.append(depth)
        now = time.thread_time()
        self._seconds += now - self._since
        self._since = now

    @property
    def factor(self) -> float:
        """Ratio of the remaining calls to the calls so far; infinite until the search rises."""
        half = len(self._depths) // 2
        if half < 2:
            return math.inf
        now = min(self._depths[half:])
        before = min(self._depths[half // 2 : half])
        if now >= before or now > MOST_LOGARITHM * (before - now):
            return math.inf
        return float(2.0 ** (now / (before - now)) - 1.0)

    def seconds_by_triangles(self, gap: float) -> float:
        """Return how long a search by triangle inequalities takes, from the gap in mean d_i."""
        return STRONG_SECONDS * _work(self._n, gap)

    def depth_first_ends_sooner(self, gap: float, seconds_left: float) -> bool:
        """Return whether the depth-first search will end before the other, within `seconds_left`.

        The next comparison is due when the calls have doubled.

        Args:
            gap: the gap between the bound of the root and the incumbent, in mean d_i.
            seconds_left: the time left, in seconds.
        """
        self._due = max(1, 2 * self.calls)
        # Without a call since the last comparison, only the time left has changed.
        if self.calls > self._compared:
            self._compared = self.calls
            factor = self.factor
            self._falls = factor < self._last_factor
            self._last_factor = factor
        remaining = self._last_factor * self._seconds
        return self._falls and remaining <= min(self.seconds_by_triangles(gap), seconds_left)


def seconds_best_first(n: int, gap: float) -> float:
    """Return how long a best-first search by triangle inequalities takes."""
    return BEST_FIRST_SECONDS * _work(n, gap)


def _work(n: int, gap: float) -> float:
    """Return n^3, times the growth of a search with the gap of its root in mean d_i."""
    growth = GROWTH * (max(gap, LEAST_GAP) - REFERENCE_GAP)
    return n**3 * math.exp(min(MOST_LOGARITHM, growth))
