"""Solvers by name, the choice of `auto`, and plug-ins."""

import subprocess
import sys
import textwrap
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from auto_runs import AUTO, names_of, runs_of
from optional import needs

from solvers import (
    ArgmaxSolver,
    Capabilities,
    Deadline,
    Maximiser,
    OptionError,
    Problem,
    Solution,
    SolveFailedError,
    SolverUnavailableError,
    UnknownSolverError,
    available_solvers,
    labels,
    select_solver,
    solve,
    solver_class,
)
from solvers.algorithms.presolve.one_by_one import one_by_one
from solvers.algorithms.presolve.roof_duality import roof_duality
from solvers.constraint_rows import Rows
from solvers.constraints import at_most, cardinality, implies, linear, one_of
from solvers.instances import Instances, dense, grid, spin_glass, supermodular, tree
from solvers.solution import Ranking
from solvers.solving.bits.selection import select_within
from solvers.solving.portfolio import CUT_SHARE, Turn, in_turn
from solvers.testing import check_conformance, enumerate_scores

GENERATOR = np.random.default_rng(0)


def flipped(instances):
    """The same instances in other variables, z_i or 1 - z_i: signs are mixed, but balanced."""
    sign = GENERATOR.choice([-1.0, 1.0], instances.unary.shape[1])
    return replace(instances, pairwise=instances.pairwise * sign[instances.edges].prod(axis=1))


def without_field(instances):
    """The same couplings between spins that nothing else turns: roof duality fixes none."""
    unary = np.zeros_like(instances.unary)
    for side in (0, 1):
        np.subtract.at(unary.T, instances.edges[:, side], instances.pairwise.T / 2)
    return replace(instances, unary=unary)


def regular(n, degree, field=1.0):
    """Couplings of a random graph in which all have as many neighbours, in a field."""
    graph = nx.random_regular_graph(degree, n, seed=0)
    edges = np.sort(np.array(graph.edges), axis=1)
    drawn = np.random.default_rng(0).normal(size=len(edges))
    balanced = without_field(Instances(np.zeros((1, n)), drawn[None], edges))
    return replace(
        balanced, unary=balanced.unary + field * np.random.default_rng(1).normal(size=n)
    ).problem()


CHOICES = {
    "no pairwise scores": (
        Problem.from_arrays(np.ones((2, 50))),
        "independent",
        "no pairwise scores",
    ),
    "small": (
        dense(15, 2, GENERATOR).problem(),
        "exhaustive",
        "n = 15 is at most 20: all 2^15 states",
    ),
    "tree": (tree(300, 2, GENERATOR).problem(), "elimination", "treewidth is at most 1"),
    "narrow": (spin_glass(6, 6, 1, GENERATOR).problem(), "elimination", "treewidth is at most 6"),
    "supermodular": (
        supermodular(40, 2, GENERATOR).problem(),
        "max_flow",
        "score is >= 0: a minimum cut",
    ),
    "grid": (grid(12, 12, 1, GENERATOR).problem(), "max_flow", "score is >= 0: a minimum cut"),
    "balanced": (flipped(supermodular(40, 2, GENERATOR)).problem(), "max_flow", "bit flips make"),
    "wide": (spin_glass(11, 11, 1, GENERATOR).problem(), "elimination", "treewidth is at most 1"),
    "enumerable": (
        dense(23, 1, GENERATOR).problem(),
        "exhaustive",
        "n = 23 is at most 25, with scores of",
    ),
    "dense": (
        dense(50, 1, GENERATOR).problem(),
        "branch_and_bound",
        "n = 50 is at most 600, with scores of",
    ),
    "large": (dense(200, 1, GENERATOR).problem(), "branch_and_bound", "n = 200 is at most 600"),
    "very large and dense": (
        dense(601, 1, GENERATOR).problem(),
        "portfolio",
        "an exact search, which may take long",
    ),
    "sparse": (regular(500, 7), "portfolio", "mean degree 7: presolve first"),
}


@pytest.mark.parametrize("case", CHOICES)
def test_auto_explains_itself_and_is_exact(case):
    problem, expected, reason = CHOICES[case]
    needs(*{expected} & {"cplex"})
    selection = select_solver(problem)
    assert selection.solver.name == expected
    assert reason in selection.reason
    assert selection.solver.capabilities.exact
    assert selection.solver.why_not(problem) == ()


@pytest.mark.parametrize("case", CHOICES)
def test_auto_says_optimal_only_with_a_bound(case):
    problem, expected, _ = CHOICES[case]
    needs(*{expected} & {"cplex"})
    limit = 0.3 if (problem.n > 100 and problem.e > 1000) or expected == "portfolio" else None
    solution = solve(problem.unary, problem.pairwise, edges=problem.edges, time_limit=limit)
    assert solution.solver == expected or expected == "portfolio"
    gap = solution.bound - solution.score
    np.testing.assert_array_equal(solution.optimal, gap <= problem.rounding)
    assert solution.optimal.all() == (limit is None)
    roof = roof_duality(problem).bound
    assert (solution.score <= roof + problem.rounding).all()


@pytest.fixture
def alone(monkeypatch):
    """As if no other package's solver were installed."""
    for name in ("cplex", "cp_sat", "highs"):
        monkeypatch.setattr(
            solver_class(name), "missing_packages", classmethod(lambda cls: ("ortools",))
        )


def test_auto_takes_what_is_there(alone):
    random = np.random.default_rng(0)
    large = dense(610, 1, random).problem()
    selection = select_solver(large)
    assert selection.solver.name == "portfolio"
    assert "cp_sat would need ortools" in selection.reason
    solution = solve(large, callback=lambda known: known.score > 0)
    assert solution.solver == "semidefinite"
    assert (solution.bound >= solution.score).all()
    assert names_of(large, None) == ["semidefinite", "dual_ascent"]


def test_auto_within_constraints_takes_what_is_there(alone, monkeypatch):
    random = np.random.default_rng(0)
    found = solve(dense(22, 1, random).problem(), constraints=[cardinality(3), implies(0, 1)])
    assert (found.solver, found.z.sum()) == ("exhaustive", 3)
    larger = dense(30, 1, random).problem()
    with pytest.raises(SolverUnavailableError, match=r"pip install ortools.*pip install highspy"):
        solve(larger, constraints=[cardinality(3), implies(0, 1)])
    monkeypatch.setattr(solver_class("cplex"), "missing_packages", classmethod(lambda cls: ()))
    both = Rows.of([cardinality(3), implies(0, 1)], 30)
    assert select_within(larger, both).solver.name == "cplex"
    assert select_within(larger, Rows.of([cardinality(3)], 30)).solver.name == "branch_and_bound"


def test_auto_solves_constraints_by_highs_without_ortools(hide_packages):
    needs("highs")
    hide_packages("ortools", "cplex")
    random = np.random.default_rng(3)
    edges = np.array([(i, j) for i in range(30) for j in (i + 7, i + 13) if j < 30])
    unary = random.normal(size=(2, 30))
    pairwise = random.normal(size=(2, len(edges)))
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    groups = np.arange(30).reshape(3, 10)
    rules = [one_of(group.tolist()) for group in groups]
    states = np.zeros((1000, 30), np.int8)
    for group, chosen in zip(groups, np.indices((10, 10, 10)).reshape(3, -1), strict=True):
        states[np.arange(1000), group[chosen]] = 1
    both = states[:, edges].prod(axis=2)
    scores = unary @ states.T + pairwise @ both.T
    solution = solve(problem, constraints=rules)
    assert solution.solver == "highs"
    assert solution.optimal.all()
    np.testing.assert_allclose(solution.score, np.max(scores, axis=1), rtol=1e-12)
    assert (solution.bound >= solution.score).all()
    best = solve(problem.instances(slice(1)), constraints=rules, k_best=2)
    np.testing.assert_allclose(best.score[0], -np.sort(-scores[0])[:2], rtol=1e-12)
    assert best.optimal.all()


def test_labels_with_constraints_are_solved_by_highs_without_ortools(hide_packages):
    needs("highs")
    hide_packages("ortools", "cplex")
    random = np.random.default_rng(4)
    unary = random.integers(-9, 10, (3, 10)).astype(float)
    edges = np.array([[0, 1], [1, 2]])
    pairwise = random.integers(-9, 10, (2, 10, 10)).astype(float)
    assignments = np.indices((10, 10, 10)).reshape(3, -1).T
    scores = unary[np.arange(3), assignments].sum(axis=1)
    for (i, j), table in zip(edges, pairwise, strict=True):
        scores += table[assignments[:, i], assignments[:, j]]
    allowed = (assignments[:, :2] != 5).any(axis=1)
    problem = labels.LabelProblem.from_arrays(unary, pairwise, edges=edges)
    solution = solve(problem, constraints=[at_most(1, [(0, 5), (1, 5)])])
    assert solution.optimal
    assert solution.solver == "highs"
    assert solution.score == scores[allowed].max()


def test_constraints_that_highs_cannot_take_name_ortools(hide_packages):
    needs("highs")
    hide_packages("ortools", "cplex")
    larger = dense(30, 1, np.random.default_rng(0)).problem()
    much = linear([1e7] * 29 + [1.0], "<=", 3)
    with pytest.raises(SolverUnavailableError, match=r"pip install ortools.*add up to") as error:
        solve(larger, constraints=[much])
    assert "highspy" not in str(error.value)
    hide_packages("ortools", "cplex", "highspy")
    with pytest.raises(SolverUnavailableError, match="highs cannot take them"):
        solve(larger, constraints=[much])


def test_auto_takes_cplex_for_a_dense_knapsack_and_cp_sat_for_other_constraints(monkeypatch):
    for name in ("cplex", "cp_sat"):
        monkeypatch.setattr(solver_class(name), "missing_packages", classmethod(lambda cls: ()))
    random = np.random.default_rng(0)
    problem = dense(30, 1, random).problem()
    knapsack = linear(range(1, 31), "<=", 50)
    chain = Problem.from_arrays(
        np.ones((1, 30)), -np.ones((1, 29)), edges=np.arange(29)[:, None] + [0, 1]
    )
    assert select_within(problem, Rows.of([knapsack], 30)).solver.name == "cplex"
    fixed = Rows.of([knapsack, linear({3: 1}, "==", 1)], 30)
    assert select_within(problem, fixed).solver.name == "cplex"
    assert select_within(chain, Rows.of([knapsack], 30)).solver.name == "cp_sat"
    mixed = Rows.of([knapsack, cardinality(3)], 30)
    assert select_within(problem, mixed).solver.name == "cp_sat"
    assert select_within(problem, Rows.of([knapsack], 30), count=2).solver.name == "cp_sat"


def test_auto_without_cplex(hide_packages):
    needs("cp_sat")
    hide_packages("cplex")
    selection = select_solver(CHOICES["very large and dense"][0])
    assert selection.solver.name == "portfolio"
    assert names_of(CHOICES["very large and dense"][0], None) == ["semidefinite", "cp_sat"]
    assert selection.reason.endswith("cplex would need cplex")


def test_auto_makes_problems_up_to_a_mean_degree_of_20_smaller_first():
    chosen = {degree: select_solver(regular(120, degree)).solver.name for degree in (20, 21)}
    assert chosen == {20: "portfolio", 21: "branch_and_bound"}


def test_a_part_is_given_to_elimination_where_its_tables_are_small():
    assert names_of(regular(60, 3)) == ["elimination"]


def test_a_wider_part_in_a_field_gets_tables_after_messages_if_there_is_time():
    problem = spin_glass(22, 22, 1, GENERATOR).problem()
    assert names_of(problem) == ["dual_ascent", "elimination"]
    assert names_of(problem, 1e-3) == ["dual_ascent", "cycle_cuts"]


def test_couplings_alone_go_to_odd_cycles_after_few_messages_if_any():
    assert names_of(regular(400, 4, 0.0)) == ["cycle_cuts"]
    assert names_of(regular(400, 4, 1.0)) == ["dual_ascent", "cycle_cuts"]
    alone, field = regular(100, 5, 0.0), regular(100, 5, 1.0)
    few, more = (next(runs_of(problem, None)).solver.visits for problem in (alone, field))
    assert few < more


def test_odd_cycles_and_convex_bounds_take_turns_and_the_leader_goes_on():
    problem = regular(200, 6, 0.0)
    raced = ["cycle_cuts", "branch_and_bound", "cycle_cuts", *["branch_and_bound"] * 2]
    assert names_of(problem) == [*raced, "cycle_cuts"]
    limits = ((None, 0.5), (1e-3, 0.1), (2.0, 0.2), (100.0, 10.0))
    for limit, seconds in (*limits, (1e6, 60.0)):
        all_turns = list(runs_of(problem, limit))
        closing = all_turns.pop(2)
        assert closing.seconds == pytest.approx(3 * seconds, rel=0.01)
        assert closing.most_gap == all_turns[1].least_gap == 0.01
        given = [turn for turn in all_turns if not turn.least_gap]
        assert [turn.seconds for turn in given] == [pytest.approx(seconds, rel=0.01)] * 2 + [
            np.inf
        ] * 2
        assert [turn.leading for turn in given] == [False, False, True, False]
    assert names_of(regular(601, 6, 0.0)) == names_of(regular(200, 4, 0.0)) == ["cycle_cuts"]


@pytest.mark.parametrize("leader", ["cycle_cuts", "branch_and_bound"])
def test_a_turn_of_the_leader_is_for_the_least_bound_alone(monkeypatch, leader):
    problem, called = regular(200, 6, 0.0), []

    def solve_until(solver, part, deadline):
        called.append(solver.name)
        bound = 5.0 if solver.name == leader else 6.0
        zeros = np.zeros((1, part.n), np.int8)
        return Solution(zeros, np.zeros(1), np.zeros(1, bool), np.full(1, bound), solver.name, {})

    monkeypatch.setattr(ArgmaxSolver, "solve_until", solve_until)
    deadline = Deadline.after(60.0)
    in_turn(problem, AUTO.turns(problem, deadline), deadline)
    more = ["branch_and_bound"] if leader == "branch_and_bound" else []
    assert called == ["cycle_cuts", "cycle_cuts", "branch_and_bound", *more, "cycle_cuts"]


def test_convex_bounds_get_all_of_the_time_where_odd_cycles_leave_a_wide_gap(monkeypatch):
    problem, called = regular(200, 6, 0.0), []

    def solve_until(solver, part, deadline):
        called.append((solver.name, deadline.left > 50.0))
        bound = np.full(1, 0.02 * problem.magnitude[0])
        zeros = np.zeros((1, part.n), np.int8)
        return Solution(zeros, np.zeros(1), np.zeros(1, bool), bound, solver.name, {})

    monkeypatch.setattr(ArgmaxSolver, "solve_until", solve_until)
    deadline = Deadline.after(60.0)
    in_turn(problem, AUTO.turns(problem, deadline), deadline)
    assert called[:3] == [
        ("cycle_cuts", False),
        ("branch_and_bound", True),
        ("branch_and_bound", False),
    ]


def test_small_parts_without_a_field_get_more_messages_and_then_convex_bounds():
    raced = ["cycle_cuts", "branch_and_bound", "cycle_cuts", *["branch_and_bound"] * 2]
    raced.append("cycle_cuts")
    problem = regular(100, 6, 0.0)
    assert names_of(problem) == ["dual_ascent", "dual_ascent", "branch_and_bound", *raced]
    few, more, *_ = runs_of(problem, None)
    assert few.solver.visits < more.solver.visits
    assert names_of(regular(102, 6, 0.0)) == raced


class Zeros(ArgmaxSolver):
    """Answers zeros, which are proved where no score is positive."""

    name = "zeros"
    capabilities = Capabilities(exact=True)

    def _argmax(self, problem, deadline):
        zeros = np.zeros((problem.batch, problem.n), np.int8)
        return Maximiser(zeros, problem.trivial_bound)


def test_the_next_backend_gets_the_instances_that_are_not_proved():
    unary = [[-1.0, -2.0], [3.0, -1.0], [-1.0, -1.0], [2.0, 1.0]]
    problem = Problem.from_arrays(unary, [[0.0], [-5.0], [0.0], [-9.0]], edges=[[0, 1]])
    turns = [Turn(Zeros()), Turn(solver_class("exhaustive")())]
    outcome = in_turn(problem, turns, Deadline.after(None))
    assert outcome.z.tolist() == [[0, 0], [1, 0], [0, 0], [1, 0]]
    assert outcome.bound.tolist() == [0.0, 3.0, 0.0, 2.0]
    assert outcome.ledger.turns == {"zeros": 4, "exhaustive": 2}
    assert outcome.ledger.solver == "zeros + exhaustive"


def test_a_backend_that_may_fail_leaves_all_to_the_next():
    class Failing(Zeros):
        name = "failing"

        def _argmax(self, problem, deadline):
            raise SolveFailedError("no state in time")

    problem = Problem.from_arrays([[1.0, -1.0]])
    turns = [Turn(Failing(), may_fail=True), Turn(solver_class("exhaustive")())]
    outcome = in_turn(problem, turns, Deadline.after(None))
    assert outcome.z.tolist() == [[1, 0]]
    assert outcome.ledger.solver == "exhaustive"
    with pytest.raises(SolveFailedError, match="no state in time"):
        in_turn(problem, turns[:1], Deadline.after(None))


def test_a_turn_that_is_not_the_last_takes_three_tenths_of_the_time_left(monkeypatch):
    left = []

    def solve_until(solver, part, deadline):
        left.append(deadline.left)
        zeros = np.zeros((1, part.n), np.int8)
        return Solution(zeros, np.zeros(1), np.zeros(1, bool), np.full(1, 5.0), solver.name, {})

    monkeypatch.setattr(ArgmaxSolver, "solve_until", solve_until)
    problem = regular(200, 6, 0.0)
    solver = solver_class("branch_and_bound")()
    in_turn(problem, [Turn(solver, 5.0), Turn(solver, 5.0), Turn(solver)], Deadline.after(1.0))
    assert left[:2] == [pytest.approx(CUT_SHARE, abs=0.1)] * 2
    assert left[-1] == pytest.approx(1.0, abs=0.2)


def test_a_small_part_that_odd_cycles_leave_open_is_given_to_convex_bounds():
    raced = ["dual_ascent", *["cycle_cuts"] * 2, *["branch_and_bound"] * 2, "cycle_cuts"]
    problem = regular(140, 8)
    assert names_of(problem) == raced
    seconds = [turn.seconds for turn in runs_of(problem, None)]
    assert seconds == [np.inf, 0.5, 1.5, 0.5, np.inf, np.inf]
    assert names_of(regular(100, 8)) == ["dual_ascent", "branch_and_bound", "cycle_cuts"]
    assert names_of(regular(100, 12)) == ["branch_and_bound"]


def test_tables_that_no_memory_holds_are_never_begun():
    needs("cplex", "cp_sat")
    assert names_of(regular(700, 16), None) == ["dual_ascent", "semidefinite", "cplex"]


@pytest.mark.slow
def test_no_linear_programs_of_ten_thousand_variables():
    needs("cplex", "cp_sat")
    assert names_of(regular(10_001, 4)) == ["dual_ascent", "cp_sat"]
    assert names_of(regular(601, 12)) == ["dual_ascent", "cplex"]


def independent_set(n, degree):
    """Weights of nodes, and penalties of pairs above both."""
    graph = nx.random_regular_graph(degree, n, seed=0)
    weights = np.random.default_rng(0).integers(1, 10, n).astype(float)
    edges = np.array(graph.edges)
    return Problem.from_arrays(weights[None], -(weights[edges].sum(axis=1) + 1)[None], edges=edges)


def test_pairs_that_exclude_each_other_are_given_to_cliques_and_a_third_party():
    needs("cplex", "cp_sat")
    cliques = ["clique_cover", "clique_cover"]
    assert names_of(independent_set(300, 6)) == [*cliques, "cplex"]
    assert names_of(independent_set(1001, 6)) == [*cliques, "cp_sat"]
    assert names_of(independent_set(4002, 3)) == ["dual_ascent", "cp_sat"]


def test_cliques_get_most_of_the_time_where_pairs_are_many():
    needs("cplex", "cp_sat", "highs")
    many = independent_set(300, 10)
    cliques = ["clique_cover", "clique_cover"]
    assert names_of(many) == [*cliques, "cp_sat", *cliques]
    assert names_of(many, None) == ["clique_cover", "clique_cover"]


def test_pairs_that_only_cost_something_are_not():
    dear = independent_set(300, 6)
    cheap = Problem.from_arrays(dear.unary, dear.pairwise / 40, edges=dear.edges)
    assert names_of(cheap) == [
        "dual_ascent",
        "cycle_cuts",
        "cycle_cuts",
        "branch_and_bound",
        "branch_and_bound",
        "cycle_cuts",
    ]


TORUS = np.array(
    [
        (k, 14 * a + b)
        for k in range(196)
        for a, b in (divmod(k + 1 - 14 * (k % 14 == 13), 14), divmod((k + 14) % 196, 14))
    ]
)


def torus():
    """Couplings of +-1 on a torus, of which no rule takes anything out."""
    signs = np.random.default_rng(3).choice([-1.0, 1.0], (1, len(TORUS)))
    edges = np.sort(TORUS, axis=1)
    return without_field(Instances(np.zeros((1, 196)), signs, edges)).problem()


def test_auto_says_who_proved_it():
    solution = solve(torus())
    assert solution.optimal.all()
    assert solution.solver == "cycle_cuts"
    said = {
        name: count
        for name, count in solution.stats.items()
        if name.startswith(("turns", "bounds"))
    }
    assert said == {"turns_cycle_cuts": 1, "bounds_cycle_cuts": 1}
    assert sum(count for name, count in solution.stats.items() if name.startswith("states_")) == 1
    named = solver_class("cycle_cuts")().solve(torus())
    assert named.score == solution.score


def test_auto_names_every_solver_that_proved_a_part():
    problems = [regular(60, 3, 0.0), torus()]
    offsets = [0, problems[0].n]
    joined = Problem.from_arrays(
        np.concatenate([problem.unary for problem in problems], axis=1),
        np.concatenate([problem.pairwise for problem in problems], axis=1),
        edges=np.concatenate(
            [problem.edges + at for problem, at in zip(problems, offsets, strict=True)]
        ),
    )
    solution = solve(joined)
    assert solution.optimal.all()
    assert set(solution.solver.split(" + ")) == {"elimination", "cycle_cuts"}
    assert solution.stats["bounds_elimination"] == solution.stats["bounds_cycle_cuts"] == 1


def test_auto_names_presolve_where_it_leaves_nothing():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (1, 2 * 16 * 15))
    square = nx.convert_node_labels_to_integers(nx.grid_2d_graph(16, 16))
    edges = np.sort(np.array(square.edges), axis=1)
    problem = without_field(Instances(np.zeros((1, 256)), signs, edges)).problem()
    solution = AUTO.solve(problem)
    assert solution.solver == "presolve"
    assert solution.optimal.all()
    np.testing.assert_allclose(solution.score, solver_class("cycle_cuts")().solve(problem).score)


@pytest.mark.parametrize("limit", [None, 1e-3, 0.05])
def test_a_portfolio_proves_what_enumeration_confirms(limit):
    for seed in range(5):
        instances = spin_glass(4, 4, 3, np.random.default_rng(seed))
        solution = AUTO.solve(instances.problem(), limit)
        best = enumerate_scores(instances).max(axis=1)
        assert (solution.bound >= best - instances.problem().rounding).all()
        proved = solution.optimal
        np.testing.assert_allclose(solution.score[proved], best[proved])
        assert proved.all() or limit is not None


LIMITED = [
    info.name for info in available_solvers() if info.capabilities and info.capabilities.time_limit
]


@pytest.mark.spread(12)
@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("time_limit", [1e-4, 0.02, 0.3])
def test_time_limit_gives_a_valid_bound(name, time_limit):
    instances = dense(13, 30, np.random.default_rng(7))
    problem = instances.problem()
    best = enumerate_scores(instances).max(axis=1)
    solution = solver_class(name)().solve(problem, time_limit)
    np.testing.assert_allclose(problem.score(solution.z), solution.score)
    assert (solution.score <= best + problem.rounding).all()
    assert (solution.bound >= best - problem.rounding).all()
    assert (solution.score[solution.optimal] >= (best - problem.rounding)[solution.optimal]).all()
    if name == "local_search":
        assert not solution.optimal.any()


@pytest.mark.parametrize("name", ["cplex", "cp_sat", "highs", "branch_and_bound"])
def test_time_limit_reached_is_no_proof(name):
    hard = dense(200, 4, np.random.default_rng(0)).problem()  # nobody solves one in so short a time
    solution = solver_class(name)().solve(hard, time_limit=0.3)
    assert not solution.optimal.any()
    assert (solution.bound > solution.score).all()
    assert (solution.bound <= hard.positive_part * (1 + 1e-12)).all()
    assert solution.stats["reached"] < 4 or name == "branch_and_bound"


def test_auto_is_exact_on_a_tree():
    instances = tree(30, 2, GENERATOR)
    solution = solve(instances.unary, instances.pairwise, edges=instances.edges)
    assert solution.optimal.all()


def test_table_of_backends():
    rows = {info.name: info for info in available_solvers()}
    assert {
        "independent",
        "exhaustive",
        "max_flow",
        "elimination",
        "cplex",
        "cp_sat",
        "highs",
    } <= set(rows)
    assert not rows["local_search"].capabilities.exact
    assert rows["exhaustive"].capabilities.max_size == 25
    assert rows["max_flow"].capabilities.supermodular_only
    needs("cplex", "cp_sat")
    assert all(info.installed for info in rows.values())


def test_solvers_of_each_kind_are_in_one_registry():
    of_labels = {info.name for info in available_solvers("labels")}
    assert {"dual_ascent", "toulbar2"} <= of_labels
    assert issubclass(solver_class("dual_ascent", "labels"), labels.LabelSolver)
    assert solver_class("dual_ascent", "labels") is not solver_class("dual_ascent")
    for kind in ("words", 3, None, []):
        with pytest.raises(OptionError, match="'bits' or 'labels'"):
            available_solvers(kind)


def test_a_solver_of_labels_is_refused_for_bits():
    with pytest.raises(UnknownSolverError, match="ArgmaxSolver"):
        solve([1.0, -1.0], solver=solver_class("elimination", "labels")())


PLUG_IN = """
import numpy as np
from solvers import ArgmaxSolver, Capabilities, Maximiser

class Zeros(ArgmaxSolver):
    name = "zeros"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, deadline):
        scores = np.concatenate([problem.unary, problem.pairwise], axis=1, dtype=np.float64)
        bound = np.maximum(scores, 0).sum(axis=1)
        return Maximiser(np.zeros((problem.batch, problem.n), np.int8), bound)

NUMBER = 3
"""


def test_a_plug_in_is_found_by_its_entry_point(tmp_path):
    (tmp_path / "zeros_solver.py").write_text(PLUG_IN)
    metadata = tmp_path / "zeros_solver-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: zeros-solver\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[structured_vae.solvers]\nzeros = zeros_solver:Zeros\nbroken = no_such_module:X\n"
        "number = zeros_solver:NUMBER\n"
    )
    code = """
        import sys
        import numpy as np
        import solvers
        from solvers.testing import check_conformance
        rows = {info.name: info for info in solvers.available_solvers()}
        assert rows["zeros"].origin == "zeros-solver" and rows["zeros"].capabilities is None
        assert "zeros_solver" not in sys.modules
        rows = {info.name: info for info in solvers.available_solvers(load=True)}
        assert rows["zeros"].capabilities == solvers.Capabilities(exact=False)
        assert rows["zeros"].installed and not rows["broken"].installed
        assert "no_such_module" in rows["broken"].fault
        assert "not a class of solvers" in rows["number"].fault
        solution = solvers.solve(np.array([1.0, -1.0]), solver="zeros")
        assert solution.solver == "zeros" and float(solution.score) == 0 and not solution.optimal
        assert float(solution.bound) == 1.0
        check_conformance(solvers.solver_class("zeros")(), count=30)
        try:
            solvers.solve(np.ones(2), solver="broken")
        except solvers.SolverUnavailableError as error:
            assert "no_such_module" in str(error)
        else:
            raise AssertionError
        assert solvers.select_solver(solvers.Problem.from_arrays(np.ones(2))).solver.name != "zeros"
    """
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    subprocess.run([sys.executable, "-c", path + textwrap.dedent(code)], check=True)


def test_an_unknown_name_without_a_near_one_may_belong_to_another_package():
    with pytest.raises(UnknownSolverError, match=r"there are: independent.*install that package"):
        solver_class("random_restarts")
    with pytest.raises(UnknownSolverError, match="did you mean 'max_flow'") as misspelt:
        solver_class("maxflow")
    assert "install" not in str(misspelt.value)


def test_conformance_kit_catches_liars():
    class Liar(ArgmaxSolver):
        name = "liar"
        capabilities = Capabilities(exact=True)

        def _argmax(self, problem, deadline):
            return Maximiser(np.zeros((problem.batch, problem.n), np.int8))

    class Underestimates(ArgmaxSolver):
        name = "underestimates"
        capabilities = Capabilities(exact=False)

        def _argmax(self, problem, deadline):
            z = np.zeros((problem.batch, problem.n), np.int8)
            return Maximiser(z, np.full(problem.batch, 0.0))

    class UnderestimatesOne(ArgmaxSolver):
        name = "underestimates_one"
        capabilities = Capabilities(exact=False)

        def _argmax(self, problem, deadline):
            z = np.zeros((problem.batch, problem.n), np.int8)
            return Maximiser(z, np.where(np.arange(problem.batch) == 1, 0.0, problem.positive_part))

    class InSinglePrecision(ArgmaxSolver):
        name = "in_single_precision"
        capabilities = Capabilities(exact=True, max_size=12)

        def _argmax(self, problem, deadline):
            arrays = problem.unary.astype(np.float32), problem.pairwise.astype(np.float32)
            return Maximiser(solve(*arrays, edges=problem.edges, solver="exhaustive").z)

    class Boasts(ArgmaxSolver):
        name = "boasts"
        capabilities = Capabilities(exact=False)

        def solve(self, problem, time_limit=None):
            found = super().solve(problem, time_limit)
            return replace(found, optimal=np.ones_like(found.optimal))

        def _argmax(self, problem, deadline):
            return Maximiser(np.zeros((problem.batch, problem.n), np.int8), problem.positive_part)

    class LeavesItsBoundOut(ArgmaxSolver):
        """Enumerates, but not where a time limit ends it: there None would claim a proof."""

        name = "leaves_its_bound_out"
        capabilities = Capabilities(exact=True, time_limit=True, max_size=12)

        def _argmax(self, problem, deadline):
            if deadline.limited:
                return Maximiser(np.zeros((problem.batch, problem.n), np.int8))
            return Maximiser(
                solve(problem, solver="exhaustive").z.reshape(problem.batch, problem.n)
            )

    class RanksWithoutProof(ArgmaxSolver):
        name = "ranks_without_proof"
        capabilities = Capabilities(exact=True, max_size=12)

        def _argmax(self, problem, deadline):
            return Maximiser(
                solve(problem, solver="exhaustive").z.reshape(problem.batch, problem.n)
            )

        def best_states(self, problem, count, deadline=None):
            states = np.arange(count)[:, None] >> np.arange(problem.n) & 1
            return Ranking(np.repeat(states[None].astype(np.int8), problem.batch, axis=0))

    liars = Liar(), Underestimates(), UnderestimatesOne(), InSinglePrecision(), Boasts()
    for solver in (*liars, LeavesItsBoundOut(), RanksWithoutProof()):
        with pytest.raises(AssertionError, match=f"{solver.name}, batch"):
            check_conformance(solver, count=60)


CLAIMS = {
    "a bound below its score": (lambda z: z, lambda score: score - 7.0, "bound -7.0"),
    "a bound a little below its score": (lambda z: z, lambda score: score - 1e-9, "prove nothing"),
    "no bound": (lambda z: z, lambda score: score * np.nan, "bound nan"),
    "one instance too few": (lambda z: z[:-1], lambda score: score, "shape"),
    "floats": (lambda z: z + 0.5, lambda score: score, "float64"),
    "twos": (lambda z: z + 2, lambda score: score, "other values"),
}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("claim", CLAIMS)
def test_an_impossible_answer_of_a_backend_is_its_failure_and_no_proof(claim, exact):
    states, bound, message = CLAIMS[claim]

    class Claims(ArgmaxSolver):
        name = "claims"
        capabilities = Capabilities(exact=exact)

        def _argmax(self, problem, deadline):
            z = np.zeros((problem.batch, problem.n), np.int8)
            return Maximiser(states(z), bound(problem.score_flat(z)))

    with pytest.raises(SolveFailedError, match=message) as caught:
        solve([[5.0, -1.0], [5.0, -1.0]], solver=Claims())
    assert "'claims'" in str(caught.value)
    with pytest.raises(AssertionError, match="claims, batch 0"):
        check_conformance(Claims(), count=1)


def decided(n, edges):
    """Fields that leave no edge a say, of either sign in turn."""
    unary = np.where(np.arange(n) % 2, -9.0, 9.0)
    return Problem.from_arrays(unary, np.ones(len(edges)), edges=edges)


def test_sparse_problems_are_reduced_before_a_search():
    chain = np.stack([np.arange(11), np.arange(1, 12)], axis=1)
    solution = solver_class("branch_and_bound")().solve(decided(12, chain))
    assert (solution.stats["fixed"], solution.stats["fixed_share"]) == (12, 1.0)
    complete = np.stack(np.triu_indices(30, 1), axis=1)
    assert solver_class("branch_and_bound")().solve(decided(30, complete)).stats["fixed"] == 0


def test_instances_out_of_time_keep_what_roof_duality_fixes():
    frustrated = [[12, 13], [12, 14], [13, 14]]
    problem = decided(15, np.array([[0, 1], *frustrated]))
    unary, pairwise = problem.unary.copy(), problem.pairwise.copy()
    unary[:, 12:], pairwise[:, 1:] = 1.0, -2.0
    problem = replace(problem, unary=unary, pairwise=pairwise)
    for start in (np.ones((1, 15), np.int8), None):
        found = one_by_one(
            problem, Deadline.after(1e-9), lambda *_: pytest.fail("there was no time"), start=start
        )
        assert found.z[0, :12].tolist() == [1, 0] * 6
        assert found.z[0, 12:].sum() == 1  # of the frustrated three, what single flips find
        assert found.stats["reached"] == 0


@pytest.mark.parametrize("n", [7, 30])
def test_an_impossible_bound_is_not_lost_behind_what_presolve_knows(n):
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    cut = Problem.from_arrays(np.full(n, (n - 1) / 2), -np.ones(len(edges)), edges=edges)

    class Below(ArgmaxSolver):
        name = "below"
        capabilities = Capabilities(exact=True)

        def _argmax(self, problem, deadline):
            return one_by_one(
                problem, deadline, lambda single, *_: (np.zeros(single.n, np.int8), -70.0)
            )

    with pytest.raises(SolveFailedError, match="bound -"):
        Below().solve(cut)


@pytest.mark.parametrize("proved", [1e300, np.inf])
def test_a_search_that_proves_less_than_roof_duality_leaves_its_bound(proved):
    problem = dense(18, 1, np.random.default_rng(0)).problem()  # of which the rules leave a part
    found = one_by_one(
        problem, Deadline.after(None), lambda single, *_: (np.zeros(single.n, np.int8), proved)
    )
    assert found.stats["reached"] == found.stats["parts"] == 1
    assert found.bound.tolist() == roof_duality(problem).bound.tolist()


def test_registry_name_is_the_class_name():
    for info in available_solvers():
        cls = solver_class(info.name)
        assert cls.name == info.name
        assert "".join(part.capitalize() for part in info.name.split("_")) == cls.__name__
