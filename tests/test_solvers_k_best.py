"""The best states in order, against enumeration."""

import itertools

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from solvers import (
    OptionError,
    Problem,
    SolveInterrupted,
    instances,
    interrupt_solves,
    solve,
    solver_class,
)
from solvers.conversions import from_ising
from solvers.solution import Maximiser
from solvers.solver import ArgmaxSolver, Capabilities

torch = optional("torch")

SOLVERS = ["auto", "exhaustive", "elimination", "branch_and_bound", "dual_ascent"]


def problem_of(seed, n, density, kind, batch=2):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < density]
    draw = {
        "normal": lambda shape: random.normal(size=shape),
        "ties": lambda shape: random.integers(-1, 2, shape).astype(float),
        "zero": np.zeros,
    }[kind]
    return Problem.from_arrays(draw((batch, n)), draw((batch, len(edges))), edges=edges)


def all_scores(problem):
    """`[batch, 2^n]`, in falling order."""
    states = np.array(list(itertools.product((0, 1), repeat=problem.n)))
    scores = states @ problem.unary.T
    scores += (states[:, problem.edges[:, 0]] * states[:, problem.edges[:, 1]]) @ problem.pairwise.T
    return -np.sort(-scores.T, axis=1)


def check(problem, solution, count, expected):
    assert solution.z.shape == (problem.batch, count, problem.n)
    np.testing.assert_allclose(solution.score, expected[:, :count], rtol=1e-12, atol=1e-12)
    for k in range(count):
        np.testing.assert_allclose(
            problem.score(solution.z[:, k]), solution.score[:, k], rtol=1e-12, atol=1e-12
        )
    assert all(len(np.unique(states, axis=0)) == count for states in solution.z)
    assert (np.diff(solution.score, axis=1) <= 0).all()
    assert solution.optimal.all()
    assert (solution.bound >= expected[:, :count] - problem.rounding[:, None]).all()


@examples(80)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    st.sampled_from(["normal", "ties", "zero"]),
    st.integers(1, 12),
    st.sampled_from(SOLVERS),
)
def test_the_best_states_are_those_of_enumeration(seed, n, density, kind, count, solver):
    problem = problem_of(seed, n, density, kind)
    count = min(count, 2**n)
    check(problem, solve(problem, solver=solver, k_best=count), count, all_scores(problem))


def hostile(seed, n, kind):
    """One instance whose best states tie, come in pairs, or whose scores differ by tens of powers of ten."""
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < random.choice([0.2, 0.6, 1.0])]
    unary, pairwise = random.normal(size=n), random.normal(size=len(edges))
    if kind == "signs":
        unary, pairwise = np.sign(unary), np.sign(pairwise)
    if kind == "turned":  # flipping all bits changes nothing
        pairwise = 2 * np.sign(pairwise)
        unary = -np.bincount(edges.ravel(), pairwise.repeat(2), n) / 2
    if kind == "wild":
        unary, pairwise = (x * 10.0 ** random.integers(-20, 4, len(x)) for x in (unary, pairwise))
    scale = 1e-290 if kind == "tiny" else 1e280 if kind == "huge" else 1.0
    return Problem.from_arrays([scale * unary], [scale * pairwise], edges=edges)


def check_ranking(problem, solution, count):
    best, rounding = all_scores(problem)[:, :count], problem.rounding[:, None]
    assert (np.abs(solution.score - best) <= rounding).all()
    assert solution.optimal.all()
    assert (solution.bound >= best - rounding).all()
    assert (solution.bound <= best + 2 * rounding).all()
    assert all(len(np.unique(states, axis=0)) == count for states in solution.z)


KINDS = ["normal", "signs", "turned", "wild", "tiny", "huge"]


@examples(150)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.sampled_from(KINDS),
    st.integers(2, 40),
    st.sampled_from(["branch_and_bound", "dual_ascent"]),
)
def test_one_search_has_them_all(seed, n, kind, count, solver):
    """More variables than a leaf of the search has, and up to all states of fewer."""
    problem, count = hostile(seed, n, kind), min(count, 2**n)
    check_ranking(problem, solve(problem, solver=solver, k_best=count), count)


@pytest.mark.spread(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [0, 3])
def test_the_search_with_triangles_has_them_all(kind, first, limits):
    limits(calls_before_forecast=first, work_per_call=1, leaf_variables=4, probe_nodes=2)
    limits(relaxation_rounds=2)
    for seed in range(6):
        problem = hostile(seed, 12, kind)
        check_ranking(problem, solve(problem, solver="branch_and_bound", k_best=9), 9)


def test_one_search_has_as_many_as_one_after_the_other(monkeypatch):
    problem = instances.dense(26, 2, np.random.default_rng(5)).problem()
    found = {
        name: solve(problem, solver=name, k_best=8)
        for name in ("auto", "branch_and_bound", "dual_ascent")
    }
    monkeypatch.setattr(solver_class("branch_and_bound"), "best_states", ArgmaxSolver.best_states)
    found["excluded"] = solve(problem, solver="branch_and_bound", k_best=8)
    assert found["auto"].solver == "branch_and_bound"
    for each in found.values():
        assert each.optimal.all()
        np.testing.assert_allclose(each.score, found["excluded"].score, rtol=1e-12)


@pytest.mark.parametrize("kind", ["signs", "normal"])
def test_sparse_problems_are_searched_once(kind):
    random = np.random.default_rng(2)
    edges = np.stack(np.triu_indices(80, 1), axis=1)
    edges = edges[random.permutation(len(edges))[:240]]
    draw = (
        (lambda k: random.choice([-1.0, 1.0], k))
        if kind == "signs"
        else (lambda k: random.normal(size=k))
    )
    problem = Problem.from_arrays(draw(80), draw(240), edges=edges)
    found = solve(problem, k_best=7)
    assert found.solver == "dual_ascent"
    again = solve(problem, solver="branch_and_bound", k_best=7)
    assert found.optimal.all()
    assert again.optimal.all()
    np.testing.assert_allclose(found.score, again.score, rtol=1e-12)


def test_what_no_search_ends_is_excluded(monkeypatch):
    """In the turns of `auto` for sparse problems."""
    monkeypatch.setattr("solvers.solving.bits.sparse.ranking_turns", lambda problem: iter(()))
    sparse = problem_of(4, 40, 0.4, "normal", batch=1)
    found = solve(sparse, k_best=3)
    assert found.solver == "exclusion"
    assert found.optimal.all()
    np.testing.assert_allclose(
        found.score, solve(sparse, solver="dual_ascent", k_best=3).score, rtol=1e-12
    )


def test_more_variables_than_are_scored_at_once():
    problem = instances.dense(16, 2, np.random.default_rng(0)).problem()
    tables = solve(problem, solver="exhaustive", k_best=50)
    check(problem, tables, 50, all_scores(problem))


@pytest.mark.parametrize("solver", ["cp_sat", "max_flow", "mini_buckets", "cycle_cuts"])
def test_backends_that_find_one_find_many(solver):
    if missing := solver_class(solver).missing_packages():
        pytest.skip(f"needs {missing}")
    problem = instances.grid(2, 3, 2, np.random.default_rng(1)).problem()
    problem = Problem.from_arrays(problem.unary, np.abs(problem.pairwise), edges=problem.edges)
    check(problem, solve(problem, solver=solver, k_best=6), 6, all_scores(problem))


def test_fixed_variables_keep_their_values():
    problem = problem_of(3, 6, 0.7, "normal")
    for solver in SOLVERS:
        solution = solve(problem, solver=solver, fix={1: 1, 4: 0}, k_best=16)
        assert (solution.z[..., 1] == 1).all()
        assert (solution.z[..., 4] == 0).all()
        assert all(len(np.unique(states, axis=0)) == 16 for states in solution.z)
        assert solution.optimal.all()
        more = solve(problem, solver=solver, fix={1: 1, 4: 0}, k_best=17)
        np.testing.assert_array_equal(more.score[:, :16], solution.score)
        assert (more.z[:, 16] == -1).all()
        assert (more.score[:, 16] == -np.inf).all()
        assert (more.bound[:, 16] == -np.inf).all()
        assert more.optimal.all()
    assert solve(problem, fix=dict.fromkeys(range(6), 1), k_best=1).z.shape == (2, 1, 6)


def test_answers_of_the_callers_kind_and_words():
    found = solve(torch.tensor([1.0, -1.0]), k_best=3)
    assert isinstance(found.z, torch.Tensor)
    assert found.z.tolist() == [[1, 0], [0, 0], [1, 1]]
    first, second = solve(from_ising({"a": 1.0}, {("a", "b"): 0.5}), k_best=2)
    assert (first.value, second.value) == (-1.5, -0.5)
    assert first.assignment == {"a": -1, "b": 1}


@pytest.mark.parametrize(
    ("count", "message"),
    [(0, "at least 1"), (1.5, "whole number"), ("2", "whole"), (-3, "at least 1")],
)
def test_what_is_no_count_is_refused(count, message):
    with pytest.raises(OptionError, match=message):
        solve(np.ones(3), k_best=count)


def test_a_start_is_refused():
    with pytest.raises(OptionError, match="cannot be combined"):
        solve(np.ones(3), k_best=2, start=[0, 0, 0])


def test_when_time_is_up_states_are_distinct_and_bounds_hold():
    problem = instances.dense(30, 1, np.random.default_rng(2)).problem()
    late = solve(problem, solver="branch_and_bound", k_best=40, time_limit=1e-6)
    proved = solve(problem, solver="branch_and_bound", k_best=3)
    assert len(np.unique(late.z[0], axis=0)) == 40
    assert not late.optimal.all()
    assert (late.bound[0, :3] >= proved.score[0]).all()


@pytest.mark.parametrize("solver", ["auto", "branch_and_bound", "dual_ascent"])
def test_a_search_of_a_batch_that_is_cut_off_has_honest_bounds(solver):
    problem = instances.dense(28, 6, np.random.default_rng(7)).problem()
    proved = solve(problem, solver="branch_and_bound", k_best=4)
    for seconds in (1e-6, 2e-3, 1e-2):
        late = solve(problem, solver=solver, k_best=4, time_limit=seconds)
        assert all(len(np.unique(states, axis=0)) == 4 for states in late.z)
        assert (late.bound >= proved.score - problem.rounding[:, None]).all()
        right = np.abs(late.score - proved.score) <= problem.rounding[:, None]
        assert right[late.optimal].all()


class Guess(ArgmaxSolver):
    """Zeros, and a true bound."""

    name = "guess"
    capabilities = Capabilities(exact=True, time_limit=True)

    def _argmax(self, problem, deadline):
        return Maximiser(np.zeros((problem.batch, problem.n), np.int8), problem.positive_part)


class Stopped(Guess):
    """Somebody stops it."""

    def _argmax(self, problem, deadline):
        interrupt_solves()
        return super()._argmax(problem, deadline)


def test_without_proofs_nothing_is_claimed():
    problem = Problem.from_arrays([[1.0, 2.0, -1.0]])
    found = solve(problem, solver=Guess(), k_best=3)
    assert not found.optimal.any()
    assert (found.bound[0] >= [3.0, 2.0, 2.0]).all()


def test_regions_that_are_not_searched_have_the_bound_of_the_whole():
    found = solve(
        Problem.from_arrays([[1.0, 2.0, -1.0]]), solver=Guess(), k_best=3, time_limit=1e-9
    )
    assert not found.optimal.any()
    assert (found.bound[0] >= [3.0, 2.0, 2.0]).all()


def test_a_heuristic_proves_none_of_several():
    found = solve([1.0, 2.0, -1.0], solver="local_search", k_best=3)
    assert found.score.tolist() == [3.0, 2.0, 2.0]
    assert not found.optimal.any()


def test_bounds_of_a_search_that_is_cut_off_have_what_is_fixed():
    n = 80  # of 28 the first look at the clock can come after the proof
    problem = instances.dense(n, 1, np.random.default_rng(7)).problem()
    unary = problem.unary + np.where(np.arange(n) == 0, 1e3, 0.0)
    found = solve(
        unary,
        problem.pairwise,
        edges=problem.edges,
        solver="branch_and_bound",
        fix={0: 1},
        k_best=4,
        time_limit=1e-6,
    )
    assert not found.optimal.any()
    assert (found.bound > found.score).all()


def test_an_interrupt_has_the_states_so_far():
    with pytest.raises(SolveInterrupted) as stopped:
        solve(Problem.from_arrays([[1.0, 2.0, -1.0]]), solver=Stopped(), k_best=3)
    assert stopped.value.solution.z.shape == (1, 3, 3)
    assert len(np.unique(stopped.value.solution.z[0], axis=0)) == 3


@pytest.mark.parametrize("count", [np.uint64(2), np.int8(2), True])
def test_counts_of_any_whole_kind(count):
    assert solve([1.0, -2.0], k_best=count).z.shape == (int(count), 2)
