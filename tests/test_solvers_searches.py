"""The searches of other packages: starts, statuses, threads, time limits, and what their bounds are worth."""

import itertools
import os
import signal
import sys
import threading
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from optional import needs

from solvers import (
    Deadline,
    OptionError,
    Problem,
    SolveFailedError,
    SolverError,
    instances,
    solve,
    solver_class,
)
from solvers.algorithms.branch_and_bound import search as bb_search
from solvers.algorithms.branch_and_bound.search import _offer, search_dense
from solvers.algorithms.cycle_cuts import search as cut_search
from solvers.algorithms.local_search import warm_start
from solvers.algorithms.local_search.ascent import ascend
from solvers.algorithms.local_search.tabu import default_flips, nanoseconds_a_run
from solvers.algorithms.local_search.warm_start import best_state, first_state
from solvers.algorithms.precision.floating_point import TOLERANCE, FloatingPoint
from solvers.backends.cplex import _check_status as check_cplex_status
from solvers.compiled.best import Best, in_order
from solvers.compiled.threads import available_cores
from solvers.instances import dense

SEARCHES = ["cplex", "cp_sat", "highs"]
FLOATING = ["cplex", "highs"]
EDGES = np.stack(np.triu_indices(7, 1), axis=-1)


def exact_scores(unary, pairwise, edges):
    """{state: score} of all states, in rational arithmetic."""
    scores = (
        [Fraction(score) for score in unary.tolist()],
        [Fraction(score) for score in pairwise.tolist()],
    )
    return {
        state: sum(u * z for u, z in zip(scores[0], state, strict=True))
        + sum(w * state[i] * state[j] for w, (i, j) in zip(scores[1], edges.tolist(), strict=True))
        for state in product((0, 1), repeat=len(unary))
    }


def exact_maximum(unary, pairwise, edges):
    """Over all states, in rational arithmetic."""
    return max(exact_scores(unary, pairwise, edges).values())


def nearly_tied(noise, seed):
    """Small whole scores with ties, which noise alone breaks."""
    generator = np.random.default_rng(seed)
    arrays = generator.integers(-2, 3, 7), generator.integers(-2, 3, len(EDGES))
    return [array + noise * generator.standard_normal(array.shape) for array in arrays]


@pytest.mark.spread(8)
@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-9, 1e-12, 1e-14])
@pytest.mark.parametrize("solver", SEARCHES)
def test_bound_and_certificate_hold_in_exact_arithmetic(solver, noise):
    for seed in range(4):
        unary, pairwise = nearly_tied(noise, seed)
        problem = Problem.from_arrays(unary, pairwise, edges=EDGES)
        solution = solver_class(solver)().solve(problem)
        best = exact_maximum(unary, pairwise, EDGES)
        rounding = Fraction(float(problem.rounding[0]))
        assert solution.optimal
        assert Fraction(float(solution.bound)) >= best - rounding / 8
        assert Fraction(float(solution.score)) >= best - rounding


@pytest.mark.spread(16)
@pytest.mark.parametrize(
    "solver", ["dual_ascent", "mini_buckets", "branch_and_bound", "cycle_cuts"]
)
@pytest.mark.parametrize("seed", range(8))
def test_bounds_over_whole_numbers_hold_in_exact_arithmetic(solver, seed):
    """Nothing is fixed before the search, and what rounding to whole numbers moved is in its bound."""
    generator = np.random.default_rng(seed)
    pairwise = generator.standard_normal(len(EDGES))
    unary = 0.01 * generator.standard_normal(7) - np.bincount(
        EDGES.ravel(), np.repeat(pairwise / 2, 2)
    )
    solution = solver_class(solver)().solve(Problem.from_arrays(unary, pairwise, edges=EDGES))
    assert solution.stats["fixed"] == 0
    assert solution.optimal
    last_digit = Fraction(float(np.spacing(solution.bound)))
    assert Fraction(float(solution.bound)) >= exact_maximum(unary, pairwise, EDGES) - last_digit


@pytest.mark.spread(2)
@pytest.mark.parametrize("solver", ["dual_ascent", "branch_and_bound"])
@pytest.mark.parametrize("noise", [1e-14, 1e-15])
def test_the_bound_on_other_states_holds_in_exact_arithmetic(solver, noise):
    """States whose scores differ by less than a whole number of the search may be left out."""
    for seed in range(6):
        unary, pairwise = nearly_tied(noise, seed)
        problem = Problem.from_arrays(unary, pairwise, edges=EDGES)
        ranking = solver_class(solver)().best_states(problem, 3, Deadline.after(None))
        scores = exact_scores(unary, pairwise, EDGES)
        for state in ranking.z[0].tolist():
            del scores[tuple(state)]
        assert Fraction(float(ranking.others[0])) >= max(scores.values())


def test_whole_scores_leave_no_room_for_a_tolerance():
    unary, pairwise = np.array([0.25, -1.5]), np.array([0.75])
    scores = FloatingPoint.of(Problem.from_arrays(unary, pairwise, edges=[[0, 1]]))
    assert scores.whole
    assert (scores.unary.tolist(), scores.pairwise.tolist(), scores.gap) == (
        [1.0, -6.0],
        [3.0],
        0.5,
    )
    for reported in (2.0, 2.0 - 1e-6, 2.0 + 1e-6, 2.7):
        assert scores.bound(reported) == 0.5
    assert scores.bound(2.8) == 0.75


def test_the_margin_of_other_scores_is_within_the_rounding():
    problem = dense(12, 1, np.random.default_rng(0)).problem()
    scores = FloatingPoint.of(problem)
    total = np.abs(scores.unary).sum() + np.abs(scores.pairwise).sum()
    assert 2.0**22 <= total <= 2.0**23
    assert not scores.whole
    reported = float(total) / 3
    unit = float(problem.unary[0, 0] / scores.unary[0])
    margin = scores.bound(reported) - reported * unit
    assert TOLERANCE * unit * (problem.n + problem.e) <= margin <= 0.6 * float(problem.rounding[0])


@pytest.mark.parametrize("reported", [np.inf, -np.inf, np.nan])
def test_no_bound_is_no_bound(reported):
    scores = FloatingPoint.of(dense(4, 1, np.random.default_rng(0)).problem())
    assert scores.bound(reported) == np.inf


@pytest.mark.parametrize("solver", SEARCHES)
def test_time_limit_never_loses_the_start(solver):
    hard = dense(80, 1, np.random.default_rng(1))
    problem = hard.problem()
    start = solver_class("local_search")().solve(problem).z
    solution = solver_class(solver)(start=start).solve(problem, time_limit=0.2)
    assert solution.score >= problem.score(start)
    assert not solution.optimal
    assert solution.bound > solution.score


@pytest.mark.parametrize("time_limit", [1e-6, 1e-3, 0.02])
@pytest.mark.parametrize("solver", [*SEARCHES, "branch_and_bound"])
def test_a_search_that_hardly_began_proves_nothing(solver, time_limit):
    """CP-SAT reports a bound of 0 then, which is the score of all zeros."""
    problem = dense(110, 1, np.random.default_rng(1)).problem()
    known = solver_class("local_search")().solve(problem).score
    solution = solver_class(solver)().solve(problem, time_limit)
    assert not solution.optimal
    assert solution.bound > known


@pytest.mark.parametrize("solver", SEARCHES)
def test_starts_of_any_quality_give_the_maximum(solver):
    unary, pairwise = (
        np.stack(arrays) for arrays in zip(*(nearly_tied(0.1, k) for k in (0, 1)), strict=True)
    )
    expected = solve(unary, pairwise, edges=EDGES, solver="exhaustive").score
    for start in (np.zeros(7), np.ones((2, 7), int), np.arange(7) % 2 == 0):
        solution = solve(unary, pairwise, edges=EDGES, solver=solver_class(solver)(start=start))
        np.testing.assert_allclose(solution.score, expected, rtol=1e-13)
        assert solution.optimal.all()


@pytest.mark.parametrize("solver", SEARCHES)
def test_instances_out_of_time_lose_nothing_of_the_start(solver):
    hard = dense(60, 3, np.random.default_rng(2))
    start = np.random.default_rng(3).integers(0, 2, (3, 60))
    limited = solver_class(solver)(start=start)
    solution = solve(hard.unary, hard.pairwise, edges=hard.edges, solver=limited, time_limit=0.01)
    reached = solution.stats["reached"]
    assert reached < 3
    given = hard.problem().score_flat(start.astype(np.int8))
    assert (solution.score[reached:] > given[reached:]).all()  # single flips better it


def test_the_best_of_some_states_is_chosen():
    # from 000 no single flip gains
    problem = Problem.from_arrays([-1.0, -1.0, -1.0], [3.0], edges=[[0, 1]])
    for states in ([[0, 0, 0], [1, 1, 1]], [[1, 1, 0], [0, 0, 0]]):
        assert best_state(problem, *np.array(states, np.int8)).tolist() == [1, 1, 0]


def test_a_start_is_improved_by_single_flips():
    problem = Problem.from_arrays([1.0, -2.0, 3.0])
    assert first_state(problem, np.array([0, 1, 0], np.int8), Deadline.after(None)).tolist() == [
        1,
        0,
        1,
    ]
    for seconds in (1e-6, 1e308):
        assert first_state(problem, None, Deadline.after(seconds)).tolist() == [1, 0, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [30, 90, 300])
def test_searches_start_where_local_search_ends(n, dtype):
    random = np.random.default_rng(n)
    graph = nx.random_regular_graph(4, n, seed=1)
    unary, pairwise = (
        random.normal(size=n).astype(dtype),
        3 * random.normal(size=2 * n).astype(dtype),
    )
    problem = Problem.from_arrays(unary, pairwise, edges=np.array(graph.edges))
    known = solver_class("local_search")().solve(problem)
    for seconds in (None, 60.0):
        assert np.array_equal(first_state(problem, None, Deadline.after(seconds)), known.z)


@pytest.mark.parametrize(("n", "whole"), [(4000, True), (20_000, False)])
def test_a_start_without_a_limit_takes_a_tenth_of_a_second_at_most(monkeypatch, n, whole):
    asked = []

    class Asked:
        def __init__(self, *_, flips, **__):
            asked.append(flips)

        def run(self, starts, deadline):
            return np.zeros((1, n))

    monkeypatch.setattr(warm_start, "TabuSearch", Asked)
    first_state(Problem.from_arrays(np.ones(n)), None, Deadline.after(None))
    assert (asked[0] == default_flips(n)) == whole
    assert 0.05 < 4e-9 * nanoseconds_a_run(n, asked[0]) < 0.101


@pytest.mark.parametrize(
    "name",
    ["dual_ascent", "branch_and_bound", "cycle_cuts", "mini_buckets", "cplex", "cp_sat", "highs"],
)
def test_every_exact_search_asks_for_that_start(monkeypatch, name):
    if missing := solver_class(name).missing_packages():
        pytest.skip(f"needs {missing}")
    asked = []

    def first(problem, given, deadline):
        asked.append(given)
        return first_state(problem, given, deadline)

    place = {"branch_and_bound": bb_search, "cycle_cuts": cut_search}
    monkeypatch.setattr(
        place.get(name) or sys.modules[solver_class(name).__module__], "first_state", first
    )
    hard = dense(22, 1, np.random.default_rng(0)).problem()
    assert solve(hard, solver=name, time_limit=20.0).optimal
    assert asked == [None]


def test_a_state_that_is_offered_is_taken_where_it_is_better():
    h, matrix = np.array([1.0, 2.0, -4.0]), np.zeros((3, 3))
    matrix[0, 1] = matrix[1, 0] = 3.0
    best = Best.of(np.array([[1, 0, 0]], np.int8), np.ones(1), 1)
    _offer(np.array([0, 0, 1], np.int8), h, matrix, best)
    assert (best.scores[0], in_order(best).tolist()) == (1.0, [[1, 0, 0]])
    _offer(np.array([0, 1, 0], np.int8), h, matrix, best)
    assert (best.scores[0], in_order(best).tolist()) == (2.0, [[0, 1, 0]])
    # the last is turned to 0, and all with it
    _offer(np.array([0, 0, 1, 1], np.int8), h, matrix, best)
    assert (best.scores[0], in_order(best).tolist()) == (6.0, [[1, 1, 0]])


def test_no_flip_gains_after_an_ascent():
    random = np.random.default_rng(5)
    problem = instances.dense(9, 40, random).problem()
    z = random.integers(0, 2, (40, 9)).astype(np.int8)
    top = ascend(problem, z)
    before, best = problem.score_flat(z), problem.score_flat(top)
    assert (best >= before).all()
    for i in range(9):
        flipped = top.copy()
        flipped[:, i] ^= 1
        assert (problem.score_flat(flipped) <= best + problem.rounding).all()


@pytest.mark.parametrize("start", [[0, 1], [0, 1, 2], [0.5, 0, 1], "abc", [[0, 1, 0]] * 2], ids=str)
@pytest.mark.parametrize("solver", SEARCHES)
def test_impossible_starts(solver, start):
    needs(solver)
    with pytest.raises(SolverError, match="start"):
        solve([1.0, 2.0, -3.0], [-1.0], edges=[[0, 1]], solver=solver_class(solver)(start=start))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "solver", ["cplex", "cp_sat", "branch_and_bound", "exhaustive", "elimination"]
)
def test_threads_do_not_change_the_maximum(solver, threads):
    drawn = dense(14, 2, np.random.default_rng(4))
    arrays = drawn.unary, drawn.pairwise
    solution = solve(*arrays, edges=drawn.edges, solver=solver_class(solver)(threads=threads))
    np.testing.assert_allclose(solution.score, solve(*arrays, edges=drawn.edges).score, rtol=1e-13)


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert available_cores.__wrapped__() == 1


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
@pytest.mark.parametrize(
    "solver", ["cplex", "cp_sat", "branch_and_bound", "exhaustive", "elimination", "local_search"]
)
def test_impossible_threads(solver, threads):
    with pytest.raises(OptionError, match="threads must be a whole number from 1 to 1024"):
        solver_class(solver)(threads=threads)


def test_unknown_options_are_named():
    with pytest.raises(OptionError, match="'independent' has no option 'threads'; it has none"):
        solver_class("independent")().with_options(threads=2)
    with pytest.raises(OptionError, match="no option 'thread'; did you mean 'threads'"):
        solver_class("cplex")().with_options(thread=2)


def with_threads(name, threads):
    """A backend that its own check of threads would refuse, for what the third party says of them."""
    solver = solver_class(name)()
    object.__setattr__(solver, "threads", threads)
    return solver


def test_a_status_of_cp_sat_without_answer_is_an_error():
    unary, pairwise = nearly_tied(0.1, 5)
    with pytest.raises(SolveFailedError, match=r"status MODEL_INVALID.*num_workers"):
        solve(unary, pairwise, edges=EDGES, solver=with_threads("cp_sat", 10**6))


@pytest.mark.parametrize("code", [0, 103, 109, 110, 111, 115, 1234])
def test_a_status_of_cplex_without_answer_is_an_error(code):
    with pytest.raises(SolveFailedError, match=f"CPLEX stopped with status {code}: in words"):
        check_cplex_status(SimpleNamespace(status_code=code, status="in words"))


def test_a_refusal_of_cplex_is_an_error():
    unary, pairwise = nearly_tied(0.1, 5)
    with pytest.raises(SolveFailedError, match=r"CPLEX refused an instance of n = 7.*threads"):
        solve(unary, pairwise, edges=EDGES, solver=with_threads("cplex", 2**40))


def test_highs_errors_become_ours(monkeypatch):
    monkeypatch.setattr("solvers.backends.highs.TOLERANCES", ("no_such_option",))
    unary, pairwise = nearly_tied(0.1, 5)
    with pytest.raises(
        SolveFailedError, match=r"HiGHS failed on an instance of n = 7: .*no_such_option"
    ):
        solve(unary, pairwise, edges=EDGES, solver="highs")


@pytest.mark.parametrize("solver", ["cplex", "cp_sat"])
def test_the_keyboard_stops_a_search(solver):
    hard = dense(90, 1, np.random.default_rng(6))
    solve([1.0], solver=solver)  # imports its package, in whose callbacks a signal would be lost
    signal_soon = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    # a shell's background jobs ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    signal_soon.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            solve(hard.unary, hard.pairwise, edges=hard.edges, solver=solver, time_limit=20)
    finally:
        signal_soon.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_a_dense_search_without_a_field_fixes_a_variable(scale):
    """Flipping all bits changes nothing; half of the nodes are left."""
    n, nodes = 24, {0.0: 0, 0.25: 0}
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    for field, seed in itertools.product(nodes, range(5)):
        couplings = scale * np.random.default_rng(seed).choice([-1.0, 1.0], len(edges))
        unary = -np.bincount(edges.ravel(), np.repeat(couplings, 2), n) / 2
        unary[0] += field * scale
        problem = Problem.from_arrays(unary, couplings, edges=edges)
        z, bound, handled = search_dense(problem, Deadline.after(None))
        best = solve(unary, couplings, edges=edges, solver="exhaustive").score
        assert problem.score(z) == pytest.approx(best)
        assert bound == pytest.approx(best)
        assert field or z[-1] == 0
        nodes[field] += handled
    assert nodes[0.0] < 0.8 * nodes[0.25]


def test_without_time_the_bound_is_at_most_the_sum_of_the_positive_scores():
    generator = np.random.default_rng(0)
    edges = np.stack(np.triu_indices(60, 1), axis=1)
    unary = generator.integers(-3, 4, 60).astype(np.float64)
    pairwise = generator.integers(-9, 3, len(edges)).astype(np.float64)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    _, bound, _ = search_dense(problem, Deadline.after(-1.0))
    assert bound <= unary[unary > 0].sum() + pairwise[pairwise > 0].sum()
