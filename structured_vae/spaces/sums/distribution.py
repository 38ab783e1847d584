"""Make the Gibbs distribution of a structure from a function that sums over its states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from models import Potentials
from models.traced import holds, is_traced

from ...autograd.contexts import gradients_allowed, of_autograd
from ..checks.batches import refuse_impossible, require_scores


@dataclass(frozen=True, eq=False)
class StructureGibbs:
    """The distribution p(z) = exp(sum_i scores[i] z_i) / Z over the states of a structure, exact.

    Attributes:
        scores: `[..., batch, n]`.
        log_sum: gives log Z `[batch]` of checked scores `[batch, n]`, differentiable twice.
        draw: gives states `[samples, batch, n]` for checked scores, a generator and the number of
            samples.
        check: gives checked scores `[batch, n]` of scores `[..., n]`.
        mean: gives the marginals `[batch, n]` of checked scores where torch cannot differentiate
            `log_sum` in code that is traced; None for the derivative of `log_sum`.

    Raises:
        StructureError: the scores are not a dense floating-point tensor of 16 bits or more.

    Example:
        >>> from structured_vae import KOfN
        >>> p = KOfN(1).gibbs(torch.tensor([[0.0, 0.0, 1.0]]))
        >>> p.marginals
        tensor([[0.2119, 0.2119, 0.5761]])
        >>> p.log_partition
        tensor([1.5514])
    """

    scores: torch.Tensor
    log_sum: Callable[[torch.Tensor], torch.Tensor]
    draw: Callable[[torch.Tensor, torch.Generator, int], torch.Tensor]
    check: Callable[[torch.Tensor], torch.Tensor]
    mean: Callable[[torch.Tensor], torch.Tensor] | None = None

    def __post_init__(self) -> None:
        require_scores(self.scores)

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[..., batch]` in nats, differentiable in the scores.

        Its gradient is the marginals.
        """
        total = self._total(self.scores)
        return total.to(self.scores.dtype).reshape(self.scores.shape[:-1])

    @property
    def marginals(self) -> torch.Tensor:
        """The probabilities `[..., batch, n]` that z_i is 1, differentiable."""
        if is_traced():
            return self._traced_marginals()
        if not self.scores.numel():  # no number, but a part of the graph
            return self.scores * 0.0
        differentiable = self.scores.requires_grad and torch.is_grad_enabled()
        with gradients_allowed():
            scores = of_autograd(self.scores)
            if not differentiable:
                scores = scores.detach().requires_grad_()
            total = self._total(scores).sum()
            (marginals,) = torch.autograd.grad(total, scores, create_graph=differentiable)
        return marginals

    def _traced_marginals(self) -> torch.Tensor:
        """Return the marginals in code that is compiled or transformed by `torch.func`."""
        if self.mean is not None:
            marginals = self.mean(self.check(self.scores))
            return marginals.to(self.scores.dtype).reshape(self.scores.shape)
        gradient = torch.func.grad(lambda scores: self._total(scores).sum())
        of_scores: torch.Tensor = gradient(self.scores)
        return of_scores

    @torch.no_grad()
    def sample(self, generator: torch.Generator, samples: int = 1) -> torch.Tensor:
        """Return exact, independent samples `[samples, ..., batch, n]`, without gradient."""
        if not holds(~Potentials.forbids(self.scores)):
            self._total(self.scores)  # raises for an instance without states
        z = self.draw(self.check(self.scores.detach()), generator, samples)
        return z.to(self.scores.dtype).reshape(samples, *self.scores.shape)

    def _total(self, scores: torch.Tensor) -> torch.Tensor:
        """Return log Z of scores `[..., batch, n]`, with all leading dimensions as one."""
        total = self.log_sum(self.check(scores))
        refuse_impossible(total)
        return total
