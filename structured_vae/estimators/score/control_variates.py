"""The estimators REBAR and RELAX: the score function with a differentiable control variate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self, cast

import torch
from torch import nn

from models.arguments import positive_number, whole_number
from models.potentials import AnyPotentials

from ...distributions import Distribution
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ...spaces import space_of
from ..estimator import Compared, Estimate, Estimator
from ..options import EstimatorOptions
from ..reasons import not_factorised, other_size
from ..relaxed.gumbel_softmax import relaxed
from .tuning import squared_gradient_loss


class ControlVariate(Estimator, ABC):
    """The base of estimators with a control variate c of perturbed scores: unbiased for any c.

    g = (cost(b) - c(s')) grad log q(b) + grad c(s) - grad c(s'),

    s = h + gamma, b = argmax s, and s' drawn from the distribution of s given b. The control
    variate's parameters minimise the mean of g^2, of which g gives an unbiased gradient.

    Args:
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.
    """

    kl = "density"
    untransformable = "differentiates its control variate itself"

    def __init__(self, samples: int = 1):
        super().__init__()
        samples = whole_number(samples, "samples", EstimatorError)
        self.samples = samples

    @abstractmethod
    def control(self, potentials: AnyPotentials, cost: Cost, scores: torch.Tensor) -> torch.Tensor:
        """Return c `[samples, batch]` of perturbed scores `[samples, batch, n]`, differentiable."""

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where variables depend on each other.

        The distribution of the scores given their argmax is then not known.
        """
        reasons = super().why_not(potentials)
        return reasons + not_factorised(potentials, "a control variate by reparameterisation")

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        potentials = q.potentials
        leaf = potentials.unary.detach().requires_grad_()
        scores, b, conditional = _coupled(potentials, leaf, self.samples, generator)
        costs = cost(b)
        c = self.control(potentials, cost, scores)
        c_given_b = self.control(potentials, cost, conditional)
        # This path gradient makes up for what c_given_b takes from the score term.
        (path,) = torch.autograd.grad((c - c_given_b).sum(), leaf, create_graph=True)
        # For independent bits the gradient of log q(b) in the scores is b - mean.
        likelihood = b - _means(potentials, leaf.detach())
        weighted = ((costs.detach() - c_given_b)[..., None] * likelihood).sum(dim=0)
        gradient = (weighted + path) / self.samples
        # A surrogate that is linear in the scores: its gradient is `gradient`.
        linear = (potentials.unary * gradient.detach()).sum(dim=-1)
        linear = self.once(linear, potentials)
        surrogate = linear + costs.mean(dim=0)
        return Estimate(surrogate, costs.detach().mean(dim=0), b, tuning=self._tuning(gradient))

    def _tuning(self, gradient: torch.Tensor) -> torch.Tensor | float:
        """Return a loss whose gradient in the parameters of c is that of the mean of g^2.

        It has no gradient in other parameters.
        """
        parameters = list(self.parameters())
        if not self.training or not parameters:
            return 0.0
        return squared_gradient_loss(parameters, [gradient])


def _logarithm(temperature: float) -> nn.Parameter:
    """Return the logarithm of a temperature, as a parameter."""
    temperature = positive_number(temperature, "temperature", EstimatorError)
    return nn.Parameter(torch.tensor(temperature).log())


class REBAR(ControlVariate):
    """The REBAR estimator: unbiased, with the cost of a relaxed sample as control variate.

    Temperature and eta are learnt. The cost must be differentiable at relaxed states. For
    independent bits and categories.

    A sample costs three decodes, two of them with a backward pass, and no argmax.

    Args:
        temperature: its initial value.
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1, or the temperature is not
            positive and finite.

    References:
        Tucker, Mnih, Maddison, Lawson, Sohl-Dickstein (2017), REBAR: low-variance, unbiased
        gradient estimates for discrete latent variable models.
    """

    def __init__(self, temperature: float = 0.5, samples: int = 1):
        super().__init__(samples)
        self.log_temperature = _logarithm(temperature)
        self.eta = nn.Parameter(torch.tensor(1.0))

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(samples=options.samples)

    @classmethod
    def compared(cls) -> tuple[Compared, ...]:
        """Return the forms of this estimator that `structured-vae gradients` measures."""
        return (Compared("REBAR", lambda _: cls(), has_setting=False),)

    def control(self, potentials: AnyPotentials, cost: Cost, scores: torch.Tensor) -> torch.Tensor:
        """Return eta cost(softmax(s / temperature)), `[samples, batch]`."""
        return self.eta * cost(relaxed(potentials, scores, self.log_temperature.exp()))


class RELAX(ControlVariate):
    """The RELAX estimator: unbiased, with the control variate of REBAR plus a small network.

    The network takes the perturbed scores. Its last layer starts at zero, so that training starts
    as REBAR with eta = 1.

    A sample costs three decodes, two of them with a backward pass, and no argmax.

    Args:
        n: number of scores per image: binary variables, or categories.
        hidden: number of hidden units of the network.
        temperature: its initial value.
        samples: number of noise draws per image.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1, or the temperature is not
            positive and finite.

    References:
        Grathwohl, Choi, Wu, Roeder, Duvenaud (2018), Backpropagation through the void.
    """

    def __init__(self, n: int, hidden: int = 100, temperature: float = 0.5, samples: int = 1):
        super().__init__(samples)
        self.log_temperature = _logarithm(temperature)
        n = whole_number(n, "n", EstimatorError)
        hidden = whole_number(hidden, "hidden", EstimatorError)
        self.network = nn.Sequential(nn.Linear(n, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        for parameter in self.network[-1].parameters():
            nn.init.zeros_(parameter)

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.n, samples=options.samples)

    def why_not(self, potentials: AnyPotentials) -> tuple[str, ...]:
        """Return a reason where variables depend on each other, or n is not that of the network."""
        expected = cast("nn.Linear", self.network[0]).in_features
        return super().why_not(potentials) + other_size(potentials, expected, "RELAX")

    def control(self, potentials: AnyPotentials, cost: Cost, scores: torch.Tensor) -> torch.Tensor:
        """Return cost(softmax(s / temperature)) + network(s), `[samples, batch]`."""
        free: torch.Tensor = self.network(scores).squeeze(-1)
        return cost(relaxed(potentials, scores, self.log_temperature.exp())) + free


def _means(potentials: AnyPotentials, unary: torch.Tensor) -> torch.Tensor:
    return space_of(potentials).gibbs(unary).marginals


def _coupled(
    potentials: AnyPotentials, unary: torch.Tensor, samples: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return perturbed scores, their argmax, and other perturbed scores with the same argmax.

    Each is `[samples, batch, n]`.

    References:
        Tucker et al. (2017), REBAR, appendices B and C.
    """
    space = space_of(potentials)
    like = unary.detach().expand(samples, *unary.shape)
    scores = space.normalised(unary) + space.noise(like, generator)
    b = space.argmax(scores.detach())
    return scores, b, space.noise_given(unary, b, space.noise(like, generator))
