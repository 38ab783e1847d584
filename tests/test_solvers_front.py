"""One front end for bits and labels: what one kind takes, the other takes too."""

import time
from itertools import product

import numpy as np
import pytest

from solvers import (
    Deadline,
    InfeasibleError,
    OptionError,
    Problem,
    SolveFailedError,
    SolveInterrupted,
    UnsupportedProblemError,
    interrupt_solves,
    labels,
    select_solver,
    solve,
    solve_labels,
    solve_many,
    solver_class,
)
from solvers.constraints import at_least, at_most, cardinality, implies, linear, one_of
from solvers.conversions import from_qubo
from solvers.labels import LabelProblem, from_factors, prepare
from solvers.solving.selection import resolve
from solvers.testing import check_conformance

SIZES = np.array([3, 2, 3, 1, 2])
EDGES = [[0, 1], [2, 1], [0, 2], [3, 4], [1, 4]]


def small(seed, batch=2):
    generator = np.random.default_rng(seed)
    unary = generator.standard_normal((batch, 5, 3))
    tables = generator.standard_normal((5, 3, 3))
    return LabelProblem.from_arrays(unary, tables, edges=EDGES, sizes=SIZES)


def all_labels():
    return np.array(list(product(*(range(size) for size in SIZES))))


def all_scores(problem):
    """`[batch, states]`, by the problem's arrays alone."""
    states = all_labels()
    total = problem.unary[:, np.arange(5), states].sum(axis=-1)
    for edge, (i, j) in enumerate(problem.edges):
        total = total + problem.pairwise(edge)[0][states[:, i], states[:, j]]
    return total


def large(seed, n=300):
    generator = np.random.default_rng(seed)
    pairs = np.unique(np.sort(generator.integers(0, n, (3 * n, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    tables = generator.standard_normal((len(pairs), 5, 5))
    return LabelProblem.from_arrays(generator.standard_normal((n, 5)), tables, edges=pairs)


# --- one call --------------------------------------------------------------------------------------


def test_solve_takes_problems_and_conversions_of_either_kind():
    problem = small(0)
    np.testing.assert_allclose(solve(problem).score, all_scores(problem).max(axis=1))
    vote = from_factors([2, 3], [((0, 1), np.arange(6.0).reshape(2, 3))], names=["coat", "shoe"])
    assert solve(vote).assignment == {"coat": 1, "shoe": 2}
    assert solve_labels(from_qubo({("a", "a"): -1.0})).assignment == {"a": 1}
    assert [answer.value for answer in solve(vote, k_best=2)] == [5.0, 4.0]


def test_labels_solve_is_solve_labels():
    assert labels.solve is solve_labels
    given = [[2.0, 0.0], [0.0, 1.0]]
    assert solve_labels(given, potts=0.5, edges=[[0, 1]]).labels.tolist() == [0, 1]


def test_the_choice_of_a_solver_is_one_function_for_both_kinds():
    assert select_solver(small(0)).solver.name == "elimination"
    assert select_solver(Problem.from_arrays([1.0])).solver.name == "independent"
    assert resolve("cp_sat", small(0)).name == "bits"


def test_a_stream_holds_problems_of_both_kinds():
    problem = small(1)
    bits, several = solve_many([Problem.from_arrays([1.0, -1.0]), problem])
    assert bits.score == 1.0
    np.testing.assert_allclose(several.score, all_scores(problem).max(axis=1))


def test_a_deadline_may_stand_for_seconds():
    limit = Deadline.after(60.0)
    assert solve([1.0, -1.0], time_limit=limit).optimal
    assert solve(small(0), time_limit=limit).optimal.all()


# --- a state to start from ----------------------------------------------------------------------------


@pytest.mark.spread(2)
@pytest.mark.parametrize("solver", ["auto", "dual_ascent", "expansion_moves", "bits", "toulbar2"])
def test_labels_are_never_worse_than_their_start(solver):
    if solver == "toulbar2":
        pytest.importorskip("pytoulbar2")
    problem = large(0)
    start = solve(problem, time_limit=1.0)
    again = solve(problem, solver=solver, time_limit=0.02, start=start.labels)
    assert again.score >= start.score
    assert again.bound >= again.score
    assert again.stats["start"] == ("unused" if solver == "toulbar2" else "used")


def test_a_start_that_is_best_is_found_again():
    problem = small(2, batch=1)
    best = solve(problem)
    again = solve(problem, solver="dual_ascent", start=best.labels)
    assert again.score == best.score
    assert again.optimal


def test_a_start_stands_where_a_search_finds_nothing_in_its_time():
    class Late(labels.LabelSolver):
        name = "late"
        capabilities = solver_class("dual_ascent", "labels").capabilities

        def _argmax(self, problem, deadline):
            raise SolveFailedError("nothing in its time")

    problem = small(3)
    start = np.zeros((2, 5), np.int64)
    solution = solve(problem, solver=Late(), time_limit=1e-9, start=start)
    np.testing.assert_array_equal(solution.labels, start)
    np.testing.assert_allclose(solution.score, problem.score(start))
    assert not solution.optimal.any()
    assert (solution.bound >= all_scores(problem).max(axis=1)).all()
    with pytest.raises(SolveFailedError, match="nothing in its time"):
        solve(problem, solver=Late(), start=start)


@pytest.mark.parametrize(
    ("start", "match"),
    [
        ([0, 0, 0, 0, 7], "variable 4 the value 7; it has 0 to 1"),
        ([0, 0], r"start must be \[5\]"),
        ([0.5] * 5, "variable 0 the value 0.5"),
    ],
)
def test_a_start_that_is_none_is_refused(start, match):
    with pytest.raises(OptionError, match=match):
        solve(small(0), start=start)


def test_a_conversion_of_labels_starts_by_its_names():
    table = np.arange(12.0).reshape(2, 3, 2)  # a factor of three variables gets one of its own
    vote = from_factors([2, 3, 2], [((0, 1, 2), table)], names=["coat", "shoe", "hat"])
    states = vote.start({"coat": 1, "shoe": 0, "hat": 1})
    assert vote.problem.score(states) == table[1, 0, 1]
    answer = solve(vote, start={"coat": 1, "shoe": 0, "hat": 1})
    assert answer.value == 11.0
    with pytest.raises(OptionError, match="no value for 'hat'"):
        solve(vote, start={"coat": 1, "shoe": 0})


def test_start_goes_with_fix():
    problem = large(1)
    start = solve(problem, time_limit=0.5, fix={0: 3})
    again = solve(problem, time_limit=0.02, fix={0: 3}, start=start.labels)
    assert again.labels[0] == 3
    assert again.score >= start.score


# --- constraints -----------------------------------------------------------------------------------------


CONSTRAINTS = {
    "at most": ([at_most(1, [(0, 0), (1, 0), (2, 0)])], lambda x: (x[[0, 1, 2]] == 0).sum() <= 1),
    "one of": ([one_of([(0, 2), (2, 2)])], lambda x: (x[0] == 2) + (x[2] == 2) == 1),
    "implies": ([implies((0, 1), (4, 0))], lambda x: x[0] != 1 or x[4] == 0),
    "at least": ([at_least(2, [(0, 1), (2, 1), (4, 1)])], lambda x: (x[[0, 2, 4]] == 1).sum() >= 2),
    "weights": (
        [linear({(0, 0): 0.5, (0, 2): 1.5, (1, 1): -1.0, (4, 1): 2.0}, "<=", 0.7)],
        lambda x: [0.5, 0.0, 1.5][x[0]] - (x[1] == 1) + 2.0 * (x[4] == 1) <= 0.7,
    ),
}


@pytest.mark.spread(8)
@pytest.mark.parametrize("solver", ["auto", "exhaustive", "cp_sat", "highs"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_labels_within_constraints_are_the_best_ones(name, solver):
    if solver == "exhaustive":
        solver = solver_class("bits", "labels")("exhaustive")
    constraints, holds = CONSTRAINTS[name]
    problem = small(4)
    allowed = np.array([holds(x) for x in all_labels()])
    scores = all_scores(problem)[:, allowed]
    solution = solve(problem, constraints=constraints, solver=solver)
    np.testing.assert_allclose(solution.score, scores.max(axis=1))
    assert solution.optimal.all()
    assert all(holds(x) for x in solution.labels)
    ranked = solve(problem, constraints=constraints, solver=solver, k_best=3)
    np.testing.assert_allclose(ranked.score, -np.sort(-scores, axis=1)[:, :3])
    assert ranked.optimal.all()


def test_constraints_that_leave_fewer_states_say_that_there_are_no_more():
    only = [linear({(i, 0): 1 for i in range(5)}, "==", 5)]
    ranked = solve(small(5, batch=1), constraints=only, k_best=2)
    assert ranked.labels[0].tolist() == [[0, 0, 0, 0, 0], [-1, -1, -1, -1, -1]]
    assert ranked.bound[0, 1] == -np.inf


def test_constraints_that_exclude_each_other_are_infeasible():
    with pytest.raises(InfeasibleError, match=r"at_least\(2\), one_of"):
        solve(small(0), constraints=[at_least(2, [(0, 1), (2, 1)]), one_of([(0, 1), (2, 1)])])


def test_constraints_go_with_fix_and_forbidden_values():
    problem = small(6)
    solution = solve(problem, constraints=[one_of([(0, 0), (0, 1)])], fix={0: 1})
    states = all_labels()
    np.testing.assert_allclose(
        solution.score, all_scores(problem)[:, states[:, 0] == 1].max(axis=1)
    )
    with pytest.raises(InfeasibleError):
        solve(problem, constraints=[one_of([(0, 0), (0, 1)])], fix={0: 2})


def test_variables_of_one_value_satisfy_constraints_or_not():
    single = LabelProblem.from_arrays([[1.0], [2.0]])
    assert solve(single, constraints=[one_of([(0, 0)])]).score == 3.0
    with pytest.raises(InfeasibleError):
        solve(single, constraints=[at_most(1, [(0, 0), (1, 0)])])


def test_a_label_solver_without_constraints_names_those_that_take_them():
    with pytest.raises(UnsupportedProblemError, match=r"'auto'.* 'bits' and 'cp_sat'"):
        solve(small(0), constraints=[one_of([(0, 0)])], solver="elimination")
    with pytest.raises(UnsupportedProblemError, match=r"by max_flow of its 6 bits"):
        solve(
            small(0),
            constraints=[one_of([(0, 0)])],
            solver=solver_class("bits", "labels")("max_flow"),
        )


@pytest.mark.parametrize(
    ("constraint", "match"),
    [
        (cardinality(2), "of labels say which"),
        (at_most(1, [0, 1]), r"constraints over labels name \(variable, value\)"),
        (one_of([(9, 0)]), "names variable 9; there are 0 to 4"),
        (one_of([(1, 2)]), "names value 2 of variable 1; it has 0 to 1"),
    ],
)
def test_constraints_that_name_no_values_are_refused(constraint, match):
    with pytest.raises(OptionError, match=match):
        solve(small(0), constraints=[constraint])


def test_constraints_over_values_are_refused_for_bits():
    with pytest.raises(OptionError, match=r"names \(0, 1\), a value of a variable"):
        solve([1.0, 2.0], constraints=[one_of([(0, 1), (1, 1)])])


# --- callbacks, interrupts, prepared pairs -----------------------------------------------------------------


def test_a_callback_hears_of_the_start_first():
    problem = large(2)
    start = solve(problem, time_limit=0.3)
    heard = []
    solve(
        problem,
        time_limit=1.0,
        start=start.labels,
        callback=lambda progress: heard.append(float(progress.score)),
    )
    assert heard
    assert min(heard) >= float(start.score)


def test_a_callback_hears_of_labels_within_constraints():
    problem = large(3, n=60)
    heard = []

    def stop(progress):
        heard.append(progress)
        return True

    group = [(i, 0) for i in range(60)]
    solution = solve(problem, constraints=[at_most(3, group)], callback=stop, time_limit=30.0)
    assert heard
    assert solution.score >= heard[-1].score
    assert heard[-1].z.max() < 5


def test_an_interrupt_gives_the_labels_that_are_known():
    problem = large(4)
    begun = []

    def interrupt(progress):
        if not begun:
            begun.append(time.perf_counter())
            interrupt_solves()

    with pytest.raises(SolveInterrupted) as stopped:
        solve(problem, callback=interrupt, time_limit=30.0)
    assert stopped.value.solution.labels.shape == (300,)
    assert time.perf_counter() - begun[0] < 10.0


def test_prepared_pairs_of_labels_answer_as_solve_does():
    problem = small(7)
    chain = prepare(EDGES, 5, sizes=SIZES)
    generator = np.random.default_rng(7)
    unary = generator.standard_normal((2, 5, 3))
    tables = generator.standard_normal((5, 3, 3))
    np.testing.assert_allclose(chain(unary, tables).score, solve(problem).score)
    reward = solve_labels(unary, potts=0.3, edges=EDGES, sizes=SIZES)
    np.testing.assert_allclose(chain(unary, potts=0.3).score, reward.score)
    with pytest.raises(ValueError, match=r"unary must be \[..., 5, k\]"):
        chain(unary[:, :4], tables)
    with pytest.raises(ValueError, match="go together"):
        chain(unary)
    assert prepare(np.empty((0, 2), np.int64), 2)([[0.0, 1.0], [2.0, 0.0]]).score == 3.0


def test_the_kit_takes_a_solver_and_not_its_name():
    with pytest.raises(OptionError, match="solver must be an object"):
        check_conformance("exhaustive")
