"""Structures against the enumeration of their states."""

import copy
import itertools
import pickle
from dataclasses import dataclass
from functools import cached_property

import array_api_strict
import networkx as nx
import numpy as np
import pytest
import torch
from enumeration import LEVEL, all_bits, seeded, softmax
from torch.autograd import gradcheck, gradgradcheck

from models import Potentials
from solvers import ProblemTooLargeError
from structured_vae import (
    Arborescences,
    ArgmaxLayer,
    Assignments,
    Constant,
    CostOfBits,
    Direct,
    DirectLoss,
    Gibbs,
    GibbsLikelihood,
    Hamming,
    ImplicitMLE,
    ImplicitMLELoss,
    Knapsack,
    KOfN,
    Matchings,
    PairwiseCRF,
    Paths,
    PerturbedFenchelYoung,
    Relative,
    ScoreFunction,
    SpanningTrees,
    StructuredHinge,
    StructuredPerceptron,
    grid_paths,
)
from structured_vae.errors import EstimatorError, MissingPackageError, StructureError
from structured_vae.estimators import PerturbedArgmax
from structured_vae.spaces import PairwiseLabels, Structure, as_space

DAG = [[4, 2], [2, 0], [4, 0], [0, 5], [2, 5], [4, 2], [5, 1], [3, 5], [0, 1], [1, 6], [2, 1]]
GRAPH = [[0, 1], [1, 2], [3, 0], [3, 4], [4, 5], [5, 2], [1, 4], [0, 5]]
DIGRAPH = [
    [2, 0],
    [0, 1],
    [1, 0],
    [1, 3],
    [3, 1],
    [0, 4],
    [4, 3],
    [3, 0],
    [2, 4],
    [0, 2],
    [4, 1],
    [2, 1],
]


def is_path(arcs, source, target):
    """By the definition: as many steps as arcs lead from source to target."""

    def fits(z):
        chosen = [arc for arc, one in zip(arcs, z, strict=True) if one]
        tails = dict(chosen)
        node, steps = source, 0
        while node in tails and steps <= len(chosen):
            node, steps = tails[node], steps + 1
        return len(tails) == len(chosen) == steps > 0 and node == target

    return fits


def is_tree(edges):
    nodes = range(max(map(max, edges)) + 1)

    def fits(z):
        graph = nx.Graph()
        graph.add_nodes_from(nodes)
        graph.add_edges_from(edge for edge, one in zip(edges, z, strict=True) if one)
        return nx.is_tree(graph)

    return fits


def is_arborescence(arcs, root):
    nodes = range(max(map(max, arcs)) + 1)

    def fits(z):
        graph = nx.DiGraph()
        graph.add_nodes_from(nodes)
        graph.add_edges_from(arc for arc, one in zip(arcs, z, strict=True) if one)
        return nx.is_arborescence(graph) and graph.in_degree(root) == 0

    return fits


def matched(rows, columns, complete):
    def fits(z):
        table = z.reshape(rows, columns)
        once = (table.sum(axis=0) <= 1).all() and (table.sum(axis=1) <= 1).all()
        return once and (not complete or table.sum() == min(rows, columns))

    return fits


def are_labels(sizes, k, edges):
    """Whether these are the indicators of an assignment."""

    def state(labels):
        parts = [np.eye(k)[label] for label in labels]
        parts += [np.outer(parts[i], parts[j]).ravel() for i, j in edges]
        return np.concatenate(parts)

    states = {tuple(state(labels)) for labels in itertools.product(*map(range, sizes))}
    return lambda z: tuple(z.astype(float)) in states


@dataclass(frozen=True)
class Case:
    structure: Structure
    n: int
    fits: object

    @cached_property
    def states(self):
        """`[states, n]`: enumerated once for all tests."""
        bits = all_bits(self.n)
        return bits[[bool(self.fits(z)) for z in bits]].astype(float)


ARCS_3 = grid_paths(3, 3).arcs.tolist()
CASES = {
    "k of n": Case(KOfN(3), 6, lambda z: z.sum() == 3),
    "none of n": Case(KOfN(0), 3, lambda z: z.sum() == 0),
    "all of n": Case(KOfN(4), 4, lambda z: z.sum() == 4),
    "one to three of n": Case(KOfN(3, least=1), 6, lambda z: 1 <= z.sum() <= 3),
    "at most two": Case(KOfN(2, least=0), 5, lambda z: z.sum() <= 2),
    "knapsack": Case(Knapsack([3, 1, 4, 0, 2, 9], 6), 6, lambda z: z @ [3, 1, 4, 0, 2, 9] <= 6),
    "large knapsack": Case(Knapsack(np.array([3, 1, 4]), 100), 3, lambda z: True),
    "empty knapsack": Case(Knapsack([3, 0, 4], 0), 3, lambda z: z[0] == z[2] == 0),
    "grid": Case(grid_paths(3, 3), 12, is_path(ARCS_3, 0, 8)),
    "line": Case(grid_paths(1, 4), 3, lambda z: z.all()),
    "dag": Case(Paths(DAG, 4, 1), 11, is_path(DAG, 4, 1)),
    "trees": Case(SpanningTrees(GRAPH), 8, is_tree(GRAPH)),
    "trees of all pairs": Case(
        SpanningTrees(np.stack(np.triu_indices(5, 1), 1)),
        10,
        is_tree(list(nx.complete_graph(5).edges)),
    ),
    "one edge": Case(SpanningTrees([[1, 0]]), 1, lambda z: z[0] == 1),
    "arborescences": Case(Arborescences(DIGRAPH, 2), 12, is_arborescence(DIGRAPH, 2)),
    "arborescences from 0": Case(
        Arborescences(list(nx.complete_graph(4, nx.DiGraph).edges)),
        12,
        is_arborescence(list(nx.complete_graph(4, nx.DiGraph).edges), 0),
    ),
    "permutations": Case(Assignments(3), 9, matched(3, 3, complete=True)),
    "assignments": Case(Assignments(2, 4), 8, matched(2, 4, complete=True)),
    "assignments of columns": Case(Assignments(4, 2), 8, matched(4, 2, complete=True)),
    "matchings": Case(Matchings(3), 9, matched(3, 3, complete=False)),
    "matchings of unequal sides": Case(Matchings(2, 3), 6, matched(2, 3, complete=False)),
}
CASES |= {
    "two labels": Case(PairwiseLabels(2, 2, [[1, 0]]), 8, are_labels([2, 2], 2, [[1, 0]])),
    "labels of a chain": Case(
        PairwiseLabels(3, 2, [[0, 1], [2, 1]], sizes=[2, 2, 1]),
        14,
        are_labels([2, 2, 1], 2, [[0, 1], [2, 1]]),
    ),
    "labels without pairs": Case(PairwiseLabels(3, 3), 9, are_labels([3, 3, 3], 3, [])),
}
TRACTABLE = [name for name, case in CASES.items() if as_space(case.structure).tractable]
LEARNT = [
    "k of n",
    "one to three of n",
    "knapsack",
    "grid",
    "dag",
    "trees",
    "arborescences",
    "permutations",
]
every_case = pytest.mark.parametrize("name", CASES)
every_tractable_case = pytest.mark.parametrize("name", TRACTABLE)


def drawn(n, batch=20, scale=1.0, seed=0):
    return scale * np.random.default_rng(seed).normal(size=(batch, n))


def with_ties(n, batch=20):
    return np.random.default_rng(1).integers(-1, 2, size=(batch, n)).astype(float)


def index_of(z, states):
    """The number of each state; fails where it is none."""
    same = (np.asarray(z)[..., None, :] == states).all(axis=-1)
    assert same.any(axis=-1).all()
    return same.argmax(axis=-1)


def test_the_cases_have_states():
    assert {name: len(case.states) for name, case in CASES.items() if len(case.states) < 2} == {
        "none of n": 1, "all of n": 1, "line": 1, "one edge": 1,
    }  # fmt: skip
    assert len(TRACTABLE) == 19


@pytest.mark.spread(48)
@every_case
@pytest.mark.parametrize("kind", ["normal", "ties", "zeros", "wide", "float32", "negative"])
def test_argmax_is_the_best_of_all_states(name, kind):
    case = CASES[name]
    scores = {
        "normal": drawn(case.n),
        "ties": with_ties(case.n),
        "zeros": np.zeros((2, case.n)),
        "wide": drawn(case.n) * 10.0 ** np.random.default_rng(2).integers(-8, 9, size=(20, case.n)),
        "float32": drawn(case.n).astype(np.float32),
        "negative": -1 - np.abs(drawn(case.n)),
    }[kind]
    z = case.structure.argmax(torch.from_numpy(scores))
    assert z.dtype == torch.from_numpy(scores).dtype
    index_of(z, case.states)
    exact = scores.astype(float)
    found, best = (exact * z.numpy()).sum(axis=-1), (exact @ case.states.T).max(axis=-1)
    np.testing.assert_allclose(found, best, rtol=1e-12, atol=1e-9)


@every_case
def test_argmax_takes_any_leading_dimensions_each_instance_by_itself(name):
    case = CASES[name]
    scores = torch.from_numpy(drawn(case.n, 6)).reshape(2, 3, case.n)
    z = case.structure.argmax(scores)
    assert z.shape == scores.shape
    single = torch.stack([case.structure.argmax(row) for row in scores.reshape(6, case.n)])
    assert torch.equal(z.reshape(6, case.n), single)
    assert case.structure.argmax(scores[:0]).shape == (0, 3, case.n)


@pytest.mark.spread(5)
@every_tractable_case
@pytest.mark.parametrize("scale", [0.0, 1.0, 300.0])
def test_log_partition_and_marginals(name, scale):
    case = CASES[name]
    scores = drawn(case.n, 10, scale)
    table = scores @ case.states.T
    distribution = case.structure.gibbs(torch.from_numpy(scores))
    log_z = np.logaddexp.reduce(table, axis=-1)
    np.testing.assert_allclose(distribution.log_partition, log_z, rtol=1e-11, atol=1e-10)
    expected = np.exp(table - log_z[:, None]) @ case.states
    np.testing.assert_allclose(distribution.marginals, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.spread(6)
@every_tractable_case
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_first_and_second_derivatives(name, scale):
    case = CASES[name]
    scores = torch.from_numpy(drawn(case.n, 2, scale)).requires_grad_()
    assert gradcheck(lambda s: case.structure.gibbs(s).log_partition, scores)
    assert gradgradcheck(lambda s: case.structure.gibbs(s).log_partition, scores, atol=1e-4)


@every_tractable_case
def test_far_scores_keep_second_derivatives_finite(name):
    case = CASES[name]
    scores = torch.from_numpy(drawn(case.n, 4, 3000.0)).requires_grad_()
    case.structure.gibbs(scores).marginals.square().sum().backward()
    assert scores.grad.isfinite().all()


@every_tractable_case
def test_marginals_without_a_gradient(name):
    case = CASES[name]
    scores = torch.from_numpy(drawn(case.n, 3)).float()
    with torch.no_grad():
        marginals = case.structure.gibbs(scores.clone().requires_grad_()).marginals
    assert not marginals.requires_grad
    assert marginals.dtype == torch.float32
    assert torch.equal(marginals, case.structure.gibbs(scores).marginals)


def far_from(frequencies, probabilities, draws):
    """The largest deviation of what is expected 20 times and more, in standard errors."""
    often = (draws * probabilities > 20) & (probabilities < 1)
    error = np.sqrt(probabilities * (1 - probabilities) / draws)
    return np.max(np.abs(frequencies - probabilities)[often] / error[often], initial=0)


@pytest.mark.spread(4)
@pytest.mark.statistical
@every_tractable_case
def test_samples_have_their_probabilities(name):
    case, draws = CASES[name], 60_000
    states, scores = case.states, drawn(case.n, 2, seed=3)
    z = case.structure.gibbs(torch.from_numpy(scores).float()).sample(seeded(), draws)
    assert z.shape == (draws, 2, case.n)
    assert z.dtype == torch.float32
    numbers = index_of(z, states)
    for i, unary in enumerate(scores):
        found = np.bincount(numbers[:, i], minlength=len(states)) / draws
        assert far_from(found, softmax(states @ unary), draws) < LEVEL
        if len(states) > 1:
            assert far_from(found, softmax(1.1 * states @ unary), draws) > LEVEL


@every_tractable_case
def test_samples_of_far_scores_are_the_argmax(name):
    case = CASES[name]
    scores = torch.from_numpy(drawn(case.n, 5, 1e6))
    z = case.structure.gibbs(scores).sample(seeded(), 3)
    assert torch.equal(z, case.structure.argmax(scores).expand(3, 5, case.n))


def test_large_trees_agree_with_determinants_and_networkx():
    graph = nx.random_regular_graph(5, 40, seed=0)
    edges = np.array(graph.edges)
    scores = drawn(len(edges), 3)
    structure = SpanningTrees(edges)
    for s, log_z, z in zip(
        scores,
        structure.gibbs(torch.from_numpy(scores)).log_partition,
        structure.argmax(torch.from_numpy(scores)),
        strict=True,
    ):
        weighted = nx.Graph()
        weighted.add_weighted_edges_from(
            (*edge, value) for edge, value in zip(edges.tolist(), s, strict=True)
        )
        tree = nx.maximum_spanning_tree(weighted)
        np.testing.assert_allclose(s @ z.numpy(), tree.size("weight"))
        for _, _, data in weighted.edges(data=True):
            data["weight"] = np.exp(data["weight"])
        laplacian = nx.laplacian_matrix(weighted, range(40)).toarray()
        np.testing.assert_allclose(log_z, np.linalg.slogdet(laplacian[1:, 1:])[1])


def test_large_arborescences_agree_with_networkx():
    arcs = np.array(nx.complete_graph(12, nx.DiGraph).edges)
    arcs = arcs[arcs[:, 1] != 0]
    scores = drawn(len(arcs), 10)
    found = Arborescences(arcs).argmax(torch.from_numpy(scores)).numpy()
    for s, z in zip(scores, found, strict=True):
        graph = nx.DiGraph()
        graph.add_weighted_edges_from(
            (*arc, value) for arc, value in zip(arcs.tolist(), s, strict=True)
        )
        tree = nx.DiGraph(arcs[z == 1].tolist())
        assert nx.is_arborescence(tree)
        np.testing.assert_allclose(s @ z, nx.maximum_spanning_arborescence(graph).size("weight"))


@pytest.mark.parametrize(
    "name", ["trees", "arborescences", "dag", "k of n", "knapsack", "permutations"]
)
def test_a_structure_is_copied_and_pickled(name):
    case = CASES[name]
    scores = torch.from_numpy(drawn(case.n))
    for other in (copy.deepcopy(case.structure), pickle.loads(pickle.dumps(case.structure))):  # noqa: S301
        assert torch.equal(other.argmax(scores), case.structure.argmax(scores))
    assert type(case.structure).__name__ in repr(case.structure)


# --- what learns with them ----------------------------------------------------------------------


def direct(structure, scores, y, generator):
    return Direct(structure, Relative())(Potentials(scores), Hamming(y), generator).surrogate


def layer_with_cost(structure, scores, y, generator):
    distance = CostOfBits(lambda z: (z - y).abs().sum(dim=-1))
    return ArgmaxLayer(structure)(scores, cost=distance, generator=generator).surrogate


def layer(structure, scores, y, generator):
    return (ArgmaxLayer(structure)(scores, generator=generator) - y).square().sum(dim=-1)


def implicit_mle(structure, scores, y, generator):
    return ImplicitMLE(structure, Constant(2.0))(
        Potentials(scores), Hamming(y), generator
    ).surrogate


def perturbed_argmax(structure, scores, y, generator):
    return PerturbedArgmax(structure, samples=16)(
        Potentials(scores), Hamming(y), generator
    ).surrogate


def score_function(structure, scores, y, generator):
    return ScoreFunction(8, structure)(Potentials(scores), Hamming(y), generator).surrogate


def loss(kind, **options):
    def given(structure, scores, y, generator):
        return kind(structure, **options)(scores, target=y, generator=generator)

    return given


LEARNERS = {
    "direct": direct,
    "layer with a cost": layer_with_cost,
    "layer": layer,
    "implicit MLE": implicit_mle,
    "perturbed argmax": perturbed_argmax,
    "score function": score_function,
    "perceptron": loss(StructuredPerceptron),
    "hinge": loss(StructuredHinge),
    "Fenchel-Young": loss(PerturbedFenchelYoung, samples=4),
    "direct loss": loss(DirectLoss),
    "implicit MLE loss": loss(ImplicitMLELoss),
    "likelihood": loss(GibbsLikelihood),
}
NEEDS_GIBBS = {"score function", "likelihood"}
"""Those that take a structure with sums over its states only."""


@pytest.mark.spread(10)
@pytest.mark.parametrize("name", LEARNT)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_finds_the_targets(name, learner):
    case = CASES[name]
    if learner in NEEDS_GIBBS and name not in TRACTABLE:
        y = torch.from_numpy(case.states[:1]).float()
        with pytest.raises((StructureError, EstimatorError), match=r"no gibbs|not known"):
            LEARNERS[learner](case.structure, torch.zeros(1, case.n), y, seeded())
        return
    states = case.states
    y = torch.from_numpy(states[np.random.default_rng(0).integers(len(states), size=12)]).float()
    scores = torch.from_numpy(drawn(case.n, 12)).float().requires_grad_()
    before = (case.structure.argmax(scores.detach()) - y).abs().sum(dim=-1)
    adam, generator = torch.optim.Adam([scores], lr=0.5), seeded(1)
    for _ in range(30):
        adam.zero_grad()
        LEARNERS[learner](case.structure, scores, y, generator).sum().backward()
        adam.step()
    after = (case.structure.argmax(scores.detach()) - y).abs().sum(dim=-1)
    assert after.mean() < 0.2 * before.mean()


@pytest.mark.spread(3)
@pytest.mark.statistical
@pytest.mark.parametrize("name", [name for name in LEARNT if name in TRACTABLE])
def test_the_score_function_is_unbiased(name):
    case, draws = CASES[name], 60_000
    states, unary = case.states, drawn(case.n, 1)[0]
    values = np.random.default_rng(4).normal(size=case.n)
    costs, p = (states @ values) ** 2, softmax(states @ unary)
    expected = (p * costs) @ (states - p @ states)
    h = Potentials(torch.from_numpy(unary).expand(draws, -1).clone().requires_grad_())
    squared = CostOfBits(lambda z: (z @ torch.from_numpy(values)).square())
    ScoreFunction(2, case.structure)(h, squared, seeded()).surrogate.sum().backward()
    given = h.unary.grad.numpy()
    error = given.std(axis=0, ddof=1) / draws**0.5
    varies = error > 1e-12
    assert (np.abs(given.mean(axis=0) - expected)[varies] / error[varies]).max() < LEVEL
    assert (np.abs(1.1 * given.mean(axis=0) - expected)[varies] / error[varies]).max() > LEVEL


@every_tractable_case
def test_kl_entropy_and_log_prob(name):
    case = CASES[name]
    states, scores = case.states, drawn(case.n, 5)
    q = Gibbs(Potentials(torch.from_numpy(scores)), case.structure)
    table = scores @ states.T
    log_p = table - np.logaddexp.reduce(table, axis=-1, keepdims=True)
    entropy = -(np.exp(log_p) * log_p).sum(axis=-1)
    kl = q.kl()
    assert kl.valid
    np.testing.assert_allclose(q.entropy(), entropy, atol=1e-10)
    np.testing.assert_allclose(kl.value, np.log(len(states)) - entropy, atol=1e-10)
    z = torch.from_numpy(states)[:, None].expand(-1, 5, -1)
    np.testing.assert_allclose(q.log_prob(z), log_p.T, atol=1e-10)


def test_the_gradient_of_the_kl_is_that_of_enumeration():
    case = CASES["trees"]
    scores = torch.from_numpy(drawn(case.n, 3)).requires_grad_()
    (found,) = torch.autograd.grad(
        Gibbs(Potentials(scores), case.structure).kl().value.sum(), scores
    )
    log_p = (scores @ torch.from_numpy(case.states).T).log_softmax(dim=-1)
    (expected,) = torch.autograd.grad((log_p.exp() * log_p).sum(), scores)
    torch.testing.assert_close(found, expected)


# --- what cannot be -----------------------------------------------------------------------------

BAD = {
    "a k that is no integer": lambda: KOfN(1.5),
    "a negative k": lambda: KOfN(-1),
    "a k that is true": lambda: KOfN(True),
    "more at least than at most": lambda: KOfN(2, least=3),
    "weights of fractions": lambda: Knapsack([1.5, 2], 3),
    "negative weights": lambda: Knapsack([1, -2], 3),
    "no weights": lambda: Knapsack([], 3),
    "ragged weights": lambda: Knapsack([[1], [1, 2]], 3),
    "a capacity of a fraction": lambda: Knapsack([1, 2], 2.5),
    "a negative capacity": lambda: Knapsack([1, 2], -1),
    "a cycle": lambda: Paths([[0, 1], [1, 2], [2, 1], [2, 3]], 0, 3),
    "no path": lambda: Paths([[0, 1], [2, 3]], 0, 3),
    "a path to where it starts": lambda: Paths([[0, 1]], 0, 0),
    "a target that is no node": lambda: Paths([[0, 1]], 0, 7),
    "a source that is no integer": lambda: Paths([[0, 1]], "a", 1),
    "arcs that are triples": lambda: Paths([[0, 1, 2]], 0, 1),
    "arcs of fractions": lambda: Paths([[0.5, 1]], 0, 1),
    "no arcs": lambda: Paths([], 0, 1),
    "a grid of one node": lambda: grid_paths(1, 1),
    "a grid of the world": lambda: grid_paths(10**9, 10**9),
    "a node far away": lambda: SpanningTrees([[0, 10**12]]),
    "an arc to far away": lambda: Arborescences([[0, 10**12]]),
    "a grid without rows": lambda: grid_paths(0, 3),
    "a loop": lambda: SpanningTrees([[0, 1], [1, 1]]),
    "negative nodes": lambda: SpanningTrees([[0, -1]]),
    "a graph in two": lambda: SpanningTrees([[0, 1], [2, 3]]),
    "a node without edges": lambda: SpanningTrees([[0, 2]]),
    "an edge twice": lambda: SpanningTrees([[0, 1], [1, 0]]),
    "an arc twice": lambda: Arborescences([[0, 1], [0, 1]]),
    "a node out of reach": lambda: Arborescences([[0, 1], [2, 1]]),
    "a root that is no node": lambda: Arborescences([[0, 1]], root=5),
    "no rows": lambda: Assignments(0),
    "half a column": lambda: Matchings(2, 1.5),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_structures_that_cannot_be(what):
    with pytest.raises(StructureError):
        BAD[what]()


@pytest.mark.spread(28)
@pytest.mark.parametrize("name", LEARNT)
@pytest.mark.parametrize(
    "kind", ["wrong n", "integers", "NaN", "infinite", "huge", "a list", "a number"]
)
def test_scores_that_cannot_be(name, kind):
    case = CASES[name]
    n = 2 if kind == "wrong n" else case.n
    scores = {
        "integers": torch.zeros(1, n, dtype=torch.long),
        "NaN": torch.full((1, n), torch.nan),
        "infinite": torch.full((1, n), torch.inf),
        "huge": torch.full((1, n), 1e60, dtype=torch.float64),
        "a list": [[0.0] * n],
        "a number": torch.tensor(0.0),
    }.get(kind, torch.zeros(1, n))
    with pytest.raises(StructureError):
        case.structure.argmax(scores)
    if name in TRACTABLE:
        with pytest.raises(StructureError):
            _ = case.structure.gibbs(scores).log_partition


def test_a_knapsack_larger_than_memory_is_refused():
    structure = Knapsack([10**12, 3], 10**12)
    with pytest.raises(StructureError, match="divide weights and capacity"):
        structure.argmax(torch.zeros(1, 2))
    with pytest.raises(StructureError, match="divide weights and capacity"):
        _ = structure.gibbs(torch.zeros(1, 2)).log_partition


@pytest.mark.parametrize("kind", [Assignments, Matchings])
def test_assignments_without_scipy_say_what_to_install(kind, hide_packages):
    hide_packages()
    with pytest.raises(MissingPackageError, match="pip install"):
        kind(2)


def test_a_distribution_of_pairs_or_of_what_has_no_sums():
    pairs = Potentials(torch.zeros(1, 3), torch.zeros(1, 1), torch.tensor([[0, 1]]))
    with pytest.raises(StructureError, match="no pairwise scores"):
        Gibbs(pairs, KOfN(1))
    with pytest.raises((StructureError, EstimatorError), match=r"no gibbs|not known"):
        Gibbs(Potentials(torch.zeros(1, 4)), Assignments(2))


def test_labels_that_no_memory_holds():
    for k in (10**300, 10**9):
        with pytest.raises((StructureError, ProblemTooLargeError), match=r"memory|whole number"):
            PairwiseLabels(2, k, [[0, 1]])
    elsewhere = array_api_strict.zeros(2, device=array_api_strict.Device("device1"))
    for groups in (torch.zeros(2, requires_grad=True), elsewhere):
        with pytest.raises(StructureError, match="groups must be integers"):
            PairwiseCRF(3, 2, [[0, 1], [1, 2]], groups)


@pytest.mark.parametrize("labels", [[0, 2], [2, 0]], ids=["too large for its variable", "in range"])
def test_labels_must_be_values_of_their_own_variable(labels):
    structure = PairwiseLabels(2, 3, [[0, 1]], sizes=[3, 2])
    if labels[1] < 2:
        assert structure.labels(structure.states_of(torch.tensor(labels))).tolist() == labels
        return
    with pytest.raises(StructureError, match="values that their variables have"):
        structure.states_of(torch.tensor(labels))


def test_a_matching_leaves_pairs_of_score_zero_out():
    assert not Matchings(2, 3).argmax(torch.zeros(2, 6)).any()
    scores = torch.tensor([[0.0, 1.0, -1.0, 0.0]])
    assert Matchings(2).argmax(scores).tolist() == [[0.0, 1.0, 0.0, 0.0]]


def test_no_variables_have_one_state():
    scores = torch.zeros(2, 0, requires_grad=True)
    structure = KOfN(0, least=0)
    assert structure.argmax(scores).shape == (2, 0)
    p = structure.gibbs(scores)
    assert p.log_partition.tolist() == [0.0, 0.0]
    assert p.marginals.shape == (2, 0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nested_scores_are_refused():
    scores = torch.nested.nested_tensor([torch.ones(3), torch.ones(4)])
    for space in (KOfN(2), KOfN(torch.tensor([1, 2])), Knapsack([1, 2, 3], 2)):
        with pytest.raises(StructureError):
            space.argmax(scores)
