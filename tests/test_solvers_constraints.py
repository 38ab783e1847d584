"""Constraints against enumeration, for every backend that takes them."""

import itertools
import operator
import time
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import (
    InfeasibleError,
    OptionError,
    Problem,
    ProblemTooLargeError,
    SolveFailedError,
    UnsupportedProblemError,
    solve,
    solve_labels,
    solver_class,
)
from solvers.constraints import Constraint, at_least, at_most, cardinality, implies, linear, one_of
from solvers.conversions import from_ising, from_polynomial, from_qubo
from solvers.labels import from_factors
from solvers.solution import Maximiser
from solvers.solver import ArgmaxSolver, Capabilities

BACKENDS = ["exhaustive", "cp_sat", "highs", "cplex"]


def drawn_problem(random, n, batch=2):
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < 0.6]
    return Problem.from_arrays(
        random.normal(size=(batch, n)), random.normal(size=(batch, len(edges))), edges=edges
    )


def drawn_constraint(random, n):
    """A constraint, and whether a state [n] satisfies it, in fractions."""
    kind, k = random.integers(6), int(random.integers(n + 1))
    group = [int(i) for i in random.permutation(n)[: int(random.integers(1, n + 1))]]
    if kind == 0:
        return cardinality(k), lambda z: sum(z) == k
    if kind == 1:
        return at_most(k, group), lambda z: sum(z[i] for i in group) <= k
    if kind == 2:
        k = min(k, len(group))
        return at_least(k, group), lambda z: sum(z[i] for i in group) >= k
    if kind == 3:
        return one_of(group), lambda z: sum(z[i] for i in group) == 1
    if kind == 4 and n > 1:
        i, j = (int(v) for v in random.permutation(n)[:2])
        return implies(i, j), lambda z: z[i] <= z[j]
    tenths = random.integers(-9, 10, n)
    right = int(random.integers(-9, 20))
    return (
        linear((tenths / 10).tolist(), "<=", right / 10),
        lambda z: (
            sum(Fraction(int(a), 10) * v for a, v in zip(tenths, z, strict=True))
            <= Fraction(right, 10)
        ),
    )


def missing(name):
    return solver_class(name).missing_packages()


@examples(60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 3), st.sampled_from(BACKENDS))
def test_the_best_state_that_satisfies_them(seed, n, count, name):
    if missing(name):
        return
    random = np.random.default_rng(seed)
    problem = drawn_problem(random, n)
    constraints, tests = zip(*(drawn_constraint(random, n) for _ in range(count)), strict=True)
    feasible = [z for z in itertools.product((0, 1), repeat=n) if all(test(z) for test in tests)]
    if not feasible:
        with pytest.raises(InfeasibleError) as error:
            solve(problem, solver=name, constraints=constraints)
        assert error.value.constraints == tuple(each.name for each in constraints)
        return
    states = np.array(feasible)
    best = [problem.instances(slice(b, b + 1)).score_flat(states).max() for b in range(2)]
    solution = solve(problem, solver=name, constraints=constraints)
    assert all(test(z) for z in solution.z.tolist() for test in tests)
    np.testing.assert_allclose(solution.score, best, rtol=1e-12, atol=1e-12)
    assert solution.optimal.all()
    assert (solution.bound >= np.array(best) - 1e-12).all()


@examples(40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 2),
    st.sampled_from(BACKENDS),
    st.booleans(),
)
def test_the_best_states_that_satisfy_them_in_order(seed, n, count, name, ties):
    if missing(name):
        return
    random = np.random.default_rng(seed)
    problem = drawn_problem(random, n)
    if ties:
        problem = Problem.from_arrays(
            np.round(problem.unary), np.round(problem.pairwise), edges=problem.edges
        )
    constraints, tests = zip(*(drawn_constraint(random, n) for _ in range(count)), strict=True)
    feasible = [z for z in itertools.product((0, 1), repeat=n) if all(test(z) for test in tests)]
    asked = int(random.integers(1, 6))
    if not feasible:
        with pytest.raises(InfeasibleError) as error:
            solve(problem, solver=name, constraints=constraints, k_best=min(asked, 2))
        assert error.value.constraints == tuple(each.name for each in constraints)
        return
    solution = solve(problem, solver=name, constraints=constraints, k_best=asked)
    if asked > len(feasible):
        assert (solution.z[:, len(feasible) :] == -1).all()
        assert (solution.bound[:, len(feasible) :] == -np.inf).all()
        assert solution.optimal.all()
        asked = len(feasible)
    solution = replace(
        solution,
        z=solution.z[:, :asked],
        score=solution.score[:, :asked],
        bound=solution.bound[:, :asked],
    )
    scores = [problem.instances(slice(b, b + 1)).score_flat(np.array(feasible)) for b in range(2)]
    best = -np.sort(-np.array(scores), axis=1)[:, :asked]
    np.testing.assert_allclose(solution.score, best, rtol=1e-12, atol=1e-12)
    assert all(test(z) for states in solution.z.tolist() for z in states for test in tests)
    assert all(len(np.unique(states, axis=0)) == asked for states in solution.z)
    assert solution.optimal.all()
    assert (solution.bound >= best - 1e-12).all()


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_sum_that_few_states_have_is_maximised(name, seed):
    """Local search finds few of these states, so that backends have to find the others."""
    if missing(name):
        pytest.skip(f"needs {missing(name)}")
    random, n = np.random.default_rng(seed), 12
    weights, unary = random.integers(1, 150, n), random.normal(size=n)
    right = int(weights @ random.integers(0, 2, n))
    states = np.array(list(itertools.product((0, 1), repeat=n)))
    best = (states @ unary)[states @ weights == right].max()
    solution = solve(unary, solver=name, constraints=[linear(weights.tolist(), "==", right)])
    assert solution.optimal
    assert float(solution.score) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("name", BACKENDS)
def test_the_best_states_within_fixed_values_of_a_conversion(name):
    if missing(name):
        pytest.skip(f"needs {missing(name)}")
    model = from_qubo({("a", "a"): -3.0, ("b", "b"): -2.0, ("c", "c"): -1.0, ("a", "b"): 4.0})
    answers = solve(model, solver=name, constraints=[cardinality(2)], k_best=2, fix={"c": 1})
    assert [answer.value for answer in answers] == [-4.0, -3.0]
    assert [answer.assignment["a"] for answer in answers] == [1, 0]
    assert all(answer.optimal for answer in answers)


@dataclass(frozen=True)
class FindsFew(ArgmaxSolver):
    """Finds some state in no time; after the first, its time is up."""

    name = "finds_few"
    capabilities = Capabilities(exact=True, time_limit=True, constraints=2**54)

    def _argmax(self, problem, deadline):
        raise NotImplementedError

    def _argmax_within(self, problem, constraints, deadline):
        z = np.zeros((1, problem.n), np.int8)
        z[0, :2] = 1
        if constraints.satisfied(z).all():
            return Maximiser(z, problem.positive_part)
        time.sleep(deadline.seconds)
        return Maximiser(np.full((1, problem.n), -1, np.int8), problem.positive_part)


def test_when_time_is_up_states_nearby_fill_the_places():
    unary = np.arange(1.0, 7.0)
    solution = solve(
        unary, solver=FindsFew(), constraints=[cardinality(2)], k_best=3, time_limit=0.3
    )
    assert (solution.z.sum(axis=1) == 2).all()
    assert len(np.unique(solution.z, axis=0)) == 3
    np.testing.assert_array_equal(solution.score, [8.0, 7.0, 3.0])  # swaps of one that was found
    assert not solution.optimal.any()
    assert (solution.bound >= [11.0, 10.0, 9.0]).all()
    few = solve(unary, solver=FindsFew(), constraints=[cardinality(2)], k_best=12, time_limit=0.3)
    assert few.score[few.score > -np.inf].size == 9  # one that was found, and its swaps
    assert (few.z[9:] == -1).all()
    assert (few.bound[9:] == 21.0).all()
    assert not few.optimal.any()


@pytest.mark.parametrize("name", [*BACKENDS, "elimination"])
@pytest.mark.parametrize(
    "constraint", [at_least(3, [0, 1]), linear({0: 1.0}, ">=", 2.0), at_least(1, [])]
)
def test_more_than_there_is_cannot_be(name, constraint):
    if missing(name):
        pytest.skip(f"needs {missing(name)}")
    for k_best in (None, 1):
        with pytest.raises(InfeasibleError) as error:
            solve([1.0, 1.0], solver=name, constraints=[constraint], k_best=k_best)
        assert error.value.constraints == (constraint.name,)


@pytest.mark.parametrize("name", BACKENDS)
def test_fixed_variables_are_constraints_too(name):
    if missing(name):
        pytest.skip(f"needs {missing(name)}")
    problem = drawn_problem(np.random.default_rng(1), 6)
    solution = solve(problem, solver=name, constraints=[cardinality(3)], fix={0: 1, 1: 1})
    states = [z for z in itertools.product((0, 1), repeat=6) if z[0] == z[1] == 1 and sum(z) == 3]
    best = [
        max(float(problem.instances(slice(b, b + 1)).score([z])[0]) for z in states)
        for b in range(2)
    ]
    np.testing.assert_allclose(solution.score, best, rtol=1e-12)
    with pytest.raises(InfeasibleError, match="fix 1"):
        solve(problem, solver=name, constraints=[at_most(1)], fix={0: 1, 1: 1})


def test_auto_takes_one_that_can():
    random = np.random.default_rng(2)
    for n, expected in ((8, "exhaustive"), (30, "branch_and_bound")):
        solution = solve(drawn_problem(random, n, 1), constraints=[cardinality(4)])
        assert solution.solver == expected
        assert solution.z.sum() == 4
        assert solution.optimal.all()
    solution = solve(drawn_problem(random, 22, 1), constraints=[cardinality(4), implies(0, 1)])
    assert solution.solver == "cp_sat"
    assert solution.z.sum() == 4


def test_a_start_that_satisfies_them_is_kept_and_another_one_is_not():
    problem = drawn_problem(np.random.default_rng(3), 30, 1)
    best = solve(problem, constraints=[cardinality(4)])
    again = solve(problem, constraints=[cardinality(4)], start=best.z)
    np.testing.assert_array_equal(again.score, best.score)
    assert solve(problem, constraints=[cardinality(4)], start=np.ones(30)).z.sum() == 4


def test_cp_sat_is_right_about_coefficients_beyond_32_bits():
    """Presolve of CP-SAT 9.15 discards the best state of this problem."""
    if missing("cp_sat"):
        return
    unary = np.array([70876, 704719, -323477, -364480, 1019062, -303711])
    rows = [
        [
            8190303963953,
            27900144304364,
            -4625725094699,
            -3552875562414,
            11788193505140,
            26652012558776,
        ],
        [
            8958143323971,
            -34633653330947,
            20311408821724,
            6087200814603,
            32105013350963,
            -16697342379767,
        ],
        [
            20267424898946,
            11660429305505,
            3251714222107,
            -8332918592712,
            23626246803145,
            22111252080488,
        ],
    ]
    rights = [36135462247090, 18659410580531, 33771681385993]
    states = np.array(list(itertools.product((0, 1), repeat=6)))
    feasible = (states @ np.array(rows).T <= rights).all(axis=1)
    constraints = [linear(row, "<=", right) for row, right in zip(rows, rights, strict=True)]
    solution = solve(unary.astype(float), constraints=constraints, solver="cp_sat")
    assert solution.optimal
    assert solution.score == (states @ unary)[feasible].max()


def test_coefficients_that_a_name_and_a_place_share_add_up_as_decimals():
    bits = from_qubo({("a", "a"): 1.0, ("b", "b"): 1.0})
    constraint = linear({"a": 1.1, 0: 0.3, "b": 0.4}, "==", 1.4)
    assert solve(bits, constraints=[constraint]).assignment == {"a": 1, "b": 0}
    labels = from_factors([2, 2], [((0,), [1.0, 0.0])], names=["a", "b"])
    constraint = linear({"a": 1.1, ("a", 1): 0.3, "b": 0.4}, "==", 1.4)
    assert solve(labels, constraints=[constraint]).assignment == {"a": 1, "b": 0}


def test_words_of_a_conversion():
    model = from_qubo({("a", "a"): -3.0, ("b", "b"): -2.0, ("c", "c"): -1.0})
    answer = solve(model, constraints=[at_most(1)])
    assert answer.assignment == {"a": 1, "b": 0, "c": 0}
    assert (answer.value, answer.bound, answer.optimal) == (-3.0, -3.0, True)


def test_decimals_mean_what_they_say():
    assert solve([1.0, 1.0], constraints=[linear([0.1, 0.2], "<=", 0.3)]).z.tolist() == [1, 1]
    assert solve([1.0, 1.0], constraints=[linear({0: 0.1, 1: 0.2}, ">=", 0.3)]).z.tolist() == [1, 1]


@pytest.mark.parametrize("digits", [0, 1, 15, 17])
def test_a_row_is_the_same_as_numbers_a_mapping_or_a_sparse_row(digits):
    random = np.random.default_rng(digits)
    scores = random.normal(size=9)
    states = np.array(list(itertools.product((0, 1), repeat=9)))
    for comparison, compare in (("<=", operator.le), (">=", operator.ge)):
        numbers = np.round(random.normal(size=9) * (random.random(9) < 0.7), digits)
        exact = [Fraction(repr(number)) for number in numbers.tolist()]
        # The sum of a state is the right side, so that every rounding would show.
        right = float(sum(exact[:5]))
        allowed = [
            compare(sum(z * a for z, a in zip(s, exact, strict=True)), right) for s in states
        ]
        best = (states @ scores)[allowed].max()
        rows = scipy.sparse.csr_array(numbers[None])
        for coefficients in (
            numbers,
            dict(enumerate(numbers.tolist())),
            dict(zip(np.arange(9), numbers, strict=True)),
            rows,
            rows[[0]],
            scipy.sparse.coo_matrix(numbers[None]),
        ):
            rule = linear(coefficients, comparison, right)
            assert solve(scores, constraints=[rule]).score == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(
    "weights",
    [
        [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)],
        np.array([Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]),
        {0: Fraction(1, 3), 1: Decimal("0.3"), 2: 0.4},
    ],
)
def test_fractions_and_decimals_of_constraints_are_exact(weights):
    # Rounded to floats, the thirds of the first two add up to less than 2/3.
    limit = Fraction(2, 3)
    solution = solve([1.0, 1.0, 1.0], constraints=[linear(weights, "<=", limit)])
    assert solution.score == 2.0
    least = [linear(weights, ">=", Decimal(1)), linear({0: 1}, "==", 1)]
    assert solve([-1.0, -1.0, -1.0], constraints=least).score == -3.0


def test_two_elevenths_are_not_rounded():
    # As decimals of 16 digits, 1/11 and 1/11 are more than 2/11.
    limit = linear([Fraction(1, 11), Fraction(1, 11)], "<=", Fraction(2, 11))
    assert solve([1.0, 1.0], constraints=[limit]).score == 2.0


def test_numbers_at_the_ends_of_float64_are_constraints():
    largest = linear([1e308, 1e308, 1e308], "<=", 1.5e308)
    assert solve([1.0, 2.0, 3.0], constraints=[largest]).score == 3.0
    least = linear([5e-324, 1e-323, 5e-324], "==", 1e-323)
    assert solve([1.0, 2.0, 3.0], constraints=[least]).score == 4.0


def test_constraints_that_no_memory_holds_are_refused_before_any_work():
    rules = [implies(i, i + 1) for i in range(10_000)]
    with pytest.raises(ProblemTooLargeError, match=r"10000 constraints .* pass fewer constraints"):
        solve(np.ones(2_000_000), constraints=rules)


def test_a_signalling_nan_is_no_coefficient():
    with pytest.raises(OptionError, match="finite"):
        linear({0: Decimal("sNaN")}, "<=", 1)


@pytest.mark.parametrize("group", [np.array([1]), (1,), {1}])
def test_a_group_of_one_variable_may_be_an_array(group):
    assert solve([1.0, 2.0], constraints=[at_most(0, group)]).score == 1.0


def test_decimals_of_fifteen_digits_are_not_rounded():
    rule = linear([0.333333333333333] * 3, "<=", 0.999999999999998)
    assert solve([1.0, 1.0, 1.0], constraints=[rule]).score == 2.0


def test_entries_of_one_place_in_a_sparse_row_add_up():
    row = scipy.sparse.coo_matrix(([1.0, 1.0], ([0, 0], [0, 0])), shape=(1, 2))
    assert solve([1.0, 1.0], constraints=[linear(row, "<=", 1)]).z.tolist() == [0, 1]


def test_a_sparse_matrix_of_several_rows_is_no_row():
    with pytest.raises(OptionError, match="one constraint for each row"):
        linear(scipy.sparse.eye(3), "<=", 1)


@pytest.mark.parametrize("form", [list, lambda row: dict(enumerate(row.tolist()))])
def test_long_constraints_are_read_in_a_moment(form):
    weights = np.random.default_rng(0).random((40, 2000))
    begin = time.process_time()
    rules = [linear(form(row), ">=", -1) for row in weights]
    solve(np.ones(2000), constraints=rules, time_limit=1e-6)
    assert time.process_time() - begin < 1.5


def test_others_refuse_with_reasons():
    with pytest.raises(UnsupportedProblemError, match="takes no constraints"):
        solve([1.0, 1.0], solver="independent", constraints=[cardinality(1)])
    if not missing("highs"):
        with pytest.raises(UnsupportedProblemError, match="1000000 at most"):
            solve([1.0, 1.0], solver="highs", constraints=[linear([1e7, 1.0], "<=", 3)])
    with pytest.raises(OptionError, match="cannot be combined"):
        solve([1.0, 1.0], constraints=[cardinality(1)], k_best=2, start=[0, 1])


@pytest.mark.parametrize("name", ["max_flow", "local_search", "elimination"])
@pytest.mark.parametrize("k_best", [None, 1, 2])
def test_a_solver_that_takes_no_such_constraints_names_solvers_that_do(name, k_best):
    cycle = Problem.from_arrays(np.ones(3), np.ones(3), edges=[[0, 1], [1, 2], [0, 2]])
    options = {"constraints": [cardinality(2)], "k_best": k_best}
    with pytest.raises(UnsupportedProblemError, match="Use one of: ") as refusal:
        solve(cycle, solver=name, **options)
    assert "exhaustive" in refusal.value.alternatives
    for other in refusal.value.alternatives:
        assert np.max(solve(cycle, solver=other, **options).score) == 3.0


def test_named_solvers_also_take_the_constraints_that_exclude_states():
    chain = Problem.from_arrays(np.ones(3), [1.0, 2.0], edges=[[0, 1], [1, 2]])
    options = {"constraints": [cardinality(2)], "k_best": 3}
    with pytest.raises(UnsupportedProblemError, match="Use one of: ") as refusal:
        solve(chain, solver="elimination", **options)
    for other in refusal.value.alternatives:
        assert solve(chain, solver=other, **options).score.tolist() == [4.0, 3.0, 2.0]


def test_a_solver_of_labels_that_takes_no_constraints_names_one_that_does():
    rule = [linear({(0, 0): 1, (1, 0): 1}, "==", 2)]
    with pytest.raises(UnsupportedProblemError, match=r"no constraints.*Use one of: bits"):
        solve_labels([[0.0, 1.0], [1.0, 0.0]], solver="dual_ascent", constraints=rule)


@pytest.mark.parametrize(
    ("make", "message"),
    {
        "no constraint": (
            lambda: solve([1.0], constraints=["z <= 1"]),
            "made by solvers.constraints",
        ),
        "a number": (lambda: solve([1.0], constraints=3), "made by solvers.constraints"),
        "beyond": (lambda: solve([1.0], constraints=[one_of([1])]), "the variables are 0 to 0"),
        "comparison": (lambda: linear([1.0], "<", 1), "'<='"),
        "coefficients": (lambda: linear([[1.0]], "<=", 1), "must be \\[n\\] numbers"),
        "one object": (lambda: linear(np.array(Fraction(1)), "<=", 1), "must be \\[n\\] numbers"),
        "right side": (lambda: linear([1.0], "<=", np.nan), "finite"),
        "count": (lambda: cardinality(1.5), "a count is"),
        "group": (lambda: one_of(3), "a list of variables"),
        "group without dimensions": (lambda: one_of(np.array(3)), "a list of variables"),
        "a number of numpy": (
            lambda: solve([1.0], constraints=np.array(3)),
            "made by solvers.constraints",
        ),
        "variable": (lambda: at_most(1, [-1]), "from 0 on"),
        "itself": (lambda: implies(1, 1), "says nothing"),
    }.values(),
)
def test_what_is_no_constraint_is_refused(make, message):
    with pytest.raises(OptionError, match=message):
        make()


class Breaks(ArgmaxSolver):
    """A backend with a fault: it forgets the constraints."""

    name = "breaks"
    capabilities = Capabilities(exact=True, constraints=100)

    def _argmax(self, problem, deadline):
        return Maximiser(np.ones((problem.batch, problem.n), np.int8))

    def _argmax_within(self, problem, constraints, deadline):
        return self._argmax(problem, deadline)


class Late(Breaks):
    """Another one, whose time is up."""

    def _argmax_within(self, problem, constraints, deadline):
        return Maximiser(np.full((problem.batch, problem.n), -1, np.int8), problem.positive_part)


def test_a_state_that_breaks_one_is_no_answer():
    with pytest.raises(SolveFailedError, match="breaks a constraint"):
        solve([1.0, 1.0], solver=Breaks(), constraints=[cardinality(1)])
    with pytest.raises(SolveFailedError, match="in its time"):
        solve([1.0, 1.0], solver=Late(), constraints=[cardinality(1)])


@dataclass(frozen=True)
class Returns(ArgmaxSolver):
    """A backend that returns whatever it was made with."""

    z: Any
    bound: Any = None

    name = "returns"
    capabilities = Capabilities(exact=True, constraints=100)

    def _argmax(self, problem, deadline):
        return Maximiser(self.z, self.bound)

    def _argmax_within(self, problem, constraints, deadline):
        return self._argmax(problem, deadline)


@pytest.mark.parametrize("rules", [[], [cardinality(1)]])
def test_a_solver_that_returns_no_numpy_arrays_is_told_what_to_return(rules):
    torch = pytest.importorskip("torch")
    for z, kind in ((torch.tensor([[1, 0]]), "Tensor"), ([[1, 0]], "list"), (None, "NoneType")):
        message = (
            rf"'returns' .* z is a {kind}; z must be a numpy array \[batch, n\], here \[1, 2\]"
        )
        with pytest.raises(SolveFailedError, match=message):
            solve([1.0, 1.0], solver=Returns(z), constraints=rules)
    z = np.array([[1, 0]])
    with pytest.raises(SolveFailedError, match=r"bound is a Tensor; bound must be a numpy array"):
        solve([1.0, 1.0], solver=Returns(z, torch.ones(1)), constraints=rules)
    with pytest.raises(SolveFailedError, match="it has to be integers"):
        solve([1.0, 1.0], solver=Returns(z[0]), constraints=rules)
    for bound in (np.array([2.0, 1.0]), [2.0, 1.0], np.ones((1, 1)), np.ones(0)):
        with pytest.raises(SolveFailedError, match=r"must be \[batch\], here \[1\]"):
            solve([1.0, 1.0], solver=Returns(z, bound), constraints=rules)
    for bound in (np.ones(1), [1.0], 1.0):
        assert solve([1.0, 1.0], solver=Returns(z, bound), constraints=rules).score == 1.0


def test_constraints_have_names():
    assert cardinality(3).name == "cardinality(3)"
    assert isinstance(one_of(range(3)), Constraint)


@pytest.mark.parametrize("length", [0, 2, 4])
@pytest.mark.parametrize("form", [list, np.array, lambda row: [Fraction(number) for number in row]])
def test_a_list_of_coefficients_has_one_for_each_variable(form, length):
    rule = linear(form([1] * length), "<=", 2)
    with pytest.raises(OptionError, match=rf"has length {length}, and the problem has 3 variables"):
        solve([1.0, 1.0, 1.0], constraints=[rule])
    with pytest.raises(OptionError, match=rf"has length {length}, and the problem has 3 variables"):
        solve(from_qubo({(name, name): -1.0 for name in "abc"}), constraints=[rule])


def test_a_sparse_row_of_coefficients_has_a_column_for_each_variable():
    narrow = scipy.sparse.csr_array(np.array([[1.0, 0.0]]))
    with pytest.raises(OptionError, match="has length 2, and the problem has 3 variables"):
        solve([1.0, 1.0, 1.0], constraints=[linear(narrow, "<=", 2)])
    wide = scipy.sparse.csr_array(np.array([[1.0, 0.0, 0.0]]))
    assert solve([1.0, 1.0, 1.0], constraints=[linear(wide, "<=", 0)]).z.tolist() == [0, 1, 1]


def test_a_list_of_coefficients_of_a_polynomial_leaves_out_its_auxiliary_bits():
    model = from_polynomial({("a", "b", "c"): -3.0, ("a",): 1.0}, reduction="cliques")
    answer = solve(model, constraints=[linear([1, 1, 1], "<=", 1)])
    assert answer.value == 0.0
    with pytest.raises(OptionError, match="has length 2, and the problem has 3 variables"):
        solve(model, constraints=[linear([1, 1], "<=", 1)])


def test_coefficients_are_floats():
    with pytest.raises(OptionError, match="coefficients"):
        linear([10**400, 1], "<=", 1)


def test_constraints_of_a_conversion_are_over_places_or_names():
    model = from_ising({"x": 0.5, "y": -1.0}, {("x", "y"): 2.0})
    assert solve(model).assignment == {"x": -1, "y": 1}
    assert solve(model.problem, constraints=[linear([1, 1], "==", 2)]).z.tolist() == [1, 1]
    with pytest.raises(OptionError, match="names 'x'; the variables of a Problem are 0 to 1"):
        solve(model.problem, constraints=[linear({"x": 1}, "==", 1)])
    with pytest.raises(OptionError, match=r"names 'appel', which is no variable; did you mean"):
        solve(from_qubo({("apple", "apple"): 1.0}), constraints=[one_of(["appel"])])
    with pytest.raises(OptionError, match=r"its place in z \(see \.places of a Conversion\).*"):
        linear({None: 1}, "==", 1)
    named = from_qubo({(name, name): -worth for name, worth in (("b", 1.0), (7, 2.0), ("a", 3.0))})
    assert named.places == {"b": 0, 7: 1, "a": 2}
    answer = solve(named, constraints=[linear({named.places["a"]: 2, named.places[7]: 1}, "<=", 1)])
    assert answer.assignment == {"b": 1, 7: 1, "a": 0}


@pytest.mark.parametrize("comparison", ["<=", ">=", "=="])
@pytest.mark.parametrize("seed", range(4))
def test_constraints_over_spins_and_bits_by_name(seed, comparison):
    random = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"]
    terms = dict(zip(names, random.normal(size=4).tolist(), strict=True))
    pairs = {("a", "b"): 1.0, ("b", "c"): -0.5, ("c", "d"): 0.7}
    weights = dict(zip(names, [0.1, 0.2, -0.3, 0.1], strict=True))
    compare = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}[comparison]
    for values in ((-1, 1), (0, 1)):
        right = Fraction(1, 10)
        if values == (0, 1):
            model = from_qubo({**{(name,): number for name, number in terms.items()}, **pairs})
        else:
            model = from_ising(terms, pairs)
        allowed = []
        for state in itertools.product(values, repeat=4):
            s = dict(zip(names, state, strict=True))
            total = sum(Fraction(str(weights[name])) * s[name] for name in names)
            if compare(total, right) and sum(value == 1 for value in state) <= 3:
                energy = sum(terms[name] * s[name] for name in names)
                allowed.append(energy + sum(w * s[i] * s[j] for (i, j), w in pairs.items()))
        rules = [linear(weights, comparison, 0.1), at_most(3, names)]
        assert solve(model, constraints=rules).value == pytest.approx(min(allowed), abs=1e-12)


@pytest.mark.parametrize(
    "coefficients",
    [{0: 10**400}, np.array([1j, 2.0]), {0: np.complex128(1j)}, ["a"], [[1.0]]],
    ids=["beyond floats", "complex", "a complex one", "text", "a matrix"],
)
def test_coefficients_that_are_no_numbers_are_named(coefficients):
    with pytest.raises(OptionError, match="coefficients"):
        linear(coefficients, "<=", 1)
    with pytest.raises(OptionError, match="finite numbers"):
        linear([1.0], "<=", 10**400)
