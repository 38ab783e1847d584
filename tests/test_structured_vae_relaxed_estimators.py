"""Estimators by relaxation and perturbation against enumeration, quadrature and their limits."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from enumeration import (
    LEVEL,
    away,
    draws_of,
    latent,
    leaves_of,
    seeded,
    sigmoid,
    smooth_cost,
    unary_noise,
)

from models import CategoricalPotentials, Potentials, paper_vae
from structured_vae import (
    ConfigError,
    Gibbs,
    GumbelSoftmax,
    StraightThrough,
    TrainConfig,
)
from structured_vae.distributions.sparse_map import sparse_map
from structured_vae.errors import EstimatorError
from structured_vae.estimators import (
    AdaptiveImplicitMLE,
    GappedStraightThrough,
    GumbelRao,
    ImplicitMLE,
    ReinMax,
    ReinMaxCV,
    ReinMaxRao,
    SparseMAP,
    StochasticSoftmax,
    StochasticStraightThrough,
)
from structured_vae.spaces import Arborescences, KOfN, SpanningTrees, grid_paths
from structured_vae.vaes.fitting import fitting_estimator

DRAWS = 20_000
TEMPERATURE = 0.7


class Quadratic:
    """The cost z' A z + b . z, of which every variable sees a polynomial of degree 2.

    It has the interface of `SmoothCost`, with b as the parameters of the decoder.
    """

    def __init__(self, n, seed=0):
        random = np.random.default_rng(seed + 50)
        self.a = random.normal(size=(n, n))
        self.b = random.normal(size=n)

    def values(self, z):
        return np.einsum("...i,ij,...j->...", z, self.a, z) + z @ self.b

    def features(self, z):
        return z

    def slope(self, z):
        return z @ (self.a + self.a.T) + self.b

    def cost(self, family, batch):
        a = torch.from_numpy(self.a)
        b = torch.from_numpy(self.b).repeat(batch, 1).requires_grad_()
        return lambda z: ((z @ a) * z).sum(-1) + (z * b).sum(-1), b


def bits_and_smooth_cost(n=4):
    return latent("independent", n), smooth_cost(n)


# --- expected weights of the slope of a bit ------------------------------------------------------


def quantiles(low, high, count=20_000):
    """Logistic noise whose distribution function is spread evenly over (low, high)."""
    share = (np.arange(count) + 0.5) / count
    below = low + (high - low) * share
    return np.log(below) - np.log1p(-below)


def mean_slope(shift, low, high, temperature):
    """The mean derivative of sigmoid((shift + noise) / temperature), noise between quantiles."""
    soft = sigmoid((shift + quantiles(low, high)) / temperature)
    return (soft * (1 - soft)).mean() / temperature


def straight_through_weight(p, z):
    low, high = (1 - p, 1.0) if z else (0.0, 1 - p)
    return mean_slope(math.log(p / (1 - p)), low, high, TEMPERATURE)


def reinmax_weight(p, z, temperature=1.0):
    middle = (sigmoid(math.log(p / (1 - p)) / temperature) + z) / 2
    return 2 * middle * (1 - middle) - p * (1 - p) / 2


def rao_weight(p, z):
    middle = (p + z) / 2
    low, high = (1 - middle, 1.0) if z else (0.0, 1 - middle)
    return mean_slope(math.log(middle / (1 - middle)), low, high, TEMPERATURE)


def reinmax_rao_weight(p, z):
    return 2 * rao_weight(p, z) - p * (1 - p) / 2


def reinmax_cv_weight(p, z, eta=0.5):
    middle = (p + z) / 2
    low, high = (1 - p, 1.0) if z else (0.0, 1 - p)
    control = mean_slope(math.log(middle / (1 - middle)), low, high, TEMPERATURE)
    return reinmax_weight(p, z) + eta * (rao_weight(p, z) - control)


def gapped_weight(p, z, gap=1.0):
    u = math.log(p / (1 - p))
    moved = max(u, gap) if z else min(u, -gap)
    soft = sigmoid(moved / TEMPERATURE)
    return soft * (1 - soft) / TEMPERATURE


WEIGHTS = {
    "straight_through": (StraightThrough(TEMPERATURE), straight_through_weight),
    "gumbel_rao": (GumbelRao(TEMPERATURE, inner=3), straight_through_weight),
    "gapped_straight_through": (GappedStraightThrough(TEMPERATURE), gapped_weight),
    "reinmax": (ReinMax(), reinmax_weight),
    "reinmax_warm": (ReinMax(1.5), lambda p, z: reinmax_weight(p, z, 1.5)),
    "reinmax_rao": (ReinMaxRao(TEMPERATURE, inner=3), reinmax_rao_weight),
    "reinmax_cv": (ReinMaxCV(TEMPERATURE, inner=3), reinmax_cv_weight),
}
"""Estimators, and what multiplies the slope of a bit z of probability p, given z."""


def first_order_weight(p, z):
    return p * (1 - p)


def expected_of_bits(this, cost, weight):
    """Every state times the weights of its bits times the slopes at the state, by enumeration."""
    p = sigmoid(this.unary)
    table = np.array([[weight(share, value) for share in p] for value in (0, 1)])
    states = this.states.astype(int)
    weights = np.take_along_axis(table, states, axis=0)
    return this.probabilities() @ (weights * cost.slope(this.states))


@pytest.mark.statistical
@pytest.mark.parametrize("name", WEIGHTS)
def test_hard_relaxations_of_bits_have_their_expectation(name):
    this, cost = bits_and_smooth_cost()
    estimator, weight = WEIGHTS[name]
    draws, decoder, estimate = draws_of(estimator, this, cost, DRAWS)
    expected = expected_of_bits(this, cost, weight)
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL
    of_decoder = this.probabilities() @ cost.features(this.states)
    assert away(decoder, of_decoder) < LEVEL
    assert away(decoder, of_decoder, 1.1) > LEVEL
    level = np.array([this.probabilities() @ cost.values(this.states)])
    assert away(estimate.cost.numpy()[:, None], level) < LEVEL


@pytest.mark.statistical
@pytest.mark.parametrize("name", WEIGHTS)
def test_two_categories_have_the_expectation_of_a_bit(name):
    """The score of the second category is that of the bit, the slope a difference of two slopes."""
    this = latent("categorical", 2, seed=3)
    cost = smooth_cost(2)
    estimator, weight = WEIGHTS[name]
    draws, _, _ = draws_of(estimator, this, cost, DRAWS)
    q = this.probabilities()
    difference = cost.slope(this.states) @ np.array([-1.0, 1.0])
    weights = np.array([weight(q[1], value) for value in (0, 1)])
    of_bit = q @ (weights * difference)
    expected = np.array([-of_bit, of_bit])
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.2) > LEVEL


def mean_of_reinmax(this, cost):
    """The second order of Liu et al.: sum_j q_k q_j (slope_k + slope_j) . (z_k - z_j) / 2."""
    q = this.probabilities()
    slopes = cost.slope(this.states)
    along = slopes @ this.states.T
    at_itself = np.diagonal(along)
    rises = (at_itself[:, None] - along + along.T - at_itself[None, :]) / 2
    return q * (rises @ q)


@pytest.mark.statistical
def test_reinmax_of_one_categorical_variable_has_its_expectation():
    this, cost = latent("categorical", 6), smooth_cost(6)
    draws, _, _ = draws_of(ReinMax(), this, cost, DRAWS)
    expected = mean_of_reinmax(this, cost)
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL


@pytest.mark.statistical
@pytest.mark.parametrize(("family", "n"), [("independent", 4), ("categorical", 5)])
def test_reinmax_is_unbiased_for_quadratic_costs(family, n):
    this, cost = latent(family, n), Quadratic(n)
    exact = this.gradient(cost.values(this.states))
    draws, _, _ = draws_of(ReinMax(), this, cost, DRAWS)
    assert away(draws, exact) < LEVEL
    assert away(draws, exact, 1.1) > LEVEL


@pytest.mark.statistical
@pytest.mark.parametrize("name", sorted(set(WEIGHTS) - {"reinmax"}))
def test_the_other_hard_relaxations_are_biased_for_quadratic_costs(name):
    this, cost = latent("independent", 4), Quadratic(4)
    draws, _, _ = draws_of(WEIGHTS[name][0], this, cost, DRAWS)
    assert away(draws, this.gradient(cost.values(this.states))) > LEVEL


def test_reinmax_is_of_second_order_and_straight_through_of_first():
    """Costs tanh(size A z + b) bend as their size to the power of 2, and more as that of 3."""
    this, base = latent("independent", 4), smooth_cost(4)
    sizes = np.array([0.004, 0.002])
    biases = {reinmax_weight: [], first_order_weight: []}
    for size in sizes:
        cost = replace(base, a=size * base.a)
        exact = this.gradient(cost.values(this.states))
        for weight, norms in biases.items():
            norms.append(np.linalg.norm(expected_of_bits(this, cost, weight) - exact))
    for weight, order in ((first_order_weight, 2), (reinmax_weight, 3)):
        slope = np.polyfit(np.log(sizes), np.log(biases[weight]), 1)[0]
        assert slope == pytest.approx(order, abs=0.1)


def variance_of(estimator, this, cost, count=DRAWS):
    return draws_of(estimator, this, cost, count)[0].var(axis=0).sum()


@pytest.mark.statistical
@pytest.mark.parametrize(("family", "n"), [("independent", 4), ("categorical", 6)])
def test_gumbel_rao_has_the_mean_of_straight_through_and_less_variance(family, n):
    this, cost = latent(family, n), smooth_cost(n)
    straight, _, _ = draws_of(StraightThrough(TEMPERATURE), this, cost, DRAWS, seed=1)
    one, few, many = (
        draws_of(GumbelRao(TEMPERATURE, inner=inner), this, cost, DRAWS, seed=2)[0]
        for inner in (1, 3, 16)
    )
    for draws in (one, many):
        error = np.hypot(straight.std(axis=0), draws.std(axis=0)) / DRAWS**0.5
        assert (np.abs(draws.mean(axis=0) - straight.mean(axis=0)) / error).max() < LEVEL
    variances = [draws.var(axis=0).sum() for draws in (straight, one, few, many)]
    assert variances[1] == pytest.approx(variances[0], rel=0.1)
    # The variance is a + b / inner, where a is that of the conditional mean.
    inside = (variances[1] - variances[3]) * 16 / 15
    assert variances[2] == pytest.approx(variances[1] - inside * 2 / 3, rel=0.1)
    assert variances[3] < 0.7 * variances[0]


@pytest.mark.statistical
@pytest.mark.parametrize(("family", "n"), [("independent", 4), ("categorical", 10)])
def test_the_published_control_of_reinmax_raises_its_variance(family, n):
    this, cost = latent(family, n), smooth_cost(n)
    plain = variance_of(ReinMax(), this, cost)
    assert variance_of(ReinMaxCV(1.0), this, cost) > 1.1 * plain
    assert variance_of(ReinMaxCV(1.0, eta=-0.5), this, cost) < 0.95 * plain
    same = draws_of(ReinMaxCV(1.0, eta=0.0), this, cost, 20)[0]
    np.testing.assert_allclose(same, draws_of(ReinMax(), this, cost, 20)[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [GumbelRao, GappedStraightThrough, ReinMax, ReinMaxRao, ReinMaxCV])
def test_hard_relaxations_refuse_dependent_variables(make):
    pairs = Potentials(torch.zeros(1, 3), torch.zeros(1, 1), torch.tensor([[0, 2]]))
    subsets = Potentials(torch.zeros(1, 3), space=KOfN(2))
    for potentials in (pairs, subsets):
        (reason,) = make().why_not(potentials)
        assert reason.endswith("is made for independent variables")
    assert make().why_not(Potentials(torch.zeros(1, 3))) == ()
    assert make().why_not(CategoricalPotentials(torch.zeros(1, 6), variables=2)) == ()


@pytest.mark.parametrize("name", WEIGHTS)
def test_several_categorical_variables_are_those_variables_one_by_one(name):
    """With a cost that adds up over the variables and scores that are equal, so are the means."""
    unary = torch.tensor([0.3, -0.8, 0.1], dtype=torch.float64)
    h = CategoricalPotentials(unary.repeat(DRAWS, 2).requires_grad_(), variables=2)
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64).repeat(2)
    estimate = WEIGHTS[name][0](h, lambda z: (z * weights).sum(-1).tanh(), seeded(1))
    (gradient,) = torch.autograd.grad(estimate.surrogate.sum(), h.unary)
    first, second = gradient.numpy()[:, :3], gradient.numpy()[:, 3:]
    assert away(first - second, np.zeros(3)) < LEVEL
    np.testing.assert_allclose(first.sum(axis=1), 0, atol=1e-12)
    assert np.abs(first).max() > 0.01


@pytest.mark.parametrize("name", sorted(set(WEIGHTS) - {"straight_through"}))
def test_saturated_scores_have_finite_gradients(name):
    for make in (Potentials, CategoricalPotentials):
        unary = torch.tensor([[-300.0, 300.0, 0.0]]).repeat(50, 1).requires_grad_()
        estimate = WEIGHTS[name][0](make(unary), lambda z: z.square().sum(-1), seeded())
        (gradient,) = torch.autograd.grad(estimate.surrogate.sum(), unary)
        assert bool(gradient.isfinite().all())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GumbelRao(inner=0), "inner must be a whole number of at least 1; got 0"),
        (lambda: ReinMaxRao(inner=1.5), r"inner must be a whole number of at least 1; got 1\.5"),
        (
            lambda: GappedStraightThrough(gap=-1.0),
            r"gap must be a finite number of at least 0; got -1\.0",
        ),
        (lambda: ReinMaxCV(eta=math.inf), "eta must be a finite number; got inf"),
        (lambda: SparseMAP(steps=0), "steps must be a whole number of at least 1; got 0"),
        (lambda: AdaptiveImplicitMLE(sides=3), "sides must be 1 or 2; got 3"),
        (
            lambda: AdaptiveImplicitMLE(decay=1.0),
            "decay must be a number of at least 0 and below 1",
        ),
        (lambda: AdaptiveImplicitMLE(target=0.0), "target must be a positive number"),
    ],
)
def test_impossible_options_of_relaxed_estimators(make, words):
    with pytest.raises(EstimatorError, match=words):
        make()


# --- stochastic softmax tricks -------------------------------------------------------------------

TRIANGLE = np.array([[0, 1], [0, 2], [1, 2]])
SPACES = {
    "subset": (KOfN(2), 4),
    "tree": (SpanningTrees(TRIANGLE), 3),
    "arborescence": (Arborescences([(0, 1), (0, 2), (1, 2), (2, 1)]), 4),
    "path": (grid_paths(2, 2), len(grid_paths(2, 2).arcs)),
}


def marginals(states, scores):
    """The mean state `[..., n]` of the Gibbs distribution of scores `[..., states]`."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ states


def structured(name, batch, seed=0, tracked=True):
    space, n = SPACES[name]
    unary = np.random.default_rng(seed).normal(size=n)
    leaf = torch.from_numpy(unary).repeat(batch, 1).requires_grad_(tracked)
    states = space.states(n, torch.zeros(1, dtype=torch.float64)).numpy()
    return Potentials(leaf, space=space), unary, states


def gradients_of(estimator, potentials, cost, seed=0):
    theta = torch.from_numpy(cost.theta)

    def function(z):
        inner = z @ torch.from_numpy(cost.a).T + torch.from_numpy(cost.b)
        return (theta * inner.tanh()).sum(-1)

    estimate = estimator(potentials, function, seeded(seed))
    draws = torch.autograd.grad(estimate.surrogate.sum(), leaves_of(potentials))
    return torch.cat(draws, dim=1).numpy(), estimate


def moved_by(unary, place, size=1e-5):
    step = np.zeros_like(unary)
    step[place] = size
    return unary + step, unary - step


@pytest.mark.parametrize("name", SPACES)
def test_the_stochastic_softmax_is_the_gradient_of_the_cost_of_marginals(name):
    potentials, unary, states = structured(name, 20)
    cost = smooth_cost(len(unary))
    draws, estimate = gradients_of(StochasticSoftmax(temperature=TEMPERATURE), potentials, cost, 3)
    noise = unary_noise(potentials, seeded(3))[0].numpy()
    for i in range(len(unary)):
        up, down = (
            cost.values(marginals(states, (moved + noise) @ states.T / TEMPERATURE))
            for moved in moved_by(unary, i)
        )
        np.testing.assert_allclose(draws[:, i], (up - down) / 2e-5, rtol=0, atol=1e-8)
    best = states[((unary + noise) @ states.T).argmax(axis=1)]
    np.testing.assert_array_equal(estimate.z[0].numpy(), best)


@pytest.mark.parametrize("name", SPACES)
def test_the_stochastic_straight_through_is_the_slope_at_the_state_through_marginals(name):
    potentials, unary, states = structured(name, 20)
    cost = smooth_cost(len(unary))
    estimator = StochasticStraightThrough(temperature=TEMPERATURE)
    draws, estimate = gradients_of(estimator, potentials, cost, 3)
    noise = unary_noise(potentials, seeded(3))[0].numpy()
    z = states[((unary + noise) @ states.T).argmax(axis=1)]
    slope = cost.slope(z)
    for i in range(len(unary)):
        up, down = (
            marginals(states, (moved + noise) @ states.T / TEMPERATURE)
            for moved in moved_by(unary, i)
        )
        expected = ((up - down) * slope).sum(axis=1) / 2e-5
        np.testing.assert_allclose(draws[:, i], expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(estimate.cost, cost.values(z), rtol=0, atol=1e-12)


@pytest.mark.parametrize("family", ["general", "supermodular"])
def test_the_stochastic_softmax_of_coupled_bits(family):
    """Noise is on the scores of variables, the temperature divides those of pairs too."""
    this, cost = latent(family, 4), smooth_cost(4)
    estimator = StochasticSoftmax(temperature=TEMPERATURE, samples=2)
    draws, _, _ = draws_of(estimator, this, cost, 10, seed=5)
    noise = unary_noise(this.potentials(10), seeded(5), 2).numpy()

    def costs(parameters):
        scores = this.statistics() @ parameters + noise @ this.states.T
        return cost.values(marginals(this.states, scores / TEMPERATURE)).mean(axis=0)

    for i in range(len(this.parameters)):
        up, down = (costs(moved) for moved in moved_by(this.parameters, i))
        np.testing.assert_allclose(draws[:, i], (up - down) / 2e-5, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("structured_form", "plain"),
    [(StochasticSoftmax, GumbelSoftmax), (StochasticStraightThrough, StraightThrough)],
)
@pytest.mark.parametrize("family", ["independent", "categorical"])
def test_stochastic_softmaxes_of_independent_variables_are_the_plain_ones(
    structured_form, plain, family
):
    this, cost = latent(family, 4), smooth_cost(4)
    options = {"temperature": TEMPERATURE, "samples": 2}
    first, second = (
        draws_of(make(**options), this, cost, 30, seed=2)[0] for make in (structured_form, plain)
    )
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)


@pytest.mark.statistical
def test_the_bias_of_the_stochastic_softmax_vanishes_with_the_temperature():
    """Against perturb-and-MAP of subsets: differences of mean costs under common noise."""
    potentials, unary, states = structured("subset", 10_000)
    cost = smooth_cost(len(unary))
    noise = np.random.default_rng(0).logistic(size=(100_000, len(unary))) @ states.T
    exact = []
    for i in range(len(unary)):
        up, down = (
            cost.values(states)[(noise + moved @ states.T).argmax(axis=1)]
            for moved in moved_by(unary, i, 0.1)
        )
        exact.append(((up - down) / 0.2).mean())
    bias = {}
    for temperature in (1.0, 0.1):
        draws, _ = gradients_of(StochasticSoftmax(temperature=temperature), potentials, cost)
        bias[temperature] = np.linalg.norm(draws.mean(axis=0) - exact)
    assert bias[0.1] < bias[1.0] / 3


def test_the_stochastic_softmax_refuses_a_space_without_sums():
    class Argmax:
        def argmax(self, scores):
            return (scores > 0).to(scores)

    (reason,) = StochasticSoftmax(Argmax()).why_not(Potentials(torch.zeros(1, 3)))
    assert "sums over the states of Argmax are not known" in reason
    assert StochasticSoftmax(KOfN(2)).why_not(Potentials(torch.zeros(1, 3))) == ()
    assert StochasticSoftmax(KOfN(2), samples=3).argmaxes == 3


def test_training_refuses_marginals_that_are_out_of_reach():
    vae = paper_vae("general", pixels=9, n=40, hidden=2)
    config = TrainConfig(encoder="general", n=40, estimator="own")
    for estimator in (StochasticSoftmax(), StochasticStraightThrough()):
        with pytest.raises(ConfigError, match="Gibbs distribution, which is out of reach"):
            fitting_estimator(config, vae, "cp_sat", estimator)
    assert fitting_estimator(config, vae, "cp_sat", SparseMAP()).kl == "folded"


# --- SparseMAP -----------------------------------------------------------------------------------


def sparse_by_bisection(states, scores, temperature):
    """The best distribution over all states by accelerated projected gradients, and its mean."""
    size = temperature * np.linalg.eigvalsh(states @ states.T).max()
    p = np.full(len(states), 1 / len(states))
    ahead, momentum = p, 1.0
    for _ in range(20_000):
        slope = scores - temperature * states @ (states.T @ ahead)
        moved = on_simplex(ahead + slope / size)
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - p)
        if np.abs(moved - p).max() < 1e-13:
            break
        p, momentum = moved, following
    return moved, moved @ states


def on_simplex(values):
    """The closest point of the simplex: Held, Wolfe, Crowder (1974)."""
    ordered = np.sort(values)[::-1]
    excess = (ordered.cumsum() - 1) / np.arange(1, len(values) + 1)
    threshold = excess[(ordered > excess).nonzero()[0][-1]]
    return np.maximum(values - threshold, 0)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("name", SPACES)
def test_the_mean_of_the_sparse_distribution_is_the_closest_point(name, temperature):
    potentials, unary, states = structured(name, 1, seed=1, tracked=False)
    sparse = sparse_map(potentials, temperature=temperature)
    _, mean = sparse_by_bisection(states, states @ unary, temperature)
    np.testing.assert_allclose(sparse.mean[0], mean, rtol=0, atol=1e-6)
    assert len(sparse.states) <= len(unary) + 1
    assert float(sparse.probabilities.min()) > -1e-9
    assert float(sparse.probabilities.sum()) == pytest.approx(1, abs=1e-9)


def test_sparse_marginals_of_bits_are_clipped_and_of_a_category_sparsemax():
    unary = torch.randn(40, 6, generator=seeded(1), dtype=torch.float64) + 0.5
    clipped = (unary / 2).clamp(0, 1)
    torch.testing.assert_close(sparse_map(Potentials(unary), temperature=2.0).mean, clipped)
    of_category = sparse_map(CategoricalPotentials(unary), temperature=2.0).mean
    expected = np.stack([on_simplex(row / 2) for row in unary.numpy()])
    np.testing.assert_allclose(of_category, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("family", ["general", "supermodular"])
def test_the_sparse_distribution_of_coupled_bits_is_the_best_one(family):
    this = latent(family, 4, seed=2)
    sparse = sparse_map(this.potentials(1))
    p, mean = sparse_by_bisection(this.states, this.scores(), 1.0)
    np.testing.assert_allclose(sparse.mean[0], mean, rtol=0, atol=1e-5)
    probabilities = sparse.probabilities[:, 0].numpy()
    reached = probabilities @ this.scores()[this.index(sparse.states[:, 0])]
    assert reached - 0.5 * mean @ mean == pytest.approx(
        p @ this.scores() - 0.5 * mean @ mean, abs=1e-6
    )


def expected_sparse_cost(this, parameters, cost):
    moved = this.with_parameters(parameters)
    sparse = sparse_map(moved.potentials(1))
    return float(sparse.probabilities[:, 0].numpy() @ cost.values(sparse.states[:, 0].numpy()))


@pytest.mark.parametrize("family", ["independent", "general", "supermodular", "categorical"])
def test_sparse_map_is_the_gradient_of_the_expected_cost_of_its_distribution(family):
    this, cost = latent(family, 4, seed=2), smooth_cost(4)
    draws, decoder, estimate = draws_of(SparseMAP(), this, cost, 3)
    for i in range(len(this.parameters)):
        up, down = (
            expected_sparse_cost(this, moved, cost) for moved in moved_by(this.parameters, i)
        )
        np.testing.assert_allclose(draws[:, i], (up - down) / 2e-5, rtol=0, atol=1e-6)
    sparse = sparse_map(this.potentials(1))
    p, z = sparse.probabilities[:, 0].numpy(), sparse.states[:, 0].numpy()
    np.testing.assert_allclose(decoder, np.tile(p @ cost.features(z), (3, 1)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(estimate.cost, p @ cost.values(z), rtol=0, atol=1e-9)
    assert len(p) > 1
    assert float(estimate.stats["states"]) == pytest.approx(len(p))
    np.testing.assert_array_equal(estimate.z[0, 0].numpy(), z[p.argmax()])


def test_sparse_map_of_a_batch_is_that_of_each_image():
    space, n = SPACES["subset"]
    unary = 2 * torch.randn(30, n, generator=seeded(3), dtype=torch.float64)
    together = sparse_map(Potentials(unary, space=space)).mean
    alone = [sparse_map(Potentials(row[None], space=space)).mean for row in unary]
    torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=1e-8)


def test_few_steps_give_the_best_distribution_over_their_states():
    this = latent("independent", 5)
    assert len(sparse_map(this.potentials(1), steps=1).states) == 1
    sparse = sparse_map(this.potentials(1), steps=2)
    assert len(sparse.states) == 2
    states = sparse.states[:, 0].numpy()
    p, _ = sparse_by_bisection(states, states @ this.unary, 1.0)
    np.testing.assert_allclose(sparse.probabilities[:, 0], p, rtol=0, atol=1e-8)


def test_sparse_map_has_one_state_at_a_low_temperature():
    this, cost = latent("general", 5), smooth_cost(5)
    draws, _, estimate = draws_of(SparseMAP(temperature=1e-3), this, cost, 2)
    assert float(estimate.stats["states"]) == 1
    np.testing.assert_array_equal(draws, np.zeros_like(draws))
    best = this.states[this.scores().argmax()]
    np.testing.assert_array_equal(estimate.z[0, 0].numpy(), best)


# --- adaptive implicit MLE -----------------------------------------------------------------------


def root_mean_square(values):
    return np.sqrt(np.mean(np.square(values)))


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("family", ["independent", "general", "categorical"])
def test_adaptive_implicit_mle_is_its_definition(family, sides):
    this, cost, count = latent(family, 5), smooth_cost(5), 300
    estimator = AdaptiveImplicitMLE(sides=sides, start=0.6).eval()
    draws, decoder, estimate = draws_of(estimator, this, cost, count, seed=6)
    noise = unary_noise(this.potentials(count), seeded(6))[0].numpy()
    pairs = this.statistics()[:, this.n :] @ this.pairwise

    def best(scores):
        return (scores @ this.states.T + pairs).argmax(axis=1)

    z = this.states[best(this.unary + noise)]
    slope = cost.slope(z)
    epsilon = 0.6 * root_mean_square(this.unary) / root_mean_square(slope)
    low = best(this.unary + noise - epsilon * slope)
    high = best(this.unary + noise + (sides == 2) * epsilon * slope)
    expected = (this.statistics()[high] - this.statistics()[low]) / (sides * epsilon)
    np.testing.assert_allclose(draws, expected, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(decoder, cost.features(z), rtol=0, atol=1e-12)
    assert estimate.stats["changed"].item() == pytest.approx((high != low).mean(), abs=1e-6)
    assert 0.03 < (high != low).mean() < 0.99


@pytest.mark.statistical
@pytest.mark.parametrize(("sides", "order"), [(1, 1), (2, 2)])
def test_the_bias_of_adaptive_implicit_mle_for_linear_costs(sides, order):
    """A linear cost has one slope, so the expectation is a difference of sigmoids."""
    this, cost = latent("independent", 4), Quadratic(4)
    cost.a = 0 * cost.a
    exact = this.gradient(cost.values(this.states))

    def expected(beta):
        epsilon = beta * root_mean_square(this.unary) / root_mean_square(cost.b)
        high = this.unary + (sides == 2) * epsilon * cost.b
        low = this.unary - epsilon * cost.b
        return (sigmoid(high) - sigmoid(low)) / (sides * epsilon)

    estimator = AdaptiveImplicitMLE(sides=sides, start=0.8).eval()
    draws, _, _ = draws_of(estimator, this, cost, 60_000)
    assert away(draws, expected(0.8)) < LEVEL
    assert away(draws, expected(0.8), 1.1) > LEVEL
    betas = np.array([0.01, 0.005])
    biases = [np.linalg.norm(expected(beta) - exact) for beta in betas]
    assert np.polyfit(np.log(betas), np.log(biases), 1)[0] == pytest.approx(order, abs=0.1)


@pytest.mark.statistical
@pytest.mark.parametrize("start", [0.02, 3.0])
def test_adaptive_implicit_mle_reaches_its_target_and_is_saved(start):
    this, cost = latent("independent", 6), smooth_cost(6)
    estimator = AdaptiveImplicitMLE(target=0.5, start=start, rate=0.04)
    nonzero = []
    for step in range(100):
        draws, _, _ = draws_of(estimator, this, cost, 100, seed=step)
        nonzero.append((draws != 0).sum(axis=1).mean())
    assert abs(nonzero[0] - 0.5) > 0.2
    assert np.mean(nonzero[-30:]) == pytest.approx(0.5, abs=0.1)
    resumed = AdaptiveImplicitMLE()
    resumed.load_state_dict(estimator.state_dict())
    first, second = (draws_of(copy.eval(), this, cost, 50)[0] for copy in (estimator, resumed))
    np.testing.assert_array_equal(first, second)
    kept = {name: value.clone() for name, value in estimator.state_dict().items()}
    draws_of(estimator, this, cost, 50)
    assert all(torch.equal(kept[name], value) for name, value in estimator.state_dict().items())


def test_flat_costs_and_zero_scores_leave_the_step_finite():
    zeros = Potentials(torch.zeros(4, 3, requires_grad=True))
    estimator = AdaptiveImplicitMLE()
    for cost in (lambda z: 0 * z.sum(-1), lambda z: z.sum(-1)):
        estimate = estimator(zeros, cost, seeded())
        (gradient,) = torch.autograd.grad(estimate.surrogate.sum(), zeros.unary)
        assert bool(gradient.isfinite().all())
    assert ImplicitMLE(samples=3).argmaxes == 6
    assert AdaptiveImplicitMLE(samples=3).argmaxes == 9
    assert AdaptiveImplicitMLE(samples=3, sides=1).argmaxes == 6


def test_folded_estimators_draw_from_perturb_and_map():
    pairs = latent("general", 3).potentials()
    for estimator in (StochasticSoftmax(), SparseMAP(), AdaptiveImplicitMLE()):
        assert estimator.kl == "folded"
        assert not isinstance(estimator.posterior(pairs), Gibbs)
    for estimator in (ReinMax(), GumbelRao(), GappedStraightThrough()):
        assert estimator.kl == "density"
        assert isinstance(estimator.posterior(latent("independent", 3).potentials()), Gibbs)
