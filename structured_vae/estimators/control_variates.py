"""REBAR and RELAX: the score function with a differentiable control variate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import nn

from models.potentials import AnyPotentials

from ..distributions import Distribution
from ..errors import EstimatorError, shortened
from ..objectives.costs import Cost
from ..spaces import space_of
from .estimator import Estimate, Estimator, needs_samples
from .gumbel_softmax import relaxed
from .reasons import not_factorised


class ControlVariate(Estimator, ABC):
    """Unbiased whatever the control variate c, a function of perturbed scores.

    g = (cost(b) - c(s')) grad log q(b) + grad c(s) - grad c(s'),

    s = h + gamma, b = argmax s, and s' drawn from the distribution of s given b. The control
    variate's own parameters minimise the mean of g^2, of which g gives an unbiased gradient.

    Args:
        samples: noise draws an image.

    Raises:
        EstimatorError: no samples.
    """

    kl = "exact"

    def __init__(self, samples: int = 1):
        super().__init__()
        needs_samples(1, samples)
        self.samples = samples

    @abstractmethod
    def control(self, potentials: AnyPotentials, cost: Cost, scores: torch.Tensor) -> torch.Tensor:
        """`[samples, batch]`: c of perturbed scores `[samples, batch, n]`, differentiable in them."""

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Pairwise scores: the distribution of the scores given their argmax is not known then."""
        return not_factorised(potentials, "a control variate by reparameterisation")

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        leaf = potentials.unary.detach().requires_grad_()
        scores, b, conditional = _coupled(potentials, leaf, self.samples, generator)
        costs = cost(b)
        c, c_given_b = (self.control(potentials, cost, each) for each in (scores, conditional))
        (path,) = torch.autograd.grad((c - c_given_b).sum(), leaf, create_graph=True)
        likelihood = b - _means(potentials, leaf.detach())
        weighted = ((costs.detach() - c_given_b)[..., None] * likelihood).sum(dim=0)
        gradient = (weighted + path) / self.samples
        surrogate = (potentials.unary * gradient.detach()).sum(dim=-1) + costs.mean(dim=0)
        return Estimate(surrogate, costs.detach().mean(dim=0), b, tuning=self._tuning(gradient))

    def _tuning(self, gradient: torch.Tensor) -> torch.Tensor | float:
        """Something whose gradient in our own parameters, and no others, is that of the mean of g^2."""
        own = list(self.parameters())
        if not self.training or not own:
            return 0.0
        slopes = torch.autograd.grad(gradient.square().sum(dim=-1).mean(), own)
        return torch.stack([(p * s).sum() for p, s in zip(own, slopes, strict=True)]).sum()


def _logarithm(temperature: float) -> nn.Parameter:
    """What is trained in the place of a temperature."""
    if not 0 < temperature < math.inf:
        raise EstimatorError(
            f"temperature must be positive and finite; got {shortened(temperature)}"
        )
    return nn.Parameter(torch.tensor(float(temperature)).log())


class REBAR(ControlVariate):
    """Unbiased: the control variate is eta times the cost of the relaxed sample.

    Temperature and eta are learned. The cost must be differentiable at relaxed states. For
    independent bits and categories.

    A sample costs three decodes, two of them with a backward pass, and no argmax.

    Args:
        temperature: where it starts.
        samples: noise draws an image.

    Raises:
        EstimatorError: no samples, or a temperature that is not positive.

    References:
        Tucker, Mnih, Maddison, Lawson, Sohl-Dickstein (2017), REBAR: low-variance, unbiased
        gradient estimates for discrete latent variable models.
    """

    def __init__(self, temperature: float = 0.5, samples: int = 1):
        super().__init__(samples)
        self.log_temperature = _logarithm(temperature)
        self.eta = nn.Parameter(torch.tensor(1.0))

    def control(self, potentials: AnyPotentials, cost: Cost, scores: torch.Tensor) -> torch.Tensor:
        """`[samples, batch]`: eta cost(softmax(s / temperature))."""
        return self.eta * cost(relaxed(potentials, scores, self.log_temperature.exp()))


class RELAX(ControlVariate):
    """Unbiased: REBAR's control variate and a small network of the perturbed scores.

    The network's last layer starts at zero, so that training starts as REBAR with eta = 1.

    A sample costs three decodes, two of them with a backward pass, and no argmax.

    Args:
        n: binary variables, or categories.
        hidden: units of the network.
        temperature: where it starts.
        samples: noise draws an image.

    Raises:
        EstimatorError: no samples, or a temperature that is not positive.

    References:
        Grathwohl, Choi, Wu, Roeder, Duvenaud (2018), Backpropagation through the void.
    """

    def __init__(self, n: int, hidden: int = 100, temperature: float = 0.5, samples: int = 1):
        super().__init__(samples)
        self.log_temperature = _logarithm(temperature)
        self.network = nn.Sequential(nn.Linear(n, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        for parameter in self.network[-1].parameters():
            nn.init.zeros_(parameter)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """As of every control variate; and another number of scores than its network takes."""
        there, taken = potentials.unary.shape[-1], self.network[0].in_features
        other = (f"they have {there} scores an image, and RELAX was made with n = {taken}",)
        return super().why_not(potentials) + (other if there != taken else ())

    def control(self, potentials: AnyPotentials, cost: Cost, scores: torch.Tensor) -> torch.Tensor:
        """`[samples, batch]`: cost(softmax(s / temperature)) + network(s)."""
        free: torch.Tensor = self.network(scores).squeeze(-1)
        return cost(relaxed(potentials, scores, self.log_temperature.exp())) + free


def _means(potentials: AnyPotentials, unary: torch.Tensor) -> torch.Tensor:
    return space_of(potentials).gibbs(unary).marginals


def _coupled(
    potentials: AnyPotentials, unary: torch.Tensor, samples: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Perturbed scores, their argmax, and other scores of that argmax; `[samples, batch, n]` each.

    References:
        Tucker et al. (2017), REBAR, appendices B and C.
    """
    space = space_of(potentials)
    like = unary.detach().expand(samples, *unary.shape)
    scores = space.normalised(unary) + space.noise(like, generator)
    b = space.argmax(scores.detach())
    return scores, b, space.noise_given(unary, b, space.noise(like, generator))
