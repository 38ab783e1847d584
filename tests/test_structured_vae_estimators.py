"""Every estimator against enumeration: its expectation, its definition, its limits."""

import math

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
    pair_statistics,
    seeded,
    sigmoid,
    smooth_cost,
    softmax,
    unary_noise,
)

from models import CategoricalPotentials, Potentials, paper_vae
from models.networks import train_mixed
from solvers import solver_class
from structured_vae import (
    ARM,
    RAM,
    REBAR,
    RELAX,
    Assignments,
    ConfigError,
    Constant,
    CostOfBits,
    Direct,
    DisARM,
    Estimate,
    Estimator,
    Exact,
    ExponentialDecay,
    Gibbs,
    GumbelSoftmax,
    ImplicitMLE,
    KOfN,
    MaximumLikelihood,
    PerturbAndMAP,
    Reconstruction,
    ScaleFree,
    ScoreFunction,
    StraightThrough,
)
from structured_vae.errors import EstimatorError
from structured_vae.estimators import (
    ESTIMATORS,
    Adaptive,
    EstimatorOptions,
    PerturbedArgmax,
    Scheduled,
    TableDirect,
)
from structured_vae.objectives import WithKL

SIZES = {"independent": 4, "general": 6, "supermodular": 6, "categorical": 10}
DRAWS = 30_000


def relax(n, **options):
    """RELAX with a network that is not zero."""
    estimator = RELAX(n, hidden=5, **options).double()
    for parameter in estimator.network.parameters():
        values = torch.randn(parameter.shape, generator=seeded(3), dtype=torch.float64)
        parameter.data = 0.5 * values
    return estimator


MAKE = {
    "exact": lambda n: Exact(),
    "maximum_likelihood": lambda n: MaximumLikelihood(),
    "score_function": lambda n: ScoreFunction(4),
    "rebar": lambda n: REBAR(0.7),
    "relax": relax,
    "arm": lambda n: ARM(),
    "disarm": lambda n: DisARM(),
    "ram": lambda n: RAM(),
    "direct": lambda n: Direct(epsilon=Constant(0.5)),
    "table_direct": lambda n: TableDirect(Constant(0.5)),
    "gumbel_softmax": lambda n: GumbelSoftmax(Constant(0.7)),
    "straight_through": lambda n: StraightThrough(Constant(0.7)),
    "implicit_mle": lambda n: ImplicitMLE(epsilon=Constant(0.5)),
    "perturbed_argmax": lambda n: PerturbedArgmax(),
}
FACTORISED = {"rebar", "relax", "gumbel_softmax", "straight_through"}
BITS = {"arm", "disarm"}
UNBIASED = {"exact", "score_function", "rebar", "relax", "arm", "disarm", "ram"}


def fits(name, family):
    if name in BITS:
        return family == "independent"
    return name not in FACTORISED or family in ("independent", "categorical")


def pairs(names):
    return [(name, family) for name in sorted(names) for family in SIZES if fits(name, family)]


def problem(family, seed=0):
    this = latent(family, SIZES[family], seed)
    return this, smooth_cost(this.n, seed)


# --- what fits what -----------------------------------------------------------------------------


@pytest.mark.parametrize("family", SIZES)
@pytest.mark.parametrize("name", MAKE)
def test_estimators_say_which_potentials_they_take(name, family):
    this, cost = problem(family)
    estimator = MAKE[name](this.n)
    reasons = estimator.why_not(this.potentials())
    assert (reasons == ()) == fits(name, family)
    if reasons:
        with pytest.raises(EstimatorError, match="cannot take these potentials: they"):
            draws_of(estimator, this, cost, 2)
    else:
        _, _, estimate = draws_of(estimator, this, cost, 3)
        assert estimate.surrogate.shape == estimate.cost.shape == (3,)
        assert estimate.z.shape[1:] == (3, this.n)
        assert not estimate.cost.requires_grad
        found = this.index(estimate.z)
        np.testing.assert_array_equal(this.states[found], estimate.z.numpy())


@pytest.mark.parametrize("estimator", [ARM(2), DisARM(2)])
def test_the_cost_of_a_pair_is_the_mean_of_both_states(estimator):
    """Of scores that are zero the two states are opposite: whatever is drawn, half of their bits are ones."""
    ones = CostOfBits(lambda z: z.sum(dim=-1))
    estimate = estimator(Potentials(torch.zeros(3, 5)), ones, seeded(0))
    assert estimate.cost.tolist() == [2.5, 2.5, 2.5]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("estimator", "gibbs"),
    [
        (ScoreFunction(2), True),
        (TableDirect(noise="states"), True),
        (TableDirect(noise="unary"), False),
        (Direct(), False),
    ],
)
def test_estimators_say_whether_they_sample_the_gibbs_distribution(estimator, gibbs):
    this = latent("general", 4, seed=2, scale=2.0)
    _, _, estimate = draws_of(estimator, this, smooth_cost(4), 8_000)
    moments = this.statistics(estimate.z[0].numpy())
    assert isinstance(estimator.posterior(this.potentials()), Gibbs) == gibbs
    assert (away(moments, this.probabilities() @ this.statistics()) < LEVEL) == gibbs


def test_an_estimator_draws_from_the_distribution_that_it_names():
    pair = Potentials(torch.zeros(1, 2), torch.ones(1, 1), torch.tensor([[0, 1]]))
    options = EstimatorOptions(n=2, samples=2)
    for name, estimator in ESTIMATORS.items():
        q = estimator.of_options(options).posterior(pair)
        assert type(q) is estimator.distribution, name
    assert type(Direct(flips=1).posterior(pair)) is Gibbs
    assert Direct("max_flow").posterior(pair).solver == "max_flow"
    assert str(Direct(KOfN(1)).posterior(Potentials(torch.zeros(1, 2))).space) == "KOfN"


class ReinforcedArgmax(Estimator):
    """Another estimator by argmax, which needs no sums over the states."""

    kl = "folded"
    distribution = PerturbAndMAP

    def _estimate(self, q, cost, generator, step):
        z = q.sample(generator)
        surrogate = cost(z) + q.potentials.score_difference(z, 1 - z)
        return Estimate(surrogate.mean(dim=0), cost(z).detach().mean(dim=0), z)


def test_a_new_estimator_by_argmax_takes_a_space_without_sums():
    permutations = Potentials(torch.tensor([[0.0, 1.0, 1.0, 0.0]]), space=Assignments(2))
    assert ReinforcedArgmax().why_not(permutations) == ()
    z = ReinforcedArgmax()(permutations, lambda z: z.sum(-1), seeded()).z
    assert permutations.space.contains(z[0]).all()


def test_an_estimator_that_makes_its_distribution_itself_still_runs_and_is_told_how():
    warning = r"Former overrides posterior: set its attribute"
    with pytest.warns(DeprecationWarning, match=warning) as caught:

        class Former(ScoreFunction):
            def posterior(self, potentials):
                return Gibbs(potentials.shifted(torch.full((1, 2), 100.0)))

    # Python shows such warnings by default only where the code of the user is.
    assert caught[0].filename == __file__
    z = Former(2)(Potentials(torch.zeros(1, 2)), lambda z: z.sum(-1), seeded()).z
    assert (z == 1).all()


def test_an_estimator_that_makes_perturb_and_map_itself_takes_a_space_without_sums():
    with pytest.warns(DeprecationWarning, match=r"Former overrides posterior"):

        class Former(ReinforcedArgmax):
            distribution = Gibbs

            def posterior(self, potentials):
                return PerturbAndMAP(potentials, "auto")

    permutations = Potentials(torch.tensor([[0.0, 1.0, 1.0, 0.0]]), space=Assignments(2))
    z = Former()(permutations, lambda z: z.sum(-1), seeded()).z
    assert permutations.space.contains(z[0]).all()


@pytest.mark.parametrize("estimator", [Exact(), MaximumLikelihood(), TableDirect()])
def test_tables_of_more_than_twenty_bits_are_refused(estimator):
    assert estimator.why_not(Potentials(torch.zeros(1, 20))) == ()
    (reason,) = estimator.why_not(Potentials(torch.zeros(1, 21)))
    assert "n = 21" in reason
    assert estimator.why_not(CategoricalPotentials(torch.zeros(1, 21))) == ()


def test_perturbed_argmax_refuses_a_minimum_cut():
    triangle = latent("supermodular", 3).potentials()
    (reason,) = PerturbedArgmax("max_flow").why_not(triangle)
    assert "max_flow" in reason
    assert PerturbedArgmax("max_flow").why_not(latent("independent", 3).potentials()) == ()
    assert PerturbedArgmax("max_flow").why_not(latent("supermodular", 2).potentials()) == ()
    assert PerturbedArgmax("exhaustive").why_not(triangle) == ()


@pytest.mark.parametrize("make", [Direct, TableDirect, ImplicitMLE, GumbelSoftmax, StraightThrough])
def test_a_number_is_a_schedule(make):
    name = "temperature" if make in (GumbelSoftmax, StraightThrough) else "epsilon"
    potentials, cost = Potentials(torch.zeros(5, 3)), CostOfBits(lambda z: z.sum(dim=-1))
    first, second = (
        make(**{name: value})(potentials, cost, seeded(0)).surrogate
        for value in (0.5, Constant(0.5))
    )
    assert torch.equal(first, second)
    for value in (-0.5, "half", math.inf):
        with pytest.raises(
            ConfigError, match=f"{name} must be a positive number or a schedule; got"
        ):
            make(**{name: value})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda u, f, g: Direct()(u, CostOfBits(f), g),
            r"expected models\.Potentials\(unary, \.\.\.\)",
        ),
        (
            lambda u, f, g: Direct()(Potentials(u), 3, g),
            "cost must be a Cost or a function of states; got 3",
        ),
        (
            lambda u, f, g: DisARM()(Potentials(u), f, 0),
            r"generator must be a torch\.Generator; got 0",
        ),
        (
            lambda u, f, g: RELAX(7)(Potentials(u), f, g),
            "5 scores an image, and RELAX was made with n = 7",
        ),
        (
            lambda u, f, g: DisARM(samples=1.5),
            r"samples must be a whole number of at least 1; got 1\.5",
        ),
        (
            lambda u, f, g: DisARM()(Potentials(u), lambda z: f(z) / 0, g),
            "must be finite; at .* gave inf",
        ),
    ],
)
def test_arguments_that_no_estimator_takes(call, words):
    with pytest.raises(EstimatorError, match=words):
        call(torch.ones(4, 5), lambda z: 1 + z.sum(dim=-1), seeded(0))


def test_a_function_is_a_cost():
    potentials, categories = (
        Potentials(torch.zeros(2, 3)),
        CategoricalPotentials(torch.zeros(2, 6), variables=2),
    )

    def function(z):
        return z.sum(dim=-1)

    first, second = (
        Direct()(potentials, cost, seeded(0)) for cost in (function, CostOfBits(function))
    )
    assert torch.equal(first.surrogate, second.surrogate)
    assert RAM()(categories, function, seeded(0)).cost.tolist() == [2.0, 2.0]


def test_a_cost_may_give_whole_numbers():
    cost = CostOfBits(lambda z: z.sum(dim=-1).long())
    assert cost.table(torch.eye(3)).tolist() == [[1.0, 1.0, 1.0]]
    potentials = Potentials(torch.zeros(1, 3))
    for estimator in (TableDirect(), MaximumLikelihood(), Direct(), RAM()):
        assert estimator(potentials, cost, seeded(0)).cost.dtype == torch.float32


@pytest.mark.parametrize(
    ("make", "least"),
    [
        *(
            (make, 1)
            for make in (
                ARM,
                DisARM,
                RAM,
                REBAR,
                GumbelSoftmax,
                StraightThrough,
                Direct,
                TableDirect,
            )
        ),
        (ImplicitMLE, 1),
        (ScoreFunction, 2),
        (PerturbedArgmax, 2),
    ],
)
def test_too_few_samples(make, least):
    with pytest.raises(
        EstimatorError, match=f"samples must be a whole number of at least {least}; got {least - 1}"
    ):
        make(samples=least - 1)
    make(samples=least)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TableDirect(sides=3),
        lambda: TableDirect(noise="pixels"),
        lambda: Direct(sides=0),
        lambda: PerturbedArgmax(sigma=0.0),
        lambda: PerturbedArgmax(sigma=math.nan),
        lambda: Adaptive(target=1.0),
        lambda: Adaptive(start=0.0),
        lambda: Adaptive(rate=-1.0),
        lambda: REBAR(temperature=0.0),
        lambda: RELAX(3, temperature=-1.0),
    ],
)
def test_impossible_options(make):
    with pytest.raises(EstimatorError, match=r"must be|need"):
        make()


# --- unbiased estimators ------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "family"), pairs(UNBIASED))
def test_unbiased_estimators_have_the_exact_gradient(name, family):
    this, cost = problem(family)
    draws, decoder, estimate = draws_of(
        MAKE[name](this.n), this, cost, 3 if name == "exact" else DRAWS
    )
    values, q = cost.values(this.states), this.probabilities()
    expected, of_decoder = this.gradient(values), q @ cost.features(this.states)
    if name == "exact":
        np.testing.assert_allclose(draws, np.tile(expected, (3, 1)), rtol=0, atol=1e-12)
        np.testing.assert_allclose(decoder, np.tile(of_decoder, (3, 1)), rtol=0, atol=1e-12)
        np.testing.assert_allclose(estimate.cost, q @ values, rtol=0, atol=1e-12)
        return
    if (name, family) == ("ram", "categorical"):  # one variable, of which all values are seen
        np.testing.assert_allclose(draws, np.tile(expected, (DRAWS, 1)), rtol=0, atol=1e-12)
    else:
        assert away(draws, expected) < LEVEL
        assert away(draws, expected, 1.1) > LEVEL
    assert away(decoder, of_decoder) < LEVEL
    assert away(decoder, of_decoder, 1.1) > LEVEL
    assert away(estimate.cost.numpy()[:, None], np.array([q @ values])) < LEVEL


@pytest.mark.statistical
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("family", ["independent", "general"])
def test_ram_of_some_bits_has_the_exact_gradient(family, count):
    this, cost = problem(family)
    draws, decoder, _ = draws_of(RAM(2, count), this, cost, DRAWS)
    expected = this.gradient(cost.values(this.states))
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL
    assert away(decoder, this.probabilities() @ cost.features(this.states)) < LEVEL


@pytest.mark.spread(1)
@pytest.mark.statistical
@pytest.mark.parametrize("bandwidth", [1, 2])
def test_ram_by_elimination_has_the_exact_gradient(bandwidth):
    """21 bits in a band, one more than are enumerated; the cost sees every fourth."""
    n = 21
    random = np.random.default_rng(bandwidth)
    edges = np.array([(i, j) for i in range(n) for j in range(i + 1, min(n, i + bandwidth + 1))])
    this = Latent("general", random.normal(size=n), random.normal(size=len(edges)), edges)
    cost = smooth_cost(len(range(0, n, 4)))
    h = this.potentials(20_000, tracked=True)
    function = CostOfBits(
        lambda z: (
            torch.tanh(z[..., ::4] @ torch.from_numpy(cost.a).T + torch.from_numpy(cost.b))
            @ torch.from_numpy(cost.theta)
        )
    )
    estimate = RAM()(h, function, seeded(4))
    draws = torch.cat(torch.autograd.grad(estimate.surrogate.sum(), leaves_of(h)), dim=1).numpy()
    expected = exact_in_a_band(this, cost)
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL


def exact_in_a_band(this, cost):
    """Cov(cost, z_i) and Cov(cost, z_i z_j), by tables of all states with one axis for each bit."""
    variables = range(this.n)
    statistics = [
        tuple(1 if i in ones else slice(None) for i in variables)
        for ones in [*([i] for i in variables), *this.edges.tolist()]
    ]
    scores = np.zeros((2,) * this.n)
    for ones, parameter in zip(statistics, this.parameters, strict=True):
        scores[ones] += parameter
    weights = softmax(scores)
    seen = tuple(slice(None) if i % 4 == 0 else None for i in variables)
    count = seen.count(slice(None))
    costs = cost.values(all_bits(count)).reshape((2,) * count, order="F")[seen]
    weighted = weights * costs
    mean = weighted.sum()
    return np.array([weighted[ones].sum() - mean * weights[ones].sum() for ones in statistics])


@pytest.mark.statistical
@pytest.mark.parametrize("family", ["independent", "general", "supermodular"])
def test_ram_varies_less_than_one_sample_with_its_best_baseline(family):
    this, cost = problem(family)
    draws, _, _ = draws_of(RAM(), this, cost, 20_000)
    q, values, phi = this.probabilities(), cost.values(this.states), this.statistics()
    score = phi - q @ phi
    size = (score**2).sum(axis=1)
    baseline = (q * values) @ size / (q @ size)
    gradients = (values - baseline)[:, None] * score
    least = (q @ gradients**2 - (q @ gradients) ** 2).sum()
    assert draws.var(axis=0).sum() < 0.5 * least


def test_ram_of_mixed_precision_is_that_of_whole_precision_but_for_rounding():
    torch.manual_seed(0)
    vae = paper_vae("general", pixels=64, n=6, hidden=50, bandwidth=1)
    vae.decoder.last.weight.data *= 10
    x = (torch.rand(20, 64, generator=seeded(1)) < 0.3).float()
    h = vae.encoder(x)
    found = []
    for mixed in (False, True):
        if mixed:
            train_mixed(vae)
        estimate = RAM()(h, Reconstruction(vae.decoder, x), seeded(3))
        found.append(torch.cat(torch.autograd.grad(estimate.surrogate.sum(), leaves_of(h)), dim=1))
    assert (found[1] - found[0]).norm() < 0.02 * found[0].norm()


def test_ram_refuses_more_completions_than_there_are_bits():
    (reason,) = RAM(completions=5).why_not(Potentials(torch.zeros(1, 4)))
    assert reason == "they are of n = 4 bits, and 5 are to be completed"
    assert RAM(completions=4).why_not(Potentials(torch.zeros(1, 4))) == ()
    assert RAM(completions=5).why_not(CategoricalPotentials(torch.zeros(1, 4))) == ()
    with pytest.raises(EstimatorError, match="completions must be a whole number of at least 1"):
        RAM(completions=0)


@pytest.mark.parametrize("family", SIZES)
def test_maximum_likelihood_has_the_gradients_that_it_says(family):
    this, cost = problem(family)
    draws, decoder, estimate = draws_of(MaximumLikelihood(), this, cost, 2)
    values = cost.values(this.states)
    posterior = softmax(-values)
    encoder = (this.probabilities() - posterior) @ this.statistics()
    np.testing.assert_allclose(draws, np.tile(encoder, (2, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        decoder[0], posterior @ cost.features(this.states), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(estimate.cost, -np.log(np.mean(np.exp(-values))), rtol=0, atol=1e-12)


@pytest.mark.spread(4)
@pytest.mark.statistical
@pytest.mark.parametrize(
    "name", sorted(set(MAKE) - {"exact", "maximum_likelihood", "perturbed_argmax"})
)
def test_several_samples_are_the_average_of_independent_draws(name):
    this, cost = problem("independent")
    estimators = [MAKE[name](this.n) for _ in range(2)]
    estimators[0].samples = 2
    estimators[1].samples = 8
    few, decoder_few, _ = draws_of(estimators[0], this, cost, 20_000, seed=1)
    many, decoder_many, estimate = draws_of(estimators[1], this, cost, 20_000, seed=2)
    assert estimate.z.shape == (8, 20_000, this.n)
    for two, eight in ((few, many), (decoder_few, decoder_many)):
        error = np.hypot(two.std(axis=0), eight.std(axis=0)) / len(two) ** 0.5
        assert (np.abs(two.mean(axis=0) - eight.mean(axis=0)) / error).max() < LEVEL
    # Four times the samples: a quarter of the variance, for those without a baseline.
    ratio = few.var(axis=0).sum() / many.var(axis=0).sum()
    assert ratio > 4 if name == "score_function" else ratio == pytest.approx(4, rel=0.1)


@pytest.mark.statistical
def test_variances_are_in_the_known_order():
    this, cost = problem("independent")
    variance = {
        name: draws_of(MAKE[name](this.n), this, cost, 20_000)[0].var(axis=0).sum() for name in BITS
    }
    assert variance["disarm"] < variance["arm"]


# --- direct optimization ------------------------------------------------------------------------


@pytest.mark.spread(3)
@pytest.mark.statistical
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("family", SIZES)
def test_table_direct_has_its_expectation_at_finite_epsilon(family, sides):
    this, cost = problem(family)
    epsilon = 0.5
    estimator = TableDirect(Constant(epsilon), sides=sides)
    draws, decoder, _ = draws_of(estimator, this, cost, DRAWS)
    expected = this.direct_gradient(cost.values(this.states), epsilon, sides)
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL
    assert away(decoder, this.probabilities() @ cost.features(this.states)) < LEVEL


@pytest.mark.statistical
@pytest.mark.parametrize("sides", [1, 2])
def test_direct_of_categories_has_the_same_expectation(sides):
    this, cost = problem("categorical")
    draws, decoder, _ = draws_of(Direct(epsilon=Constant(0.5), sides=sides), this, cost, DRAWS)
    expected = this.direct_gradient(cost.values(this.states), 0.5, sides)
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL
    assert away(decoder, this.probabilities() @ cost.features(this.states)) < LEVEL


def order_of(biases, epsilons):
    return np.polyfit(np.log(epsilons), np.log(biases), 1)[0]


@pytest.mark.parametrize(("sides", "order"), [(1, 1), (2, 2)])
@pytest.mark.parametrize("family", SIZES)
def test_what_table_direct_expects_converges_to_the_exact_gradient(family, sides, order):
    this, cost = problem(family)
    values, epsilons = cost.values(this.states), np.array([0.04, 0.02, 0.01])
    exact = this.gradient(values)
    biases = [np.linalg.norm(this.direct_gradient(values, e, sides) - exact) for e in epsilons]
    assert order_of(biases, epsilons) == pytest.approx(order, abs=0.1)
    assert biases[-1] < 0.02 * np.linalg.norm(exact)


@pytest.mark.spread(1)
@pytest.mark.statistical
@pytest.mark.parametrize("sides", [1, 2])
def test_the_bias_of_draws_has_the_order_of_its_sides(sides):
    """On general potentials, against the exact gradient itself; the draws share their noise."""
    this, cost = latent("general", 2), smooth_cost(2, scale=4.0)
    exact = this.gradient(cost.values(this.states))
    epsilons = np.array([0.8, 0.4])
    biases = []
    for epsilon in epsilons:
        draws, _, _ = draws_of(TableDirect(Constant(epsilon), sides=sides), this, cost, 300_000)
        error = draws.std(axis=0) / len(draws) ** 0.5
        biases.append(np.linalg.norm(draws.mean(axis=0) - exact))
        assert biases[-1] > 5 * np.linalg.norm(error), "the bias is not seen here"
    expected = [
        np.linalg.norm(this.direct_gradient(cost.values(this.states), e, sides) - exact)
        for e in epsilons
    ]
    assert order_of(biases, epsilons) == pytest.approx(order_of(expected, epsilons), abs=0.3)
    assert order_of(biases, epsilons) == pytest.approx(sides, abs=0.5)


def two_sided_of_independent_bits(this, cost, epsilon):
    """`[n]`: given the other bits, those of z(+-epsilon) are ones with sigmoid(u_i -+ epsilon slope_i)."""
    s = np.arange(2**this.n)
    values = cost.values(this.states)
    slopes = np.stack([values[s | 1 << i] - values[s & ~(1 << i)] for i in range(this.n)], axis=1)
    change = sigmoid(this.unary + epsilon * slopes) - sigmoid(this.unary - epsilon * slopes)
    return this.probabilities() @ change / (2 * epsilon)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_two_sided_direct_has_its_expectation_and_order(epsilon):
    this, cost = problem("independent")
    draws, _, _ = draws_of(Direct("independent", Constant(epsilon), sides=2), this, cost, DRAWS)
    expected = two_sided_of_independent_bits(this, cost, epsilon)
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL
    exact, epsilons = this.gradient(cost.values(this.states)), np.array([0.08, 0.04, 0.02])
    biases = [
        np.linalg.norm(two_sided_of_independent_bits(this, cost, e) - exact) for e in epsilons
    ]
    assert order_of(biases, epsilons) == pytest.approx(2, abs=0.1)


@pytest.mark.statistical
def test_perturb_and_map_theorem_of_a_structured_encoder():
    """Direct optimization with exact cost and unary noise: the gradient of E[cost(argmax(h + gamma))].

    Any cost of two bits is a pairwise score, so z(epsilon) is perturb-and-MAP of h - epsilon cost.
    """
    this, cost = latent("general", 2, seed=2), smooth_cost(2, 2)
    values = cost.values(this.states)
    slopes = np.array(
        [
            values[1] - values[0],
            values[2] - values[0],
            values[3] - values[1] - values[2] + values[0],
        ]
    )
    h = this.parameters

    def expected(epsilon, sides):
        high = pair_statistics(h + (epsilon * slopes if sides == 2 else 0))
        return (high - pair_statistics(h - epsilon * slopes)) / (sides * epsilon)

    for sides in (1, 2):
        estimator = TableDirect(Constant(0.5), sides=sides, noise="unary")
        draws, _, _ = draws_of(estimator, this, cost, 80_000)
        assert away(draws, expected(0.5, sides)) < LEVEL
        assert away(draws, expected(0.5, sides), 1.1) > LEVEL
    moves = 1e-3 * np.eye(3)
    exact = np.array(
        [slopes @ (pair_statistics(h + m) - pair_statistics(h - m)) / 2e-3 for m in moves]
    )
    assert np.abs(exact - this.gradient(values)).max() > 0.01, (
        "the two distributions do not differ here"
    )
    epsilons = np.array([0.1, 0.05])
    for sides in (1, 2):
        biases = [np.linalg.norm(expected(e, sides) - exact) for e in epsilons]
        assert order_of(biases, epsilons) == pytest.approx(sides, abs=0.2)


@pytest.mark.slow
@pytest.mark.statistical
def test_perturb_and_map_theorem_against_finite_differences_with_common_noise():
    """Three coupled bits: the scores move by a step each way, under the same noise."""
    this, cost, step, draws = latent("general", 3, seed=2), smooth_cost(3, 2), 0.1, 400_000
    values = cost.values(this.states)
    noise = np.random.default_rng(0).logistic(size=(draws, 3)) @ this.states.T
    moves = step * this.statistics().T[:, None, :]  # of every state's score, by each parameter

    def costs(scores):
        return values[(noise + scores).argmax(axis=1)]

    scores = this.statistics() @ this.parameters
    differences = np.stack(
        [(costs(scores + m) - costs(scores - m)) / (2 * step) for m in moves], axis=1
    )
    gradients, _, _ = draws_of(
        TableDirect(Constant(0.1), sides=2, noise="unary"), this, cost, draws
    )
    expected = differences.mean(axis=0)
    error = np.hypot(*(each.std(axis=0) / draws**0.5 for each in (differences, gradients)))
    slack = 0.01 * np.abs(expected).max()  # both are of second order in their steps
    for scale, agrees in ((1.0, True), (1.1, False)):
        distance = np.abs(scale * np.asarray(gradients).mean(axis=0) - expected)
        assert ((distance < LEVEL * error + slack).all()) == agrees


def argmaxes(this, perturbed):
    """Places of the best states of perturbed unary scores `[draws, n]`."""
    pairs_of = this.statistics()[:, this.n :] @ this.pairwise
    return (perturbed @ this.states.T + pairs_of).argmax(axis=1)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("family", SIZES)
def test_table_direct_with_unary_noise_is_its_definition(family, sides):
    this, cost = problem(family)
    epsilon, count = 0.7, 300
    draws, _, estimate = draws_of(
        TableDirect(Constant(epsilon), 1, sides, "unary"), this, cost, count, seed=4
    )
    noise = unary_noise(this.potentials(count), seeded(4))[0].numpy()
    perturbed = this.scores() + noise @ this.states.T
    values = cost.values(this.states)
    low = (perturbed - epsilon * values).argmax(axis=1)
    high = (perturbed + (epsilon * values if sides == 2 else 0)).argmax(axis=1)
    expected = (this.statistics()[high] - this.statistics()[low]) / (sides * epsilon)
    np.testing.assert_allclose(draws, expected, rtol=0, atol=1e-12)
    assert estimate.stats["changed"].item() == pytest.approx((high != low).mean(), abs=1e-6)
    assert estimate.stats["saturated"].item() == pytest.approx(
        (low == values.argmin()).mean(), abs=1e-6
    )


def test_one_table_serves_a_batch():
    this = latent("general", 3)
    estimate = TableDirect()(this.potentials(5), CostOfBits(lambda z: z.sum(dim=-1)), seeded())
    np.testing.assert_allclose(estimate.cost, estimate.z[0].sum(dim=-1))


def test_a_flat_cost_is_saturated_everywhere():
    for family in ("independent", "categorical"):
        this, cost = latent(family, 3), smooth_cost(3, scale=0.0)
        for estimator in (Direct(), TableDirect()):
            _, _, estimate = draws_of(estimator, this, cost, 50)
            assert estimate.stats == {"changed": 0, "saturated": 1}


# --- relaxations --------------------------------------------------------------------------------


def relaxed(this, noise, unary, temperature):
    scores = (unary + noise) / temperature
    if this.family == "categorical":
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)
    return sigmoid(scores)


@pytest.mark.parametrize("family", ["independent", "categorical"])
def test_gumbel_softmax_is_the_gradient_of_the_relaxed_cost(family):
    this, cost = problem(family)
    draws, decoder, estimate = draws_of(GumbelSoftmax(Constant(0.7)), this, cost, 40, seed=2)
    noise = unary_noise(this.potentials(40), seeded(2))[0].numpy()
    soft = relaxed(this, noise, this.unary, 0.7)
    for i in range(this.n):
        step = 1e-5 * np.eye(this.n)[i]
        up, down = (cost.values(relaxed(this, noise, this.unary + s, 0.7)) for s in (step, -step))
        np.testing.assert_allclose(draws[:, i], (up - down) / 2e-5, rtol=0, atol=1e-8)
    np.testing.assert_allclose(decoder, cost.features(soft), rtol=0, atol=1e-12)
    np.testing.assert_allclose(estimate.cost, cost.values(soft), rtol=0, atol=1e-12)


@pytest.mark.parametrize("family", ["independent", "categorical"])
def test_straight_through_is_the_slope_at_the_sample_through_the_relaxation(family):
    this, cost = problem(family)
    draws, decoder, estimate = draws_of(StraightThrough(Constant(0.7)), this, cost, 40, seed=2)
    noise = unary_noise(this.potentials(40), seeded(2))[0].numpy()
    hard = this.states[argmaxes(this, this.unary + noise)]
    np.testing.assert_array_equal(estimate.z[0].numpy(), hard)
    soft, slope = relaxed(this, noise, this.unary, 0.7), cost.slope(hard)
    if family == "categorical":
        expected = soft * (slope - (soft * slope).sum(axis=1, keepdims=True)) / 0.7
    else:
        expected = slope * soft * (1 - soft) / 0.7
    np.testing.assert_allclose(draws, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(decoder, cost.features(hard), rtol=0, atol=1e-12)
    np.testing.assert_allclose(estimate.cost, cost.values(hard), rtol=0, atol=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("family", ["independent", "categorical"])
def test_the_bias_of_gumbel_softmax_vanishes_with_the_temperature(family):
    this, cost = problem(family)
    exact = this.gradient(cost.values(this.states))
    draws = {t: draws_of(GumbelSoftmax(Constant(t)), this, cost, DRAWS)[0] for t in (1.0, 0.05)}
    bias = {t: np.linalg.norm(each.mean(axis=0) - exact) for t, each in draws.items()}
    assert away(draws[1.0], exact) > LEVEL
    assert bias[0.05] < bias[1.0] / 3
    assert draws[0.05].var() > 2 * draws[1.0].var()


@pytest.mark.parametrize(
    "make",
    [
        lambda solver: Direct(solver, samples=3),
        lambda solver: Direct(solver, samples=3, sides=2),
        lambda solver: ImplicitMLE(solver, samples=2),
        lambda solver: PerturbedArgmax(solver, samples=4),
    ],
)
def test_an_estimator_says_how_many_argmaxes_an_image_costs(make):
    class Counting(solver_class("exhaustive")):
        solved = 0

        def _argmax(self, problem, deadline):
            self.solved += problem.batch
            return super()._argmax(problem, deadline)

    this, cost = problem("general")
    counting = Counting()
    estimator = make(counting)
    draws_of(estimator, this, cost, 5)
    assert counting.solved == 5 * estimator.argmaxes


# --- the other two argmaxes ---------------------------------------------------------------------


@pytest.mark.parametrize("family", SIZES)
def test_implicit_mle_is_its_definition(family):
    this, cost = problem(family)
    epsilon, count = 0.7, 300
    draws, decoder, estimate = draws_of(
        ImplicitMLE(epsilon=Constant(epsilon)), this, cost, count, seed=6
    )
    noise = unary_noise(this.potentials(count), seeded(6))[0].numpy()
    best = argmaxes(this, this.unary + noise)
    z = this.states[best]
    other = argmaxes(this, this.unary + noise - epsilon * cost.slope(z))
    expected = (this.statistics()[best] - this.statistics()[other]) / epsilon
    np.testing.assert_allclose(draws, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(decoder, cost.features(z), rtol=0, atol=1e-12)
    assert estimate.stats["changed"].item() == pytest.approx((best != other).mean(), abs=1e-6)
    assert 0.03 < (best != other).mean() < 0.9


def normal_cdf(x):
    return (1 + np.vectorize(math.erf)(np.asarray(x) / 2**0.5)) / 2


def expected_bits(parameters, slope, sigma):
    return slope @ normal_cdf(parameters / sigma)


def expected_category(parameters, slope, sigma):
    """Category j wins with the probability that all others' noise is smaller; over a grid of its own."""
    x = np.linspace(-9, 9, 1201)
    density = np.exp(-(x**2) / 2) / (2 * math.pi) ** 0.5 * (x[1] - x[0])
    gaps = (parameters[:, None] - parameters) / sigma
    below = normal_cdf(x[:, None, None] + gaps)
    below[:, range(len(parameters)), range(len(parameters))] = 1
    return slope @ (density @ below.prod(axis=2))


def expected_pair(parameters, slope, sigma):
    """Two bits with noise on u_1, u_2 and w: in closed form over u_1, on a grid over the other two.

    The grid of b does not hold 0 and that of b + w does not either, where the second bit jumps.
    """
    u_1, u_2, w_0 = parameters
    step = 0.02
    b, w = (step * (np.arange(-400, 400) + half) for half in (0.5, 0.0))
    density = [np.exp(-(((x - m) / sigma) ** 2) / 2) for x, m in ((b, u_2), (w, w_0))]
    weight = np.outer(*density) * (step / sigma) ** 2 / (2 * math.pi)
    b, w = b[:, None], w[None, :]
    threshold = np.maximum(0, b) - np.maximum(0, b + w)
    grid = np.linspace(-20, 20, 40_001)
    one = np.interp((u_1 - threshold) / sigma, grid, normal_cdf(grid))
    second = one * (b + w > 0) + (1 - one) * (b > 0)
    return (weight * (slope[0] * one + slope[1] * second)).sum()


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("family", "n", "expected"),
    [
        ("independent", 3, expected_bits),
        ("categorical", 4, expected_category),
        ("general", 2, expected_pair),
    ],
)
def test_perturbed_argmax_is_unbiased_for_a_linear_cost_of_the_mean(family, n, expected):
    this, sigma = latent(family, n, seed=1), 0.8
    slope = np.random.default_rng(9).normal(size=n)
    moves = 1e-3 * np.eye(len(this.parameters))
    exact = np.array(
        [
            (
                expected(this.parameters + m, slope, sigma)
                - expected(this.parameters - m, slope, sigma)
            )
            / 2e-3
            for m in moves
        ]
    )
    h = this.potentials(60_000, tracked=True)
    linear = CostOfBits(lambda z: z @ torch.from_numpy(slope))
    estimate = PerturbedArgmax("auto", sigma, samples=4)(h, linear, seeded(2))
    draws = torch.cat(torch.autograd.grad(estimate.surrogate.sum(), leaves_of(h)), dim=1).numpy()
    assert away(draws, exact) < LEVEL
    assert away(draws, exact, 1.1) > LEVEL
    level = np.array([expected(this.parameters, slope, sigma)])
    assert away(estimate.cost.numpy()[:, None], level) < LEVEL


# --- what REBAR and RELAX learn -----------------------------------------------------------------


def mean_square(estimator, this, cost, count, seed):
    draws, _, _ = draws_of(estimator, this, cost, count, seed)
    return (draws**2).sum(axis=1).mean()


@pytest.mark.parametrize("family", ["independent", "categorical"])
@pytest.mark.parametrize("make", [lambda n: REBAR(0.7).double(), relax], ids=["rebar", "relax"])
def test_tuning_is_the_gradient_of_the_mean_square(make, family):
    this, cost = problem(family)
    estimator = make(this.n)
    h = this.potentials(30, tracked=True)
    bound, theta = cost.cost(family, 30)
    tuning = estimator(h, bound, seeded(8)).tuning
    own = list(estimator.parameters())
    assert torch.autograd.grad(tuning, [h.unary, theta], allow_unused=True, retain_graph=True) == (
        None,
        None,
    )
    for parameter, slope in zip(own, torch.autograd.grad(tuning, own), strict=True):
        first = parameter.data.view(-1)[:3]
        for place, value in enumerate(first.tolist()):
            ends = []
            for moved in (value + 1e-5, value - 1e-5):
                parameter.data.view(-1)[place] = moved
                ends.append(mean_square(estimator, this, cost, 30, seed=8))
            parameter.data.view(-1)[place] = value
            expected = (ends[0] - ends[1]) / 2e-5
            assert slope.view(-1)[place].item() == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("make", [lambda n: REBAR(2.0).double(), relax], ids=["rebar", "relax"])
def test_tuning_lowers_the_variance(make):
    this, cost = problem("independent")
    estimator = make(this.n)
    optimizer = torch.optim.Adam(estimator.parameters(), lr=0.1)
    before = mean_square(estimator, this, cost, 3000, seed=99)
    for step in range(30):
        estimate = estimator(this.potentials(200), cost.cost("independent", 200)[0], seeded(step))
        optimizer.zero_grad()
        estimate.tuning.backward()
        optimizer.step()
    assert mean_square(estimator, this, cost, 3000, seed=99) < 0.9 * before


def test_nothing_is_tuned_in_evaluation():
    this, cost = problem("independent")
    assert draws_of(REBAR().eval(), this, cost, 3)[2].tuning == 0
    assert draws_of(ARM(), this, cost, 3)[2].tuning == 0


# --- epsilon ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Direct, TableDirect])
@pytest.mark.parametrize("family", SIZES)
def test_scale_free_epsilon_does_not_see_the_scale_of_the_cost(make, family):
    this = latent(family, SIZES[family], seed=1)
    costs = [smooth_cost(this.n, 1, scale=scale) for scale in (1.0, 64.0)]
    runs = [draws_of(make(epsilon=ScaleFree(Constant(0.5))), this, each, 200) for each in costs]
    np.testing.assert_allclose(64 * runs[0][0], runs[1][0], rtol=1e-9, atol=1e-9)
    plain = [draws_of(make(epsilon=Scheduled(Constant(0.5))), this, each, 200)[0] for each in costs]
    assert np.abs(64 * plain[0] - plain[1]).max() > 1


@pytest.mark.parametrize(
    ("make", "family"), [(Direct, "categorical"), *((TableDirect, f) for f in SIZES)]
)
def test_scale_free_epsilon_does_not_see_a_constant_cost(make, family):
    this, cost = problem(family)
    base, _ = cost.cost(family, 200)
    moved = type(base)(lambda z: base(z) + 500)
    grads = []
    for each in (base, moved):
        h = this.potentials(200, tracked=True)
        estimate = make(epsilon=ScaleFree(Constant(0.5)))(h, each, seeded(1))
        grads.append(torch.autograd.grad(estimate.surrogate.sum(), h.unary)[0])
    torch.testing.assert_close(*grads, rtol=1e-9, atol=1e-9)


def test_scale_free_epsilon_of_a_flat_cost():
    assert math.isfinite(float(ScaleFree(Constant(1.0))(0, torch.zeros(3))))


@pytest.mark.statistical
@pytest.mark.parametrize("make", [Direct, TableDirect])
def test_adaptive_epsilon_reaches_its_target_and_is_saved(make):
    this, cost = problem("independent")
    estimator = make(epsilon=Adaptive(start=1e-3, target=0.3, rate=0.5))
    shares = []
    for step in range(120):
        _, _, estimate = draws_of(estimator, this, cost, 200, seed=step)
        shares.append(estimate.stats["changed"].item())
    assert shares[0] < 0.1
    assert np.mean(shares[-30:]) == pytest.approx(0.3, abs=0.03)
    resumed = make(epsilon=Adaptive())
    resumed.load_state_dict(estimator.state_dict())
    first, second = (draws_of(each, this, cost, 50, seed=7)[0] for each in (estimator, resumed))
    np.testing.assert_array_equal(first, second)
    kept = estimator.eval().epsilon.log_epsilon.clone()
    draws_of(estimator, this, cost, 50)
    assert torch.equal(kept, estimator.epsilon.log_epsilon)


@pytest.mark.parametrize("make", [GumbelSoftmax, StraightThrough])
def test_temperature_follows_the_step(make):
    this, cost = problem("independent")
    decaying = make(ExponentialDecay(start=1.0, rate=1.0, floor=0.01, every=1))
    late, _, _ = draws_of(decaying, this, cost, 20, step=2)
    same, _, _ = draws_of(make(Constant(math.exp(-2))), this, cost, 20)
    np.testing.assert_allclose(late, same, rtol=1e-12)


# --- the folded KL ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", SIZES)
def test_folded_kl_adds_the_score_of_every_state(family):
    this, cost = problem(family)
    states = torch.from_numpy(this.states)
    bound, _ = cost.cost(family, len(states))
    folded = WithKL(bound, this.potentials(len(states)))
    scores = this.scores()
    np.testing.assert_allclose(
        folded(states).detach(), cost.values(this.states) + scores, atol=1e-12
    )
    table = (cost.values(this.states) + scores)[None].repeat(len(states), axis=0)
    np.testing.assert_allclose(folded.table(states).detach(), table, rtol=0, atol=1e-12)
    added = (folded.around(states).slope - bound.around(states).slope).numpy()
    if family == "categorical":
        np.testing.assert_allclose(added, np.tile(scores, (len(states), 1)), rtol=0, atol=1e-12)
    else:
        s = np.arange(len(states))
        changes = [scores[s | 1 << i] - scores[s & ~(1 << i)] for i in range(this.n)]
        np.testing.assert_allclose(added, np.stack(changes, axis=1), rtol=0, atol=1e-12)


@pytest.mark.spread(2)
@pytest.mark.statistical
@pytest.mark.parametrize("family", SIZES)
def test_direct_optimization_of_the_folded_kl_trains_the_whole_bound(family):
    this, cost = problem(family)
    values = cost.values(this.states) + this.scores()
    h = this.potentials(DRAWS, tracked=True)
    folded = WithKL(cost.cost(family, DRAWS)[0], h.detach())
    estimate = TableDirect(Constant(0.3))(h, folded, seeded())
    draws = torch.cat(torch.autograd.grad(estimate.surrogate.sum(), leaves_of(h)), dim=1).numpy()
    expected = this.direct_gradient(values, 0.3)
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL

    def bound(parameters):
        q = this.with_parameters(parameters).probabilities()
        return q @ (cost.values(this.states) + np.log(q))

    moves = 1e-5 * np.eye(len(this.parameters))
    exact = [(bound(this.parameters + m) - bound(this.parameters - m)) / 2e-5 for m in moves]
    np.testing.assert_allclose(this.direct_gradient(values, 1e-5, 2), exact, rtol=0, atol=1e-5)


def test_the_reference_is_right_about_two_bits():
    this = Latent("general", np.array([0.5, -1.0]), np.array([2.0]), np.array([[0, 1]]))
    np.testing.assert_allclose(this.scores(), [0, 0.5, -1.0, 1.5])
    values = np.array([1.0, 2.0, 4.0, 8.0])
    moved = this.with_parameters(this.parameters + np.array([0, 0, 1e-6]))
    slope = (moved.probabilities() @ values - this.probabilities() @ values) / 1e-6
    assert this.gradient(values)[2] == pytest.approx(slope, rel=1e-5)
