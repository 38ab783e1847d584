"""Every backend against enumeration, through the public kit and through the public call."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from solvers import (
    ArgmaxSolver,
    Capabilities,
    Maximiser,
    Problem,
    available_solvers,
    solve,
    solver_class,
)
from solvers.labels import LabelSolver
from solvers.testing import check_conformance, enumerate_scores, random_instances

BUILT_IN = [info.name for info in available_solvers() if info.origin == "built in"]
COUNTS = {
    "branch_and_bound": (300, 12),
    "semidefinite": (50, 12),
    "cplex": (60, 9),
    "cp_sat": (60, 9),
    "highs": (60, 9),
    "dual_ascent": (60, 12),
    "cycle_cuts": (60, 12),
    "clique_cover": (100, 12),
    "mini_buckets": (75, 12),
    "local_search": (100, 10),
}
"""Batches and largest n of slow solvers; the other solvers have 250 of up to 12 variables."""

SLOW_ONES = ["branch_and_bound", "cplex", "cp_sat", "highs", "semidefinite"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_conformance(name):
    count, max_size = COUNTS.get(name, (250, 12))
    check_conformance(solver_class(name)(), count=count, max_size=max_size)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_ONES)
def test_conformance_of_general_searches_at_length(name):
    check_conformance(solver_class(name)(), count=700, max_size=12)


class DrawsForTheBatch(ArgmaxSolver):
    """Random states, other ones in every call."""

    name = "draws_for_the_batch"
    capabilities = Capabilities(exact=False)

    def __init__(self):
        self.generator = np.random.default_rng(0)

    def _argmax(self, problem, deadline):
        z = self.generator.integers(0, 2, (problem.batch, problem.n))
        return Maximiser(z, problem.positive_part)


class SometimesWrong(DrawsForTheBatch):
    """The same, which says that it is exact."""

    name = "sometimes_wrong"
    capabilities = Capabilities(exact=True)


def test_a_randomised_heuristic_is_told_how_to_pass_and_does():
    told = r"^draws_for_the_batch: a batch is not its instances: that at \(.*randomised=True"
    with pytest.raises(AssertionError, match=told):
        check_conformance(DrawsForTheBatch(), count=10)
    check_conformance(DrawsForTheBatch(), count=10, randomised=True)


def test_no_exact_solver_may_be_random():
    with pytest.raises(AssertionError, match=r"^sometimes_wrong: a batch is not its instances"):
        check_conformance(SometimesWrong(), count=0, randomised=True)


def descents(unary, weights, starts):
    """States `[batch, n]` that no single flip improves, each from its start."""
    z = starts.astype(float)
    for row, fields, matrix in zip(z, unary, weights, strict=True):
        gain = (fields + matrix @ row) * (1 - 2 * row)
        while gain.max() > 1e-9:
            flipped = gain.argmax()
            row[flipped] = 1 - row[flipped]
            gain = (fields + matrix @ row) * (1 - 2 * row)
    return z


def one_after_the_other(unary, weights):
    """Descents, each from the answer of the instance before it."""
    states = [np.zeros(unary.shape[1])]
    for fields, matrix in zip(unary, weights, strict=True):
        states.append(descents(fields[None], matrix[None], states[-1][None])[0])
    return np.array(states[1:])


def from_shared_numbers(unary, weights):
    """Descents from starts that are drawn for the whole batch."""
    starts = np.random.default_rng(0).integers(0, 2, unary.shape)
    return descents(unary, weights, starts)


CROSSTALK = {
    "the mean of the batch": lambda unary, weights: unary > unary.mean(),
    "the median of the batch": lambda unary, weights: unary > np.median(unary),
    "the maximum of the batch": lambda unary, weights: unary > 0.1 * unary.max(),
    "a tolerance of the batch": lambda unary, weights: unary > 1e-3 * np.abs(unary).max(),
    "the deviation of the batch": lambda unary, weights: unary > 0.1 * unary.std(),
    "the first instance": lambda unary, weights: np.repeat(unary[:1] > 0, len(unary), axis=0),
    "the instance before": one_after_the_other,
    "random numbers for the batch": from_shared_numbers,
}
"""Heuristics whose instances affect each other, by what they share."""

SEPARATE = {
    "their own mean": lambda unary, weights: unary > unary.mean(axis=1, keepdims=True),
    "no start": lambda unary, weights: descents(unary, weights, np.zeros(unary.shape)),
}
"""Heuristics that answer each instance by itself."""


@dataclass(frozen=True)
class Heuristic(ArgmaxSolver):
    """A heuristic `states_of(unary, weights)` of float64 scores `[batch, n]` and `[batch, n, n]`."""

    states_of: Callable
    name = "heuristic"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, deadline):
        weights = np.zeros((problem.batch, problem.n, problem.n))
        first, second = problem.edges.T
        weights[:, first, second] = problem.pairwise
        weights[:, second, first] = problem.pairwise
        states = self.states_of(problem.unary.astype(float), weights)
        return Maximiser(states.astype(np.int8))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shared", CROSSTALK)
def test_the_kit_finds_instances_that_affect_each_other(shared, seed):
    with pytest.raises(AssertionError, match="must not affect each other"):
        check_conformance(Heuristic(CROSSTALK[shared]), count=0, seed=seed)
    check_conformance(Heuristic(CROSSTALK[shared]), count=0, seed=seed, randomised=True)


@pytest.mark.parametrize("own", SEPARATE)
def test_heuristics_that_answer_each_instance_by_itself_pass(own):
    for seed in range(5):
        check_conformance(Heuristic(SEPARATE[own]), count=2, seed=seed)


class LabelsByTheMean(LabelSolver):
    """The largest value of each variable that scores more than the mean of the batch."""

    name = "labels_by_the_mean"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, deadline):
        above = problem.unary > problem.unary[np.isfinite(problem.unary)].mean()
        return Maximiser((above * np.arange(problem.k)).max(axis=2))


@pytest.mark.parametrize("seed", range(5))
def test_the_kit_finds_label_solvers_whose_instances_affect_each_other(seed):
    with pytest.raises(AssertionError, match="must not affect each other"):
        check_conformance(LabelsByTheMean(), count=0, seed=seed)


def test_all_backends_agree_on_supermodular_problems():
    generator = np.random.default_rng(3)
    for instances in random_instances(20, 8, generator, sign="positive"):
        best = enumerate_scores(instances).max(axis=1)
        rounding = 4 * instances.problem().rounding
        for name in BUILT_IN:
            if name == "local_search" or (name == "independent" and len(instances.edges)):
                continue
            arrays = (instances.unary, instances.pairwise)
            score = solve(*arrays, edges=instances.edges, solver=name).score
            assert (np.abs(score - best) <= rounding).all(), name


@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1.0, 1e40, 1e300])
@pytest.mark.parametrize("name", ["exhaustive", "max_flow", "pymaxflow", "cp_sat"])
def test_scale_does_not_matter(name, scale):
    generator = np.random.default_rng(4)
    unary, pairwise = (
        generator.standard_normal((5, 6)),
        np.abs(generator.standard_normal((5, 6, 6))),
    )
    pairwise = np.triu(pairwise, 1) / 3
    plain = solve(unary, pairwise, solver=name)
    scaled = solve(unary * scale, pairwise * scale, solver=name)
    np.testing.assert_allclose(scaled.score, plain.score * scale, rtol=1e-12)
    assert scaled.optimal.all()


@pytest.mark.parametrize("n", [13, 16, 20, 22])
def test_exhaustive_beyond_one_table(n):
    generator = np.random.default_rng(n)
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    unary, pairwise = generator.standard_normal(n), generator.standard_normal(len(edges))
    weights = np.zeros((n, n))
    weights[edges[:, 1], edges[:, 0]] = pairwise
    score = np.zeros(1)  # of all states of the first i bits
    for i in range(n):
        gained = np.full(1, unary[i])
        for weight in weights[i, :i]:
            gained = np.concatenate((gained, gained + weight))
        score = np.concatenate((score, score + gained))
    solution = solve(unary, pairwise, edges=edges, solver="exhaustive")
    assert float(solution.score) == pytest.approx(score.max(), rel=1e-13)


@pytest.mark.parametrize("n", [5, 8, 13])
@pytest.mark.parametrize("size", [5e-324, 1.0, 1e305])
def test_exhaustive_adds_equal_scores_without_overflow(n, size):
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    for batch in (1, 5):
        unary = np.full((batch, n), size)
        pairwise = np.full((batch, len(edges)), size)
        assert solve(unary, pairwise, edges=edges, solver="exhaustive").z.all()
        assert not solve(-unary, -pairwise, edges=edges, solver="exhaustive").z.any()
        # With the first variable at 1 the others lose, and they gain twice as much without it.
        unary[:, 0] *= 0.5
        pairwise[:, edges[:, 0] == 0] *= -1.0
        mixed = solve(unary, pairwise, edges=edges, solver="exhaustive").z
        assert (mixed == (np.arange(n) > 0)).all()


@pytest.mark.parametrize("n", [4, 5, 8, 13])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_exhaustive_adds_scores_up_to_a_power_of_two(n, sign):
    """The sum of all scores decides by which power of two they are scaled."""
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    for rest in (0.0, 2.0**-50):
        unary = np.ones(n)
        pairwise = np.ones(len(edges))
        count = n + len(edges)
        unary[0] += 2.0 ** np.ceil(np.log2(count + 1)) - count
        unary[1] -= rest
        for batch in (1, 5):
            arrays = [np.tile(sign * array, (batch, 1)) for array in (unary, pairwise)]
            solution = solve(*arrays, edges=edges, solver="exhaustive")
            assert (solution.z == (sign > 0)).all()


@pytest.mark.parametrize("n", [12, 18])
def test_exhaustive_finds_the_fairest_partition_of_whole_numbers(n):
    """Nearly all states score alike: rounded scores cannot tell them apart."""
    weights = np.random.default_rng(n).integers(1, 1000, n)
    total = weights.sum()
    sums = np.zeros(1, np.int64)
    for weight in weights:
        sums = np.concatenate((sums, sums + weight))
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    solution = solve(
        4.0 * total * weights - 4.0 * weights**2,
        -8.0 * weights[edges].prod(axis=1),
        edges=edges,
        solver="exhaustive",
    )
    assert total**2 - float(solution.score) == ((total - 2 * sums) ** 2).min()


def test_large_graphs_by_max_flow():
    from solvers.instances import grid

    instances = grid(30, 40, 3, np.random.default_rng(5))
    solution = solve(instances.unary, instances.pairwise, edges=instances.edges, solver="max_flow")
    assert solution.optimal.all()
    small = Problem.from_arrays(instances.unary[0], instances.pairwise[0], edges=instances.edges)
    assert float(solver_class("max_flow")().solve(small).score) == pytest.approx(
        float(solution.score[0]), rel=1e-13
    )
    flips = np.tile(solution.z[0], (1200, 1)) ^ np.eye(1200, dtype=np.int8)
    near = Problem.from_arrays(
        np.tile(instances.unary[0], (1200, 1)), instances.pairwise[0], edges=instances.edges
    )
    assert near.score(flips).max() <= float(solution.score[0]) + float(small.rounding[0])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_of_exhaustive_at_its_largest():
    code = """
        import re
        from pathlib import Path
        import numpy as np
        from solvers import solve
        generator = np.random.default_rng(0)
        unary = generator.standard_normal((100, 25)).astype(np.float32)
        pairwise = np.triu(generator.standard_normal((100, 25, 25)), 1).astype(np.float32)
        assert solve(unary, pairwise, solver="exhaustive").optimal.all()
        # Not ru_maxrss, which starts at what the parent process had.
        peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
        assert int(peak[1]) < 2**18
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@dataclass(frozen=True)
class PositiveSum(ArgmaxSolver):
    """Takes the variables of positive score; its bound is the sum of the positive scores."""

    type_of_sums: type = np.float64

    name = "positive_sum"
    capabilities = Capabilities(exact=False)

    def _argmax(self, problem, deadline):
        z = (problem.unary > 0).astype(np.int8)
        bound = np.maximum(problem.unary, 0).sum(axis=1, dtype=self.type_of_sums)
        bound = bound + np.maximum(problem.pairwise, 0).sum(axis=1, dtype=self.type_of_sums)
        return Maximiser(z, bound.astype(np.float64))


def test_the_kit_detects_a_bound_that_is_summed_in_float32():
    check_conformance(PositiveSum(), count=0)
    with pytest.raises(AssertionError, match=r"^positive_sum, 300 variables with float32 scores"):
        check_conformance(PositiveSum(np.float32), count=0)
