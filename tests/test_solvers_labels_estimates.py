"""Bounds on log Z of labels, against enumeration."""

import itertools

import numpy as np
import pytest
import torch
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import InfeasibleError, OptionError
from solvers.compiled._kernels import labels as kernels
from solvers.labels import LabelProblem, gibbs
from solvers.labels.algorithms import sum_bounds
from solvers.labels.algorithms.tree_messages import Tree
from solvers.limits.interrupts import in_threads

some = examples(60)
seeds = st.integers(0, 2**32 - 1)
METHODS = ("trw", "mean_field", "loopy")


def drawn(seed, forest=False):
    """A random problem of two instances: sizes, forbidden values and pairs, tables, or weights of equal values."""
    random = np.random.default_rng(seed)
    n, k = random.integers(1, 7), random.integers(1, 4)
    sizes = random.integers(1, k + 1, n)
    if forest:
        edges = np.array([(random.integers(0, v), v) for v in range(1, n) if random.random() < 0.8])
        edges = random.permutation(n)[edges.reshape(-1, 2).astype(int)]
    else:
        edges = np.stack(np.triu_indices(n, 1), axis=1)
        edges = edges[random.random(len(edges)) < random.random()]
    scale = random.choice([0.01, 1.0, 10.0, 1e4])
    unary = random.normal(size=(2, n, k))
    unary[random.random(unary.shape) < 0.1] = -np.inf
    unary[..., 0] = 0.0
    if seed % 3 == 0:
        weights = scale * (random.random((2, len(edges))) - (0.5 if seed % 2 else 0.0))
        return LabelProblem.from_arrays(unary, potts=weights, edges=edges, sizes=sizes)
    pairwise = scale * random.normal(size=(2, len(edges), k, k))
    pairwise[random.random(pairwise.shape) < random.choice([0.0, 0.2])] = -np.inf
    return LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes)


def enumerated(problem):
    """Log Z `[batch]` and the marginals `[batch, n, k]`, by the definition."""
    assignments = np.array(list(itertools.product(*map(range, problem.sizes))))
    total = problem.unary[:, np.arange(problem.n), assignments].sum(axis=-1)
    for edge, (i, j) in enumerate(problem.edges):
        total = total + problem.pairwise(edge)[:, assignments[:, i], assignments[:, j]]
    log_z = np.logaddexp.reduce(total, axis=1)
    has = assignments[:, :, None] == np.arange(problem.k)
    with np.errstate(invalid="ignore"):
        return log_z, np.einsum("bx,xnk->bnk", np.exp(total - log_z[:, None]), has)


def rounding(problem, log_z):
    """Of sums of float64."""
    return 1e-12 * (np.abs(problem.magnitude) + np.abs(log_z) + problem.n)


@some
@given(seed=seeds)
def test_reweighted_trees_bound_log_z_from_above_and_products_from_below(seed):
    problem = drawn(seed)
    log_z, _ = enumerated(problem)
    if (log_z == -np.inf).any():
        for method in ("exact", "trw", "mean_field", "loopy"):
            with pytest.raises(InfeasibleError):
                gibbs(problem, method=method)
        return
    above, below = (gibbs(problem, method=method) for method in ("trw", "mean_field"))
    assert (above.bound, below.bound) == ("upper", "lower")
    assert (above.log_partition >= log_z - rounding(problem, log_z)).all()
    assert (below.log_partition <= log_z + rounding(problem, log_z)).all()
    assert (below.log_partition > -np.inf).all()


@pytest.mark.parametrize("method", ["exact", "trw", "mean_field", "loopy"])
def test_no_method_has_sums_where_everything_is_forbidden(method):
    """Three neighbours that differ need three values: messages along the circle do not see it."""
    circle, different = [[0, 1], [1, 2], [0, 2]], np.where(np.eye(2) > 0, -np.inf, 0.0)
    with pytest.raises(InfeasibleError):
        gibbs(np.zeros((3, 2)), different, edges=circle, method=method)
    with pytest.raises(InfeasibleError):  # in a batch, too
        gibbs(
            np.zeros((2, 3, 2)),
            [[np.zeros((2, 2))] * 3, [different] * 3],
            edges=circle,
            method=method,
        )
    three = gibbs(
        np.zeros((3, 3)), np.where(np.eye(3) > 0, -np.inf, 0.0), edges=circle, method=method
    )
    assert np.isfinite(three.log_partition)


@some
@given(seed=seeds)
def test_on_forests_messages_are_exact(seed):
    problem = drawn(seed, forest=True)
    log_z, marginals = enumerated(problem)
    if (log_z == -np.inf).any():
        for method in ("trw", "loopy"):
            with pytest.raises(InfeasibleError):
                gibbs(problem, method=method)
        return
    exact = gibbs(problem)
    for method in ("trw", "loopy"):
        found = gibbs(problem, method=method)
        assert (np.abs(found.log_partition - log_z) <= rounding(problem, log_z)).all()
        np.testing.assert_allclose(found.unary_marginals, marginals, atol=1e-9)
        np.testing.assert_allclose(found.pairwise_marginals, exact.pairwise_marginals, atol=1e-9)
        assert found.converged.all()


@some
@given(seed=seeds)
def test_every_pass_bounds_log_z(seed):
    """Also where messages are far from settled: the bound is that of the trees, not of a fixed point."""
    problem = drawn(seed)
    log_z, _ = enumerated(problem)
    passes = sum_bounds.PASSES
    sum_bounds.PASSES = 1
    try:
        found = gibbs(problem, method="trw")
    except InfeasibleError:
        assert (log_z == -np.inf).any()
    else:
        assert (found.log_partition >= log_z - rounding(problem, log_z)).all()
    finally:
        sum_bounds.PASSES = passes


@some
@given(seed=seeds)
def test_weights_are_the_probabilities_of_edges_in_forests(seed):
    """Every variable chooses one of its later neighbours: without circles, and one root a component."""
    problem = drawn(seed).instances(slice(0, 1))
    tree = Tree.of(problem)
    chosen, later = np.zeros(problem.n), np.zeros(problem.n, int)
    for edge, (i, j) in enumerate(problem.edges):
        first = i if tree.place[i] < tree.place[j] else j
        chosen[first] += tree.forest_weights()[edge]
        later[first] += 1
    np.testing.assert_allclose(chosen[later > 0], 1.0)
    joined = np.eye(problem.n)
    joined[tuple(problem.edges.T)] = joined[tuple(problem.edges.T[::-1])] = 1.0
    components = len(np.unique(np.linalg.matrix_power(joined, problem.n) > 0, axis=0))
    assert (later == 0).sum() == components


def test_more_passes_come_nearer():
    random = np.random.default_rng(0)
    pairs = np.stack(np.triu_indices(8, 1), axis=1)
    problem = LabelProblem.from_arrays(
        random.normal(size=(8, 3)), random.normal(size=(len(pairs), 3, 3)), edges=pairs
    )
    exact = gibbs(problem)
    above, below, estimate = (gibbs(problem, method=method) for method in METHODS)
    assert above.log_partition - exact.log_partition < 0.25 * float(problem.magnitude[0])
    assert exact.log_partition - below.log_partition < above.log_partition - exact.log_partition
    assert estimate.bound is None
    assert np.abs(estimate.log_partition - exact.log_partition) < 1.0
    for found in (above, below, estimate):
        np.testing.assert_allclose(found.unary_marginals.sum(axis=-1), 1.0)
        np.testing.assert_allclose(found.pairwise_marginals.sum(axis=(-1, -2)), 1.0)
        np.testing.assert_array_equal(found.edges, problem.edges)


def test_estimates_are_of_the_callers_kind():
    unary = torch.zeros((2, 1, 3, 4), dtype=torch.float32)
    found = gibbs(unary, potts=0.5, edges=[[0, 1], [1, 2], [0, 2]], method="trw")
    assert found.log_partition.shape == found.converged.shape == (2, 1)
    assert found.unary_marginals.shape == (2, 1, 3, 4)
    assert found.pairwise_marginals.shape == (2, 1, 3, 4, 4)
    assert found.log_partition.dtype == torch.float64


def test_large_problems_have_bounds():
    random = np.random.default_rng(0)
    place = np.arange(2500).reshape(50, 50)
    across = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1)
    down = np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1)
    problem = LabelProblem.from_arrays(
        random.normal(size=(2500, 5)), potts=0.5, edges=np.concatenate([across, down])
    )
    above, below, estimate = (
        float(gibbs(problem, method=method).log_partition) for method in METHODS
    )
    assert below < estimate < above < 1.05 * below


@pytest.mark.parametrize("method", ["bethe", None, 3, ["trw"]])
def test_what_is_no_method_is_refused(method):
    with pytest.raises(OptionError, match="method must be"):
        gibbs([[0.0, 1.0]], method=method)


@pytest.mark.parametrize("stopped", [False, True])
def test_kernels_of_passes_that_have_to_end_change_nothing(stopped):
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    random = np.random.default_rng(0)
    problem = LabelProblem.from_arrays(
        random.normal(size=(3, 4)), random.normal(size=(3, 4, 4)), edges=edges
    )
    tree = Tree.of(problem)
    unary = np.array(problem.unary[0])
    weights = tree.forest_weights()
    stop = np.full(1, stopped, np.uint8)
    message = np.zeros((3, 2, 4))
    bound, _ = kernels.pass_on(tree.kernel, unary, weights, message, True, 0.0, stop)
    assert (bound == np.inf) == stopped
    assert (not message.any()) == stopped
    of_variables = np.zeros((3, 4))
    arrays = (unary, weights, message, of_variables, np.zeros((3, 4, 4)))
    kernels.beliefs(tree.kernel, *arrays, stop)
    assert (not of_variables.any()) == stopped
    q = np.full((3, 4), 0.25)
    kernels.raise_bound(tree.kernel, unary, q, stop)
    assert bool((q == 0.25).all()) == stopped


@pytest.mark.parametrize("method", ["trw", "loopy", "mean_field"])
def test_passes_over_many_entries_leave_the_thread_that_hears_signals(method, monkeypatch, limits):
    """The same sums come from a thread, which is told to end where an exception leaves the call."""
    edges = np.stack((np.arange(299), np.arange(1, 300)), axis=1)
    random = np.random.default_rng(0)
    unary = random.normal(size=(300, 8))
    tables = random.normal(size=(299, 8, 8))
    expected = gibbs(unary, tables, edges=edges, method=method).log_partition
    threads = []

    def noted(calls, workers):
        threads.append(workers)
        return in_threads(calls, workers)

    monkeypatch.setattr(sum_bounds, "in_threads", noted)
    limits(short_entries=1 << 30)
    alone = gibbs(unary, tables, edges=edges, method=method).log_partition
    assert not threads
    limits(short_entries=1)
    apart = gibbs(unary, tables, edges=edges, method=method).log_partition
    assert threads
    np.testing.assert_array_equal(expected, alone)
    np.testing.assert_array_equal(alone, apart)
