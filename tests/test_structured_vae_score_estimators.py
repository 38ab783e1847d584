"""The score-function family against enumeration: NVIL, MuProp, ARMS, CARMS, RODEO and others."""

import numpy as np
import pytest
import torch
from enumeration import (
    LEVEL,
    Latent,
    all_bits,
    away,
    draws_of,
    latent,
    leaves_of,
    seeded,
    smooth_cost,
    softmax,
)

from models import CategoricalPotentials, Potentials
from structured_vae import CostOfBits, DisARM, Gibbs, KOfN, ScoreFunction
from structured_vae.distributions import Autoregressive
from structured_vae.errors import EstimatorError
from structured_vae.estimators import (
    ARMS,
    CARMS,
    NVIL,
    RODEO,
    DoubleControlVariates,
    MuProp,
    UnorderedSet,
)

DRAWS = 6_000
PLANTED = 1.3  # a gradient that is 30% too long has to be detected
SIZES = {"independent": 4, "general": 4, "categorical": 5}


def with_weights(estimator):
    """Give every matrix and vector of an estimator random values, since some start at zero."""
    estimator = estimator.double()
    for parameter in estimator.parameters():
        if parameter.ndim:
            values = torch.randn(parameter.shape, generator=seeded(3), dtype=torch.float64)
            parameter.data = 0.5 * values
    return estimator


MAKE = {
    "nvil": lambda n: with_weights(NVIL(n, hidden=5, samples=2)),
    "muprop": lambda n: MuProp(),
    "arms": lambda n: ARMS(3),
    "carms": lambda n: CARMS(3),
    "double_control_variates": lambda n: DoubleControlVariates(3).double(),
    "rodeo": lambda n: with_weights(RODEO(3, hidden=4)),
    "rodeo_without_network": lambda n: RODEO(3, hidden=0).double(),
    "unordered_set": lambda n: UnorderedSet(3),
}
FAMILIES = {
    "arms": ("independent",),
    "carms": ("categorical",),
    "rodeo": ("independent", "general"),
    "rodeo_without_network": ("independent", "general"),
}
PAIRS = [(name, family) for name in MAKE for family in FAMILIES.get(name, tuple(SIZES))]


def refuse_bias(draws, expected):
    """Check that the mean is right, and that a gradient with a planted bias would be seen."""
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, PLANTED) > LEVEL


# --- unbiased -----------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "family"), PAIRS)
def test_the_mean_of_the_estimates_is_the_exact_gradient(name, family):
    this = latent(family, SIZES[family])
    cost = smooth_cost(this.n)
    draws, decoder, estimate = draws_of(MAKE[name](this.n), this, cost, DRAWS)
    values = cost.values(this.states)
    q = this.probabilities()
    refuse_bias(draws, this.gradient(values))
    refuse_bias(decoder, q @ cost.features(this.states))
    assert away(estimate.cost.numpy()[:, None], np.array([q @ values])) < LEVEL
    assert not estimate.cost.requires_grad


def coupled_categories(count):
    """Two variables of three values, with a table."""
    unary = torch.randn((1, 6), generator=seeded(9), dtype=torch.float64)
    pairwise = torch.randn((1, 9), generator=seeded(8), dtype=torch.float64)
    return CategoricalPotentials(
        unary.repeat(count, 1).requires_grad_(),
        pairwise.repeat(count, 1).requires_grad_(),
        torch.tensor([[0, 1]]),
        variables=2,
    )


def two_categories(count):
    """Two independent variables of three values."""
    unary = torch.randn((1, 6), generator=seeded(9), dtype=torch.float64)
    return CategoricalPotentials(unary.repeat(count, 1).requires_grad_(), variables=2)


def two_of_five(count):
    """The subsets of two of five."""
    unary = torch.randn((1, 5), generator=seeded(9), dtype=torch.float64)
    return Potentials(unary.repeat(count, 1).requires_grad_(), space=KOfN(2))


def exact_gradient(make, function):
    """The gradient in the scores of one row, from a table of all states."""
    h = make(1)
    states = h.states()
    expected = (h.table(states).softmax(dim=-1) * function(states)).sum()
    return torch.cat(torch.autograd.grad(expected, leaves_of(h)), dim=1)[0].numpy()


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("make", "estimator"),
    [
        *(
            (make, estimator)
            for make in (coupled_categories, two_of_five)
            for estimator in (UnorderedSet(3), DoubleControlVariates(3), MuProp(3))
        ),
        (two_categories, CARMS(2)),
        (two_categories, CARMS(4)),
        (two_categories, UnorderedSet(8)),
    ],
)
def test_structures_and_several_variables_have_the_exact_gradient(make, estimator):
    n = make(1).unary.shape[-1]
    matrix = torch.randn((3, n), generator=seeded(5), dtype=torch.float64)

    def function(z):
        return 4 * torch.tanh(z @ matrix.T).sum(dim=-1)

    h = make(DRAWS)
    surrogate = estimator(h, function, seeded(1)).surrogate.sum()
    draws = torch.cat(torch.autograd.grad(surrogate, leaves_of(h)), dim=1).numpy()
    refuse_bias(draws, exact_gradient(make, function))


def autoregressive(count):
    """Three bits, each given those before it."""
    unary = torch.randn((1, 3), generator=seeded(9), dtype=torch.float64)
    pairwise = 2 * torch.randn((1, 3), generator=seeded(8), dtype=torch.float64)
    edges = torch.tensor([[0, 1], [0, 2], [1, 2]])
    tracked = unary.repeat(count, 1).requires_grad_(), pairwise.repeat(count, 1).requires_grad_()
    return Autoregressive(Potentials(*tracked, edges))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "estimator",
    [
        ScoreFunction(3),
        NVIL(3, samples=2),
        UnorderedSet(3),
        with_weights(RODEO(3, hidden=4)),
        RODEO(2, hidden=0),
    ],
)
def test_an_autoregressive_posterior_has_the_exact_gradient(estimator):
    matrix = torch.randn((4, 3), generator=seeded(5), dtype=torch.float64)

    def function(z):
        return 4 * torch.tanh(z @ matrix.T).sum(dim=-1)

    q = autoregressive(DRAWS)
    surrogate = estimator.double()(q, function, seeded(1)).surrogate.sum()
    draws = torch.cat(torch.autograd.grad(surrogate, leaves_of(q.potentials)), dim=1).numpy()
    exact = autoregressive(1)
    states = exact.potentials.states()
    expected = (exact.log_prob(states[:, None])[:, 0].exp() * function(states)).sum()
    gradient = torch.cat(torch.autograd.grad(expected, leaves_of(exact.potentials)), dim=1)
    refuse_bias(draws, gradient[0].numpy())


@pytest.mark.parametrize("estimator", [MuProp(), DoubleControlVariates()])
def test_estimators_that_need_marginals_refuse_an_autoregressive_posterior(estimator):
    with pytest.raises(EstimatorError, match="needs more of the posterior than its density"):
        estimator.draw_from(Autoregressive)


@pytest.mark.statistical
def test_an_autoregressive_distribution_draws_without_replacement():
    q = autoregressive(6_000)
    z = q.sample_distinct(seeded(3), 2)
    assert (z[0] != z[1]).any(dim=-1).all()
    p = autoregressive(1).log_prob(q.potentials.states()[:, None])[:, 0].exp().detach().numpy()
    counted = counts_of(z, q.potentials)
    refuse_bias(counted, included_in_pairs(p))


# --- NVIL ---------------------------------------------------------------------------------------


@pytest.mark.statistical
def test_nvil_stays_unbiased_with_the_running_mean_of_earlier_steps():
    this = latent("independent", 4)
    cost = smooth_cost(4)
    estimator = NVIL(4, samples=2).double()
    draws_of(estimator, this, cost, 100, seed=1)
    assert int(estimator.steps) == 1
    draws, _, _ = draws_of(estimator, this, cost, DRAWS, seed=2)
    refuse_bias(draws, this.gradient(cost.values(this.states)))


def test_nvil_saves_its_running_mean_and_variance_with_its_weights():
    first = NVIL(3)
    h = Potentials(torch.zeros(50, 3))
    first(h, lambda z: 7 + z.sum(dim=-1), seeded(0))
    assert 8 < float(first.mean) < 9
    assert 0.5 < float(first.variance) < 1.1
    second = NVIL(3)
    second.load_state_dict(first.state_dict())
    assert float(second.mean) == float(first.mean)
    assert float(second.variance) == float(first.variance)
    assert int(second.steps) == 1
    second.eval()
    assert second(h, lambda z: z.sum(dim=-1), seeded(0)).tuning == 0.0
    assert int(second.steps) == 1


def test_nvil_learns_a_baseline_of_each_image():
    """The cost of an image is a function of its scores, plus a little of the state."""
    unary = torch.randn((100, 3), generator=seeded(1))
    h = Potentials(unary.requires_grad_())
    offsets = 10 * unary.detach()[:, 0]

    def function(z):
        return offsets + z.sum(dim=-1)

    def size(estimator):
        estimate = estimator(h, function, seeded(5))
        return float(torch.autograd.grad(estimate.surrogate.sum(), h.unary)[0].square().sum())

    estimator = NVIL(3, hidden=20)
    before = size(estimator)
    parameters = list(estimator.parameters())
    for step in range(100):
        tuning = estimator(h, function, seeded(step)).tuning
        slopes = torch.autograd.grad(tuning, parameters)
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.data -= 0.01 * slope
    assert size(estimator) < 0.1 * before


def test_nvil_divides_by_the_running_deviation_where_that_is_asked_for():
    h = Potentials(torch.zeros((50, 3), requires_grad=True))
    gradients = []
    for normalise in (False, True):
        estimator = NVIL(3, normalise=normalise)
        estimator.variance.fill_(16.0)
        surrogate = estimator(h, lambda z: z.sum(dim=-1), seeded(0)).surrogate.sum()
        gradients.append(torch.autograd.grad(surrogate, h.unary)[0])
    torch.testing.assert_close(gradients[0], 4 * gradients[1])


# --- MuProp -------------------------------------------------------------------------------------


def test_muprop_has_the_exact_gradient_of_a_linear_cost_in_every_draw():
    this = latent("general", 4)
    slope = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)
    h = this.potentials(20, tracked=True)
    surrogate = MuProp()(h, lambda z: z @ slope, seeded(0)).surrogate.sum()
    draws = torch.cat(torch.autograd.grad(surrogate, leaves_of(h)), dim=1).numpy()
    expected = this.gradient(this.states @ slope.numpy())
    np.testing.assert_allclose(draws, np.tile(expected, (20, 1)), rtol=0, atol=1e-12)


# --- ARMS and CARMS -----------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("samples", [2, 3, 5])
def test_two_samples_of_arms_are_both_one_as_often_as_the_copula_says(samples):
    p = np.array([0.02, 0.2, 0.45, 0.5, 0.6, 0.9])
    unary = torch.from_numpy(np.log(p / (1 - p))).repeat(20_000, 1)
    z = ARMS(samples)(Potentials(unary), lambda z: z.sum(dim=-1), seeded(0)).z.numpy()
    assert away(z[0], p) < LEVEL
    rare = np.minimum(p, 1 - p)
    both = np.maximum(0, 2 * rare ** (1 / (samples - 1)) - 1) ** (samples - 1)
    assert away(z[0] * z[-1], np.where(p > 0.5, 2 * p - 1 + both, both)) < LEVEL


def test_two_samples_of_arms_have_the_variance_of_disarm():
    this = latent("independent", 4)
    cost = smooth_cost(4)
    variances = [
        draws_of(estimator, this, cost, 20_000)[0].var(axis=0) for estimator in (ARMS(2), DisARM())
    ]
    np.testing.assert_allclose(*variances, rtol=0.06)


@pytest.mark.statistical
def test_arms_varies_less_than_independent_samples():
    this = latent("independent", 4)
    cost = smooth_cost(4)
    antithetic, independent = (
        draws_of(estimator, this, cost, 10_000)[0].var(axis=0).sum()
        for estimator in (ARMS(4), ScoreFunction(4))
    )
    assert antithetic < 0.95 * independent


@pytest.mark.statistical
@pytest.mark.parametrize("samples", [2, 4])
def test_samples_of_carms_have_the_right_values_and_repeat_them_less_often(samples):
    this = latent("categorical", 5)
    p = this.probabilities()
    h = this.potentials(20_000)
    z = CARMS(samples)(h, lambda z: z.sum(dim=-1), seeded(0)).z.numpy()
    assert away(z[0], p) < LEVEL
    assert away(z[-1], p) < LEVEL
    assert (z[0] * z[-1]).sum(axis=-1).mean() < 0.9 * (p**2).sum()


@pytest.mark.parametrize("samples", [2, 4])
def test_carms_stays_finite_where_nearly_all_values_are_improbable(samples):
    """Probabilities from 1 down to 1e-40, whose intervals rounding closes."""
    unary = 20 * torch.randn((300, 12), generator=seeded(1), dtype=torch.float64)
    h = CategoricalPotentials(unary.requires_grad_())
    estimate = CARMS(samples)(h, lambda z: z[..., 2], seeded(0))
    (gradient,) = torch.autograd.grad(estimate.surrogate.sum(), unary)
    assert gradient.abs().max() < 100
    drawn = (unary.softmax(dim=-1) * estimate.z).sum(dim=-1)
    assert drawn.min() > 1e-12


# --- double control variates and RODEO ----------------------------------------------------------


@pytest.mark.parametrize("family", ["independent", "general"])
@pytest.mark.parametrize("name", ["double_control_variates", "rodeo"])
def test_tuning_has_the_gradient_of_the_mean_squared_estimate(name, family):
    this = latent(family, 4)
    cost = smooth_cost(4)
    estimator = MAKE[name](4)
    parameters = list(estimator.parameters())
    estimate = draws_of(estimator, this, cost, 30)[2]
    slopes = torch.autograd.grad(estimate.tuning, parameters)

    def mean_square():
        draws, _, _ = draws_of(estimator, this, cost, 30)
        return (draws**2).sum(axis=1).mean()

    for parameter, slope in zip(parameters, slopes, strict=True):
        entry = parameter.data.flatten()[0].clone()
        values = []
        for sign in (1, -1):
            parameter.data.view(-1)[0] = entry + sign * 1e-4
            values.append(mean_square())
        parameter.data.view(-1)[0] = entry
        np.testing.assert_allclose(
            slope.flatten()[0], (values[0] - values[1]) / 2e-4, rtol=1e-5, atol=1e-7
        )


@pytest.mark.parametrize("estimator", [DoubleControlVariates(4), RODEO(4, hidden=0)])
def test_control_variates_take_most_of_the_variance_of_a_smooth_cost(estimator):
    this = latent("independent", 4)
    cost = smooth_cost(4)
    controlled, plain = (
        draws_of(each, this, cost, 2_000)[0].var(axis=0).sum()
        for each in (estimator.double(), ScoreFunction(4))
    )
    assert controlled < 0.3 * plain


def test_nothing_is_tuned_in_evaluation():
    for estimator in (DoubleControlVariates(), RODEO(hidden=3)):
        h = Potentials(torch.zeros((2, 3), requires_grad=True))
        assert estimator(h, lambda z: z.square().sum(dim=-1), seeded(0)).tuning != 0
        estimator.eval()
        assert estimator(h, lambda z: z.square().sum(dim=-1), seeded(0)).tuning == 0


# --- the unordered set --------------------------------------------------------------------------


@pytest.mark.parametrize("samples", [5, 12])
def test_a_set_of_all_states_has_the_exact_gradient_in_every_draw(samples):
    this = latent("categorical", 5)
    cost = smooth_cost(5)
    draws, decoder, estimate = draws_of(UnorderedSet(samples), this, cost, 10)
    values = cost.values(this.states)
    q = this.probabilities()
    np.testing.assert_allclose(draws, np.tile(this.gradient(values), (10, 1)), rtol=0, atol=1e-12)
    features = q @ cost.features(this.states)
    np.testing.assert_allclose(decoder, np.tile(features, (10, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(estimate.cost, q @ values, rtol=0, atol=1e-12)


@pytest.mark.statistical
def test_a_set_varies_less_than_independent_samples_where_few_states_are_probable():
    this = latent("categorical", 8, scale=2.0)
    cost = smooth_cost(8)
    of_set, independent = (
        draws_of(estimator, this, cost, 5_000)[0].var(axis=0).sum()
        for estimator in (UnorderedSet(4), ScoreFunction(4))
    )
    assert of_set < 0.3 * independent


def test_states_of_many_bits_have_finite_weights():
    """The probability of a state is about 2^-1500, which no float holds."""
    h = Potentials(torch.zeros((3, 1500), requires_grad=True))
    estimate = UnorderedSet(6)(h, lambda z: z.sum(dim=-1), seeded(0))
    (gradient,) = torch.autograd.grad(estimate.surrogate.sum(), h.unary)
    assert gradient.isfinite().all()
    assert ((estimate.cost - 750).abs() < 100).all()


def included_in_pairs(p):
    """The probability that each state is one of two: t first, then s, is p(t) p(s) / (1 - p(t))."""
    ratios = p / (1 - p)
    return p * (1 + ratios.sum() - ratios)


def counts_of(z, h):
    """`[draws, states]`: ones at the states of each draw."""
    counted = np.zeros((z.shape[1], len(h.states())))
    for state in z:
        counted[np.arange(z.shape[1]), h.index(state).numpy()] = 1.0
    return counted


def chain_of_bits(count):
    random = np.random.default_rng(0)
    edges = np.stack([np.arange(9), np.arange(1, 10)], axis=1)
    scores = (4 * random.normal(size=10), random.normal(size=9))
    return Latent("general", *scores, edges).potentials(count)


def ten_bits(count):
    return latent("independent", 10, scale=4.0).potentials(count)


def labels(count, coupled):
    """Five variables of four values, 1024 states."""
    unary = (4 * torch.randn((1, 20), generator=seeded(2), dtype=torch.float64)).repeat(count, 1)
    if not coupled:
        return CategoricalPotentials(unary, variables=5)
    edges = torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4]])
    potts = torch.ones((count, 4), dtype=torch.float64)
    return CategoricalPotentials(unary, potts, edges, variables=5)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("make", "draws"),
    [
        (ten_bits, 4_000),
        (chain_of_bits, 1_500),
        (lambda count: labels(count, coupled=False), 4_000),
        (lambda count: labels(count, coupled=True), 600),
        (lambda count: latent("categorical", 8, scale=2.0).potentials(count), 4_000),
    ],
)
def test_states_are_drawn_without_replacement(make, draws):
    h = make(draws)
    z = Gibbs(h).sample_distinct(seeded(3), 2)
    assert (z[0] != z[1]).any(dim=-1).all()
    included = included_in_pairs(softmax(make(1).table(h.states())[0].numpy()))
    counted = counts_of(z, h)
    likely = included > 0.03
    assert likely.sum() > 2
    refuse_bias(counted[:, likely], included[likely])


# --- what they refuse ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NVIL(3, samples=0), "samples must be a whole number of at least 1; got 0"),
        (lambda: NVIL(3, decay=1.0), r"decay must be a number of at least 0 and below 1; got 1\.0"),
        (lambda: MuProp(0), "samples must be a whole number of at least 1; got 0"),
        (lambda: ARMS(1), "samples must be a whole number of at least 2; got 1"),
        (lambda: CARMS(1), "samples must be a whole number of at least 2; got 1"),
        (lambda: DoubleControlVariates(1), "samples must be a whole number of at least 2; got 1"),
        (lambda: RODEO(1), "samples must be a whole number of at least 2; got 1"),
        (lambda: UnorderedSet(1), "samples must be a whole number from 2 to 12; got 1"),
        (lambda: UnorderedSet(13), "samples must be a whole number from 2 to 12; got 13"),
    ],
)
def test_impossible_options(make, words):
    with pytest.raises(EstimatorError, match=words):
        make()


@pytest.mark.parametrize(
    ("estimator", "potentials", "words"),
    [
        (NVIL(4), Potentials(torch.zeros(1, 3)), "3 scores an image, and NVIL was made with n = 4"),
        (ARMS(), CategoricalPotentials(torch.zeros(1, 3)), "of categories, and ARMS"),
        (CARMS(), Potentials(torch.zeros(1, 3)), "CARMS is made for categories"),
        (
            CARMS(),
            CategoricalPotentials(
                torch.zeros(1, 4), torch.zeros(1, 4), torch.tensor([[0, 1]]), variables=2
            ),
            "pairwise scores, and CARMS",
        ),
        (RODEO(), CategoricalPotentials(torch.zeros(1, 3)), "RODEO is made for all states"),
        (RODEO(), Potentials(torch.zeros(1, 3), space=KOfN(1)), "RODEO is made for all states"),
    ],
)
def test_estimators_say_which_potentials_they_cannot_take(estimator, potentials, words):
    (reason,) = estimator.why_not(potentials)
    assert words in reason
    with pytest.raises(EstimatorError, match="cannot take these potentials: they"):
        estimator(potentials, CostOfBits(lambda z: z.sum(dim=-1)), seeded(0))


@pytest.mark.parametrize("kind", ["gibbs", "autoregressive"])
def test_the_ratios_of_flips_are_those_of_all_states(kind):
    q = Gibbs(latent("general", 3).potentials())
    if kind == "autoregressive":
        q = autoregressive(1)
    states = torch.from_numpy(all_bits(3).astype(float))[:, None]
    log_q = q.log_prob(states)[:, 0]
    ratios = q.flip_log_ratios(states)[:, 0]
    for i in range(3):
        flipped = np.arange(8) ^ (1 << i)
        torch.testing.assert_close(ratios[:, i], log_q[flipped] - log_q)
