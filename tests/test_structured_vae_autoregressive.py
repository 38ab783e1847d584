"""The autoregressive posterior agrees with products of conditionals, and with enumeration."""

import numpy as np
import pytest
import torch
from enumeration import all_bits, seeded

from models import DiscreteVAE, Potentials, load_pretrained, paper_vae
from structured_vae import (
    RAM,
    ConfigError,
    Direct,
    Gibbs,
    ScoreFunction,
    TrainConfig,
    elbo_recipe,
    evaluate,
    evaluate_run,
    export_run,
    gradient_report,
    train,
)
from structured_vae.distributions import Autoregressive, SequentialBits
from structured_vae.errors import EstimatorError
from structured_vae.evaluation import evaluate_bound
from structured_vae.explorer import open_model
from structured_vae.seeds import Stream, generator
from structured_vae.spaces import KOfN

N, PIXELS, IMAGES = 4, 6, 3
EDGES = {
    "none": torch.empty((0, 2), dtype=torch.long),
    "chain": torch.tensor([[0, 1], [1, 2], [2, 3]]),
    "all": torch.triu_indices(N, N, 1).T,
}
every_graph = pytest.mark.parametrize("graph", EDGES)


def posterior(graph, batch=3):
    edges = EDGES[graph]
    unary = torch.randn(batch, N, generator=seeded(0), dtype=torch.float64)
    pairwise = 2 * torch.randn(batch, len(edges), generator=seeded(1), dtype=torch.float64)
    return Autoregressive(Potentials(unary.requires_grad_(), pairwise.requires_grad_(), edges))


def model(prior="uniform"):
    vae = paper_vae("general", pixels=PIXELS, n=N, hidden=4, prior=prior).double()
    for number, weight in enumerate(vae.parameters()):
        weight.data = 0.8 * torch.randn(weight.shape, generator=seeded(9 + number)).double()
    return vae


def images():
    return torch.rand(IMAGES, PIXELS, generator=seeded(5), dtype=torch.float64).round()


def log_q_by_numpy(h, z):
    """[batch]: the log of the product of conditionals."""
    unary, pairwise = h.unary.detach().numpy(), h.pairwise.detach().numpy()
    total = np.zeros(len(unary))
    for j in range(N):
        logit = unary[:, j].copy()
        for e, (i, k) in enumerate(h.edges.tolist()):
            if k == j:
                logit += pairwise[:, e] * z[i]
        total += -np.log1p(np.exp(-logit if z[j] else logit))
    return total


@every_graph
def test_the_density_is_the_product_of_conditionals(graph):
    q = posterior(graph)
    total = 0
    for z in all_bits(N):
        states = torch.as_tensor(z).double().expand(3, -1)
        expected = log_q_by_numpy(q.potentials, z)
        np.testing.assert_allclose(q.log_prob(states).detach(), expected)
        total = total + np.exp(expected)
    np.testing.assert_allclose(total, 1)


@pytest.mark.statistical
@every_graph
def test_samples_and_completions_have_their_probabilities(graph):
    q = posterior(graph)
    draws = 20_000
    states = torch.as_tensor(all_bits(N)).double()
    p = q.log_prob(states[:, None].expand(-1, 3, -1)).exp().detach().numpy()
    completions = q.completions(seeded(3), draws)
    flipped = completions.completed[:, 1]  # bit 1 has the other value
    for z in (q.sample(seeded(2), draws), completions.z):
        codes = (z.long() << torch.arange(N)).sum(dim=-1)
        for image in range(3):
            shares = np.bincount(codes[:, image], minlength=2**N) / draws
            error = np.sqrt(p[:, image] * (1 - p[:, image]) / draws)
            assert (np.abs(shares - p[:, image]) < 5 * error + 1e-3).all()
    assert (flipped[..., 1] != completions.z[..., 1]).all()
    assert (flipped[..., 0] == completions.z[..., 0]).all()
    # Given a value of bit 1, later bits of completions are drawn as those of samples are.
    for value in (0, 1):
        ones = completions.z[completions.z[..., 1] == value]
        others = flipped[flipped[..., 1] == value]
        if graph == "none":
            np.testing.assert_allclose(ones[:, 3].mean(), others[:, 3].mean(), atol=0.03)


class BySlowWays(SequentialBits):
    """The same distribution as `Autoregressive`, which defines only the logits of all bits."""

    def logits(self, z):
        return Autoregressive(self.potentials).logits(z)


def test_a_distribution_that_defines_only_logits_has_the_same_samples_and_ratios():
    q = posterior("all")
    slow = BySlowWays(q.potentials)
    z = q.sample(seeded(3), 5)
    assert torch.equal(slow.sample(seeded(3), 5), z)
    assert torch.equal(slow.sample_distinct(seeded(4), 6), q.sample_distinct(seeded(4), 6))
    torch.testing.assert_close(slow.log_prob(z), q.log_prob(z))
    torch.testing.assert_close(slow.flip_log_ratios(z), q.flip_log_ratios(z))
    torch.testing.assert_close(
        slow.kl("sampled", seeded(5)).value, q.kl("sampled", seeded(5)).value
    )
    completed, expected = (each.completions(seeded(6), 2) for each in (slow, q))
    assert torch.equal(completed.completed, expected.completed)


def test_a_distribution_of_sequential_bits_needs_states_of_bits():
    subsets = Potentials(torch.zeros(1, 3), space=KOfN(1))
    with pytest.raises(ConfigError, match="of all states of bits"):
        BySlowWays(subsets)


def gradients_of(vae, loss):
    vae.zero_grad()
    loss.backward()
    return torch.cat([weight.grad.flatten() for weight in vae.parameters()])


@pytest.mark.spread(2)
@pytest.mark.statistical
@pytest.mark.parametrize("prior", ["uniform", "factorised", "linear"])
@pytest.mark.parametrize("estimator", [ScoreFunction, RAM])
def test_estimators_train_the_whole_bound(estimator, prior):
    vae, x = model(prior), images()
    states = torch.as_tensor(all_bits(N)).double()[:, None].expand(-1, IMAGES, -1)
    q = Autoregressive(vae.encoder(x))
    log_q = q.log_prob(states)
    log_p = -N * np.log(2)
    if prior == "linear":
        log_p = vae.prior.log_prob(states)
    if prior == "factorised":
        scores = vae.prior.unary
        log_p = (states * scores - torch.nn.functional.softplus(scores)).sum(dim=-1)
    costs = torch.stack([vae.decoder.cost(x, z) for z in states])
    exact = gradients_of(vae, (log_q.exp() * (costs + log_q - log_p)).sum(dim=0).mean())
    made = estimator()
    made.draw_from(Autoregressive)
    noise = seeded(6)
    draws = []
    for _ in range(120):
        q = made.posterior(vae.encoder(x))
        objective = elbo_recipe(vae, x, q, made.kl)
        estimate = made(q, objective.cost, noise)
        draws.append(gradients_of(vae, (estimate.surrogate + objective.kl).mean()))
    draws = torch.stack(draws)
    error = draws.std(dim=0) / len(draws) ** 0.5
    assert ((draws.mean(dim=0) - exact).abs() < 5 * error + 1e-9).all()


@pytest.mark.parametrize("prior", ["uniform", "linear"])
def test_the_bound_is_that_of_the_sums(prior):
    vae, x = model(prior), images()
    states = torch.as_tensor(all_bits(N)).double()[:, None].expand(-1, IMAGES, -1)
    with torch.no_grad():
        log_q = Autoregressive(vae.encoder(x)).log_prob(states)
        log_p = torch.full_like(log_q, -N * np.log(2))
        if prior == "linear":
            log_p = vae.prior.log_prob(states)
        costs = torch.stack([vae.decoder.cost(x, z) for z in states])
    kl = (log_q.exp() * (log_q - log_p)).sum(dim=0)
    quantities = evaluate(vae, [(x,)], Autoregressive, seeded(0), samples=1500).quantities
    assert quantities["kl"].value == pytest.approx(kl.mean().item(), abs=0.06)
    exact = -(log_p - costs).logsumexp(dim=0).mean().item()
    assert quantities["minus_log_p"].value == pytest.approx(exact)
    reconstruction = (log_q.exp() * costs).sum(dim=0)
    bound = (reconstruction + kl).mean().item()
    assert quantities["bound"].value == pytest.approx(bound, abs=0.1)
    assert "gibbs_bound" not in quantities
    drawn = evaluate_bound(vae, [(x,)], Autoregressive, seeded(1), samples=1500)
    assert drawn.kl == pytest.approx(kl.mean().item(), abs=0.06)


def test_a_training_is_evaluated_with_its_posterior(tmp_path, tiny_images):
    config = TrainConfig(
        estimator="ram",
        posterior="autoregressive",
        encoder="general",
        bandwidth=2,
        n=18,
        prior="linear",
        hidden=8,
        epochs=1,
        logger="none",
        device="cpu",
    )
    run = train(config, tmp_path / "run", False, data=tiny_images)
    quantities = evaluate_run(run.folder, data=tiny_images, samples=5).quantities
    assert quantities["kl"].meaning == "KL(q || prior), 5 samples"
    assert quantities["bound"].value > 0
    exported = export_run(run.folder, tmp_path / "exported")
    noise = generator(config.seed, Stream.EVALUATION)
    x = torch.from_numpy(tiny_images.test.images)
    alone = evaluate(load_pretrained(exported), [(x,)], Autoregressive, noise, samples=5)
    assert alone.quantities["bound"].value == pytest.approx(quantities["bound"].value)
    from_run, from_export = open_model(run.folder), open_model(exported)
    shown = from_run.encode(from_run.score(tiny_images.test.images[0]))
    again = from_export.encode(from_export.score(tiny_images.test.images[0]))
    assert shown.how == again.how == "autoregressive, exact sums over all 262,144 states"
    assert shown.state == again.state


def test_what_cannot_be_is_refused():
    with pytest.raises(
        ConfigError, match=r"is for the estimators score_function, .*ram.*; got direct"
    ):
        TrainConfig(posterior="autoregressive")
    with pytest.raises(ConfigError, match=r"needs all states of bits, .*: leave posterior out"):
        TrainConfig(posterior="autoregressive", estimator="ram", encoder="categorical")
    with pytest.raises(EstimatorError, match="needs more of the posterior than its density"):
        Direct().draw_from(Autoregressive)
    with pytest.raises(EstimatorError, match="cannot be Gibbs: take ScoreFunction"):
        Direct().draw_from(Gibbs)
    h = Potentials(torch.zeros(1, 2), torch.zeros(1, 1), torch.tensor([[1, 0]]))
    with pytest.raises(ConfigError, match="needs edges"):
        Autoregressive(h)
    q = posterior("chain")
    for refused in (q.entropy, lambda: q.marginals, q.kl):
        with pytest.raises(ConfigError, match="autoregressive"):
            refused()
    assert q.kl(generator=seeded(0)).kind == "bound"
    assert q.tightest_kl().value.tolist() == pytest.approx([N * np.log(2)] * IMAGES)
    z = q.sample(seeded(1), 5)
    mean = N * np.log(2) + q.log_prob(z).mean(dim=0)
    torch.testing.assert_close(q.tightest_kl(z).value, mean)
    with pytest.raises(TypeError):
        DiscreteVAE()


def test_a_report_compares_an_estimator_with_its_own_posterior():
    vae, x = model(), images()
    own, gibbs = ScoreFunction(2), ScoreFunction(2)
    own.draw_from(Autoregressive)
    reports = gradient_report(vae, x, {"own": own, "gibbs": gibbs}, 3000, seeded(1))
    assert reports["own"].z_score < 4.5
    assert reports["gibbs"].z_score < 4.5
    assert abs(reports["own"].norm - reports["gibbs"].norm) > 1e-3
