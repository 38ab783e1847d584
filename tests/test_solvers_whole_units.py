"""Certificates where penalties are so large that rounding reaches the units of the other scores."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Problem, SolverError, labels, solve, solver_class
from solvers.compiled.resolution import resolutions
from solvers.labels import LabelProblem

SOLVERS = [
    "auto",
    "exhaustive",
    "elimination",
    "branch_and_bound",
    "dual_ascent",
    "cycle_cuts",
    "mini_buckets",
    "max_flow",
]
seeds = st.integers(0, 2**32 - 1)


def with_penalties(random, n, penalty, scale):
    """Small whole scores, and penalties on pairs, on variables, or on both as for groups of which one is 1."""
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    unary = random.integers(-9, 10, n).astype(float)
    pairwise = random.integers(-5, 6, len(edges)).astype(float)
    forbids = random.random(len(edges)) < 0.4
    kind = random.integers(4)
    pairwise[forbids] = -penalty if kind < 3 else penalty * np.sign(pairwise[forbids])
    if kind == 1:
        unary[random.random(n) < 0.5] -= penalty
    if kind == 2:
        unary, pairwise = unary + penalty, np.where(forbids, -2 * penalty, pairwise)
    return unary * scale, pairwise * scale, edges


def exact_scores(unary, pairwise, edges):
    """Scores of all states, as fractions; they are added as multiples of a unit, which is faster."""
    fractions = [Fraction(x) for x in (*unary, *pairwise)]
    unit = Fraction(1, math.lcm(*(x.denominator for x in fractions)))
    multiples = np.array([int(x / unit) for x in fractions], dtype=object)
    states = np.array(list(itertools.product((0, 1), repeat=len(unary))))
    pairs = states[:, np.asarray(edges).reshape(-1, 2)].prod(axis=2)
    totals = np.concatenate([states, pairs], axis=1) @ multiples  # of Python's integers
    return {tuple(z): unit * total for z, total in zip(states.tolist(), totals, strict=True)}


@examples(60)
@given(
    seeds,
    st.integers(2, 7),
    st.sampled_from([1e10, 1e13, 1e14, 5e14, 1e15, 1e18, 1e20]),
    st.sampled_from([1.0, 0.5, 0.1, 1000.0, 2.0**-40, 3.0]),
    st.sampled_from(SOLVERS),
)
def test_optimal_states_are_optimal_to_the_last_unit(seed, n, penalty, scale, solver):
    unary, pairwise, edges = with_penalties(np.random.default_rng(seed), n, penalty, scale)
    scores = exact_scores(unary, pairwise, edges)
    try:
        found = solve(unary, pairwise, edges=edges, solver=solver)
    except SolverError:
        assert solver == "max_flow"
        return
    best, own = max(scores.values()), scores[tuple(found.z.tolist())]
    if penalty < 5e14 or scale != 0.1:  # decimals are rounded before they come here
        assert not found.optimal or best - own < Fraction(scale) / 2
    assert Fraction(float(found.bound)) >= best - Fraction(scale) / 2


@pytest.mark.parametrize("solver", SOLVERS[:7])
def test_sums_that_are_exact_are_certified(solver):
    """Four penalties of 1e14: rounding alone would allow two units."""
    unary, pairwise = (
        np.array([3.0, 4.0, 5.0, -1.0]),
        np.array([-1e14, -1e14, 2.0, -1e14, 1.0, -1e14]),
    )
    edges = np.stack(np.triu_indices(4, 1), axis=1)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    assert problem.rounding.tolist() == [0.5]
    found = solve(problem, solver=solver)
    assert found.score == 5.0
    assert found.bound == 5.0
    assert found.optimal
    for k, score in enumerate(solve(problem, solver=solver, k_best=4).score.tolist()):
        assert score == [5.0, 4.0, 4.0, 4.0][k]


@pytest.mark.parametrize(
    ("scores", "penalty"),
    [
        ([3.0, 4.0, 5.0], 1e18),
        ([0.3, 0.4, 0.5], 1e16),
        ([3e-9, 4e-9, 5e-9], 1e9),
        ([384.0, 512.0, 640.0], 1e20),
    ],
    ids=["integers", "decimals", "small decimals", "multiples of a power of two"],
)
@pytest.mark.parametrize(
    "solver", ["auto", "exhaustive", "elimination", "branch_and_bound", "dual_ascent"]
)
def test_nothing_is_certified_where_sums_lose_units(scores, penalty, solver):
    pairs = {"edges": [[0, 1], [1, 2], [0, 2]], "solver": solver}
    found = solve(scores, [-penalty] * 3, **pairs)
    assert not found.optimal
    assert found.bound > max(scores)
    several = solve(scores, [-penalty] * 3, k_best=9, **pairs)
    assert several.optimal.tolist() == [False] * 8 + [True]  # there is no ninth state


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_real_numbers_keep_the_rounding_of_sums(scale):
    random = np.random.default_rng(0)
    edges = np.stack(np.triu_indices(6, 1), axis=1)
    problem = Problem.from_arrays(
        scale * random.normal(size=(50, 6)), scale * random.normal(size=(50, 15)), edges=edges
    )
    expected = 2 * np.finfo(float).eps * 22 * problem.magnitude
    np.testing.assert_array_equal(problem.rounding, expected)
    assert problem.tolerance is problem.rounding


def test_instances_of_a_batch_are_judged_by_themselves():
    problem = Problem.from_arrays(
        [[3.0, 1.0], [3.0, 1.0], [0.7123, 1.0 / 3]], [[-1e14], [-1e18], [-1e15]], edges=[[0, 1]]
    )
    assert problem.tolerance[0] == problem.rounding[0] < 0.5
    assert problem.tolerance[1] == -np.inf
    assert problem.tolerance[2] == problem.rounding[2]
    assert solve(problem).optimal.tolist() == [True, False, True]


@examples(60)
@given(
    seeds,
    st.sampled_from([1e13, 1e14, 1e15, 1e18]),
    st.sampled_from(
        ["auto", "exhaustive", "elimination", "dual_ascent", "bits", "branch_and_bound"]
    ),
)
def test_optimal_labels_are_optimal_to_the_last_unit(seed, penalty, solver):
    random = np.random.default_rng(seed)
    n, k = int(random.integers(2, 5)), int(random.integers(2, 4))
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    unary = random.integers(-9, 10, (1, n, k)).astype(float)
    tables = random.integers(-5, 6, (1, len(edges), k, k)).astype(float)
    tables[random.random(tables.shape) < 0.4] = -penalty
    unary[random.random(unary.shape) < 0.2] -= penalty
    problem = LabelProblem.from_arrays(unary, tables, edges=edges)
    found = labels.solve(problem, solver=solver)
    scores = {}
    for x in itertools.product(range(k), repeat=n):
        total = sum(Fraction(unary[0, i, x[i]]) for i in range(n))
        scores[x] = total + sum(
            Fraction(tables[0, e, x[i], x[j]]) for e, (i, j) in enumerate(edges)
        )
    best, own = max(scores.values()), scores[tuple(found.labels[0].tolist())]
    assert not found.optimal[0] or own == best
    assert Fraction(float(found.bound[0])) >= best - Fraction(1, 2)


def test_a_finite_score_that_forbids_labels_is_no_reason_to_certify():
    different = np.where(np.eye(3) > 0, -1e18, 0.0)
    unary = [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    assert not labels.solve(unary, different, edges=[[0, 1]]).optimal
    infinite = labels.solve(unary, np.where(np.eye(3) > 0, -np.inf, 0.0), edges=[[0, 1]])
    assert infinite.optimal
    assert infinite.score == 6.0


@pytest.mark.parametrize("solver", ["cp_sat", "cplex", "highs", "pymaxflow", "toulbar2"])
def test_third_parties_are_held_to_the_last_unit(solver):
    package = solver_class(solver, "labels" if solver == "toulbar2" else "bits")
    if missing := package.missing_packages():
        pytest.skip(f"needs {missing}")
    random = np.random.default_rng(3)
    call = labels.solve if solver == "toulbar2" else solve
    for _ in range(4):
        unary, pairwise, edges = with_penalties(random, 5, 1e14, 1.0)
        if solver == "pymaxflow":
            pairwise = np.abs(pairwise)
        scores = exact_scores(unary, pairwise, edges)
        if solver == "toulbar2":
            tables = np.zeros((len(edges), 2, 2))
            tables[:, 1, 1] = pairwise
            found = call(np.stack([0 * unary, unary], axis=1), tables, edges=edges, solver=solver)
        else:
            found = call(unary, pairwise, edges=edges, solver=solver)
        own = scores[tuple(int(value) for value in found.z)]
        assert not found.optimal or own == max(scores.values())


def test_what_cancellation_leaves_makes_no_integers_of_real_numbers():
    random = np.random.default_rng(0)
    unary = np.append(random.normal(size=6), 0.1 + 0.2 - 0.3)
    problem = Problem.from_arrays(
        unary, random.normal(size=3) * 100, edges=[[0, 1], [1, 2], [2, 6]]
    )
    assert problem.tolerance is problem.rounding
    assert solve(problem).optimal


@pytest.mark.parametrize("tiny", [1e-300, 3e-310, 5e-324])
def test_subnormal_scores_are_solved(tiny):
    solution = solve(
        np.array([[tiny, 1.0]]), np.array([[0.3]]), edges=[(0, 1)], solver="exhaustive"
    )
    assert solution.z.tolist() == [[1, 1]]


def test_real_scores_in_single_precision_are_certified():
    """Each float32 score has few digits for a float64, but real numbers are no units."""
    generator = np.random.default_rng(0)
    unary = generator.normal(size=(30, 80)).astype(np.float32)
    pairwise = np.triu(np.abs(generator.normal(size=(30, 80, 80))), 1).astype(np.float32)
    assert solve(unary, pairwise, solver="max_flow").optimal.all()


@pytest.mark.parametrize("seed", range(60))
def test_penalties_in_single_precision_hide_no_units(seed):
    random = np.random.default_rng(seed)
    penalty = random.choice([1e10, 1e14, 1e15, 1e18])
    scale = random.choice([1.0, 0.5, 1000.0, 2.0**-40])
    unary, pairwise, edges = with_penalties(random, 5, penalty, scale)
    unary, pairwise = unary.astype(np.float32), pairwise.astype(np.float32)
    solution = solve(unary, pairwise, edges=edges)
    scores = exact_scores(unary.tolist(), pairwise.tolist(), edges)
    if solution.optimal:
        assert scores[tuple(solution.z.tolist())] == max(scores.values())


@examples(60)
@given(seeds, st.sampled_from([np.float32, np.float64]))
def test_units_of_a_batch_are_those_of_its_instances(seed, dtype):
    random = np.random.default_rng(seed)
    scales = 10.0 ** random.integers(-12, 12, (6, 1))
    unary = (random.integers(-9, 10, (6, 4)) * scales).astype(dtype)
    pairwise = random.integers(-5, 6, (6, 6)) * 10.0 ** random.integers(-12, 16, (6, 6))
    pairwise = pairwise.astype(dtype)
    magnitude = np.abs(unary.astype(float)).sum(axis=1) + np.abs(pairwise.astype(float)).sum(axis=1)
    factor = 22 * 2.0**-52

    def units(rows):
        return resolutions(unary[rows], pairwise[rows], magnitude[rows], factor)

    alone = [units(slice(b, b + 1)) for b in range(6)]
    batch = units(slice(None))
    if batch is None:
        batch = np.full(6, np.inf)
    expected = [np.inf if unit is None else unit[0] for unit in alone]
    assert batch.tolist() == expected


def test_long_penalties_in_float32_do_not_make_short_scores_real_numbers():
    unary = np.arange(1, 9, dtype=np.float32)[None] * 2.0**-20  # no decimals
    unary = unary.astype(np.float32)
    penalties = np.full((1, 8), 2.0**41 / 3, np.float32)
    magnitude = unary.sum(axis=1) + penalties.sum(axis=1, dtype=float)
    units = resolutions(unary, penalties, magnitude, 34 * 2.0**-52)
    assert units.tolist() == [-np.inf]


def test_float32_numbers_in_float64_arrays_are_real():
    """So many have a common unit far below the rounding of their sums, which means nothing."""
    generator = np.random.default_rng(0)
    n = 20_000
    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    unary = generator.normal(size=n).astype(np.float32).astype(np.float64)
    pairwise = generator.normal(size=n - 1).astype(np.float32).astype(np.float64)
    assert solve(unary, pairwise, edges=chain).optimal
    unary[::50] += pairwise[::50]  # a sum in float64 has more digits than float32
    assert solve(unary, pairwise, edges=chain).optimal


def test_whole_numbers_that_fit_into_float32_are_no_real_numbers():
    generator = np.random.default_rng(0)
    n = 100
    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    unary = generator.integers(2**19, 2**20, n).astype(np.float64)
    pairwise = np.where(generator.random(n - 1) < 0.5, -(2.0**46), 1.0)
    # Scaled by a power of two, since whole numbers of ones would count as decimals, too.
    problem = Problem.from_arrays(unary * 2.0**-40, pairwise * 2.0**-40, edges=chain)
    assert problem.tolerance == -np.inf


def with_count_penalty(random, n, count, penalty, divisor=1):
    """Whole scores less penalty * (sum(z) - count)^2, multiplied out, as Python integers / divisor."""
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    unary = [int(s) - penalty * (1 - 2 * count) for s in random.integers(1, 11, n)]
    pairwise = [int(s) - 2 * penalty for s in random.integers(1, 11, len(edges))]
    return np.array(unary) / divisor, np.array(pairwise) / divisor, edges


@pytest.mark.parametrize("divisor", [1, 4])
@pytest.mark.parametrize("penalty", [10**13, 10**14, 10**15])
@pytest.mark.parametrize("solver", [*SOLVERS[:-1], "cp_sat", "highs"])
def test_a_penalty_added_to_each_score_certifies_no_worse_state(solver, penalty, divisor):
    if missing := solver != "auto" and solver_class(solver).missing_packages():
        pytest.skip(f"needs {missing}")
    for seed in range(3):
        scores = with_count_penalty(np.random.default_rng(seed), 10, 4, penalty, divisor)
        exact = exact_scores(*scores)
        unary, pairwise, edges = scores
        solution = solve(unary, pairwise, edges=edges, solver=solver)
        best = max(exact.values())
        assert Fraction(solution.bound) >= best
        assert not solution.optimal or exact[tuple(solution.z.tolist())] == best


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e7, 1e9, 1e14, 3e15, 1e17])
def test_large_real_numbers_keep_their_certificates(scale, dtype):
    random = np.random.default_rng(0)
    edges = np.stack(np.triu_indices(14, 1), axis=1)
    for draw in (random.standard_normal, lambda size: random.random(size) - 0.5):
        unary, pairwise = ((scale * draw(size)).astype(dtype) for size in (14, len(edges)))
        assert solve(unary, pairwise, edges=edges).optimal
        assert solve(unary.astype(float), pairwise.astype(float), edges=edges).optimal


def test_scores_near_the_largest_float_have_units_without_a_warning():
    unary = np.array([[2.0**1020, 2.0**1019]])
    pairwise = np.array([[3 * 2.0**1018]])
    magnitude = np.array([2.0**1020 + 2.0**1019 + 3 * 2.0**1018])
    units = resolutions(unary, pairwise, magnitude, factor=0.2)
    assert units.tolist() == [2.0**1018]
