"""Sums by torch, which serve devices, against numpy sums over all states and `solvers` on the host."""

import numpy as np
import pytest
import torch
from enumeration import LEVEL, Latent, away, leaves_of, seeded, smooth_cost

from models import CategoricalPotentials, Potentials
from models.host_edges import HostEdges
from solvers import gibbs
from structured_vae import Gibbs
from structured_vae.estimators import RAM, ScoreFunction
from structured_vae.spaces.sums.forest_plan import is_forest
from structured_vae.spaces.sums.forest_sums import ForestSums
from structured_vae.spaces.sums.table_sums import TableSums

CHAIN = [(i, i + 1) for i in range(5)]
STAR = [(i, 3) for i in range(3)] + [(3, 4), (3, 5)]
TWO_TREES = [(0, 5), (2, 5), (1, 3)]
FORESTS = {"chain": CHAIN, "star": STAR, "two trees": TWO_TREES, "no edges": []}
every_forest = pytest.mark.parametrize("edges", FORESTS.values(), ids=FORESTS)
both_kinds = pytest.mark.parametrize("kind", [ForestSums, TableSums])


def forest(edges, n=6, seed=0):
    random = np.random.default_rng(seed)
    return Latent(
        "general",
        1.5 * random.normal(size=n),
        1.5 * random.normal(size=len(edges)),
        np.array(edges, dtype=np.int64).reshape(-1, 2),
    )


def gradients(values, h):
    return torch.autograd.grad(values, leaves_of(h), retain_graph=True)


@every_forest
@both_kinds
def test_sums_and_their_gradients_are_those_over_all_states(kind, edges):
    this = forest(edges)
    h = this.potentials(2, tracked=True)
    sums = kind.of(h)
    probabilities = this.probabilities()
    statistics = this.statistics()
    means = probabilities @ statistics
    covariance = (statistics * probabilities[:, None]).T @ statistics - np.outer(means, means)
    scores = this.scores()
    log_z = torch.from_numpy(scores).logsumexp(dim=0)
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(sums.log_partition.detach(), [log_z] * 2, **close)
    marginals = torch.cat(sums.marginals, dim=1)
    np.testing.assert_allclose(marginals.detach(), [means] * 2, **close)
    of_log_z = torch.cat(gradients(sums.log_partition.sum(), h), dim=1)
    np.testing.assert_allclose(of_log_z, [means] * 2, **close)
    weights = np.random.default_rng(1).normal(size=len(means))
    of_marginals = gradients((marginals @ torch.from_numpy(weights)).sum(), h)
    np.testing.assert_allclose(torch.cat(of_marginals, dim=1), [covariance @ weights] * 2, **close)


def test_sums_over_a_forest_are_differentiable_twice():
    found = []
    for kind in (ForestSums, TableSums):
        h = forest(TWO_TREES).potentials(2, tracked=True)
        sums = kind.of(h)
        ones, pairs = sums.marginals
        value = (sums.log_partition.square().sum() + (ones**3).sum() + pairs.square().sum()).exp()
        first = torch.autograd.grad(value, leaves_of(h), create_graph=True)
        norm = sum(slope.square().sum() for slope in first)
        found.append([*first, *torch.autograd.grad(norm, leaves_of(h))])
    for actual, expected in zip(*found, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-9, atol=0)


def long_forest(n, seed=0, scale=2.0):
    """A random tree: every bit has an edge to an earlier one."""
    random = np.random.default_rng(seed)
    edges = np.array([(random.integers(max(0, i - 3), i), i) for i in range(1, n)])
    return Latent(
        "general", scale * random.normal(size=n), scale * random.normal(size=n - 1), edges
    )


@pytest.mark.parametrize("scale", [2.0, 1e3])
def test_a_large_forest_has_the_sums_of_the_host(scale):
    h = long_forest(60, scale=scale).potentials(2, tracked=True)
    sums = ForestSums.of(h)
    host = gibbs(h.unary.detach(), h.pairwise.detach(), edges=h.edges)
    torch.testing.assert_close(sums.log_partition, host.log_partition, rtol=1e-14, atol=1e-12)
    close = {"rtol": 0, "atol": 1e-14 * max(scale, 100)}
    torch.testing.assert_close(sums.marginals[0], host.unary_marginals, **close)
    torch.testing.assert_close(sums.marginals[1], host.pairwise_marginals, **close)
    direction = torch.randn(2, 60, generator=seeded()).double()
    found = gradients((sums.marginals[0] * direction).sum(), h)
    for actual, expected in zip(found, host.covariance_product(direction), strict=True):
        torch.testing.assert_close(actual, expected, rtol=0, atol=1e-11 * scale)


def test_scores_of_any_size_are_summed_without_rounding():
    unary = torch.linspace(-100, 100, 41).double()[:, None]
    h = Potentials(unary, torch.zeros(41, 0), torch.empty(0, 2, dtype=torch.long))
    expected = np.logaddexp(0, unary[:, 0].numpy())
    np.testing.assert_allclose(ForestSums.of(h).log_partition, expected, rtol=1e-15, atol=1e-300)


def test_a_long_chain_takes_few_rounds():
    h = Potentials(torch.zeros(1, 50), torch.zeros(1, 49), chain_edges(50))
    assert len(ForestSums.of(h).plan.rounds) == 6


def chain_edges(n, device="cpu"):
    return torch.stack([torch.arange(n - 1), torch.arange(1, n)], dim=1).to(device)


# --- samples and completions ----------------------------------------------------------------------


def deviation(places, expected):
    """The largest |frequency - expected| of the likely states, in standard errors."""
    counts = np.bincount(places.ravel(), minlength=len(expected))
    total = counts.sum()
    likely = total * expected > 20
    error = (total * expected * (1 - expected))[likely] ** 0.5
    return (np.abs(counts - total * expected)[likely] / error).max()


@pytest.mark.statistical
@both_kinds
def test_samples_have_the_probabilities_of_their_states(kind):
    this = forest(TWO_TREES)
    z = kind.of(this.potentials(2)).sample(seeded(), 20_000)
    assert z.shape == (20_000, 2, 6)
    assert deviation(this.index(z), this.probabilities()) < LEVEL
    wrong = this.with_parameters(1.1 * this.parameters)
    assert deviation(this.index(z), wrong.probabilities()) > LEVEL


def conditionals_of(this, order):
    """`[states, n]`: P(z_v = 1 | the bits before v in the order), for the bits of every state."""
    probabilities = this.probabilities()
    states = this.states
    found = np.empty_like(states)
    for place, v in enumerate(order):
        before = order[:place]
        same = (states[:, None, before] == states[None, :, before]).all(axis=-1)
        found[:, v] = (same @ (probabilities * states[:, v])) / (same @ probabilities)
    return found


def order_of(kind, sums):
    """The bits in the order in which they are drawn."""
    if kind is ForestSums:
        return sums.plan.order.numpy()
    return np.arange(sums.potentials.unary.shape[-1])[::-1]


@both_kinds
@pytest.mark.statistical
def test_completions_are_samples_given_the_flipped_bit_and_those_before(kind):
    this = forest(TWO_TREES)
    sums = kind.of(this.potentials(1, tracked=True))
    order = order_of(kind, sums)
    draws = 20_000
    uniforms = torch.rand((draws, 1, 6), generator=seeded()).double()
    variables = torch.tensor([4, 1, 5]).expand(draws, 1, 3)
    completions = sums.completions(uniforms, variables)
    z = completions.samples
    conditionals = conditionals_of(this, order)
    probabilities = this.probabilities()
    found = completions.conditionals.detach()[:, 0]
    np.testing.assert_allclose(found, conditionals[this.index(z)[:, 0]][:, [4, 1, 5]], atol=1e-12)
    assert deviation(this.index(z), probabilities) < LEVEL
    for row, v in enumerate([4, 1, 5]):
        completed = completions.completed[:, row]
        before = order[: order.tolist().index(v)].copy()
        assert torch.equal(completed[..., before], z[..., before].to(completed))
        assert torch.equal(completed[..., v], 1 - z[..., v].to(completed))
        # The bits before have their probability, and the bit has that of its other value.
        of_bit = np.where(this.states[:, v] == 1, conditionals[:, v], 1 - conditionals[:, v])
        expected = probabilities * (1 - of_bit) / of_bit
        places = this.index(completed.double())
        assert deviation(places, expected) < LEVEL
        assert deviation(places, probabilities) > LEVEL


@both_kinds
def test_a_completion_draws_later_bits_with_the_same_uniforms(kind):
    this = forest([])  # independent bits: no other bit changes
    sums = kind.of(this.potentials(2))
    uniforms = torch.rand((5, 2, 6), generator=seeded()).double()
    variables = torch.arange(6).expand(5, 2, 6)
    completions = sums.completions(uniforms, variables)
    flips = (completions.completed != completions.samples[:, None]).movedim(1, -2)
    assert torch.equal(flips, torch.eye(6).bool().expand(5, 2, 6, 6))


@both_kinds
def test_gradients_of_conditionals_are_those_of_finite_differences(kind):
    uniforms = torch.rand((2, 1, 6), generator=seeded()).double()
    variables = torch.tensor([0, 3, 2]).expand(2, 1, 3)

    def conditionals(unary, pairwise):
        h = Potentials(unary, pairwise, torch.tensor(STAR))
        return kind.of(h).completions(uniforms, variables).conditionals

    assert torch.autograd.gradcheck(conditionals, leaves_of(forest(STAR).potentials(1, True)))


@pytest.mark.statistical
def test_a_table_completes_variables_of_several_values():
    k = 3
    generator = seeded(1)
    unary = torch.randn(1, 3 * k, generator=generator).double()
    pairwise = torch.randn(1, 2 * k * k, generator=generator).double()
    h = CategoricalPotentials(unary, pairwise, torch.tensor([[0, 1], [0, 2]]), 3)
    states = h.states()
    probabilities = h.table(states)[0].softmax(dim=0).reshape(k, k, k)  # x_2, x_1, x_0
    draws = 20_000
    uniforms = torch.rand((draws, 1, 3), generator=generator).double()
    variables = torch.tensor([2, 1]).expand(draws, 1, 2)
    completions = TableSums.of(h).completions(uniforms, variables)
    values = completions.samples[:, 0]
    last = probabilities.sum(dim=(1, 2))
    before = probabilities.sum(dim=2) / last[:, None]
    torch.testing.assert_close(completions.conditionals[:, 0, 0], last.expand(draws, k))
    torch.testing.assert_close(completions.conditionals[:, 0, 1], before[values[:, 2]])
    places = k ** torch.arange(3)
    assert deviation((values @ places).numpy(), probabilities.flatten().numpy()) < LEVEL
    for step in (1, 2):
        moved = completions.completed[:, 0, step - 1, 0]
        assert torch.equal(moved[:, 2], (values[:, 2] + step) % k)
        again = completions.completed[:, 1, step - 1, 0]
        assert torch.equal(again[:, 1], (values[:, 1] + step) % k)
        assert torch.equal(again[:, 2], values[:, 2])
        # The last variable has the probability of its value before the step.
        expected = probabilities / last[:, None, None] * last.roll(step)[:, None, None]
        assert deviation((moved @ places).numpy(), expected.flatten().numpy()) < LEVEL
        wrong = probabilities.flatten().numpy()
        assert deviation((moved @ places).numpy(), wrong) > LEVEL


@both_kinds
@pytest.mark.parametrize("estimator", [RAM(), ScoreFunction(2)], ids=["ram", "score function"])
@pytest.mark.statistical
def test_estimators_of_a_device_have_the_exact_gradient(monkeypatch, kind, estimator):
    this = forest(CHAIN)
    cost = smooth_cost(6)
    exact = this.gradient(cost.values(this.states))
    monkeypatch.setattr(Gibbs, "_torch_kind", kind)
    h = this.potentials(8000, tracked=True)
    estimate = estimator(Gibbs(h), cost.cost("general", 8000)[0], seeded(), 1)
    estimate.surrogate.sum().backward()
    draws = torch.cat([h.unary.grad, h.pairwise.grad], dim=1).numpy()
    assert away(draws, exact) < LEVEL
    assert away(draws, exact, scale=1.2) > LEVEL


@both_kinds
def test_sums_of_a_pass_without_gradients_do_not_serve_where_one_is_needed(monkeypatch, kind):
    monkeypatch.setattr(Gibbs, "_torch_kind", kind)
    q = Gibbs(forest(CHAIN).potentials(2, tracked=True))
    with torch.no_grad():
        assert not q.kl().value.requires_grad
    q.sample(seeded())
    assert q.log_partition.requires_grad
    assert q.kl().value.requires_grad
    assert not q.sample(seeded()).requires_grad


# --- which device gets which ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "closed", "known", "kind"),
    [
        (10, False, True, TableSums),
        (11, False, True, ForestSums),
        (11, True, True, TableSums),
        (11, False, False, TableSums),
        (20, True, True, TableSums),
        (21, True, True, None),
        (1024, False, True, ForestSums),
        (1025, False, True, None),
    ],
)
def test_a_device_sums_over_a_table_or_along_a_forest(n, closed, known, kind):
    edges = chain_edges(n)
    if closed:
        edges = torch.cat([edges, torch.tensor([[0, n - 1]])])
    unary = torch.zeros(1, n, device="meta")
    pairwise = torch.zeros(1, len(edges), device="meta")
    host_edges = None
    if known:
        host_edges = HostEdges.of(edges)
    h = Potentials(unary, pairwise, edges.to("meta"), host_edges=host_edges)
    assert Gibbs(h)._torch_kind is kind


def test_the_host_sums_by_solvers():
    assert Gibbs(long_forest(30).potentials())._torch_kind is None


@pytest.mark.parametrize(
    ("edges", "expected"),
    [(CHAIN, True), (STAR, True), ([], True), ([*CHAIN, (0, 5)], False), ([(0, 9)], False)],
)
def test_a_forest_has_no_cycle(edges, expected):
    assert is_forest(np.array(edges, dtype=np.int64).reshape(-1, 2), 6) is expected
