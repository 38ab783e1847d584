"""Costs of latent states, bound to a batch of images: what the estimators minimise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import torch

from models.decoder import Decoder, Neighbourhood
from models.potentials import AnyPotentials

from ..distributions.prior import PriorExcess
from ..errors import EstimatorError, shortened
from ..spaces import Bits, Categories, StateSpace

CostFunction: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
"""States `[..., batch, n]` -> costs `[..., batch]`."""


@runtime_checkable
class Cost(Protocol):
    """A function of states that also knows its change around a state, and its values at all of them."""

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., batch]`: the cost of `z [..., batch, n]` in nats, differentiable in the decoder."""

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """The cost at z and its change in every coordinate."""

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """`[batch, states]`: the cost of each of `states [states, n]`, differentiable in the decoder."""


class CostsOfImages(Protocol):
    """What a decoder tells of images: a `models.decoder.Decoder`, or a mixture's with the styles given."""

    def cost(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """`[..., batch]`: -log p(x | z)."""

    def around(self, x: torch.Tensor, z: torch.Tensor) -> Neighbourhood:
        """The cost at z and its change in every coordinate."""

    def table(self, x: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """`[batch, states]`: the cost of each state."""


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """-log p(x | z) in nats.

    Attributes:
        decoder: gives p(x | z).
        x: `[batch, pixels]`.
    """

    decoder: CostsOfImages
    x: torch.Tensor

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., batch]`: -log p(x | z)."""
        if isinstance(self.decoder, Decoder) and not torch.is_grad_enabled():
            return self.decoder.values(self.x, z)
        return self.decoder.cost(self.x, z)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """For bits by n + 2 decodes an image, for n variables of k values by n (k - 1) + 2; for one by one table."""
        return self.decoder.around(self.x, z)

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """`[batch, states]`: each state is decoded once, for all images."""
        return self.decoder.table(self.x, states)


def _asked(function: CostFunction, z: torch.Tensor) -> torch.Tensor:
    """`[..., batch]`: what a function gives for states, of their type.

    Raises:
        EstimatorError: it is no tensor of that shape, or a number is not finite.
    """
    cost, expected = function(z), z.shape[:-1]
    for_all_images = z.shape[-2:-1] == (1,)  # as a table asks: the states are those of every image
    shape = (
        cost.shape[:-1]
        if for_all_images and isinstance(cost, torch.Tensor)
        else getattr(cost, "shape", None)
    )
    if not isinstance(cost, torch.Tensor) or shape != (
        expected[:-1] if for_all_images else expected
    ):
        found = list(cost.shape) if isinstance(cost, torch.Tensor) else shortened(cost)
        raise EstimatorError(
            f"the cost of states {list(z.shape)} must be a tensor {list(z.shape[:-1])}, a number a state; the "
            f"function gave {found}"
        )
    if not torch.compiler.is_compiling() and not bool(cost.isfinite().all()):
        place = (~cost.isfinite()).nonzero()[0].tolist()
        raise EstimatorError(
            f"the cost of states must be finite; at {place} the function gave {cost[tuple(place)]}"
        )
    return cost.to(z.dtype)


@dataclass(frozen=True, eq=False)
class CostOfStates:
    """Any function of the states of a space, as a cost; it is asked n + 1 times around a state.

    Attributes:
        function: takes `[..., batch, n]` and gives `[..., batch]`, of any real type; it need not be
            differentiable.
        space: of the states.

    Raises:
        EstimatorError: in its calls, where the function gives no tensor `[..., batch]`, or a number
            that is not finite.
    """

    function: CostFunction
    space: StateSpace

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return `[..., batch]`: the value at z."""
        return _asked(self.function, z)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """Return the value at z, and its change in every coordinate."""
        if self.space.one_variable:  # the table of its values serves all images
            states = self.space.states(z.shape[-1], z)
            return Neighbourhood(self(z), self.table(states).detach().expand_as(z))
        cost = self(z)
        with torch.no_grad():
            neighbours = self.space.neighbours(z).movedim(-2, 0)
            others = torch.stack([self(states) for states in neighbours], dim=-1)
        if self.space.free_flips:
            changes = others - cost.detach()[..., None]
            return Neighbourhood(cost, changes * (1 - 2 * z))
        return Neighbourhood(cost, others)

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return `[batch, states]`: the value of each of `states [states, n]`."""
        return self(states[:, None, :]).movedim(0, -1)


class CostOfBits(CostOfStates):
    """Any function of n bits, as a cost; it is asked n + 1 times around a state.

    Args:
        function: takes `[..., batch, n]` and gives `[..., batch]`, of any real type; it need not be
            differentiable.

    Raises:
        EstimatorError: in its calls, as `CostOfStates`.

    Example:
        >>> target = torch.tensor([[1.0, 0.0, 1.0]])
        >>> hamming = CostOfBits(lambda z: (z - target).abs().sum(-1))
        >>> hamming.around(torch.zeros(1, 3)).slope
        tensor([[-1.,  1., -1.]])
    """

    def __init__(self, function: CostFunction):
        super().__init__(function, Bits())


class CostOfCategories(CostOfStates):
    """Any function of categories as one-hot vectors, as a cost; it is asked for every value of every variable.

    Args:
        function: takes `[..., batch, variables k]` and gives `[..., batch]`, of any real type; it
            need not be differentiable.
        variables: how many, whose one-hot vectors stand one after the other.

    Raises:
        EstimatorError: in its calls, as `CostOfStates`.
    """

    def __init__(self, function: CostFunction, variables: int = 1):
        super().__init__(function, Categories(variables))


@dataclass(frozen=True, eq=False)
class Hamming:
    """The number of bits that differ from a target; its coordinate-wise approximation is exact.

    Attributes:
        target: `[batch, n]`, zeros and ones.
    """

    target: torch.Tensor

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., batch]`: how many bits differ."""
        return (z - self.target).abs().sum(dim=-1)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """The count at z; a one costs 1 where the target is 0, and -1 where it is 1."""
        return Neighbourhood(self(z), (1 - 2 * self.target).expand_as(z))

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """`[batch, states]`: how many bits of each of `states [states, n]` differ."""
        return self(states[:, None, :]).T


@dataclass(frozen=True, eq=False)
class WithPrior:
    """A cost plus weight * (log u(z) - log p(z)), p being a learnt prior and u the uniform one.

    At samples of q its gradient in the prior is that of E_q[-log p(z)], and in q that of the
    prior's part of the KL.

    Attributes:
        cost: what is added to.
        prior: what it adds.
        weight: of the KL; less than 1 while it warms up.
    """

    cost: Cost
    prior: PriorExcess
    weight: float = 1.0

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., batch]`: the sum, differentiable in decoder and prior."""
        return self.cost(z) + self.weight * self.prior.at(z)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """The sum at z, and its change in every coordinate."""
        inner = self.cost.around(z)
        return Neighbourhood(
            inner.cost + self.weight * self.prior.at(z),
            inner.slope + self.weight * self.prior.slope(z),
        )

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """`[batch, states]`: the sum at each state."""
        return self.cost.table(states) + self.weight * self.prior.table(states)


@dataclass(frozen=True, eq=False)
class WithKL:
    """A cost plus weight * (log q(z | x) - log p(z)), with log q cut off from the encoder's gradient.

    Since E_q[grad log q] = 0, the gradient of E_q[cost + log q - log p] = E_q[cost] + KL(q || p) is
    that of a cost in which log q is held fixed. So the KL needs no term of its own: it rides
    through the same two argmaxes, on the scale of the cost.

    log q is taken as h(z | x) up to a constant, which no gradient sees; the prior is uniform (a
    learnt one is `WithPrior`, inside). For an
    independent encoder this is the distribution that the argmax samples, and the whole ELBO is
    trained. For a structured one it is the Gibbs density of the same potentials, from which
    perturb-and-MAP samples differ: there the trained term is an approximation.

    Attributes:
        cost: what is added to.
        posterior: detached potentials.
        weight: of the KL; less than 1 while it warms up.
    """

    cost: Cost
    posterior: AnyPotentials
    weight: float = 1.0

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """`[..., batch]`: the inner cost and weight * h(z)."""
        return self.cost(z) + self.weight * self.posterior.score(z)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """The inner cost, which is all that decoder and prior see, and the change of both in each coordinate."""
        inner = self.cost.around(z)
        return Neighbourhood(inner.cost, inner.slope + self.weight * self.posterior.field(z))

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """`[batch, states]`: the inner cost and weight * h of each state."""
        return self.cost.table(states) + self.weight * self.posterior.table(states)
