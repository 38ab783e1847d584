"""The base of spaces whose states are the paths of a graph."""

from __future__ import annotations

from abc import ABC

import torch

from .checks.batches import shaped
from .checks.scores import masked
from .paths import Paths
from .space import StateSpace
from .sums.distribution import StructureGibbs


class SpaceOfPaths(StateSpace, ABC):
    """A space whose states are the paths of a graph: argmax and sums are those of the paths.

    A subclass sets `_paths`, whose arcs are the entries of its scores, in this order.
    """

    _paths: Paths

    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return a state of highest score `[..., batch, dimension]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, dimension]`, made by `scores`.
            mask: boolean, False where an entry must be 0.

        Raises:
            StructureError: the scores are not a tensor of scores of that shape, or forbid every
                state of an instance.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        scores = masked(scores, mask)
        return shaped(self._paths._best_paths(scores), scores, self)

    def gibbs(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> StructureGibbs:
        """Return the Gibbs distribution of scores; using it raises as `argmax` does."""
        return self._paths.gibbs(scores, mask)
