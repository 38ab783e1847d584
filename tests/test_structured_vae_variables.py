"""Variables of several categories as a posterior: against all states, against bits, against one variable."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from enumeration import LEVEL, Latent, away, leaves_of, seeded, smooth_cost
from paper_networks import paper_vae_of
from torch import nn

from models import CategoricalPotentials, DiscreteVAE, Potentials, paper_vae
from models.errors import NetworkError
from models.states import single_changes
from solvers import UnknownSolverError
from structured_vae import (
    ARM,
    RAM,
    REBAR,
    ConfigError,
    Constant,
    CostOfBits,
    Direct,
    Exact,
    GumbelSoftmax,
    Reconstruction,
    ScoreFunction,
    StraightThrough,
    TrainConfig,
    elbo_recipe,
    evaluate_run,
    export_run,
    load_vae,
    resume,
    train,
)
from structured_vae.cli import main
from structured_vae.distributions import Gibbs, PerturbAndMAP, histogram_kl
from structured_vae.estimators import TableDirect
from structured_vae.spaces import space_of
from structured_vae.spaces.sums.table_sums import TableSums
from structured_vae.vaes.fitting import fitting_solver

VARIABLES, K, PIXELS = 3, 3, 6
COUPLINGS = ("none", "potts", "general")
every_coupling = pytest.mark.parametrize("couplings", COUPLINGS)
SMALL = TrainConfig(
    encoder="categorical",
    variables=VARIABLES,
    k=4,
    hidden=4,
    epochs=2,
    picture_every=0,
    recipe="elbo",
)


@dataclass(frozen=True)
class LatentLabels(Latent):
    """The scores of one image, of variables of k values; its states are all of their assignments, one-hot."""

    variables: int = VARIABLES

    @property
    def labels(self):
        """`[states, variables]`, the first variable changing fastest."""
        k = self.n // self.variables
        return np.array([x[::-1] for x in itertools.product(range(k), repeat=self.variables)])

    @property
    def states(self):
        return np.eye(self.n // self.variables)[self.labels].reshape(-1, self.n)

    def statistics(self, z=None):
        z = self.states if z is None else z
        parts = z.reshape(*z.shape[:-1], self.variables, -1)
        found = [z]
        for i, j in self.edges:
            if self.family == "potts":
                found.append((parts[..., i, :] * parts[..., j, :]).sum(-1)[..., None])
            else:
                both = parts[..., i, :, None] * parts[..., j, None, :]
                found.append(both.reshape(*z.shape[:-1], -1))
        return np.concatenate(found, axis=-1)

    def potentials(self, batch=1, tracked=False):
        unary, pairwise = (
            torch.from_numpy(a).repeat(batch, 1).requires_grad_(tracked)
            for a in (self.unary, self.pairwise)
        )
        if self.family == "none":
            return CategoricalPotentials(unary, variables=self.variables)
        return CategoricalPotentials(unary, pairwise, torch.from_numpy(self.edges), self.variables)

    def index(self, z):
        return (np.asarray(z)[..., None, :] == self.states).all(axis=-1).argmax(axis=-1)


def latent_labels(couplings, variables=VARIABLES, k=K, seed=0, edges=None):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(variables, 1), axis=1) if edges is None else np.array(edges)
    edges = edges[:0] if couplings == "none" else edges
    scores = len(edges) * (1 if couplings == "potts" else k * k)
    return LatentLabels(
        couplings, random.normal(size=variables * k), random.normal(size=scores), edges, variables
    )


def draws_of(estimator, this, function, count, seed=0):
    h = this.potentials(count, tracked=True)
    estimate = estimator(h, function, seeded(seed))
    found = torch.autograd.grad(estimate.surrogate.sum(), leaves_of(h))
    return torch.cat(found, dim=1).numpy(), estimate


def function_of(cost):
    a, b, theta = (torch.from_numpy(part) for part in (cost.a, cost.b, cost.theta))
    return lambda z: torch.tanh(z @ a.T + b) @ theta


def vae_of(couplings, variables=VARIABLES, k=K, seed=0):
    torch.manual_seed(seed)
    vae = paper_vae(
        "categorical", pixels=PIXELS, k=k, hidden=7, variables=variables, couplings=couplings
    ).double()
    return vae, torch.rand(4, PIXELS, generator=seeded(seed), dtype=torch.float64).round()


# --- the distribution -----------------------------------------------------------------------------


@every_coupling
@pytest.mark.parametrize("edges", [None, [(0, 1), (1, 2)], [(2, 0), (1, 2)]])
def test_sums_and_their_gradients_are_those_over_all_states(couplings, edges):
    this = latent_labels(couplings, edges=edges)
    h = this.potentials(2, tracked=True)
    q, probabilities, states = Gibbs(h), this.probabilities(), torch.from_numpy(this.states)
    np.testing.assert_array_equal(h.states(), this.states)
    np.testing.assert_array_equal(h.index(states), np.arange(K**VARIABLES))
    np.testing.assert_allclose(h.table(states).detach(), np.tile(this.scores(), (2, 1)), atol=1e-12)
    np.testing.assert_allclose(h.score(states[:, None]).detach()[:, 0], this.scores(), atol=1e-12)
    means = probabilities @ this.statistics()
    log_z = np.log(np.exp(this.scores()).sum())
    np.testing.assert_allclose(q.log_partition.detach(), [log_z] * 2, atol=1e-12)
    found = [part.detach() for part in q.marginals if part is not None]
    np.testing.assert_allclose(torch.cat(found, dim=1), np.tile(means, (2, 1)), atol=1e-12)
    kl = q.kl().value
    expected = probabilities @ np.log(probabilities * len(probabilities))
    np.testing.assert_allclose(kl.detach(), [expected] * 2, atol=1e-12)
    gradient = torch.cat(torch.autograd.grad(kl.sum(), leaves_of(h)), dim=1)
    np.testing.assert_allclose(gradient[0], this.gradient(np.log(probabilities)), atol=1e-12)
    perturbed = PerturbAndMAP(h)
    ceiling = perturbed.kl("ceiling").value.detach()
    np.testing.assert_allclose(ceiling, [VARIABLES * np.log(K)] * 2)
    of_unary = perturbed.kl("unary")
    assert of_unary.valid == (couplings == "none")
    if couplings == "none":
        np.testing.assert_allclose(of_unary.value.detach(), kl.detach(), atol=1e-12)


@pytest.mark.parametrize("couplings", ["potts", "general"])
def test_tables_of_a_device_agree_with_elimination_on_the_host(couplings):
    h = latent_labels(couplings).potentials(2)
    table = TableSums.of(h)
    q = Gibbs(h)
    sums = table.log_partition, *table.marginals
    for found, expected in zip(sums, (q.log_partition, *q.marginals), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    z = table.sample(seeded(0), 3)
    assert z.shape == (3, 2, VARIABLES * K)
    np.testing.assert_array_equal(h.apart(z).sum(dim=-1), 1)


@every_coupling
def test_argmaxes_and_fields_are_those_over_all_states(couplings):
    this = latent_labels(couplings, seed=1)
    h, states = this.potentials(), torch.from_numpy(this.states)
    (best,) = space_of(h).maximise(h)
    assert h.score(best[None]).item() == pytest.approx(this.scores().max())
    changed = single_changes(states, VARIABLES)
    adds = h.apart(
        h.score(changed.reshape(-1, 1, this.n)).reshape(-1, this.n) - h.score(states[:, None])
    )
    field = h.apart(h.field(states))
    here = (field * h.apart(states)).sum(dim=-1, keepdim=True)
    np.testing.assert_allclose(field - here, adds, atol=1e-12)


@pytest.mark.statistical
@every_coupling
def test_samples_have_the_probabilities_of_the_states(couplings):
    this = latent_labels(couplings)
    z = Gibbs(this.potentials()).sample(seeded(0), 20_000)[:, 0].numpy()
    assert away(this.statistics(z), this.probabilities() @ this.statistics()) < LEVEL
    drawn = PerturbAndMAP(this.potentials()).sample(seeded(1), 20_000)
    if couplings == "none":  # perturb-and-MAP is then the same distribution
        assert (
            away(this.statistics(drawn[:, 0].numpy()), this.probabilities() @ this.statistics())
            < LEVEL
        )
    shares = np.bincount(this.index(drawn[:, 0]), minlength=K**VARIABLES) / len(drawn)
    expected = np.log(K**VARIABLES) + (shares[shares > 0] * np.log(shares[shares > 0])).sum()
    np.testing.assert_allclose(histogram_kl(this.potentials(), drawn).value, [expected], atol=1e-6)


# --- bits and one variable are special cases ------------------------------------------------------


def as_bits(h):
    """The same distribution of variables of two values as potentials of bits."""
    unary = h.apart(h.unary).diff(dim=-1)[..., 0]
    tables, (first, second) = h.tables(), h.edges.T
    unary = unary.index_add(-1, first, tables[..., 1, 0] - tables[..., 0, 0])
    unary = unary.index_add(-1, second, tables[..., 0, 1] - tables[..., 0, 0])
    pairwise = tables[..., 1, 1] - tables[..., 1, 0] - tables[..., 0, 1] + tables[..., 0, 0]
    return Potentials(unary, pairwise, h.edges)


def decoders_of_bits(n):
    """A decoder of n bits, and that of n variables of two values with the same weights."""
    torch.manual_seed(0)
    sizes = {"pixels": PIXELS, "hidden": 5}
    bits = paper_vae("independent", n=n, **sizes).decoder.double()
    labels = paper_vae("categorical", k=2, variables=n, **sizes).decoder.double()
    labels.load_state_dict(bits.state_dict())
    ones, zeros = bits.first.weight.data.T.chunk(2)
    labels.first.weight.data = torch.stack([zeros, ones], dim=1).flatten(0, 1).T.contiguous()
    return bits, labels


@pytest.mark.parametrize("couplings", ["potts", "general"])
def test_variables_of_two_values_are_bits(couplings):
    this = latent_labels(couplings, 4, 2)
    leaves = this.potentials(3, tracked=True)
    h, bits = leaves, as_bits(leaves)
    ones = lambda z: h.apart(z)[..., 1]  # noqa: E731
    states = h.states()
    away_from_mean = h.table(states) - h.table(states).mean(dim=1, keepdim=True)
    of_bits = bits.table(ones(states))
    np.testing.assert_allclose(
        away_from_mean.detach(), (of_bits - of_bits.mean(dim=1, keepdim=True)).detach()
    )
    np.testing.assert_allclose(Gibbs(h).kl().value.detach(), Gibbs(bits).kl().value.detach())
    decoder, same = decoders_of_bits(4)
    x = torch.rand(3, PIXELS, generator=seeded(1), dtype=torch.float64).round()
    z = states[:3]
    around, flips = same.around(x, z), decoder.around(x, ones(z))
    np.testing.assert_allclose(around.cost.detach(), flips.cost.detach())
    np.testing.assert_allclose(h.apart(around.slope).diff(dim=-1)[..., 0], flips.slope)
    gradients = [
        torch.cat(
            torch.autograd.grad(Exact()(each, cost, seeded()).surrogate.sum(), leaves_of(leaves)),
            dim=1,
        )
        for each, cost in (
            (h, Reconstruction(same, x)),
            (as_bits(leaves), Reconstruction(decoder, x)),
        )
    ]
    np.testing.assert_allclose(*gradients, atol=1e-12)


def test_one_variable_is_the_categorical_one():
    torch.manual_seed(0)
    vae = paper_vae("categorical", pixels=PIXELS, k=5, hidden=7, variables=1).double()
    encoder, decoder = vae.encoder, vae.decoder
    x = torch.rand(4, PIXELS, generator=seeded(0), dtype=torch.float64).round()
    z = torch.eye(5, dtype=torch.float64)[[0, 3, 3, 1]]
    np.testing.assert_allclose(decoder.changed(x, z), decoder.around(x, z).slope)
    cost, _ = smooth_cost(5).cost("categorical", len(z))
    np.testing.assert_allclose(
        cost.around(z).slope,
        cost(single_changes(z, 1).movedim(-2, 0)).movedim(0, -1).detach(),
    )
    h = encoder(x)
    assert (h.pairwise, h.edges, h.variables, encoder.n) == (None, None, 1, 5)
    np.testing.assert_allclose(Gibbs(h).marginals[0].detach(), h.unary.softmax(dim=-1).detach())
    assert vae.arguments == {"encoder": "categorical", "pixels": PIXELS, "n": 5, "hidden": 7}


def test_the_arguments_of_coupled_categories_make_them_again():
    options = {"hidden": 4, "variables": 4, "couplings": "potts", "bandwidth": 1}
    vae = paper_vae("categorical", pixels=PIXELS, k=3, **options)
    assert vae.arguments == {"encoder": "categorical", "pixels": PIXELS, "n": 3, **options}
    assert len(DiscreteVAE.of_arguments(**vae.arguments).encoder.edges) == 3


# --- costs and gradients --------------------------------------------------------------------------


@every_coupling
def test_costs_around_a_state_are_those_of_its_changes(couplings):
    vae, x = vae_of(couplings)
    z = Gibbs(vae.encoder(x)).sample(seeded(0), 2)
    expected = (
        vae.decoder.cost(x, single_changes(z, VARIABLES).movedim(-2, 0)).movedim(0, -1).detach()
    )
    found = vae.decoder.around(x, z)
    np.testing.assert_allclose(found.slope, expected)
    np.testing.assert_allclose(found.cost.detach(), vae.decoder.cost(x, z).detach())
    h = vae.encoder(x).detach()
    folded = elbo_recipe(vae, x, h, "folded").cost.around(z).slope
    plain = lambda values: h.apart(values) - h.apart(values).mean(dim=-1, keepdim=True)  # noqa: E731
    whole = expected + h.score(single_changes(z, VARIABLES).movedim(-2, 0)).movedim(0, -1)
    np.testing.assert_allclose(plain(folded), plain(whole), atol=1e-12)


@pytest.mark.statistical
@every_coupling
def test_unbiased_estimators_have_the_exact_gradient(couplings):
    this = latent_labels(couplings)
    cost = smooth_cost(this.n)
    expected = this.gradient(cost.values(this.states))
    draws, _ = draws_of(Exact(), this, function_of(cost), 2)
    np.testing.assert_allclose(draws, np.tile(expected, (2, 1)), atol=1e-12)
    estimators = [ScoreFunction(4), RAM(), RAM(samples=2, completions=2)]
    for estimator in [*estimators, *([REBAR(0.7)] if couplings == "none" else [])]:
        draws, _ = draws_of(estimator, this, function_of(cost), 40_000)
        assert away(draws, expected) < LEVEL
        assert away(draws, expected, 1.1) > LEVEL


@pytest.mark.statistical
def test_ram_on_a_chain_has_the_exact_gradient():
    this = latent_labels("general", 4, 3)
    kept = np.flatnonzero(np.diff(this.edges, axis=1)[:, 0] == 1)
    tables = this.pairwise.reshape(len(this.edges), -1)[kept]
    this = replace(this, pairwise=tables.ravel(), edges=this.edges[kept])
    cost = smooth_cost(this.n)
    draws, _ = draws_of(RAM(), this, function_of(cost), 40_000)
    expected = this.gradient(cost.values(this.states))
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL


@every_coupling
def test_completions_of_values_are_changes_and_what_is_drawn_after_them(couplings):
    h = latent_labels(couplings).potentials(5)
    found = Gibbs(h).completions(seeded(2), samples=3)
    again = Gibbs(h).sample(seeded(2), 3)
    labels, own = h.apart(found.z).argmax(dim=-1), h.apart(found.completed).argmax(dim=-1)
    assert (h.apart(found.z).sum(dim=-1) == 1).all()
    if couplings != "none":  # which draws by Gumbel variables elsewhere
        assert (found.z == again).all()
    for v, r in itertools.product(range(VARIABLES), range(K - 1)):
        expected = (labels[..., v] + 1 + r) % K
        assert (own[:, v, r, :, v] == expected).all()
        assert (found.values[:, :, v, r] == expected).all()
    changed = own != labels[:, None, None]
    first = changed[:, :, 0].any(dim=(0, 2))  # which variables a completion of each has ever moved
    assert first.diagonal().all()
    assert (first & first.T).sum() == VARIABLES  # of two variables one is drawn before the other
    if couplings == "none":
        assert (changed.sum(dim=-1) == 1).all()


def test_ram_of_variables_of_two_values_varies_as_that_of_their_bits():
    """The noise is another, so that the draws are; their variances are of one distribution without couplings."""
    this = latent_labels("none", 4, 2)
    cost = smooth_cost(this.n)
    draws, _ = draws_of(RAM(), this, function_of(cost), 20_000)
    h = this.potentials(20_000, tracked=True)
    unary = h.apart(h.unary).diff(dim=-1)[..., 0].detach().requires_grad_()
    ones = lambda z: torch.stack([1 - z, z], dim=-1).flatten(-2)  # noqa: E731
    bits = CostOfBits(lambda z: function_of(cost)(ones(z)))
    RAM()(Potentials(unary), bits, seeded(0)).surrogate.sum().backward()
    of_values = draws.reshape(len(draws), 4, 2)[..., 1].var(axis=0)
    np.testing.assert_allclose(of_values, unary.grad.var(dim=0), rtol=0.1)


def test_ram_refuses_more_completions_than_there_are_variables():
    h = latent_labels("none").potentials()
    assert "3 variables, and 4 are to be completed" in RAM(completions=4).why_not(h)[0]
    assert not RAM(completions=3).why_not(h)


@pytest.mark.statistical
@every_coupling
@pytest.mark.parametrize("sides", [1, 2])
def test_direct_optimization_over_a_table_expects_what_the_theorem_says(couplings, sides):
    this = latent_labels(couplings)
    cost = smooth_cost(this.n)
    expected = this.direct_gradient(cost.values(this.states), 0.5, sides)
    draws, _ = draws_of(TableDirect(Constant(0.5), sides=sides), this, function_of(cost), 40_000)
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL


@pytest.mark.statistical
@pytest.mark.parametrize("sides", [1, 2])
def test_direct_optimization_of_a_cost_without_interactions_is_exact_coordinate_by_coordinate(
    sides,
):
    """The coordinate-wise cost is then the cost itself, and perturb-and-MAP of no couplings the Gibbs distribution."""
    this, weights = latent_labels("none"), 2 * np.random.default_rng(5).normal(size=VARIABLES * K)
    expected = this.direct_gradient(this.states @ weights, 0.5, sides)
    estimator = Direct(epsilon=Constant(0.5), sides=sides)
    draws, _ = draws_of(estimator, this, lambda z: z @ torch.from_numpy(weights), 40_000)
    assert away(draws, expected) < LEVEL
    assert away(draws, expected, 1.1) > LEVEL


@pytest.mark.parametrize("couplings", ["potts", "general"])
def test_direct_optimization_moves_to_the_best_state_of_scores_less_costs(couplings):
    this, weights = latent_labels(couplings), np.random.default_rng(5).normal(size=VARIABLES * K)
    epsilon = 3.0
    estimator = Direct(
        epsilon=Constant(epsilon), noise=lambda h, generator, samples: 0 * h.unary[None]
    )
    draws, estimate = draws_of(estimator, this, lambda z: z @ torch.from_numpy(weights), 1)
    scores, phi = this.scores(), this.statistics()
    low = phi[(scores - epsilon * (this.states @ weights)).argmax()]
    np.testing.assert_allclose(draws[0], (phi[scores.argmax()] - low) / epsilon)
    assert estimate.stats["changed"] == float((draws != 0).any())


@pytest.mark.parametrize(("held", "saturated"), [(0.0, 1.0), (100.0, 0.0)])
def test_a_sample_is_saturated_where_all_variables_are_at_their_cheapest_values(held, saturated):
    unary = torch.zeros(1, 4)
    unary[0, 1] = held  # the value of the first variable that costs more
    price = torch.tensor([0.0, 1.0, 0.0, 1.0])
    estimator = Direct(epsilon=Constant(1.0), noise=lambda h, generator, samples: 0 * h.unary[None])
    h = CategoricalPotentials(unary, variables=2)
    stats = estimator(h, lambda z: z @ price, seeded()).stats
    assert stats["saturated"] == saturated


@every_coupling
def test_all_other_estimators_take_them_or_say_why_not(couplings):
    this = latent_labels(couplings)
    h = this.potentials()
    assert "made for bits" in ARM().why_not(h)[0]
    for relaxation in (GumbelSoftmax(Constant(0.5)), StraightThrough(Constant(0.5))):
        assert bool(relaxation.why_not(h)) == (couplings != "none")
    if couplings == "none":
        draws, estimate = draws_of(GumbelSoftmax(Constant(1e-3)), this, lambda z: z.sum(dim=-1), 50)
        np.testing.assert_allclose(h.apart(estimate.z).sum(dim=-1), 1)
        np.testing.assert_allclose(estimate.cost, VARIABLES)
        np.testing.assert_allclose(draws, 0, atol=1e-9)
    large = CategoricalPotentials(torch.zeros(1, 21 * 2), variables=21)
    assert "21 variables of 2 values" in Exact().why_not(large)[0]
    assert Exact().why_not(CategoricalPotentials(torch.zeros(1, 20 * 2), variables=20)) == ()


# --- networks -------------------------------------------------------------------------------------


class OfVariables(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(PIXELS, n)

    def forward(self, x):
        return CategoricalPotentials(self.layer(x), variables=VARIABLES)


def test_networks_of_ones_own_may_have_variables():
    vae, x = vae_of("none")
    own = DiscreteVAE(
        OfVariables(VARIABLES * K), nn.Linear(VARIABLES * K, PIXELS), pixels=PIXELS
    ).double()
    assert (own.variables, own.n, own.categorical, own.arguments["variables"]) == (
        VARIABLES,
        9,
        True,
        3,
    )
    z = Gibbs(own.encoder(x)).sample(seeded(0))[0]
    expected = own.decoder.cost(x, single_changes(z, VARIABLES).movedim(-2, 0)).movedim(0, -1)
    np.testing.assert_allclose(own.decoder.around(x, z).slope, expected.detach())
    samples = vae.sample(5, seeded(0))
    assert samples.shape == (5, PIXELS)
    with pytest.raises(
        ValueError, match="the encoder has 3 variables and the decoder 1; they must agree"
    ):
        DiscreteVAE(vae.encoder, paper_vae("categorical", pixels=PIXELS, k=VARIABLES * K).decoder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "general", "variables": 2}, "are options of the encoder 'categorical'"),
        (
            {"encoder": "categorical", "couplings": "none", "bandwidth": 1, "variables": 2},
            "no pairs",
        ),
        (
            {"encoder": "categorical", "couplings": "some", "variables": 2},
            "no couplings are called 'some'",
        ),
        ({"encoder": "categorical", "prior": "factorised", "variables": 2}, "takes one variable"),
    ],
)
def test_impossible_networks(options, message):
    with pytest.raises(ValueError, match=message):
        paper_vae_of(options.pop("encoder"), 3, pixels=PIXELS, **options)


def test_the_number_of_categories_is_k_and_was_n():
    vae = paper_vae("categorical", pixels=PIXELS, k=3, variables=2)
    assert (vae.encoder.k, vae.encoder.variables) == (3, 2)
    assert paper_vae("categorical", pixels=PIXELS).encoder.k == 15
    with pytest.warns(DeprecationWarning, match=r"is now k: paper_vae\('categorical', k=3\)"):
        former = paper_vae("categorical", pixels=PIXELS, n=3, variables=2)
    assert former.arguments == vae.arguments
    with pytest.raises(ValueError, match="'general' has bits: pass n; got k = 3"):
        paper_vae("general", k=3)
    with pytest.raises(ValueError, match="as k alone; got n = 2 and k = 3"):
        paper_vae("categorical", n=2, k=3)
    with pytest.raises(ValueError, match="k must be a whole number of at least 1; got 0"):
        paper_vae("categorical", k=0)


@pytest.mark.parametrize(
    ("scores", "pairwise", "edges", "variables"),
    [
        (7, None, None, 3),
        (6, None, None, 0),
        (6, 3, [(0, 1)], 2),
        (6, 9, None, 2),
        (6, None, [(0, 1)], 2),
    ],
)
def test_impossible_scores(scores, pairwise, edges, variables):
    pairwise = None if pairwise is None else torch.zeros(1, pairwise)
    edges = None if edges is None else torch.tensor(edges)
    with pytest.raises(NetworkError, match=r"scores (are not those|must be)|variables must be"):
        CategoricalPotentials(torch.zeros(1, scores), pairwise, edges, variables)


# --- runs -----------------------------------------------------------------------------------------

tiny = pytest.mark.usefixtures("on_tiny_images")


@pytest.mark.spread(1)
@tiny
@pytest.mark.parametrize(
    ("couplings", "estimator"),
    [("none", "direct"), ("potts", "direct"), ("general", "score_function")],
)
def test_a_run_is_resumed_evaluated_exported_and_loaded(tmp_path, capsys, couplings, estimator):
    config = replace(SMALL, couplings=couplings, estimator=estimator)
    whole = train(config, tmp_path / "whole", progress=False)
    train(replace(config, epochs=1), tmp_path / "parts", progress=False)
    resume(tmp_path / "parts", 2, progress=False)
    vae, again = load_vae(whole.folder, "last"), load_vae(tmp_path / "parts", "last")
    for name, value in vae.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    found = evaluate_run(whole.folder, samples=40).quantities
    assert found["minus_log_p"].kind == "exact"
    if couplings == "none" or estimator == "score_function":
        assert found["kl"].kind == "exact"
        assert found["gap"].value >= 0
    else:
        assert found["gibbs_bound"].value >= found["minus_log_p"].value
    with pytest.raises(ConfigError, match="bits can be refined"):
        evaluate_run(whole.folder, samples=2, refine=1)
    folder = export_run(whole.folder, tmp_path / "exported", "last")
    loaded = DiscreteVAE.from_pretrained(folder)
    assert loaded.variables == VARIABLES
    x = torch.rand(2, vae.pixels)
    assert torch.equal(loaded.encoder(x).unary, vae.encoder(x).unary)
    with pytest.raises(SystemExit):
        main(["explore", str(whole.folder)])
    message = " ".join(capsys.readouterr().err.split())
    assert "3 variables of several values; the explorer shows one" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"encoder": "general"},
            "variables is an option of the encoder categorical; with general, set n; got 3",
        ),
        (
            {"encoder": "independent", "variables": 1, "couplings": "none"},
            "k is an option of the encoder categorical, .* got 4",
        ),
        ({"n": 20}, "n is the number of bits; .* got 20"),
        ({"variables": 1, "couplings": "potts"}, "couplings need several variables"),
        ({"couplings": "none", "bandwidth": 1}, "bandwidth needs pairwise scores"),
        ({"prior": "factorised"}, "prior factorised takes one variable of categories"),
        ({"variables": 0}, "variables must be at least 1"),
        ({"couplings": "some"}, "couplings must be"),
        (
            {"model": "mixture", "encoder": "general", "recipe": "paper", "hidden": 300},
            "no meaning",
        ),
    ],
)
def test_impossible_configurations(options, message):
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **options)


def test_titles_say_what_the_variables_are():
    assert "categorical3x4-potts-band1" in replace(SMALL, couplings="potts", bandwidth=1).title
    assert "categorical4-" in replace(SMALL, variables=1).title


@tiny
def test_estimators_and_solvers_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="3 variables, and 5 are to be completed"):
        train(replace(SMALL, estimator="ram", completions=5), tmp_path / "ram", progress=False)
    wide = replace(SMALL, variables=12, k=10, couplings="general", estimator="score_function")
    with pytest.raises(ConfigError, match="out of reach"):
        train(wide, tmp_path / "wide", progress=False)


@pytest.mark.parametrize("couplings", ["potts", "general"])
def test_solvers_are_those_that_take_tables_of_every_sign(couplings):
    vae, _ = vae_of(couplings)
    for name in ("auto", "elimination", "exhaustive", "dual_ascent"):
        assert fitting_solver(name, vae) == name
    with pytest.raises(ConfigError, match="this encoder does not fit: solver"):
        fitting_solver("max_flow", vae)
    with pytest.raises(UnknownSolverError, match="no solver"):
        fitting_solver("max_flows", vae)
