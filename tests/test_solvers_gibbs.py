"""The Gibbs distribution: sums, samples and covariances against brute force."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import (
    OptionError,
    Problem,
    ProblemError,
    UnsupportedProblemError,
    gibbs,
    labels,
    uniforms_shape,
)
from solvers.compiled._kernels.gibbs_distribution import exponentiate, sum_exponentials
from solvers.gibbs_distribution.sum_product import CACHE, lanes_of
from solvers.instances import spin_glass, tree

METHODS = ["enumeration", "elimination"]
SEEDS = st.integers(0, 2**32 - 1)
MAGNITUDES = st.sampled_from([0.0, 1e-12, 0.1, 1.0, 10.0, 100.0, 700.0])


def features(n, edges):
    """z_i and z_i z_j of all states `[2^n, n + e]`, in the order of sum z_i 2^i."""
    states = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return np.concatenate((states, states[:, edges[:, 0]] * states[:, edges[:, 1]]), axis=1).astype(
        float
    )


def brute_force(unary, pairwise, edges):
    """Log Z `[batch]` and the probabilities `[batch, 2^n]`."""
    score = np.concatenate((unary, pairwise), axis=1) @ features(unary.shape[1], edges).T
    peak = score.max(axis=1, keepdims=True)
    weight = np.exp(score - peak)
    total = weight.sum(axis=1, keepdims=True)
    return (peak + np.log(total))[:, 0], weight / total


def covariance_times(probability, phi, direction):
    statistic = direction @ phi.T
    return (probability * (statistic - (probability * statistic).sum(axis=1, keepdims=True))) @ phi


def drawn(n, seed, magnitude, batch=2):
    """Scores with ties, signs and zeros, over some of the pairs."""
    generator = np.random.default_rng(seed)
    pairs = np.array(np.triu_indices(n, 1)).T
    edges = pairs[generator.random(len(pairs)) < generator.choice([0.0, 0.4, 1.0])]
    shape = (batch, n + len(edges))
    scores = magnitude * np.where(
        generator.random(shape) < 0.3,
        generator.integers(-2, 3, shape),
        generator.standard_normal(shape),
    )
    return scores[:, :n], scores[:, n:], edges


def marginals_of(result):
    return np.concatenate((result.unary_marginals, result.pairwise_marginals), axis=1)


@pytest.mark.parametrize("method", METHODS)
@examples(60)
@given(n=st.integers(1, 10), seed=SEEDS, magnitude=MAGNITUDES)
def test_equals_brute_force(method, n, seed, magnitude):
    unary, pairwise, edges = drawn(n, seed, magnitude)
    log_z, probability = brute_force(unary, pairwise, edges)
    found = gibbs(unary, pairwise, edges=edges, method=method)
    phi = features(n, edges)
    np.testing.assert_allclose(found.log_partition, log_z, rtol=1e-10, atol=1e-13)
    # Elimination adds up complements: small probabilities are right to an absolute 1e-13.
    np.testing.assert_allclose(marginals_of(found), probability @ phi, rtol=1e-10, atol=1e-13)
    direction = np.random.default_rng(seed).standard_normal(unary.shape[:1] + phi.shape[1:])
    product = np.concatenate(found.covariance_product(direction[:, :n], direction[:, n:]), axis=1)
    expected = covariance_times(probability, phi, direction)
    np.testing.assert_allclose(product, expected, rtol=1e-10, atol=1e-12)


@examples(30)
@given(n=st.integers(1, 10), seed=SEEDS, magnitude=MAGNITUDES)
def test_enumeration_keeps_the_relative_accuracy_of_small_probabilities(n, seed, magnitude):
    unary, pairwise, edges = drawn(n, seed, magnitude)
    _, probability = brute_force(unary, pairwise, edges)
    expected = probability @ features(n, edges)
    np.testing.assert_allclose(
        marginals_of(gibbs(unary, pairwise, edges=edges)), expected, rtol=1e-10, atol=1e-300
    )


@pytest.mark.parametrize("scale", [590.0, 601.0, 750.0, 5000.0, 1e20, 1e300])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n", [6, 12])
def test_no_magnitude_overflows(n, sign, scale):
    generator = np.random.default_rng(0)
    unary, pairwise = generator.random((1, n)), generator.random((1, n * (n - 1) // 2))
    factor = sign * scale / (unary.sum() + pairwise.sum())
    edges = np.array(np.triu_indices(n, 1)).T
    found = gibbs(factor * unary, factor * pairwise, edges=edges)
    log_z, probability = brute_force(factor * unary, factor * pairwise, edges)
    phi = features(n, edges)
    np.testing.assert_allclose(found.log_partition, log_z, rtol=1e-10)
    np.testing.assert_allclose(marginals_of(found), probability @ phi, rtol=1e-10, atol=1e-300)
    product = np.concatenate(found.covariance_product(unary, pairwise), axis=1)
    expected = covariance_times(probability, phi, np.concatenate((unary, pairwise), axis=1))
    np.testing.assert_allclose(product, expected, rtol=1e-10, atol=1e-13)


def test_directions_of_any_magnitude():
    unary, pairwise, edges = drawn(9, 3, 1.0)
    found = gibbs(unary, pairwise, edges=edges)
    small, large = (found.covariance_product(factor * unary)[0] / factor for factor in (1.0, 1e290))
    np.testing.assert_allclose(large, small, rtol=1e-12)
    assert (found.covariance_product(0.0)[0] == 0).all()


@examples(30)
@given(n=st.integers(1, 10), seed=SEEDS, magnitude=MAGNITUDES)
def test_enumeration_inverts_the_cumulative_distribution(n, seed, magnitude):
    unary, pairwise, edges = drawn(n, seed, magnitude)
    cumulative = np.cumsum(brute_force(unary, pairwise, edges)[1], axis=1)
    uniforms = np.random.default_rng(seed).random((20, len(unary)))
    uniforms[0] = 0.0
    samples = gibbs(unary, pairwise, edges=edges, uniforms=uniforms).samples
    assert samples.dtype == np.int8
    assert samples.shape == (20, len(unary), n)
    found = samples @ (1 << np.arange(n))
    for k, b in np.ndindex(uniforms.shape):
        state, u = found[k, b], uniforms[k, b]
        assert u <= cumulative[b, state] + 1e-12
        assert u >= (cumulative[b, state - 1] if state else 0.0) - 1e-12


@pytest.mark.parametrize("method", METHODS)
@examples(20)
@given(n=st.integers(1, 11), seed=SEEDS, magnitude=MAGNITUDES)
def test_samples_drawn_later_are_the_same(method, n, seed, magnitude):
    unary, pairwise, edges = drawn(n, seed, magnitude)
    shape = uniforms_shape(Problem.from_arrays(unary, pairwise, edges=edges), 7, method)
    uniforms = np.random.default_rng(seed).random(shape)
    found = gibbs(unary, pairwise, edges=edges, method=method)
    samples = gibbs(unary, pairwise, edges=edges, uniforms=uniforms, method=method).samples
    assert found.samples is None
    assert (found.sample(uniforms) == samples).all()
    for k in range(7):
        assert (found.sample(uniforms[k : k + 1], threads=1)[0] == samples[k]).all()
    assert len(found.sample(uniforms[:0])) == 0


@pytest.mark.parametrize("method", METHODS)
def test_uniforms_at_the_ends(method):
    """Neither end gives a state of no probability."""
    ends = np.array([0.0, np.nextafter(1.0, 0.0)])
    shaped = (
        ends.reshape(2, 1, 1) * np.ones((2, 1, 10))
        if method == "elimination"
        else ends.reshape(2, 1)
    )
    result = gibbs([[-2000.0, 2000.0] * 5], uniforms=shaped, method=method)
    assert result.samples.tolist() == [[[0, 1] * 5]] * 2
    drawn_one_by_one = result.completions(ends.reshape(2, 1, 1) * np.ones((2, 1, 10))).samples
    assert drawn_one_by_one.tolist() == [[[0, 1] * 5]] * 2


@examples(30)
@given(seed=SEEDS)
def test_elimination_draws_each_variable_given_those_before(seed):
    """A permutation of a chain's product measure: P(z) is the volume of the uniforms that give z."""
    unary, pairwise, edges = drawn(4, seed, 1.0, batch=1)
    _, probability = brute_force(unary, pairwise, edges)
    grid = (np.arange(12) + 0.5) / 12
    uniforms = np.stack(np.meshgrid(*[grid] * 4), axis=-1).reshape(-1, 1, 4)
    samples = gibbs(unary, pairwise, edges=edges, uniforms=uniforms, method="elimination").samples
    shares = np.bincount(samples[:, 0] @ (1 << np.arange(4)), minlength=16) / len(uniforms)
    # Each of four thresholds is met within half a cell.
    np.testing.assert_allclose(shares, probability[0], atol=4 / 24)


@pytest.mark.statistical
@pytest.mark.parametrize("method", METHODS)
def test_samples_have_their_probabilities(method):
    generator = np.random.default_rng(5)
    unary, pairwise, edges = drawn(8, 11, 0.7)
    _, probability = brute_force(unary, pairwise, edges)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    uniforms = generator.random(uniforms_shape(problem, 100_000, method))
    samples = gibbs(unary, pairwise, edges=edges, uniforms=uniforms, method=method).samples
    for b in range(len(unary)):
        counts = np.bincount(samples[:, b] @ (1 << np.arange(8)), minlength=256)
        assert _is_multinomial(counts, probability[b])
        tilted = probability[b] ** 1.1
        assert not _is_multinomial(counts, tilted / tilted.sum())


def _is_multinomial(counts, probability):
    """Pearson's test at 4.5 standard errors; states expected less than 10 times count as one."""
    expected = counts.sum() * probability
    common = expected >= 10
    counts = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], max(expected[~common].sum(), 1e-9))
    statistic = ((counts - expected) ** 2 / expected).sum()
    freedom = len(counts) - 1
    return statistic < freedom + 4.5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize(
    "graph", [nx.grid_2d_graph(3, 5), nx.star_graph(14), nx.complete_graph(9), nx.empty_graph(12)]
)
@pytest.mark.parametrize("magnitude", [1.0, 50.0])
def test_elimination_equals_enumeration(graph, magnitude):
    graph = nx.convert_node_labels_to_integers(graph)
    edges = np.array(graph.edges, np.int64).reshape(-1, 2)
    generator = np.random.default_rng(7)
    unary = magnitude * generator.standard_normal((3, len(graph)))
    pairwise = magnitude * generator.standard_normal((3, len(edges)))
    one, other = (gibbs(unary, pairwise, edges=edges, method=method) for method in METHODS)
    np.testing.assert_allclose(one.log_partition, other.log_partition, rtol=1e-12)
    np.testing.assert_allclose(marginals_of(one), marginals_of(other), atol=1e-12)
    products = [
        np.concatenate(found.covariance_product(unary, pairwise), axis=1) for found in (one, other)
    ]
    np.testing.assert_allclose(*products, atol=1e-11 * magnitude)


@pytest.mark.parametrize("n", [5, 13, 30])
def test_covariance_product_is_the_derivative_of_the_marginals(n):
    generator = np.random.default_rng(n)
    edges = np.array([(i, j) for i in range(n) for j in range(i + 1, min(n, i + 4))])
    scores, direction = generator.standard_normal((2, 2, n + len(edges)))
    step = 1e-5

    def at(offset):
        moved = scores + offset * direction
        return gibbs(moved[:, :n], moved[:, n:], edges=edges)

    product = np.concatenate(at(0.0).covariance_product(direction[:, :n], direction[:, n:]), axis=1)
    difference = (marginals_of(at(step)) - marginals_of(at(-step))) / (2 * step)
    np.testing.assert_allclose(product, difference, atol=1e-8)
    slope = (at(step).log_partition - at(-step).log_partition) / (2 * step)
    np.testing.assert_allclose(
        (marginals_of(at(0.0)) * direction).sum(axis=1), slope, rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize("n", [5, 13, 30])
def test_gradient_of_the_entropy(n):
    generator = np.random.default_rng(n)
    edges = np.array([(i, i + 1) for i in range(n - 1)])
    scores, direction = generator.standard_normal((2, 2, 2 * n - 1))

    def at(offset):
        moved = scores + offset * direction
        found = gibbs(moved[:, :n], moved[:, n:], edges=edges)
        return found, found.log_partition - (marginals_of(found) * moved).sum(axis=1)

    product = np.concatenate(at(0.0)[0].covariance_product(scores[:, :n], scores[:, n:]), axis=1)
    slope = (at(1e-5)[1] - at(-1e-5)[1]) / 2e-5
    np.testing.assert_allclose(-(product * direction).sum(axis=1), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [9, 40])
@pytest.mark.parametrize("threads", [1, None])
def test_batch_equals_loop(n, threads):
    generator = np.random.default_rng(9)
    edges = np.array([(i, i + 1) for i in range(n - 1)])
    unary, pairwise = generator.standard_normal((6, n)), generator.standard_normal((6, n - 1))
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    uniforms = generator.random(uniforms_shape(problem, 5))
    together = gibbs(unary, pairwise, edges=edges, uniforms=uniforms, threads=threads)
    products = together.covariance_product(unary, pairwise, threads=threads)
    for b in range(6):
        alone = gibbs(unary[b], pairwise[b], edges=edges, uniforms=uniforms[:, b])
        assert alone.log_partition == together.log_partition[b]
        assert (alone.unary_marginals == together.unary_marginals[b]).all()
        assert (alone.pairwise_marginals == together.pairwise_marginals[b]).all()
        assert (alone.samples == together.samples[:, b]).all()
        for one, all_of_them in zip(
            alone.covariance_product(unary[b], pairwise[b]), products, strict=True
        ):
            assert (one == all_of_them[b]).all()


def test_threads_share_a_batch():
    generator = np.random.default_rng(10)
    unary, pairwise = (
        generator.standard_normal((40, 16)),
        np.triu(generator.standard_normal((16, 16)), 1),
    )
    uniforms = generator.random((2, 40))
    one, two = (gibbs(unary, pairwise, uniforms=uniforms, threads=threads) for threads in (1, 2))
    assert (one.log_partition == two.log_partition).all()
    assert (one.samples == two.samples).all()


def test_leading_dimensions_and_edges():
    generator = np.random.default_rng(12)
    unary, pairwise = generator.standard_normal((2, 3, 4)), np.zeros((4, 4))
    pairwise[0, 3] = 1.0
    result = gibbs(unary, pairwise, uniforms=generator.random((5, 2, 3)))
    assert result.edges.tolist() == [[0, 3]]
    assert result.log_partition.shape == (2, 3)
    assert result.unary_marginals.shape == (2, 3, 4)
    assert result.pairwise_marginals.shape == (2, 3, 1)
    assert result.samples.shape == (5, 2, 3, 4)
    assert [part.shape for part in result.covariance_product(unary)] == [(2, 3, 4), (2, 3, 1)]
    assert result.sample(np.zeros((7, 2, 3))).shape == (7, 2, 3, 4)
    assert gibbs(unary).samples is None
    np.testing.assert_allclose(gibbs(unary).unary_marginals, 1 / (1 + np.exp(-unary)), rtol=1e-13)


def test_tensors_give_tensors():
    torch = pytest.importorskip("torch")

    unary = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    result = gibbs(unary, uniforms=torch.zeros(2, 3, dtype=torch.float64))
    assert result.unary_marginals.dtype == torch.float64
    assert result.samples.dtype == torch.int8
    assert torch.equal(result.sample(torch.zeros(2, 3, dtype=torch.float64)), result.samples)
    expected = torch.sigmoid(unary.detach().double())
    torch.testing.assert_close(result.unary_marginals, expected)
    variance = expected * (1 - expected)
    torch.testing.assert_close(result.covariance_product(torch.ones(4))[0], variance)


def test_large_trees_and_grids():
    drawn_tree = tree(300, 3, np.random.default_rng(13))
    found = gibbs(drawn_tree.unary, drawn_tree.pairwise, edges=drawn_tree.edges)
    assert found.method == "elimination"
    zero = np.zeros_like(drawn_tree.unary)
    tables = np.zeros((*drawn_tree.pairwise.shape, 2, 2))
    tables[..., 1, 1] = drawn_tree.pairwise
    two_labels = labels.gibbs(
        np.stack([zero, drawn_tree.unary], axis=-1), tables, edges=drawn_tree.edges
    )
    np.testing.assert_allclose(found.log_partition, two_labels.log_partition)
    np.testing.assert_allclose(found.unary_marginals, two_labels.unary_marginals[..., 1])
    np.testing.assert_allclose(found.pairwise_marginals, two_labels.pairwise_marginals[..., 1, 1])
    grid = spin_glass(8, 8, 2, np.random.default_rng(14))
    uniforms = np.random.default_rng(15).random((4000, 2, 64))
    found = gibbs(grid.unary, grid.pairwise, edges=grid.edges, uniforms=uniforms)
    error = np.sqrt(found.unary_marginals * (1 - found.unary_marginals) / 4000)
    assert (np.abs(found.samples.mean(axis=0) - found.unary_marginals) < 4.5 * error + 1e-12).all()


MEMORY = """
import resource
import numpy as np
from solvers import gibbs
generator = np.random.default_rng(0)
unary, pairwise = generator.standard_normal((8, {n})), np.triu(generator.standard_normal(({n}, {n})), 1)
gibbs(unary[:, :9], pairwise[:9, :9], uniforms=np.zeros((2, 8)), threads=1).covariance_product(1.0, threads=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gibbs(unary, pairwise, uniforms=np.zeros((2, 8)), threads=1).covariance_product(1.0, threads=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_twenty_variables_take_little_memory():
    """The states alone would take 8 MiB, and their features of all instances 13 GiB."""
    answer = subprocess.run(
        [sys.executable, "-c", MEMORY.format(n=20)], capture_output=True, text=True, check=True
    )
    assert int(answer.stdout) < 4 * 1024


@pytest.mark.parametrize(
    ("uniforms", "message"),
    [
        ([[0.5, 0.5, 0.5]], r"must be \[samples, 2\] for enumeration.*\(1, 3\)"),
        (0.5, r"must be \[samples, 2\]"),
        ([[0.5, 1.0]], r"uniforms\[0, 1\] is 1.0"),
        ([[-0.1, 0.0]], r"uniforms\[0, 0\] is -0.1"),
        ([[0.0, np.nan]], r"uniforms\[0, 1\] is nan"),
        (np.zeros((1, 2), np.float32), "must be drawn in float64; those of float32"),
    ],
)
def test_bad_uniforms(uniforms, message):
    with pytest.raises(ProblemError, match=message):
        gibbs(np.zeros((2, 3)), uniforms=uniforms)
    with pytest.raises(ProblemError, match=message):
        gibbs(np.zeros((2, 3))).sample(uniforms)


def test_elimination_wants_a_uniform_a_variable():
    with pytest.raises(ProblemError, match=r"must be \[samples, 30\] for elimination"):
        gibbs(np.zeros(30), uniforms=np.zeros(4))


def test_tables_that_free_memory_does_not_hold_are_computed_again(free_memory):
    wide = spin_glass(14, 14, 1, np.random.default_rng(0))  # memory is not asked for less
    arguments = {"unary": wide.unary, "pairwise": wide.pairwise, "edges": wide.edges}
    kept = gibbs(**arguments)
    free_memory(2**20)
    found = gibbs(**arguments)
    np.testing.assert_allclose(found.log_partition, kept.log_partition, rtol=1e-12)
    np.testing.assert_allclose(found.unary_marginals, kept.unary_marginals, atol=1e-10)


def test_bad_requests():
    with pytest.raises(
        OptionError,
        match=r"method must be one of auto, exact, enumeration, elimination, trw, .*; got 'sum'",
    ):
        gibbs([0.0], method="sum")
    with pytest.raises(UnsupportedProblemError, match="n = 21 and enumeration takes at most 20"):
        gibbs(np.zeros(21), method="enumeration")
    with pytest.raises(UnsupportedProblemError, match=r"n = 40 is more than the 20.*width 30"):
        gibbs(np.zeros(40), np.triu(np.ones((40, 40)), 1))
    result = gibbs(np.zeros((2, 3)))
    with pytest.raises(ProblemError, match="unary direction must be finite"):
        result.covariance_product([np.inf, 0.0, 0.0])
    with pytest.raises(
        ProblemError, match=r"unary direction must be \(2, 3\); its shape is \(4,\)"
    ):
        result.covariance_product(np.zeros(4))


@examples(50)
@given(
    seed=SEEDS,
    scale=st.sampled_from([1e-300, 1e-10, 1.0, 50.0, 700.0, 1e4]),
    size=st.integers(1, 70),
)
def test_exponentials_are_right_to_the_last_digit(seed, scale, size):
    x = -scale * np.random.default_rng(seed).random(size)
    x[0] = 0.0
    expected = np.where(x >= -700, np.exp(x), 0.0)
    exponentiate(x)
    np.testing.assert_allclose(x, expected, rtol=4e-16, atol=0)


@given(seed=SEEDS, scale=st.sampled_from([1e-12, 1e-3, 1.0, 30.0, 1e3]), size=st.integers(1, 70))
def test_sums_of_two_exponentials_are_right_to_the_last_digits(seed, scale, size):
    ones, zeros = scale * np.random.default_rng(seed).normal(size=(2, size))
    logs, shares = np.empty(size), np.empty(size)
    sum_exponentials(ones, zeros, logs, shares)
    np.testing.assert_allclose(
        logs, np.logaddexp(ones, zeros), rtol=4e-16, atol=2e-16 * max(scale, 1.0)
    )
    expected = 1 / (1 + np.exp(np.clip(zeros - ones, -700, 700)))
    np.testing.assert_allclose(shares, expected, rtol=2e-15, atol=1e-300)


@pytest.mark.parametrize("batch", [2, 8, 9, 16, 17, 35])
def test_instances_side_by_side_are_those_by_themselves(batch):
    n, random = 30, np.random.default_rng(batch)
    edges = np.array([(i, j) for i in range(n) for j in range(i + 1, min(n, i + 8))])
    unary, pairwise = random.normal(size=(batch, n)), random.normal(size=(batch, len(edges)))
    uniforms, changes = random.random((2, batch, n)), random.normal(size=(2, batch, n))
    whole = gibbs(unary, pairwise, edges=edges, uniforms=uniforms)
    completions = whole.completions(uniforms)
    found = [whole.covariance_product(unary, pairwise), completions.derivative(changes)]
    for b in range(batch):
        one = slice(b, b + 1)
        alone = gibbs(unary[one], pairwise[one], edges=edges, uniforms=uniforms[:, one])
        again = alone.completions(uniforms[:, one])
        np.testing.assert_allclose(whole.log_partition[b], alone.log_partition[0], rtol=1e-14)
        np.testing.assert_allclose(whole.unary_marginals[b], alone.unary_marginals[0], atol=1e-13)
        np.testing.assert_allclose(
            whole.pairwise_marginals[b], alone.pairwise_marginals[0], atol=1e-13
        )
        np.testing.assert_array_equal(whole.samples[:, b], alone.samples[:, 0])
        np.testing.assert_array_equal(completions.completed[:, :, b], again.completed[:, :, 0])
        both = [
            alone.covariance_product(unary[one], pairwise[one]),
            again.derivative(changes[:, one]),
        ]
        for ours, theirs in zip(found, both, strict=True):
            for part, part_alone in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(part[b], part_alone[0], atol=1e-12)


def test_lanes_are_as_many_as_cache_and_memory_have_room_for(limits):
    assert [lanes_of(batch, 1) for batch in (1, 2, 8, 9, 1000)] == [1, 8, 8, 16, 16]
    assert [lanes_of(1000, size) for size in (CACHE // 16, CACHE // 16 + 1)] == [16, 8]
    limits(lane_bytes=1000)
    assert [lanes_of(1000, size) for size in (62, 63, 125, 126, 2000)] == [16, 8, 8, 1, 1]


def test_a_covariance_counts_twice_the_tables_and_threads_share_the_lanes(monkeypatch, limits):
    asked = []

    def seen(share, instance_bytes):
        asked.append((share, instance_bytes))
        return 1

    monkeypatch.setattr("solvers.gibbs_distribution.sum_product.lanes_of", seen)
    one, two = spin_glass(3, 3, 64, np.random.default_rng(0)), np.ones((64, 9))
    found = gibbs(one.unary, one.pairwise, edges=one.edges, method="elimination", threads=1)
    found.covariance_product(two, threads=1)
    (share, of_tables), (also, of_covariance) = asked
    assert (share, also) == (64, 64)
    assert of_covariance == 2 * of_tables
    limits(nanoseconds_per_thread=1)
    gibbs(one.unary, one.pairwise, edges=one.edges, method="elimination", threads=2)
    assert asked[-1][0] == 32


def test_exponentials_of_minus_infinity_and_of_the_limit():
    x = np.array([-np.inf, -700.0, np.nextafter(-700, -701), -0.0])
    exponentiate(x)
    np.testing.assert_allclose(x, [0.0, np.exp(-700), 0.0, 1.0], rtol=4e-16)


@pytest.mark.parametrize("method", ["enumeration", "elimination"])
def test_samples_are_of_the_scores_that_were_given(method):
    unary, edges = np.zeros((1, 12)), [(i, i + 1) for i in range(11)]
    uniforms = np.random.default_rng(0).random(
        uniforms_shape(Problem.from_arrays(unary), 5, method)
    )
    found = gibbs(unary, np.ones((1, 11)), edges=edges, method=method)
    before = found.sample(uniforms)
    unary += 50.0
    np.testing.assert_array_equal(found.sample(uniforms), before)


def test_arrays_by_column_have_the_same_sums():
    unary, pairwise, edges = drawn(5, 3, 1.0, batch=3)
    by_column = gibbs(np.asfortranarray(unary), np.asfortranarray(pairwise), edges=edges)
    by_row = gibbs(unary, pairwise, edges=edges)
    np.testing.assert_array_equal(by_column.log_partition, by_row.log_partition)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3)])
def test_a_batch_of_no_instances_has_sums(shape):
    unary = np.zeros(shape)
    fix = dict.fromkeys(range(shape[1]), 1)
    assert gibbs(unary).entropy.shape == (0,)
    assert gibbs(unary, fix=fix).log_partition.shape == (0,)
    assert gibbs(unary, fix=fix, method="trw").unary_marginals.shape == shape
    assert uniforms_shape(Problem.from_arrays(unary), 2, fix=fix)[:2] == (2, 0)
    with pytest.raises(OptionError, match="fix names the variable 7"):
        gibbs(unary, fix={7: 1})
