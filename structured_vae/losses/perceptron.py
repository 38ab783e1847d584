"""The perceptron loss, which needs one argmax."""

from __future__ import annotations

import torch

from models import Potentials

from .structured_loss import StructuredLoss


class StructuredPerceptron(StructuredLoss):
    """The perceptron loss max_z h(z) - h(y): how far the target's score is below the maximum.

    Gradient: s(z*) - s(y), exact if the argmax z* is unique, otherwise a subgradient. The loss is
    convex in the scores, at least 0, and 0 if y is an argmax. It is also 0 if all scores are 0;
    this loss alone does not keep a network from that solution. Costs one argmax.

    References:
        Collins (2002), Discriminative training methods for hidden Markov models.

    Example:
        >>> unary = torch.tensor([[1.0, -0.5]], requires_grad=True)
        >>> StructuredPerceptron()(unary, target=torch.tensor([[1.0, 1.0]]))
        tensor([0.5000], grad_fn=<SumBackward1>)
    """

    def _loss(
        self, potentials: Potentials, y: torch.Tensor, generator: torch.Generator | None
    ) -> torch.Tensor:
        return potentials.score_difference(self.maximise(potentials), y)
