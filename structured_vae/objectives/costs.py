"""The costs of latent states, bound to a batch of images, which the estimators minimise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import torch

from models.arguments import function, of_kind
from models.networks.decoder import Decoder, Neighbourhood
from models.potentials import AnyPotentials
from models.traced import holds, plain

from ..distributions import Distribution
from ..distributions.prior import PriorExcess
from ..errors import EstimatorError, shortened
from ..spaces import Bits, Categories, StateSpace
from ..spaces.checks.batches import check_dense

CostFunction: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
"""States `[..., batch, n]` -> costs `[..., batch]`."""


@runtime_checkable
class Cost(Protocol):
    """A function of states with its changes around a state and a table of its values."""

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return the cost `[..., batch]` of `z [..., batch, n]` in nats, differentiable."""

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """Return the cost at z and its change in every coordinate."""

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the costs `[batch, states]` of `states [states, n]` in nats, differentiable."""


class CostsOfImages(Protocol):
    """The costs of images by a `Decoder`, or by the decoder of a mixture with its styles."""

    def cost(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """Return -log p(x | z) `[..., batch]` in nats."""

    def around(self, x: torch.Tensor, z: torch.Tensor) -> Neighbourhood:
        """Return the cost at z and its change in every coordinate."""

    def table(self, x: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Return the cost `[batch, states]` of each state."""


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The cost of a decoder: the reconstruction cost -log p(x | z) of images, in nats.

    Attributes:
        decoder: the decoder, with p(x | z).
        x: `[batch, pixels]`.
    """

    decoder: CostsOfImages
    x: torch.Tensor

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return -log p(x | z) `[..., batch]` in nats."""
        if isinstance(self.decoder, Decoder) and not torch.is_grad_enabled():
            return self.decoder.values(self.x, z)
        return self.decoder.cost(self.x, z)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """Return the cost at z and its change in every coordinate.

        Bits take n + 2 decodes per image, n variables of k values n (k - 1) + 2, and one variable
        one table.
        """
        return self.decoder.around(self.x, z)

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the costs `[batch, states]`; each state is decoded once, for all images."""
        return self.decoder.table(self.x, states)


def _asked(function: CostFunction, z: torch.Tensor) -> torch.Tensor:
    """Return the values `[..., batch]` of a function of states, in their type.

    Raises:
        EstimatorError: the function gives no tensor of that shape, or a number is not finite.
    """
    cost = function(z)
    if not isinstance(cost, torch.Tensor):
        raise EstimatorError(_wrong_shape(z, shortened(cost)))
    shape = cost.shape
    expected = z.shape[:-1]
    if z.shape[-2:-1] == (1,):  # a table: the states are those of every image
        shape = shape[:-1]
        expected = expected[:-1]
    if shape != expected:
        raise EstimatorError(_wrong_shape(z, str(list(cost.shape))))
    if not holds(cost.isfinite()):
        values = plain(cost)
        place = (~values.isfinite()).nonzero()[0].tolist()
        raise EstimatorError(
            "the cost of states must be finite; "
            f"at {place} the function gave {values[tuple(place)]}"
        )
    return cost.to(z.dtype)


def _wrong_shape(z: torch.Tensor, received: str) -> str:
    return (
        f"the cost of states {list(z.shape)} must be a tensor {list(z.shape[:-1])}, "
        f"one number per state; the function gave {received}"
    )


@dataclass(frozen=True, eq=False)
class CostOfStates:
    """The cost from any function of the states of a space.

    The function is called n + 1 times around a state.

    Attributes:
        function: takes `[..., batch, n]` and gives `[..., batch]`, of any real type; it need not be
            differentiable.
        space: the space of the states.

    Raises:
        EstimatorError: `function` is none; or, when the cost is called, the function gives no
            tensor `[..., batch]`, or a number that is not finite.
    """

    function: CostFunction
    space: StateSpace

    def __post_init__(self) -> None:
        wanted = "a function of states [..., batch, n]"
        function(self.function, "the cost", EstimatorError, wanted)

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return the value `[..., batch]` at z."""
        return _asked(self.function, z)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """Return the value at z, and its change in every coordinate."""
        if self.space.one_variable:  # the table of its values serves all images
            states = self.space.states(z.shape[-1], z)
            return Neighbourhood(self(z), self.table(states).detach().expand_as(z))
        cost = self(z)
        # Slopes are numbers: only the cost at z itself has a gradient.
        with torch.no_grad():
            neighbours = self.space.neighbours(z).movedim(-2, 0)
            costs = [self(states) for states in neighbours]
            others = cost.detach()[..., None][..., :0]  # no variables have no neighbours
            if costs:
                others = torch.stack(costs, dim=-1)
        if self.space.free_flips:
            changes = others - cost.detach()[..., None]
            # A flip moves z_i by 1 - 2 z_i, so the slope is the change times that sign.
            return Neighbourhood(cost, changes * (1 - 2 * z))
        return Neighbourhood(cost, others)

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the values `[batch, states]` of `states [states, n]`."""
        return self(states[:, None, :]).movedim(0, -1)


class CostOfBits(CostOfStates):
    """A cost made from any function of n bits.

    The function is called n + 1 times around a state.

    Args:
        function: takes `[..., batch, n]` and gives `[..., batch]`, of any real type; it need not be
            differentiable.

    Raises:
        EstimatorError: when the cost is called; see `CostOfStates`.

    Example:
        >>> target = torch.tensor([[1.0, 0.0, 1.0]])
        >>> hamming = CostOfBits(lambda z: (z - target).abs().sum(-1))
        >>> hamming.around(torch.zeros(1, 3)).slope
        tensor([[-1.,  1., -1.]])
    """

    def __init__(self, function: CostFunction):
        super().__init__(function, Bits())


class CostOfCategories(CostOfStates):
    """The cost from any function of categories as one-hot vectors.

    The function is called for every value of every variable around a state.

    Args:
        function: takes `[..., batch, variables k]` and gives `[..., batch]`, of any real type; it
            need not be differentiable.
        variables: number of variables, whose one-hot vectors follow one after the other.

    Raises:
        EstimatorError: when the cost is called; see `CostOfStates`.

    Example:
        >>> cost = CostOfCategories(lambda z: z @ torch.tensor([3.0, 1.0, 2.0]))
        >>> cost.table(torch.eye(3))
        tensor([[3., 1., 2.]])
    """

    def __init__(self, function: CostFunction, variables: int = 1):
        super().__init__(function, Categories(variables))


@dataclass(frozen=True, eq=False)
class Hamming:
    """The number of bits that differ from a target; its coordinate-wise approximation is exact.

    Attributes:
        target: `[batch, n]`, zeros and ones.

    Raises:
        EstimatorError: `target` is not a tensor.
    """

    target: torch.Tensor

    def __post_init__(self) -> None:
        wanted = "a tensor of states [batch, n]"
        of_kind(self.target, "target", EstimatorError, torch.Tensor, wanted)
        check_dense(self.target, "target", EstimatorError)

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return how many bits differ, `[..., batch]`."""
        return (z - self.target).abs().sum(dim=-1)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """Return the count at z, and its slope: 1 where the target is 0, and -1 where it is 1."""
        return Neighbourhood(self(z), (1 - 2 * self.target).expand_as(z))

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return how many bits of each of `states [states, n]` differ, `[batch, states]`."""
        return self(states[:, None, :]).T


@dataclass(frozen=True, eq=False)
class WithPrior:
    """A cost plus weight * (log u(z) - log p(z)), with a learnt prior p and the uniform u.

    At samples of q its gradient in the prior is that of E_q[-log p(z)]. Its gradient in q is that
    of the term of the KL in which the prior occurs.

    Attributes:
        cost: the inner cost.
        prior: the excess to add.
        weight: weight of the KL; less than 1 in the warm-up.
    """

    cost: Cost
    prior: PriorExcess
    weight: float = 1.0

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return the sum `[..., batch]`, differentiable in decoder and prior."""
        return self.cost(z) + self.weight * self.prior.at(z)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """Return the sum at z, and its change in every coordinate."""
        inner = self.cost.around(z)
        return Neighbourhood(
            inner.cost + self.weight * self.prior.at(z),
            inner.slope + self.weight * self.prior.slope(z),
        )

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the sum at each state, `[batch, states]`."""
        return self.cost.table(states) + self.weight * self.prior.table(states)


@dataclass(frozen=True, eq=False)
class WithKL:
    """A cost plus weight * (log q(z | x) - log p(z)), in which log q has no gradient.

    Since E_q[grad log q] = 0, the gradient of E_q[cost + log q - log p] = E_q[cost] + KL(q || p) is
    that of a cost in which log q is held fixed. So the KL needs no separate term: it goes
    through the same two argmaxes, on the scale of the cost.

    log q is h(z | x) up to a constant that has no gradient. The prior is uniform; a learnt one is
    `WithPrior`, as the inner cost. For an independent encoder q is the distribution that the argmax
    samples, so that the whole ELBO is trained. For a structured encoder it is the Gibbs
    distribution of the same potentials, from which perturb-and-MAP samples differ: there the
    trained term is an approximation.

    Attributes:
        cost: the inner cost.
        posterior: the potentials, detached.
        weight: weight of the KL; less than 1 in the warm-up.
    """

    cost: Cost
    posterior: AnyPotentials
    weight: float = 1.0

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return the inner cost plus weight * h(z), `[..., batch]`."""
        return self.cost(z) + self.weight * self.posterior.score(z)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """Return the inner cost at z, and the change of the sum in every coordinate.

        Decoder and prior have gradients through the inner cost only.
        """
        inner = self.cost.around(z)
        return Neighbourhood(inner.cost, inner.slope + self.weight * self.posterior.field(z))

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the inner cost plus weight * h of each state, `[batch, states]`."""
        return self.cost.table(states) + self.weight * self.posterior.table(states)


@dataclass(frozen=True, eq=False)
class WithDensity:
    """A cost plus weight * log q(z | x), in which log q has no gradient.

    It replaces `WithKL` for a posterior whose density is known but whose sums are not, such as an
    autoregressive one. E_q[log q] has the gradient of a cost in which log q is held fixed.

    Attributes:
        cost: the inner cost.
        posterior: q.
        weight: weight of the KL; less than 1 in the warm-up.
    """

    cost: Cost
    posterior: Distribution
    weight: float = 1.0

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return the inner cost plus weight * log q(z), `[..., batch]`."""
        return self.cost(z) + self.weight * self._log_prob(z)

    def around(self, z: torch.Tensor) -> Neighbourhood:
        """Return the cost at z and its change in every coordinate."""
        return self.posterior.space.around(self, z)

    def table(self, states: torch.Tensor) -> torch.Tensor:
        """Return the inner cost plus weight * log q of each state, `[batch, states]`."""
        return self.cost.table(states) + self.weight * self._log_prob(states[:, None]).T

    @torch.no_grad()
    def _log_prob(self, z: torch.Tensor) -> torch.Tensor:
        return self.posterior.log_prob(z)
