"""Importance-weighted objectives against enumeration of all tuples of states."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from enumeration import (
    LEVEL,
    all_bits,
    away,
    draws_of,
    latent,
    leaves_of,
    log_prior,
    seeded,
    smooth_cost,
    softmax,
)

from models import DiscreteVAE, Potentials, paper_vae
from models.errors import SettingError
from models.likelihoods import BernoulliLikelihood, GaussianLikelihood, Likelihood
from structured_vae import OVIS, VIMCO, Gibbs, elbo_recipe
from structured_vae.distributions import Autoregressive
from structured_vae.errors import EstimatorError
from structured_vae.estimators import LocalDisARM, ReweightedWakeSleep, WakeSleep, WakeWake
from structured_vae.objectives import paper_recipe, sleep_loss
from structured_vae.objectives.sleep import drawn_from_prior

SIZES = {"independent": 3, "general": 3, "categorical": 5}
DRAWS = 30_000
UNBIASED = {
    "vimco": VIMCO,
    "vimco_arithmetic": lambda samples: VIMCO(samples, "arithmetic"),
    "ovis": OVIS,
    "local_disarm": LocalDisARM,
}
FITTING = [
    (name, family)
    for name in UNBIASED
    for family in SIZES
    if family == "independent" or name != "local_disarm"
]


def problem(family, seed=0):
    this = latent(family, SIZES[family], seed)
    return this, smooth_cost(this.n, seed)


class Tuples:
    """Every tuple of K states of a small problem, with its probability and its weights."""

    def __init__(self, this, cost, samples):
        self.this = this
        self.cost = cost
        q = this.probabilities()
        self.places = np.array(list(itertools.product(range(len(q)), repeat=samples)))
        self.probability = q[self.places].prod(axis=1)
        log_weights = -cost.values(this.states) - np.log(q)
        self.weights = np.exp(log_weights)[self.places]
        self.shares = self.weights / self.weights.sum(axis=1, keepdims=True)
        self.scores = this.statistics() - q @ this.statistics()

    def bound(self):
        """-log (1/K) sum_k w_k in expectation, with the uniform prior."""
        mean = self.weights.mean(axis=1)
        return -self.probability @ np.log(mean) + np.log(len(self.this.states))

    def encoder_gradient(self):
        """The gradient of the bound in the scores: the score function plus the path of log w."""
        log_mean = np.log(self.weights.mean(axis=1))
        factors = self.shares - log_mean[:, None]
        return self.expected(factors)

    def wake_gradient(self):
        return self.expected(-self.shares)

    def expected(self, factors):
        """The mean of sum_k factors_k grad log q(z_k)."""
        return np.einsum("t,tk,tkp->p", self.probability, factors, self.scores[self.places])

    def decoder_gradient(self):
        features = self.cost.features(self.this.states)[self.places]
        return np.einsum("t,tk,tkf->f", self.probability, self.shares, features)


def test_the_exact_gradient_is_that_of_the_bound_by_differences():
    this, cost = problem("general")
    step = 1e-6
    rises = []
    for direction in np.eye(len(this.parameters)):
        ends = [
            Tuples(this.with_parameters(this.parameters + sign * step * direction), cost, 2).bound()
            for sign in (1, -1)
        ]
        rises.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(Tuples(this, cost, 2).encoder_gradient(), rises, atol=1e-8)


@pytest.mark.spread(8)
@pytest.mark.statistical
@pytest.mark.parametrize("samples", [2, 3])
@pytest.mark.parametrize(("name", "family"), FITTING)
def test_unbiased_estimators_have_the_gradient_of_the_importance_weighted_bound(
    name, family, samples
):
    this, cost = problem(family)
    tuples = Tuples(this, cost, samples)
    draws, decoder, estimate = draws_of(UNBIASED[name](samples), this, cost, DRAWS)
    expected = tuples.encoder_gradient()
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL
    assert away(decoder, tuples.decoder_gradient()) < LEVEL
    assert away(decoder, tuples.decoder_gradient(), 1.1) > LEVEL
    assert away(estimate.cost.numpy()[:, None], np.array([tuples.bound()])) < LEVEL
    assert estimate.z.shape == (samples, DRAWS, this.n)
    effective = 1 / (tuples.shares**2).sum(axis=1)
    error = effective.std() / DRAWS**0.5
    assert abs(estimate.stats["effective_samples"] - tuples.probability @ effective) < LEVEL * error


@pytest.mark.statistical
@pytest.mark.parametrize("make", [WakeWake, ReweightedWakeSleep])
@pytest.mark.parametrize("family", SIZES)
def test_the_wake_phase_has_the_self_normalised_gradient(family, make):
    this, cost = problem(family)
    tuples = Tuples(this, cost, 3)
    draws, decoder, _ = draws_of(make(3), this, cost, DRAWS)
    assert away(draws, tuples.wake_gradient()) < LEVEL
    assert away(draws, tuples.wake_gradient(), 1.1) > LEVEL
    assert away(decoder, tuples.decoder_gradient()) < LEVEL


@pytest.mark.statistical
@pytest.mark.parametrize("make", [VIMCO, OVIS])
def test_an_autoregressive_posterior_has_the_gradient_of_its_own_bound(make):
    this, cost = problem("general")
    estimator = make(2)
    estimator.draw_from(Autoregressive)
    draws, _, estimate = draws_of(estimator, this, cost, DRAWS)
    h = this.potentials(tracked=True)
    states = torch.from_numpy(this.states)
    log_q = Autoregressive(h).log_prob(states[:, None])[:, 0]
    log_weights = -torch.from_numpy(cost.values(this.states)) - np.log(8) - log_q
    log_means = torch.logaddexp(log_weights[:, None], log_weights[None]) - np.log(2)
    bound = -(log_q.exp() @ log_means @ log_q.exp())
    expected = torch.cat(torch.autograd.grad(bound, leaves_of(h)), dim=1)[0].numpy()
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL
    assert away(estimate.cost.numpy()[:, None], bound.detach().numpy()[None]) < LEVEL


@pytest.mark.parametrize("family", SIZES)
def test_the_bias_of_the_wake_phase_falls_with_the_number_of_samples(family):
    this, cost = problem(family)
    posterior = softmax(-cost.values(this.states))
    forward_kl = (this.probabilities() - posterior) @ this.statistics()
    bias = [
        np.linalg.norm(Tuples(this, cost, samples).wake_gradient() - forward_kl)
        for samples in (1, 2, 4)
    ]
    assert bias[2] < 0.9 * bias[1] < 0.9 * bias[0]


@pytest.mark.parametrize("samples", [1, 3])
def test_the_encoder_gets_no_gradient_of_the_wake_phase_where_it_learns_asleep(samples):
    this, cost = problem("general")
    draws, decoder, _ = draws_of(WakeSleep(samples), this, cost, 10)
    assert not draws.any()
    assert decoder.all()


def test_local_disarm_takes_independent_bits_alone():
    for family in ("general", "categorical"):
        assert LocalDisARM().why_not(problem(family)[0].potentials())
    assert LocalDisARM().why_not(problem("independent")[0].potentials()) == ()


@pytest.mark.statistical
def test_ovis_saves_more_noise_the_more_samples_there_are():
    this, cost = problem("independent")
    cost = replace(cost, theta=cost.theta / 4)
    ratios = []
    for samples in (2, 10):
        vimco, ovis = (
            draws_of(make(samples), this, cost, 10_000)[0].var(axis=0).sum()
            for make in (VIMCO, OVIS)
        )
        ratios.append(ovis / vimco)
    assert ratios[1] < ratios[0] < 1
    assert ratios[1] < 0.1


def test_one_sample_that_outweighs_all_others_keeps_factors_finite():
    log_weights = torch.tensor([[0.0], [-900.0], [-1000.0]])
    # The logarithm of the sum of the other weights is -900, 0 and 0. The arithmetic baseline adds
    # half of that sum, and the geometric one next to nothing.
    for name, baseline in {"vimco": 0.0, "ovis": 0.0, "vimco_arithmetic": math.log(1.5)}.items():
        factors = UNBIASED[name](3).factors(log_weights)
        expected = baseline + torch.tensor([[1.0 - 900.0], [0.0], [0.0]])
        torch.testing.assert_close(factors, expected, msg=name)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: VIMCO(1), "samples must be a whole number of at least 2; got 1"),
        (lambda: LocalDisARM(1), "samples must be a whole number of at least 2; got 1"),
        (lambda: OVIS(1), "samples must be a whole number of at least 2; got 1"),
        (lambda: ReweightedWakeSleep(1), "samples must be a whole number of at least 2; got 1"),
        (lambda: WakeWake(1), "samples must be a whole number of at least 2; got 1"),
        (lambda: WakeSleep(0), "samples must be a whole number of at least 1; got 0"),
        (lambda: VIMCO(5, "median"), "baseline must be 'geometric' or 'arithmetic'"),
    ],
)
def test_options_out_of_range_are_refused(make, words):
    with pytest.raises(EstimatorError, match=words):
        make()


# --- a VAE --------------------------------------------------------------------------------------


def small_vae(encoder="general", prior="uniform"):
    torch.manual_seed(0)
    vae = paper_vae(encoder, pixels=9, n=4, hidden=6, prior=prior).double()
    if vae.prior is not None:
        for parameter in vae.prior.parameters():
            parameter.data = torch.randn(parameter.shape, generator=seeded(1), dtype=torch.float64)
    x = (torch.rand(1, 9, generator=seeded(2)) < 0.4).double()
    return vae, x


def log_joint(vae, x):
    """log p(x, z) of every state `[states]`, by the networks and numpy."""
    states = torch.from_numpy(all_bits(4).astype(float))
    likelihood = -vae.decoder.cost(x.expand(len(states), -1), states)
    return likelihood + log_prior(vae, states)


def pair_bound(vae, x):
    """-log (w_1 + w_2) / 2 in expectation over all pairs of states, differentiable."""
    h = vae.encoder(x)
    log_q = h.table(h.states())[0].log_softmax(dim=0).detach()
    log_weights = log_joint(vae, x) - log_q
    log_means = torch.logaddexp(log_weights[:, None], log_weights[None]) - np.log(2)
    return -(log_q.exp() @ log_means @ log_q.exp())


@pytest.mark.statistical
@pytest.mark.parametrize("recipe", [elbo_recipe, paper_recipe])
@pytest.mark.parametrize("prior", ["uniform", "factorised", "gibbs", "linear"])
def test_a_vae_minimises_the_bound_with_its_prior_whatever_the_weight_of_the_kl(prior, recipe):
    vae, x = small_vae(prior=prior)
    batch = 20_000
    h = vae.encoder(x).detach()
    q = Gibbs(replace(h, unary=h.unary.expand(batch, -1), pairwise=h.pairwise.expand(batch, -1)))
    estimator = VIMCO(2)
    objective = recipe(vae, x, q, estimator.kl, 0.3)
    assert objective.kl == 0
    estimate = estimator(q, objective.cost, seeded(0))
    expected = pair_bound(vae, x)
    assert away(estimate.cost.numpy()[:, None], expected.detach().numpy()[None]) < LEVEL
    learnt = [*vae.decoder.parameters()]
    if vae.prior is not None:
        learnt += vae.prior.parameters()
    gradients = torch.autograd.grad(estimate.surrogate.mean(), learnt)
    for gradient, exact in zip(gradients, torch.autograd.grad(expected, learnt), strict=True):
        assert (gradient - exact).norm() < 0.05 * exact.norm() + 1e-3


@pytest.mark.statistical
@pytest.mark.parametrize("prior", ["uniform", "gibbs", "linear"])
def test_the_sleep_phase_draws_states_and_images_of_the_model(prior):
    vae, _ = small_vae(prior=prior)
    count = 20_000
    states = all_bits(4).astype(float)
    with torch.no_grad():
        z = drawn_from_prior(vae, count, seeded(0))
        x = vae.decoder.draw(z, seeded(1))
        means = vae.decoder.mean(torch.from_numpy(states)).numpy()
        p = log_prior(vae, torch.from_numpy(states)).exp().numpy()
    assert away(z.numpy(), p @ states) < LEVEL
    assert away(z.numpy(), p @ states, 1.1) > LEVEL
    assert away(x.numpy(), p @ means) < LEVEL
    assert away(x.numpy() * z.numpy()[:, :1], (p * states[:, 0]) @ means) < LEVEL


def test_the_sleep_phase_teaches_the_encoder_alone():
    vae, _ = small_vae(prior="factorised")
    seen = []

    def hidden(x):
        seen.append(x)
        return torch.zeros_like(x)

    loss = sleep_loss(vae, 7, Gibbs, seeded(0), hidden)
    assert loss.shape == (7,)
    loss.mean().backward()
    assert all(weight.grad is not None for weight in vae.encoder.parameters())
    others = [*vae.decoder.parameters(), *vae.prior.parameters()]
    assert all(weight.grad is None for weight in others)
    assert set(seen[0].flatten().tolist()) <= {0.0, 1.0}
    z = drawn_from_prior(vae, 7, seeded(0))
    blank = Gibbs(vae.encoder(torch.zeros_like(seen[0])))
    torch.testing.assert_close(loss, -blank.log_prob(z))
    assert not torch.equal(sleep_loss(vae, 7, Gibbs, seeded(0)), loss)


@pytest.mark.statistical
def test_likelihoods_draw_from_their_distribution():
    outputs = torch.tensor([-1.0, 0.5, 2.0]).expand(20_000, -1)
    ones = BernoulliLikelihood().draw(outputs, seeded(0))
    assert away(ones.numpy(), outputs[0].sigmoid().numpy()) < LEVEL
    gaussian = GaussianLikelihood()
    values = gaussian.draw(outputs, seeded(0))
    assert not values.requires_grad
    assert away(values.numpy(), outputs[0].numpy()) < LEVEL
    squares = (values - outputs).square().numpy()
    variance = np.full(3, gaussian.scale.item() ** 2)
    assert away(squares, variance) < LEVEL
    assert away(squares, variance, 1.1) > LEVEL


def test_a_likelihood_that_cannot_draw_says_so():
    class Custom(Likelihood):
        cost = table = mean = None

    class WithCost(torch.nn.Linear):
        def cost(self, x, z):
            return z.sum(dim=-1)

    with pytest.raises(SettingError, match="Custom cannot draw images: implement draw"):
        Custom.__new__(Custom).draw(torch.zeros(1, 2), seeded(0))
    encoder = torch.nn.Linear(9, 4)
    network = torch.nn.Module()
    network.forward = lambda x: Potentials(encoder(x))
    vae = DiscreteVAE(network, WithCost(4, 9), pixels=9)
    with pytest.raises(SettingError, match="WithCost has a cost of its own"):
        sleep_loss(vae, 2, Gibbs, seeded(0))
    vae = DiscreteVAE(network, torch.nn.Linear(4, 9), pixels=9)
    assert sleep_loss(vae, 2, Gibbs, seeded(0)).shape == (2,)
