"""`auto` runs the backends of a part in the order of the time that they take."""

import networkx as nx
import numpy as np
import pytest

from solvers import Problem, solve
from solvers.algorithms.presolve import one_by_one
from solvers.algorithms.presolve.decomposition import decompose


def in_a_field(graph, seed):
    """Normal couplings and fields of spins on a graph."""
    random = np.random.default_rng(seed)
    edges = np.array(nx.convert_node_labels_to_integers(graph).edges)
    couplings = random.normal(size=len(edges))
    unary = 2 * random.normal(size=len(graph))
    for end in edges.T:
        np.subtract.at(unary, end, 2 * couplings)
    return Problem.from_arrays(unary, 4 * couplings, edges=edges)


def packing(n, sets, seed):
    """Weights of sets of which two with a common member exclude each other."""
    random = np.random.default_rng(seed)
    members = random.random((n, sets)) < 3 / sets
    weights = random.integers(1, 10, n).astype(float)
    clash = np.triu((members.astype(int) @ members.T) > 0, 1)
    penalty = np.add.outer(weights, weights) + 1
    return Problem.from_arrays(weights, np.where(clash, -penalty, 0.0))


def syndrome(n, seed):
    """Parity checks of six bits by penalties, for the lightest error with the same parities."""
    random = np.random.default_rng(seed)
    checks = [row for _ in range(3) for row in random.permutation(n).reshape(-1, 6)]
    error = random.random(n) < 0.07
    matrix = np.zeros((n + 2 * len(checks), n + 2 * len(checks)))
    matrix[range(n), range(n)] = -1.0
    for number, check in enumerate(checks):
        parity = np.zeros(len(matrix))
        parity[check] = 1.0
        parity[n + 2 * number : n + 2 * number + 2] = -2.0, -4.0
        odd = error[check].sum() % 2
        matrix -= 2.0 * (np.outer(parity, parity) + 2 * odd * np.diag(parity))
    return Problem.from_arrays(np.diag(matrix), 2 * np.triu(matrix, 1))


def backends_of(problem, **options):
    """Return the names of the backends that `auto` ran."""
    solution = solve(problem, **options)
    return {name[6:] for name in solution.stats if name.startswith("turns_")}, solution


def test_packings_go_to_cliques_at_once():
    backends, solution = backends_of(packing(130, 65, 0))
    assert backends == {"clique_cover"}
    assert solution.optimal


@pytest.mark.parametrize("n", [48, 60])
def test_parity_checks_go_to_convex_bounds(n):
    backends, solution = backends_of(syndrome(n, 0), time_limit=20)
    assert backends <= {"dual_ascent", "branch_and_bound"}
    assert solution.optimal


def test_a_local_search_follows_the_backends_of_a_part_once(monkeypatch):
    limits = []

    def improved(problem, z, deadline):
        limits.append(deadline.left)
        return z

    monkeypatch.setattr(one_by_one, "improved", improved)
    monkeypatch.setattr(one_by_one, "LEAST_IMPROVED", -np.inf)  # on a busy machine too
    graph = nx.random_regular_graph(8, 200, seed=0)
    backends, solution = backends_of(in_a_field(nx.disjoint_union(graph, graph), 0), time_limit=1)
    assert len(backends) > 1
    assert not solution.optimal
    assert solution.stats["parts"] == len(limits) == 2
    solve(in_a_field(graph, 0), solver="branch_and_bound", time_limit=0.5)
    assert len(limits) == 3


def test_denser_graphs_in_a_field_go_to_branch_and_bound_without_cycle_cuts():
    graph = nx.random_regular_graph(8, 80, seed=0)
    backends, solution = backends_of(in_a_field(graph, 0))
    assert "branch_and_bound" in backends
    assert "cycle_cuts" not in backends
    assert solution.optimal


def test_a_cube_in_a_field_goes_to_cycle_cuts_without_branch_and_bound():
    pytest.importorskip("highspy")
    backends, _ = backends_of(in_a_field(nx.grid_graph([7] * 3), 0), time_limit=0.3)
    assert backends <= {"dual_ascent", "cycle_cuts"}


def test_reducing_a_reduced_problem_keeps_the_numbers_of_its_variables():
    graph = nx.random_regular_graph(4, 60, seed=0)
    edges = np.array(graph.edges)
    weights = np.random.default_rng(0).choice([-1.0, 1.0], len(edges))

    def part_of(unary, pairwise, edges):
        (part,) = decompose(unary, pairwise, edges, np.full(len(unary), -1), ()).parts
        return part.problem

    once = part_of(np.zeros(60), weights, edges)
    twice = part_of(once.unary[0], once.pairwise[0], once.edges)
    assert once.n == twice.n
    np.testing.assert_array_equal(once.unary, twice.unary)
    assert set(map(tuple, once.edges)) == set(map(tuple, twice.edges))
