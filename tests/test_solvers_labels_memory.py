"""Memory of label problems: what tables hold, never the square of the largest variable for every pair."""

import itertools
import tracemalloc

import numpy as np
import pytest

from solvers import ProblemError, ProblemTooLargeError, select_solver
from solvers.labels import LabelProblem, from_factors, gibbs, solve

SOLVERS = ["auto", "elimination", "dual_ascent", "exhaustive", "bits", "expansion_moves"]
MEBIBYTE = 1 << 20


def peak_of(call):
    """What a call returns, and the largest memory that it took, in MiB."""
    tracemalloc.start()
    try:
        result = call()
        return result, tracemalloc.get_traced_memory()[1] / MEBIBYTE
    finally:
        tracemalloc.stop()


def total_of(factors, x):
    return sum(float(np.asarray(table)[tuple(x[v] for v in scope)]) for scope, table in factors)


def check(sizes, factors, **options):
    """The answer is the best of all assignments."""
    answer = solve(from_factors(sizes, factors), **options)
    every = [total_of(factors, x) for x in itertools.product(*map(range, sizes))]
    assert answer.value == pytest.approx(max(every))
    assert total_of(factors, list(answer.assignment.values())) == pytest.approx(answer.value)
    if answer.optimal:
        assert answer.bound == pytest.approx(answer.value)
    return answer


def test_a_factor_of_twelve_bits_takes_little_memory():
    table = np.random.default_rng(0).normal(size=(2,) * 12)
    factors = [(tuple(range(12)), table), ((0, 11), [[0.0, 1.0], [2.0, 0.0]])]
    answer, peak = peak_of(lambda: solve(from_factors([2] * 12, factors)))
    every = [total_of(factors, x) for x in itertools.product((0, 1), repeat=12)]
    assert answer.optimal
    assert answer.value == pytest.approx(max(every))
    assert peak < 20


@pytest.mark.parametrize("seed", range(6))
def test_large_factors_that_overlap_are_solved_exactly(seed):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 4, 8).tolist()
    factors = []
    for length in (5, 6, 3, 2, 1):
        scope = generator.permutation(8)[:length].tolist()
        table = generator.normal(size=[sizes[v] for v in scope])
        table[generator.random(table.shape) < 0.2] = -np.inf if length > 2 else 0.0
        factors.append((scope, table))
    for solver in ("auto", "dual_ascent"):
        assert check(sizes, factors, solver=solver).optimal


def test_a_sum_over_all_states_is_the_same_with_halves_of_a_factor():
    table = np.random.default_rng(1).normal(size=(3, 2, 4, 5))
    factors = [((0, 1, 2, 3), table), ((1,), [0.5, -0.5])]
    conversion = from_factors([3, 2, 4, 5], factors)
    every = [
        total_of(factors, x) for x in itertools.product(range(3), range(2), range(4), range(5))
    ]
    assert float(gibbs(conversion.problem).log_partition) == pytest.approx(
        np.logaddexp.reduce(every)
    )


def test_a_factor_of_few_tuples_among_many_takes_little_memory():
    generator = np.random.default_rng(2)
    table = np.full((20,) * 5, -np.inf)
    places = generator.integers(0, 20, (4000, 5))
    table[tuple(places.T)] = generator.normal(size=4000)
    factors = [
        ((0, 1, 2, 3, 4), table),
        ((0,), generator.normal(size=20)),
        ((2, 4), generator.normal(size=(20, 20))),
    ]
    answer, peak = peak_of(lambda: solve(from_factors([20] * 5, factors)))
    best = max(total_of(factors, x) for x in places.tolist())
    assert (answer.value, answer.optimal) == (pytest.approx(best), True)
    assert peak < 500


def test_a_variable_of_many_values_does_not_cost_the_others():
    generator = np.random.default_rng(3)
    sizes = [5000] + [2] * 60
    factors = [((i, i + 1), generator.normal(size=(2, 2))) for i in range(1, 60)]
    factors += [
        ((0, 1), generator.normal(size=(5000, 2))),
        ((30, 0), generator.normal(size=(2, 5000))),
    ]
    answer, peak = peak_of(lambda: solve(from_factors(sizes, factors)))
    assert answer.optimal
    assert peak < 50
    assert total_of(factors, list(answer.assignment.values())) == pytest.approx(answer.value)


def ragged_factors(largest):
    """Sizes and factors of four variables, of which the first has this many values."""
    factors = [
        ((0, 1), np.random.default_rng(4).normal(size=(largest, 2))),
        ((2, 0), np.random.default_rng(5).normal(size=(3, largest))),
        ((1, 2), np.random.default_rng(6).normal(size=(2, 3))),
        ((3, 1), np.array([[0.0, -np.inf], [0.5, 0.0]])),
    ]
    return [largest, 2, 3, 2], factors


RAGGED = ragged_factors(1500)


@pytest.mark.spread(3)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_takes_tables_of_their_own_sizes(solver):
    if solver == "bits":
        pytest.skip("1,500 values are too many bits")
    check(*RAGGED, solver=solver)


def test_tables_of_their_own_sizes_are_the_padded_ones():
    sizes, factors = ragged_factors(1000)
    ragged = from_factors(sizes, factors).problem
    assert ragged.edge_tables is not None
    dense = ragged.dense()
    assert ragged.edge_tables is not None
    assert dense.edge_tables is None
    labels = np.array([7, 1, 2, 0])
    for problem in (ragged, dense):
        assert float(problem.score(labels)) == pytest.approx(total_of(factors, labels))
        assert problem.magnitude[0] == pytest.approx(dense.magnitude[0])
        for edge in range(problem.e):
            assert np.array_equal(problem.pairwise(edge), dense.pairwise(edge))
    assert np.array_equal(ragged.all_pairwise(), dense.all_pairwise())
    assert float(gibbs(ragged).log_partition) == pytest.approx(float(gibbs(dense).log_partition))
    for method in ("trw", "mean_field"):
        bounds = [float(gibbs(problem, method=method).log_partition) for problem in (ragged, dense)]
        assert bounds[0] == pytest.approx(bounds[1])
    several = [solve(problem, k_best=5) for problem in (ragged, dense)]
    assert several[0].score.tolist() == pytest.approx(several[1].score.tolist())
    assert float(solve(ragged, fix={0: 3}).score) == pytest.approx(
        float(solve(dense, fix={0: 3}).score)
    )
    batch = ragged.instances(np.zeros(3, np.int64))
    assert solve(batch).score.tolist() == pytest.approx([float(solve(ragged).score)] * 3)


def test_tables_of_their_own_sizes_are_checked():
    sizes = [1500, 2, 3]
    with pytest.raises(ProblemError, match="must be numbers"):
        from_factors(sizes, [((0, 1), np.full((1500, 2), np.nan)), ((1, 2), np.zeros((2, 3)))])
    with pytest.raises(ProblemError, match="plus infinity"):
        from_factors(sizes, [((0, 1), np.full((1500, 2), np.inf)), ((1, 2), np.zeros((2, 3)))])
    with pytest.raises(ProblemError, match="overflow"):
        from_factors(sizes, [((0, 1), np.full((1500, 2), 1e308)), ((1, 2), np.zeros((2, 3)))])


def potts_pair(k, edges, sizes=None, seed=0, batch=()):
    """A problem with equal values that score, and the same with tables."""
    generator = np.random.default_rng(seed)
    n = 1 + int(np.max(edges))
    unary = generator.normal(size=(*batch, n, k))
    weights = generator.normal(size=(*batch, len(edges)))
    table = weights[..., None, None] * np.eye(k)
    potts = LabelProblem.from_arrays(unary, potts=weights, edges=edges, sizes=sizes)
    assert potts.is_potts
    return potts, LabelProblem.from_arrays(unary, table, edges=edges, sizes=sizes)


CHAIN, RING = [[0, 1], [2, 1], [3, 2]], [[0, 1], [1, 2], [0, 2]]
SHAPES = [(CHAIN, None), (CHAIN, [130, 1, 7, 129]), (RING, None), (RING, [130, 2, 5])]


@pytest.mark.parametrize("solver", ["auto", "elimination", "dual_ascent", "expansion_moves"])
@pytest.mark.parametrize(
    ("edges", "sizes"),
    [(CHAIN, None), (CHAIN, [130, 1, 7, 129]), (RING, None), (RING, [130, 2, 5])],
)
def test_scores_of_many_equal_values_are_those_of_their_tables(edges, sizes, solver):
    for seed, batch in ((0, ()), (1, (3,))):
        potts, tables = potts_pair(130, edges, sizes, seed, batch)
        found, right = solve(potts, solver=solver), solve(tables, solver="elimination")
        if solver != "expansion_moves":
            assert np.all(found.optimal)
            assert found.score == pytest.approx(right.score)
        assert tables.score(found.labels) == pytest.approx(found.score)
        assert potts.score(right.labels) == pytest.approx(right.score)
        assert np.all(found.bound >= right.score - 1e-9)
        assert potts.magnitude == pytest.approx(tables.magnitude, rel=0.2)
        for edge in range(potts.e):
            assert np.array_equal(potts.pairwise(edge), tables.pairwise(edge))


def test_sums_and_best_assignments_of_many_equal_values():
    potts, tables = potts_pair(130, CHAIN, [130, 130, 4, 130])
    assert float(gibbs(potts).log_partition) == pytest.approx(float(gibbs(tables).log_partition))
    for method in ("trw", "mean_field"):
        bounds = [float(gibbs(problem, method=method).log_partition) for problem in (potts, tables)]
        assert bounds[0] == pytest.approx(bounds[1])
    assert solve(potts, k_best=6).score == pytest.approx(solve(tables, k_best=6).score)
    assert float(solve(potts, fix={1: 5}).score) == pytest.approx(
        float(solve(tables, fix={1: 5}).score)
    )


def test_forbidden_values_are_kept_from_equal_ones():
    unary = np.zeros((2, 200))
    unary[0, 1:] = unary[1, :199] = -np.inf
    unary[1, 0] = -3.0
    answer = solve(unary, potts=5.0, edges=[[0, 1]])
    assert (answer.labels.tolist(), float(answer.score)) == ([0, 0], 2.0)


def test_five_thousand_equal_values_take_little_memory():
    generator = np.random.default_rng(0)
    unary = generator.normal(size=(30, 5000))
    for edges in ([[i, i + 1] for i in range(29)], [[i, (i + 1) % 30] for i in range(30)]):
        found, peak = peak_of(
            lambda edges=edges: solve(unary, potts=1.5, edges=edges, time_limit=5.0)
        )
        assert peak < 100
        assert found.score >= unary.max(axis=1).sum()
    chain = LabelProblem.from_arrays(unary, potts=1.5, edges=[[i, i + 1] for i in range(29)])
    assert select_solver(chain).solver.name == "elimination"
    assert solve(chain).optimal


def test_tables_that_memory_does_not_hold_are_refused_before_they_are_made():
    problem = from_factors(
        [30000] + [2] * 3, [((0, i), np.zeros((30000, 2))) for i in (1, 2, 3)]
    ).problem
    assert solve(problem).optimal
    wide = from_factors(
        [60000] + [2] * 40, [((0, i), np.zeros((60000, 2))) for i in range(1, 41)]
    ).problem
    with pytest.raises(ProblemTooLargeError, match="tables of 60000 x 60000"):
        wide.dense()


def test_tables_of_their_own_sizes_have_a_trivial_bound_and_units():
    sizes = [3000] + [2] * 20
    generator = np.random.default_rng(0)
    factors = [((0, i), generator.integers(-5, 6, (3000, 2)).astype(float)) for i in range(1, 21)]
    problem = from_factors(sizes, factors).problem
    assert problem.edge_tables is not None
    best = sum(table.max() for _, table in factors)
    assert problem.trivial_bound[0] == pytest.approx(best)
    assert problem.rounding[0] < 0.5
