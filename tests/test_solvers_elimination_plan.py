"""Separators, forests and schedules of elimination orders, against graphs that are eliminated step by step."""

import importlib

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers import instances
from solvers.algorithms.elimination.forest import children_first, separators
from solvers.algorithms.elimination.max_sum_lanes import FOLDED_BITS
from solvers.algorithms.elimination.plan import cached_plan, elimination_plan
from solvers.algorithms.elimination.schedule import BIT_END, BIT_START, VARIABLE

few = settings(max_examples=80, deadline=None)
GRAPHS = {
    "seed": st.integers(0, 2**32 - 1),
    "n": st.integers(1, 14),
    "degree": st.sampled_from([0.5, 2.0, 5.0]),
}


def random_graph(seed, n, degree):
    random = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if random.random() < degree / n]
    return np.array(pairs, np.int64).reshape(-1, 2), random.permutation(n)


def eliminated(n, edges, order):
    """The neighbours of each vertex when it goes."""
    graph = nx.Graph(edges.tolist())
    graph.add_nodes_from(range(n))
    found = {}
    for v in order.tolist():
        found[v] = set(graph[v])
        graph.add_edges_from((a, b) for a in found[v] for b in found[v] if a < b)
        graph.remove_node(v)
    return found


@few
@given(**GRAPHS)
def test_separators_are_the_neighbours_left_at_elimination(seed, n, degree):
    edges, _ = random_graph(seed, n, degree)
    starts, found, parent = separators(n, edges)
    expected = eliminated(n, edges, np.arange(n))
    for v in range(n):
        mine = found[starts[v] : starts[v + 1]].tolist()
        assert mine == sorted(expected[v], reverse=True)
        assert parent[v] == min(mine, default=-1)


@few
@given(**GRAPHS)
def test_subtrees_come_right_before_their_roots(seed, n, degree):
    edges, _ = random_graph(seed, n, degree)
    starts, _, parent = separators(n, edges)
    sequence = children_first(starts, parent).tolist()
    assert sorted(sequence) == list(range(n))
    forest = nx.DiGraph([(int(p), v) for v, p in enumerate(parent) if p >= 0])
    forest.add_nodes_from(range(n))
    for place, v in enumerate(sequence):
        below = nx.descendants(forest, v)
        assert set(sequence[place - len(below) : place]) == below


@few
@given(**GRAPHS)
def test_a_plan_has_the_tables_of_its_order(seed, n, degree):
    edges, order = random_graph(seed, n, degree)
    plan, expected = elimination_plan(n, edges, order), eliminated(n, edges, order)
    steps, variables = plan.schedule.steps, plan.schedule.variables
    for row in steps.tolist():
        v, bits = row[VARIABLE], range(row[BIT_START], row[BIT_END])
        assert {int(variables[k]) for k in bits} == expected[v]
        for k in bits:
            e = plan.schedule.edges[k]
            joined = {v, int(variables[k])} in [set(edge) for edge in edges.tolist()]
            assert (e >= 0) == joined
            assert e < 0 or set(edges[e].tolist()) == {v, int(variables[k])}
    assert plan.width == max(map(len, expected.values()))
    assert plan.entries == sum(2 ** len(separator) for separator in expected.values())


@pytest.mark.parametrize("rows", [1, 2, 5, 6, 8])
def test_instances_side_by_side_have_the_maxima_of_each_alone(monkeypatch, rows):
    module = importlib.import_module("solvers.algorithms.elimination.max_sum")
    problem = instances.spin_glass(rows, 9, 20, np.random.default_rng(rows)).problem()  # 16 lanes, and 4 more
    plan = problem.topology.recall(cached_plan)
    assert rows < 8 or plan.width > FOLDED_BITS
    monkeypatch.setattr(module, "_table_nanoseconds", lambda *_: np.inf)
    together, maxima = module.max_sum(plan, problem.unary, problem.pairwise)
    monkeypatch.setattr(module, "_table_nanoseconds", lambda *_: 0.0)
    alone, _ = module.max_sum(plan, problem.unary, problem.pairwise)
    np.testing.assert_allclose(problem.score_flat(together), problem.score_flat(alone), rtol=1e-13)
    np.testing.assert_allclose(problem.score_flat(together), maxima, rtol=1e-13)
