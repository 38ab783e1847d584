"""Recombination: a child is no worse than any parent, and no search loses its start."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Deadline, Problem, instances, solver_class
from solvers.algorithms.local_search import improvement
from solvers.algorithms.local_search.contraction import clusters, contract
from solvers.algorithms.local_search.recombination import _recombined, recombination
from solvers.algorithms.local_search.subgraph_moves import Part, SubgraphMoves
from solvers.algorithms.local_search.subgraph_order import subgraph_order
from solvers.algorithms.local_search.tabu_runs import TabuRuns

KINDS = (SubgraphMoves, TabuRuns)


def sparse(n, degree, random, integer=True):
    edges = np.array(
        [(i, j) for i in range(n) for j in range(i + 1, n) if random.random() < degree / n]
    )
    edges = edges.reshape(-1, 2).astype(int)
    draw = (
        (lambda size: random.integers(-9, 10, size).astype(float))
        if integer
        else random.standard_normal
    )
    return Problem.from_arrays(draw(n)[None], draw(len(edges))[None], edges=edges)


def score(problem, z):
    return float(problem.score_flat(np.asarray(z)[None])[0])


def all_states(n):
    return np.array(list(product((0, 1), repeat=n)), np.int8)


seeds = st.integers(0, 2**32 - 1)


@examples(60)
@given(seeds, st.integers(1, 12), st.integers(1, 5), st.sampled_from([0.5, 2.0, 12.0]))
def test_the_best_over_clusters_is_no_worse_than_any_parent(seed, n, count, degree):
    random = np.random.default_rng(seed)
    problem = sparse(n, degree, random)
    states = random.integers(0, 2, (count, n)).astype(np.int8)
    contracted = contract(problem, states)
    choices = all_states(contracted.problem.n)
    lifted = [contracted.lift(y) for y in choices]
    for y, z in zip(choices, lifted, strict=True):
        assert score(problem, z) == score(problem, states[0]) + score(contracted.problem, y)
    assert {state.tobytes() for state in states} <= {z.tobytes() for z in lifted}
    assert max(score(problem, z) for z in lifted) >= max(score(problem, state) for state in states)


@examples(60)
@given(seeds, st.integers(2, 14))
def test_components_where_two_parents_differ_are_independent(seed, n):
    random = np.random.default_rng(seed)
    problem = sparse(n, 2.0, random)
    a, b = random.integers(0, 2, (2, n)).astype(np.int8)
    contracted = contract(problem, np.stack([a, b]))
    differing = np.unique(contracted.cluster[a != b])
    assert not np.isin(contracted.problem.edges, differing).all(axis=1).any()
    graph = nx.Graph(problem.edges.tolist())
    graph.add_nodes_from(range(n))
    parts = [
        list(part)
        for part in nx.connected_components(graph.subgraph(np.flatnonzero(a != b).tolist()))
    ]
    assert len(parts) == len(differing)
    best = -np.inf
    for choice in product((False, True), repeat=len(parts)):
        child = a.copy()
        for taken, part in zip(choice, parts, strict=True):
            child[part] = b[part] if taken else a[part]
        best = max(best, score(problem, child))
    y = np.zeros(contracted.problem.n, np.int8)
    y[differing] = contracted.problem.unary[0, differing] > 0  # each component by itself
    assert score(problem, contracted.lift(y)) == best >= max(score(problem, a), score(problem, b))


@examples(60)
@given(seeds, st.integers(1, 30))
def test_clusters_are_components_within_groups(seed, n):
    random = np.random.default_rng(seed)
    edges, group = sparse(n, 2.0, random).edges, random.integers(0, 3, n)
    graph = nx.Graph([(i, j) for i, j in edges.tolist() if group[i] == group[j]])
    graph.add_nodes_from(range(n))
    number, count = clusters(edges, group)
    found = {frozenset(np.flatnonzero(number == c).tolist()) for c in range(count)}
    assert found == set(map(frozenset, nx.connected_components(graph)))


@examples(60)
@given(seeds, st.integers(1, 40), st.integers(0, 6))
def test_a_subgraph_order_keeps_to_its_width(seed, n, width):
    random = np.random.default_rng(seed)
    edges = sparse(n, 4.0, random).edges
    order = subgraph_order(n, edges, width, random).tolist()
    assert len(set(order)) == len(order) > 0
    graph = nx.Graph(edges.tolist())
    graph.add_nodes_from(range(n))
    graph = nx.Graph(graph.subgraph(order))
    for v in order:
        near = list(graph[v])
        assert len(near) <= width
        graph.remove_node(v)
        graph.add_edges_from((u, w) for u in near for w in near if u != w)


def test_nothing_is_taken_out_of_a_tree():
    edges = np.array(nx.random_labeled_tree(50, seed=1).edges)
    assert len(subgraph_order(50, edges, 1, np.random.default_rng(0))) == 50


@pytest.mark.parametrize("seed", range(5))
def test_a_part_is_set_to_its_best_states(seed):
    random = np.random.default_rng(seed)
    problem = sparse(10, 4.0, random)
    part = Part.of(problem, subgraph_order(problem.n, problem.edges, 1, random))
    z = random.integers(0, 2, problem.n).astype(np.int8)
    fixed = np.setdiff1d(np.arange(problem.n), part.inside)
    assert len(fixed)
    moved = part.best(problem, z)
    np.testing.assert_array_equal(moved[fixed], z[fixed])
    states = all_states(problem.n)
    states = states[(states[:, fixed] == z[fixed]).all(axis=1)]
    assert score(problem, moved) == max(score(problem, state) for state in states)


@pytest.mark.parametrize("kind", KINDS)
def test_a_grid_is_solved_in_a_few_rounds(kind):
    problem = instances.spin_glass(15, 15, 1, np.random.default_rng(0)).problem()
    best = solver_class("elimination")().solve(problem).score[0]
    z, search = np.zeros(problem.n, np.int8), kind(problem, np.random.default_rng(1))
    for _ in range(10):
        z, shrunk = _recombined(z, search, Deadline.after(None))
        assert shrunk
    assert abs(score(problem, z) - best) <= problem.rounding[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seconds", [-1.0, 0.2])
def test_a_search_never_loses_its_start(kind, seconds):
    problem = instances.spin_glass(15, 15, 1, np.random.default_rng(2)).problem()
    best = solver_class("elimination")().solve(problem).z[0]
    for start in (best, np.random.default_rng(3).integers(0, 2, problem.n)):
        end = Deadline.after(seconds)
        z = recombination(problem, start, kind, np.random.default_rng(4), end)
        assert z.dtype == np.int8
        assert score(problem, z) >= score(problem, start)


@pytest.mark.parametrize("kind", KINDS)
def test_moves_that_lose_a_state_lose_no_start(kind):
    class Losing(kind):
        def improved(self, z, end):
            return 1 - z

    problem = instances.spin_glass(4, 4, 1, np.random.default_rng(2)).problem()
    best = solver_class("elimination")().solve(problem).z[0]
    found = recombination(problem, best, Losing, np.random.default_rng(4), Deadline.after(-1.0))
    assert found.tolist() == best.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_moves_never_lose_the_state_that_they_improve(kind):
    problem = instances.spin_glass(15, 15, 1, np.random.default_rng(2)).problem()
    best = solver_class("elimination")().solve(problem).z[0]
    search = kind(problem, np.random.default_rng(5))
    for start in (best, np.random.default_rng(3).integers(0, 2, problem.n, dtype=np.int8)):
        moved = search.improved(start, Deadline.after(0.05))
        assert score(problem, moved) >= score(problem, start) - problem.rounding[0]


def test_problems_larger_than_a_part_are_covered_by_several(limits):
    limits(largest_part=20, tabu_up_to=20)
    drawn = instances.spin_glass(9, 9, 1, np.random.default_rng(5)).problem()
    problem = Problem.from_arrays(  # and some variables without neighbours
        np.pad(drawn.unary, ((0, 0), (0, 30)), constant_values=1.0),
        drawn.pairwise,
        edges=drawn.edges,
    )
    search = SubgraphMoves(problem, np.random.default_rng(6))
    z = np.zeros(problem.n, np.int8)
    for _ in range(10):
        moved, _ = _recombined(z, search, Deadline.after(None))
        assert score(problem, moved) >= score(problem, z)
        z = moved
    assert all(len(part.inside) <= 20 for part in search._parts)
    best = solver_class("elimination")().solve(problem).score[0]
    assert abs(score(problem, z) - best) <= problem.rounding[0]


@pytest.mark.parametrize("degree", [3.0, 20.0])
def test_local_search_recombines_every_instance_of_a_batch(degree):
    random = np.random.default_rng(7)
    one = sparse(120, degree, random)
    shapes = (3, one.n), (3, one.e)
    problem = Problem.from_arrays(*(random.normal(size=shape) for shape in shapes), edges=one.edges)
    found = solver_class("local_search")().solve(problem, 0.5)
    assert found.z.shape == (3, 120)
    assert not found.optimal.any()
    assert (found.score <= found.bound + problem.rounding).all()
    assert (found.score > problem.score_flat(np.zeros(shapes[0]))).all()


def test_instances_share_the_time_of_a_local_search(monkeypatch):
    seconds = []

    def timed(problem, z, moves, generator, deadline):
        seconds.append(deadline.left)
        return recombination(problem, z, moves, generator, Deadline.after(0.0))

    monkeypatch.setattr(improvement, "recombination", timed)
    one = sparse(120, 3.0, np.random.default_rng(8))
    problem = Problem.from_arrays(np.tile(one.unary, (4, 1)), one.pairwise, edges=one.edges)
    improvement.recombined(problem, np.zeros((4, 120), np.int8), 0, Deadline.after(40.0))
    # those before took next to nothing
    assert seconds == pytest.approx([10, 40 / 3, 20, 40], rel=0.2)


def test_local_search_keeps_the_better_of_its_two_phases(monkeypatch):
    found = []

    def watched(phase):
        def run(*arguments):
            found.append(phase(*arguments))
            return found[-1]

        return run

    monkeypatch.setattr("solvers.backends.local_search.recombined", watched(improvement.recombined))
    local_search = solver_class("local_search")
    monkeypatch.setattr(local_search, "_tabu", watched(local_search._tabu))
    problem = instances.dense(120, 20, np.random.default_rng(0)).problem()
    solution = local_search().solve(problem, 1e-3)
    first, second = (problem.score_flat(z) for z in found)
    assert (first < second).sum() > 10  # the time was up before recombination reached these
    np.testing.assert_allclose(solution.score, np.maximum(first, second), rtol=1e-14)


@pytest.mark.parametrize(("rows", "recombines"), [(5, False), (11, True)])
def test_a_resumable_search_recombines_large_problems_only(monkeypatch, rows, recombines):
    problem = instances.spin_glass(rows, rows, 1, np.random.default_rng(0)).problem()
    calls = []

    def record(problem, z, seed, deadline):
        calls.append(seed)
        return z

    monkeypatch.setattr(improvement, "recombined", record)
    search = improvement.Improvement(problem)
    for _ in range(2):
        search.improved(np.zeros(problem.n, np.int8), Deadline.after(0.02))
    assert calls == ([0, 1] if recombines else [])
