"""Schedules of elimination orders, against graphs that are eliminated step by step."""

import importlib

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import instances
from solvers.algorithms.elimination.order import NEVER
from solvers.algorithms.elimination.plan import cached_plan, elimination_plan
from solvers.algorithms.elimination.schedule import (
    BIT_END,
    BIT_START,
    ENTRY_IN,
    ENTRY_START,
    READ_END,
    READ_START,
    VARIABLE,
)
from solvers.compiled._kernels import elimination as kernels

few = examples(80)
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


def readers_of(schedule):
    """The step that reads the message of each step that has one."""
    step_of = {int(start): t for t, start in enumerate(schedule.steps[:, ENTRY_START])}
    return {
        step_of[int(schedule.reads[r, ENTRY_IN])]: t
        for t, row in enumerate(schedule.steps)
        for r in range(row[READ_START], row[READ_END])
    }


@few
@given(**GRAPHS)
def test_a_message_goes_to_the_neighbour_that_is_eliminated_first(seed, n, degree):
    edges, order = random_graph(seed, n, degree)
    schedule, expected = elimination_plan(n, edges, order).schedule, eliminated(n, edges, order)
    place = np.argsort(order)
    variables = schedule.steps[:, VARIABLE].tolist()
    found = {variables[t]: variables[reader] for t, reader in readers_of(schedule).items()}
    assert found == {v: min(near, key=lambda u: place[u]) for v, near in expected.items() if near}


@few
@given(**GRAPHS)
def test_subtrees_come_right_before_their_roots(seed, n, degree):
    edges, order = random_graph(seed, n, degree)
    forest = nx.DiGraph(
        [
            (reader, t)
            for t, reader in readers_of(elimination_plan(n, edges, order).schedule).items()
        ]
    )
    forest.add_nodes_from(range(n))
    for t in range(n):
        below = nx.descendants(forest, t)
        assert set(range(t - len(below), t)) == below


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
    # 16 lanes, and 4 more
    problem = instances.spin_glass(rows, 9, 20, np.random.default_rng(rows)).problem()
    plan = problem.topology.recall(cached_plan)
    assert rows < 8 or plan.width > 5  # above which each lane looks up its own decisions
    monkeypatch.setattr(module, "_table_nanoseconds", lambda *_: np.inf)
    together, maxima = module.max_sum(plan, problem.unary, problem.pairwise)
    monkeypatch.setattr(module, "_table_nanoseconds", lambda *_: 0.0)
    alone, _ = module.max_sum(plan, problem.unary, problem.pairwise)
    np.testing.assert_allclose(problem.score_flat(together), problem.score_flat(alone), rtol=1e-13)
    np.testing.assert_allclose(problem.score_flat(together), maxima, rtol=1e-13)


CHAIN = np.array([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kernels.Schedule(CHAIN, np.array([0, 1, 1])), "an order has each variable once"),
        (
            lambda: kernels.Schedule(CHAIN + 1, np.arange(3)),
            "an edge names a variable that does not exist",
        ),
        (lambda: kernels.BitGraph(2, CHAIN), "an edge names a variable that does not exist"),
        (lambda: kernels.forest(-1, CHAIN), "n is negative"),
        (lambda: kernels.Buckets(CHAIN, np.array([0, 1, 3])), "an order has each variable once"),
        (lambda: lanes(np.zeros((2, 2)), np.zeros((2, 2))), "a column for each variable"),
        (lambda: lanes(np.zeros((2, 3)), np.zeros((2, 3))), "a column for each edge"),
        (lambda: lanes(np.zeros((1, 3)), np.zeros((2, 2))), "one row for each instance"),
    ],
)
def test_kernels_refuse_what_would_lead_them_outside_their_arrays(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def lanes(unary, pairwise):
    schedule = kernels.Schedule(CHAIN, np.arange(3))
    kernels.max_sum_lanes(
        schedule, NEVER, unary, pairwise, np.zeros((2, unary.shape[1]), np.int8), np.zeros(2)
    )


def test_orders_of_tables_beyond_any_memory_are_refused():
    complete = np.stack(np.triu_indices(70, 1), axis=-1)
    with pytest.raises(ValueError, match="too large tables"):
        kernels.Schedule(np.ascontiguousarray(complete), np.arange(70))
