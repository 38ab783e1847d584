"""The estimators of importance-weighted bounds: samples have the weight p(x, z) / q(z | x)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Literal, Self, get_args

import torch

from models.arguments import one_of, whole_number
from models.potentials import AnyPotentials

from ...distributions import Distribution
from ...distributions.kl import kl_ceiling
from ...errors import EstimatorError
from ...objectives.costs import Cost
from ..estimator import Estimate, Estimator
from ..options import EstimatorOptions

Baseline = Literal["geometric", "arithmetic"]
"""The mean of the other weights that VIMCO puts in the place of a weight."""


class MultiSample(Estimator, ABC):
    """The base of estimators from K samples with weights w_k = p(x, z_k) / q(z_k | x).

    The decoder and the prior minimise the importance-weighted bound

        L_K = E[-log (1/K) sum_k w_k],

    with the gradient sum_k v_k grad cost(z_k), where v_k = w_k / sum_j w_j, and the cost is
    -log p(x, z). The encoder gets sum_k a_k grad log q(z_k), with the factors a_k of a subclass. q
    may be any distribution with exact samples and an exact log q.

    The KL is inside the weights, and its weight in a warm-up is not used. `cost` of the estimate is
    the importance-weighted bound, and `stats` has the effective number of samples,
    1 / sum_k v_k^2.

    Args:
        samples: K, the number of samples per image.
        least: the smallest number that a subclass can take.

    Raises:
        EstimatorError: there are fewer than `least` samples.
    """

    kl = "weighted"
    other_objective = "a bound over weights p(x, z) / q(z | x) of several samples"
    takes_any_density = True
    usual_samples = 5

    def __init__(self, samples: int = 5, least: int = 2):
        super().__init__()
        least = whole_number(least, "least", EstimatorError)
        samples = whole_number(samples, "samples", EstimatorError, least)
        self.samples = samples

    @classmethod
    def of_options(cls, options: EstimatorOptions) -> Self:
        """Return the estimator that a configuration describes."""
        return cls(options.samples)

    @abstractmethod
    def factors(self, log_weights: torch.Tensor) -> torch.Tensor:
        """Return the factors a_k `[samples, batch]` of grad log q(z_k) in the encoder's gradient.

        Args:
            log_weights: `[samples, batch]`, without gradient.
        """

    def of_encoder(
        self, log_weights: torch.Tensor, log_q: torch.Tensor, potentials: AnyPotentials
    ) -> torch.Tensor:
        """Return the terms `[batch]` that give the scores their gradient.

        Args:
            log_weights: `[samples, batch]`, without gradient.
            log_q: `[samples, batch]`, differentiable.
            potentials: the scores.
        """
        return self.once((self.factors(log_weights) * log_q).sum(dim=0), potentials)

    def _estimate(
        self, q: Distribution, cost: Cost, generator: torch.Generator, step: int
    ) -> Estimate:
        z = q.sample(generator, self.samples)
        costs = cost(z)
        log_q = q.log_prob(z)
        log_weights = -costs.detach() - log_q.detach()
        shares = log_weights.softmax(dim=0)
        # The gradient of the bound weights the cost of a sample by its normalised weight.
        of_decoder = (shares * costs).sum(dim=0)
        of_encoder = self.of_encoder(log_weights, log_q, q.potentials)
        bound = importance_bound(q, log_weights)
        return Estimate(of_decoder + of_encoder, bound, z, effective_samples(shares))


class VIMCO(MultiSample):
    """The VIMCO estimator of the importance-weighted bound L_K: unbiased.

    The learning signal of a sample is the change of log (1/K) sum_j w_j if the weight of the
    sample is replaced by a mean of the other weights, which does not depend on the sample:

        a_k = v_k - [log (1/K) sum_j w_j - log (1/K) (sum_{j != k} w_j + mean_{j != k} w_j)].

    A sample costs one decode with a gradient for the decoder, and no argmax.

    Args:
        samples: K, the number of samples per image, at least 2.
        baseline: the mean, "geometric" or "arithmetic".

    Raises:
        EstimatorError: there are fewer than 2 samples, or `baseline` has another value.

    References:
        Mnih, Rezende (2016), Variational inference for Monte Carlo objectives.
        Burda, Grosse, Salakhutdinov (2016), Importance weighted autoencoders: the bound.
    """

    def __init__(self, samples: int = 5, baseline: Baseline = "geometric"):
        super().__init__(samples)
        self.baseline = one_of(baseline, "baseline", EstimatorError, get_args(Baseline))

    def factors(self, log_weights: torch.Tensor) -> torch.Tensor:
        """Return the share of each sample less its learning signal."""
        others = log_sum_of_others(log_weights)
        replaced = torch.logaddexp(others, BASELINES[self.baseline](log_weights, others))
        signal = log_weights.logsumexp(dim=0) - replaced
        return log_weights.softmax(dim=0) - signal


class OVIS(MultiSample):
    """The OVIS estimator of the importance-weighted bound L_K: unbiased, for many samples.

    Its baseline is log (1/K) sum_{j != k} w_j, the limit of the best one where no weight is large,
    so that

        a_k = v_k + log(1 - v_k).

    For small shares that is -v_k^2 / 2, where the factor of VIMCO is about 1/K: the more samples,
    the more noise it saves.

    A sample costs one decode with a gradient for the decoder, and no argmax.

    Args:
        samples: K, the number of samples per image, at least 2.

    Raises:
        EstimatorError: there are fewer than 2 samples.

    References:
        Liévin, Dittadi, Christensen, Winther (2020), Optimal variance control of the score-function
        gradient estimator for importance weighted bounds, equation 17 with gamma = 0.
    """

    def factors(self, log_weights: torch.Tensor) -> torch.Tensor:
        """Return v_k + log(1 - v_k), where 1 - v_k is the share of the other samples."""
        others = log_sum_of_others(log_weights) - log_weights.logsumexp(dim=0)
        return log_weights.softmax(dim=0) + others


def importance_bound(q: Distribution, log_weights: torch.Tensor) -> torch.Tensor:
    """Return the bound `[batch]` in nats, from log weights without the uniform prior."""
    log_mean = log_weights.logsumexp(dim=0) - math.log(len(log_weights))
    return kl_ceiling(q.potentials).value - log_mean


def effective_samples(shares: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the mean effective number of samples by its name, from shares `[samples, batch]`."""
    return {"effective_samples": (1 / shares.square().sum(dim=0)).mean()}


def log_sum_of_others(log_weights: torch.Tensor) -> torch.Tensor:
    """Return log sum_{j != k} w_j `[samples, batch]` for each of the log weights.

    It is the sum over the samples before k and the sum over those after it, so that nothing
    cancels where one weight exceeds all others.

    Example:
        >>> log_sum_of_others(torch.tensor([[1.0], [2.0], [4.0]]).log()).exp().T
        tensor([[6., 5., 3.]])
    """
    none = torch.full_like(log_weights[:1], -math.inf)
    before = torch.cat([none, log_weights[:-1].logcumsumexp(dim=0)])
    after = torch.cat([none, log_weights[1:].flip(0).logcumsumexp(dim=0)]).flip(0)
    return torch.logaddexp(before, after)


def _geometric(log_weights: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the geometric mean of the other weights, `[samples, batch]`."""
    return (log_weights.sum(dim=0) - log_weights) / (len(log_weights) - 1)


def _arithmetic(log_weights: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the arithmetic mean of the other weights, `[samples, batch]`."""
    return others - math.log(len(log_weights) - 1)


BASELINES: Final[dict[Baseline, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]] = {
    "geometric": _geometric,
    "arithmetic": _arithmetic,
}
"""The means by name: (log weights, logarithms of the sums of the others) -> log means."""
