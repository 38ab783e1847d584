"""Exact sums with little memory: recomputed tables and split sums agree with enumeration."""

import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import OptionError, UnsupportedProblemError, gibbs
from solvers.labels import LabelProblem

LITTLE = (600, 1200, 2500, 5000, 20000)
"""Bytes: from sums that several variables split, over recomputed tables, to kept tables."""


def label_problem(seed, forbidden=False):
    """Random instances over 5 variables of up to 3 values, two in a batch."""
    random = np.random.default_rng(seed)
    n, k = 5, 3
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < 0.7]
    unary = random.normal(size=(2, n, k))
    pairwise = 2 * random.normal(size=(2, len(edges), k, k))
    if forbidden:
        unary[0, random.integers(n), random.integers(k)] = -np.inf
        pairwise[random.random(pairwise.shape) < 0.1] = -np.inf
        pairwise[..., 0, 0] = 0.0
        unary[..., 0] = 0.0
    sizes = random.integers(2, k + 1, n)
    return LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes)


def features_of(problem):
    """All assignments `[states, n]`, features `[states, n k + e k k]`, scores `[states, batch]`."""
    states = np.array(list(itertools.product(*map(range, problem.sizes))))
    hot = np.eye(problem.k)[states]
    first, second = problem.edges.T
    pairs = np.einsum("sea,seb->seab", hot[:, first], hot[:, second])
    features = np.concatenate(
        [hot.reshape(len(states), -1), pairs.reshape(len(states), -1)], axis=1
    )
    shape = (*problem.leading, problem.n)
    scores = [problem.score(np.broadcast_to(z, shape)).reshape(problem.batch) for z in states]
    return states, features, np.stack(scores)


def flat(ones, pairs):
    """`[batch, features]` of what belongs to variables and to pairs."""
    return np.concatenate([ones.reshape(len(ones), -1), pairs.reshape(len(pairs), -1)], axis=1)


@examples(10)
@given(
    seed=st.integers(0, 2**32 - 1),
    memory=st.sampled_from(LITTLE),
    forbidden=st.booleans(),
)
def test_sums_over_labels_with_little_memory_are_those_of_enumeration(seed, memory, forbidden):
    problem = label_problem(seed, forbidden)
    _, features, scores = features_of(problem)
    random = np.random.default_rng(seed)
    found = gibbs(problem, memory=memory)
    log_z = np.logaddexp.reduce(scores)
    np.testing.assert_allclose(found.log_partition, log_z, rtol=1e-11)
    p = np.exp(scores - log_z)
    means = p.T @ features
    of_found = flat(found.unary_marginals, found.pairwise_marginals)
    np.testing.assert_allclose(of_found, means, atol=1e-11)
    direction = random.normal(size=means.shape)
    unary = direction[:, : problem.n * problem.k].reshape(2, problem.n, problem.k)
    pairwise = direction[:, problem.n * problem.k :].reshape(found.pairwise_marginals.shape)
    rates = direction @ features.T - (direction * means).sum(axis=1, keepdims=True)
    covariance = (p.T * rates) @ features
    np.testing.assert_allclose(
        flat(*found.covariance_product(unary, pairwise)), covariance, atol=1e-10
    )


@examples(10)
@given(seed=st.integers(0, 2**32 - 1), memory=st.sampled_from(LITTLE))
def test_samples_with_little_memory_follow_the_chain_rule(seed, memory):
    """The conditionals of a sample multiply to its probability, and so do their gradients."""
    problem = label_problem(seed)
    problem = LabelProblem.from_arrays(
        problem.unary[..., :2], problem.tables[..., :2, :2], edges=problem.edges
    )
    found = gibbs(problem, memory=memory)
    uniforms = np.random.default_rng(seed).random((4, 2, problem.n))
    completions = found.completions(uniforms)
    z = completions.samples
    np.testing.assert_array_equal(found.sample(uniforms), z)
    chosen = np.take_along_axis(completions.conditionals, z[..., None], axis=-1)[..., 0]
    scores = np.stack([problem.score(sample) for sample in z])
    np.testing.assert_allclose(np.log(chosen).sum(axis=-1), scores - found.log_partition, atol=1e-9)
    costs = np.zeros_like(completions.conditionals)
    np.put_along_axis(costs, z[..., None], 1 / chosen[..., None], axis=-1)
    gradient = completions.derivative(costs)[0]
    wanted = (np.eye(2)[z] - found.unary_marginals).sum(axis=0)
    np.testing.assert_allclose(gradient, wanted, atol=1e-9)
    # The other value of the variable that is drawn last leaves all others as they are.
    differ = (completions.completed[:, :, 0] != z[:, None]).sum(axis=-1)
    assert (differ >= 1).all()
    assert (differ.min(axis=1) == 1).all()


@pytest.mark.parametrize("memory", [200, 400, 10000])
def test_uniforms_on_a_grid_draw_each_assignment_in_proportion(memory):
    random = np.random.default_rng(7)
    edges = [[0, 1], [1, 2], [0, 2]]
    problem = LabelProblem.from_arrays(
        random.normal(size=(3, 2)), random.normal(size=(3, 2, 2)), edges=edges
    )
    ticks = (np.arange(20) + 0.5) / 20
    uniforms = np.stack(np.meshgrid(ticks, ticks, ticks), axis=-1).reshape(-1, 3)
    z = gibbs(problem, uniforms=uniforms, memory=memory).samples
    states, _, scores = features_of(problem)
    wanted = np.exp(scores[:, 0] - np.logaddexp.reduce(scores[:, 0]))
    share = (z[:, None] == states).all(axis=-1).mean(axis=0)
    np.testing.assert_allclose(share, wanted, atol=0.08)


@examples(10)
@given(seed=st.integers(0, 2**32 - 1), memory=st.sampled_from((300, 700, 1500, 3000, 50000)))
def test_sums_over_bits_with_little_memory_are_those_of_enumeration(seed, memory):
    random = np.random.default_rng(seed)
    n = 8
    pairwise = np.triu(random.normal(size=(2, n, n)) * (random.random((n, n)) < 0.6), 1)
    unary = random.normal(size=(2, n))
    right = gibbs(unary, pairwise, method="enumeration")
    found = gibbs(unary, pairwise, method="elimination", memory=memory)
    np.testing.assert_allclose(found.log_partition, right.log_partition, rtol=1e-11)
    np.testing.assert_allclose(found.unary_marginals, right.unary_marginals, atol=1e-11)
    np.testing.assert_allclose(found.pairwise_marginals, right.pairwise_marginals, atol=1e-11)
    np.testing.assert_allclose(found.entropy, right.entropy, atol=1e-9)
    direction = random.normal(size=(2, n)), random.normal(size=right.pairwise_marginals.shape)
    for product, wanted in zip(
        found.covariance_product(*direction), right.covariance_product(*direction), strict=True
    ):
        np.testing.assert_allclose(product, wanted, atol=1e-10)
    completions = found.completions(random.random((3, 2, n)))
    z = completions.samples
    chosen = np.where(z == 1, completions.conditionals, 1 - completions.conditionals)
    scores = np.stack([found.problem.score(sample) for sample in z])
    np.testing.assert_allclose(np.log(chosen).sum(axis=-1), scores - found.log_partition, atol=1e-9)
    gradient = completions.derivative((2 * z - 1) / chosen)[0]
    np.testing.assert_allclose(gradient, (z - found.unary_marginals).sum(axis=0), atol=1e-9)


def test_recomputed_tables_draw_the_same_bits_as_kept_ones():
    random = np.random.default_rng(3)
    pairwise = np.triu(random.normal(size=(8, 8)), 1)
    uniforms = random.random((50, 8))
    draws = [
        gibbs(np.zeros(8), pairwise, method="elimination", uniforms=uniforms, memory=memory).samples
        for memory in (10**6, 6000)
    ]
    np.testing.assert_array_equal(*draws)


def test_sums_take_less_than_twice_the_largest_table():
    random = np.random.default_rng(4)
    n, k, width = 9, 8, 4
    edges = [(i, j) for i in range(n) for j in range(i + 1, min(n, i + width + 1))]
    problem = LabelProblem.from_arrays(
        random.normal(size=(n, k)), random.normal(size=(len(edges), k, k)), edges=edges
    )
    largest = 8 * k ** (width + 1)
    wanted = gibbs(problem)
    tracemalloc.start()
    found = gibbs(problem, memory=2 * largest)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * largest
    np.testing.assert_allclose(found.log_partition, wanted.log_partition, rtol=1e-12)
    np.testing.assert_allclose(found.pairwise_marginals, wanted.pairwise_marginals, atol=1e-12)


def test_scores_that_change_after_the_sums_do_not_change_later_samples():
    random = np.random.default_rng(5)
    unary = random.normal(size=(5, 3))
    pairwise = random.normal(size=(10, 3, 3))
    edges = np.stack(np.triu_indices(5, 1), axis=1)
    problem = LabelProblem.from_arrays(unary, pairwise, edges=edges)
    uniforms = random.random((9, 5))
    for memory in (500, 4000):
        found = gibbs(problem, memory=memory)
        drawn = found.sample(uniforms)
        kept = pairwise.copy()
        pairwise[:] = 100.0 * random.normal(size=pairwise.shape)
        np.testing.assert_array_equal(found.sample(uniforms), drawn)
        pairwise[:] = kept


@pytest.mark.parametrize("memory", [600, 3000, None])
def test_sums_over_labels_are_pickled(memory):
    sums = gibbs(label_problem(3), memory=memory)
    copy = pickle.loads(pickle.dumps(sums))  # noqa: S301  # our own
    uniforms = np.random.default_rng(0).random((4, 2, 5))
    assert (copy.sample(uniforms) == sums.sample(uniforms)).all()
    assert (copy.entropy == sums.entropy).all()


@pytest.mark.parametrize("memory", [0, -5, 1.5, "all"])
def test_memory_must_be_a_whole_number_of_bytes(memory):
    for problem in ({"unary": [0.0, 1.0]}, {"unary": LabelProblem.from_arrays([[0.0, 1.0]])}):
        with pytest.raises(OptionError, match="memory must be a whole number"):
            gibbs(**problem, memory=memory)


def test_sums_that_would_take_too_long_are_refused():
    edges = np.stack(np.triu_indices(20, 1), axis=1)
    with pytest.raises(UnsupportedProblemError, match="split by values"):
        gibbs(LabelProblem.from_arrays(np.zeros((20, 16)), potts=1.0, edges=edges))
