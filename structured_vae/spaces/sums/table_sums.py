"""Sum over a table of all states, by operations of torch on the device of the scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch

from models.potentials import AnyPotentials
from models.states import drawn_places

from ...noise import random_numbers
from .drawn import DrawnCompletions, steps_of


@dataclass(frozen=True, eq=False)
class TableSums:
    """The sums over a table of all states of bits or of categorical variables.

    All values are differentiable repeatedly.

    Attributes:
        potentials: the scores, in float64.
        states: every state `[states, n]`.
        table: the score of each, `[batch, states]`.
    """

    potentials: AnyPotentials
    states: torch.Tensor
    table: torch.Tensor

    @classmethod
    def of(cls, potentials: AnyPotentials) -> TableSums:
        """Return the sums of potentials with at most 2^20 states."""
        pairwise = potentials.pairwise
        if pairwise is not None:
            pairwise = pairwise.double()
        wide = replace(potentials, unary=potentials.unary.double(), pairwise=pairwise)
        states = wide.states()
        return cls(wide, states, wide.table(states))

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[batch]` in nats."""
        return self.table.logsumexp(dim=-1)

    @cached_property
    def marginals(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The expected states `[batch, n]` and pairs `[batch, e]`."""
        probabilities = self.table.softmax(dim=-1)
        pairs = self.potentials.pairs(self.states)
        return probabilities @ self.states, probabilities @ pairs

    @torch.no_grad()
    def sample(self, generator: torch.Generator, samples: int) -> torch.Tensor:
        """Return exact, independent samples `[samples, batch, n]`, float64."""
        places = random_numbers(drawn_places, self.table, samples, generator)
        return self.states[places].transpose(0, 1)

    def completions(self, uniforms: torch.Tensor, variables: torch.Tensor) -> DrawnCompletions:
        """Return samples, each with other values of single variables.

        Variables are drawn from the last one to the first. Those drawn before the changed one keep
        their values, and those after it are drawn again with the same uniforms.

        Args:
            uniforms: `[samples, batch, variables]`, in [0, 1), float64.
            variables: `[samples, batch, m]`, those that change.
        """
        n = self.potentials.variable_count
        k = self._values
        tree = self._tree()
        with torch.no_grad():
            steps = steps_of(variables, n, k)
            values, nodes = _drawn(tree, uniforms[:, None], steps)
        of_sample = _at(tree, nodes[:, 0])
        chosen = variables[..., None].expand(*variables.shape, k)
        of_chosen = of_sample.gather(2, chosen)
        completed = values[:, 1:]
        if self.potentials.categorical:
            shape = (len(values), -1, k - 1, *values.shape[2:])
            completed = completed.reshape(shape)
            return DrawnCompletions(values[:, 0], completed, of_chosen)
        return DrawnCompletions(values[:, 0], completed, of_chosen[..., 1])

    @property
    def _values(self) -> int:
        """The number of values of a variable."""
        h = self.potentials
        if h.categorical:
            return h.unary.shape[-1] // h.variable_count
        return 2

    def _tree(self) -> torch.Tensor:
        """Return the probabilities of the values of each variable, given all later variables.

        They are `[batch, nodes, k]`. Node 0 has those of the last variable. The children of a node
        are nodes of the variable before, for the k values: k node + 1, k node + 2 and so on.
        """
        k = self._values
        table = self.table
        levels = []
        # The first variable changes fastest in the table.
        for _ in range(self.potentials.variable_count):
            rows = table.reshape(len(table), -1, k)
            levels.append(rows)
            table = rows.logsumexp(dim=-1)
        return torch.cat(levels[::-1], dim=1).softmax(dim=-1)


def _drawn(
    tree: torch.Tensor, uniforms: torch.Tensor, steps: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return values drawn by uniform numbers, and the node of each variable.

    Args:
        tree: `[batch, nodes, k]`.
        uniforms: `[samples, 1, batch, n]`.
        steps: `[samples, states, batch, n]`, added to the values that are drawn, modulo k.

    Returns:
        Two tensors `[samples, states, batch, n]`, whole numbers.
    """
    k = tree.shape[-1]
    # The inverse of the distribution function; the last value needs no bound.
    bounds = tree[..., :-1].cumsum(dim=-1)
    if not steps.shape[-1]:  # no variables
        return steps, steps
    values = []
    nodes = []
    node = torch.zeros_like(steps[..., 0])
    for i in reversed(range(steps.shape[-1])):
        nodes.append(node)
        drawn = (uniforms[..., i, None] >= _at(bounds, node[..., None])[..., 0, :]).sum(dim=-1)
        values.append((drawn + steps[..., i]) % k)
        node = torch.add(values[-1] + 1, node, alpha=k)
    return torch.stack(values[::-1], dim=-1), torch.stack(nodes[::-1], dim=-1)


def _at(tree: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """Return the rows `[..., batch, n, k]` of `tree [batch, nodes, k]` at `[..., batch, n]`."""
    places = nodes[..., None].expand(*nodes.shape, tree.shape[-1])
    return tree.expand(*nodes.shape[:-2], *tree.shape).gather(-2, places)
