"""What the classes of labelled images ask of an encoder's scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch.nn.functional import cross_entropy

from models import CategoricalPotentials

from .noise import unary_noise
from .schedules import Schedule

LabelLoss: TypeAlias = Callable[[CategoricalPotentials, torch.Tensor, torch.Generator, int], torch.Tensor]
"""(scores, classes `[batch]`, generator, step of the training) -> `[batch]`, minimised."""


def argmax_loss(
    potentials: CategoricalPotentials, classes: torch.Tensor, generator: torch.Generator, step: int = 0
) -> torch.Tensor:
    """h(z*) - h(y), where z* = argmax{h + gamma} and y is the class: direct optimization of 1[z* != y].

    With the indicator loss z(epsilon) = argmax{h + gamma - epsilon loss} is the class itself once epsilon
    times the loss exceeds every difference of scores; the estimate is then (h(z*) - h(y)) / epsilon. Its
    1 / epsilon is left to the weight. Since E[grad h(z*)] = E_q[grad h(z)], the gradient is in expectation
    that of the cross-entropy -log q(y), of which this is an unbiased estimate with one argmax.

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete variational
        auto-encoder, section 3.2.
    """
    noise = unary_noise(potentials, generator)[0]
    chosen = (potentials.unary.detach() + noise).argmax(dim=-1)
    scores = potentials.unary
    return scores.gather(1, chosen[:, None])[:, 0] - scores.gather(1, classes[:, None])[:, 0]


def exact_loss(
    potentials: CategoricalPotentials, classes: torch.Tensor, generator: torch.Generator, step: int = 0
) -> torch.Tensor:
    """The cross-entropy -log q(y)."""
    return cross_entropy(potentials.unary, classes, reduction="none")


@dataclass(frozen=True)
class RelaxedLoss:
    """The cross-entropy of a relaxed sample, -log softmax((h + gamma) / temperature)[y].

    Attributes:
        temperature: a schedule.

    References:
        Jang, Gu, Poole (2017), Categorical reparameterization with Gumbel-softmax.
    """

    temperature: Schedule

    def __call__(
        self,
        potentials: CategoricalPotentials,
        classes: torch.Tensor,
        generator: torch.Generator,
        step: int = 0,
    ) -> torch.Tensor:
        """`[batch]`: the loss at one draw of the noise."""
        scores = potentials.unary + unary_noise(potentials, generator)[0]
        return cross_entropy(scores / self.temperature(step), classes, reduction="none")
