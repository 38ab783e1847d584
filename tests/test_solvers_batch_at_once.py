"""A batch of small instances in one call of a kernel: the answers of a checked problem."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Problem, ProblemError, prepare, solve, solver_class

EXHAUSTIVE = solver_class("exhaustive")

LONG = 60.0
"""Seconds of a time limit, with which `solve` takes its usual steps."""


def drawn(n, batch, seed, digits=3, share=0.7):
    """Scores of a batch and the pairs of its graph, at least one."""
    draw = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(draw.random((n, n)) < share, 1))
    if not len(edges):
        edges = np.array([[0, 1]])
    unary = draw.normal(size=(batch, n)).round(digits)
    pairwise = draw.normal(size=(batch, len(edges))).round(digits)
    return unary, pairwise, edges


def usual(unary, pairwise, edges, solver="auto"):
    """The answer of the checks of a problem and of a solver."""
    return solve(unary, pairwise, edges=edges, solver=solver, time_limit=LONG)


def assert_same(solution, checked):
    for name in ("z", "score", "bound", "optimal"):
        array = getattr(solution, name)
        expected = getattr(checked, name)
        assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
        assert array.tobytes() == expected.tobytes(), name
        assert array.flags.writeable
    assert (solution.solver, solution.stats) == (checked.solver, checked.stats)
    assert solution.seconds > 0


@given(
    n=st.integers(2, 10),
    batch=st.sampled_from([1, 2, 3, 4, 5, 15, 16, 17, 33, 80]),
    seed=st.integers(0, 2**32 - 1),
    digits=st.integers(0, 6),
    share=st.sampled_from([0.2, 1.0]),
)
@examples(60)
def test_the_answers_are_those_of_a_checked_problem(n, batch, seed, digits, share):
    unary, pairwise, edges = drawn(n, batch, seed, digits, share)
    checked = usual(unary, pairwise, edges)
    prepared = prepare(edges, n)
    assert_same(prepared(unary, pairwise), checked)
    assert_same(solve(unary, pairwise, edges=edges), checked)
    assert_same(solve(Problem.from_arrays(unary, pairwise, edges=edges)), checked)
    if n > 6:
        return
    states = np.arange(2**n)[:, None] >> np.arange(n) & 1
    both = states[:, edges[:, 0]] & states[:, edges[:, 1]]
    best = (unary @ states.T + pairwise @ both.T).max(axis=1)
    np.testing.assert_allclose(checked.score, best, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n", "batch"), [(2, 1), (5, 3), (5, 1000), (8, 17), (9, 20), (16, 2)])
def test_small_batches_take_one_call(n, batch, monkeypatch):
    def no_search(*_):
        pytest.fail("the usual steps ran")

    unary, pairwise, edges = drawn(n, batch, 0)
    checked = usual(unary, pairwise, edges)
    monkeypatch.setattr(EXHAUSTIVE, "_argmax", no_search)
    for solver in ("auto", "exhaustive", EXHAUSTIVE(threads=1)):
        assert_same(prepare(edges, n, solver=solver)(unary, pairwise), checked)
        assert_same(solve(unary, pairwise, edges=edges, solver=solver), checked)
    unary.flags.writeable = False
    pairwise.flags.writeable = False
    assert_same(prepare(edges, n)(unary, pairwise), checked)


def test_batches_that_are_worth_several_threads_take_the_usual_steps(monkeypatch):
    calls = []
    search = EXHAUSTIVE._argmax

    def recorded(self, problem, deadline):
        calls.append(problem.batch)
        return search(self, problem, deadline)

    monkeypatch.setattr(EXHAUSTIVE, "_argmax", recorded)
    unary, pairwise, edges = drawn(12, 3000, 1)
    prepared = prepare(edges, 12)
    assert prepared(unary, pairwise).optimal.all()
    assert calls == [3000]
    assert prepared(unary[:500], pairwise[:500]).optimal.all()
    assert calls == [3000]


@pytest.mark.parametrize("solver", ["elimination", "max_flow", "branch_and_bound"])
def test_solvers_of_one_instance_take_a_batch_as_ever(solver):
    unary, pairwise, edges = drawn(6, 20, 2)
    if solver == "max_flow":
        pairwise = abs(pairwise)
    checked = usual(unary, pairwise, edges, solver)
    assert_same(prepare(edges, 6, solver=solver)(unary, pairwise), checked)
    assert_same(solve(unary, pairwise, edges=edges, solver=solver), checked)


@dataclass(frozen=True)
class Ones(EXHAUSTIVE):
    """Returns ones, and no bound that proves them."""

    name = "ones"

    def _argmax(self, problem, deadline):
        found = super()._argmax(problem, deadline)
        return type(found)(np.ones_like(found.z), np.full(problem.batch, 1e3))


def test_a_subclass_with_another_search_is_asked_itself():
    unary, pairwise, edges = drawn(5, 20, 3)
    solution = prepare(edges, 5, solver=Ones())(unary, pairwise)
    assert solution.z.all()
    assert not solution.optimal.any()


def unaligned(array):
    """A copy whose first element lies at an odd address."""
    memory = np.empty(array.nbytes + 1, np.uint8)[1:]
    copy = memory.view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


LAYOUTS = {
    "float32": lambda array: array.astype(np.float32),
    "columns first": np.asfortranarray,
    "every second row": lambda array: np.repeat(array, 2, axis=0)[::2],
    "unaligned": unaligned,
    "other byte order": lambda array: array.astype(array.dtype.newbyteorder()),
    "two leading dimensions": lambda array: array.reshape(4, 5, -1),
    "lists": lambda array: array.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [5, 9])
def test_other_arrays_are_left_to_the_checks_of_a_problem(layout, n):
    unary, pairwise, edges = drawn(n, 20, 4)
    # eighths are the same in single precision
    unary, pairwise = (np.round(array * 8) / 8 for array in (unary, pairwise))
    checked = usual(unary, pairwise, edges)
    prepared = prepare(edges, n)
    change = LAYOUTS[layout]
    for first, second in ((unary, change(pairwise)), (change(unary), change(pairwise))):
        if layout == "two leading dimensions" and first is unary:
            continue
        solution = prepared(first, second)
        assert solution.z.reshape(20, n).tobytes() == checked.z.tobytes()
        assert solution.score.reshape(20).tobytes() == checked.score.tobytes()
        assert solution.optimal.all()
        assert solution.stats == checked.stats


def test_a_problem_keeps_two_leading_dimensions():
    unary, pairwise, edges = drawn(5, 20, 10)
    checked = usual(unary, pairwise, edges)
    arrays = unary.reshape(4, 5, 5), pairwise.reshape(4, 5, -1)
    solution = solve(Problem.from_arrays(*arrays, edges=edges))
    assert solution.z.shape == (4, 5, 5)
    assert solution.score.shape == (4, 5)
    assert solution.score.tobytes() == checked.score.tobytes()


def test_leading_dimensions_broadcast():
    unary, pairwise, edges = drawn(5, 20, 5)
    prepared = prepare(edges, 5)
    for first, second in (
        (unary[:1], pairwise),
        (unary, pairwise[:1]),
        (unary[0], pairwise),
        (unary, pairwise[0]),
    ):
        assert_same(prepared(first, second), usual(first, second, edges))
    assert prepared(unary[:0], pairwise[:0]).z.shape == (0, 5)


def test_matrices_of_a_batch_are_read_as_ever():
    unary, pairwise, edges = drawn(5, 5, 6, share=1.0)
    matrices = np.zeros((5, 5, 5))
    matrices[:, edges[:, 0], edges[:, 1]] = pairwise
    assert_same(solve(unary, matrices), usual(unary, pairwise, edges))
    one_for_all = solve(unary, matrices[0])
    assert_same(one_for_all, usual(unary, np.repeat(pairwise[:1], 5, axis=0), edges))


@pytest.mark.parametrize("n", [5, 9])
@pytest.mark.parametrize("place", [0, 7, 19])
def test_one_instance_whose_units_rounding_hides_takes_the_usual_steps(n, place):
    unary, pairwise, edges = drawn(n, 20, 7, digits=0, share=1.0)
    unary[place, :3] = [2.0**60, 1.0, -(2.0**60)]
    checked = usual(unary, pairwise, edges)
    assert checked.optimal.sum() == 19
    assert_same(prepare(edges, n)(unary, pairwise), checked)


FAULTS = {"not a number": np.nan, "infinite": -np.inf, "too large": 1e308}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("place", [0, 7, 19])
@pytest.mark.parametrize("n", [5, 9])
def test_faults_have_the_messages_of_a_problem(fault, place, n):
    unary, pairwise, edges = drawn(n, 20, 8, share=1.0)
    prepared = prepare(edges, n)
    for array in (unary, pairwise):
        kept = array[place].copy()
        array[place, -2:] = FAULTS[fault]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ProblemError) as expected:
                Problem.from_arrays(unary, pairwise, edges=edges)
            for call in (prepared, lambda *arrays: solve(*arrays, edges=edges)):
                with pytest.raises(ProblemError) as error:
                    call(unary, pairwise)
                assert str(error.value) == str(expected.value)
        array[place] = kept


def test_scores_of_other_shapes_are_refused():
    unary, pairwise, edges = drawn(5, 20, 9)
    prepared = prepare(edges, 5)
    for first, second in (
        (unary[:, :4], pairwise),
        (unary, pairwise[:, :-1]),
        (unary[:19], pairwise),
        (unary, pairwise[..., None]),
    ):
        for arrays in ((first, second), map(np.ascontiguousarray, (first, second))):
            with pytest.raises(ProblemError):
                prepared(*arrays)
