"""Relations between problems that every exact solver must keep."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Problem, solve

GENERAL = ["exhaustive", "branch_and_bound", "elimination", "cplex", "cp_sat", "highs"]
EXACT = [*GENERAL, "max_flow"]
SIZES = st.integers(1, 7)
SEEDS = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Drawn:
    """One instance with a symmetric matrix, for a solver that takes its signs."""

    unary: np.ndarray
    matrix: np.ndarray
    solver: str

    def maximum(self):
        problem = Problem.from_arrays(self.unary, np.triu(self.matrix, 1))
        solution = solve(self.unary, self.matrix, solver=self.solver)
        # Beside much larger scores rounding may hide the last digit of decimals: then no
        # certificate is given.
        withheld = np.isneginf(problem.tolerance).all()
        assert np.all(solution.optimal) or withheld
        assert (solution.bound <= solution.score + 2 * problem.rounding).all()
        return float(solution.score)

    def having(self, **arrays):
        return replace(self, **arrays)


def drawn(n, seed, solver):
    """Scores with many ties and zeros; pairwise ones >= 0 for a solver that needs that."""
    generator = np.random.default_rng(seed)
    unary = generator.integers(-3, 4, n) * generator.choice([1.0, 0.1, 1e-9])
    upper = np.triu(generator.integers(-3, 4, (n, n)).astype(float), 1)
    upper = np.abs(upper) if solver == "max_flow" else upper
    return Drawn(unary, upper + upper.T, solver)


def every_solver(solvers):
    """The test for each solver, with small problems that hypothesis draws."""

    def decorate(test):
        by_hypothesis = examples(12)(given(n=SIZES, seed=SEEDS)(test))
        return pytest.mark.parametrize("solver", solvers)(by_hypothesis)

    return decorate


def close(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


@every_solver(EXACT)
def test_relabelling(solver, n, seed):
    problem = drawn(n, seed, solver)
    order = np.random.default_rng(seed).permutation(n)
    relabelled = problem.having(
        unary=problem.unary[order], matrix=problem.matrix[np.ix_(order, order)]
    )
    assert relabelled.maximum() == close(problem.maximum())


@every_solver(EXACT)  # flipping makes signs balanced, not positive: max_flow has to see that
def test_bit_flip_duality(solver, n, seed):
    problem = drawn(n, seed, solver)
    flip = np.random.default_rng(seed).integers(0, 2, n)
    sign = 1 - 2 * flip
    # z = flip + sign * y, with y the flipped variables
    constant = problem.unary @ flip + flip @ problem.matrix @ flip / 2
    dual = problem.having(
        unary=sign * (problem.unary + problem.matrix @ flip),
        matrix=problem.matrix * np.outer(sign, sign),
    )
    assert dual.maximum() + constant == close(problem.maximum())


@every_solver(EXACT)
def test_scaling(solver, n, seed):
    problem = drawn(n, seed, solver)
    power = int(np.random.default_rng(seed).integers(-100, 100))
    scaled = problem.having(
        unary=np.ldexp(problem.unary, power), matrix=np.ldexp(problem.matrix, power)
    )
    assert scaled.maximum() == pytest.approx(np.ldexp(problem.maximum(), power), rel=1e-12)


@every_solver(EXACT)
def test_isolated_variable(solver, n, seed):
    problem = drawn(n, seed, solver)
    extra = np.random.default_rng(seed).normal()
    wider = problem.having(
        unary=np.append(problem.unary, extra), matrix=np.pad(problem.matrix, (0, 1))
    )
    assert wider.maximum() == close(problem.maximum() + max(extra, 0))


@every_solver(EXACT)
def test_a_field_that_forces_a_variable(solver, n, seed):
    problem = drawn(n, seed, solver)
    forced, others = seed % n, np.arange(n) != seed % n
    size = 1 + np.abs(problem.unary).sum() + np.abs(problem.matrix).sum()
    # The maximum is the better of those with z_i = 0 and with z_i = 1, and a field of +-size
    # decides.
    up, down = (problem.unary + field * (np.arange(n) == forced) for field in (size, -size))
    with_one, with_zero = (
        problem.having(unary=up).maximum() - size,
        problem.having(unary=down).maximum(),
    )
    assert max(with_one, with_zero) == close(problem.maximum())
    if n > 1:
        without = problem.having(
            unary=problem.unary[others], matrix=problem.matrix[np.ix_(others, others)]
        )
        assert with_zero == close(without.maximum())


@every_solver(EXACT)
def test_sum_rule(solver, n, seed):
    """The maximum is convex in the scores: that of a sum is at most the sum of the maxima."""
    one, two = drawn(n, seed, solver), drawn(n, seed + 1, solver)
    both = one.having(unary=one.unary + two.unary, matrix=one.matrix + two.matrix)
    assert both.maximum() <= one.maximum() + two.maximum() + 1e-12
    twice = one.having(unary=one.unary + one.unary, matrix=one.matrix + one.matrix)
    assert twice.maximum() == close(2 * one.maximum())


@every_solver(EXACT)
def test_merged_variables(solver, n, seed):
    """Two variables that a large score ties together are one, and the edges of both are merged."""
    problem = drawn(n + 1, seed, solver)
    unary, matrix = problem.unary, problem.matrix
    size = 1 + np.abs(unary).sum() + np.abs(matrix).sum()
    tie = np.zeros_like(matrix)
    tie[0, n] = tie[n, 0] = 2 * size
    ends = (np.arange(n + 1) % n == 0) * size
    tied = problem.having(unary=unary - ends, matrix=matrix + tie)
    merged_unary, merged = unary[:n].copy(), matrix[:n, :n].copy()
    merged_unary[0] += unary[n] + matrix[0, n]
    merged[0, 1:] += matrix[n, 1:n]
    merged[1:, 0] = merged[0, 1:]
    assert tied.maximum() == close(problem.having(unary=merged_unary, matrix=merged).maximum())


@every_solver(EXACT)
def test_batch_equals_loop(solver, n, seed):
    problems = [drawn(n, seed + k, solver) for k in range(3)]
    unary, matrix = (np.stack([getattr(p, name) for p in problems]) for name in ("unary", "matrix"))
    batch = solve(unary, matrix, solver=solver)
    assert batch.score.tolist() == close([problem.maximum() for problem in problems])
    assert np.all(batch.optimal)


@every_solver(EXACT)
def test_two_problems_side_by_side(solver, n, seed):
    one, two = drawn(n, seed, solver), drawn(3, seed + 1, solver)
    matrix = np.zeros((n + 3, n + 3))
    matrix[:n, :n], matrix[n:, n:] = one.matrix, two.matrix
    side_by_side = one.having(unary=np.concatenate([one.unary, two.unary]), matrix=matrix)
    assert side_by_side.maximum() == close(one.maximum() + two.maximum())


@every_solver(EXACT)
def test_raising_scores_never_lowers_the_maximum(solver, n, seed):
    problem = drawn(n, seed, solver)
    generator = np.random.default_rng(seed)
    rise = generator.integers(0, 3, n) * (np.arange(n) == generator.integers(n))
    raised = problem.having(unary=problem.unary + rise).maximum()
    assert problem.maximum() - 1e-12 <= raised <= problem.maximum() + rise.sum() + 1e-12
    more = np.triu(generator.integers(0, 3, (n, n)), 1)
    assert (
        problem.having(matrix=problem.matrix + more + more.T).maximum() >= problem.maximum() - 1e-12
    )


@examples(25)
@given(n=st.integers(2, 30), seed=SEEDS)
def test_max_flow_equals_exhaustive_where_both_can(n, seed):
    generator = np.random.default_rng(seed)
    n = min(n, 14)
    pairwise = np.triu(np.abs(generator.standard_normal((3, n, n))), 1)
    unary = generator.standard_normal((3, n)) * 2 - pairwise.sum(-1) / 2
    scores = [solve(unary, pairwise, solver=name).score for name in ("max_flow", "exhaustive")]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-12, atol=1e-12)


@examples(20)
@given(seed=SEEDS)
def test_small_and_large_graph_paths_of_max_flow_agree(seed):
    generator = np.random.default_rng(seed)
    unary = generator.standard_normal((2, 10)) - 0.5
    edges = [[i, (i + 1) % 10] for i in range(10)]
    pairwise = np.abs(generator.standard_normal((2, 10)))
    small = solve(unary, pairwise, edges=edges, solver="max_flow")
    padded = np.concatenate([unary, np.full((2, 60), -1.0)], axis=1)
    large = solve(padded, pairwise, edges=edges, solver="max_flow")
    np.testing.assert_allclose(small.score, large.score, rtol=1e-12)
    assert np.all(large.optimal)
