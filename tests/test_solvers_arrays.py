"""Arrays of any kind in, the same kind out."""

import itertools
from functools import partial

import array_api_strict
import numpy as np
import pytest
from optional import optional

from solvers import Problem, ProblemError, ProblemTooLargeError, solve, solver_class
from solvers.algorithms.exhaustive.device import device_argmax
from solvers.arrays import as_array, to_numpy
from solvers.testing import enumerate_scores, random_instances

pandas = optional("pandas")
torch = optional("torch")

DEVICE = array_api_strict.Device("device1")


def dense_arrays(seed=0, batch=4, n=6):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((batch, n)), np.triu(
        generator.standard_normal((batch, n, n)), 1
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_torch_in_torch_out(dtype):
    unary, pairwise = (torch.from_numpy(a).to(dtype) for a in dense_arrays())
    solution = solve(unary.requires_grad_(), pairwise)
    for array in (solution.z, solution.score, solution.optimal, solution.bound):
        assert isinstance(array, torch.Tensor)
        assert array.device == unary.device
        assert not array.requires_grad
    z = solution.z.double()
    own = (unary.double() * z).sum(-1) + torch.einsum("bi,bij,bj->b", z, pairwise.double(), z)
    torch.testing.assert_close(solution.score, own.detach())
    assert (solution.z.dtype, solution.score.dtype) == (torch.int8, torch.float64)


@pytest.mark.parametrize("name", ["independent", "exhaustive"])
def test_device_arrays_stay_on_their_device(name):
    unary, pairwise = dense_arrays()
    there = [array_api_strict.asarray(a, device=DEVICE) for a in (unary, pairwise)]
    solution = solve(there[0], there[1] if name == "exhaustive" else None, solver=name)
    reference = solve(unary, pairwise if name == "exhaustive" else None)
    for array in (solution.z, solution.score, solution.optimal, solution.bound):
        assert array.device == DEVICE
    back = np.from_dlpack(solution.score, device="cpu")
    np.testing.assert_allclose(back, reference.score, rtol=1e-13)


@pytest.mark.parametrize("place", [np.asarray, partial(array_api_strict.asarray, device=DEVICE)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [3, 600])  # 179,700 pairs: twice as many are summed block by block
def test_the_magnitude_sums_all_scores_without_their_sign(place, dtype, n):
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    signs = np.where(np.arange(len(pairs)) % 3, -1.0, 1.0)
    unary, pairwise = np.full((2, n), -2.0, dtype), np.stack((signs, 4 * signs)).astype(dtype)
    problem = Problem.from_arrays(place(unary), place(pairwise), edges=pairs)
    found = np.from_dlpack(problem.magnitude, device="cpu")
    assert found.dtype == np.float64
    assert found.tolist() == [2 * n + len(pairs), 2 * n + 4 * len(pairs)]


def test_a_heuristic_on_a_device_bounds_what_it_does_not_know():
    unary, pairwise = dense_arrays()
    there = [array_api_strict.asarray(a, device=DEVICE) for a in (unary, pairwise)]
    solution = solve(*there, solver=solver_class("local_search")(starts=1))
    bound = np.from_dlpack(solution.bound, device="cpu")
    positive = np.maximum(unary, 0).sum(axis=-1) + np.maximum(pairwise, 0).sum(axis=(-2, -1))
    np.testing.assert_allclose(bound, positive, rtol=1e-13)
    assert (bound > solve(unary, pairwise).score).all()


def test_device_arrays_go_by_way_of_the_host_where_they_must():
    unary, pairwise = dense_arrays()
    there = [array_api_strict.asarray(a, device=DEVICE) for a in (unary, np.abs(pairwise))]
    solution = solve(*there, solver="max_flow")
    assert solution.z.device == DEVICE
    back = np.from_dlpack(solution.score, device="cpu")
    np.testing.assert_allclose(back, solve(unary, np.abs(pairwise)).score, rtol=1e-13)


@pytest.mark.parametrize("memory", [1, 2**12, 2**28])
def test_enumeration_on_a_device_equals_the_oracle(memory):
    for instances in random_instances(60, 9, np.random.default_rng(1)):
        problem = instances.problem()
        tensors = [torch.from_numpy(a) for a in (problem.unary, problem.pairwise)]
        on_torch = Problem(*tensors, problem.topology, problem.leading, problem.home)
        z = device_argmax(on_torch, memory).numpy()
        best = enumerate_scores(instances).max(axis=1)
        assert (problem.score_flat(z) >= best - 2 * problem.rounding).all()


def test_lists_and_integers():
    solution = solve([3, -1], [[0, 2], [0, 0]])
    assert isinstance(solution.z, np.ndarray)
    assert float(solution.score) == 4.0


def test_leading_dimensions_broadcast():
    generator = np.random.default_rng(2)
    unary = generator.standard_normal((3, 1, 5))
    pairwise = np.triu(generator.standard_normal((4, 5, 5)), 1)
    solution = solve(unary, pairwise)
    assert solution.z.shape == (3, 4, 5)
    assert solution.score.shape == (3, 4)
    for i, j in np.ndindex(3, 4):
        assert float(solve(unary[i, 0], pairwise[j]).score) == pytest.approx(
            float(solution.score[i, j])
        )


def test_matrix_forms_are_one_problem():
    unary, upper = dense_arrays()
    rows, columns = np.triu_indices(6, 1)
    edges = np.stack([columns, rows], axis=-1)
    scores = [
        solve(unary, upper).score,
        solve(unary, upper + upper.swapaxes(-1, -2)).score,
        solve(unary, upper[:, rows, columns], edges=edges).score,
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_matrix_of_a_sparse_problem_keeps_its_edges():
    pairwise = np.zeros((2, 4, 4))
    pairwise[0, 0, 3] = 1.0
    pairwise[1, 1, 2] = -1.0
    problem = Problem.from_arrays(np.ones((2, 4)), pairwise)
    assert problem.edges.tolist() == [[0, 3], [1, 2]]


def test_libraries_do_not_mix():
    with pytest.raises(ProblemError, match="one library"):
        solve(np.ones(2), torch.zeros(2, 2))


def test_what_stays_on_its_device_has_no_gradient():
    assert not as_array(torch.ones((2, 3), requires_grad=True), "unary").requires_grad


def test_devices_do_not_mix():
    there = array_api_strict.asarray(np.zeros((2, 2)), device=DEVICE)
    with pytest.raises(ProblemError, match="one device"):
        solve(array_api_strict.asarray(np.ones(2)), there)


def test_problem_score_takes_the_callers_shape():
    problem = Problem.from_arrays(torch.ones(2, 3, 4))
    assert problem.score(torch.ones(2, 3, 4)).tolist() == [[4.0] * 3] * 2
    with pytest.raises(ProblemError, match="z must have the shape"):
        problem.score(torch.ones(6, 4))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.bool, torch.uint8])
def test_states_of_any_type_have_a_score(dtype):
    problem = Problem.from_arrays(torch.ones(2, 3))
    assert problem.score(torch.ones(2, 3, dtype=dtype)).tolist() == [3.0, 3.0]


def test_states_of_the_host_for_a_problem_elsewhere():
    problem = Problem.from_arrays(array_api_strict.asarray(np.ones((2, 3)), device=DEVICE))
    score = problem.score(np.ones((2, 3), np.int8))
    assert score.device == DEVICE
    assert np.from_dlpack(score, device="cpu").tolist() == [3.0, 3.0]
    with pytest.raises(ProblemError, match="one library"):
        problem.score(torch.ones(2, 3))


def test_instances_of_a_problem_elsewhere():
    unary = array_api_strict.asarray(np.arange(6.0).reshape(3, 2), device=DEVICE)
    part = Problem.from_arrays(unary).instances(slice(1, 3))
    assert part.leading == (2,)
    assert np.from_dlpack(part.unary, device="cpu").tolist() == [[2.0, 3.0], [4.0, 5.0]]


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["exhaustive", "max_flow"])
def test_cuda_tensors(name):
    unary, pairwise = dense_arrays()
    pairwise = np.abs(pairwise)
    there = [torch.from_numpy(a).cuda() for a in (unary, pairwise)]
    solution = solve(*there, solver=name)
    assert solution.z.device == there[0].device
    np.testing.assert_allclose(solution.score.cpu(), solve(unary, pairwise).score, rtol=1e-13)


def test_a_solver_object_is_taken_as_it_is():
    unary, pairwise = dense_arrays()
    exhaustive = solver_class("exhaustive")
    np.testing.assert_array_equal(
        solve(unary, pairwise, solver=exhaustive()).score, solve(unary, pairwise).score
    )


@pytest.mark.parametrize("asarray", [torch.asarray, array_api_strict.asarray])
def test_states_in_another_order_of_bytes_have_a_score(asarray):
    problem = Problem.from_arrays(asarray(np.ones((2, 3))))
    z = np.ones((2, 3), np.dtype("int32").newbyteorder())
    assert [float(score) for score in problem.score(z)] == [3.0, 3.0]


def test_names_of_pandas_in_different_orders_are_refused():
    unary = pandas.Series([1.0, -5.0], index=["a", "b"])
    couplings = pandas.DataFrame(np.zeros((2, 2)), index=["b", "a"], columns=["b", "a"])
    with pytest.raises(ProblemError, match="unary and pairwise have the same names in different"):
        solve(unary, couplings)
    names = ["a", "b"]
    assert solve(unary, couplings.loc[names, names]).z.tolist() == [1, 0]


@pytest.mark.parametrize("count", [2**64 - 1, 10**400])
def test_more_states_than_memory_holds_are_refused_for_every_array_on_the_host(count):
    for unary in (np.zeros(3), array_api_strict.asarray(np.zeros(3))):
        with pytest.raises(ProblemTooLargeError, match="k_best"):
            solve(unary, k_best=count)


@pytest.mark.parametrize("place", [np.asarray, partial(array_api_strict.asarray, device=DEVICE)])
def test_a_pair_of_one_instance_of_a_batch_counts(place):
    """Pairs whose score is 0 in every instance are left out, and no others."""
    pairwise = np.zeros((2, 3, 3))
    pairwise[0, 0, 1] = pairwise[1, 1, 2] = 5.0
    solution = solve(place(np.full((2, 3), -1.0)), place(pairwise))
    np.testing.assert_array_equal(to_numpy(solution.z), [[1, 1, 0], [0, 1, 1]])
    np.testing.assert_array_equal(to_numpy(solution.score), [3.0, 3.0])


LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second column": lambda scores: np.repeat(scores, 2, axis=1)[:, ::2],
    "one row for all": lambda scores: np.broadcast_to(scores[:1], scores.shape),
}
"""Arrays of the same shape that lie in memory in different ways."""


@pytest.mark.parametrize("solver", ["auto", "elimination", "exhaustive", "max_flow"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_may_lie_in_memory_in_any_way(solver, dtype):
    n = 24
    if solver == "exhaustive":
        n = 8
    rng = np.random.default_rng(0)
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    unary = rng.normal(size=(5, n)).astype(dtype)
    pairwise = np.abs(rng.normal(size=(5, n - 1))).astype(dtype)
    for of_unary, of_pairwise in itertools.product(LAYOUTS.values(), repeat=2):
        laid = of_unary(unary), of_pairwise(pairwise)
        copies = [np.ascontiguousarray(scores) for scores in laid]
        solution = solve(*laid, edges=edges, solver=solver)
        expected = solve(*copies, edges=edges, solver=solver)
        np.testing.assert_array_equal(solution.z, expected.z)


def test_a_sparse_matrix_beside_scores_without_variables_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ProblemError, match=r"unary must be \[\.\.\., n\]"):
        Problem.from_arrays(1.0, sparse.eye(2))


def test_states_of_truth_values_have_scores():
    unary = array_api_strict.asarray([1.0, 2.0], device=DEVICE)
    problem = Problem.from_arrays(unary)
    z = array_api_strict.asarray([True, False], device=DEVICE)
    assert float(problem.score(z)) == 1.0
