"""The benchmark on outside problems: its peers are right, and it names losses and false claims."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from solvers import Problem, solve
from solvers.constraints import at_most, cardinality, linear
from solvers.labels import LabelProblem

ROOT = Path(__file__).parents[1]


@pytest.fixture
def benchmark(from_checkout):
    return lambda name, **values: from_checkout(f"benchmarks.{name}", **values)


def test_the_outside_benchmark_records_values_bounds_and_proofs_and_resumes(benchmark, tmp_path):
    outside = benchmark("outside", load_packages=lambda: None, WARM_UPS=())
    small = replace(outside.FAMILIES["maximum diversity"], sizes=(10,))
    benchmark("outside", FAMILIES={"maximum diversity": small}, in_a_process=outside.ask)
    output = tmp_path / "outside.json"
    options = ["--seconds", "5", "--peers", "^(auto|HiGHS)$", "--output", str(output)]
    assert outside.main(options) == 0
    record = json.loads(output.read_text())
    (row,) = record["rows"].values()
    assert row["n"] == 10
    assert row["constraints"] == 1
    for answer in row["answers"].values():
        assert answer["proved"]
        assert answer["value"] == answer["bound"] == 0.0  # one chosen point is no pair
    benchmark("outside", measured=lambda *_: pytest.fail("all of it is recorded"))
    assert outside.main(options) == 0


def test_every_outside_family_draws_one_instance_with_its_source(benchmark):
    outside = benchmark("outside")
    assert len(benchmark("outside_families").GENERATED) >= 15
    for name, family in outside.FAMILIES.items():
        assert family.source
        if min(family.sizes) <= 200:
            assert outside.drawn(name, min(family.sizes)).problem.batch == 1


DIMACS = [
    ("clique in a Hamming graph", 6, 64, 704, 4),
    ("clique in a Hamming graph", 8, 256, 20_864, 16),
    ("clique in a Johnson graph", 16, 120, 5_460, 8),
    ("clique in a Johnson graph", 32, 496, 107_880, None),
    ("clique in a Keller graph", 3, 34, None, 4),
    ("clique in a Keller graph", 4, 171, 9_435, 11),
]
"""Family, size, and the published nodes, edges and clique number of the graph."""


@pytest.mark.parametrize(("name", "size", "nodes", "edges", "clique"), DIMACS)
def test_clique_families_have_the_published_graphs(benchmark, name, size, nodes, edges, clique):
    problem = benchmark("outside").drawn(name, size).problem
    assert problem.n == nodes
    if edges is not None:
        assert problem.e == nodes * (nodes - 1) // 2 - edges
    if clique is not None:
        solution = solve(problem, time_limit=60)
        assert solution.optimal
        assert solution.score == clique


def test_a_hidden_clique_has_no_more_neighbours_than_others(benchmark):
    cliques = benchmark("outside_cliques")
    family, conflicts = cliques.CLIQUES["hidden clique"], []
    generator = np.random.default_rng(0)
    for _ in range(50):
        problem = family.draw(60, generator).problem
        hidden = solve(problem).z[0].astype(bool)
        assert hidden.sum() >= cliques.HIDDEN
        degrees = np.bincount(problem.edges.ravel(), minlength=60)
        conflicts.append((degrees[hidden].mean(), degrees.mean()))
    inside, everywhere = np.mean(conflicts, axis=0)
    assert inside == pytest.approx(everywhere, rel=0.02)
    assert everywhere == pytest.approx((1 - cliques.DENSITY) * 59, rel=0.02)


@pytest.mark.parametrize(
    ("name", "size"),
    [("weighted independent set", 12), ("independent set of atoms", 4), ("set packing", 16)],
)
def test_best_states_of_packings_pay_no_penalty(benchmark, name, size):
    family = benchmark("outside_cliques").CLIQUES[name]
    problem = family.draw(size, np.random.default_rng(1)).problem
    state = solve(problem, solver="exhaustive").z[0]
    assert problem.e
    assert state.any()
    assert not (state[problem.edges[:, 0]] & state[problem.edges[:, 1]]).any()


def test_the_best_vertex_cover_is_the_lightest(benchmark):
    family = benchmark("outside_cliques").CLIQUES["vertex cover"]
    problem = family.draw(10, np.random.default_rng(1)).problem
    weights = 101.0 * np.bincount(problem.edges.ravel(), minlength=10) - problem.unary[0]
    assert ((weights >= 1) & (weights <= 100)).all()
    states = np.array(list(product((0, 1), repeat=10)))
    covers = (states[:, problem.edges[:, 0]] | states[:, problem.edges[:, 1]]).all(axis=1)
    best = solve(problem, solver="exhaustive")
    all_covered = 101.0 * problem.e
    assert best.score == all_covered - (states[covers] @ weights).min()


def bits():
    """Problems over five bits with constraints, and the best value of each by enumeration."""
    generator = np.random.default_rng(0)
    edges = np.array([[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]])
    for _ in range(3):
        unary = generator.integers(-5, 6, (1, 5)).astype(float)
        pairwise = generator.integers(-9, 10, (1, 5)).astype(float)
        problem = Problem.from_arrays(unary, pairwise, edges=edges)
        rules = [cardinality(3), at_most(1, [0, 1]), linear([2, 1, 3, 1, 2], "<=", 6)]
        states = np.array(list(product((0, 1), repeat=5)))
        allowed = (states.sum(axis=1) == 3) & (states[:, 0] + states[:, 1] <= 1)
        allowed &= states @ [2, 1, 3, 1, 2] <= 6
        values = states @ unary[0] + (states[:, edges[:, 0]] * states[:, edges[:, 1]]) @ pairwise[0]
        yield problem, rules, values[allowed].max()


def of_labels():
    """A problem with forbidden values and pairs, one of equal values, and their best values."""
    generator = np.random.default_rng(1)
    edges = [[0, 1], [1, 2], [0, 2]]
    unary = generator.integers(-5, 6, (3, 3)).astype(float)
    unary[0, 0] = -np.inf
    unary[:, 1] += 20.0  # all would have this value, were it not forbidden to two of them
    tables = generator.integers(-5, 6, (3, 3, 3)).astype(float)
    tables[:, np.arange(3), np.arange(3)] = -np.inf
    yield LabelProblem.from_arrays(unary, pairwise=tables, edges=edges)
    yield LabelProblem.from_arrays(unary, potts=[3.0, -4.0, 2.0], edges=edges)


PEERS = {"CP-SAT": "ortools", "HiGHS": "highspy", "toulbar2": "pytoulbar2", "auto": "solvers"}


@pytest.mark.parametrize("name", PEERS)
def test_outside_peers_agree_with_enumeration(benchmark, name):
    pytest.importorskip(PEERS[name])
    peers, families = benchmark("outside_peers"), benchmark("outside_families")
    for problem, rules, best in bits():
        answer = peers.answer(families.Instance(problem, rules), name, 5.0)
        assert answer["proved"]
        assert answer["value"] == best
        assert answer["bound"] == pytest.approx(best, abs=1e-4)
    for problem in of_labels():
        states = product(range(3), repeat=3)
        best = max(float(problem.score(np.array(state))) for state in states)
        answer = peers.answer(families.Instance(problem), name, 5.0)
        assert answer["proved"]
        assert answer["value"] == best
        assert answer["bound"] == pytest.approx(best, abs=1e-4)


def test_a_forbidden_assignment_has_no_value(benchmark):
    peers, families = benchmark("outside_peers"), benchmark("outside_families")
    problem, rules, _ = next(bits())
    assert peers.value_of(families.Instance(problem, rules), np.zeros(5, np.int8)) is None
    forbidden = next(of_labels())
    assert peers.value_of(families.Instance(forbidden), np.zeros(3, np.int64)) is None


def reached(seconds, value, bound):
    return {"seconds": seconds, "value": value, "bound": bound, "proved": value == bound}


def test_losses_are_named_by_their_kind(benchmark):
    losses = benchmark("outside_losses")

    def kinds(auto, **peers):
        row = {"limit": 5.0, "answers": {"auto": auto, **peers}}
        found = [(loss.kind, loss.peer) for loss in losses.losses("x", row)]
        return found, losses.standing(row)

    proved, open_ = reached(1.0, 7.0, 7.0), reached(5.0, 6.0, 9.0)
    assert kinds(proved, a=reached(0.4, 7.0, 7.0)) == ([("time", "a")], "behind")
    assert kinds(proved, a=reached(0.6, 7.0, 7.0)) == ([], "level")
    assert kinds(proved, a=open_) == ([], "ahead")
    assert kinds(proved, a=open_, b=reached(0.6, 7.0, 7.0)) == ([], "level")
    assert kinds(open_, a=proved) == ([("no proof", "a"), ("value", "a")], "behind")
    assert kinds(open_, a=reached(5.0, 6.0, 8.0))[0] == [("bound", "a")]
    assert kinds(open_, a=reached(5.0, 6.5, None))[0] == [("value", "a")]
    assert kinds({"failed": "X"}, a=open_)[0] == [("no answer", "a")]
    late = reached(7.0, 7.0, 7.0)
    assert kinds(open_, a=late)[0] == [("value", "a"), ("bound", "a")]


def test_a_claim_that_another_value_refutes_is_named(benchmark):
    losses = benchmark("outside_losses")

    def wrong(**answers):
        return losses.wrong({"limit": 5.0, "answers": answers})

    assert wrong(auto=reached(1.0, 7.0, 7.0), a=reached(1.0, 7.0, 7.0)) == []
    assert wrong(auto=reached(1.0, 6.0, 6.0), a=reached(1.0, 7.0, None)) == ["auto"]
    assert wrong(auto=reached(1.0, 6.0, 6.5), a=reached(1.0, 7.0, None)) == ["auto"]
    assert wrong(auto=reached(1.0, 7.0, 7.0), a=reached(1.0, 6.0, 6.0)) == ["a"]
    nearly = 7.0 - 1e-6
    assert wrong(auto=reached(1.0, nearly, nearly), a=reached(1.0, 7.0, None)) == ["auto"]
    assert wrong(auto=reached(1.0, 7.0, 7.0), a=reached(1.0, nearly, nearly)) == []
