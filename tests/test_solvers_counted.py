"""Counts of variables in the tables of an elimination: against enumeration, and against a search."""

import itertools
import time

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import (
    InfeasibleError,
    Problem,
    UnsupportedProblemError,
    instances,
    solve,
    solver_class,
)
from solvers.constraints import at_least, at_most, cardinality, implies, linear, one_of


def forest(random, n, kind="any"):
    """`[e, 2]`: a chain, a star, a tree or several, its variables numbered anyhow."""
    names = random.permutation(n)
    if kind == "chain":
        return np.stack((names[:-1], names[1:]), axis=1)
    if kind == "star":
        return np.stack((np.full(n - 1, names[0]), names[1:]), axis=1)
    pairs = [(names[random.integers(i)], names[i]) for i in range(1, n) if random.random() < 0.85]
    return np.array(pairs, np.int64).reshape(-1, 2)


def problem_of(random, n, kind="any", batch=2, ties=False):
    edges = forest(random, n, kind)
    draw = (
        (lambda shape: random.integers(-2, 3, shape).astype(float))
        if ties
        else random.standard_normal
    )
    return Problem.from_arrays(draw((batch, n)), draw((batch, len(edges))), edges=edges)


def drawn(random, n):
    """Constraints that count a group, and whether a state satisfies them."""
    group = sorted(int(i) for i in random.permutation(n)[: int(random.integers(1, n + 1))])
    low, high = sorted(int(k) for k in random.integers(0, len(group) + 2, 2))
    kind = random.integers(5)
    if kind == 0:
        return [cardinality(low)], lambda z: sum(z) == low
    if kind == 1:
        return [
            at_least(low, group),
            at_most(high, group),
        ], lambda z: low <= sum(z[i] for i in group) <= high
    if kind == 2:
        return [one_of(group)], lambda z: sum(z[i] for i in group) == 1
    if kind == 3:
        weights = dict.fromkeys(group, -0.3)
        return [
            linear(weights, ">=", -0.3 * high - 0.1)
        ], lambda z: sum(z[i] for i in group) <= high
    fixed = int(random.integers(n))
    return (
        [at_least(low, group), linear({fixed: 2.0}, ">=", 1.0)],
        lambda z: sum(z[i] for i in group) >= low and z[fixed] == 1,
    )


@examples(150)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.sampled_from(["any", "chain", "star"]),
    st.booleans(),
)
def test_the_best_state_of_a_count(seed, n, kind, ties):
    random = np.random.default_rng(seed)
    problem = problem_of(random, n, kind, ties=ties)
    constraints, test = drawn(random, n)
    states = np.array([z for z in itertools.product((0, 1), repeat=n) if test(z)], np.int8).reshape(
        -1, n
    )
    if not len(states):
        with pytest.raises(InfeasibleError):
            solve(problem, solver="elimination", constraints=constraints)
        return
    ends = problem.edges
    scores = (
        states @ problem.unary.T
        + (states[:, ends[:, 0]] * states[:, ends[:, 1]]) @ problem.pairwise.T
    )
    solution = solve(problem, solver="elimination", constraints=constraints)
    assert all(test(z) for z in solution.z.tolist())
    np.testing.assert_allclose(solution.score, scores.max(axis=0), rtol=1e-12, atol=1e-12)
    assert solution.optimal.all()
    assert (solution.bound >= scores.max(axis=0) - 1e-12).all()


@pytest.mark.parametrize("kind", ["chain", "any"])
def test_it_agrees_with_a_search(kind):
    if solver_class("cp_sat").missing_packages():
        pytest.skip("needs OR-Tools")
    random = np.random.default_rng(0)
    problem = problem_of(random, 60, kind, batch=1)
    for count in (0, 1, 17, 30, 59, 60):
        found = solve(problem, constraints=[cardinality(count)])
        searched = solve(problem, constraints=[cardinality(count)], solver="cp_sat")
        assert found.solver == "elimination"
        assert found.z.sum() == count
        assert searched.optimal.all()
        np.testing.assert_allclose(found.score, searched.score, rtol=1e-12, atol=1e-12)


def test_all_counts_together_hold_the_maximum():
    random = np.random.default_rng(1)
    problem = problem_of(random, 400, "any", batch=1)
    free = solve(problem)
    count = int(free.z.sum())
    np.testing.assert_allclose(
        solve(problem, constraints=[cardinality(count)]).score, free.score, rtol=1e-12
    )
    assert (solve(problem, constraints=[cardinality(count + 5)]).score <= free.score).all()
    np.testing.assert_allclose(
        solve(problem, constraints=[at_most(400)]).score, free.score, rtol=1e-12
    )


def test_fixed_variables_and_several_states():
    random = np.random.default_rng(2)
    problem = problem_of(random, 30, "chain", batch=1)
    solution = solve(problem, constraints=[cardinality(3)], fix={4: 1, 5: 0})
    assert solution.solver == "elimination"
    assert (solution.z[0, 4], solution.z[0, 5], solution.z.sum()) == (1, 0, 3)
    with pytest.raises(InfeasibleError, match="fix 4"):
        solve(problem, constraints=[at_most(0)], fix={4: 1})
    with pytest.raises(UnsupportedProblemError, match="no other constraints"):
        solve(problem, constraints=[cardinality(3)], solver="elimination", k_best=2)


def test_what_it_cannot_take_is_refused_with_the_reason():
    ring = np.array(nx.cycle_graph(30).edges)
    problem = Problem.from_arrays(np.ones(30), -np.ones(30), edges=ring)
    with pytest.raises(UnsupportedProblemError, match="cycle"):
        solve(problem, constraints=[cardinality(3)], solver="elimination")
    path = Problem.from_arrays(np.ones(30), -np.ones(29), edges=ring[:29])
    for constraints in (
        [implies(0, 1)],
        [linear({0: 1.0, 1: 2.0}, "<=", 2.0)],
        [at_most(2, [0, 1, 2]), at_most(2, [3, 4, 5])],
    ):
        with pytest.raises(UnsupportedProblemError, match="no other constraints"):
            solve(path, constraints=constraints, solver="elimination")


def test_tables_that_do_not_fit_are_refused(free_memory):
    free_memory(1 << 20)
    problem = problem_of(np.random.default_rng(3), 1000, "chain", batch=1)
    with pytest.raises(UnsupportedProblemError, match="GiB may be used"):
        solve(problem, constraints=[cardinality(500)], solver="elimination")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_batch_is_its_instances(dtype):
    random = np.random.default_rng(4)
    problem = problem_of(random, 25, "any", batch=5)
    scores = problem.unary.astype(dtype), problem.pairwise.astype(dtype)
    together = solve(
        *scores, edges=problem.edges, solver="elimination", constraints=[cardinality(7)]
    )
    for b in range(5):
        alone = solve(
            *(part[b] for part in scores),
            edges=problem.edges,
            solver="elimination",
            constraints=[cardinality(7)],
        )
        assert alone.score == together.score[b]


def graph(random, n, kind):
    """One instance on any graph: signs that tie, or scores of many powers of ten."""
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < random.choice([0.3, 0.7, 1.0])]
    unary, pairwise = random.normal(size=n), random.normal(size=len(edges))
    if kind == "signs":
        unary, pairwise = np.sign(unary), np.sign(pairwise)
    if kind == "tenths":
        unary, pairwise = np.round(unary, 1), np.round(pairwise, 1)
    if kind == "wild":
        unary, pairwise = (x * 10.0 ** random.integers(-20, 4, len(x)) for x in (unary, pairwise))
    return Problem.from_arrays([unary], [pairwise], edges=edges)


@examples(120)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 11),
    st.sampled_from(["normal", "signs", "tenths", "wild", "zero"]),
)
def test_the_best_state_of_a_count_in_any_graph(seed, n, kind):
    random = np.random.default_rng(seed)
    problem = graph(random, n, kind)
    if kind == "zero":
        problem = Problem.from_arrays(0 * problem.unary, 0 * problem.pairwise, edges=problem.edges)
    constraints, test = drawn(random, n)
    states = np.array([z for z in itertools.product((0, 1), repeat=n) if test(z)], np.int8).reshape(
        -1, n
    )
    if not len(states):
        with pytest.raises(InfeasibleError):
            solve(problem, solver="branch_and_bound", constraints=constraints)
        return
    best = max(float(problem.score([z])[0]) for z in states)
    solution = solve(problem, solver="branch_and_bound", constraints=constraints)
    assert test(solution.z[0].tolist())
    assert abs(solution.score[0] - best) <= problem.rounding[0]
    assert solution.bound[0] >= best - problem.rounding[0]
    assert solution.optimal[0] or kind not in ("signs", "zero")


@pytest.mark.slow
def test_dense_problems_beyond_enumeration():
    random = np.random.default_rng(1)
    problem = graph(random, 21, "signs")
    for constraints in ([cardinality(9)], [at_most(9)], [at_least(17, range(18))], [at_least(0)]):
        found = solve(problem, constraints=constraints)
        assert found.solver == "branch_and_bound"
        assert found.optimal.all()
        other = solve(
            problem, solver="exhaustive", constraints=[*constraints, linear({0: 1.0}, ">=", 1.0)]
        )
        assert found.score >= other.score
        if found.z[0, 0]:
            assert found.score == other.score


@pytest.mark.parametrize("seconds", [1e-6, 0.02])
def test_a_count_that_time_cuts_off_has_honest_bounds(seconds):
    problem = instances.dense(60, 3, np.random.default_rng(0)).problem()
    proved = solve(problem, solver="branch_and_bound", constraints=[cardinality(20)])
    late = solve(
        problem, solver="branch_and_bound", constraints=[cardinality(20)], time_limit=seconds
    )
    assert proved.optimal.all()
    assert (late.z.sum(axis=1) == 20).all()
    assert (late.bound >= proved.score - problem.rounding).all()


@examples(60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from(["any", "chain", "star"]))
def test_a_tree_that_time_cuts_off_has_honest_bounds(seed, n, kind):
    random = np.random.default_rng(seed)
    problem = problem_of(random, n, kind)
    constraints, test = drawn(random, n)
    try:
        exact = solve(problem, solver="elimination", constraints=constraints)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            solve(problem, solver="elimination", constraints=constraints, time_limit=1e-9)
        return
    late = solve(problem, solver="elimination", constraints=constraints, time_limit=1e-9)
    assert all(test(z) for z in late.z.tolist())
    assert (late.score <= exact.score + problem.rounding).all()
    assert (late.bound >= exact.score - problem.rounding).all()


def test_a_long_chain_that_time_cuts_off_is_almost_solved():
    """An odd count of variables in pairs that want to be equal: no price gives it."""
    n = 3000
    edges = np.stack((np.arange(n - 1), np.arange(1, n)), axis=1)
    pairwise = np.where(np.arange(n - 1) % 2 == 0, 20.0, 0.1)
    unary = np.random.default_rng(0).normal(-10.0, 1.0, n)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    count = [cardinality(601)]
    exact = solve(problem, solver="elimination", constraints=count)
    late = solve(problem, solver="elimination", constraints=count, time_limit=1e-9)
    assert exact.optimal
    assert not late.optimal
    assert late.z.sum() == 601
    assert late.bound >= exact.score
    assert late.score >= exact.score - 1.0
    assert late.bound <= exact.score + 25.0


def test_fixed_variables_stay_where_time_cuts_off():
    n = 10
    edges = np.stack((np.arange(n - 1), np.arange(1, n)), axis=1)
    unary = np.ones(n)
    unary[4] = -50.0
    problem = Problem.from_arrays(unary, np.zeros(n - 1), edges=edges)
    late = solve(
        problem, solver="elimination", constraints=[cardinality(3)], fix={4: 1}, time_limit=1e-9
    )
    assert (late.z[4], late.z.sum(), late.score) == (1, 3, -48.0)


def test_the_tables_of_counts_end_with_the_time():
    n = 8000
    edges = np.stack((np.arange(n - 1), np.arange(1, n)), axis=1)
    random = np.random.default_rng(0)
    problem = Problem.from_arrays(random.normal(size=n), random.normal(size=n - 1), edges=edges)

    def seconds(**limit):
        start = time.process_time()
        solve(problem, solver="elimination", constraints=[cardinality(2000)], **limit)
        return time.process_time() - start

    seconds(time_limit=1e-9)  # loads what it needs
    assert seconds(time_limit=1e-9) < seconds() / 2


def test_other_constraints_are_refused():
    problem = graph(np.random.default_rng(0), 5, "normal")
    with pytest.raises(UnsupportedProblemError, match="one group"):
        solve(problem, solver="branch_and_bound", constraints=[implies(0, 1)])
