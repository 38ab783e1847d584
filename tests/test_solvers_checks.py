"""Checks, scores and certificates of problems by compiled kernels: the same for every form that arrays come in."""

import numpy as np
import pytest

from solvers import Problem, ProblemError, SolveFailedError, solve, solve_labels, solver_class
from solvers.compiled.problem_checks import proof_of, survey_of, triangle_of
from solvers.solution import Maximiser

LARGEST = float(np.finfo(np.float64).max)


def drawn(batch, n, edges, dtype=np.float64):
    generator = np.random.default_rng(batch + n + edges)
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    chosen = pairs[np.sort(generator.permutation(len(pairs))[:edges])]
    unary, pairwise = generator.normal(size=(batch, n)), generator.normal(size=(batch, edges))
    return unary.astype(dtype), pairwise.astype(dtype), chosen


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("batch", "n", "edges"), [(1, 5, 10), (16, 4, 0), (37, 5, 7), (3, 40, 300), (20, 1, 0)]
)
def test_a_survey_has_sums_the_lowest_pair_and_the_largest_sum(batch, n, edges, dtype):
    unary, pairwise, _ = drawn(batch, n, edges, dtype)
    sums, largest, lowest, suspicious = survey_of(unary, pairwise, 0.5)
    expected = np.abs(unary.astype(np.float64)).sum(axis=1) + np.abs(
        pairwise.astype(np.float64)
    ).sum(axis=1)
    np.testing.assert_allclose(sums, [expected, expected / 2], rtol=1e-14)
    assert largest == sums[0].max()
    assert lowest == pairwise.min(initial=0.0)
    assert suspicious  # rounding of half of all scores confuses all


@pytest.mark.parametrize("batch", [1, 40])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, LARGEST])
@pytest.mark.parametrize("where", ["unary", "pairwise"])
def test_one_score_among_many_that_is_not_finite_or_too_large_is_refused(batch, value, where):
    unary, pairwise, edges = drawn(batch, 6, 9)
    {"unary": unary, "pairwise": pairwise}[where][batch - 1, 3] = value
    message = "add up to" if value == LARGEST else rf"{where}\[{batch - 1}, 3\] is {value}"
    with pytest.raises(ProblemError, match=message):
        Problem.from_arrays(unary, pairwise, edges=edges)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 15, 33, 70])
def test_matrices_are_read_row_by_row(n, dtype):
    generator = np.random.default_rng(n)
    upper = np.triu(generator.normal(size=(2, n, n)), 1).astype(dtype)
    upper[:, 0, 1:2] = 0
    rows, columns = np.triu_indices(n, 1)
    for matrices in (upper, upper + upper.swapaxes(1, 2)):
        found = triangle_of(matrices)
        assert np.array_equal(found.upper, upper[:, rows, columns])
        assert np.array_equal(found.used, upper[:, rows, columns].any(axis=0))
        assert (found.fault, found.pairs) == (0, found.used.sum())


@pytest.mark.parametrize("n", [3, 40])
def test_pairs_of_any_instance_are_kept(n):
    matrices = np.zeros((2, n, n))
    matrices[0, 0, 1], matrices[1, 1, n - 1] = 2.0, -3.0
    problem = Problem.from_arrays(np.ones((2, n)), matrices)
    assert problem.edges.tolist() == [[0, 1], [1, n - 1]]
    assert problem.pairwise.tolist() == [[2.0, 0.0], [0.0, -3.0]]


@pytest.mark.parametrize("n", [3, 40])
def test_matrices_of_another_form_are_refused_by_the_first_entry(n):
    with_diagonal, neither = np.zeros((2, n, n)), np.zeros((2, n, n))
    with_diagonal[1, n - 1, n - 1] = 1.0
    neither[0, 0, 1], neither[1, n - 1, 1] = 1.0, 2.0
    with pytest.raises(ProblemError, match=rf"non-zero diagonal, at \({n - 1}, {n - 1}\)"):
        Problem.from_arrays(np.ones(n), with_diagonal)
    with pytest.raises(ProblemError, match=r"entry \(0, 1\) is 1.0 and \(1, 0\) is 0.0"):
        Problem.from_arrays(np.ones(n), neither)


def test_one_batch_is_all_upper_triangular_or_all_symmetric():
    upper = np.triu(np.ones((3, 3)), 1)
    with pytest.raises(ProblemError, match="neither upper triangular nor symmetric"):
        Problem.from_arrays(np.ones(3), np.stack([upper, upper + upper.T]))


def _unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)
    copy = raw[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _read_only(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


FORMS = {
    "columns first": np.asfortranarray,
    "every second": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "backwards": lambda array: array[..., ::-1].copy()[..., ::-1],
    "not aligned": _unaligned,
    "read only": _read_only,
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["exhaustive", "max_flow", "independent"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_any_form_have_the_same_answer(form, solver, dtype):
    unary, pairwise, edges = drawn(5, 7, 0 if solver == "independent" else 12, dtype)
    pairwise = np.abs(pairwise)
    change = FORMS[form]
    expected = solve(unary, pairwise, edges=edges, solver=solver)
    found = solve(change(unary), change(pairwise), edges=change(edges), solver=solver)
    for name in ("z", "score", "bound", "optimal"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.optimal.all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_that_are_not_aligned_need_no_pairs(dtype):
    unary = _unaligned(np.array([1.0, -2.0, 3.0], dtype))
    assert solve(unary).score == 4.0
    assert solve(unary[None], np.zeros((3, 3), dtype)).score.tolist() == [4.0]
    assert solve_labels(_unaligned(np.array([[1.0, 0.0]], dtype))).score == 1.0


def test_a_proof_says_what_states_and_bounds_are_worth():
    unary, pairwise, edges = np.array([[1.0, 2.0]] * 3), np.array([[4.0]] * 3), np.array([[0, 1]])
    z = np.array([[1, 1], [0, 1], [1, 0]], np.int8)
    arrays = unary, pairwise, edges, z
    rounding = np.full(3, 0.25)
    scores, proved = proof_of(*arrays, np.array([6.9, 2.0, 1.25]), rounding, rounding)
    assert scores.tolist() == [[7.0, 2.0, 1.0], [7.0, 2.0, 1.25]]
    assert proved.tolist() == [True, True, True]
    scores, proved = proof_of(
        *arrays, np.array([7.0, 2.5, 1.0]), rounding, np.array([0.25, 0.25, -np.inf])
    )
    assert scores[1].tolist() == [7.0, 2.5, 1.25]
    assert proved.tolist() == [True, False, False]
    for bound in ([7.0, 2.0, 0.7], [np.nan, 2.0, 1.0]):
        assert proof_of(*arrays, np.array(bound), rounding, rounding) is None
    for value in (-1, 2, 3):
        assert (
            proof_of(
                unary, pairwise, edges, np.full((3, 2), value, np.int8), None, rounding, rounding
            )
            is None
        )


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.bool_])
@pytest.mark.parametrize("bound", [None, 7, 6.9999, "of float32"])
def test_answers_of_backends_of_any_kind_are_certified(monkeypatch, kind, bound):
    exhaustive = solver_class("exhaustive")
    bounds = np.array([7.0], np.float32) if bound == "of float32" else bound and np.array([bound])
    found = Maximiser(np.ones((1, 2), kind), bounds)
    monkeypatch.setattr(exhaustive, "_argmax", lambda *_: found)
    problem = Problem.from_arrays([1.0, 2.0], [4.0], edges=[[0, 1]])
    if bound == 6.9999:
        with pytest.raises(SolveFailedError, match=r"returned the bound 6\.9999"):
            exhaustive().solve(problem)
    else:
        solution = exhaustive().solve(problem)
        assert (solution.z.dtype, solution.score, solution.bound, solution.optimal) == (
            np.int8,
            7.0,
            7.0,
            True,
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 3, 5, 8, 10])
def test_instances_in_lanes_have_the_answers_that_each_has_alone(n, dtype):
    generator = np.random.default_rng(n)
    pairs = np.stack(np.triu_indices(n, 1), axis=1)[::-1]
    for batch, draw in ((4, generator.normal), (37, lambda size: generator.integers(-1, 2, size))):
        unary = np.asarray(draw(size=(batch, n)), dtype)
        pairwise = np.asarray(draw(size=(batch, len(pairs))), dtype)
        together = solve(unary, pairwise, edges=pairs, solver="exhaustive")
        alone = [
            solve(unary[b], pairwise[b], edges=pairs, solver="exhaustive") for b in range(batch)
        ]
        for name in ("z", "score", "bound", "optimal"):
            each = [getattr(solution, name) for solution in alone]
            assert np.array_equal(getattr(together, name), each), name


@pytest.mark.parametrize("batch", [1, 20])
def test_scores_keep_what_large_scores_of_opposite_signs_hide(batch):
    unary, pairwise = np.zeros((batch, 10)), np.zeros((batch, 45))
    unary[:, 0], pairwise[:, 0], pairwise[:, 20] = 1e16, 1.0, -1e16
    edges = np.stack(np.triu_indices(10, 1), axis=1)
    z, rounding = np.ones((batch, 10), np.int8), np.full(batch, 4.0)
    (scores, _), _ = proof_of(unary, pairwise, edges, z, None, rounding, rounding)
    assert (scores == 1.0).all()
