"""Importance-weighted bounds of an evaluation: streams of weights, several numbers of samples."""

import itertools

import numpy as np
import pytest
import torch
from enumeration import LEVEL, all_bits, log_prior, seeded

from models import DiscreteVAE, paper_vae
from models.vaes import GaussianVAE
from structured_vae import ConfigError, Gibbs, PerturbAndMAP, evaluate
from structured_vae.distributions import Autoregressive
from structured_vae.evaluation.importance import ImportanceBounds, draws_at_once
from structured_vae.vaes import evaluate_gaussian


def vae_of(encoder="general", n=3, prior="uniform"):
    torch.manual_seed(0)
    vae = paper_vae(encoder, pixels=9, n=n, hidden=6, prior=prior).double()
    vae.decoder.last.weight.data *= 4
    if vae.prior is not None:
        for parameter in vae.prior.parameters():
            parameter.data = torch.randn(parameter.shape, generator=seeded(1), dtype=torch.float64)
    return vae


def image():
    return (torch.rand(1, 9, generator=seeded(2)) < 0.4).double()


@torch.no_grad()
def weights_of(vae, x):
    """log q(z | x) and log p(x, z) - log q(z | x) of every state, as numpy arrays."""
    states = torch.from_numpy(all_bits(vae.n).astype(float))
    log_q = vae.encoder(x).table(states)[0].log_softmax(dim=0)
    log_p = log_prior(vae, states) - vae.decoder.cost(x.expand(len(states), -1), states)
    return log_q.numpy(), (log_p - log_q).numpy()


def expected_bound(log_q, log_weights, count):
    """L_K by enumeration of all tuples of K states."""
    places = np.array(list(itertools.product(range(len(log_q)), repeat=count)))
    probability = np.exp(log_q[places].sum(axis=1))
    return -probability @ np.log(np.exp(log_weights[places]).mean(axis=1))


@pytest.mark.parametrize("cuts", [[24], [1] * 24, [5, 7, 1, 11], [3, 3, 18]])
def test_bounds_of_a_stream_are_those_of_all_weights_however_it_is_cut(cuts):
    log_weights = 50 * torch.randn(24, 3, generator=seeded(0))
    bounds = ImportanceBounds([1, 4, 7, 24])
    for chunk in log_weights.split(cuts):
        bounds.add(chunk)
    for count, bound in bounds.values().items():
        full = 24 // count
        groups = log_weights[: full * count].double().view(full, count, 3)
        expected = np.log(count) - groups.logsumexp(dim=1).mean(dim=0)
        torch.testing.assert_close(bound, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("enumerated", [True, False])
@pytest.mark.parametrize(
    ("encoder", "prior"), [("general", "uniform"), ("independent", "gibbs"), ("general", "linear")]
)
def test_bounds_are_those_of_enumeration_and_fall_with_the_number_of_samples(
    encoder, prior, enumerated, limits
):
    if not enumerated:
        limits(enumerated_bits=2)
    vae = vae_of(encoder, prior=prior)
    x = image()
    copies = 3000
    quantities = evaluate(
        vae, [(x.repeat(copies, 1),)], Gibbs, seeded(), samples=5, importance=[1, 2, 3]
    ).quantities
    log_q, log_weights = weights_of(vae, x)
    values = []
    for count in (1, 2, 3):
        quantity = quantities[f"importance_{count}"]
        expected = expected_bound(log_q, log_weights, count)
        error = LEVEL * quantity.standard_error
        assert abs(quantity.value - expected) < error
        assert abs(1.1 * quantity.value - expected) > error
        assert quantity.kind == "bound"
        assert f"importance-weighted, {count} samples, {5 // count} times" in quantity.meaning
        values.append(quantity.value)
    exact = -np.log(np.exp(log_q + log_weights).sum())
    assert values[0] > values[1] > values[2] > exact
    assert (
        abs(values[0] - quantities["bound"].value)
        < LEVEL * quantities["importance_1"].standard_error
    )


@pytest.mark.statistical
@pytest.mark.parametrize("enumerated", [True, False])
def test_an_autoregressive_posterior_has_bounds(enumerated, limits):
    if not enumerated:
        limits(enumerated_bits=2)
    vae = vae_of()
    x = image()
    batches = [(x.repeat(3000, 1),)]
    quantities = evaluate(vae, batches, Autoregressive, seeded(), 4, importance=[2]).quantities
    states = torch.from_numpy(all_bits(vae.n).astype(float))
    with torch.no_grad():
        log_q = Autoregressive(vae.encoder(x)).log_prob(states[:, None])[:, 0].numpy()
        log_p = log_prior(vae, states) - vae.decoder.cost(x.expand(len(states), -1), states)
    expected = expected_bound(log_q, log_p.numpy() - log_q, 2)
    bound = quantities["importance_2"]
    assert abs(bound.value - expected) < LEVEL * bound.standard_error
    assert abs(1.1 * bound.value - expected) > LEVEL * bound.standard_error


def test_more_samples_than_others_take_are_drawn_where_a_bound_needs_them(limits):
    limits(enumerated_bits=2)
    quantities = evaluate(
        vae_of(), [(image(),)], Gibbs, seeded(), samples=5, importance=[1, 20]
    ).quantities
    assert "5 samples" in quantities["minus_log_p"].meaning
    assert quantities["reconstruction"].meaning == "20 samples"
    assert "1 samples, 20 times" in quantities["importance_1"].meaning
    assert "20 samples, 1 times" in quantities["importance_20"].meaning


class Counting(torch.nn.Linear):
    """A decoder that records the number of values of each call."""

    def __init__(self):
        super().__init__(4, 9)
        self.calls = []

    def forward(self, z):
        outputs = super().forward(z)
        self.calls.append(outputs.numel())
        return outputs


@pytest.mark.parametrize("posterior", [Gibbs, PerturbAndMAP])
def test_states_are_decoded_in_chunks_of_bounded_size(posterior, limits):
    limits(enumerated_bits=2, weighted_together=200)
    vae = paper_vae("general", pixels=9, n=4, hidden=6)
    network = Counting()
    vae = DiscreteVAE(vae.encoder, network, pixels=9)
    network.calls.clear()
    evaluate(vae, [(torch.zeros(2, 9),)], posterior, seeded(), samples=50)
    assert max(network.calls) <= 200
    assert sum(network.calls) == 50 * 2 * 9
    assert list(draws_at_once(25, torch.zeros(2, 9))) == [11, 11, 3]
    assert list(draws_at_once(3, torch.zeros(50, 9))) == [1, 1, 1]


def test_bounds_are_refused_where_the_density_of_the_posterior_is_not_known():
    with pytest.raises(ConfigError, match="need the density of the posterior"):
        evaluate(vae_of(), [(image(),)], PerturbAndMAP, seeded(), importance=[2])


@pytest.mark.statistical
def test_a_gaussian_has_the_same_bounds():
    torch.manual_seed(0)
    vae = GaussianVAE(pixels=9, n=1, hidden=6)
    vae.decoder[2].weight.data *= 4
    x = image().float()
    quantities = evaluate_gaussian(
        vae, [(x.repeat(2000, 1),)], seeded(), samples=4, importance=[1, 8]
    ).quantities
    # -log p(x) by a fine grid over the one dimension.
    grid = torch.linspace(-8, 8, 4001)[:, None]
    with torch.no_grad():
        log_p = -vae.cost(x.expand(4001, -1), grid) - grid[:, 0] ** 2 / 2
    exact = -(log_p.logsumexp(dim=0) + np.log(16 / 4000) - np.log(2 * np.pi) / 2)
    names = ("importance_1", "minus_log_p", "importance_8")
    bounds = [quantities[name] for name in names]
    assert bounds[0].value > bounds[1].value > bounds[2].value > float(exact)
    error = LEVEL * (bounds[0].standard_error + quantities["bound"].standard_error)
    assert abs(bounds[0].value - quantities["bound"].value) < error
