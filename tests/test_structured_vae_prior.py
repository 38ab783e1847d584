"""Learnt priors, held against sums over all states by numpy."""

import numpy as np
import pytest
import torch
from enumeration import all_bits, seeded
from paper_networks import paper_vae_of

from models import DiscreteVAE, Potentials, gibbs_prior, load_pretrained, paper_vae
from models.priors import BitsPrior, CategoriesPrior, factorised_prior
from structured_vae import (
    ConfigError,
    Direct,
    Exact,
    Gibbs,
    MaximumLikelihood,
    PerturbAndMAP,
    ScoreFunction,
    TrainConfig,
    elbo_recipe,
    evaluate,
    evaluate_run,
    load_vae,
    train,
)
from structured_vae.distributions.prior import GibbsExcess, excess_of
from structured_vae.evaluation import evaluate_bound

N, PIXELS, IMAGES = 4, 6, 5
CHAIN = torch.tensor([[0, 1], [1, 2], [2, 3]])
PRIORS = ["factorised", "gibbs", "chain"]


def prior_of(kind):
    return {
        "factorised": factorised_prior,
        "gibbs": gibbs_prior,
        "chain": lambda n: gibbs_prior(n, CHAIN),
    }[kind](N)


def model(encoder, kind, seed=0):
    categorical = encoder == "categorical"
    prior = CategoriesPrior(N) if categorical else prior_of(kind)
    paper = paper_vae_of(encoder, N, pixels=PIXELS, hidden=5)
    vae = DiscreteVAE(paper.encoder, paper.decoder, prior=prior).double()
    for number, parameter in enumerate(vae.parameters()):
        parameter.data = 0.8 * torch.randn(
            parameter.shape, generator=seeded(seed + number), dtype=torch.float64
        )
    return vae


def images():
    return torch.rand(IMAGES, PIXELS, generator=seeded(0), dtype=torch.float64).round()


def log_prior(vae):
    """[states]: log p(z), summed by numpy."""
    if isinstance(vae.prior, CategoriesPrior):
        scores = vae.prior.unary.detach().numpy()
    else:
        z = all_bits(N)
        pairs = vae.prior.edges.numpy()
        scores = z @ vae.prior.unary.detach().numpy()
        if len(pairs):
            scores = (
                scores
                + (z[:, pairs[:, 0]] * z[:, pairs[:, 1]]) @ vae.prior.pairwise.detach().numpy()
            )
    return scores - np.log(np.exp(scores).sum())


def tables(vae, x):
    """States, costs [images, states], log q and log p(z)."""
    states = np.eye(N) if isinstance(vae.prior, CategoriesPrior) else all_bits(N)
    z = torch.as_tensor(states).double()
    with torch.no_grad():
        costs = torch.stack(
            [vae.decoder.cost(x, each.expand(IMAGES, -1)) for each in z], dim=-1
        ).numpy()
        scores = vae.encoder(x).table(z).numpy()
    log_q = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return costs, log_q, log_prior(vae)


CASES = (
    [("independent", kind) for kind in PRIORS]
    + [("general", kind) for kind in PRIORS]
    + [("categorical", "-")]
)
every_case = pytest.mark.parametrize(("encoder", "kind"), CASES)


@every_case
def test_the_evaluation_is_that_of_the_sums(encoder, kind):
    vae, x = model(encoder, kind), images()
    costs, log_q, log_p = tables(vae, x)
    q = np.exp(log_q)
    found = evaluate(vae, [(x,)], Gibbs, seeded(0), refine=0).quantities
    minus_log_p = -np.log(np.exp(-costs + log_p).sum(axis=1))
    kl = (q * (log_q - log_p)).sum(axis=1)
    assert found["minus_log_p"].value == pytest.approx(minus_log_p.mean())
    assert found["kl"].value == pytest.approx(kl.mean())
    assert found["bound"].value == pytest.approx(((q * costs).sum(axis=1) + kl).mean())
    assert found["gap"].value >= 0
    assert found["kl"].meaning == "KL(q || prior)"


@every_case
def test_the_bound_of_an_epoch_is_valid(encoder, kind):
    vae, x = model(encoder, kind), images()
    costs, log_q, log_p = tables(vae, x)
    kl = (np.exp(log_q) * (log_q - log_p)).sum(axis=1)
    minus_log_p = -np.log(np.exp(-costs + log_p).sum(axis=1))
    for i, image in enumerate(x):
        found = evaluate_bound(vae, [(image[None],)], Gibbs, seeded(0))
        assert found.kl == pytest.approx(kl[i], rel=1e-6)
        if encoder == "categorical":
            assert found.minus_log_p == pytest.approx(minus_log_p[i], rel=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", PRIORS)
def test_the_kl_of_perturb_and_map_is_at_least_the_true_one(kind):
    vae, x = model("general", kind), images()
    potentials = vae.encoder(x).detach()
    z = PerturbAndMAP(potentials, "exhaustive").sample(seeded(1), 5_000)
    codes = (z.long() << torch.arange(N)).sum(dim=-1)
    log_p = log_prior(vae)
    true = []
    for row in codes.T:
        q = np.bincount(row.numpy(), minlength=2**N) / len(row)
        true.append((q[q > 0] * (np.log(q[q > 0]) - log_p[q > 0])).sum())
    for image, least in zip(x, true, strict=True):
        drawn = evaluate_bound(
            vae, [(image[None],)], lambda h: PerturbAndMAP(h, "exhaustive"), seeded(2), samples=100
        )
        assert drawn.kl > least - 0.1
    found = evaluate(
        vae, [(x,)], lambda h: PerturbAndMAP(h, "exhaustive"), seeded(3), samples=5000
    ).quantities
    assert found["kl"].value == pytest.approx(np.mean(true), abs=0.15)
    costs, _, _ = tables(vae, x)
    minus_log_p = -np.log(np.exp(-costs + log_p).sum(axis=1)).mean()
    assert found["bound"].value > minus_log_p


@pytest.mark.parametrize("kind", PRIORS)
def test_a_refined_bound_comes_down_to_the_likelihood(kind):
    vae, x = model("general", kind), images()
    costs, _, log_p = tables(vae, x)
    minus_log_p = -np.log(np.exp(-costs + log_p).sum(axis=1)).mean()
    few, many = (
        evaluate(
            vae, [(x,)], lambda h: PerturbAndMAP(h, "exhaustive"), seeded(0), 2, refine=moves
        ).quantities["refined_bound"]
        for moves in (2, 60)
    )
    assert few.value > minus_log_p - 1e-9
    assert many.value == pytest.approx(minus_log_p, rel=1e-9)


# --- gradients ----------------------------------------------------------------------------------


def exact_gradients(vae, x, objective):
    """Of the mean objective over images, by autograd through a sum over all states."""
    states = vae.blank().states()
    table = torch.stack([vae.decoder.cost(x, z.expand(IMAGES, -1)) for z in states], dim=-1)
    log_q = vae.encoder(x).table(states).log_softmax(dim=-1)
    log_p = vae.prior.potentials().table(states).log_softmax(dim=-1)
    value = objective(table, log_q, log_p)
    return torch.autograd.grad(value.mean(), list(vae.parameters()), allow_unused=True)


def elbo(table, log_q, log_p):
    return (log_q.exp() * (table + log_q - log_p)).sum(dim=-1)


@every_case
def test_the_whole_bound_is_trained(encoder, kind):
    vae, x = model(encoder, kind), images()
    potentials = vae.encoder(x)
    objective = elbo_recipe(vae, x, potentials, "density")
    estimate = Exact()(potentials, objective.cost, seeded(0))
    found = torch.autograd.grad((estimate.surrogate + objective.kl).mean(), list(vae.parameters()))
    for one, other in zip(found, exact_gradients(vae, x, elbo), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


@every_case
def test_the_weight_of_the_kl_holds_for_the_prior_as_well(encoder, kind):
    vae, x = model(encoder, kind), images()
    potentials = vae.encoder(x)
    whole, tenth = (elbo_recipe(vae, x, potentials, "density", weight).kl for weight in (1.0, 0.1))
    torch.testing.assert_close(tenth, whole / 10)


@every_case
@pytest.mark.parametrize("weight", [1.0, 10.0])
def test_maximum_likelihood_has_the_prior_in_it_whatever_a_kl_would_weigh(encoder, kind, weight):
    vae, x = model(encoder, kind), images()
    potentials = vae.encoder(x)
    objective = elbo_recipe(vae, x, potentials, "none", weight)
    estimate = MaximumLikelihood()(potentials, objective.cost, seeded(0))
    costs, _, log_p = tables(vae, x)
    np.testing.assert_allclose(
        estimate.cost, -np.log(np.exp(-costs + log_p).sum(axis=1)), rtol=1e-6
    )
    own = [*vae.decoder.parameters(), *vae.prior.parameters()]
    found = torch.autograd.grad(estimate.surrogate.mean(), own)
    likelihood = exact_gradients(
        vae, x, lambda table, log_q, log_p: -(-table + log_p).logsumexp(dim=-1)
    )
    names = {
        id(each): gradient for each, gradient in zip(vae.parameters(), likelihood, strict=True)
    }
    for parameter, gradient in zip(own, found, strict=True):
        torch.testing.assert_close(gradient, names[id(parameter)], rtol=1e-5, atol=1e-7)


@pytest.mark.spread(2)
@pytest.mark.statistical
@pytest.mark.parametrize("scale", [1.0, 1.1])
@pytest.mark.parametrize(
    "estimator", [Direct("exhaustive"), ScoreFunction(2)], ids=["folded", "exact"]
)
def test_the_priors_gradient_at_samples_is_that_of_the_bound(estimator, scale):
    vae, x = model("independent", "gibbs"), images()
    prior = list(vae.prior.parameters())
    gradients = dict(zip(map(id, vae.parameters()), exact_gradients(vae, x, elbo), strict=True))
    exact = [gradients[id(each)] for each in prior]
    noise, draws = seeded(0), []
    many = x.repeat(200, 1)
    potentials = vae.encoder(many).detach()
    for _ in range(100):
        objective = elbo_recipe(vae, many, potentials, estimator.kl)
        estimate = estimator(potentials, objective.cost, noise)
        found = torch.autograd.grad((estimate.surrogate + objective.kl).mean(), prior)
        draws.append(torch.cat([each.flatten() for each in found]))
    drawn = torch.stack(draws) * scale
    away = drawn.mean(dim=0) - torch.cat([each.flatten() for each in exact])
    error = drawn.std(dim=0) / len(draws) ** 0.5
    largest = (away.abs() / error.clamp(min=1e-9)).max()
    assert (largest < 4.5) == (scale == 1.0)


def test_a_slope_is_the_change_by_a_flip():
    vae = model("general", "gibbs")
    prior, z = excess_of(vae), torch.as_tensor(all_bits(N)).double()
    for i in range(N):
        zero, one = z.clone(), z.clone()
        zero[:, i], one[:, i] = 0, 1
        torch.testing.assert_close(prior.slope(z)[:, i], (prior.at(one) - prior.at(zero)).detach())


# --- draws, sizes, folders ----------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("kind", [*PRIORS, "categories"])
def test_samples_come_from_the_prior(kind):

    encoder = "categorical" if kind == "categories" else "independent"
    vae, draws = model(encoder, kind), 80_000
    z = vae.prior.sample(draws, seeded(0)).detach()
    codes = (
        z.argmax(dim=-1) if encoder == "categorical" else (z.long() << torch.arange(N)).sum(dim=-1)
    )
    expected = draws * np.exp(log_prior(vae))
    counts = np.bincount(codes.numpy(), minlength=len(expected))
    assert (
        (counts - expected) ** 2 / expected
    ).sum() < 55  # chi-square, 15 degrees of freedom: once in a million
    assert vae.sample(3, seeded(0)).shape == (3, PIXELS)


def test_many_bits_with_few_edges():
    n = 60
    chain = torch.stack([torch.arange(n - 1), torch.arange(1, n)], dim=1)
    prior = gibbs_prior(n, chain)
    torch.nn.init.normal_(prior.unary, generator=seeded(0))
    torch.nn.init.normal_(prior.pairwise, generator=seeded(1))
    message = np.zeros(2)
    for i in range(n):
        unary = np.array([0.0, prior.unary[i].item()])
        before = message if i == 0 else np.array(
            [np.logaddexp(message[0], message[1] + b * prior.pairwise[i - 1].item()) for b in (0, 1)]
        )  # fmt: skip
        message = before + unary
    log_z = np.logaddexp(*message)
    zeros = torch.zeros(1, n)
    assert GibbsExcess(prior.potentials()).at(zeros).item() == pytest.approx(
        log_z - n * np.log(2), rel=1e-5
    )


def test_a_posterior_without_the_priors_edges():
    vae, x = model("general", "chain"), images()
    h = vae.encoder(x).detach()
    few = Potentials(h.unary, h.pairwise[:, :2], torch.tensor([[0, 3], [1, 3]]))
    q = few.table(few.states()).softmax(dim=-1).numpy()
    expected = -(q * log_prior(vae)).sum(axis=1) - N * np.log(2)
    np.testing.assert_allclose(excess_of(vae).expected(Gibbs(few)).detach(), expected, rtol=1e-6)


@pytest.mark.spread(2)
@pytest.mark.parametrize("kind", ["factorised", "gibbs"])
@pytest.mark.parametrize("estimator", ["direct", "score_function", "maximum_likelihood"])
@pytest.mark.usefixtures("on_tiny_images")
def test_a_prior_is_trained_kept_and_exported(tmp_path, kind, estimator):
    config = TrainConfig(
        n=4, hidden=8, epochs=2, picture_every=0, recipe="elbo", prior=kind, estimator=estimator
    )
    run = train(config, tmp_path / "run", progress=False)
    vae = load_vae(run.folder, "last")
    assert vae.prior.unary.abs().min() > 0
    assert (kind == "gibbs") == (len(vae.prior.edges) > 0)
    found = evaluate_run(run.folder, samples=50).quantities
    assert found["bound"].value >= found["minus_log_p"].value - 1e-6
    vae.save_pretrained(tmp_path / "out")
    loaded = load_pretrained(tmp_path / "out")
    assert torch.equal(loaded.prior.unary, vae.prior.unary)
    assert torch.equal(loaded.prior.edges, vae.prior.edges)


def test_what_no_prior_can_be(tmp_path):
    with pytest.raises(
        ConfigError,
        match="the recipe paper leaves out with the estimator direct: set recipe to elbo",
    ):
        train(TrainConfig(prior="gibbs", recipe="paper", n=3, hidden=5), tmp_path / "run")
    with pytest.raises(ConfigError, match="log Z is out of reach"):
        train(
            TrainConfig(
                prior="gibbs",
                encoder="independent",
                n=50,
                hidden=5,
                recipe="elbo",
                solver="independent",
            ),
            tmp_path / "run",
        )
    with pytest.raises(ConfigError, match="the encoder has categories"):
        TrainConfig(prior="gibbs", encoder="categorical")
    with pytest.raises(ConfigError, match="prior has no meaning with model mixture"):
        TrainConfig(model="mixture", prior="gibbs")
    with pytest.raises(
        ValueError, match="the prior gibbs needs bits, and there are categories: take factorised"
    ):
        paper_vae("categorical", prior="gibbs")
    vae = paper_vae("general", pixels=9, n=4)
    with pytest.raises(ValueError, match="BitsPrior of 3, and the encoder has 4 bits"):
        DiscreteVAE(vae.encoder, vae.decoder, prior=BitsPrior(3))
    assert not (tmp_path / "run").exists()
