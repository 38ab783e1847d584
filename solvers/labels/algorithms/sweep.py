"""Values that steps of an elimination pass upwards, kept for a later downward pass.

A downward pass needs the values that each step got from its children. If these take too much
memory, the steps form segments. Values that pass from one segment to a later one are kept. The
other values are computed again in the downward pass, segment by segment. So s segments cost one
more upward pass, and need the memory of about one s-th of the values.

References:
    Chen, Xu, Zhang, Guestrin (2016), Training deep nets with sublinear memory cost.
    Zweig, Padmanabhan (2000), Exact alpha-beta computation in logarithmic space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic

from typing_extensions import TypeVar

from .buckets import Buckets

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Sweep(Generic[T]):
    """Values of all steps, some of which are kept.

    Attributes:
        buckets: the steps.
        segments: consecutive ranges of steps; with a single range, all values are kept.
        of_step: returns the value of a step, from the values of its children.
        values: the values of the steps that are kept.
    """

    buckets: Buckets
    segments: tuple[range, ...]
    of_step: Callable[[int, dict[int, T]], T]
    values: dict[int, T]

    @classmethod
    def up(
        cls,
        buckets: Buckets,
        segments: tuple[range, ...],
        of_step: Callable[[int, dict[int, T]], T],
    ) -> Sweep[T]:
        """Return the values of one upward pass."""
        sweep = cls(buckets, segments, of_step, {})
        for segment in segments:
            passing: dict[int, T] = {}
            for t in segment:
                value = of_step(t, sweep._below(t, passing))
                # A message has one reader, so it is freed once it was read.
                for child in buckets.steps[t].children:
                    passing.pop(child, None)
                target = passing
                if sweep._is_kept(t, segment):
                    target = sweep.values
                target[t] = value
        return sweep

    def roots(self) -> list[T]:
        """Return the values that no step reads."""
        return [self.values[t] for t, reader in enumerate(self.buckets.readers) if reader < 0]

    def emptied(self) -> Sweep[T | None]:
        """Return the same sweep with None for every value."""
        values: dict[int, T | None] = dict.fromkeys(range(len(self.buckets.steps)))
        return Sweep(self.buckets, self.segments, _nothing, values)

    def down(self) -> Iterator[tuple[int, dict[int, T]]]:
        """Yield each step with the values of its children, the last step first."""
        for segment in reversed(self.segments):
            again: dict[int, T] = {}
            # Values that were not kept are computed again, one segment at a time.
            for t in segment:
                if not self._is_kept(t, segment):
                    again[t] = self.of_step(t, self._below(t, again))
            for t in reversed(segment):
                yield t, self._below(t, again)
                for child in self.buckets.steps[t].children:
                    again.pop(child, None)

    def _is_kept(self, t: int, segment: range) -> bool:
        return len(self.segments) == 1 or self.buckets.readers[t] not in segment

    def _below(self, t: int, passing: dict[int, T]) -> dict[int, T]:
        """Return the values of a step's children."""
        below = {}
        for child in self.buckets.steps[t].children:
            source = passing
            if child not in passing:
                source = self.values
            below[child] = source[child]
        return below


def _nothing(t: int, below: object) -> None:
    """Return the value of a step of an emptied sweep."""
