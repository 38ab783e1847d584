"""Sums over the labellings of chains of different lengths in one batch, by the forward algorithm.

score(x) = start[x_1] + sum_t emissions[t, x_t] + sum_t transitions[x_t, x_(t+1)] + end[x_length].
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from models.traced import is_traced, is_transformed

from ...autograd.contexts import gradients_allowed, of_autograd
from ...autograd.transforms import has_tangent
from .chain_logarithms import by_logarithms
from .chain_operators import compiled_gradients, compiled_log_partition, log_partition


@dataclass(frozen=True, eq=False)
class Chains:
    """The scores of a batch of chains, float64.

    Attributes:
        emissions: `[length, batch, k]`.
        mask: `[length, batch]`, true up to the end of each chain, at the first place always.
        transitions: `[k, k]`, from rows to columns.
        start: `[k]`.
        end: `[k]`.
    """

    emissions: torch.Tensor
    mask: torch.Tensor
    transitions: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor

    def log_partition(self) -> torch.Tensor:
        """Return log Z `[batch]` in nats, differentiable any number of times."""
        scores = self.emissions, self.transitions, self.start, self.end
        if is_transformed() or has_tangent(*scores):
            return by_logarithms(*scores, self.mask)
        if torch.compiler.is_compiling():
            total: torch.Tensor = compiled_log_partition(*scores, self.mask)
            return total
        return log_partition(*scores, self.mask)

    def marginals(self) -> torch.Tensor:
        """Return the probabilities of labels `[length, batch, k]`, for code that is traced."""
        scores = self.emissions, self.transitions, self.start, self.end
        marginals: torch.Tensor
        if torch.compiler.is_compiling():
            ones = self.emissions.new_ones(self.emissions.shape[1])
            marginals = compiled_gradients(*scores, self.mask, ones)[0]
            return marginals
        gradient = torch.func.grad(lambda *every: by_logarithms(*every).sum())
        marginals = gradient(*scores, self.mask)
        return marginals

    def score(self, labels: torch.Tensor) -> torch.Tensor:
        """Return the score `[batch]` of labels `[length, batch]`, differentiable."""
        emitted = self.emissions.gather(-1, labels[..., None])[..., 0]
        steps = self.transitions[labels[:-1], labels[1:]]
        last = labels.gather(0, self.mask.sum(dim=0, keepdim=True) - 1)[0]
        zero = emitted.new_zeros(())
        of_labels = torch.where(self.mask, emitted, zero).sum(dim=0)
        of_steps = torch.where(self.mask[1:], steps, zero).sum(dim=0)
        return of_labels + of_steps + self.start[labels[0]] + self.end[last]

    def pair_marginals(self, differentiable: bool) -> torch.Tensor:
        """Return P(x_t = a, x_(t+1) = b), `[length - 1, batch, k, k]`, 0 beyond the ends.

        They are the gradient of log Z in scores of single steps.

        Args:
            differentiable: whether the probabilities have a gradient.
        """
        length, batch, k = self.emissions.shape
        if length == 1:
            return self.emissions.new_zeros((0, batch, k, k))
        steps = self.emissions.new_zeros((length - 1, batch, k, k))
        if is_traced():
            gradient = torch.func.grad(self._log_partition_of_steps)
            marginals: torch.Tensor = gradient(steps)
            return marginals
        with gradients_allowed():
            steps = of_autograd(steps).requires_grad_()
            total = self.of_autograd()._log_partition_of_steps(steps)
            (marginals,) = torch.autograd.grad(total, steps, create_graph=differentiable)
        return marginals

    def of_autograd(self) -> Chains:
        """Return the same scores as tensors that autograd takes, outside of `inference_mode`."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        return Chains(**{name: of_autograd(tensor) for name, tensor in tensors.items()})

    def _log_partition_of_steps(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the sum of log Z with further scores of steps, `[length - 1, batch, k, k]`."""
        tables = self.transitions + steps
        return by_logarithms(self.emissions, tables, self.start, self.end, self.mask).sum()

    def expected_score(self, marginals: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
        """Return the expected score `[batch]` under a distribution of labels, differentiable.

        Args:
            marginals: `[length, batch, k]`, the probability of each label.
            pairs: `[length - 1, batch, k, k]`, those of two neighbouring labels; 0 beyond the ends.
        """
        last = self.mask.sum(dim=0) - 1
        of_last = marginals[last, torch.arange(len(last), device=last.device)]
        emitted = weighted(self.emissions, marginals * self.mask[..., None]).sum(dim=(0, 2))
        steps = weighted(self.transitions, pairs).sum(dim=(0, 2, 3))
        ends = weighted(self.start, marginals[0]) + weighted(self.end, of_last)
        return emitted + steps + ends.sum(dim=-1)


def weighted(scores: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the products of scores and weights, which are 0 at weight 0 whatever the score."""
    return torch.where(weights > 0, scores * weights, 0.0)
