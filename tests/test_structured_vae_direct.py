import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models import CategoricalPotentials, Potentials, paper_vae
from solvers.gibbs_distribution import Gibbs as Solved
from structured_vae import (
    RAM,
    ConfigError,
    CostOfBits,
    Direct,
    ExponentialDecay,
    Gibbs,
    KOfN,
    PerturbAndMAP,
    Reconstruction,
    ScoreFunction,
    elbo_recipe,
    perturb_and_map,
)
from structured_vae.errors import EstimatorError
from structured_vae.evaluation import evaluate_bound
from structured_vae.noise import gumbel, gumbel_differences
from structured_vae.objectives import WithKL, paper_recipe
from structured_vae.objectives.recipes import whole_bound
from structured_vae.schedules import CosineDecay, Ramp
from structured_vae.spaces import space_of

LEVEL = 4.5  # standard errors; a right estimator exceeds it in one of 150,000 coordinates
KINDS = {"independent": "independent", "supermodular": "max_flow", "general": "exhaustive"}
every_kind = pytest.mark.parametrize("kind", KINDS)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def states(n):
    """All of {0,1}^n; state s has z_i = bit i of s."""
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


def index(z):
    return (z.long() << torch.arange(z.shape[-1])).sum(dim=-1)


def sigmoid(values):
    return 1 / (1 + np.exp(-np.asarray(values)))


@dataclass(frozen=True)
class Table:
    """The same cost for every image, written down for each of the 2^n states."""

    values: torch.Tensor

    def __call__(self, z):
        return self.values[index(z)]

    def around(self, z):
        return CostOfBits(self).around(z)

    def table(self, chosen):
        return self(chosen)[None]

    def slopes(self):
        """`[2^n, n]` as numpy: cost with z_i = 1 less cost with z_i = 0, the rest as in each state."""
        values, s = self.values.numpy(), np.arange(len(self.values))
        bits = range(int(math.log2(len(s))))
        return np.stack([values[s | 1 << i] - values[s & ~(1 << i)] for i in bits], axis=1)


@dataclass(frozen=True)
class Case:
    """Scores of one image as numpy arrays, and the cost of every state."""

    unary: np.ndarray
    pairwise: np.ndarray
    edges: np.ndarray
    cost: Table

    def potentials(self, batch, tracked=False):
        """As many copies; tracked ones are leaves, so that each draw has a gradient of its own."""
        unary, pairwise = (
            torch.from_numpy(a).repeat(batch, 1).requires_grad_(tracked)
            for a in (self.unary, self.pairwise)
        )
        if not len(self.edges):
            return Potentials(unary)
        return Potentials(unary, pairwise, torch.from_numpy(self.edges))

    def statistics(self):
        """`[2^n, n + e]`: z_i and z_i z_j of each state, in which every score is linear."""
        z = states(len(self.unary))
        return np.concatenate([z, z[:, self.edges[:, 0]] * z[:, self.edges[:, 1]]], axis=1)

    def scores(self):
        """`[2^n]`: h of each state."""
        return self.statistics() @ np.concatenate([self.unary, self.pairwise])


def case(kind, n=3, seed=0):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    pairwise = random.normal(size=len(edges))
    if kind == "supermodular":
        pairwise = np.abs(pairwise)
    if kind == "independent":
        edges, pairwise = edges[:0], pairwise[:0]
    cost = Table(torch.from_numpy(2 * random.normal(size=2**n)))
    return Case(random.normal(size=n), pairwise, edges, cost)


def constant(epsilon):
    return ExponentialDecay(start=epsilon, rate=0, floor=epsilon)


def draw_gradients(case, kind, epsilon, draws, seed=0, cost=None):
    """`[draws, n + e]`: the gradient of each draw of the estimator in the scores."""
    h = case.potentials(draws, tracked=True)
    leaves = [h.unary] if h.pairwise is None else [h.unary, h.pairwise]
    estimate = Direct(KINDS[kind], constant(epsilon))(h, cost or case.cost, seeded(seed))
    return torch.cat(torch.autograd.grad(estimate.surrogate.sum(), leaves), dim=1).numpy()


def simulate_gradients(case, epsilon, draws, seed=1):
    """The same by enumeration, with noise from numpy."""
    z, statistics = states(len(case.unary)), case.statistics()
    noise = np.random.default_rng(seed).logistic(size=(draws, len(case.unary)))
    perturbed = case.scores() + noise @ z.T
    best = perturbed.argmax(axis=1)
    shift = case.cost.slopes()[best] @ z.T
    other = (perturbed - epsilon * shift).argmax(axis=1)
    return (statistics[best] - statistics[other]) / epsilon


def expected_gradient(case, epsilon, slopes):
    """`[n]`: exact for independent bits, whose noise decides z*_i and z(epsilon)_i alone.

    Given the other bits of z*, the i-th of z* is 1 with probability sigmoid(u_i) and that of
    z(epsilon) with sigmoid(u_i - epsilon slope_i), where the slope does not depend on z*_i.
    """
    probability = state_probabilities(case.unary)
    change = sigmoid(case.unary) - sigmoid(case.unary - epsilon * slopes)
    return probability @ change / epsilon


def state_probabilities(unary):
    """`[2^n]`: of independent bits."""
    z, p = states(len(unary)), sigmoid(unary)
    return np.prod(np.where(z == 1, p, 1 - p), axis=1)


def errors_in_standard_errors(draws, expected, expected_error=0.0, scale=1.0):
    """`[coordinates]`: |mean - expected| / standard error of the draws times `scale`."""
    error = np.hypot(scale * draws.std(axis=0, ddof=1) / len(draws) ** 0.5, expected_error)
    return np.abs(scale * draws.mean(axis=0) - expected) / error


# --- noise and sampling -------------------------------------------------------------------------


def logistic_distance(samples):
    """Kolmogorov and Smirnov's: the largest gap between the samples' distribution and the logistic."""
    ordered = np.sort(samples)
    expected = sigmoid(ordered)
    count = len(ordered)
    above = np.arange(1, count + 1) / count - expected
    below = expected - np.arange(count) / count
    return max(above.max(), below.max())


@pytest.mark.statistical
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_is_logistic(dtype):
    count = 200_000
    noise = gumbel_differences(torch.zeros(count // 4, 4, dtype=dtype), seeded())
    assert noise.dtype == dtype
    samples = noise.double().numpy().ravel()
    largest = math.sqrt(math.log(2e6) / (2 * count))  # exceeded once in a million (Massart 1990)
    assert logistic_distance(samples) < largest
    assert logistic_distance(1.1 * samples) > largest
    assert logistic_distance(samples + 0.05) > largest


@pytest.mark.statistical
def test_noise_of_different_variables_is_independent():
    noise = gumbel_differences(torch.zeros(100_000, 3, dtype=torch.float64), seeded())
    correlations = np.corrcoef(noise.numpy().T)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() * 100_000**0.5 < LEVEL


@pytest.mark.parametrize("uniform", [0.0, 2.0**-24, 1 - 2.0**-24, 1.0])
def test_noise_is_finite_for_every_uniform_number(monkeypatch, uniform):
    monkeypatch.setattr(torch, "rand", lambda shape, **options: torch.full(shape, uniform))
    noise = gumbel_differences(torch.zeros(2, 3), seeded())
    assert noise.isfinite().all()
    assert (noise.sign() == (1 if uniform > 0.5 else -1)).all()
    assert gumbel(torch.zeros(2, 3), seeded()).isfinite().all()


def test_noise_depends_on_the_generator_alone():
    like = torch.zeros(2, 3)
    first, second, other = (gumbel_differences(like, seeded(s)) for s in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


@pytest.mark.statistical
def test_bits_are_one_with_the_probability_of_their_score():
    unary, draws = np.array([-3.0, -0.5, 0.0, 1.0, 4.0]), 400_000
    potentials = Potentials(torch.from_numpy(unary).repeat(draws, 1))
    z = perturb_and_map(potentials, "independent", seeded())[0].numpy()
    assert errors_in_standard_errors(z, sigmoid(unary)).max() < LEVEL
    assert errors_in_standard_errors(z, sigmoid(1.1 * unary)).max() > LEVEL


@pytest.mark.statistical
@pytest.mark.parametrize("solver", ["auto", "independent", "exhaustive", "max_flow"])
def test_independent_bits_have_the_probabilities_of_their_states(solver):
    draws, unary = 100_000, np.array([0.8, -0.4, 0.2])
    (z,) = perturb_and_map(Potentials(torch.from_numpy(unary).repeat(draws, 1)), solver, seeded())
    counts = np.bincount(index(z).numpy(), minlength=8)
    assert chi_square(counts, state_probabilities(unary)) < 40.5  # with 7 degrees of freedom: 1e-6
    assert chi_square(counts, state_probabilities(1.1 * unary)) > 40.5


def chi_square(counts, probabilities):
    expected = counts.sum() * probabilities
    return ((counts - expected) ** 2 / expected).sum()


@every_kind
def test_perturb_and_map_maximises_the_perturbed_score(kind):
    this = case(kind, n=4)
    potentials = this.potentials(200)
    (z,) = perturb_and_map(potentials, KINDS[kind], seeded(5))
    noise = gumbel_differences(potentials.unary, seeded(5)).numpy()
    perturbed = this.scores() + noise @ states(4).T
    reached = perturbed[np.arange(200), index(z).numpy()]
    np.testing.assert_allclose(reached, perturbed.max(axis=1), rtol=0, atol=1e-12)


@every_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_perturb_and_map_gives_states_of_the_potentials_type_without_gradient(kind, dtype):
    h = case(kind).potentials(5)
    h = Potentials(
        h.unary.to(dtype).requires_grad_(),
        None if h.pairwise is None else h.pairwise.to(dtype),
        h.edges,
    )
    z = PerturbAndMAP(h, KINDS[kind]).sample(seeded())
    assert z.dtype == dtype
    assert not z.requires_grad
    assert set(z.unique().tolist()) <= {0.0, 1.0}


# --- schedules ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "expected"),
    [(0, 2.0), (9, 2.0), (10, 2 * math.exp(-1)), (19, 2 * math.exp(-1)), (30, 0.1), (10**9, 0.1)],
)
def test_epsilon_decays_in_steps_down_to_its_floor(step, expected):
    schedule = ExponentialDecay(start=2.0, rate=0.1, floor=0.1, every=10)
    assert schedule(step) == pytest.approx(max(expected, 0.1), rel=1e-14)


def test_epsilon_of_the_paper():
    schedule = ExponentialDecay()
    assert (schedule(0), schedule(999)) == (1.0, 1.0)
    assert schedule(1000) == pytest.approx(math.exp(-0.01))
    assert schedule(10**6) == 0.1


@pytest.mark.parametrize(
    "values",
    [
        {"floor": 0},
        {"floor": -1.0},
        {"start": 0.5, "floor": 0.6},
        {"rate": -1e-9},
        {"every": 0},
        {"start": math.nan},
        {"rate": math.nan},
        {"floor": math.nan},
    ],
    ids=str,
)
def test_impossible_schedules(values):
    with pytest.raises(
        ConfigError,
        match=r"0 < floor <= start, rate >= 0 and every >= 1; got|must be a finite number; got nan",
    ):
        ExponentialDecay(**values)


def test_the_cosine_goes_from_its_start_to_zero_and_stays_there():
    schedule = CosineDecay(start=2.0, steps=4)
    values = [schedule(step) for step in range(6)]
    assert values == pytest.approx([2.0, 1 + 0.5**0.5, 1.0, 1 - 0.5**0.5, 0.0, 0.0])


@pytest.mark.parametrize("values", [(0.0, 4), (-1.0, 4), (math.nan, 4), (1.0, 0)], ids=str)
def test_impossible_cosines(values):
    with pytest.raises(
        ConfigError, match=r"need start > 0 and steps > 0|must be a finite number; got nan"
    ):
        CosineDecay(*values)


def test_the_kl_warms_up_in_equal_steps():
    assert [Ramp(4)(epoch) for epoch in range(6)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])
    assert Ramp(0)(0) == 1.0
    with pytest.raises(ConfigError, match="need epochs >= 0"):
        Ramp(-1)


def test_the_kl_is_annealed_in_equal_steps():
    assert [Ramp(4, start=11)(epoch) for epoch in range(6)] == pytest.approx(
        [9.0, 7.0, 5.0, 3.0, 1.0, 1.0]
    )
    assert Ramp(0, start=11)(0) == 1.0
    with pytest.raises(ConfigError, match="start >= 0"):
        Ramp(4, start=-1.0)


# --- the estimator ------------------------------------------------------------------------------


@pytest.mark.spread(4)
@pytest.mark.statistical
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_direct_has_its_expectation_for_independent_bits(n, epsilon):
    this = case("independent", n, seed=n)
    draws = draw_gradients(this, "independent", epsilon, 400_000)
    expected = expected_gradient(this, epsilon, this.cost.slopes())
    assert errors_in_standard_errors(draws, expected).max() < LEVEL
    assert errors_in_standard_errors(draws, expected, scale=1.1).max() > LEVEL


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("flips", [1, 2, 4])
def test_some_flips_have_their_share_of_the_gradient_of_all(flips, sides):
    n, draws, this = 4, 400, case("independent", 4)
    noise = gumbel_differences(torch.zeros((1, draws, n), dtype=torch.float64), seeded(3))

    def gradients(flips):
        h = this.potentials(draws, tracked=True)
        estimator = Direct(
            "independent", constant(1.0), sides=sides, noise=lambda *given: noise, flips=flips
        )
        surrogate = estimator(h, this.cost, seeded(4)).surrogate
        return torch.autograd.grad(surrogate.sum(), h.unary)[0].numpy()

    every, some = gradients(None), gradients(flips)
    taken = some != 0
    np.testing.assert_allclose(some[taken], (every * n / flips)[taken])
    moves = every != 0
    share = (taken & moves).sum(axis=0) / moves.sum(axis=0)  # each bit is among m of n
    error = np.sqrt(flips / n * (1 - flips / n) / moves.sum(axis=0))
    assert (np.abs(share - flips / n) <= LEVEL * error).all()
    if flips == n:
        np.testing.assert_allclose(some, every)


@pytest.mark.parametrize("sides", [1, 2])
def test_some_flips_weigh_the_kl_against_the_cost(sides):
    # Cost and KL together do not depend on z, so the gradient is zero.
    n, draws = 4, 400
    scores = torch.tensor([-3.0, -1.0, 2.0, 6.0], dtype=torch.float64)
    h = Potentials(scores.expand(draws, n).clone().requires_grad_())
    estimator = Direct("independent", constant(1.0), sides=sides, flips=2)
    cost = CostOfBits(lambda z: -(z * scores).sum(dim=-1))
    objective = whole_bound(cost, h, estimator.kl)
    surrogate = estimator(h, objective.cost, seeded(0)).surrogate
    assert objective.kl == 0.0
    gradient = torch.autograd.grad(surrogate.sum(), h.unary)[0]
    torch.testing.assert_close(gradient, torch.zeros_like(gradient))


@pytest.mark.parametrize("estimator", [Direct(), Direct(flips=2), RAM(), ScoreFunction(2)])
@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_costs_of_any_type_train(estimator, dtype):
    scores = torch.zeros((3, 4), requires_grad=True)
    cost = CostOfBits(lambda z: (z > 0.5).sum(dim=-1).to(dtype))
    estimate = estimator(Potentials(scores), cost, seeded(0))
    estimate.surrogate.sum().backward()
    assert estimate.cost.dtype == scores.grad.dtype == torch.float32
    assert torch.isfinite(scores.grad).all()


def test_flips_are_of_independent_bits_alone():
    h = case("independent", 4).potentials(1)
    assert Direct(flips=4).why_not(h) == ()
    assert "n = 4 bits, and 5 are to be flipped" in Direct(flips=5).why_not(h)[0]
    assert "pairwise scores" in Direct(flips=2).why_not(case("general", 4).potentials(1))[0]
    assert "categories" in Direct(flips=2).why_not(CategoricalPotentials(torch.zeros(1, 4)))[0]
    assert "of KOfN" in Direct(KOfN(2), flips=2).why_not(h)[0]
    with pytest.raises(EstimatorError, match="flips must be a whole number of at least 1"):
        Direct(flips=0)


@pytest.mark.spread(2)
@pytest.mark.statistical
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("kind", ["supermodular", "general"])
def test_direct_has_its_expectation_for_structured_potentials(kind, n):
    this, epsilon = case(kind, n, seed=3), 0.7
    draws = draw_gradients(this, kind, epsilon, 300_000)
    reference = simulate_gradients(this, epsilon, 600_000)
    expected = reference.mean(axis=0)
    error = reference.std(axis=0, ddof=1) / len(reference) ** 0.5
    assert errors_in_standard_errors(draws, expected, error).max() < LEVEL
    assert errors_in_standard_errors(draws, expected, error, scale=1.1).max() > LEVEL


def exact_gradient(unary, cost, kl=False):
    """The gradient of E_q[cost] by enumeration and autograd; with `kl`, of E_q[cost] + KL(q || uniform)."""
    u = torch.from_numpy(unary).requires_grad_()
    z = torch.from_numpy(states(len(unary))).double()
    log_q = (z * u - torch.nn.functional.softplus(u)).sum(dim=1)
    value = cost + (log_q + len(unary) * math.log(2) if kl else 0)
    return torch.autograd.grad((log_q.exp() * value).sum(), u)[0].numpy()


@pytest.mark.slow
@pytest.mark.statistical
def test_bias_shrinks_in_proportion_to_epsilon():
    cost = Table(torch.tensor([0.0, 1.5, -1.0, 0.3], dtype=torch.float64))
    this = replace(case("independent", n=2), unary=np.array([1.2, -1.4]), cost=cost)
    exact = exact_gradient(this.unary, this.cost.values)
    epsilons = np.array([0.8, 0.4, 0.2])
    means, errors = [], []
    for epsilon in epsilons:
        draws = draw_gradients(this, "independent", epsilon, 1_000_000)
        means.append(draws.mean(axis=0))
        errors.append(np.linalg.norm(draws.std(axis=0) / len(draws) ** 0.5))
    biases = np.linalg.norm(np.array(means) - exact, axis=1)
    assert (biases > 10 * np.array(errors)).all(), "too few draws to see the bias"
    order = np.polyfit(np.log(epsilons), np.log(biases), 1)[0]
    assert order == pytest.approx(1, abs=0.2)


def expected_cost(case, unary, noise):
    """The mean cost of perturb-and-MAP samples with these unary scores and this noise."""
    moved = replace(case, unary=unary)
    best = (moved.scores() + noise @ states(len(unary)).T).argmax(axis=1)
    return case.cost.values.numpy()[best].mean()


@pytest.mark.statistical
@every_kind
def test_a_step_against_the_gradient_lowers_the_expected_cost(kind):
    this = case(kind)
    gradient = draw_gradients(this, kind, 0.2, 100_000).mean(axis=0)[: len(this.unary)]
    noise = np.random.default_rng(0).logistic(size=(400_000, 3))
    rate = 0.1
    before = expected_cost(this, this.unary, noise)
    down = expected_cost(this, this.unary - rate * gradient, noise)
    up = expected_cost(this, this.unary + rate * gradient, noise)
    assert down < before < up
    assert before - down == pytest.approx(rate * gradient @ gradient, rel=0.3)


@every_kind
def test_both_states_are_maximisers(kind):
    this, epsilon, images = case(kind, n=4), 0.5, 500
    h = this.potentials(images, tracked=True)
    estimate = Direct(KINDS[kind], constant(epsilon))(h, this.cost, seeded(7))
    (moved,) = torch.autograd.grad(estimate.surrogate.sum(), h.unary)
    (z,) = estimate.z
    other = z - epsilon * moved

    noise = gumbel_differences(h.unary, seeded(7)).numpy()
    perturbed = this.scores() + noise @ states(4).T
    row = np.arange(images)
    reached = perturbed[row, index(z).numpy()]
    np.testing.assert_allclose(reached, perturbed.max(axis=1), rtol=0, atol=1e-12)

    lowered = perturbed - epsilon * np.stack(
        [coordinate_costs(this, each) for each in z.int().tolist()]
    )
    reached = lowered[row, index(other.round()).numpy()]
    np.testing.assert_allclose(reached, lowered.max(axis=1), rtol=0, atol=1e-12)

    h_of = this.scores()
    surrogate = (h_of[index(z).numpy()] - h_of[index(other.round()).numpy()]) / epsilon
    np.testing.assert_allclose(
        (estimate.surrogate - estimate.cost).detach(), surrogate, rtol=0, atol=1e-12
    )
    share = (z != other.round()).any(dim=1).double().mean()
    assert 0.1 < share < 0.9
    assert estimate.stats["changed"].item() == pytest.approx(share.item(), abs=1e-6)
    cheapest = np.stack([coordinate_costs(this, each) for each in z.int().tolist()]).min(axis=1)
    reached = np.array(
        [
            coordinate_costs(this, a)[b]
            for a, b in zip(z.int().tolist(), index(other.round()).tolist(), strict=True)
        ]
    )
    saturated = (reached <= cheapest + 1e-9).mean()
    assert estimate.stats["saturated"].item() == pytest.approx(saturated, abs=1e-6)


def coordinate_costs(case, z):
    """`[2^n]`: sum_i cost(z_1, ..., y_i, ..., z_n) of every state y."""
    values, n = case.cost.values.tolist(), len(z)
    totals = []
    for y in product([0, 1], repeat=n):
        y = y[::-1]  # so that state s has y_i = bit i of s
        replaced = [[*z[:i], y[i], *z[i + 1 :]] for i in range(n)]
        totals.append(
            sum(values[sum(bit << k for k, bit in enumerate(state))] for state in replaced)
        )
    return np.array(totals)


def test_a_cost_that_does_not_depend_on_the_state_changes_nothing():
    flat = Table(torch.full((8,), 3.0, dtype=torch.float64))
    estimate = Direct()(case("general").potentials(50, tracked=True), flat, seeded())
    assert estimate.stats["changed"] == 0
    assert (estimate.surrogate == 3).all()
    assert (estimate.cost == 3).all()


def test_epsilon_follows_the_step():
    this = case("independent")
    direct = Direct("independent", ExponentialDecay(start=1.0, rate=1.0, floor=0.01, every=1))
    late = direct(this.potentials(100), this.cost, seeded(), step=2)
    same = Direct("independent", constant(math.exp(-2)))(this.potentials(100), this.cost, seeded())
    first = direct(this.potentials(100), this.cost, seeded())
    assert torch.equal(late.surrogate, same.surrogate)
    assert not torch.equal(late.surrogate, first.surrogate)


def test_declared_shapes_of_an_estimate():
    estimate = Direct()(case("general").potentials(7), case("general").cost, seeded())
    shapes = [tuple(part.shape) for part in (estimate.surrogate, estimate.cost, estimate.z)]
    assert shapes == [(7,), (7,), (1, 7, 3)]
    assert {name: value.shape for name, value in estimate.stats.items()} == {
        "changed": (),
        "saturated": (),
    }


def tiny_vae(encoder="independent", n=4, pixels=5, seed=0, scale=1.0):
    """A model of random weights in double precision."""
    vae = paper_vae(encoder, pixels=pixels, n=n, hidden=6).double()
    generator = seeded(seed)
    for parameter in vae.parameters():
        parameter.data = scale * torch.randn(
            parameter.shape, generator=generator, dtype=torch.float64
        )
    return vae


def test_estimate_trains_encoder_and_decoder():
    vae = tiny_vae("general")
    x = torch.rand(200, 5, generator=seeded(), dtype=torch.float64).round()
    estimate = Direct()(vae.encoder(x), Reconstruction(vae.decoder, x), seeded())
    assert not estimate.cost.requires_grad
    estimate.surrogate.mean().backward()
    assert all(parameter.grad.any() for parameter in vae.encoder.parameters())
    expected = torch.autograd.grad(
        vae.decoder.cost(x, estimate.z[0]).mean(), list(vae.decoder.parameters())
    )
    for parameter, gradient in zip(vae.decoder.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


# --- the KL -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 4])
def test_folding_the_kl_gives_the_gradient_of_the_whole_objective(n):
    this = case("independent", n, seed=n)
    z = torch.from_numpy(states(n)).double()
    folded = WithKL(this.cost, this.potentials(2**n))
    slopes = folded.around(z).slope.numpy()
    p = sigmoid(this.unary)
    gradient = state_probabilities(this.unary) @ slopes * p * (1 - p)
    expected = exact_gradient(this.unary, this.cost.values, kl=True)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-12)
    without = exact_gradient(this.unary, this.cost.values)
    assert np.abs(expected - without).max() > 0.01, "the KL makes no difference here"


@pytest.mark.statistical
def test_direct_with_the_kl_folded_in_has_its_expectation():
    this, epsilon, draws = case("independent"), 0.5, 400_000
    folded = WithKL(this.cost, this.potentials(draws))
    gradients = draw_gradients(this, "independent", epsilon, draws, cost=folded)
    expected = expected_gradient(this, epsilon, this.cost.slopes() + this.unary)
    assert errors_in_standard_errors(gradients, expected).max() < LEVEL
    assert errors_in_standard_errors(gradients, expected, scale=1.1).max() > LEVEL


@every_kind
def test_folded_flips_add_the_change_of_the_score(kind):
    this = case(kind, n=4)
    z = torch.from_numpy(states(4)).double()
    plain, folded = this.cost.around(z), WithKL(this.cost, this.potentials(16)).around(z)
    scores, s = this.scores(), np.arange(16)
    for i in range(4):
        change = scores[s | 1 << i] - scores[s & ~(1 << i)]
        np.testing.assert_allclose((folded.slope - plain.slope)[:, i], change, rtol=0, atol=1e-12)
    assert torch.equal(folded.cost, plain.cost)
    whole = WithKL(this.cost, this.potentials(16))
    torch.testing.assert_close(whole(z), this.cost(z) + torch.from_numpy(scores))
    table = whole.table(z)
    torch.testing.assert_close(table, (this.cost(z) + torch.from_numpy(scores)).expand(16, 16))


def test_recipes_differ_by_the_kl_alone():
    vae = tiny_vae()
    x = torch.rand(6, 5, generator=seeded(), dtype=torch.float64).round()
    h = vae.encoder(x)
    z = space_of(h).maximise(h.detach())
    paper, elbo = (recipe(vae, x, h, "folded") for recipe in (paper_recipe, elbo_recipe))
    torch.testing.assert_close(paper.cost(z), vae.decoder.cost(x, z))
    torch.testing.assert_close(elbo.cost(z), paper.cost(z) + h.score(z))
    slopes = [objective.cost.around(z).slope for objective in (paper, elbo)]
    torch.testing.assert_close(slopes[1] - slopes[0], h.unary.detach(), rtol=0, atol=1e-12)
    assert not slopes[1].requires_grad
    assert paper.kl == elbo.kl == 0


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_the_weight_of_the_kl_takes_all_of_it_alike(weight):
    vae = tiny_vae("general")
    x = torch.rand(6, 5, generator=seeded(), dtype=torch.float64).round()
    h = vae.encoder(x)
    cost, z = Reconstruction(vae.decoder, x), space_of(h).maximise(h.detach())
    folded, exact = (elbo_recipe(vae, x, h, term, weight) for term in ("folded", "density"))
    torch.testing.assert_close(folded.cost(z), cost(z) + weight * h.score(z))
    kl_slope = weight * h.detach().field(z)
    torch.testing.assert_close(folded.cost.around(z).slope, cost.around(z).slope + kl_slope)
    states = h.states()
    torch.testing.assert_close(
        folded.cost.table(states), cost.table(states) + weight * h.table(states)
    )
    torch.testing.assert_close(exact.kl, weight * Gibbs(h).kl().value)


@pytest.mark.parametrize("recipe", [paper_recipe, elbo_recipe])
def test_estimators_of_the_gibbs_distribution_get_its_exact_kl(recipe):
    vae = tiny_vae("general")
    x = torch.rand(6, 5, generator=seeded(), dtype=torch.float64).round()
    h = vae.encoder(x)
    objective = recipe(vae, x, h, "density")
    assert isinstance(objective.cost, Reconstruction)
    torch.testing.assert_close(objective.kl, Gibbs(h).kl().value)
    assert recipe(vae, x, h, "none").kl == 0


def test_a_step_of_ram_goes_back_through_the_states_once(monkeypatch):
    vae = tiny_vae("general")
    x = torch.rand(6, 5, generator=seeded(), dtype=torch.float64).round()
    gradients = []
    for early in (True, False):
        h = vae.encoder(x)
        q = RAM().posterior(h)
        objective = elbo_recipe(vae, x, q, "density")
        if early:
            # a way back of its own, as the estimate is not there yet
            assert objective.kl.requires_grad
        else:
            with torch.no_grad():
                assert not objective.kl.requires_grad
            monkeypatch.setattr(
                Solved, "covariance_product", lambda *given: pytest.fail("another pass")
            )
        estimate = RAM()(q, objective.cost, seeded())
        assert objective.kl is objective.kl
        (estimate.surrogate + objective.kl).mean().backward()
        gradients.append([parameter.grad.clone() for parameter in vae.parameters()])
        vae.zero_grad()
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 3, 6])
def test_kl_of_unary_is_the_sum_over_all_states(n):
    unary = 3 * np.random.default_rng(n).normal(size=(4, n))
    kl = PerturbAndMAP(Potentials(torch.from_numpy(unary))).kl("unary")
    for row, value in zip(unary, kl.value.tolist(), strict=True):
        q = state_probabilities(row)
        assert value == pytest.approx(np.sum(q * np.log(q * 2**n)), abs=1e-12)


def kls_of(h):
    """Return the KL of one image's unary scores, and its ceiling."""
    return [PerturbAndMAP(h).kl(method).value.item() for method in ("unary", "ceiling")]


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=8))
def test_kl_lies_between_zero_and_its_ceiling(unary):
    h = Potentials(torch.tensor([unary]))
    rounding = len(unary) * 4 * torch.finfo(torch.float32).eps * max(1, *map(abs, unary))
    value, ceiling = kls_of(h)
    assert -rounding <= value <= ceiling + rounding


def test_kl_of_certain_bits_is_the_ceiling():
    h = Potentials(torch.tensor([[1e4, -1e4, 80.0]]))
    assert kls_of(h) == pytest.approx([3 * math.log(2)] * 2, rel=1e-6)


def test_only_independent_potentials_have_a_known_kl():
    independent, general = case("independent").potentials(2), case("general").potentials(2)
    of_unary = PerturbAndMAP(independent).kl("unary")
    assert of_unary.valid
    assert not PerturbAndMAP(general).kl("unary").valid
    assert PerturbAndMAP(general).kl("ceiling").valid
    assert torch.equal(PerturbAndMAP(independent).tightest_kl().value, of_unary.value)
    assert PerturbAndMAP(general).tightest_kl().value.tolist() == pytest.approx(
        [3 * math.log(2)] * 2
    )
    assert PerturbAndMAP(general).tightest_kl().valid
    torch.testing.assert_close(Gibbs(general).tightest_kl().value, Gibbs(general).kl().value)


# --- the bound ----------------------------------------------------------------------------------


def log_likelihoods(vae, x):
    """`[2^n]`: log p(x | z) of one binary image and every state, by numpy."""
    weights = {name: value.detach().numpy() for name, value in vae.decoder.state_dict().items()}
    z = states(vae.n)
    hidden = np.concatenate([z, 1 - z], axis=1) @ weights["first.weight"].T + weights["first.bias"]
    logits = np.maximum(hidden, 0) @ weights["last.weight"].T + weights["last.bias"]
    return -(x * np.logaddexp(0, -logits) + (1 - x) * np.logaddexp(0, logits)).sum(axis=1)


@pytest.mark.statistical
@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("samples", [1, 3])
def test_bound_of_an_independent_encoder(n, samples):
    vae, draws = tiny_vae(n=n, seed=n, scale=0.7), 40_000
    x = np.array([1.0, 0, 1, 1, 0])
    copies = torch.from_numpy(x).repeat(draws, 1)
    bound = evaluate_bound(vae, [(copies,)], PerturbAndMAP, seeded(), samples)

    q = state_probabilities(vae.encoder(copies[:1]).unary[0].detach().numpy())
    log_p_given_z = log_likelihoods(vae, x)
    reconstruction, kl = -q @ log_p_given_z, q @ np.log(q * 2**n)
    assert abs(bound.reconstruction - reconstruction) / bound.standard_error < LEVEL
    assert abs(1.1 * bound.reconstruction - reconstruction) / bound.standard_error > LEVEL
    assert bound.kl == bound.kl_surrogate == pytest.approx(kl, abs=1e-9)
    assert (
        bound.bound == bound.bound_surrogate == pytest.approx(bound.reconstruction + kl, abs=1e-9)
    )
    spread = np.sqrt(q @ log_p_given_z**2 - reconstruction**2)
    assert bound.standard_error == pytest.approx(spread / (samples * draws) ** 0.5, rel=0.05)
    minus_log_p = -np.log(np.mean(np.exp(log_p_given_z)))
    assert reconstruction + kl >= minus_log_p
    assert bound.bound > minus_log_p - LEVEL * bound.standard_error


@pytest.mark.statistical
@pytest.mark.parametrize("n", [2, 5])
def test_bound_of_a_structured_encoder(n):
    vae, draws = tiny_vae("general", n=n, seed=n), 40_000
    x = np.array([1.0, 0, 1, 1, 0])
    copies = torch.from_numpy(x).repeat(draws, 1)
    bound = evaluate_bound(vae, [(copies,)], PerturbAndMAP, seeded())

    h = vae.encoder(copies[:1])
    unary, pairwise = (a[0].detach().numpy() for a in (h.unary, h.pairwise))
    this = Case(unary, pairwise, h.edges.numpy(), Table(torch.zeros(2**n)))
    noise = np.random.default_rng(1).logistic(size=(draws, n))
    costs = -log_likelihoods(vae, x)[(this.scores() + noise @ states(n).T).argmax(axis=1)]
    error = np.hypot(bound.standard_error, costs.std() / draws**0.5)
    assert abs(bound.reconstruction - costs.mean()) / error < LEVEL
    assert bound.kl == pytest.approx(n * math.log(2))
    p = sigmoid(unary)
    surrogate = np.sum(p * np.log(2 * p) + (1 - p) * np.log(2 * (1 - p)))
    assert bound.kl_surrogate == pytest.approx(surrogate, abs=1e-9)
    assert bound.bound == pytest.approx(bound.reconstruction + n * math.log(2))
    assert bound.bound_surrogate == pytest.approx(bound.reconstruction + surrogate)
    assert bound.bound > -np.log(np.mean(np.exp(log_likelihoods(vae, x))))


def test_bound_averages_over_images_whatever_the_batches():
    vae = tiny_vae(scale=0.0)  # costs 5 log 2 whatever the state, and no KL
    x = torch.rand(7, 5, generator=seeded(), dtype=torch.float64).round()
    bound = evaluate_bound(vae, [(x[:6],), (x[6:],)], PerturbAndMAP, seeded())
    assert bound.images == 7
    assert bound.bound == pytest.approx(5 * math.log(2), rel=1e-12)
    assert bound.standard_error == pytest.approx(0, abs=1e-12)


def test_a_bound_is_the_mean_over_images_with_its_standard_error():
    torch.manual_seed(0)
    vae = paper_vae("categorical", pixels=5, k=3, hidden=4).double()  # its costs are exact
    x = torch.rand(3, 5, generator=seeded(), dtype=torch.float64).round()
    alone = [evaluate_bound(vae, [(image[None],)], Gibbs, seeded()) for image in x]
    together = evaluate_bound(vae, [(x[:2],), (x[2:],)], Gibbs, seeded())
    for name in ("reconstruction", "kl", "kl_surrogate", "bound", "bound_surrogate", "minus_log_p"):
        mean = np.mean([getattr(bound, name) for bound in alone])
        assert getattr(together, name) == pytest.approx(mean)
    bounds = [bound.reconstruction + bound.kl for bound in alone]
    assert [bound.bound for bound in alone] == pytest.approx(bounds)
    surrogates = [bound.reconstruction + bound.kl_surrogate for bound in alone]
    assert [bound.bound_surrogate for bound in alone] == pytest.approx(surrogates)
    assert together.standard_error == pytest.approx(np.std(bounds) / 3**0.5)
    assert together.standard_error > 0.0


def test_evaluation_builds_no_graph_and_changes_no_weight():
    vae = tiny_vae()
    before = {name: value.clone() for name, value in vae.state_dict().items()}
    x = torch.rand(3, 5, generator=seeded(), dtype=torch.float64).round()
    evaluate_bound(vae, [(x,)], PerturbAndMAP, seeded())
    assert all(torch.equal(before[name], value) for name, value in vae.state_dict().items())
    assert all(parameter.grad is None for parameter in vae.parameters())
