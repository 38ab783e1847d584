"""Batches without images, and images without variables: no error, no number that is not finite."""

import pytest
import torch
from enumeration import seeded

from models import CategoricalPotentials, Potentials
from structured_vae import (
    RAM,
    ArgmaxLayer,
    Gibbs,
    KOfN,
    LinearChainCRF,
    PerturbAndMAP,
    SpanningTrees,
)
from structured_vae.distributions import Autoregressive
from structured_vae.errors import ConfigError
from structured_vae.estimators import ESTIMATORS, Adaptive, EstimatorOptions, estimator_class
from structured_vae.spaces import as_space

EDGES = torch.tensor([[0, 1], [1, 2], [2, 3]])
TREES = SpanningTrees([[0, 1], [1, 2], [0, 2], [0, 3]])


def leaf(*shape):
    return torch.zeros(shape, requires_grad=True)


POTENTIALS = {
    "bits": lambda: Potentials(leaf(0, 4)),
    "pairs": lambda: Potentials(leaf(0, 4), leaf(0, 3), EDGES),
    "category": lambda: CategoricalPotentials(leaf(0, 3)),
    "categories": lambda: CategoricalPotentials(leaf(0, 6), variables=2),
    "pairs of categories": lambda: CategoricalPotentials(
        leaf(0, 6), leaf(0, 9), EDGES[:1], variables=2
    ),
    "subsets": lambda: Potentials(leaf(0, 4), space=as_space(KOfN(2))),
    "trees": lambda: Potentials(leaf(0, 4), space=as_space(TREES)),
    "no variables": lambda: Potentials(leaf(2, 0)),
    "no pairs": lambda: Potentials(leaf(2, 3), leaf(2, 0), torch.empty(0, 2, dtype=torch.long)),
}


def cost(z):
    return (z @ torch.arange(z.shape[-1], dtype=z.dtype)).square()


def of_options(name, h, rule="schedule"):
    n = max(1, h.unary.shape[-1])
    options = EstimatorOptions(n=n, samples=4, epsilon_rule=rule)
    return estimator_class(name).of_options(options)


ESTIMATES = [
    pytest.param(name, kind, id=f"{name}, {kind}")
    for name in ESTIMATORS
    for kind, make in POTENTIALS.items()
    if not of_options(name, make()).why_not(make())
]


@pytest.mark.parametrize(("name", "kind"), ESTIMATES)
def test_estimates_of_nothing_have_gradients_and_leave_the_estimator_as_it_was(name, kind):
    h = POTENTIALS[kind]()
    estimator = of_options(name, h)
    before = {key: value.clone() for key, value in estimator.state_dict().items()}
    estimate = estimator(h, cost, seeded())
    batch, n = h.unary.shape
    assert estimate.surrogate.shape == estimate.cost.shape == (batch,)
    assert estimate.z.shape[1:] == (batch, n)
    loss = estimate.surrogate.sum() + estimate.tuning
    assert loss.isfinite()
    loss.backward()
    assert h.unary.grad.shape == h.unary.shape
    assert all(
        parameter.grad is None or parameter.grad.isfinite().all()
        for parameter in estimator.parameters()
    )
    if not batch:
        after = estimator.state_dict()
        assert all(torch.equal(after[key], value) for key, value in before.items())


@pytest.mark.parametrize("name", ["direct", "table_direct"])
def test_an_adaptive_epsilon_learns_nothing_from_no_images(name):
    estimator = of_options(name, POTENTIALS["bits"](), "adaptive")
    before = estimator.epsilon.log_epsilon.clone()
    estimator(POTENTIALS["bits"](), cost, seeded())
    assert torch.equal(estimator.epsilon.log_epsilon, before)


def test_an_adaptive_layer_learns_nothing_from_no_images():
    layer = ArgmaxLayer(epsilon=Adaptive(), seed=None)
    scores = leaf(0, 4)
    layer(scores).sum().backward()
    assert scores.grad.shape == (0, 4)
    assert layer.epsilon.log_epsilon.isfinite()


POSTERIORS = (Gibbs, PerturbAndMAP, Autoregressive)

QUANTITIES = {
    "samples": lambda q: q.sample(seeded(), 2),
    "different samples": lambda q: q.sample_distinct(seeded(), 1),
    "completions": lambda q: q.completions(seeded(), 2).z,
    "log Z": lambda q: q.log_partition,
    "entropy": lambda q: q.entropy(),
    "KL": lambda q: q.kl(generator=seeded()).value,
    "log q": lambda q: q.log_prob(q.sample(seeded(), 2)),
}

BITS = ("bits", "pairs", "no variables", "no pairs")

OF_NOTHING = [
    *((Gibbs, kind, quantity) for kind in POTENTIALS for quantity in QUANTITIES),
    *((PerturbAndMAP, kind, quantity) for kind in POTENTIALS for quantity in ("samples", "KL")),
    *(
        (Autoregressive, kind, quantity)
        for kind in BITS
        for quantity in QUANTITIES
        if quantity != "entropy"
    ),
]


@pytest.mark.parametrize(("posterior", "kind", "quantity"), OF_NOTHING)
def test_quantities_of_posteriors_of_nothing_are_finite(posterior, kind, quantity):
    value = QUANTITIES[quantity](posterior(POTENTIALS[kind]()))
    assert value.isfinite().all()


def test_soft_tags_of_no_chains_have_no_gradient():
    crf = LinearChainCRF(2, batch_first=True)
    scores = leaf(0, 3, 2)
    crf(scores, torch.ones(0, 3, 2) / 2, reduction="none").sum().backward()
    assert scores.grad.shape == (0, 3, 2)


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_draws_that_do_not_exist_are_refused(posterior):
    q = posterior(Potentials(torch.zeros(1, 2)))
    calls = {
        "samples must be a whole number": lambda: q.sample(seeded(), -1),
        "generator must be": lambda: q.sample("x"),
        "count must be at most the number of states, 4": lambda: q.sample_distinct(seeded(), 5),
        "count must be a whole number of at least 1": lambda: q.sample_distinct(seeded(), 0),
        "count must be a whole number from 1 to 2, or None": lambda: q.completions(seeded(), 2, 5),
    }
    for message, call in calls.items():
        with pytest.raises(ConfigError, match=message):
            call()
    with pytest.raises(TypeError, match=r"z must be states \[..., batch, 2\]; got \[1, 5\]"):
        q.log_prob(torch.zeros(1, 5))


def test_maximum_likelihood_has_a_cost_for_each_image():
    estimator = estimator_class("maximum_likelihood")()
    estimate = estimator(Potentials(torch.zeros(3, 2)), cost, seeded())
    assert estimate.cost.shape == (3,)


def test_ram_of_no_variables_is_the_cost():
    unary = leaf(2, 0)
    estimate = RAM()(Potentials(unary), lambda z: z.sum(-1) + 3.0, seeded())
    assert estimate.surrogate.tolist() == [3.0, 3.0]


def test_ram_is_exact_for_linear_costs_of_independent_bits_whatever_the_number_of_samples():
    slopes = torch.tensor([1.0, -2.0, 0.5])
    for samples in (1, 3):
        unary = torch.tensor([[0.3, -1.0, 2.0]], requires_grad=True)
        RAM(samples)(Potentials(unary), lambda z: z @ slopes, seeded()).surrogate.sum().backward()
        p = unary.detach().sigmoid()
        torch.testing.assert_close(unary.grad, slopes * p * (1 - p))
