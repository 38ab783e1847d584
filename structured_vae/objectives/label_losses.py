"""The losses of an encoder's scores for the labels of images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from models.potentials import AnyPotentials
from models.states import codes_of

from ..distributions import Gibbs
from ..distributions.argmax import AnySolver, perturb_and_map
from ..schedules import Schedule
from ..spaces import space_of
from ..spaces.of_potentials import unary_noise

LabelLoss: TypeAlias = Callable[[AnyPotentials, torch.Tensor, torch.Generator, int], torch.Tensor]
"""(scores, labels, generator, training step) -> loss `[batch]`.

Labels are classes `[batch]`, or attributes `[batch, n]` of zeros and ones.
"""


def state_of(potentials: AnyPotentials, labels: torch.Tensor) -> torch.Tensor:
    """Return the latent states `[batch, n]` that labels mean, one-hot for classes."""
    if space_of(potentials).one_variable:
        labels = codes_of(labels[..., None], potentials.unary.shape[-1])
    return labels.to(potentials.unary.dtype)


@dataclass(frozen=True)
class ArgmaxLoss:
    """The loss h(z*) - h(y), which is direct optimization of the indicator 1[z* != y].

    Here z* = argmax{h + gamma}, and y is the state that the labels mean. With the indicator loss
    z(epsilon) = argmax{h + gamma - epsilon loss} is the label itself once epsilon times the loss
    exceeds every difference of scores. The estimate is then (h(z*) - h(y)) / epsilon; the factor
    1 / epsilon belongs to the weight. Since E[grad h(z*)] is the gradient of E[max{h + gamma}],
    this is an unbiased estimate of the gradient of the convex loss E[max{h + gamma}] - h(y). For
    classes and for independent bits that is the cross-entropy -log q(y), with one argmax.

    Attributes:
        solver: name or object of `solvers`; not used for classes.

    References:
        Lorberbom, Gane, Jaakkola, Hazan (2019), Direct optimization through arg max for discrete
        variational auto-encoder, section 3.2.
        Berthet, Blondel, Teboul, Cuturi, Vert, Bach (2020), Learning with differentiable perturbed
        optimizers: the loss, for any polytope.
    """

    solver: AnySolver = "auto"

    def __call__(
        self,
        potentials: AnyPotentials,
        labels: torch.Tensor,
        generator: torch.Generator,
        step: int = 0,
    ) -> torch.Tensor:
        """Return the loss `[batch]` at one draw of the noise."""
        z = perturb_and_map(potentials, self.solver, generator)[0]
        return potentials.score_difference(z, state_of(potentials, labels))


def exact_loss(
    potentials: AnyPotentials, labels: torch.Tensor, generator: torch.Generator, step: int = 0
) -> torch.Tensor:
    """Return the cross-entropy -log q(y) `[batch]`, where q is the Gibbs distribution."""
    return -Gibbs(potentials).log_prob(state_of(potentials, labels))


@dataclass(frozen=True)
class RelaxedLoss:
    """The cross-entropy of a relaxed sample.

    For classes it is -log softmax((h + gamma) / temperature)[y]. For independent bits it is the sum
    of the cross-entropies of their sigmoids.

    Attributes:
        temperature: a schedule.

    References:
        Jang, Gu, Poole (2017), Categorical reparameterization with Gumbel-softmax.
    """

    temperature: Schedule

    def __call__(
        self,
        potentials: AnyPotentials,
        labels: torch.Tensor,
        generator: torch.Generator,
        step: int = 0,
    ) -> torch.Tensor:
        """Return the loss `[batch]` at one draw of the noise."""
        scores = (potentials.unary + unary_noise(potentials, generator)[0]) / self.temperature(step)
        if space_of(potentials).one_variable:
            return cross_entropy(scores, labels, reduction="none")
        state = state_of(potentials, labels)
        return binary_cross_entropy_with_logits(scores, state, reduction="none").sum(dim=-1)
