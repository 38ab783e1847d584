"""Which labels count in sums and argmaxes, and how much each instance weighs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ..crfs import TagRules
from .instances import Group, Instances


@dataclass(frozen=True, eq=False)
class Scope:
    """Restrictions on the labels of instances, and weights of the instances.

    Attributes:
        weights: `[instances]`; None for ones.
        possible: `[nodes, k]`, False where a node cannot have a label; None for all labels.
        rules: which labels of chains may follow each other; None for all.
    """

    weights: np.ndarray | None = None
    possible: np.ndarray | None = None
    rules: TagRules | None = None

    def unary(self, instances: Instances, unary: np.ndarray) -> np.ndarray:
        """Return the scores `[nodes, k]` with minus infinity for labels that do not count."""
        scores = unary
        if self.possible is not None:
            scores = np.where(self.possible, scores, -np.inf)
        return self._by_rules(scores, instances.offsets[:-1], instances.offsets[1:] - 1)

    def unary_of(self, group: Group, unary: np.ndarray) -> np.ndarray:
        """Return the scores `[batch * n, k]` of a group with minus infinity by the rules."""
        n = group.nodes.shape[1]
        first = np.arange(0, len(unary), n)
        return self._by_rules(unary, first, first + n - 1)

    def _by_rules(self, unary: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Return scores with minus infinity at first and last nodes that rules forbid."""
        if self.rules is None:
            return unary
        scores = unary.copy()
        scores[first] = np.where(self.rules.start, scores[first], -np.inf)
        scores[last] = np.where(self.rules.end, scores[last], -np.inf)
        return scores

    def table(self, table: np.ndarray) -> np.ndarray:
        """Return the scores `[k, k]` of pairs with minus infinity for those that rules forbid."""
        if self.rules is None:
            return table
        return np.where(self.rules.transitions, table, -np.inf)

    def weights_of(self, instances: Instances) -> np.ndarray:
        """Return the weight of each instance, `[instances]`."""
        if self.weights is None:
            return np.ones(instances.count)
        return self.weights


EVERYTHING: Final = Scope()
"""All labels count, and all instances weigh the same."""
