"""Learnt priors of Gaussian VAEs, compared with torch.distributions, numpy and quadrature."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from enumeration import seeded
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from models import load_pretrained
from models.errors import SettingError
from models.gaussian import Gaussian
from models.priors import (
    MADE,
    CausalLinear,
    FlowPrior,
    MixturePrior,
    PriorOptions,
    gaussian_network,
    named_density,
)
from models.vaes import GaussianVAE
from structured_vae import ConfigError, TrainConfig, evaluate_run, load_vae, resume, train
from structured_vae.vaes import evaluate_gaussian, gaussian_columns

NAMES = ("linear", "made", "flow")
SIZES = {"linear": {}, "made": {"hidden": 6, "layers": 2}, "flow": {"hidden": 6, "layers": 2}}
PIXELS = 6

every_name = pytest.mark.parametrize("name", NAMES)
tiny = pytest.mark.usefixtures("on_tiny_images")


def randomised(module, size=0.25, seed=0):
    """The module in double precision, whose weights are all random."""
    for number, weight in enumerate(module.double().parameters()):
        noise = torch.randn(weight.shape, generator=seeded(seed + number))
        weight.data = size * noise.double()
    return module


def prior_of(name, n):
    return randomised(named_density(PriorOptions(name, **SIZES[name]), n))


def vae_with(name, n, pixels=PIXELS):
    return randomised(
        GaussianVAE(pixels, n, hidden=5, prior=named_density(PriorOptions(name, **SIZES[name]), n))
    )


def images(count=3):
    return torch.rand((count, PIXELS), generator=seeded(1), dtype=torch.float64).round()


def grid(n, points):
    """All points `[points^n, n]` of a grid, and the volume around each."""
    axis = torch.linspace(-25, 25, points, dtype=torch.float64)
    return torch.cartesian_prod(*[axis] * n).reshape(-1, n), float(axis[1] - axis[0]) ** n


def covariance_of(prior):
    """The Gaussian of a linear prior: z = W z + b + s u, u standard normal, W strictly lower."""
    network = prior.layers[0].network
    weight = torch.tril(network.weight[::2], -1)
    scale = (5 * (network.bias[1::2] / 5).tanh()).exp()
    factor = torch.linalg.inv(torch.eye(prior.n).double() - weight)
    covariance = factor @ torch.diag(scale.square()) @ factor.T
    return MultivariateNormal(factor @ network.bias[::2], covariance)


# --- densities ------------------------------------------------------------------------------------


@every_name
@pytest.mark.parametrize(("n", "points"), [(1, 2001), (2, 301)])
def test_the_density_integrates_to_one(name, n, points):
    z, volume = grid(n, points)
    assert prior_of(name, n).log_prob(z).exp().sum().item() * volume == pytest.approx(1, abs=1e-4)


@every_name
def test_it_starts_as_the_standard_normal(name):
    prior = named_density(PriorOptions(name, **SIZES[name]), 4)
    z = torch.randn((50, 4), generator=seeded(0))
    normal = Normal(0.0, 1.0).log_prob(z).sum(dim=-1)
    # A mixture of several Gaussians starts close to it.
    tolerance = {"linear": 1e-5, "made": 0.1, "flow": 1e-5}[name]
    torch.testing.assert_close(prior.log_prob(z), normal, atol=tolerance, rtol=0)


def test_a_mixture_starts_with_mean_zero_and_variance_one():
    prior = named_density("made", 1).double()
    z, volume = grid(1, 2001)
    weights = prior.log_prob(z).exp() * volume
    assert (weights @ z).item() == pytest.approx(0, abs=1e-6)
    assert (weights @ z.square()).item() == pytest.approx(1, abs=1e-6)
    # The means differ, so that the components can part.
    means = prior.first_means
    assert len(means.unique()) == len(means)


def test_a_linear_prior_is_a_gaussian_with_a_full_covariance():
    prior = prior_of("linear", 3)
    z = torch.randn((20, 3), generator=seeded(0)).double()
    torch.testing.assert_close(prior.log_prob(z), covariance_of(prior).log_prob(z))
    assert (covariance_of(prior).covariance_matrix.abs() > 1e-3).all()


def test_a_flow_has_the_density_of_the_change_of_variables():
    prior = prior_of("flow", 3)

    def images_of(z):
        for layer in prior.layers:
            z = layer(z)[0].flip(-1)
        return z

    for z in torch.randn((5, 3), generator=seeded(0)).double():
        jacobian = torch.autograd.functional.jacobian(images_of, z)
        normal = Normal(0.0, 1.0).log_prob(images_of(z)).sum()
        expected = normal + torch.linalg.slogdet(jacobian).logabsdet
        torch.testing.assert_close(prior.log_prob(z), expected)


@pytest.mark.parametrize("components", [1, 3])
def test_a_mixture_has_the_density_of_numpy(components):
    prior = randomised(MixturePrior(MADE(3, 1, hidden=6, outputs=3 * components), "made"))
    z = torch.randn((4, 3), generator=seeded(0)).double()
    outputs = prior.network(z).detach().numpy().reshape(4, 3, 3, components)
    first = np.linspace(-0.5, 0.5, components) if components > 1 else np.zeros(1)
    logits, means, raw = np.moveaxis(outputs, 2, 0)
    weights = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    scales = np.exp(5 * np.tanh(raw / 5)) * np.sqrt(1 - np.mean(first**2))
    standardised = (z.numpy()[..., None] - means - first) / scales
    densities = weights * np.exp(-(standardised**2) / 2) / scales / math.sqrt(2 * math.pi)
    expected = np.log(densities.sum(axis=-1)).sum(axis=-1)
    np.testing.assert_allclose(prior.log_prob(z).detach().numpy(), expected)


@every_name
def test_the_gradient_in_the_code_is_that_of_finite_differences(name):
    z = torch.randn((2, 3), generator=seeded(0)).double().requires_grad_()
    assert torch.autograd.gradcheck(prior_of(name, 3).log_prob, z)


def test_a_factor_depends_on_earlier_variables_alone():
    network = randomised(MADE(4, 1, hidden=7, layers=2, outputs=6))
    z = torch.randn(4, generator=seeded(0)).double()
    slopes = torch.autograd.functional.jacobian(network, z)
    variable = torch.arange(4)
    later = variable.repeat_interleave(6)[:, None] <= variable[None]
    assert (slopes[later] == 0).all()
    assert (slopes[~later] != 0).any()


def test_the_inverse_of_a_layer_gives_back_the_codes():
    layer = prior_of("flow", 4).layers[0]
    z = torch.randn((3, 4), generator=seeded(0)).double()
    torch.testing.assert_close(layer.inverse(layer(z)[0]), z)


@pytest.mark.statistical
@every_name
def test_samples_have_the_moments_of_the_density(name):
    prior = prior_of(name, 2)
    z, volume = grid(2, 301)
    weights = prior.log_prob(z).exp().detach() * volume
    draws = prior.sample(20_000, seeded(2))

    def statistics(codes):
        bounded = codes.tanh()
        return torch.cat([bounded, bounded.square(), bounded.prod(dim=1, keepdim=True)], dim=1)

    error = statistics(draws).std(dim=0) / len(draws) ** 0.5
    difference = statistics(draws).mean(dim=0) - weights @ statistics(z)
    assert (difference.abs() < 4.5 * error).all()


# --- the bound -----------------------------------------------------------------------


def posterior_of(count):
    mean = torch.randn((1, 3), generator=seeded(3)).double()
    log_variance = torch.randn((1, 3), generator=seeded(4)).double()
    mean.requires_grad_()
    log_variance.requires_grad_()
    return mean, log_variance, Gaussian(mean.expand(count, -1), log_variance.expand(count, -1))


def test_entropy_and_density_of_a_posterior_are_those_of_torch():
    q = posterior_of(4)[2]
    normal = Normal(q.mean, (q.log_variance / 2).exp())
    z = torch.randn((4, 3), generator=seeded(0)).double()
    torch.testing.assert_close(q.entropy(), normal.entropy().sum(dim=-1))
    torch.testing.assert_close(q.log_prob(z), normal.log_prob(z).sum(dim=-1))


@pytest.mark.statistical
def test_the_kl_and_its_gradient_are_in_the_mean_those_between_gaussians():
    vae = vae_with("linear", 3)
    weights = list(vae.prior.parameters())
    mean, log_variance, q = posterior_of(1)
    exact = kl_divergence(
        MultivariateNormal(mean[0], torch.diag(log_variance[0].exp())), covariance_of(vae.prior)
    )
    exact_gradients = torch.autograd.grad(exact, [mean, log_variance, *weights])
    expected = torch.cat([exact[None], *[part.flatten() for part in exact_gradients]])
    draws = []
    noise = seeded(5)
    for _ in range(100):
        mean, log_variance, q = posterior_of(100)
        kl = vae.kl(q, q.sample(noise)).mean()
        gradients = torch.autograd.grad(kl, [mean, log_variance, *weights])
        draws.append(torch.cat([kl[None], *[part.flatten() for part in gradients]]).detach())
    draws = torch.stack(draws)
    error = draws.std(dim=0) / len(draws) ** 0.5
    assert ((draws.mean(dim=0) - expected).abs() < 5 * error + 1e-9).all()
    assert ((1.1 * draws.mean(dim=0) - expected).abs() > 5 * error + 1e-9).any()


@every_name
def test_bound_and_likelihood_are_those_of_an_integral(name):
    vae, x = vae_with(name, 1), images()
    z, volume = grid(1, 4001)
    with torch.no_grad():
        costs = vae.cost(x, z[:, None].expand(-1, len(x), 1))
        log_p = vae.prior.log_prob(z)
        minus_log_p = -(log_p[:, None] - costs + math.log(volume)).logsumexp(dim=0)
        q = vae.posterior(x)
        log_q = Normal(q.mean[:, 0], (q.log_variance[:, 0] / 2).exp()).log_prob(z)
    weights = log_q.exp() * volume
    kl = (weights * (log_q - log_p[:, None])).sum(dim=0)
    repeats = 200
    columns = gaussian_columns(vae, x.repeat(repeats, 1), seeded(2), samples=100)

    def mean_of(name):
        return columns[name].reshape(repeats, len(x)).mean(dim=0).detach()

    torch.testing.assert_close(mean_of("kl"), kl, atol=2e-2, rtol=0)
    # The mean importance weight of each repeat is an unbiased estimate of p(x).
    p = (-columns["minus_log_p"].reshape(repeats, len(x)).detach()).exp()
    error = p.std(dim=0) / repeats**0.5
    assert ((p.mean(dim=0) - (-minus_log_p).exp()).abs() < 5 * error).all()
    assert (error < 0.03 * p.mean(dim=0)).all()
    bound = kl + (weights * costs).sum(dim=0)
    torch.testing.assert_close(mean_of("bound"), bound, atol=4e-2, rtol=0)
    assert (bound > minus_log_p).all()


def test_the_evaluation_says_that_the_kl_is_sampled():
    def kl_of(vae):
        return evaluate_gaussian(vae, [(images(),)], seeded(0), samples=2).quantities["kl"]

    assert kl_of(vae_with("made", 2)).kind == "sampled"
    assert kl_of(GaussianVAE(PIXELS, 2).double()).kind == "exact"


# --- models and runs -----------------------------------------------------------------


@every_name
def test_an_export_has_the_prior(tmp_path, name):
    sizes = {f"prior_{size}": value for size, value in SIZES[name].items()}
    vae = GaussianVAE.of_arguments(9, 3, 5, name, **sizes)
    for number, weight in enumerate(vae.prior.parameters()):
        weight.data = 0.4 * torch.randn(weight.shape, generator=seeded(number))
    vae.save_pretrained(tmp_path)
    loaded = load_pretrained(tmp_path)
    z = torch.randn((4, 3), generator=seeded(0))
    torch.testing.assert_close(loaded.prior.log_prob(z), vae.prior.log_prob(z))
    assert loaded.arguments == vae.arguments
    torch.testing.assert_close(loaded.sample(3, seeded(0)), vae.sample(3, seeded(0)))


def test_images_are_of_samples_of_the_prior():
    vae = vae_with("linear", 2)
    expected = vae.mean(vae.prior.sample(5, seeded(0)))
    torch.testing.assert_close(vae.sample(5, seeded(0)), expected)


def test_a_seed_gives_the_same_layers_with_every_prior():
    layers = []
    for name in ("standard", *NAMES):
        torch.manual_seed(3)
        layers.append(GaussianVAE.of_arguments(9, 3, 5, name).decoder[0].weight)
    assert all(torch.equal(layers[0], weight) for weight in layers)


@tiny
@every_name
def test_a_run_learns_the_prior_and_resumes(tmp_path, name):
    config = TrainConfig(
        model="gaussian", n=3, hidden=8, epochs=2, picture_every=0, logger="none", prior=name
    )
    run = train(config, tmp_path / "whole", False)
    assert run.metrics["validation/bound"][-1] < run.metrics["validation/bound"][0]
    train(replace(config, epochs=1), tmp_path / "parts", False)
    resume(tmp_path / "parts", epochs=2, progress=False)
    whole, parts = (
        torch.load(tmp_path / folder / "checkpoints" / "last.ckpt")["state_dict"]
        for folder in ("whole", "parts")
    )
    assert any(weight.startswith("vae.prior.") for weight in whole)
    assert all(torch.equal(whole[weight], parts[weight]) for weight in whole)
    assert load_vae(run.folder).prior.name == name
    quantities = evaluate_run(run.folder, samples=3).quantities
    parts_of_bound = quantities["reconstruction"].value + quantities["kl"].value
    assert quantities["bound"].value == pytest.approx(parts_of_bound)


# --- what is refused, and defaults ---------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "gibbs"}, "prior must be one of standard, linear, made, flow; got 'gibbs'"),
        (
            {"prior": "linear", "prior_hidden": 3},
            "prior_hidden is an option of the priors made and flow",
        ),
        (
            {"prior_layers": 2},
            "prior_layers is an option of the priors made and flow, and prior is standard",
        ),
    ],
)
def test_what_has_no_effect_is_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(model="gaussian", **options)


def test_the_prior_without_weights_is_the_default_of_each_model():
    gaussian = TrainConfig(model="gaussian", prior="uniform")
    assert gaussian == TrainConfig(model="gaussian")
    assert gaussian.prior == "standard"
    assert replace(gaussian, model="discrete").prior == "uniform"
    assert replace(gaussian, model="mixture").model == "mixture"
    older = {"encoder": "gaussian", "n": 3, "prior": "uniform"}
    assert TrainConfig.from_dict(older).prior == "standard"
    del older["prior"]
    assert TrainConfig.from_dict(older).prior == "standard"


def test_networks_and_sizes_that_do_not_fit_are_refused():
    with pytest.raises(
        SettingError, match="is of 3 continuous variables, and the encoder has n = 4"
    ):
        GaussianVAE(9, 4, 5, prior=named_density("linear", 3))
    with pytest.raises(SettingError, match="is called 'gibbs'; there are: standard, linear, made"):
        named_density("gibbs", 3)
    with pytest.raises(SettingError, match="the prior linear has no hidden layers"):
        named_density(PriorOptions("linear", hidden=4), 3)
    with pytest.raises(SettingError, match=r"two outputs for each variable; got 1 and 3"):
        FlowPrior([CausalLinear(3, 1, outputs=3)], "flow")
    with pytest.raises(SettingError, match=r"three outputs for each component; got 1 and 2"):
        MixturePrior(gaussian_network(3), "made")
