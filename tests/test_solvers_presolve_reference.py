"""Presolve hands a dense instance on in variables whose linear relaxation is tight."""

import numpy as np
import pytest

from solvers import Deadline, instances, solve, solver_class
from solvers.algorithms.presolve.decomposition import decompose
from solvers.algorithms.presolve.roof_duality import roof_duality
from solvers.algorithms.presolve.spin_graph import SpinGraph


def roof_gap(problem):
    """How far the roof-dual bound lies above the optimum, relative to the sum of all magnitudes."""
    bound = roof_duality(problem, Deadline.after(None)).bound[0]
    best = solver_class("exhaustive")().solve(problem).score[0]
    return float((bound - best) / problem.magnitude[0])


@pytest.mark.parametrize("n", [6, 10, 15])
def test_presolve_does_not_weaken_the_linear_relaxation_of_a_dense_instance(n):
    drawn = instances.dense(n, 10, np.random.default_rng(n))
    pairs = zip(drawn.unary, drawn.pairwise, strict=True)
    given, presolved = [], []
    for unary, pairwise in pairs:
        whole = instances.Instances(unary[None], pairwise[None], drawn.edges).problem()
        parts = decompose(unary, pairwise, drawn.edges, np.full(n, -1), rules=()).parts
        assert len(parts) == 1
        given.append(roof_gap(whole))
        presolved.append(roof_gap(parts[0].problem))
    assert np.mean(presolved) <= 1.02 * np.mean(given)


def test_the_reference_is_the_most_strongly_coupled_of_the_nodes_of_most_edges():
    triangle_and_tail = np.array([[0, 1], [0, 2], [1, 2], [2, 3]])
    assert SpinGraph(4, triangle_and_tail, np.array([9, 1, 1, 2])).busiest() == 2
    square = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    assert SpinGraph(4, square, np.array([1, 2, -5, 3])).busiest() == 3
    assert SpinGraph(4, square, np.array([-1, -5, 2, 2])).busiest() == 2


@pytest.mark.parametrize("solver", ["cplex", "cp_sat", "highs"])
def test_a_dense_instance_keeps_its_optimum_whatever_node_is_the_reference(solver, monkeypatch):
    if solver_class(solver).missing_packages():
        pytest.skip(f"{solver} is not installed")
    drawn = instances.dense(7, 1, np.random.default_rng(3))
    arrays = {"unary": drawn.unary[0], "pairwise": drawn.pairwise[0], "edges": drawn.edges}
    expected = solve(**arrays, solver="exhaustive").score
    for node in range(8):
        monkeypatch.setattr(
            SpinGraph, "busiest", lambda graph, node=node: min(node, graph.nodes - 1)
        )
        solution = solve(**arrays, solver=solver)
        assert solution.optimal
        assert solution.score == pytest.approx(expected)
