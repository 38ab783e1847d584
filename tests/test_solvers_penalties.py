"""Penalties that exclude pairs: recognised, replaced by constraints, and never at the cost of a proof."""

import itertools

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Deadline, Problem, select_solver, solve, solver_class
from solvers.algorithms.constrained_search.bound import bound_within
from solvers.algorithms.constrained_search.linear_rows import LinearRows
from solvers.algorithms.constrained_search.search import ConstrainedSearch
from solvers.algorithms.presolve.penalties import first_penalties, penalties_of
from solvers.constraint_rows import Rows
from solvers.constraints import at_most, linear, one_of

BACKENDS = [
    name for name in ("cp_sat", "highs", "cplex") if not solver_class(name).missing_packages()
]


def all_states(n):
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.int8)


def scores_of(problem, states):
    return problem.instances(np.zeros(len(states), np.int64)).score_flat(states)


def one_hot(generator, groups, n, penalty, real):
    """Random scores of both signs, and -penalty (sum of a group - 1)^2 for each group."""
    draw = generator.normal if real else lambda size: generator.integers(-4, 5, size)
    unary = np.asarray(draw(size=n), float)
    pairwise = np.triu(draw(size=(n, n)) * (generator.random((n, n)) < 0.5), 1).astype(float)
    for group in groups:
        unary[group] += penalty
        for i, j in itertools.combinations(sorted(group), 2):
            pairwise[i, j] -= 2 * penalty
    return Problem.from_arrays(unary, pairwise)


def assignment_groups(size):
    rows = [list(range(size * i, size * (i + 1))) for i in range(size)]
    columns = [list(range(j, size * size, size)) for j in range(size)]
    return rows + columns


def assignment(size, seed=0, penalty=None):
    """A quadratic assignment problem: facilities as rows, with flows and distances from 0 to 9."""
    generator = np.random.default_rng(seed)
    flow, distance = np.triu(generator.integers(0, 10, (2, size, size)), 1).astype(float)
    flow, distance = flow + flow.T, distance + distance.T
    pairwise = np.zeros((size * size, size * size))
    for i, j in itertools.permutations(range(size), 2):
        pairwise[size * i : size * (i + 1), size * j : size * (j + 1)] = -flow[i, j] * distance
    pairwise = np.triu(pairwise + pairwise.T, 1)
    unary = np.zeros(size * size)
    groups = assignment_groups(size)
    if penalty is not None:
        for group in groups:
            unary[group] += penalty
            pairwise[np.ix_(group, group)] -= 2 * penalty * np.triu(np.ones((size, size)), 1)
    best = max(
        -(flow * distance[np.ix_(order, order)]).sum()
        for order in map(list, itertools.permutations(range(size)))
    )
    return Problem.from_arrays(unary, pairwise), groups, best, (flow, distance)


@examples(60)
@given(
    seed=st.integers(0, 2**31),
    penalty=st.sampled_from([2.0, 7.5, 0.1 + 0.2 + 10, 40.0]),
    real=st.booleans(),
)
def test_some_best_state_satisfies_the_constraints_that_replace_penalties(seed, penalty, real):
    generator = np.random.default_rng(seed)
    size = int(generator.integers(3, 5))
    groups = [list(range(size * k, size * (k + 1))) for k in range(2)]
    if generator.random() < 0.5:
        groups.append([0, size, 2 * size])
    problem = one_hot(generator, groups, 2 * size + 2, penalty, real)
    penalties = penalties_of(problem)
    if penalties is None:
        assert penalty < 40
        return
    states = all_states(problem.n)
    scores = scores_of(problem, states)
    allowed = (states @ penalties.matrix.T <= 1).all(axis=1)
    assert scores[allowed].max() >= scores.max() - penalties.loss
    assert penalties.loss <= problem.rounding[0]


@examples(12)
@given(seed=st.integers(0, 2**31), name=st.sampled_from(BACKENDS), real=st.booleans())
def test_backends_prove_the_maximum_of_problems_with_penalties(seed, name, real):
    generator = np.random.default_rng(seed)
    groups = [[0, 1, 2, 3], [4, 5, 6], [0, 4, 7]]
    penalty = float(generator.choice([1.0, 6.0, 30.0]))
    problem = one_hot(generator, groups, 9, penalty, real)
    solution = solve(problem, solver=name)
    best = scores_of(problem, all_states(9)).max()
    assert solution.optimal
    assert solution.score == pytest.approx(best, abs=1e-9)
    assert solution.bound >= best - problem.rounding[0]


def test_a_start_that_breaks_a_penalty_counts():
    problem = one_hot(np.random.default_rng(0), [[0, 1, 2], [3, 4, 5]], 8, 50.0, False)
    best = solve(problem, solver="exhaustive")
    solution = solve(problem, solver=BACKENDS[0], start=np.ones(8, np.int8))
    assert solution.score == best.score


def test_weak_penalties_are_no_constraints():
    """Two variables of a group are worth more than the penalty costs."""
    pairwise = np.triu(np.full((4, 4), -1.0), 1)
    assert first_penalties(Problem.from_arrays(np.full(4, 3.0), pairwise)) is None
    assert first_penalties(Problem.from_arrays(np.full(4, 1.0), pairwise)) is not None


def test_pairs_of_variables_that_are_never_1_are_no_penalties():
    """Six variables that are 0 in any case would else join all others in groups."""
    generator = np.random.default_rng(0)
    unary = generator.uniform(0.5, 2, 30)
    unary[::5] = -20
    pairwise = np.triu(generator.normal(size=(30, 30)) * 0.2, 1)
    assert select_solver(Problem.from_arrays(unary, pairwise)).solver.name == "branch_and_bound"


def test_groups_make_room_for_profits_that_a_penalty_alone_does_not_exceed():
    """The profits of a variable of the last group exceed its penalty, unless others are groups."""
    groups = [range(5 * k, 5 * k + 5) for k in range(6)]
    pairwise = np.full((30, 30), 1.0)
    for group in groups:
        pairwise[np.ix_(group, group)] = -200.0
    pairwise[np.ix_(groups[-1], groups[-1])] = -12.0
    unary = np.full(30, 5.0)
    assert len(penalties_of(Problem.from_arrays(unary, np.triu(pairwise, 1))).names) == 6
    pairwise[pairwise > 0] = 2.0
    assert len(penalties_of(Problem.from_arrays(unary, np.triu(pairwise, 1))).names) == 5


def groups_of(problem):
    return [np.flatnonzero(row).tolist() for row in penalties_of(problem).matrix]


def test_groups_are_the_rows_and_columns_of_an_assignment():
    problem, groups, _, _ = assignment(4, penalty=1000.0)
    assert sorted(groups_of(problem)) == sorted(groups)
    assert penalties_of(problem).few


def test_groups_are_as_large_as_possible_in_any_order_of_the_pairs():
    """The last group contains the pair 0, 2, which the first one has already."""
    edges = [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]
    for pairs in (edges, edges[::-1]):
        problem = Problem.from_arrays(np.ones(4), [-1.0] * 5, edges=pairs)
        assert groups_of(problem) == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize("free", [0, 2])
def test_profits_of_groups_count_once_and_those_of_free_variables_in_full(free):
    """Variable 0 is in two groups. Profits of 3 fit under the penalty 4 of the last group."""
    groups = [[0, 1, 2], [0, 3, 4], [5, 6, 7]]
    pairwise = np.zeros((8 + free, 8 + free))
    pairwise[:2, 5:8] = 3.0
    pairwise[5:8, 8:] = 3.0
    for group, penalty in zip(groups, (100.0, 100.0, 4.0), strict=True):
        for i, j in itertools.combinations(group, 2):
            pairwise[i, j] = -penalty
    assert (
        groups_of(Problem.from_arrays(np.full(8 + free, 0.5), pairwise)) == groups[: 3 - free // 2]
    )


def test_auto_searches_within_constraints_where_penalties_are_recognised():
    problem, _, best, _ = assignment(6, penalty=1000.0)
    assert "penalties" in select_solver(problem).reason
    solution = solve(problem)
    assert solution.optimal
    assert solution.score == best + 12 * 1000
    ranked = solve(problem, k_best=2, time_limit=5)
    assert ranked.score[0] == best + 12 * 1000


def test_the_bound_of_an_assignment_is_at_most_that_of_gilmore_and_lawler():
    """Its first step solves an assignment for each pair of a facility and a place."""
    from scipy.optimize import linear_sum_assignment

    size = 5
    problem, groups, best, (flow, distance) = assignment(size, seed=3)
    costs = np.zeros((size, size))
    for i, k in itertools.product(range(size), repeat=2):
        flows = np.sort(np.delete(flow[i], i))
        costs[i, k] = flows @ np.sort(np.delete(distance[k], k))[::-1]
    lawler = -costs[linear_sum_assignment(costs)].sum()
    rows = LinearRows.of(Rows.of([one_of(group) for group in groups], problem.n))
    bound = bound_within(problem, rows, rows.implied(), Deadline.after(None))
    assert best <= bound <= lawler
    penalised, *_ = assignment(size, seed=3, penalty=2000.0)
    penalties = penalties_of(penalised)
    rows = LinearRows.of(penalties)
    bound = bound_within(penalised, rows, rows.implied(), Deadline.after(None))
    assert best <= bound - 10 * 2000 <= lawler


@examples(40)
@given(seed=st.integers(0, 2**31))
def test_bounds_of_overlapping_groups_against_enumeration(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(4, 10))
    groups = [generator.choice(n, 3, replace=False).tolist() for _ in range(3)]
    kinds = [at_most(1, group) if generator.random() < 0.5 else one_of(group) for group in groups]
    kinds.append(linear(generator.integers(1, 5, n).astype(float), "<=", 9))
    kinds.append(linear({int(generator.integers(n)): 1}, ">=", int(generator.integers(2))))
    problem = one_hot(generator, [], n, 0.0, bool(generator.random() < 0.5))
    constraints = Rows.of(kinds, n)
    rows = LinearRows.of(constraints)
    states = all_states(n)
    states = states[constraints.satisfied(states)]
    values = rows.implied()
    if values is None or not len(states):
        return
    seconds = None if generator.random() < 0.5 else 1e-9
    bound = bound_within(problem, rows, values, Deadline.after(seconds))
    assert scores_of(problem, states).max() <= bound + 1e-12


@pytest.mark.parametrize("extra", [[], [linear(np.arange(36) % 5, "<=", 14)]])
def test_exchanges_find_the_best_assignment(extra):
    """Few flips give a first state, which exchanges improve without leaving the constraints."""
    problem, groups, best, _ = assignment(6, seed=1)
    constraints = Rows.of([*(one_of(group) for group in groups), *extra], 36)
    if extra:
        orders = np.array(list(itertools.permutations(range(6))))
        states = np.zeros((len(orders), 36), np.int8)
        np.put_along_axis(states, 6 * np.arange(6) + orders, 1, axis=1)
        best = scores_of(problem, states[constraints.satisfied(states)]).max()
    rows = LinearRows.of(constraints)
    search = ConstrainedSearch(problem, rows, rows.implied())
    search.run(np.zeros(36, np.int8), 2000, Deadline.after(None))
    search.exchange(2000, Deadline.after(None))
    assert rows.satisfied(search.state[None]).all()
    assert problem.score_flat(search.state[None])[0] == best


@pytest.mark.parametrize("kind", ["groups", "at most", "knapsack", "group of a knapsack"])
def test_exchanges_keep_constraints_and_score(kind):
    generator = np.random.default_rng(2)
    size = np.arange(24) % 4 + 1.0
    constraints = {
        "groups": [one_of(range(k, k + 4)) for k in range(0, 24, 4)],
        "at most": [at_most(1, range(k, k + 3)) for k in range(0, 21, 3)],
        "knapsack": [linear(size, "<=", 15)],
        "group of a knapsack": [one_of(range(6)), linear(size, "<=", 15)],
    }[kind]
    problem = one_hot(generator, [], 24, 0.0, True)
    rows = LinearRows.of(Rows.of(constraints, 24))
    search = ConstrainedSearch(problem, rows, rows.implied())
    search.run(np.zeros(24, np.int8), 30, Deadline.after(None), 30)
    first = problem.score_flat(search.state[None])[0]
    search.exchange(400, Deadline.after(None))
    assert rows.satisfied(search.state[None]).all()
    last = problem.score_flat(search.state[None])[0]
    solution = solve(problem, constraints=constraints, solver=BACKENDS[0])
    assert first <= last <= solution.bound + 1e-9
    assert last == pytest.approx(solution.score)
