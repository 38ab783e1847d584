"""Expected values by numpy, over all states: what the code under test is held against."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch

from models import CategoricalPotentials, Potentials
from structured_vae import CostOfBits
from structured_vae.objectives import CostOfCategories
from structured_vae.spaces import space_of

LEVEL = 4.5  # standard errors; a right estimator exceeds it in one of 150,000 coordinates


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def all_bits(n):
    """All of {0,1}^n; state s has z_i = bit i of s."""
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def sigmoid(values):
    return 1 / (1 + np.exp(-np.asarray(values)))


def away(draws, expected, scale=1.0):
    """The largest |mean - expected| of all coordinates, in standard errors of `scale` times the draws."""
    draws = scale * np.asarray(draws)
    varies = draws.std(axis=0) > 0
    error = draws.std(axis=0, ddof=1)[varies] / len(draws) ** 0.5
    np.testing.assert_allclose(draws.mean(axis=0)[~varies], scale * expected[~varies], atol=1e-9)
    return (np.abs(draws.mean(axis=0) - expected)[varies] / error).max()


@dataclass(frozen=True)
class Latent:
    """The scores of one image as numpy arrays."""

    family: str
    unary: np.ndarray
    pairwise: np.ndarray
    edges: np.ndarray

    @property
    def n(self):
        return len(self.unary)

    @property
    def states(self):
        return np.eye(self.n) if self.family == "categorical" else all_bits(self.n).astype(float)

    @property
    def parameters(self):
        return np.concatenate([self.unary, self.pairwise])

    def with_parameters(self, values):
        return replace(self, unary=values[: self.n], pairwise=values[self.n :])

    def statistics(self, z=None):
        """`[..., n + e]`: z_i and z_i z_j, in which every score is linear."""
        z = self.states if z is None else z
        return np.concatenate([z, z[..., self.edges[:, 0]] * z[..., self.edges[:, 1]]], axis=-1)

    def scores(self):
        return self.statistics() @ self.parameters

    def probabilities(self):
        """`[states]`: of the Gibbs distribution."""
        return softmax(self.scores())

    def gradient(self, values):
        """`[n + e]`: of E_q[values], which is the covariance of values and statistics."""
        q = self.probabilities()
        return (q * (values - q @ values)) @ self.statistics()

    def direct_gradient(self, values, epsilon, sides=1):
        """`[n + e]`: what direct optimization expects, if every state has a Gumbel variable of its own.

        z(epsilon) is then an exact sample of the Gibbs distribution of h - epsilon values.
        """
        high, low = (
            softmax(self.scores() - step * values) @ self.statistics()
            for step in (-epsilon if sides == 2 else 0.0, epsilon)
        )
        return (high - low) / (sides * epsilon)

    def potentials(self, batch=1, tracked=False):
        """As many copies; tracked ones are leaves, so that each draw has a gradient of its own."""
        unary, pairwise = (
            torch.from_numpy(a).repeat(batch, 1).requires_grad_(tracked)
            for a in (self.unary, self.pairwise)
        )
        if self.family == "categorical":
            return CategoricalPotentials(unary)
        if self.family == "independent":
            return Potentials(unary)
        return Potentials(unary, pairwise, torch.from_numpy(self.edges))

    def index(self, z):
        """The place in `states` of each row of a tensor z."""
        z = np.asarray(z)
        return (
            z.argmax(axis=-1)
            if self.family == "categorical"
            else (z @ 2 ** np.arange(self.n)).astype(int)
        )


def latent(family, n=6, seed=0, scale=1.0):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    if family in ("independent", "categorical"):
        edges = edges[:0]
    pairwise, unary = scale * random.normal(size=len(edges)), scale * random.normal(size=n)
    if family == "supermodular":
        pairwise = np.abs(pairwise) / 2
        np.subtract.at(unary, edges, pairwise[:, None] / 2)  # or nearly all bits were ones
    return Latent(family, unary, pairwise, edges)


def leaves_of(potentials):
    return (
        [potentials.unary]
        if potentials.pairwise is None
        else [potentials.unary, potentials.pairwise]
    )


@dataclass(frozen=True)
class SmoothCost:
    """theta . tanh(A z + b): any state, relaxed ones too, and a decoder's gradient that is known.

    The gradient in theta is tanh(A z + b), whatever theta.
    """

    a: np.ndarray
    b: np.ndarray
    theta: np.ndarray

    def features(self, z):
        return np.tanh(z @ self.a.T + self.b)

    def values(self, z):
        return self.features(z) @ self.theta

    def slope(self, z):
        """The gradient in z."""
        return ((1 - self.features(z) ** 2) * self.theta) @ self.a

    def cost(self, family, batch, tracked=True):
        """As a `Cost`, and the leaf theta `[batch, features]`, one copy a draw."""
        theta = torch.from_numpy(self.theta).repeat(batch, 1).requires_grad_(tracked)
        a, b = torch.from_numpy(self.a), torch.from_numpy(self.b)

        def function(z):
            return (theta * torch.tanh(z @ a.T + b)).sum(dim=-1)

        wrap = CostOfCategories if family == "categorical" else CostOfBits
        return wrap(function), theta


def smooth_cost(n, seed=0, features=4, scale=2.0):
    random = np.random.default_rng(seed + 100)
    shapes = (features, n), features, features
    a, b, theta = (random.normal(size=shape) for shape in shapes)
    return SmoothCost(a, b, scale * theta)


def unary_noise(potentials, generator, samples=1):
    """Return the noise `[samples, batch, n]` that an estimator draws for unary scores."""
    unary = potentials.unary.detach()
    return space_of(potentials).noise(unary.expand(samples, *unary.shape), generator)


def draws_of(estimator, this, cost, count, seed=0, step=0):
    """Gradients in the scores `[count, n + e]` and in theta `[count, features]`, and the estimate."""
    h = this.potentials(count, tracked=True)
    bound, theta = cost.cost(this.family, count)
    estimate = estimator(h, bound, seeded(seed), step)
    found = torch.autograd.grad(estimate.surrogate.sum(), [*leaves_of(h), theta], allow_unused=True)
    scores = torch.cat(found[:-1], dim=1).numpy()
    return scores, found[-1].numpy(), estimate


def pair_statistics(parameters, points=40_000, width=60.0):
    """`[3]`: E[z_1, z_2, z_1 z_2] of perturb-and-MAP over two bits, by quadrature.

    Given b = u_2 + gamma_2 the first bit is a one if u_1 + gamma_1 > max(0, b) - max(0, b + w).
    """
    u_1, u_2, w = parameters
    # Pieces between the places where the second bit jumps, so that the integrand is smooth in each.
    ends = np.sort([-width, *sorted([0.0, -w]), width])
    total = np.zeros(3)
    for low, high in pairwise(ends):
        step = (high - low) / points
        b = low + step * (np.arange(points) + 0.5)
        p = sigmoid(b - u_2) * sigmoid(u_2 - b) * step
        one = sigmoid(u_1 - np.maximum(0, b) + np.maximum(0, b + w))
        both = one * (b + w > 0)
        total += np.array([p @ one, p @ (both + (1 - one) * (b > 0)), p @ both])
    return total


def log_prior(vae, states):
    """log p(z) of `states`, which are all states of a VAE: `[states]`."""
    if vae.prior is None:
        return torch.full((len(states),), -np.log(len(states)), dtype=states.dtype)
    return vae.prior.described(
        of_potentials=lambda scores: scores.table(states)[0].log_softmax(dim=0),
        of_density=lambda prior: prior.log_prob(states),
    )
