"""Variables of several values, against enumeration."""

import itertools
from functools import partial

import array_api_strict
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from solvers import (
    InfeasibleError,
    OptionError,
    ProblemError,
    ProblemTooLargeError,
    SolveFailedError,
    UnknownSolverError,
    UnsupportedProblemError,
    available_solvers,
    select_solver,
    solver_class,
)
from solvers import labels as several
from solvers.labels import (
    LabelProblem,
    LabelSolver,
    from_factors,
    gibbs,
    solve,
)
from solvers.labels.algorithms.buckets import buckets_of
from solvers.solution import Maximiser
from solvers.solver import Capabilities
from solvers.testing import check_conformance

torch = optional("torch")

few = examples(60)
seeds = st.integers(0, 2**32 - 1)


def drawn(seed, forbidden=0.0, batch=(3,)):
    """Arrays of a random problem: unary, pairwise, edges in any order, sizes."""
    random = np.random.default_rng(seed)
    n, k = random.integers(1, 6), random.integers(1, 5)
    sizes = random.integers(1, k + 1, n)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < 0.6]
    edges = np.where(random.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
    scale = 10.0 ** random.integers(-9, 10)
    shapes = (*batch, n, k), ((*batch, len(edges), k, k) if seed % 2 else (len(edges), k, k))
    if seed % 3:
        unary, pairwise = (random.normal(size=shape) for shape in shapes)
    else:
        unary, pairwise = (random.integers(-2, 3, shape).astype(float) for shape in shapes)
    pairwise = np.where(random.random(pairwise.shape) < forbidden, -np.inf, scale * pairwise)
    return scale * unary, pairwise, edges, sizes


def every_assignment(sizes):
    return np.array(list(itertools.product(*map(range, sizes))))


def scores_of(unary, pairwise, edges, assignments):
    """`[..., assignments]`, by the definition."""
    total = unary[..., np.arange(unary.shape[-2]), assignments].sum(axis=-1)
    for edge, (i, j) in enumerate(edges):
        total = total + pairwise[..., edge, assignments[:, i], assignments[:, j]]
    return total


SOLVERS = ["auto", "elimination", "exhaustive", "bits", "branch_and_bound", "cp_sat"]


@pytest.mark.parametrize("solver", SOLVERS)
@few
@given(seed=seeds)
def test_the_best_labels_are_those_of_enumeration(solver, seed):
    unary, pairwise, edges, sizes = drawn(seed, forbidden=0.1 * (seed % 5 == 0))
    scores = scores_of(unary, pairwise, edges, every_assignment(sizes))
    problem = LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes)
    if (scores.max(axis=-1) == -np.inf).any():
        with pytest.raises(InfeasibleError):
            solve(problem, solver=solver)
        return
    found = solve(problem, solver=solver)
    slack = 4 * problem.rounding
    np.testing.assert_array_less(np.abs(found.score - scores.max(axis=-1)), slack + 1e-300)
    own = [
        scores_of(
            unary[b],
            pairwise[b] if pairwise.ndim == 4 else pairwise,
            edges,
            found.labels[b : b + 1],
        )[0]
        for b in range(3)
    ]
    np.testing.assert_array_less(np.abs(found.score - own), slack + 1e-300)
    assert found.optimal.all()
    assert (found.bound >= scores.max(axis=-1) - slack).all()


@few
@given(seed=seeds)
def test_convex_tables_are_cuts(seed):
    unary, _, edges, sizes = drawn(seed)
    k = unary.shape[-1]
    table = -np.abs(np.subtract.outer(np.arange(k), np.arange(k))) * 2.0**-3
    found = solve(unary, table, edges=edges, sizes=sizes, solver="max_flow") if len(edges) else None
    if found is not None:
        expected = scores_of(
            unary, np.broadcast_to(table, (len(edges), k, k)), edges, every_assignment(sizes)
        )
        np.testing.assert_allclose(found.score, expected.max(axis=-1), rtol=1e-12)
        assert found.optimal.all()


@few
@given(seed=seeds)
def test_gibbs_is_enumeration(seed):
    unary, pairwise, edges, sizes = drawn(seed, forbidden=0.1 * (seed % 5 == 0))
    unary, pairwise = (part / max(np.abs(unary).max(), 1e-300) for part in (unary, pairwise))
    assignments = every_assignment(sizes)
    scores = scores_of(unary, pairwise, edges, assignments)
    if (scores.max(axis=-1) == -np.inf).any():
        with pytest.raises(InfeasibleError):
            gibbs(unary, pairwise, edges=edges, sizes=sizes)
        return
    weights = np.exp(scores)
    total = weights.sum(axis=-1, keepdims=True)
    weights = weights / total
    n, k = unary.shape[-2:]
    of_variables = np.zeros((len(assignments), n, k))
    np.put_along_axis(of_variables, assignments[:, :, None], 1.0, axis=2)
    of_pairs = np.zeros((len(assignments), len(edges), k, k))
    low, high = np.sort(edges, axis=1).T
    for edge in range(len(edges)):
        of_pairs[
            np.arange(len(assignments)), edge, assignments[:, low[edge]], assignments[:, high[edge]]
        ] = 1
    found = gibbs(unary, pairwise, edges=edges, sizes=sizes)
    np.testing.assert_allclose(found.log_partition, np.log(total[..., 0]), atol=1e-9)
    np.testing.assert_allclose(
        found.unary_marginals, np.einsum("bx,xnk->bnk", weights, of_variables), atol=1e-9
    )
    np.testing.assert_allclose(
        found.pairwise_marginals, np.einsum("bx,xekl->bekl", weights, of_pairs), atol=1e-9
    )
    entropy = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(axis=-1)
    np.testing.assert_allclose(found.entropy, entropy, atol=1e-9)
    random = np.random.default_rng(seed)
    by_variables, by_pairs = (
        random.normal(size=of_variables.shape[1:]),
        random.normal(size=of_pairs.shape[1:]),
    )
    along = np.einsum("nk,xnk->x", by_variables, of_variables) + np.einsum(
        "ekl,xekl->x", by_pairs, of_pairs
    )
    centred = weights * (along - (weights * along).sum(axis=-1, keepdims=True))
    products = found.covariance_product(by_variables, by_pairs)
    with pytest.raises(ProblemError, match="1e\\+290"):
        found.covariance_product(np.full(by_variables.shape, 1e308))
    assert np.isfinite(found.covariance_product(by_variables.astype(np.float32))[0]).all()
    np.testing.assert_allclose(
        products[0], np.einsum("bx,xnk->bnk", centred, of_variables), atol=1e-9
    )
    np.testing.assert_allclose(
        products[1], np.einsum("bx,xekl->bekl", centred, of_pairs), atol=1e-9
    )


@pytest.mark.parametrize("scale", [1.0, 20.0, 30.0, 1e4])
@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_gibbs_of_pairs_that_all_meet_is_enumeration(limits, scale, forbidden):
    """Whose exponentials are products of those of the pairs, where the scores are not too far apart."""
    n, k, random = 5, 5, np.random.default_rng(0)
    edges = np.array(list(itertools.combinations(range(n), 2)))
    unary, pairwise = (
        scale * random.uniform(-1, 1, shape) for shape in ((3, n, k), (3, len(edges), k, k))
    )
    pairwise[random.random(pairwise.shape) < forbidden] = -np.inf
    pairwise[0, 0, 0] = -np.inf if forbidden else 0.0  # a value that no other goes with
    pairwise[1] += 1e5  # tells nothing
    assignments = every_assignment([k] * n)
    scores = scores_of(unary, pairwise, edges, assignments)
    peak = scores.max(axis=-1)
    assert np.isfinite(peak).all()
    weights = np.exp(scores - peak[:, None])
    found = gibbs(unary, pairwise, edges=edges)
    np.testing.assert_allclose(
        found.log_partition, peak + np.log(weights.sum(axis=-1)), rtol=1e-12, atol=1e-9
    )
    values = np.eye(k)[assignments]
    marginals = np.einsum("bx,xnk->bnk", weights / weights.sum(axis=-1, keepdims=True), values)
    np.testing.assert_allclose(found.unary_marginals, marginals, atol=1e-9)
    limits(factored_values=np.inf)
    plain = gibbs(unary, pairwise, edges=edges)
    np.testing.assert_allclose(found.log_partition, plain.log_partition, rtol=1e-13)
    np.testing.assert_allclose(
        found.pairwise_marginals, plain.pairwise_marginals, rtol=1e-6, atol=1e-300
    )


@pytest.mark.statistical
def test_samples_have_the_marginals():
    unary, pairwise, edges, sizes = drawn(7)
    unary, pairwise = (part / np.abs(unary).max() for part in (unary, pairwise))
    found = gibbs(unary, pairwise, edges=edges, sizes=sizes)
    uniforms = np.random.default_rng(0).random((20_000, *unary.shape[:-1]))
    samples = found.sample(uniforms)
    shares = np.stack(
        [(samples == value).mean(axis=0) for value in range(unary.shape[-1])], axis=-1
    )
    error = np.sqrt(found.unary_marginals * (1 - found.unary_marginals) / len(samples))
    assert (np.abs(shares - found.unary_marginals) <= 4.5 * error + 1e-12).all()
    assert (np.abs(1.1 * shares - found.unary_marginals) > 4.5 * error + 1e-12).any()
    np.testing.assert_array_equal(samples, found.sample(uniforms))


@pytest.mark.parametrize("place", [lambda given: torch.asarray(given), array_api_strict.asarray])
def test_answers_are_of_the_callers_kind(place):
    unary, pairwise, edges, sizes = drawn(5)
    expected = solve(unary, pairwise, edges=edges, sizes=sizes)
    found = solve(place(unary), place(pairwise), edges=edges, sizes=sizes)
    assert type(found.labels) is type(place(unary)) is type(found.score)
    np.testing.assert_array_equal(
        np.asarray(
            found.labels.tolist()
            if place is not array_api_strict.asarray
            else np.from_dlpack(found.labels)
        ),
        expected.labels,
    )


def test_leading_dimensions_come_back():
    unary, pairwise, edges, sizes = drawn(3, batch=(2, 3))
    found = solve(unary, pairwise, edges=edges, sizes=sizes)
    assert found.labels.shape == unary.shape[:-1]
    assert found.score.shape == found.bound.shape == found.optimal.shape == (2, 3)
    alone = solve(
        unary[1, 2], pairwise[1, 2] if pairwise.ndim > 3 else pairwise, edges=edges, sizes=sizes
    )
    assert alone.labels.shape == unary.shape[2:-1]
    np.testing.assert_allclose(alone.score, found.score[1, 2])


def test_one_table_is_that_of_every_edge_the_way_it_is_written():
    unary = np.zeros((3, 2))
    table = np.array([[0.0, 1.0], [0.0, 0.0]])
    forwards = solve(unary, table, edges=[[0, 1], [1, 2]])
    backwards = solve(unary, table, edges=[[1, 0], [2, 1]])
    both = solve(unary, table, edges=[[0, 1], [2, 1]])
    assert (float(forwards.score), float(backwards.score), float(both.score)) == (1.0, 1.0, 2.0)
    np.testing.assert_array_equal(both.labels, [0, 1, 0])


def test_potts_is_a_table_with_a_diagonal():
    unary, _, edges, sizes = drawn(11)
    weights = np.random.default_rng(0).normal(size=len(edges))
    k = unary.shape[-1]
    short = LabelProblem.from_arrays(unary, potts=weights, edges=edges, sizes=sizes)
    long = LabelProblem.from_arrays(
        unary, weights[:, None, None] * np.eye(k), edges=edges, sizes=sizes
    )
    np.testing.assert_allclose(solve(short).score, solve(long).score)
    np.testing.assert_allclose(gibbs(short).log_partition, gibbs(long).log_partition)


def test_fixed_variables_keep_their_values():
    unary, pairwise, edges, sizes = drawn(3)
    values = {i: int(size) - 1 for i, size in enumerate(sizes[:2])}
    found = solve(unary, pairwise, edges=edges, sizes=sizes, fix=values)
    assignments = every_assignment(sizes)
    keep = np.all([assignments[:, i] == value for i, value in values.items()], axis=0)
    scores = scores_of(unary, pairwise, edges, assignments[keep])
    np.testing.assert_allclose(found.score, scores.max(axis=-1))
    array = np.full(len(sizes), -1)
    array[list(values)] = list(values.values())
    np.testing.assert_array_equal(
        solve(unary, pairwise, edges=edges, sizes=sizes, fix=array).score, found.score
    )


@pytest.mark.parametrize("fix", [{9: 0}, {0: 9}, {0: -1}, [0, 0], [9] * 3, "no", [0.5] * 3])
def test_what_fixes_nothing_is_refused(fix):
    with pytest.raises(OptionError, match="fix"):
        solve(np.zeros((3, 2)), fix=fix)


BAD = [
    ({"unary": np.zeros(3)}, "unary must be"),
    ({"unary": np.zeros((2, 0))}, "have no values"),
    ({"unary": np.full((2, 2), np.nan)}, "nan"),
    ({"unary": np.full((2, 2), np.inf)}, "plus infinity"),
    ({"unary": np.full((2, 2), -np.inf)}, "all values of variable 0"),
    ({"unary": np.zeros((2, 2)), "sizes": [1]}, "sizes"),
    ({"unary": np.zeros((2, 2)), "sizes": [1, 3]}, "sizes"),
    ({"unary": np.zeros((2, 2)), "edges": [[0, 1]]}, "go together"),
    ({"unary": np.zeros((2, 2)), "potts": 1.0}, "go together"),
    (
        {"unary": np.zeros((2, 2)), "potts": 1.0, "pairwise": np.eye(2), "edges": [[0, 1]]},
        "not both",
    ),
    ({"unary": np.zeros((2, 2)), "potts": [1.0, 2.0], "edges": [[0, 1]]}, "potts"),
    ({"unary": np.zeros((2, 2)), "potts": np.nan, "edges": [[0, 1]]}, "potts"),
    ({"unary": np.zeros((2, 2)), "pairwise": np.eye(3), "edges": [[0, 1]]}, "pairwise must be"),
    ({"unary": np.zeros((2, 2)), "pairwise": np.eye(2), "edges": [[0, 0]]}, "joins 0 to itself"),
    ({"unary": np.zeros((2, 2)), "pairwise": np.eye(2), "edges": [[0, 2]]}, "variables are 0..1"),
    ({"unary": np.full((2, 2), 1e308), "pairwise": np.eye(2), "edges": [[0, 1]]}, "overflow"),
    (
        {"unary": np.zeros((3, 2, 2)), "pairwise": np.zeros((2, 1, 2, 2)), "edges": [[0, 1]]},
        "broadcast",
    ),
]


@pytest.mark.parametrize(("arrays", "message"), BAD)
def test_what_is_no_problem_is_refused(arrays, message):
    with pytest.raises(ProblemError, match=message):
        solve(**arrays)


@pytest.mark.parametrize("labels", [[0, 3], [0, -1], [0.0, 1.0], [0]])
def test_what_is_no_assignment_has_no_score(labels):
    problem = LabelProblem.from_arrays(np.zeros((2, 3)))
    with pytest.raises(ProblemError, match="labels"):
        problem.score(labels)


def test_binary_problems_go_to_the_binary_solvers():
    random = np.random.default_rng(0)
    edges = np.stack(np.triu_indices(40, 1), axis=1)
    problem = LabelProblem.from_arrays(
        random.normal(size=(40, 2)), potts=random.normal(size=len(edges)), edges=edges
    )
    assert "binary" in select_solver(problem).reason
    assert solve(problem).solver == "branch_and_bound"


def test_names_of_both_kinds_of_solvers_are_known():
    with pytest.raises(UnknownSolverError, match="did you mean 'elimination'"):
        solve([[0.0, 1.0]], solver="eliminate")
    with pytest.raises(UnknownSolverError, match="did you mean 'cp_sat'"):
        solve([[0.0, 1.0]], solver="cp_sa")
    with pytest.raises(UnknownSolverError, match=r"'expansion_moves'.*did you mean 'max_flow'"):
        solve([[0.0, 1.0]], solver="min_cut")
    with pytest.raises(UnknownSolverError, match="called 'viterbi'; did you mean 'elimination'"):
        solve([[0.0, 1.0]], solver="viterbi")
    with pytest.raises(UnknownSolverError, match=r"for their bits.*did you mean 'highs'"):
        solve([[0.0, 1.0]], solver="ilp")
    assert {info.name for info in available_solvers("labels")} >= {
        "independent",
        "elimination",
        "exhaustive",
        "bits",
    }
    assert set(several.__all__) <= set(dir(several))


def test_refusals_have_reasons():
    frustrated = {"pairwise": np.eye(3), "edges": [[0, 1]]}
    with pytest.raises(UnsupportedProblemError, match="max_flow of its 4 bits"):
        solve(np.zeros((2, 3)), **frustrated, solver="max_flow")
    with pytest.raises(UnsupportedProblemError, match="takes none"):
        solve(np.zeros((2, 3)), **frustrated, solver="independent")
    with pytest.raises(UnsupportedProblemError, match="assignments"):
        solve(np.zeros((30, 3)), solver="exhaustive")
    with pytest.raises(UnsupportedProblemError, match="more than 1e\\+300 assignments"):
        solve(np.zeros((3000, 3)), solver="exhaustive")
    with pytest.raises(ProblemError, match="LabelProblem"):
        solver_class("bits", "labels")().solve(np.zeros(3))


def test_a_refusal_names_the_solvers_that_would_do(monkeypatch):
    frustrated = {"pairwise": np.eye(3), "edges": [[0, 1]]}
    for options in ({}, {"k_best": 2}):
        with pytest.raises(
            UnsupportedProblemError, match="Use one of: exhaustive, elimination"
        ) as caught:
            solve(np.zeros((2, 3)), **frustrated, solver="independent", **options)
        assert "expansion_moves" not in caught.value.alternatives  # it proves nothing
    with pytest.raises(UnsupportedProblemError) as caught:
        # of the bits, which others would take
        solve(np.zeros((2, 3)), **frustrated, solver="max_flow")
    assert "bits" not in caught.value.alternatives

    def too_large(self, problem):
        raise ProblemTooLargeError("the bits do not fit")

    monkeypatch.setattr(solver_class("bits", "labels"), "why_not", too_large)
    with pytest.raises(UnsupportedProblemError) as caught:
        solve(np.zeros((2, 3)), **frustrated, solver="independent")
    assert "bits" not in caught.value.alternatives


class Liar(LabelSolver):
    name = "liar"
    capabilities = Capabilities(exact=True)

    def __init__(self, labels, bound=None):
        self.found = Maximiser(np.asarray(labels), bound)

    def _argmax(self, problem, deadline):
        return self.found


@pytest.mark.parametrize(
    "found", [([[0, 3]],), ([[0]],), ([[0.0, 1.0]],), ([[0, 0]], np.array([-1.0]))]
)
def test_impossible_answers_are_the_solvers_fault(found):
    with pytest.raises(SolveFailedError, match="fault"):
        solve(np.zeros((2, 3)), solver=Liar(*found))


def test_an_object_of_a_binary_solver_gets_the_bits():
    found = solve(np.array([[0.0, 1.0, 2.0]]), solver=solver_class("exhaustive")())
    assert found.solver == "exhaustive"
    assert found.labels.tolist() == [2]


def a_forest(random, n, k):
    """Arrays of a random forest: unary, pairwise, edges in any order and direction, sizes."""
    edges = np.array([(random.integers(0, v), v) for v in range(1, n) if random.random() < 0.9])
    edges = random.permutation(n)[random.permutation(edges)]
    sizes = random.integers(1, k + 1, n)
    unary, pairwise = random.normal(size=(3, n, k)), random.normal(size=(3, len(edges), k, k))
    forbidden = random.random(pairwise.shape) < 0.05
    forbidden[..., 0, 0] = False  # what is left in any case
    return unary, np.where(forbidden, -np.inf, pairwise), edges, sizes


@pytest.mark.parametrize("k", [3, 16, 17, 40])
def test_compiled_forests_are_those_of_arrays(k):
    random = np.random.default_rng(k)
    for _ in range(5):
        unary, pairwise, edges, sizes = a_forest(random, 30, k)
        compiled = solve(unary, pairwise, edges=edges, sizes=sizes, solver="elimination")
        arrays = [torch.asarray(part) for part in (unary, pairwise)]
        by_arrays = solve(*arrays, edges=edges, sizes=sizes, solver="elimination")
        np.testing.assert_allclose(compiled.score, by_arrays.score, rtol=1e-12)
        assert compiled.stats["width"] == 1
        weights = random.normal(size=len(edges))
        potts = solve(unary, potts=weights, edges=edges, sizes=sizes, solver="elimination")
        by_arrays = solve(
            arrays[0], potts=torch.asarray(weights), edges=edges, sizes=sizes, solver="elimination"
        )
        np.testing.assert_allclose(potts.score, by_arrays.score, rtol=1e-12)


def test_elimination_of_a_chain_goes_forwards():
    chain = np.stack([np.arange(9), np.arange(1, 10)], axis=1)
    steps = buckets_of(LabelProblem.from_arrays(np.zeros((10, 3)), potts=1.0, edges=chain)).steps
    assert [step.variable for step in steps] == list(range(10))


COUNTS = {"bits": 60, "toulbar2": 10}
"""Batches of slow solvers; the other solvers have 100."""


@pytest.mark.parametrize(
    "name", [info.name for info in available_solvers("labels") if info.origin == "built in"]
)
def test_conformance(name):
    solver = solver_class(name, "labels")()
    if missing := solver.missing_packages():
        pytest.skip(f"needs {missing}")
    check_conformance(solver, count=COUNTS.get(name, 100))


def test_the_kit_names_a_broken_promise():
    with pytest.raises(AssertionError, match=r"^liar, batch 0 of seed 0: "):
        check_conformance(Liar(np.zeros((3, 9), int)), count=5)


def test_an_empty_list_of_pairs_has_none():
    assert LabelProblem.from_arrays([[0.0, 1.0]], [], edges=[]).e == 0


def test_what_is_no_solver_is_unknown():
    with pytest.raises(UnknownSolverError):
        solve([[0.0, 1.0]], solver=np.zeros(1, dtype=[("a", float)])[0])


def test_a_word_is_no_weight():
    with pytest.raises(ProblemError, match="potts"):
        solve(torch.zeros(2, 2), potts="..", edges=[[0, 1]])


def test_constants_are_floats():
    with pytest.raises(ProblemError, match="constant"):
        from_factors([2], [((0,), np.zeros(2))], constant=10**400)


def test_more_dimensions_than_numpy_broadcasts():
    with pytest.raises(ProblemError, match="dimensions"):
        solve(torch.zeros((1,) * 38 + (2, 2)), potts=1.0, edges=[[0, 1]])


def test_a_problem_without_an_allowed_assignment_speaks_of_no_constraints():
    for call in (several.solve, partial(several.solve, k_best=2), several.gibbs):
        with pytest.raises(
            InfeasibleError, match="no assignment is allowed: each one has a score of minus"
        ):
            call(np.zeros((2, 3)), np.full((3, 3), -np.inf), edges=[[0, 1]])
    with pytest.raises(ProblemError, match="all values of variable 0 are forbidden"):
        several.solve([[-np.inf, -np.inf], [0.0, 0.0]])


GRID = [
    *((10 * row + column, 10 * row + column + 1) for row in range(10) for column in range(9)),
    *((10 * row + column, 10 * row + column + 10) for row in range(9) for column in range(10)),
]


@pytest.mark.parametrize("forbidden", ["by sizes", "by scores"])
@pytest.mark.parametrize("filling", [-1e18, 1e18])
def test_what_no_label_takes_does_not_count_in_a_proof(forbidden, filling):
    generator = np.random.default_rng(0)
    unary, table = generator.normal(size=(100, 4)), np.zeros((4, 4))
    table[:3, :3] = generator.normal(size=(3, 3))
    sizes = np.full(100, 3)
    problem = LabelProblem.from_arrays(unary, table, edges=GRID, sizes=sizes)
    table = table.copy()
    table[3, :] = table[:, 3] = filling
    if forbidden == "by scores":
        unary[:, 3], sizes = -np.inf, None
    same = LabelProblem.from_arrays(unary, table, edges=GRID, sizes=sizes)
    assert same.rounding == problem.rounding
    first, second = (solve(each, solver="dual_ascent") for each in (problem, same))
    assert first.optimal
    assert second.optimal
    assert second.score == first.score


def test_what_lies_beyond_sizes_may_be_anything():
    table = np.full((3, 3), np.nan)
    table[:2, :2] = 1.0
    assert solve(np.zeros((2, 3)), table, edges=[(0, 1)], sizes=[2, 2]).score == 1.0


@pytest.mark.parametrize("solver", ["branch_and_bound", "elimination"])
@pytest.mark.parametrize("seed", range(3))
def test_labels_that_bits_found_are_proved_as_labels(solver, seed):
    """An assignment whose scores nearly tie: walls and forbidden pairs are a thousand times as large."""
    n = 6
    scores = 1 + 1e-9 * np.random.default_rng(seed).random((n, n))
    apart = np.diag(np.full(n, -np.inf))
    found = solve(scores, apart, edges=list(itertools.combinations(range(n), 2)), solver=solver)
    best = max(scores[range(n), order].sum() for order in itertools.permutations(range(n)))
    assert best - found.score < 1e-11 or not found.optimal
    assert found.optimal or solver != "elimination"


def test_a_solver_of_labels_refuses_more_variables_than_it_takes():
    class Small(LabelSolver):
        name = "small"
        capabilities = Capabilities(exact=False, max_size=2)

        def _argmax(self, problem, deadline):
            return Maximiser(np.zeros((problem.batch, problem.n), np.int64))

    with pytest.raises(UnsupportedProblemError, match="at most 2 variables"):
        solve(np.zeros((3, 2)), solver=Small())
    assert solve(np.zeros((2, 2)), solver=Small()).labels.tolist() == [0, 0]


def test_tables_that_take_longer_than_a_search_come_second():
    """Tables of up to 2^18 entries, or hardly larger than the scores, run alone."""
    generator = np.random.default_rng(0)

    def chosen(n, k, pairs):
        tables = generator.normal(size=(len(pairs), k, k))
        return select_solver(
            LabelProblem.from_arrays(generator.normal(size=(n, k)), tables, edges=pairs)
        )

    all_pairs = np.stack(np.triu_indices(10, 1), axis=1)
    chain = np.stack([np.arange(299), np.arange(1, 300)], axis=1)
    assert chosen(10, 3, all_pairs).solver.name == "elimination"
    assert chosen(10, 4, all_pairs).reason.startswith("a search first")
    assert chosen(300, 40, chain).solver.name == "elimination"
