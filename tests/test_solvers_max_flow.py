"""`max_flow` beyond 62 variables: dense and sparse kernels against PyMaxflow, networkx and each other."""

import sys

import maxflow
import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Problem, UnsupportedProblemError, solve, solver_class
from solvers.algorithms.max_flow.dense import dense_argmax
from solvers.algorithms.max_flow.sparse import sparse_argmax
from solvers.algorithms.precision.fixed_point import FixedPoint
from solvers.backends import pymaxflow
from solvers.backends.max_flow import _is_dense
from solvers.instances import grid, supermodular
from solvers.testing import enumerate_scores, random_instances

SEEDS = st.integers(0, 2**32 - 1)


def terminals(unary, pairwise, edges):
    """Of twice the score, as integers: balance_i = 2 unary_i + sum_j pairwise_ij."""
    balance = 2 * unary.astype(np.int64)
    np.add.at(balance, edges.ravel(), np.repeat(pairwise.astype(np.int64), 2))
    return balance


def maximum_by_pymaxflow(unary, pairwise, edges):
    """The maximum of an integer instance."""
    balance = terminals(unary, pairwise, edges)
    graph = maxflow.GraphInt(len(unary), len(edges))
    nodes = graph.add_grid_nodes(len(unary))
    graph.add_grid_tedges(nodes, np.maximum(balance, 0), np.maximum(-balance, 0))
    if len(edges):
        capacity = pairwise.astype(np.int64)
        graph.add_edges(edges[:, 0], edges[:, 1], capacity, capacity)
    return (np.maximum(balance, 0).sum() - graph.maxflow()) / 2


def maximum_by_networkx(unary, pairwise, edges):
    """The maximum of an integer instance."""
    balance = terminals(unary, pairwise, edges)
    graph = nx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for i, level in enumerate(balance.tolist()):
        graph.add_edge("source", i, capacity=max(level, 0))
        graph.add_edge(i, "sink", capacity=max(-level, 0))
    for (i, j), capacity in zip(edges.tolist(), pairwise.astype(int).tolist(), strict=True):
        graph.add_edge(i, j, capacity=capacity)
        graph.add_edge(j, i, capacity=capacity)
    value, _ = nx.minimum_cut(graph, "source", "sink")
    return (np.maximum(balance, 0).sum() - value) / 2


def drawn(n, degree, generator, *, largest=1000, batch=3):
    """Integer instances on a random graph of a mean degree, unary scores balanced; small ones have ties."""
    pairs = np.stack(np.triu_indices(n, 1), axis=-1)
    count = min(len(pairs), int(n * degree / 2))
    edges = pairs[generator.choice(len(pairs), count, replace=False)]
    pairwise = generator.integers(0, largest + 1, (batch, count)).astype(np.float64)
    spread = max(1, int(largest * np.sqrt(degree)))
    unary = generator.integers(-spread, spread + 1, (batch, n)).astype(np.float64)
    for side in (0, 1):
        np.add.at(unary.T, edges[:, side], -(pairwise.T // 2))
    return unary, pairwise, edges


def check_maxima(unary, pairwise, edges, maximum=maximum_by_pymaxflow):
    solution = solve(unary, pairwise, edges=edges, solver="max_flow")
    expected = [maximum(u, w, edges) for u, w in zip(unary, pairwise, strict=True)]
    np.testing.assert_array_equal(solution.score, expected)
    np.testing.assert_array_equal(solution.bound, expected)
    assert solution.optimal.all()
    return solution


@pytest.mark.spread(32)
@pytest.mark.parametrize("n", [63, 64, 65, 100, 127, 128, 129, 200])
@pytest.mark.parametrize("degree", [0, 2, 4, 8, 20, 500])
@pytest.mark.parametrize("largest", [1, 1000])
def test_maxima_are_those_of_pymaxflow(n, degree, largest):
    check_maxima(*drawn(n, degree, np.random.default_rng([n, degree]), largest=largest))


@pytest.mark.parametrize(("n", "degree"), [(63, 62), (90, 3), (90, 12), (150, 40)])
def test_maxima_are_those_of_networkx(n, degree):
    arrays = drawn(n, degree, np.random.default_rng(n), batch=1)
    check_maxima(*arrays, maximum=maximum_by_networkx)


def test_both_sides_of_the_choice_are_tested():
    chosen = {
        degree: _is_dense(
            Problem.from_arrays(
                *(a := drawn(100, degree, np.random.default_rng(0)))[:2], edges=a[2]
            )
        )
        for degree in (2, 4, 8, 20)
    }
    assert chosen == {2: False, 4: False, 8: True, 20: True}


@examples(60)
@given(
    n=st.integers(1, 150),
    degree=st.floats(0, 30),
    largest=st.sampled_from([0, 1, 3, 10**6]),
    batch=st.integers(1, 13),
    seed=SEEDS,
)
def test_kernels_agree(n, degree, largest, batch, seed):
    generator = np.random.default_rng(seed)
    unary, pairwise, edges = drawn(n, degree, generator, largest=largest, batch=batch)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    scores = FixedPoint.of(problem)
    for argmax in (dense_argmax, sparse_argmax):
        z, doubled = argmax(scores.unary, scores.pairwise, scores.edges)
        assert np.isin(z, (0, 1)).all()
        # score and bound meet: both are exact
        np.testing.assert_array_equal(2 * scores.score(z), doubled)


@pytest.mark.parametrize("argmax", [dense_argmax, sparse_argmax])
def test_kernels_against_enumeration(argmax):
    """On the instances of the conformance kit, which are too small for `max_flow` to take these kernels."""
    for instances in random_instances(300, 10, np.random.default_rng(12), sign="positive"):
        problem = instances.problem()
        scores = FixedPoint.of(problem)
        z, doubled = argmax(scores.unary, scores.pairwise, scores.edges)
        np.testing.assert_array_equal(2 * scores.score(z), doubled)
        best = enumerate_scores(instances).max(axis=1)
        assert (np.abs(problem.score(z) - best) <= 2 * problem.rounding).all()


@pytest.mark.parametrize("argmax", [dense_argmax, sparse_argmax])
def test_states_are_the_least_or_the_greatest_maximisers(argmax):
    """A mixture of both is a maximiser too, but roof duality would fix wrong values by it."""
    generator = np.random.default_rng(7)
    edges = grid(3, 4, 1, generator).edges
    pairwise = generator.integers(0, 3, (96, len(edges)))
    unary = generator.integers(-3, 2, (96, 12))
    states = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    both = states[:, edges[:, 0]] & states[:, edges[:, 1]]
    z, _ = argmax(unary, pairwise, edges)
    for scores, state in zip(unary @ states.T + pairwise @ both.T, z, strict=True):
        maximisers = states[scores == scores.max()]
        assert (state == maximisers.min(axis=0)).all() or (state == maximisers.max(axis=0)).all()


@pytest.mark.parametrize("argmax", [dense_argmax, sparse_argmax])
def test_a_flow_that_has_to_end_leaves_upper_bounds(argmax):
    unary, pairwise, edges = drawn(120, 40, np.random.default_rng(1), batch=3)
    scores = FixedPoint.of(Problem.from_arrays(unary, pairwise, edges=edges))
    arrays = (scores.unary, scores.pairwise, scores.edges)
    _, doubled = argmax(*arrays)
    z, bound = argmax(*arrays, stop=np.ones(1, np.uint8))
    assert np.isin(z, (0, 1)).all()
    assert (bound > doubled).any()
    assert (bound >= doubled).all()


@pytest.mark.parametrize("argmax", [dense_argmax, sparse_argmax])
def test_slices_in_threads_are_the_batch(argmax):
    unary, pairwise, edges = drawn(120, 40, np.random.default_rng(1), batch=300)
    scores = FixedPoint.of(Problem.from_arrays(unary, pairwise, edges=edges))
    alone, together = (
        argmax(scores.unary, scores.pairwise, scores.edges, threads) for threads in (1, 4)
    )
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_long_paths_of_a_batch_reach_their_deficits():
    """Excess at one end of a grid and deficits at the other need many more passes."""
    edges = grid(4, 30, 1, np.random.default_rng(0)).edges
    pairwise = np.random.default_rng(1).integers(1, 9, (11, len(edges))).astype(np.float64)
    unary = np.zeros((11, 120))
    for side in (0, 1):
        np.add.at(unary.T, edges[:, side], -(pairwise.T // 2))
    columns = np.arange(120) % 30
    check_maxima(unary + 20.0 * (columns < 2) - 20.0 * (columns > 27), pairwise, edges)


def test_paths_of_a_batch_that_are_numbered_at_random_reach_their_deficits():
    """Distances along such a path need more sweeps than the kernel makes."""
    generator = np.random.default_rng(3)
    number = generator.permutation(800)
    edges = np.sort(np.stack((number[:-1], number[1:]), axis=1), axis=1)
    pairwise = generator.integers(200, 300, (12, len(edges))).astype(np.float64)
    unary = np.zeros((12, 800))
    unary[:, number[:10]] = 5.0
    unary[:, number[-10:]] = -5.0
    for side in (0, 1):
        np.add.at(unary.T, edges[:, side], -(pairwise.T // 2))
    check_maxima(unary, pairwise, edges)


@pytest.mark.parametrize("degree", [3, 60])
def test_a_batch_is_its_instances(degree):
    unary, pairwise, edges = drawn(80, degree, np.random.default_rng(2), batch=9)
    batch = solve(unary, pairwise, edges=edges, solver="max_flow")
    alone = [
        solve(u, w, edges=edges, solver="max_flow").score
        for u, w in zip(unary, pairwise, strict=True)
    ]
    np.testing.assert_array_equal(batch.score, alone)


@pytest.mark.parametrize("degree", [3, 98])
@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_scale_does_not_matter(degree, scale):
    unary, pairwise, edges = drawn(99, degree, np.random.default_rng(3))
    plain = solve(unary, pairwise, edges=edges, solver="max_flow")
    scaled = solve(unary * scale, pairwise * scale, edges=edges, solver="max_flow")
    np.testing.assert_allclose(scaled.score, plain.score * scale, rtol=1e-12)
    # Beyond 2^50 units rounding may hide a unit, so no certificate is given.
    assert scaled.optimal.all() or (scale, degree) == (1e12, 98)


@pytest.mark.parametrize("degree", [3, 69])
def test_scores_of_very_different_size(degree):
    generator = np.random.default_rng(4)
    unary, pairwise, edges = drawn(70, degree, generator)
    unary *= 10.0 ** generator.integers(-12, 13, unary.shape)
    pairwise *= 10.0 ** generator.integers(-12, 13, pairwise.shape)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    solution = solve(problem, solver="max_flow")
    assert (solution.bound - solution.score <= 3 * problem.rounding).all()


@pytest.mark.parametrize("solver", ["max_flow", "pymaxflow"])
@pytest.mark.parametrize("degree", [4, 79])
def test_balanced_signs(degree, solver):
    generator = np.random.default_rng(5)
    unary, pairwise, edges = drawn(80, degree, generator)
    plain = solve(unary, pairwise, edges=edges, solver=solver)
    flip = generator.integers(0, 2, 80)
    sign = 1 - 2 * flip
    # z = flip + sign y
    field = unary.copy()
    for side in (0, 1):
        np.add.at(field.T, edges[:, side], (pairwise * flip[edges[:, 1 - side]]).T)
    constant = unary @ flip + (pairwise * flip[edges].prod(axis=1)).sum(axis=1)
    signed = solve(sign * field, pairwise * sign[edges].prod(axis=1), edges=edges, solver=solver)
    np.testing.assert_array_equal(signed.score + constant, plain.score)
    assert signed.optimal.all()
    assert signed.stats["flipped"] > 0


def test_the_graphs_of_pymaxflow_hold_flows_that_fit(limits):
    unary = np.tile([0.5, -1.5], (3000, 1))
    solution = solve(unary, [1.0], edges=[[0, 1]], solver="pymaxflow")
    assert solution.stats["graphs"] == 24
    assert solution.optimal.all()
    np.testing.assert_array_equal(solution.score, 0.5)
    limits(cut_graph_instances=7)
    assert solve(unary[:10], [1.0], edges=[[0, 1]], solver="pymaxflow").stats["graphs"] == 5
    assert solve(np.ones((3, 9)), solver="pymaxflow").stats["graphs"] == 3


@pytest.mark.parametrize("short", [1, 2, 1 << 50])
def test_a_flow_that_is_no_maximum_proves_less(monkeypatch, short):
    unary, pairwise, edges = drawn(9, 4, np.random.default_rng(8))
    best = solve(unary, pairwise, edges=edges, solver="exhaustive").score
    scores = FixedPoint.of(Problem.from_arrays(unary, pairwise, edges=edges))
    whole = pymaxflow._cut

    def stopped_early(*graph):
        z, flow = whole(*graph)
        return z ^ (np.arange(9) == 4), flow - short

    monkeypatch.setattr(pymaxflow, "_cut", stopped_early)
    z, bound = pymaxflow._minimum_cuts(scores)
    assert (bound - scores.score(z) >= short / 2).all()
    assert (scores.bound(bound) >= best).all()
    solution = solve(unary, pairwise, edges=edges, solver="pymaxflow")
    assert not solution.optimal[solution.score < best].any()
    assert (solution.score < best).any()


def test_pymaxflow_refuses_where_its_numbers_are_short(limits):
    limits(long_bits=32)
    with pytest.raises(UnsupportedProblemError, match="32 bits on this system"):
        solve([1.0, 2.0], solver="pymaxflow")


def test_parts_that_are_not_connected():
    generator = np.random.default_rng(6)
    parts = [drawn(n, n, generator, batch=2) for n in (3, 40, 1, 30)]
    offsets = np.cumsum([0, 3, 40, 1])
    unary, pairwise = (np.concatenate([part[k] for part in parts], axis=1) for k in (0, 1))
    edges = np.concatenate([part[2] + offset for part, offset in zip(parts, offsets, strict=True)])
    whole = check_maxima(unary, pairwise, edges)
    alone = [solve(part[0], part[1], edges=part[2], solver="max_flow").score for part in parts]
    np.testing.assert_array_equal(whole.score, np.sum(alone, axis=0))


@pytest.mark.parametrize("degree", [3, 99])
def test_nothing_but_ties(degree):
    _, pairwise, edges = drawn(100, degree, np.random.default_rng(7))
    zeros = solve(np.zeros((3, 100)), np.zeros_like(pairwise), edges=edges, solver="max_flow")
    np.testing.assert_array_equal(zeros.score, 0)
    assert zeros.optimal.all()
    field = np.zeros((3, 100))
    for side in (0, 1):
        np.add.at(field.T, edges[:, side], -pairwise.T / 2)
    np.testing.assert_array_equal(solve(field, pairwise, edges=edges, solver="max_flow").score, 0)


@pytest.mark.parametrize("argmax", [dense_argmax, sparse_argmax])
def test_flow_that_has_far_to_go(argmax):
    """A ladder, its source and its sink at the ends, a bottleneck of 6 between them."""
    n = 600
    rails = np.array([[i, i + 2] for i in range(n - 2)])
    rungs = np.array([[i, i + 1] for i in range(0, n, 2)])
    edges = np.concatenate([rails, rungs])
    pairwise = np.full((1, len(edges)), 10)
    pairwise[0, n // 2 : n // 2 + 2] = 3
    unary = np.zeros((1, n), np.int64)
    unary[0, :2], unary[0, -2:] = 50, -50
    for side in (0, 1):
        np.add.at(unary.T, edges[:, side], -pairwise.T // 2)
    z, doubled = argmax(unary, pairwise, edges)
    assert doubled.tolist() == [2 * maximum_by_pymaxflow(unary[0], pairwise[0], edges)]
    assert doubled.tolist() == [2 * maximum_by_networkx(unary[0], pairwise[0], edges)]
    assert 0 < z.sum() < n


@pytest.mark.parametrize("shape", [(20, 30), (160, 150)])
def test_grids(shape):
    """The larger one has more nodes than a block, and edges between blocks."""
    instances = grid(*shape, 2, np.random.default_rng(8))
    unary, pairwise = np.rint(1000 * instances.unary), np.rint(1000 * instances.pairwise)
    check_maxima(unary, pairwise, instances.edges)


def test_a_star():
    """Its centre is an orphan again and again, which costs all its arcs each time."""
    generator = np.random.default_rng(11)
    n = 20_000
    edges = np.stack([np.zeros(n - 1, np.int64), np.arange(1, n)], axis=1)
    pairwise = generator.integers(0, 1000, (1, n - 1)).astype(np.float64)
    unary = generator.integers(-2000, 2000, (1, n)).astype(np.float64)
    for side in (0, 1):
        np.add.at(unary.T, edges[:, side], -(pairwise.T // 2))
    # For either value of the centre, each leaf decides for itself.
    centre = [
        np.maximum(unary[0, 1:] + value * pairwise[0], 0).sum() + value * unary[0, 0]
        for value in (0, 1)
    ]
    solution = solve(unary, pairwise, edges=edges, solver="max_flow")
    assert float(solution.score[0]) == max(centre)
    assert solution.optimal.all()


def test_a_grid_with_sources_and_sinks_far_apart():
    """The trees give up on it, and the rounds finish."""
    rows, columns = 48, 48
    instances = grid(rows, columns, 1, np.random.default_rng(9))
    pairwise = np.rint(1000 * instances.pairwise)
    unary = np.zeros((1, rows * columns))
    unary[0, : 3 * columns], unary[0, -3 * columns :] = 50_000, -50_000
    for side in (0, 1):
        np.add.at(unary.T, instances.edges[:, side], -(pairwise.T // 2))
    check_maxima(unary, pairwise, instances.edges)


def test_pymaxflow_is_not_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "maxflow", None)
    instances = supermodular(70, 2, np.random.default_rng(10))
    assert solve(
        instances.unary, instances.pairwise, edges=instances.edges, solver="max_flow"
    ).optimal.all()
    assert not solver_class("max_flow").missing_packages()
