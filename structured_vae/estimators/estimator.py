"""What every gradient estimator takes and gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from torch import nn

from models.potentials import AnyPotentials

from ..distributions import Distribution, Gibbs
from ..errors import EstimatorError, shortened
from ..objectives.costs import Cost, CostFunction, CostOfStates
from ..objectives.recipes import KLTerm
from ..spaces import StateSpace, space_of
from .reasons import no_pairs, no_sums


@dataclass(frozen=True, eq=False)
class Estimate:
    """One draw of a gradient estimator.

    Attributes:
        surrogate: `[batch]`; `surrogate.mean().backward()` gives encoder and decoder their
            gradients. Its value means nothing.
        cost: `[batch]`, nats, the cost at the samples, averaged over them; without gradient. Where
            a KL is folded into it: of `Direct` without, of others with the scores of the samples,
            log q up to a constant.
        z: `[samples, batch, n]`, the latent states that were drawn.
        stats: averages over the batch, by name, to be logged.
        tuning: what the estimator's own parameters minimise, 0 if it has none; add it to the loss.
    """

    surrogate: torch.Tensor
    cost: torch.Tensor
    z: torch.Tensor
    stats: dict[str, torch.Tensor] = field(default_factory=dict)
    tuning: torch.Tensor | float = 0.0


class Estimator(nn.Module, ABC):
    """Estimates the gradient of E_q[cost(z)] in the potentials of q, and in the decoder.

    A module, so that estimators with a state of their own (REBAR, RELAX, adaptive epsilon) train
    and resume with the network.

    Attributes:
        kl: how the KL of an objective joins: "exact" where z is drawn from the Gibbs distribution,
            whose KL is known; "folded" into the cost where z comes from perturb-and-MAP; "none".
    """

    kl: KLTerm

    @property
    def over(self) -> StateSpace | None:
        """The space whose states alone are drawn; None for that of the potentials."""
        return None

    def posterior(self, potentials: AnyPotentials) -> Distribution:
        """Return the distribution of potentials whose samples the estimate is made of.

        Args:
            potentials: the scores h of the images.

        Raises:
            StructureError: it is the Gibbs distribution, and the space has no sums.
        """
        return Gibbs(self._in_space(potentials))

    def _in_space(self, potentials: AnyPotentials) -> AnyPotentials:
        """Return the same scores, of the states of `over` alone."""
        if self.over is None:
            return potentials
        return replace(potentials, space=self.over)

    @property
    def argmaxes(self) -> int:
        """How often an estimate asks for the argmax of an image's scores."""
        return 0

    @abstractmethod
    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        """Return the estimate, for a distribution of potentials that `why_not` has nothing against."""

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Why this estimator cannot take such potentials, one reason each; empty where it can."""
        h = self._in_space(potentials)
        return no_pairs(h) + (no_sums(h) if self.kl == "exact" else ())

    def forward(
        self,
        q: Distribution | AnyPotentials,
        cost: Cost | CostFunction,
        generator: torch.Generator,
        step: int = 0,
    ) -> Estimate:
        """Return one draw for each image.

        Args:
            q: the posterior, made by `posterior`, so that an objective shares its sums; or the
                potentials that it is made of.
            cost: bound to the images; or any function of states `[..., batch, n]` that gives
                `[..., batch]`.
            generator: of the noise, on the potentials' device.
            step: of the training; schedules depend on it.

        Raises:
            EstimatorError: the estimator cannot take these potentials; or an argument is none of
                these.
            solvers.SolverError: its solver cannot.
        """
        potentials = getattr(q, "potentials", q)
        if not isinstance(potentials, AnyPotentials):
            raise EstimatorError(
                f"expected models.Potentials(unary, ...); got {shortened(potentials)}"
            )
        if not isinstance(generator, torch.Generator):
            raise EstimatorError(f"generator must be a torch.Generator; got {shortened(generator)}")
        if not isinstance(cost, Cost):
            cost = _cost_of(cost, potentials)
        if reasons := self.why_not(potentials):
            raise EstimatorError(
                f"{type(self).__name__} cannot take these potentials: {'; '.join(reasons)}"
            )
        distribution = self.posterior(potentials) if isinstance(q, AnyPotentials) else q
        return self._estimate(distribution, cost, generator, step)

    if TYPE_CHECKING:

        def __call__(
            self,
            q: Distribution | AnyPotentials,
            cost: Cost | CostFunction,
            generator: torch.Generator,
            step: int = 0,
        ) -> Estimate:
            """As `forward`; torch says Any."""


def _cost_of(function: object, potentials: AnyPotentials) -> Cost:
    """A function of states as a cost of bits, or of categories."""
    if not callable(function):
        raise EstimatorError(
            f"cost must be a Cost or a function of states; got {shortened(function)}"
        )
    return CostOfStates(function, space_of(potentials))


def needs_samples(least: int, samples: int) -> None:
    """Refuses fewer samples than `least`.

    Raises:
        EstimatorError: there are fewer.
    """
    if not hasattr(samples, "__index__"):  # which whole numbers of numpy have too
        raise EstimatorError(f"samples must be a whole number; got {shortened(samples)}")
    if samples < least:
        raise EstimatorError(f"samples must be at least {least}; got {samples}")
