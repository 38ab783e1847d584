"""Spaces of states: what each says of itself is compared with a list of all its states."""

import math
from itertools import combinations, pairwise, permutations, product

import networkx as nx
import numpy as np
import pytest
import torch
from enumeration import LEVEL, all_bits, away, seeded, softmax
from torch import nn

from models import CategoricalPotentials, DiscreteVAE, Potentials, paper_vae
from models.errors import SettingError
from solvers.constraints import cardinality
from structured_vae import (
    RAM,
    Assignments,
    ConfigError,
    Constant,
    CostOfBits,
    Direct,
    Exact,
    Gibbs,
    ImplicitMLE,
    Knapsack,
    KOfN,
    Matchings,
    Paths,
    PerturbAndMAP,
    Reconstruction,
    ScoreFunction,
    SpanningTrees,
    StateSpace,
    TrainConfig,
    elbo_recipe,
    evaluate,
)
from structured_vae.errors import EstimatorError, StructureError
from structured_vae.estimators import ESTIMATORS, TableDirect
from structured_vae.explorer import Explored
from structured_vae.objectives import paper_recipe
from structured_vae.spaces import (
    Bits,
    Categories,
    ConstrainedBits,
    PairwiseLabels,
    SecondOrderChains,
    Segments,
    as_space,
    grid_paths,
    space_of,
)
from structured_vae.vaes.fitting import fitting_estimator


class EvenBits(StateSpace):
    """A custom space: states with an even number of ones, found among all of them."""

    def argmax(self, scores):
        states = torch.from_numpy(all_bits(scores.shape[-1])).to(scores)
        states = states[states.sum(dim=-1) % 2 == 0]
        return states[(scores @ states.T).argmax(dim=-1)]


class OnlyAnArgmax:
    """A user's object that does not know of spaces."""

    def argmax(self, scores):
        return EvenBits().argmax(scores)


def subsets(n, sizes):
    chosen = [set(picked) for size in sizes for picked in combinations(range(n), size)]
    return np.array([[float(i in picked) for i in range(n)] for picked in chosen])


def bits_where(n, holds):
    states = all_bits(n).astype(float)
    return states[[bool(holds(z)) for z in states]]


def matrices(rows, columns):
    return np.array(
        [np.eye(columns)[list(picked)].ravel() for picked in permutations(range(columns), rows)]
    )


LADDER = Paths([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [2, 4], [3, 4]], source=0, target=4)
SQUARE = [[0, 1], [1, 2], [2, 3], [0, 3], [0, 2]]


def paths_of_the_ladder():
    arcs = LADDER.arcs.tolist()
    walks = [[0, 1, 2, 3, 4], [0, 1, 2, 4], [0, 1, 3, 4], [0, 2, 3, 4], [0, 2, 4]]
    steps = [[[a, b] for a, b in pairwise(walk)] for walk in walks]
    return np.array([[float(arc in walk) for arc in arcs] for walk in steps])


def trees_of_the_square():
    def spans(z):
        graph = nx.Graph()
        graph.add_nodes_from(range(4))
        graph.add_edges_from(edge for edge, taken in zip(SQUARE, z, strict=True) if taken)
        return z.sum() == 3 and nx.is_connected(graph)

    return bits_where(5, spans)


SPACES = {
    "bits": (Bits(), 5, all_bits(5).astype(float)),
    "one category": (Categories(), 4, np.eye(4)),
    "two variables": (
        Categories(2),
        6,
        np.array([[*a, *b] for a in np.eye(3) for b in np.eye(3)]),
    ),
    "3 of 6": (KOfN(3), 6, subsets(6, [3])),
    "1 to 2 of 5": (KOfN(2, least=1), 5, subsets(5, [1, 2])),
    "knapsack": (Knapsack([2, 3, 1, 2], 4), 4, bits_where(4, lambda z: z @ [2, 3, 1, 2] <= 4)),
    "paths": (LADDER, 7, paths_of_the_ladder()),
    "trees": (SpanningTrees(SQUARE), 5, trees_of_the_square()),
    "permutations": (Assignments(3), 9, matrices(3, 3)),
    "assignments": (Assignments(2, 3), 6, matrices(2, 3)),
    "matchings": (
        Matchings(2),
        4,
        np.array([z for z in all_bits(4) if (z.reshape(2, 2).sum(0) <= 1).all()
                  and (z.reshape(2, 2).sum(1) <= 1).all()], dtype=float),
    ),
    "labels": (
        PairwiseLabels(2, 2, [[0, 1]]),
        8,
        np.array([[*a, *b, *np.outer(a, b).ravel()] for a in np.eye(2) for b in np.eye(2)]),
    ),
    "labels of sizes": (
        PairwiseLabels(2, 3, [[1, 0]], sizes=[3, 2]),
        15,
        np.array([[*a, *b, *np.outer(b, a).ravel()] for a in np.eye(3) for b in np.eye(3)[:2]]),
    ),
    "custom": (EvenBits(), 4, bits_where(4, lambda z: z.sum() % 2 == 0)),
}  # fmt: skip
every_space = pytest.mark.parametrize("name", SPACES)
TRACTABLE = [name for name, (space, _, _) in SPACES.items() if space.tractable]
DEPENDENT = [name for name, (space, _, _) in SPACES.items() if not space.independent]


def as_set(states):
    return {tuple(state) for state in np.asarray(states).astype(int).tolist()}


def potentials_of(name, batch=3, seed=0, tracked=False):
    space, n, _ = SPACES[name]
    unary = torch.from_numpy(np.random.default_rng(seed).normal(size=(batch, n)))
    unary.requires_grad_(tracked)
    if space.categorical:
        return CategoricalPotentials(unary, variables=space.variables)
    return Potentials(unary, space=space)


# --- what a space says of itself ---------------------------------------------------------------


@every_space
def test_states_and_their_number_are_those_of_the_list(name):
    space, n, expected = SPACES[name]
    states = space.states(n, torch.zeros(1))
    assert len(states) == len(expected)
    assert as_set(states) == as_set(expected)
    assert space.log_count(n) == pytest.approx(math.log(len(expected)), abs=1e-9)
    assert potentials_of(name).state_count == len(expected)


@every_space
def test_index_is_the_place_among_the_states(name):
    space, n, _ = SPACES[name]
    states = space.states(n, torch.zeros(1))
    assert space.index(states).tolist() == list(range(len(states)))


@every_space
def test_a_space_contains_its_states_and_no_others(name):
    space, n, expected = SPACES[name]
    candidates = torch.from_numpy(all_bits(n)).double()
    inside = as_set(expected)
    wanted = [tuple(z) in inside for z in candidates.long().tolist()]
    assert space.contains(candidates).tolist() == wanted


@every_space
def test_the_argmax_is_the_best_state(name):
    space, n, expected = SPACES[name]
    scores = torch.from_numpy(np.random.default_rng(1).normal(size=(2, 5, n)))
    values = (space.argmax(scores) * scores).sum(dim=-1)
    best = (scores @ torch.from_numpy(expected).T).amax(dim=-1)
    torch.testing.assert_close(values, best)


@every_space
def test_neighbours_are_states_with_the_other_value_where_there_are_any(name):
    space, n, expected = SPACES[name]
    scores = torch.from_numpy(np.random.default_rng(2).normal(size=(4, n)))
    z = space.argmax(scores)
    neighbours = space.neighbours(z, scores)
    assert neighbours.shape == (4, n, n)
    assert space.contains(neighbours.reshape(-1, n)).all()
    if space.categorical:
        assert (neighbours.diagonal(dim1=-2, dim2=-1) == 1).all()
        return
    for k in range(4):
        for i in range(n):
            others = expected[expected[:, i] != z[k, i].item()]
            moved = neighbours[k, i].numpy()
            if not len(others):
                assert (moved == z[k].numpy()).all()
                continue
            assert moved[i] != z[k, i]
            if not space.free_flips:
                best = (others @ scores[k].numpy()).max()
                assert moved @ scores[k].numpy() == pytest.approx(best)


@pytest.mark.parametrize("name", DEPENDENT)
def test_the_slope_of_a_linear_cost_orders_all_states_as_the_cost(name):
    space, n, _ = SPACES[name]
    weights = torch.from_numpy(np.random.default_rng(3).normal(size=n))
    scores = torch.from_numpy(np.random.default_rng(4).normal(size=(3, n)))
    z = space.argmax(scores)
    around = space.around(lambda states: states @ weights, z, scores)
    # The cost at a neighbour is that which the slope says.
    neighbours = space.neighbours(z, scores)
    expected_changes = (neighbours - z[:, None]) @ weights
    changes = ((neighbours - z[:, None]) * around.slope[:, None]).sum(dim=-1)
    torch.testing.assert_close(changes, expected_changes, rtol=0, atol=1e-6)
    torch.testing.assert_close(around.cost, z @ weights)


def test_the_slope_of_bits_is_the_change_by_every_flip():
    states = torch.from_numpy(all_bits(4)).double()
    values = torch.from_numpy(np.random.default_rng(0).normal(size=16))

    def function(z):
        return values[(z.long() << torch.arange(4)).sum(dim=-1)]

    general = StateSpace.around(Bits(), CostOfBits(function), states)
    torch.testing.assert_close(general.slope, CostOfBits(function).around(states).slope)


def test_a_custom_object_with_an_argmax_is_a_space():
    space = as_space(OnlyAnArgmax())
    assert str(space) == "OnlyAnArgmax"
    assert as_set(space.states(4, torch.zeros(1))) == as_set(SPACES["custom"][2])
    assert not space.tractable
    with pytest.raises(StructureError, match="OnlyAnArgmax has no gibbs"):
        space.gibbs(torch.zeros(1, 4))


@pytest.mark.parametrize("value", [3, "bits", None, torch.zeros(2)])
def test_what_is_no_space_is_refused(value):
    with pytest.raises(StructureError, match="must be a StateSpace"):
        as_space(value)


def test_potentials_without_a_space_belong_to_bits_or_categories():
    assert space_of(Potentials(torch.zeros(1, 3))) == Bits()
    assert space_of(CategoricalPotentials(torch.zeros(1, 6), variables=2)) == Categories(2)
    assert space_of(Potentials(torch.zeros(1, 3), space=KOfN(2))) == KOfN(2)


def test_uniform_permutations_are_equally_frequent():
    z = Assignments(3).uniform(9, 12_000, seeded(), torch.zeros(1))
    _, counts = torch.unique(z, dim=0, return_counts=True)
    assert len(counts) == 6
    assert (counts - 2000).abs().max() < LEVEL * math.sqrt(2000 * 5 / 6)


def grid_walks(side):
    """The paths through a grid as states, by which of their steps go down."""
    moves = 2 * (side - 1)
    arcs = grid_paths(side, side).arcs.tolist()
    states = []
    for downwards in combinations(range(moves), side - 1):
        nodes = [0]
        for move in range(moves):
            nodes.append(nodes[-1] + (side if move in downwards else 1))
        walk = [[a, b] for a, b in pairwise(nodes)]
        states.append([float(arc in walk) for arc in arcs])
    return np.array(states)


def partial_matchings(rows, columns):
    """Every matching, by the column of each row; column number `columns` is none."""
    states = []
    for picked in product(range(columns + 1), repeat=rows):
        taken = [column for column in picked if column < columns]
        if len(set(taken)) == len(taken):
            states.append(np.eye(columns + 1)[list(picked), :columns].ravel())
    return np.array(states)


def segmentations(n, k, longest):
    """Every way to cut n positions, as the state that lists its segments."""

    def cuts(first):
        if first == n:
            yield []
        for after in range(first + 1, min(first + longest, n) + 1):
            for label in range(k):
                for rest in cuts(after):
                    yield [(first, after, label), *rest]

    return Segments(n, k, longest).states_of(list(cuts(0))).numpy()


class FewOfMany(StateSpace):
    """A custom space of three states of 20 bits, which knows how many there are."""

    LIST = np.eye(20)[[0, 7, 19]] + np.eye(20)[[3, 3, 4]]

    def argmax(self, scores):
        states = torch.from_numpy(self.LIST).to(scores)
        return states[(scores @ states.T).argmax(dim=-1)]

    def log_count(self, n):
        return math.log(3)


LONG_STATES = {
    "5 x 5 permutations": (Assignments(5), matrices(5, 5)),
    "6 x 3 assignments": (
        Assignments(6, 3),
        matrices(3, 6).reshape(-1, 3, 6).swapaxes(1, 2).reshape(-1, 18),
    ),
    "5 x 4 matchings": (Matchings(5, 4), partial_matchings(5, 4)),
    "4 x 4 grid": (grid_paths(4, 4), grid_walks(4)),
    "6 x 6 grid": (grid_paths(6, 6), grid_walks(6)),
    "knapsack of 20": (Knapsack([1] * 20, 2), subsets(20, [0, 1, 2])),
    "segments": (Segments(4, 2, 3), segmentations(4, 2, 3)),
    "1 of 70": (KOfN(1), np.eye(70)),
    "tree of a ring": (
        SpanningTrees([[i, (i + 1) % 20] for i in range(20)]),
        1 - np.eye(20),
    ),
    "custom": (FewOfMany(), FewOfMany.LIST),
}
every_long_space = pytest.mark.parametrize("name", LONG_STATES)


@every_long_space
def test_a_space_of_few_states_lists_them_however_many_entries_they_have(name):
    space, expected = LONG_STATES[name]
    n = expected.shape[1]
    states = space.states(n, torch.zeros(1))
    assert len(states) == len(expected)
    assert as_set(states) == as_set(expected)
    assert space.log_count(n) == pytest.approx(math.log(len(expected)), abs=1e-6)
    numbers = [sum(1 << i for i, bit in enumerate(z) if bit) for z in states.tolist()]
    assert numbers == sorted(numbers)
    order = np.random.default_rng(0).permutation(len(states)).tolist()
    assert space.index(states[order]).tolist() == order
    other = np.random.default_rng(1).permutation(len(states))
    places = space.index(states[order], states[other])
    assert other[places].tolist() == order


@pytest.mark.parametrize(
    ("space", "n"),
    [(Assignments(10), 100), (Matchings(8), 64), (KOfN(15), 60), (Knapsack([1] * 22, 22), 22)],
)
def test_a_list_of_too_many_states_is_refused(space, n):
    with pytest.raises(StructureError, match=r"2\^20"):
        space.states(n, torch.zeros(1))


def test_states_of_labels_used_to_be_made_by_states():
    labels = torch.tensor([[1, 0], [0, 1]])
    space = PairwiseLabels(2, 2, [[0, 1]])
    with pytest.warns(DeprecationWarning, match="is now states_of"):
        states = space.states(labels)
    assert states.tolist() == [[0, 1, 1, 0, 0, 0, 1, 0], [1, 0, 0, 1, 0, 1, 0, 0]]
    assert torch.equal(space.states_of(labels), states)
    with pytest.raises(StructureError, match="= 8 entries; got n = 4"):
        space.check(4)


def test_uniform_matchings_are_equally_frequent():
    z = Matchings(2, 3).uniform(6, 13_000, seeded(), torch.zeros(1))
    _, counts = torch.unique(z, dim=0, return_counts=True)
    assert as_set(z) == as_set(partial_matchings(2, 3))
    assert (counts - 1000).abs().max() < LEVEL * math.sqrt(1000 * 12 / 13)


# --- distributions over a space -----------------------------------------------------------------


@pytest.mark.parametrize("name", TRACTABLE)
def test_kl_entropy_and_marginals_are_those_over_the_list(name):
    _, _, expected = SPACES[name]
    h = potentials_of(name)
    q = Gibbs(h)
    assert q.tractable
    for k, unary in enumerate(h.unary.numpy()):
        p = softmax(expected @ unary)
        assert q.kl().value[k].item() == pytest.approx(np.sum(p * np.log(p * len(p))), abs=1e-9)
        assert q.entropy()[k].item() == pytest.approx(-np.sum(p * np.log(p)), abs=1e-9)
        np.testing.assert_allclose(q.marginals[0][k], p @ expected, atol=1e-9)
        z = torch.from_numpy(expected)
        np.testing.assert_allclose(q.log_prob(z[:, None])[:, k], np.log(p), atol=1e-9)
    assert q.kl().kind == "exact"


@every_space
def test_every_number_says_whether_it_is_exact_or_a_bound(name):
    space, _, _ = SPACES[name]
    h = potentials_of(name)
    q = PerturbAndMAP(h, draws=200)
    assert q.tractable == space.independent
    assert q.tightest_kl().kind == ("exact" if space.independent else "bound")
    assert q.kl("histogram", seeded()).kind == "bound"
    assert q.kl("ceiling").kind == "bound"
    wanted = "exact" if space.independent else "neither" if space.tractable else "bound"
    assert q.kl("unary").kind == wanted
    histogram = q.kl("histogram", seeded()).value
    assert not bool((histogram > q.kl("ceiling").value + 1e-9).any())


def test_a_space_of_unknown_size_has_no_kl_and_the_error_says_what_to_do():
    h = Potentials(torch.zeros(1, 30), space=as_space(OnlyAnArgmax()))
    with pytest.raises(StructureError, match="implement log_count"):
        PerturbAndMAP(h).kl("ceiling")


@pytest.mark.parametrize("name", TRACTABLE)
def test_completions_are_states_with_the_other_value(name):
    space, n, _ = SPACES[name]
    completions = Gibbs(potentials_of(name)).completions(seeded(), samples=20)
    assert space.contains(completions.z.reshape(-1, n)).all()
    assert space.contains(completions.completed.reshape(-1, n)).all()


# --- estimators over a space --------------------------------------------------------------------


@pytest.mark.spread(4)
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["3 of 6", "knapsack", "paths", "trees"])
@pytest.mark.parametrize("estimator", [RAM(), RAM(completions=2), ScoreFunction(3)], ids=str)
def test_unbiased_estimators_agree_with_enumeration(name, estimator):
    space, n, expected = SPACES[name]
    draws = 10_000
    values = np.random.default_rng(5).normal(size=n)
    p_unary = np.random.default_rng(6).normal(size=n)
    costs = (expected @ values) ** 2
    p = softmax(expected @ p_unary)
    gradient = (p * costs) @ (expected - p @ expected)
    unary = torch.from_numpy(p_unary).expand(draws, -1).clone().requires_grad_()
    weights = torch.from_numpy(values)
    estimate = estimator(Potentials(unary, space=space), lambda z: (z @ weights).square(), seeded())
    (given,) = torch.autograd.grad(estimate.surrogate.sum(), unary)
    assert away(given.numpy(), gradient) < LEVEL
    assert away(given.numpy(), gradient, scale=1.1) > LEVEL


def test_exact_gradients_are_those_of_the_list():
    _, n, expected = SPACES["3 of 6"]
    h = potentials_of("3 of 6", tracked=True)
    weights = torch.from_numpy(np.random.default_rng(5).normal(size=n))
    estimate = Exact()(h, lambda z: (z @ weights).square(), seeded())
    (given,) = torch.autograd.grad(estimate.surrogate.sum(), h.unary)
    costs = (expected @ weights.numpy()) ** 2
    for row, unary in zip(given, h.unary.detach().numpy(), strict=True):
        p = softmax(expected @ unary)
        np.testing.assert_allclose(row, (p * costs) @ (expected - p @ expected), atol=1e-9)


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", DEPENDENT)
@pytest.mark.parametrize("make", [Direct, ImplicitMLE], ids=lambda make: make.__name__)
def test_estimators_by_argmax_lower_a_linear_cost(name, make):
    space, n, expected = SPACES[name]
    weights = torch.from_numpy(np.random.default_rng(7).normal(size=n))
    unary = torch.zeros(64, n, dtype=torch.float64, requires_grad=True)
    generator = seeded()
    adam = torch.optim.Adam([unary], lr=0.3)
    costs = []
    for _ in range(60):
        adam.zero_grad()
        estimate = make(epsilon=Constant(1.0))(
            Potentials(unary, space=space), lambda z: z @ weights, generator
        )
        estimate.surrogate.mean().backward()
        adam.step()
        costs.append(estimate.cost.mean().item())
        assert space.contains(estimate.z.reshape(-1, n)).all()
    least, first = (expected @ weights.numpy()).min(), costs[0]
    assert np.mean(costs[-5:]) - least < 0.3 * (first - least) + 1e-9


def test_estimators_that_need_sums_or_independence_say_so():
    permutations_of_three = Potentials(torch.zeros(1, 9), space=Assignments(3))
    (reason,) = ScoreFunction().why_not(permutations_of_three)
    assert "sums over the states of Assignments are not known" in reason
    with pytest.raises(EstimatorError, match="use direct optimization, implicit MLE"):
        RAM()(permutations_of_three, lambda z: z.sum(dim=-1), seeded())


# --- a VAE over a space -------------------------------------------------------------------------


def tiny(space, n, prior="uniform"):
    torch.manual_seed(0)
    return paper_vae("independent", pixels=6, n=n, hidden=5, prior=prior, space=space).double()


IMAGES = torch.from_numpy(np.random.default_rng(0).integers(0, 2, size=(8, 6))).double()


@pytest.mark.parametrize("prior", ["uniform", "factorised"])
@pytest.mark.parametrize("name", ["3 of 6", "trees", "paths", "labels of sizes"])
def test_the_bound_of_a_vae_over_a_space_is_that_over_the_list(name, prior):
    space, n, expected = SPACES[name]
    vae = tiny(space, n, prior)
    log_prior = np.full(len(expected), -math.log(len(expected)))
    if prior != "uniform":
        with torch.no_grad():
            vae.prior.unary.copy_(torch.linspace(-1, 1, n))
        log_prior = np.log(softmax(expected @ vae.prior.unary.detach().numpy()))
    with torch.no_grad():
        table = vae.decoder.table(IMAGES, torch.from_numpy(expected)).numpy()
        unary = vae.encoder(IMAGES).unary.numpy()
    bounds, likelihoods = [], []
    for scores, costs in zip(unary, table, strict=True):
        p = softmax(expected @ scores)
        bounds.append(np.sum(p * (costs + np.log(p) - log_prior)))
        joint = log_prior - costs
        likelihoods.append(-(joint.max() + np.log(np.exp(joint - joint.max()).sum())))
    result = evaluate(vae, [(IMAGES,)], Gibbs, seeded())
    assert result.quantities["bound"].value == pytest.approx(np.mean(bounds), abs=1e-6)
    assert result.quantities["minus_log_p"].value == pytest.approx(np.mean(likelihoods), abs=1e-6)
    assert result.quantities["kl"].kind == "exact"
    objective = elbo_recipe(vae, IMAGES, Gibbs(vae.encoder(IMAGES)), "density")
    estimate = Exact()(vae.encoder(IMAGES), objective.cost, seeded())
    total = (estimate.cost + objective.kl).mean().item()
    assert total == pytest.approx(np.mean(bounds), abs=1e-6)


def test_a_vae_over_permutations_labels_its_bound():
    vae = tiny(Assignments(2), 4)
    result = evaluate(vae, [(IMAGES,)], PerturbAndMAP, seeded(), samples=50)
    assert result.quantities["bound"].kind == "bound"
    assert result.quantities["kl"].kind == "bound"
    assert result.quantities["minus_log_p"].kind == "exact"
    assert result.quantities["bound"].value > result.quantities["minus_log_p"].value
    objective = paper_recipe(vae, IMAGES, PerturbAndMAP(vae.encoder(IMAGES)), "folded")
    estimate = Direct()(vae.encoder(IMAGES), objective.cost, seeded())
    estimate.surrogate.mean().backward()
    assert all(p.grad is not None for p in vae.parameters())


@every_long_space
def test_the_likelihood_over_a_space_is_that_over_the_list_whatever_the_length(name):
    space, expected = LONG_STATES[name]
    vae = tiny(space, expected.shape[1])
    with torch.no_grad():
        costs = vae.decoder.table(IMAGES, torch.from_numpy(expected).double()).numpy()
    exact = np.mean(-np.log(np.exp(-costs).mean(axis=1)))
    found = evaluate(vae, [(IMAGES,)], PerturbAndMAP, seeded(), samples=20).quantities
    assert found["minus_log_p"].kind == "exact"
    assert found["minus_log_p"].value == pytest.approx(exact, abs=1e-6)
    assert found["bound"].kind == "bound"
    assert found["bound"].value > exact
    assert vae.sample(3, seeded()).shape == (3, 6)
    model = Explored(vae.float().eval(), None, (2, 3))
    encoded = model.encode(model.score(np.zeros(6, dtype=np.float32)), {}, count=2)
    assert as_set(encoded.best.states) <= as_set(expected)


@pytest.mark.parametrize("name", ["3 of 6", "permutations", "assignments"])
def test_samples_of_the_prior_are_images_of_states(name):
    space, n, _ = SPACES[name]
    vae = tiny(space, n)
    images = vae.sample(20, seeded())
    all_images = vae.decoder.mean(space.states(n, images))
    distances = (images[:, None] - all_images[None]).abs().amax(dim=-1).amin(dim=-1)
    assert distances.max() < 1e-9


def test_a_network_of_your_own_is_trained_over_a_space():
    class Scores(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 5)

        def forward(self, x):
            return Potentials(self.layer(x))

    vae = DiscreteVAE(Scores(), nn.Linear(5, 6), pixels=6, space=KOfN(2))
    q = Gibbs(vae.encoder(IMAGES.float()))
    assert (q.sample(seeded(), 10).sum(dim=-1) == 2).all()


def test_what_cannot_have_a_space_is_refused():
    with pytest.raises(SettingError, match="without pairwise scores"):
        paper_vae("general", n=4, space=KOfN(2))
    with pytest.raises(SettingError, match="encoder is categorical"):
        paper_vae("categorical", k=4, space=KOfN(2))
    with pytest.raises(StructureError, match="k = 5 is more than the number of variables, 4"):
        paper_vae("independent", n=4, space=KOfN(5))


@pytest.mark.parametrize("name", DEPENDENT)
def test_no_bound_over_a_space_is_refined_by_flips_that_leave_it(name):
    space, n, _ = SPACES[name]
    with pytest.raises(ConfigError, match="a flip of a bit may leave; set refine to 0"):
        evaluate(tiny(space, n), [(IMAGES,)], PerturbAndMAP, seeded(), samples=5, refine=3)


def test_a_refined_bound_over_all_bits_is_no_less_than_the_likelihood_over_the_list():
    vae = tiny(Bits(), 5)
    with torch.no_grad():
        costs = vae.decoder.table(IMAGES, torch.from_numpy(all_bits(5)).double()).numpy()
    exact = np.mean(-np.log(np.exp(-costs).mean(axis=1)))
    found = evaluate(vae, [(IMAGES,)], Gibbs, seeded(), samples=5, refine=2)
    assert found.quantities["refined_bound"].value >= exact - 1e-9


@pytest.mark.parametrize(
    ("prior", "space", "message"),
    [
        ("linear", KOfN(2), "the prior linear is over all states, and not over KOfN"),
        ("made", KOfN(2), "the prior made is over all states, and not over KOfN"),
        ("transformer", KOfN(2), "the prior transformer is over all states, and not over KOfN"),
        ("gibbs", KOfN(2), "the prior gibbs has scores of pairs"),
        ("made", Assignments(2), "the prior made is over all states, and not over Assignments"),
        ("factorised", Assignments(2), "needs sums over the states of Assignments"),
    ],
)
def test_a_prior_over_other_states_than_the_model_is_refused(prior, space, message):
    with pytest.raises(SettingError, match=message):
        paper_vae("independent", pixels=6, n=4, prior=prior, space=space)
    vae = paper_vae("independent", pixels=6, n=4, prior=prior)
    with pytest.raises(SettingError, match=message):
        vae.restrict(space)
    assert vae.space is None
    assert vae.encoder.space is None
    later = paper_vae("independent", pixels=6, n=4, space=space)
    later.prior = vae.prior
    if prior in ("linear", "made", "transformer"):
        with pytest.raises(SettingError, match=message):
            evaluate(later, [(IMAGES.float(),)], PerturbAndMAP, seeded(), samples=5)


def test_the_space_of_the_potentials_of_your_own_network_is_that_of_the_model():
    class Scores(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 5)

        def forward(self, x):
            return Potentials(self.layer(x), space=KOfN(2))

    assert DiscreteVAE(Scores(), nn.Linear(5, 6), pixels=6).space == KOfN(2)
    made = paper_vae("independent", n=5, prior="made").prior
    with pytest.raises(SettingError, match="over all states, and not over KOfN"):
        DiscreteVAE(Scores(), nn.Linear(5, 6), pixels=6, prior=made)


def test_a_posterior_over_a_part_of_the_states_of_the_prior_is_refused():
    vae = tiny(None, 5, "made")

    def over_subsets(potentials):
        return Gibbs(potentials, KOfN(2))

    with pytest.raises(ConfigError, match=r"posterior is over KOfN.*, and the prior over Bits"):
        evaluate(vae, [(IMAGES,)], over_subsets, seeded(), samples=5)
    with pytest.raises(ConfigError, match=r"posterior is over KOfN.*, and the prior over Bits"):
        elbo_recipe(vae, IMAGES, over_subsets(vae.encoder(IMAGES)), "density")
    with pytest.raises(ConfigError, match=r"posterior is over KOfN.*, and the prior over Bits"):
        evaluate(tiny(None, 5), [(IMAGES,)], over_subsets, seeded(), samples=5)
    with pytest.raises(ConfigError, match=r"posterior is over Bits.*, and the prior over KOfN"):
        elbo_recipe(tiny(KOfN(2), 5, "factorised"), IMAGES, vae.encoder(IMAGES), "density")


def test_spaces_of_one_object_are_the_same():
    one = OnlyAnArgmax()
    assert as_space(one) == as_space(one)
    assert as_space(one) != as_space(OnlyAnArgmax())
    vae = paper_vae("independent", n=4, space=as_space(one))
    vae.restrict(as_space(one))


def test_a_prior_over_all_states_of_bits_is_one_over_the_space_of_all_bits():
    vae = tiny(Bits(), 4, "made")
    assert vae.sample(3, seeded()).shape == (3, 6)
    other = tiny(None, 4, "made")
    bounds = [
        evaluate(one, [(IMAGES,)], Gibbs, seeded()).quantities["bound"].value
        for one in (vae, other)
    ]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-9)


@pytest.mark.parametrize(
    "value", [OnlyAnArgmax(), KOfN, 3, "subset"], ids=["an object", "a class", "a number", "a name"]
)
def test_an_object_that_is_no_space_is_refused_by_a_vae(value):
    with pytest.raises(SettingError, match=r"structured_vae\.spaces\.as_space"):
        paper_vae("independent", n=4, space=value)
    vae = paper_vae("independent", pixels=6, n=4, space=as_space(OnlyAnArgmax()))
    assert as_set(vae.space.states(4, torch.zeros(1))) == as_set(SPACES["custom"][2])


EVERY_SPACE_OF_BITS = {name: entry for name, entry in SPACES.items() if not entry[0].categorical}
EVERY_SPACE_OF_BITS |= {
    "segments": (Segments(2, 2, 2), 16, segmentations(2, 2, 2)),
    "second order": (SecondOrderChains(3, 2), 12, np.zeros((8, 12))),
    "constraints": (ConstrainedBits([cardinality(2)]), 4, subsets(4, [2])),
}


def fitted(config, vae):
    """Return the estimator of a configuration, or None and why it does not fit."""
    try:
        return fitting_estimator(config, vae, "auto").double(), ""
    except ConfigError as error:
        return None, str(error)


@pytest.mark.spread(6)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", EVERY_SPACE_OF_BITS)
def test_every_estimator_trains_over_a_space_or_is_refused_with_those_that_fit(name, estimator):
    space, n, _ = EVERY_SPACE_OF_BITS[name]
    vae = tiny(space, n)
    config = TrainConfig(encoder="independent", n=n, estimator=estimator)
    used, refusal = fitted(config, vae)
    if used is None:
        assert f"the estimator {estimator} does not fit" in refusal
        fitting = refusal.rpartition("Estimators that fit: ")[2].split(", ")
        assert {"direct", "implicit_mle"} <= set(fitting)
        assert estimator not in fitting
        assert ("exact" in fitting) == space.tractable
        return
    q = used.posterior(vae.encoder(IMAGES))
    objective = elbo_recipe(vae, IMAGES, q, used.kl)
    estimate = used(q, objective.cost, seeded())
    assert space.contains(estimate.z.reshape(-1, n)).all()
    total = estimate.surrogate + objective.kl
    total.mean().backward()
    assert all(weight.grad.isfinite().all() for weight in vae.parameters())


@pytest.mark.parametrize("estimator", ["exact", "maximum_likelihood", "ram", "table_direct", "arm"])
def test_a_misfit_over_permutations_names_the_estimators_that_fit(estimator):
    config = TrainConfig(space="assignment", n=9, estimator=estimator)
    used, refusal = fitted(config, tiny(Assignments(3), 9))
    assert used is None
    assert "the sums over the states of Assignments are not known" in refusal
    assert "Estimators that fit: direct, implicit_mle, adaptive_implicit_mle" in refusal


def test_direct_optimization_by_a_table_needs_no_sums_with_noise_on_the_unary_scores():
    vae = tiny(Assignments(3), 9)
    h = vae.encoder(IMAGES)
    assert TableDirect(noise="unary").why_not(h) == ()
    (reason,) = TableDirect().why_not(h)
    assert "sums over the states of Assignments" in reason
    estimate = TableDirect(noise="unary")(h, Reconstruction(vae.decoder, IMAGES), seeded())
    assert vae.space.contains(estimate.z.reshape(-1, 9)).all()
