"""The kind `quantised`: its bound, and a run of it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from quiet_runs import resume, train

from models import load_pretrained, quantised_vae
from models.likelihoods import DiscretisedGaussianLikelihood
from models.vaes import QuantisedVAE
from structured_vae import (
    ConfigError,
    DataConfig,
    TrainConfig,
    evaluate_run,
    export_run,
    load_vae,
)
from structured_vae.errors import RunError
from structured_vae.explorer import open_model
from structured_vae.runs.assembly import training_of
from structured_vae.runs.fit_prior import fit_prior
from structured_vae.vaes import evaluate_quantised

SMALL = TrainConfig(model="quantised", n=4, hidden=8, epochs=2, picture_every=0)
SIZES = {
    "fsq": {"n": 3, "codes": 3},
    "vq": {"n": 2, "codes": 4, "dimensions": 3},
    "lfq": {"n": 4},
    "bsq": {"n": 4},
}
tiny = pytest.mark.usefixtures("on_tiny_images")
FLOOR = 1e-4
"""The share of the uniform prior in the factorised one."""
every_quantiser = pytest.mark.parametrize("name", SIZES)


def small_vae(name):
    torch.manual_seed(0)
    vae = quantised_vae(name, size=(1, 2, 3), hidden=5, **SIZES[name]).double()
    uneven = torch.rand(vae.frequencies.shape, generator=torch.Generator().manual_seed(1)).double()
    vae.frequencies.copy_(uneven / uneven.sum(dim=-1, keepdim=True))
    return vae.eval()


@pytest.fixture
def x():
    return (torch.rand((4, 6), generator=torch.Generator().manual_seed(1)) < 0.5).double()


def numpy_codes(quantiser):
    """All codes with the index of each variable's value."""
    shape = (quantiser.k,) * quantiser.variables
    labels = np.array(list(np.ndindex(*shape)))
    if quantiser.binary:
        return labels.astype(float), labels
    return np.eye(quantiser.k)[labels].reshape(len(labels), -1), labels


@every_quantiser
def test_the_bound_is_above_the_likelihood_by_enumeration(name, x):
    vae = small_vae(name)
    codes, labels = numpy_codes(vae.quantiser)
    prior = (1 - FLOOR) * vae.frequencies.numpy() + FLOOR / vae.quantiser.k
    log_prior = np.log(prior[np.arange(vae.quantiser.variables), labels]).sum(axis=-1)
    assert np.exp(log_prior).sum() == pytest.approx(1.0)
    vectors = vae.quantiser.embed(torch.from_numpy(codes))
    logits = vae.decoder(vectors).detach().numpy()
    costs = np.logaddexp(0, logits).sum(axis=-1) - x.numpy() @ logits.T
    log_p = np.log(np.exp(log_prior - costs).sum(axis=-1))
    # The code of each image is one of these, and the bound its term of the sum.
    z = vae.code(x).numpy()
    place = (z[:, None] == codes).all(axis=-1).argmax(axis=-1)
    bound = costs[np.arange(4), place] - log_prior[place]
    evaluation = evaluate_quantised(vae, [(x[:2],), (x[2:],)])
    quantities = evaluation.quantities
    assert evaluation.images == 4
    assert quantities["bound"].value == pytest.approx(bound.mean(), rel=1e-9)
    assert quantities["minus_log_p"].value == pytest.approx(-log_p.mean(), rel=1e-9)
    assert (bound > -log_p).all()
    uniform = costs[np.arange(4), place] + math.log(len(codes))
    assert quantities["bound_uniform"].value == pytest.approx(uniform.mean(), rel=1e-9)


@every_quantiser
def test_use_and_perplexity_are_those_of_all_images_together(name, x):
    vae = small_vae(name)
    quantiser = vae.quantiser
    evaluation = evaluate_quantised(vae, [(x[:1],), (x[1:],)]).quantities
    z = vae.code(x)
    labels = z.long().numpy()
    if not quantiser.binary:
        labels = z.reshape(4, quantiser.variables, quantiser.k).argmax(dim=-1).numpy()
    counts = np.stack([np.bincount(row, minlength=quantiser.k) for row in labels.T])
    if quantiser.shared:
        counts = counts.sum(axis=0, keepdims=True)
    share = counts / counts.sum(axis=-1, keepdims=True)
    entropy = -(share * np.log(np.where(share > 0, share, 1))).sum(axis=-1)
    assert evaluation["usage"].value == pytest.approx((counts > 0).mean())
    assert evaluation["perplexity"].value == pytest.approx(np.exp(entropy.mean()))


@every_quantiser
def test_samples_have_the_frequencies_of_the_prior(name):
    vae = small_vae(name)
    z = vae.sample_codes(4000, torch.Generator().manual_seed(0))
    expected = (1 - FLOOR) * vae.frequencies + FLOOR / vae.quantiser.k
    error = (expected * (1 - expected) / 4000).sqrt()
    difference = (vae.quantiser.frequencies(z.double()) - expected).abs()
    assert (difference < 4.5 * error + 1e-9).all()
    assert (difference[:, 0] < 0.1 * expected[:, 0]).all()  # a wrong order would be far away


def test_the_probabilities_of_stored_intensities_sum_to_at_most_one():
    likelihood = DiscretisedGaussianLikelihood()
    x = torch.arange(256.0)[:, None] / 255
    for mean, log_scale in ((0.5, -20.0), (0.3, -3.0), (0.0, -2.0)):
        with torch.no_grad():
            likelihood.scaled_log_scale.fill_(log_scale / 10)
            total = (-likelihood.cost(torch.full((256, 1), mean), x)).exp().sum()
        assert 0.3 < float(total) < 1 + 1e-5


@every_quantiser
def test_a_learnt_prior_gives_a_valid_bound_and_the_encoder_no_gradient(name, x):
    torch.manual_seed(0)
    vae = quantised_vae(name, size=(1, 2, 3), hidden=5, prior="linear", **SIZES[name]).double()
    for weight in vae.prior.parameters():
        torch.nn.init.normal_(weight)
    vae.eval()
    codes, _ = numpy_codes(vae.quantiser)
    states = torch.from_numpy(codes)
    assert float(vae.log_prior(states).exp().sum().detach()) == pytest.approx(1.0)
    quantities = evaluate_quantised(vae, [(x,)]).quantities
    assert quantities["bound"].value > quantities["minus_log_p"].value
    assert quantities["bound_factorised"].value == pytest.approx(
        quantities["bound_uniform"].value, rel=1e-6
    )
    sizes = {option: value for option, value in SIZES[name].items() if option != "n"}
    config = TrainConfig(model="quantised", quantiser=name, n=SIZES[name]["n"], hidden=5, **sizes)
    training = training_of(config, vae)
    training._noise = torch.Generator().manual_seed(0)
    loss, _ = training._loss(x)
    weights = list(vae.encoder.parameters())
    with_prior = torch.autograd.grad(loss, weights, retain_graph=True)
    assert any(grad.any() for grad in torch.autograd.grad(loss, list(vae.prior.parameters())))
    vae.prior = None
    loss, _ = training._loss(x)
    without = torch.autograd.grad(loss, weights)
    assert all(torch.equal(a, b) for a, b in zip(with_prior, without, strict=True))


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize("name", ["fsq", "bsq"])
def test_a_prior_is_fitted_after_training(name, tmp_path):
    config = replace(SMALL, quantiser=name, codes=None, code_entropy=None, epochs=1)
    run = train(config, tmp_path / "run")
    fitted = fit_prior(run.folder, "linear", epochs=3, learning_rate=0.05, target=tmp_path / "out")
    before = fitted.before.quantities
    after = fitted.after.quantities
    assert after["reconstruction"].value == before["reconstruction"].value
    assert after["bound_factorised"].value == pytest.approx(before["bound"].value)
    assert fitted.costs[-1] < config.n * math.log(config.codes)
    loaded = load_pretrained(tmp_path / "out")
    assert loaded.prior.name == "linear"
    z = loaded.sample_codes(5, torch.Generator().manual_seed(0))
    torch.testing.assert_close(loaded.log_prior(z), fitted.vae.log_prior(z))
    with pytest.raises(ConfigError, match=r"factorised prior already|one variable of categories"):
        fit_prior(run.folder, "factorised")


@tiny
def test_a_run_with_a_learnt_prior_is_exported(tmp_path):
    config = replace(SMALL, code_prior="transformer", prior_hidden=8, prior_layers=1)
    run = train(config, tmp_path / "run")
    assert run.metrics["validation/bound"][-1] < run.metrics["validation/bound"][0]
    export_run(run.folder, tmp_path / "exported")
    loaded = load_pretrained(tmp_path / "exported")
    noise = [torch.Generator().manual_seed(0) for _ in range(2)]
    np.testing.assert_array_equal(
        loaded.sample_codes(5, noise[0]), load_vae(run.folder).sample_codes(5, noise[1])
    )


@pytest.mark.spread(1)
@tiny
@every_quantiser
def test_a_run_learns_and_resumes_bit_for_bit(name, tmp_path):
    config = replace(SMALL, quantiser=name, codes=None, dimensions=None)
    config = replace(config, commitment=None, code_entropy=None, dropout=0.1)
    run = train(config, tmp_path / "whole")
    rows = run.metrics
    assert rows["validation/bound"][-1] < rows["validation/bound"][0]
    assert 1 <= rows["validation/perplexity"][-1] <= config.codes
    assert 0 < rows["validation/usage"][-1] <= 1
    assert rows["train/perplexity"][-1] >= 1
    train(replace(config, epochs=1, rate_decay="none"), tmp_path / "parts")
    train(replace(config, rate_decay="none"), tmp_path / "constant")
    resume(tmp_path / "parts", epochs=2)
    first, second = (
        torch.load(tmp_path / name / "checkpoints" / "last.ckpt")["state_dict"]
        for name in ("constant", "parts")
    )
    assert any("frequencies" in weight for weight in first)
    assert all(torch.equal(first[weight], second[weight]) for weight in first)


def test_the_usual_options_of_lfq_keep_its_bits_in_use(tmp_path):
    config = TrainConfig(
        model="quantised",
        quantiser="lfq",
        n=8,
        hidden=50,
        epochs=2,
        picture_every=0,
        logger="none",
        device="cpu",
    )
    run = train(config, tmp_path / "run")
    assert run.metrics["validation/perplexity"][-1] > 1.3


@tiny
def test_a_run_is_evaluated_exported_and_shown(tmp_path):
    run = train(replace(SMALL, quantiser="lfq", codes=None, code_entropy=None), tmp_path / "run")
    quantities = evaluate_run(run.folder).quantities
    assert quantities["minus_log_p"].value < quantities["bound"].value
    assert quantities["bound"].value <= quantities["bound_uniform"].value + 0.5
    export_run(run.folder, tmp_path / "exported")
    loaded = load_pretrained(tmp_path / "exported")
    assert type(loaded) is QuantisedVAE
    noise = [torch.Generator().manual_seed(0) for _ in range(2)]
    np.testing.assert_array_equal(
        loaded.sample(2, noise[0]), load_vae(run.folder).sample(2, noise[1])
    )
    explored = open_model(run.folder)
    scored = explored.score(explored.test_image(0))
    best = explored.encode(scored).state
    expected = loaded.code(torch.from_numpy(explored.test_image(0))[None])[0]
    assert best == tuple(expected.int().tolist())
    with pytest.raises(ConfigError, match="cannot be refined"):
        evaluate_run(run.folder, refine=1)
    many = train(replace(SMALL, epochs=1, codes=3), tmp_path / "levels")
    with pytest.raises(RunError, match="4 variables of several values"):
        open_model(many.folder)


def test_convolutional_networks_of_colour_images_are_saved_and_loaded(tmp_path):
    torch.manual_seed(0)
    config = TrainConfig(
        model="quantised",
        quantiser="bsq",
        n=256,
        networks="convolutional",
        channels=2,
        data=DataConfig("celeba"),
    )
    assert config.likelihood == "discretised_gaussian"
    vae = quantised_vae(
        "bsq",
        size=(3, 32, 32),
        n=256,
        networks="convolutional",
        channels=2,
        likelihood=config.likelihood,
    )
    x = torch.rand(2, 3072)
    quantised = vae.quantise(x, torch.Generator().manual_seed(0))
    vae.straight_through_cost(x, quantised).mean().backward()
    assert all(weight.grad is not None for weight in vae.parameters())
    vae.eval()
    vae.save_pretrained(tmp_path)
    loaded = QuantisedVAE.from_pretrained(tmp_path)
    assert torch.equal(loaded.code(x), vae.code(x))
    assert evaluate_quantised(loaded, [(x,)]).images == 2
    # A token sees its part of the image alone.
    moved = x.reshape(2, 3, 32, 32).clone()
    moved[:, :, :4, :4] = 1 - moved[:, :, :4, :4]
    changed = (vae.encoder(moved.flatten(1)) != vae.encoder(x)).reshape(2, 8, 8, 4).any(dim=-1)
    assert changed[:, 0, 0].all()
    assert not changed[:, 6:, 6:].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantiser": "lfq", "codes": 4}, "lfq has bits"),
        ({"codes": 1}, "codes must be at least 2"),
        ({"dimensions": 2}, "dimensions is an option of vq"),
        ({"quantiser": "vq", "dimensions": 0}, "dimensions must be at least 1"),
        ({"commitment": -1.0}, "commitment must be at least 0"),
        ({"code_entropy": 0.1}, "code_entropy is an option of lfq and bsq"),
        ({"quantiser": "bsq", "code_entropy": -0.1}, "code_entropy must be at least 0"),
        ({"quantiser": "rvq"}, "quantiser must be one of"),
        ({"code_prior": "linear", "prior_layers": 2}, "of the priors made and transformer"),
        ({"estimator": "arm"}, "no meaning with model quantised"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(model="quantised", **options)


@tiny
def test_variables_that_the_tokens_cannot_share_are_refused(tmp_path):
    config = replace(SMALL, networks="convolutional", n=5)
    with pytest.raises(ConfigError, match=r"tokens|halve"):
        train(config, tmp_path / "run")
