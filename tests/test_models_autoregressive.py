"""Autoregressive priors agree with products of conditionals in numpy, and with enumeration."""

import numpy as np
import pytest
import torch
from enumeration import all_bits, seeded

from models import DiscreteVAE, load_pretrained, paper_vae, quantised_vae
from models.errors import SettingError
from models.priors import (
    MADE,
    AutoregressivePrior,
    CausalLinear,
    CausalTransformer,
    PriorOptions,
    States,
    named_prior,
)
from models.states import all_labels
from structured_vae import (
    RAM,
    ConfigError,
    Direct,
    Exact,
    Gibbs,
    GumbelSoftmax,
    PerturbAndMAP,
    ScoreFunction,
    TrainConfig,
    elbo_recipe,
    evaluate,
    load_vae,
    train,
)
from structured_vae.evaluation import evaluate_bound
from structured_vae.explorer import Explored

NAMES = ("linear", "made", "transformer")
SIZES = {"linear": {}, "made": {"hidden": 7, "layers": 2}, "transformer": {"hidden": 8}}
SHAPES = {"bits": (5, 0), "one category": (1, 4), "labels": (3, 3)}
PIXELS, IMAGES = 6, 5


def prior_over(name, shape, seed=0):
    """A prior whose weights are all random."""
    prior = named_prior(PriorOptions(name, **SIZES[name]), States(*SHAPES[shape])).double()
    for number, weight in enumerate(prior.parameters()):
        weight.data = 0.7 * torch.randn(weight.shape, generator=seeded(seed + number)).double()
    return prior


def states_of(shape):
    variables, values = SHAPES[shape]
    if not values:
        return torch.as_tensor(all_bits(variables)).double()
    return all_labels(variables, values, torch.zeros(1, dtype=torch.float64))


def vae_with(name, encoder="independent", bandwidth=0):
    paper = paper_vae(encoder, pixels=PIXELS, n=5, hidden=4, bandwidth=bandwidth)
    vae = DiscreteVAE(paper.encoder, paper.decoder, prior=prior_over(name, "bits")).double()
    for number, weight in enumerate([*vae.encoder.parameters(), *vae.decoder.parameters()]):
        weight.data = 0.8 * torch.randn(weight.shape, generator=seeded(50 + number)).double()
    return vae


def images():
    return torch.rand(IMAGES, PIXELS, generator=seeded(0), dtype=torch.float64).round()


every_name = pytest.mark.parametrize("name", NAMES)
every_shape = pytest.mark.parametrize("shape", SHAPES)


@every_name
@every_shape
def test_the_probabilities_of_all_states_add_up_to_one(name, shape):
    prior = prior_over(name, shape)
    total = prior.log_prob(states_of(shape)).logsumexp(dim=0)
    assert total.item() == pytest.approx(0, abs=1e-9)


@every_name
@every_shape
def test_it_starts_uniform(name, shape):
    prior = named_prior(PriorOptions(name, **SIZES[name]), States(*SHAPES[shape]))
    states = states_of(shape).float()
    assert torch.allclose(prior.log_prob(states), torch.tensor(-np.log(len(states))).float())


@every_name
@every_shape
def test_logits_depend_on_earlier_variables_alone(name, shape):
    network = prior_over(name, shape).network
    z = states_of(shape)[:1]
    slopes = torch.autograd.functional.jacobian(lambda state: network(state)[0], z)[:, 0]
    variable = torch.arange(z.shape[1]) // network.width
    later = variable[:, None] <= variable[None]
    assert (slopes[later] == 0).all()
    assert network.variables == 1 or (slopes[~later] != 0).any()


@every_name
@every_shape
def test_logits_one_by_one_are_those_of_one_pass(name, shape):
    prior = prior_over(name, shape)
    states = states_of(shape)[-6:]
    in_order = prior.network.in_order(len(states))
    parts = []
    for values in states.split(prior.network.width, dim=1):
        parts.append(in_order.next_logits())
        in_order.append(values)
    torch.testing.assert_close(torch.cat(parts, dim=1), prior.network(states))


@pytest.mark.statistical
@every_name
@every_shape
def test_samples_have_the_probabilities_of_the_states(name, shape):
    prior = prior_over(name, shape)
    states = states_of(shape)
    p = prior.log_prob(states).exp().detach().numpy()
    draws = 20_000
    z = prior.sample(draws, seeded(1))
    places = (z @ (states.T - (1 - states.T))).argmax(dim=1)  # most entries in common
    shares = np.bincount(places.numpy(), minlength=len(states)) / draws
    assert (z == states[places]).all()
    assert (np.abs(shares - p) < 5 * np.sqrt(p * (1 - p) / draws) + 1e-3).all()


def test_a_linear_prior_is_a_product_of_logistic_regressions():
    prior = prior_over("linear", "bits")
    weight = np.tril(prior.network.weight.detach().numpy(), -1)
    bias = prior.network.bias.detach().numpy()
    for z in all_bits(5):
        logits = weight @ z + bias
        expected = np.prod(np.where(z, 1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(logits))))
        density = prior.log_prob(torch.as_tensor(z).double()).exp()
        assert density.item() == pytest.approx(expected)


@pytest.mark.spread(3)
@every_name
@pytest.mark.parametrize(("encoder", "bandwidth"), [("independent", 0), ("general", 1)])
def test_the_evaluation_is_that_of_the_sums(name, encoder, bandwidth):
    vae, x = vae_with(name, encoder, bandwidth), images()
    z = states_of("bits")
    with torch.no_grad():
        costs = torch.stack([vae.decoder.cost(x, row.expand(IMAGES, -1)) for row in z], dim=1)
        log_q = vae.encoder(x).table(z).log_softmax(dim=1)
        log_p = vae.prior.log_prob(z)
    kl = (log_q.exp() * (log_q - log_p)).sum(dim=1)
    minus_log_p = -(log_p - costs).logsumexp(dim=1)
    quantities = evaluate(vae, [(x,)], Gibbs, seeded(0)).quantities
    assert quantities["kl"].value == pytest.approx(kl.mean().item())
    assert quantities["minus_log_p"].value == pytest.approx(minus_log_p.mean().item())
    bound = (log_q.exp() * costs).sum(dim=1) + kl
    assert quantities["bound"].value == pytest.approx(bound.mean().item())
    generator = seeded(1)
    for image, expected in zip(x, kl, strict=True):
        sampled = evaluate_bound(vae, [(image[None],)], Gibbs, generator, samples=1000)
        assert sampled.kl == pytest.approx(expected.item(), rel=0.15, abs=0.3)


@every_name
def test_the_mean_importance_weight_is_the_likelihood(name):
    vae, x = vae_with(name), images()
    exact = evaluate(vae, [(x,)], Gibbs, seeded(0)).quantities["minus_log_p"].value
    q = Gibbs(vae.encoder(x).detach())
    z = states_of("bits")[:, None].expand(-1, IMAGES, -1)
    with torch.no_grad():
        log_prior = vae.prior.log_prob(states_of("bits"))[:, None]
        log_weights = log_prior - vae.decoder.cost(x, z) - q.log_prob(z)
        mean = (q.log_prob(z) + log_weights).logsumexp(dim=0)
    assert -mean.mean().item() == pytest.approx(exact)


def gradients_of(vae, loss):
    vae.zero_grad()
    loss.backward()
    return torch.cat([weight.grad.flatten() for weight in vae.parameters()])


def exact_gradient(vae, x):
    z = states_of("bits")
    costs = vae.decoder.table(x, z)
    log_q = vae.encoder(x).table(z).log_softmax(dim=1)
    bound = (log_q.exp() * (costs + log_q - vae.prior.log_prob(z))).sum(dim=1)
    return gradients_of(vae, bound.mean())


@pytest.mark.spread(2)
@pytest.mark.statistical
@pytest.mark.parametrize("estimator", [ScoreFunction(samples=4), RAM()])
@pytest.mark.parametrize(("encoder", "bandwidth"), [("independent", 0), ("general", 1)])
def test_estimators_train_the_whole_bound(estimator, encoder, bandwidth):
    vae, x = vae_with("linear", encoder, bandwidth), images()
    exact = exact_gradient(vae, x)
    draws = []
    noise = seeded(3)
    for _ in range(120):
        q = estimator.posterior(vae.encoder(x))
        objective = elbo_recipe(vae, x, q, estimator.kl)
        estimate = estimator(q, objective.cost, noise)
        draws.append(gradients_of(vae, (estimate.surrogate + objective.kl).mean()))
    draws = torch.stack(draws)
    error = draws.std(dim=0) / len(draws) ** 0.5
    assert ((draws.mean(dim=0) - exact).abs() < 5 * error + 1e-9).all()


def test_the_exact_estimator_has_the_exact_gradient():
    vae, x = vae_with("made"), images()
    exact = exact_gradient(vae, x)
    estimator = Exact()
    q = estimator.posterior(vae.encoder(x))
    objective = elbo_recipe(vae, x, q, estimator.kl)
    estimate = estimator(q, objective.cost, seeded(0))
    gradient = gradients_of(vae, (estimate.surrogate + objective.kl).mean())
    torch.testing.assert_close(gradient, exact)


@every_name
@pytest.mark.parametrize("estimator", [Direct(), GumbelSoftmax()])
def test_other_estimators_give_the_prior_a_gradient(name, estimator):
    vae, x = vae_with(name), images()
    q = estimator.posterior(vae.encoder(x))
    objective = elbo_recipe(vae, x, q, estimator.kl)
    estimate = estimator(q, objective.cost, seeded(0))
    (estimate.surrogate + objective.kl).mean().backward()
    assert any(weight.grad.abs().sum() > 0 for weight in vae.prior.parameters())


@every_name
def test_the_slope_is_the_change_by_every_flip(name):
    vae, x = vae_with(name), images()[:2]
    cost = elbo_recipe(vae, x, vae.encoder(x), "folded").cost
    z = states_of("bits")[3:5]
    slope = cost.around(z).slope
    for i in range(5):
        flips = z.clone()
        flips[:, i] = 1 - flips[:, i]
        change = (cost(flips) - cost(z)) * (1 - 2 * z[:, i])
        torch.testing.assert_close(slope[:, i], change.detach())


def test_perturb_and_map_has_a_valid_bound():
    vae, x = vae_with("linear", "general"), images()
    quantities = evaluate(
        vae, [(x,)], lambda h: PerturbAndMAP(h, "exhaustive"), seeded(3), samples=2000
    ).quantities
    assert quantities["bound"].value >= quantities["minus_log_p"].value
    assert quantities["gibbs_bound"].value >= quantities["minus_log_p"].value


@every_name
def test_an_export_has_the_prior(tmp_path, name):
    prior = PriorOptions(name, **SIZES[name])
    vae = paper_vae("independent", pixels=9, n=4, hidden=5, prior=prior)
    for number, weight in enumerate(vae.prior.parameters()):
        weight.data = torch.randn(weight.shape, generator=seeded(number))
    vae.save_pretrained(tmp_path)
    loaded = load_pretrained(tmp_path)
    z = torch.as_tensor(all_bits(4)).float()
    torch.testing.assert_close(loaded.prior.log_prob(z), vae.prior.log_prob(z))
    assert loaded.arguments == vae.arguments
    torch.testing.assert_close(loaded.sample(3, seeded(0)), vae.sample(3, seeded(0)))


@every_name
def test_the_explorer_draws_from_the_prior_what_is_fixed(name):
    vae = vae_with(name)
    model = Explored(vae, None, (2, 3))
    scored = model.score(None)
    z = scored.posterior.draws({1: 1, 3: 0}, 500, seeded(0))
    assert (z[:, 1] == 1).all()
    assert (z[:, 3] == 0).all()
    states = states_of("bits")
    p = vae.prior.log_prob(states).exp().detach()
    marginals = (p[:, None] * states).sum(dim=0)
    encoded = model.encode(scored)
    np.testing.assert_allclose(encoded.marginals, marginals)
    assert np.exp(encoded.best.log_probability[0]) == pytest.approx(p.max().item())
    assert encoded.best.bound is None
    with torch.no_grad():
        at_z = model.parts.joint_cost(images()[:1], states[:1])
    expected = vae.decoder.cost(images()[:1], states[:1]) - vae.prior.log_prob(states[:1])
    assert at_z == pytest.approx(expected.item())


@pytest.mark.parametrize(
    "options",
    [
        {"prior": "linear", "n": 6},
        {"prior": "made", "prior_hidden": 8, "encoder": "categorical", "variables": 3, "k": 4},
        {"prior": "transformer", "prior_layers": 1, "encoder": "general", "bandwidth": 1, "n": 6},
    ],
)
def test_a_training_learns_it_and_is_evaluated(tmp_path, tiny_images, options):
    config = TrainConfig(
        estimator="score_function", hidden=8, epochs=1, logger="none", device="cpu", **options
    )
    run = train(config, tmp_path / "run", False, data=tiny_images)
    weights = load_vae(run.folder).prior.parameters()
    assert any(weight.abs().sum() > 0 for weight in weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"prior": "linear", "prior_hidden": 3},
            "prior_hidden is an option of the priors made and",
        ),
        ({"prior": "transformer", "prior_hidden": 30}, "must be a multiple of 4; got 30"),
        ({"prior": "linear", "space": "subset", "k": 3}, "covers all states of bits or categories"),
        (
            {"prior": "factorised", "encoder": "categorical", "variables": 2},
            "factorised takes one variable",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**options)


def test_a_prior_over_other_states_is_refused():
    vae = paper_vae("independent", pixels=9, n=4, hidden=5)
    prior = AutoregressivePrior(CausalLinear(3, 1), "linear")
    with pytest.raises(SettingError, match="is of 3 variables of 1 entries, and the encoder has n"):
        DiscreteVAE(vae.encoder, vae.decoder, prior=prior)
    with pytest.raises(SettingError, match="over all states, and not over"):
        prior.sample(2, seeded(0), space=object())


def test_a_made_of_one_variable_and_many_layers():
    network = MADE(1, 4, hidden=5, layers=3)
    assert network(torch.eye(4)).shape == (4, 4)
    assert CausalTransformer(1, 1, hidden=4)(torch.ones(2, 1)).shape == (2, 1)


@pytest.mark.parametrize("make", [paper_vae, quantised_vae])
def test_the_sizes_of_a_prior_are_fields_of_its_options_and_were_arguments(make):
    name = {paper_vae: "independent", quantised_vae: "bsq"}[make]
    vae = make(name, n=4, hidden=5, prior=PriorOptions("made", hidden=7, layers=2))
    assert vae.prior.arguments == {"prior": "made", "prior_hidden": 7, "prior_layers": 2}
    with pytest.warns(DeprecationWarning, match=r"prior=models\.priors\.PriorOptions") as warned:
        former = make(name, n=4, hidden=5, prior="made", prior_hidden=7, prior_layers=2)
    assert warned[0].filename == __file__
    assert former.arguments == vae.arguments
    with pytest.raises(
        SettingError, match="prior_hidden must be a whole number of at least 0; got -1"
    ):
        PriorOptions("made", hidden=-1)
