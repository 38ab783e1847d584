"""The Gaussian reference: its KL, its bound and likelihood, and a run of it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from quiet_runs import resume, train
from torch.distributions import Normal, kl_divergence

from models import load_pretrained
from models.vaes import GaussianVAE
from structured_vae import (
    ConfigError,
    DataConfig,
    TrainConfig,
    evaluate_run,
    export_run,
    load_vae,
)
from structured_vae.cli import main
from structured_vae.vaes import evaluate_gaussian, gaussian_columns

SMALL = TrainConfig(encoder="gaussian", n=3, hidden=8, epochs=2, picture_every=0)
tiny = pytest.mark.usefixtures("on_tiny_images")


@pytest.fixture
def vae():
    torch.manual_seed(0)
    return GaussianVAE(pixels=6, n=1, hidden=5).double()


@pytest.fixture
def x():
    return (torch.rand((4, 6), generator=torch.Generator().manual_seed(1)) < 0.5).double()


def test_the_kl_is_that_of_torch(vae, x):
    q = vae.posterior(x)
    expected = kl_divergence(Normal(q.mean, (q.log_variance / 2).exp()), Normal(0.0, 1.0)).sum(
        dim=-1
    )
    torch.testing.assert_close(q.kl(), expected)


@pytest.mark.slow
def test_the_bound_and_the_likelihood_are_those_of_an_integral(vae, x):
    z = torch.linspace(-8, 8, 4001, dtype=torch.float64)
    width, costs = float(z[1] - z[0]), vae.cost(x, z[:, None, None].expand(-1, len(x), 1))
    log_p = (
        (Normal(0.0, 1.0).log_prob(z)[:, None] - costs).logsumexp(dim=0) + math.log(width)
    ).neg()
    q = vae.posterior(x)
    density = Normal(q.mean[:, 0], (q.log_variance[:, 0] / 2).exp()).log_prob(z[:, None]).exp()
    reconstruction = (density * costs).sum(dim=0) * width
    found = gaussian_columns(vae, x, torch.Generator().manual_seed(2), samples=20_000)
    torch.testing.assert_close(found["minus_log_p"], log_p, atol=5e-3, rtol=0)
    torch.testing.assert_close(found["reconstruction"], reconstruction, atol=3e-2, rtol=0)
    assert (found["bound"] > log_p - 3e-2).all()
    few = gaussian_columns(vae, x.repeat(500, 1), torch.Generator().manual_seed(3), samples=2)
    assert few["minus_log_p"].mean() > log_p.mean()


def test_one_draw_has_the_gradient_of_the_bound(vae, x):
    def gradient(samples, seed):
        images = x[:1].expand(samples, -1)
        q = vae.posterior(images)
        loss = (
            vae.cost(images, q.sample(torch.Generator().manual_seed(seed))).mean() + q.kl().mean()
        )
        return torch.autograd.grad(loss, vae.encoder[-1].bias)[0]

    draws = torch.stack([gradient(1, seed) for seed in range(500)])
    error = draws.std(dim=0) / 500**0.5
    exact = gradient(40_000, 0)
    assert ((draws.mean(dim=0) - exact).abs() < 4.5 * error + 1e-3).all()
    assert ((2 * draws.mean(dim=0) - exact).abs() > 4.5 * error + 1e-3).any()


def test_dimensions_in_use_are_counted(x):
    vae = GaussianVAE(pixels=6, n=2, hidden=5).double()
    with torch.no_grad():
        # the mean of the first dimension is the same for every image
        vae.encoder[-1].weight[0] = 0.0
    quantities = evaluate_gaussian(
        vae, [(x,)], torch.Generator().manual_seed(0), samples=2
    ).quantities
    assert quantities["active"].value <= 1
    parts = quantities["reconstruction"].value + quantities["kl"].value
    assert quantities["bound"].value == pytest.approx(parts, rel=1e-12)


@tiny
def test_a_run_learns_resumes_and_is_handed_on(tmp_path, capsys):
    run = train(SMALL, tmp_path / "whole")
    rows = run.metrics
    assert rows["validation/bound"][-1] < rows["validation/bound"][0]
    train(replace(SMALL, epochs=1), tmp_path / "parts")
    resume(tmp_path / "parts", epochs=2)
    first, second = (
        torch.load(tmp_path / name / "checkpoints" / "last.ckpt")["state_dict"]
        for name in ("whole", "parts")
    )
    assert all(torch.equal(first[name], second[name]) for name in first)
    found = evaluate_run(tmp_path / "whole", samples=3)
    assert set(found.quantities) == {"reconstruction", "kl", "bound", "minus_log_p", "active"}
    assert found.quantities["minus_log_p"].value < found.quantities["bound"].value
    export_run(tmp_path / "whole", tmp_path / "exported")
    assert (
        "estimator"
        not in (tmp_path / "exported" / "README.md").read_text().partition("How it was made")[2]
    )
    images = load_pretrained(tmp_path / "exported").sample(2, torch.Generator().manual_seed(0))
    expected = load_vae(tmp_path / "whole").sample(2, torch.Generator().manual_seed(0))
    np.testing.assert_array_equal(images, expected)
    for command, message in (
        ("explore", "explorer shows"),
        ("gradients", "this run has the model gaussian"),
    ):
        with pytest.raises(SystemExit):
            main([command, str(tmp_path / "whole")])
        assert message in " ".join(capsys.readouterr().err.split())
    with pytest.raises(ConfigError, match="cannot be refined"):
        evaluate_run(tmp_path / "whole", refine=1)


@pytest.mark.parametrize(
    "option",
    [
        {"estimator": "arm"},
        {"solver": "max_flow"},
        {"sides": 2},
        {"couplings": "potts"},
        {"k": 3},
        {"samples": 2},
    ],
)
def test_options_of_discrete_models_are_refused(option):
    with pytest.raises(ConfigError, match="has no meaning with model gaussian"):
        TrainConfig(encoder="gaussian", **option)


def test_attributes_are_bits():
    with pytest.raises(
        ConfigError, match="encoder must be one of independent, supermodular, general"
    ):
        TrainConfig(model="attributes", encoder="gaussian", data=DataConfig("celeba"))
