"""Sums over states with evidence, of every kind of problem, against the definition over all states."""

import itertools
import time

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import (
    Deadline,
    InfeasibleError,
    OptionError,
    Problem,
    ProblemError,
    TimeLimitError,
    UnsupportedProblemError,
    gibbs,
    labels,
    uniforms_shape,
)
from solvers.constraints import one_of
from solvers.conversions import from_ising, from_max_cut, from_min_cut, from_qubo
from solvers.labels import LabelProblem, from_factors

SEEDS = st.integers(0, 2**32 - 1)
METHODS = st.sampled_from(["enumeration", "elimination"])
some = examples(60)


def bits_of(random, n, batch=2):
    """Random scores of bits over some of the pairs."""
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < random.choice([0.0, 0.5, 1.0])]
    scale = random.choice([0.1, 1.0, 10.0])
    return Problem.from_arrays(
        scale * random.normal(size=(batch, n)),
        scale * random.normal(size=(batch, len(edges))),
        edges=edges,
    )


def evidence_of(random, n, batch=2):
    """`[batch, n]`: random values of some variables, -1 for the others."""
    values = random.integers(0, 2, (batch, n))
    return np.where(random.random(n) < random.choice([0.2, 0.6, 1.0]), values, -1)


def features(problem):
    """`[2^n, n + e]`: z_i and z_i z_j of all states."""
    z = np.arange(2**problem.n)[:, None] >> np.arange(problem.n) & 1
    return np.concatenate([z, z[:, problem.edges[:, 0]] * z[:, problem.edges[:, 1]]], axis=1)


def of_states_that_agree(problem, values):
    """Log Z `[batch]` and the probabilities `[batch, 2^n]`, over the states that agree with values."""
    phi = features(problem)
    scores = np.concatenate([problem.unary, problem.pairwise], axis=1) @ phi.T
    z = phi[:, : problem.n]
    agree = ((values[:, None, :] < 0) | (values[:, None, :] == z)).all(axis=2)
    scores = np.where(agree, scores, -np.inf)
    log_z = np.logaddexp.reduce(scores, axis=1)
    return log_z, np.exp(scores - log_z[:, None])


def entropy_of(probabilities):
    """`[batch]`: by the definition."""
    logs = np.log(np.where(probabilities > 0, probabilities, 1.0))
    return -(probabilities * logs).sum(axis=-1)


@some
@given(seed=SEEDS, n=st.integers(1, 7), method=METHODS)
def test_evidence_leaves_the_sums_over_the_states_that_agree(seed, n, method):
    random = np.random.default_rng(seed)
    problem = bits_of(random, n)
    values = evidence_of(random, n)
    log_z, p = of_states_that_agree(problem, values)
    phi = features(problem)
    found = gibbs(problem, fix=values, method=method)
    np.testing.assert_allclose(found.log_partition, log_z, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.unary_marginals, p @ phi[:, :n], atol=1e-11)
    np.testing.assert_allclose(found.pairwise_marginals, p @ phi[:, n:], atol=1e-11)
    np.testing.assert_allclose(found.entropy, entropy_of(p), atol=1e-9)
    direction = random.normal(size=(2, phi.shape[1]))
    along = direction @ phi.T
    expected = (p * (along - (p * along).sum(axis=1, keepdims=True))) @ phi
    product = np.concatenate(found.covariance_product(direction[:, :n], direction[:, n:]), axis=1)
    np.testing.assert_allclose(product, expected, atol=1e-9)


@some
@given(seed=SEEDS, n=st.integers(1, 7), method=METHODS)
def test_samples_keep_the_evidence(seed, n, method):
    random = np.random.default_rng(seed)
    problem = bits_of(random, n)
    values = evidence_of(random, n)
    uniforms = random.random(uniforms_shape(problem, 5, method, fix=values))
    found = gibbs(problem, fix=values, method=method, uniforms=uniforms)
    assert found.samples.shape == (5, 2, n)
    np.testing.assert_array_equal(found.samples, found.sample(uniforms))
    assert ((values < 0) | (found.samples == values)).all()
    completions = found.completions(random.random((5, 2, n)))
    free = np.flatnonzero(values[0] < 0)
    assert (completions.variables == free).all()
    for states in (completions.samples, completions.completed):
        assert ((values < 0) | (states == values)).all()
    for place, v in enumerate(free):
        assert (completions.completed[:, place, :, v] == 1 - completions.samples[..., v]).all()


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["enumeration", "elimination"])
def test_samples_have_the_probabilities_given_the_evidence(method):
    random = np.random.default_rng(5)
    problem = bits_of(random, 7, batch=1)
    fix = {1: 1, 4: 0}
    uniforms = random.random(uniforms_shape(problem, 20_000, method, fix=fix))
    found = gibbs(problem, fix=fix, method=method, uniforms=uniforms)
    p = found.unary_marginals
    error = np.sqrt(p * (1 - p) / 20_000)
    assert (np.abs(found.samples.mean(axis=0) - p) <= 4.5 * error).all()
    completed = found.completions(random.random((20_000, 1, 7))).samples
    assert (np.abs(completed.mean(axis=0) - p) <= 4.5 * error).all()


@examples(20)
@given(seed=SEEDS, n=st.integers(2, 6), method=METHODS)
def test_the_derivative_of_conditionals_given_evidence_is_their_change(seed, n, method):
    random = np.random.default_rng(seed)
    problem = bits_of(random, n, batch=1)
    fix = evidence_of(random, n, batch=1)[0]
    uniforms = random.random((2, 1, n))
    scores = np.concatenate([problem.unary, problem.pairwise], axis=1)

    def completions_at(theta):
        moved = Problem.from_arrays(theta[:, :n], theta[:, n:], edges=problem.edges)
        return gibbs(moved, fix=fix, method=method).completions(uniforms)

    here = completions_at(scores)
    changes = random.normal(size=here.variables.shape)
    gradient = np.concatenate(here.derivative(changes), axis=1)[0]
    step = 1e-5
    for place in range(scores.shape[1]):
        move = step * np.eye(scores.shape[1])[place]
        sides = [completions_at(scores + sign * move) for sign in (1, -1)]
        if any((side.samples != here.samples).any() for side in sides):
            continue  # a uniform number lies at the edge
        high, low = ((changes * side.conditionals).sum() for side in sides)
        assert abs(gradient[place] - (high - low) / (2 * step)) < 1e-5


def test_evidence_brings_sums_into_reach():
    """All 40 variables meet each other; given 30 of them ten are left."""
    random = np.random.default_rng(0)
    scores = random.normal(size=40), np.triu(random.normal(size=(40, 40)), 1)
    with pytest.raises(UnsupportedProblemError, match="trw"):
        gibbs(*scores)
    values = random.integers(0, 2, 30)
    found = gibbs(*scores, fix=dict(enumerate(values.tolist())))
    states = np.arange(2**10)[:, None] >> np.arange(10) & 1
    z = np.concatenate([np.broadcast_to(values, (2**10, 30)), states], axis=1)
    expected = np.logaddexp.reduce(z @ scores[0] + np.einsum("si,ij,sj->s", z, scores[1], z))
    np.testing.assert_allclose(found.log_partition, expected, rtol=1e-12)
    assert found.method == "enumeration"


def test_the_log_probability_of_evidence_is_a_difference_of_log_partitions():
    chain = {"unary": [0.3, -0.2, 0.1], "pairwise": [1.0, -0.5], "edges": [[0, 1], [1, 2]]}
    everything = gibbs(**chain)
    seen = gibbs(**chain, fix={0: 1, 1: 1})
    log_p = float(seen.log_partition - everything.log_partition)
    assert log_p == pytest.approx(np.log(float(everything.pairwise_marginals[0])), abs=1e-12)


@pytest.mark.parametrize("method", ["auto", "elimination"])
def test_evidence_of_all_variables_leaves_one_state(method):
    problem = Problem.from_arrays([[1.0, 2.0], [3.0, 4.0]], [[5.0], [6.0]], edges=[[0, 1]])
    found = gibbs(problem, fix=[[1, 0], [1, 1]], method=method)
    assert found.log_partition.tolist() == [1.0, 13.0]
    assert found.unary_marginals.tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert found.pairwise_marginals.tolist() == [[0.0], [1.0]]
    assert found.entropy.tolist() == [0.0, 0.0]
    assert found.covariance_product(1.0, 1.0)[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    shape = uniforms_shape(problem, 3, method, fix={0: 1, 1: 1})
    assert found.sample(np.full(shape, 0.9)).tolist() == [[[1, 0], [1, 1]]] * 3
    completions = found.completions(np.full((1, 2, 2), 0.9))
    assert completions.completed.shape == (1, 0, 2, 2)
    assert completions.derivative(np.empty((1, 2, 0)))[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ProblemError, match="variable 1 is fixed and has no other value"):
        found.completions(np.full((1, 2, 2), 0.9), [1])


@some
@given(seed=SEEDS, n=st.integers(1, 7))
def test_the_entropy_is_log_z_less_the_mean_score(seed, n):
    random = np.random.default_rng(seed)
    problem = bits_of(random, n)
    log_z, p = of_states_that_agree(problem, np.full((2, n), -1))
    found = gibbs(problem)
    scores = np.concatenate([problem.unary, problem.pairwise], axis=1) @ features(problem).T
    np.testing.assert_allclose(found.entropy, log_z - (p * scores).sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(found.entropy, entropy_of(p), atol=1e-9)


def test_the_entropy_is_that_of_the_scores_that_were_given():
    for method in ("enumeration", "elimination"):
        unary = np.zeros((1, 3))
        found = gibbs(unary, method=method)
        unary += 50.0
        assert float(found.entropy[0]) == pytest.approx(3 * np.log(2))


@some
@given(seed=SEEDS, n=st.integers(1, 7))
def test_bounds_lie_on_both_sides_of_log_z(seed, n):
    random = np.random.default_rng(seed)
    problem = bits_of(random, n)
    values = evidence_of(random, n)
    log_z, _ = of_states_that_agree(problem, values)
    below, above = (gibbs(problem, fix=values, method=name) for name in ("mean_field", "trw"))
    rounding = 1e-12 * (np.abs(problem.magnitude) + n)
    assert (below.bound, above.bound, gibbs(problem).bound) == ("lower", "upper", "exact")
    assert (below.log_partition <= log_z + rounding).all()
    assert (above.log_partition >= log_z - rounding).all()
    for found in (below, above):
        assert found.unary_marginals.shape == (2, n)
        assert found.pairwise_marginals.shape == (2, problem.e)
        seen = values >= 0
        np.testing.assert_array_equal(found.unary_marginals[seen], values[seen])


@some
@given(seed=SEEDS, n=st.integers(1, 8), method=st.sampled_from(["trw", "loopy"]))
def test_messages_are_exact_for_bits_on_trees(seed, n, method):
    random = np.random.default_rng(seed)
    edges = np.array([(random.integers(v), v) for v in range(1, n)]).reshape(-1, 2)
    scores = random.normal(size=(2, n)), random.normal(size=(2, n - 1))
    exact = gibbs(*scores, edges=edges)
    found = gibbs(*scores, edges=edges, method=method)
    np.testing.assert_allclose(found.log_partition, exact.log_partition, atol=1e-9)
    np.testing.assert_allclose(found.unary_marginals, exact.unary_marginals, atol=1e-8)
    np.testing.assert_allclose(found.pairwise_marginals, exact.pairwise_marginals, atol=1e-8)


def test_bounds_are_in_reach_where_sums_are_not():
    random = np.random.default_rng(1)
    scores = random.normal(size=60), np.triu(0.1 * random.normal(size=(60, 60)), 1)
    below, above = (
        float(gibbs(*scores, method=name).log_partition) for name in ("mean_field", "trw")
    )
    assert below < above


def labels_of(random):
    """A random problem of labels: tables, one for all pairs, scores of equal values, or tables of their own sizes."""
    n, k, batch = random.integers(1, 6), random.integers(2, 4), 2
    sizes = random.integers(1, k + 1, n)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = random.permuted(edges[random.random(len(edges)) < 0.6], axis=1)
    unary = random.normal(size=(batch, n, k))
    kind = random.integers(4)
    if kind == 0:
        weights = random.normal(size=(batch, len(edges)))
        return LabelProblem.from_arrays(unary, potts=weights, edges=edges, sizes=sizes)
    if kind == 1:
        edges = np.sort(edges, axis=1)
        tables = [random.normal(size=sizes[edge]) for edge in edges]
        unary[:, np.arange(k) >= sizes[:, None]] = -np.inf
        return LabelProblem.from_tables(unary[0], tables, edges, sizes)
    shape = (k, k) if kind == 2 else (batch, len(edges), k, k)
    pairwise = random.normal(size=shape)
    pairwise[random.random(pairwise.shape) < random.choice([0.0, 0.1])] = -np.inf
    return LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes)


def label_evidence_of(random, problem):
    """`[batch, n]`: random values, -1 for free variables, which differ between instances or do not."""
    values = random.integers(0, problem.sizes, (problem.batch, problem.n))
    free = random.random(values.shape if random.random() < 0.3 else problem.n) < 0.5
    return np.where(free, -1, values)


def all_labels(problem, values):
    """All assignments, and their scores `[batch, assignments]`: minus infinity where they differ from values."""
    x = np.array(list(itertools.product(*map(range, problem.sizes))))
    scores = problem.unary[:, np.arange(problem.n), x].sum(axis=-1)
    for edge, (i, j) in enumerate(problem.edges):
        scores = scores + problem.pairwise(edge)[:, x[:, i], x[:, j]]
    agree = ((values[:, None, :] < 0) | (values[:, None, :] == x)).all(axis=2)
    return x, np.where(agree, scores, -np.inf)


def label_features(problem, x):
    """`[assignments, n k + e k k]`: indicators of the values of variables and of pairs."""
    has = (x[:, :, None] == np.arange(problem.k)).astype(float)
    first, second = problem.edges.T
    pairs = has[:, first, :, None] * has[:, second, None, :]
    return np.concatenate([has.reshape(len(x), -1), pairs.reshape(len(x), -1)], axis=1)


def flat(*parts):
    """`[batch, ...]` each as one array of features."""
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


@examples(80)
@given(seed=SEEDS)
def test_evidence_on_labels_leaves_the_assignments_that_agree(seed):
    random = np.random.default_rng(seed)
    problem = labels_of(random)
    values = label_evidence_of(random, problem)
    fix = values if problem.leading else values[0]
    x, scores = all_labels(problem, values)
    log_z = np.logaddexp.reduce(scores, axis=1)
    if (log_z == -np.inf).any():
        for method in ("exact", "trw", "mean_field"):
            with pytest.raises(InfeasibleError):
                gibbs(problem, fix=fix, method=method)
        return
    p, phi = np.exp(scores - log_z[:, None]), label_features(problem, x)
    uniforms = random.random(uniforms_shape(problem, 4))
    found = gibbs(problem, fix=fix, uniforms=uniforms)
    batched = [
        part.reshape(problem.batch, *part.shape[len(problem.leading) :])
        for part in (found.unary_marginals, found.pairwise_marginals)
    ]
    np.testing.assert_allclose(np.ravel(found.log_partition), log_z, atol=1e-11)
    np.testing.assert_allclose(flat(*batched), p @ phi, atol=1e-11)
    np.testing.assert_allclose(np.ravel(found.entropy), entropy_of(p), atol=1e-10)
    np.testing.assert_array_equal(found.samples, found.sample(uniforms))
    drawn = found.samples.reshape(4, problem.batch, problem.n)
    assert ((values < 0) | (drawn == values)).all()
    direction = [random.normal(size=part.shape) for part in batched]
    along = flat(*direction) @ phi.T
    expected = (p * (along - (p * along).sum(axis=1, keepdims=True))) @ phi
    shaped = (part.reshape(problem.leading + part.shape[1:]) for part in direction)
    product = [part.reshape(problem.batch, -1) for part in found.covariance_product(*shaped)]
    np.testing.assert_allclose(flat(*product), expected, atol=1e-10)
    below, above = (gibbs(problem, fix=fix, method=name) for name in ("mean_field", "trw"))
    rounding = 1e-12 * (np.abs(problem.magnitude) + problem.n)
    assert (np.ravel(below.log_partition) <= log_z + rounding).all()
    assert (np.ravel(above.log_partition) >= log_z - rounding).all()
    assert above.pairwise_marginals.shape == found.pairwise_marginals.shape


@examples(20)
@given(seed=SEEDS)
def test_the_derivative_of_conditionals_of_labels_given_evidence_is_their_change(seed):
    random = np.random.default_rng(seed)
    n, k, edges = 4, 3, np.array([[0, 1], [1, 2], [0, 2], [2, 3]])
    unary, pairwise = random.normal(size=(1, n, k)), random.normal(size=(1, 4, k, k))
    fix = {int(v): int(random.integers(k)) for v in np.flatnonzero(random.random(n) < 0.4)}
    uniforms = random.random((2, 1, n))
    scores = flat(unary, pairwise)[0]

    def completions_at(theta):
        ones, pairs = theta[: n * k].reshape(1, n, k), theta[n * k :].reshape(1, 4, k, k)
        return labels.gibbs(ones, pairs, edges=edges, fix=fix).completions(uniforms)

    here = completions_at(scores)
    for v, value in fix.items():
        assert (here.samples[..., v] == value).all()
        assert (here.completed[..., v] == value).all()
    costs = random.normal(size=here.conditionals.shape)
    gradient = flat(*here.derivative(costs))[0]
    step = 1e-5
    for place in random.choice(len(scores), 8, replace=False):
        sides = [
            completions_at(scores + sign * step * np.eye(len(scores))[place]) for sign in (1, -1)
        ]
        if any((side.samples != here.samples).any() for side in sides):
            continue  # a uniform number lies at the edge
        high, low = ((costs * side.conditionals).sum() for side in sides)
        assert abs(gradient[place] - (high - low) / (2 * step)) < 1e-5


def test_evidence_on_labels_narrows_the_graph():
    """All 30 variables meet each other; given 25 of them five are left."""
    random = np.random.default_rng(2)
    n, k = 30, 3
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    problem = LabelProblem.from_arrays(
        random.normal(size=(n, k)), random.normal(size=(len(edges), k, k)), edges=edges
    )
    with pytest.raises(UnsupportedProblemError, match="trw"):
        gibbs(problem)
    values = random.integers(0, k, 25)
    found = gibbs(problem, fix=dict(enumerate(values.tolist())))
    rest = itertools.product(range(k), repeat=5)
    scores = [float(problem.score([*values, *others])) for others in rest]
    assert float(found.log_partition) == pytest.approx(np.logaddexp.reduce(scores), rel=1e-12)


def test_evidence_on_all_labels_leaves_one_assignment():
    problem = LabelProblem.from_arrays(np.zeros((2, 3)), np.ones((1, 3, 3)), edges=[[0, 1]])
    found = gibbs(problem, fix={0: 2, 1: 0}, uniforms=np.full((2, 2), 0.5))
    assert float(found.log_partition) == 1.0
    assert float(found.entropy) == 0.0
    assert found.samples.tolist() == [[2, 0], [2, 0]]
    assert found.pairwise_marginals[0].tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert found.completions(np.full((1, 2), 0.5)).completed.shape == (1, 0, 2, 2)
    assert not any(part.any() for part in found.covariance_product(1.0, 1.0))
    forbidden = LabelProblem.from_arrays([[0.0, -np.inf], [0.0, 0.0]])
    with pytest.raises(InfeasibleError):
        gibbs(forbidden, fix={0: 1})


def test_evidence_on_labels_of_another_library_is_the_callers_kind():
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(6)
    unary, pairwise = random.normal(size=(2, 3, 3)), random.normal(size=(2, 2, 3, 3))
    edges = [[0, 1], [1, 2]]
    expected = labels.gibbs(unary, pairwise, edges=edges, fix={1: 2})
    tensors = torch.from_numpy(unary), torch.from_numpy(pairwise)
    found = labels.gibbs(*tensors, edges=edges, fix={1: 2})
    for name in ("log_partition", "unary_marginals", "pairwise_marginals", "entropy"):
        assert isinstance(getattr(found, name), torch.Tensor)
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
    strict = pytest.importorskip("array_api_strict")
    arrays = strict.asarray(unary), strict.asarray(pairwise)
    found = labels.gibbs(*arrays, edges=edges, fix={1: 2})
    np.testing.assert_allclose(np.from_dlpack(found.log_partition), expected.log_partition)
    product = np.from_dlpack(found.covariance_product(unary, pairwise)[1])
    np.testing.assert_allclose(product, expected.covariance_product(unary, pairwise)[1])


def test_a_label_problem_has_the_same_sums_by_either_call():
    problem = labels_of(np.random.default_rng(3))
    first, second = gibbs(problem, fix={0: 0}), labels.gibbs(problem, fix={0: 0})
    np.testing.assert_array_equal(first.log_partition, second.log_partition)
    for method in ("auto", "exact", "elimination"):
        assert gibbs(problem, method=method).method == "elimination"


def test_directions_join_the_derivative_of_completions_of_labels():
    random = np.random.default_rng(4)
    scores = random.normal(size=(2, 3, 3)), random.normal(size=(2, 2, 3, 3))
    found = labels.gibbs(*scores, edges=[[0, 1], [1, 2]])
    completions = found.completions(random.random((2, 2, 3)))
    costs = random.normal(size=completions.conditionals.shape)
    both = completions.derivative(costs, *scores)
    apart, beside = completions.derivative(costs), found.covariance_product(*scores)
    for total, first, second in zip(both, apart, beside, strict=True):
        np.testing.assert_allclose(total, first + second, atol=1e-12)


def test_a_fixed_label_has_no_completions():
    found = labels.gibbs(np.zeros((2, 3)), fix={1: 2})
    completions = found.completions(np.full((1, 2), 0.5))
    assert completions.variables.tolist() == [[0]]
    assert (completions.completed[..., 1] == 2).all()
    with pytest.raises(ProblemError, match="variable 1 is fixed"):
        found.completions(np.full((1, 2), 0.5), [0, 1])


def conversion_of(random):
    """A random conversion of bits, minimised or maximised."""
    n = int(random.integers(1, 6))
    names = [f"v{i}" for i in range(n)]
    pairs = {
        (names[i], names[j]): float(random.normal())
        for i, j in itertools.combinations_with_replacement(range(n), 2)
        if random.random() < 0.7
    }
    sense = str(random.choice(["minimise", "maximise"]))
    kind = random.integers(3)
    if kind == 0 and pairs:
        return from_qubo(pairs, sense=sense)
    if kind == 1 and n > 1:
        edges = np.array(list(itertools.combinations(range(n), 2)))
        return from_max_cut(n, edges, random.normal(size=len(edges)))
    return from_ising({name: float(random.normal()) for name in names}, pairs, sense=sense)


def all_assignments(conversion):
    """Each assignment by name, and sign * objective of it."""
    n = conversion.problem.n
    states = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return [(conversion.assignment(z), conversion.sign * conversion.objective(z)) for z in states]


@some
@given(seed=SEEDS)
def test_sums_of_a_conversion_are_those_of_its_own_objective(seed):
    random = np.random.default_rng(seed)
    conversion = conversion_of(random)
    names = list(conversion.names)
    seen = {
        name: conversion.values[int(random.integers(2))] for name in names if random.random() < 0.3
    }
    both = all_assignments(conversion)
    fitting = [one for one in both if all(one[0][name] == seen[name] for name in seen)]
    scores = np.array([score for _, score in fitting])
    log_z = np.logaddexp.reduce(scores)
    p = np.exp(scores - log_z)
    uniforms = random.random(uniforms_shape(conversion, 3, fix=seen))
    found = gibbs(conversion, fix=seen, uniforms=uniforms)
    assert found.log_partition == pytest.approx(log_z, abs=1e-11)
    for name, value in itertools.product(names, conversion.values):
        expected = p[[one[name] == value for one, _ in fitting]].sum()
        assert found.marginals[name][value] == pytest.approx(expected, abs=1e-11)
    assert found.entropy == pytest.approx(entropy_of(p), abs=1e-10)
    assert found.mean == pytest.approx(conversion.sign * (p @ scores), abs=1e-10)
    assert found.samples == found.sample(uniforms)
    assert all(one[name] == seen[name] for one in found.samples for name in seen)
    for i, j in conversion.problem.edges:
        for (a, b), chance in found.pair(names[j], names[i]).items():
            expected = p[[one[names[j]] == a and one[names[i]] == b for one, _ in fitting]].sum()
            assert chance == pytest.approx(expected, abs=1e-11)
    below, above = (gibbs(conversion, fix=seen, method=name) for name in ("mean_field", "trw"))
    assert below.log_partition <= log_z + 1e-9
    assert above.log_partition >= log_z - 1e-9


@some
@given(seed=SEEDS)
def test_sums_of_factors_are_those_of_their_own_sum(seed):
    """A factor of three variables has a variable of its own in the problem, which adds no states."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 4, 4).tolist()
    scopes = [(0,), (1, 3), (2, 0, 1), (1, 2, 3)]
    factors = [(scope, random.normal(size=[sizes[v] for v in scope])) for scope in scopes]
    for _, table in factors:
        table[(random.random(table.shape) < 0.1) & (np.indices(table.shape).sum(axis=0) > 0)] = (
            np.inf
        )
    names, words = list("abcd"), [[f"{v}{a}" for a in range(size)] for v, size in enumerate(sizes)]
    conversion = from_factors(
        sizes, factors, sense="minimise", constant=3.0, names=names, values=words
    )
    seen = {"c": words[2][0]} if random.random() < 0.5 else {}
    assignments = [x for x in itertools.product(*map(range, sizes)) if not seen or x[2] == 0]
    scores = -np.array(
        [3.0 + sum(t[tuple(x[v] for v in scope)] for scope, t in factors) for x in assignments]
    )
    log_z = np.logaddexp.reduce(scores)
    p = np.exp(scores - log_z)
    found = gibbs(conversion, fix=seen)
    assert found.log_partition == pytest.approx(log_z, abs=1e-11)
    for v, a in [(v, a) for v, size in enumerate(sizes) for a in range(size)]:
        expected = p[[x[v] == a for x in assignments]].sum()
        assert found.marginals[names[v]][words[v][a]] == pytest.approx(expected, abs=1e-11)
    assert found.entropy == pytest.approx(entropy_of(p), abs=1e-10)
    assert found.mean == pytest.approx(-(p @ np.where(p > 0, scores, 0.0)), abs=1e-10)
    pair = found.pair("d", "b")
    for a, b in itertools.product(range(sizes[3]), range(sizes[1])):
        expected = p[[x[3] == a and x[1] == b for x in assignments]].sum()
        assert pair[words[3][a], words[1][b]] == pytest.approx(expected, abs=1e-11)
    below, above = (gibbs(conversion, fix=seen, method=name) for name in ("mean_field", "trw"))
    assert below.log_partition <= log_z + 1e-9
    assert above.log_partition >= log_z - 1e-9


def test_a_constant_costs_log_z_no_digits():
    """Spins at -1 cancel the constant of 1e16, of which log Z by constant and score would keep nothing."""
    model = from_ising({"a": 1e16, "b": 0.1}, {("a", "a"): 1e16})
    assert gibbs(model).log_partition == pytest.approx(np.log(2 * np.cosh(0.1)), abs=1e-12)


def test_source_and_sink_of_a_cut_are_evidence():
    network = from_min_cut(
        4, [[0, 1], [0, 2], [1, 3], [2, 3], [1, 2]], [1.0, 2.0, 1.5, 0.5, 0.7], 0, 3
    )
    cuts = [network.objective([1, a, b, 0]) for a, b in itertools.product((0, 1), repeat=2)]
    found = gibbs(network)
    assert found.log_partition == pytest.approx(np.logaddexp.reduce(-np.array(cuts)))
    assert (found.marginals[0][1], found.marginals[3][1]) == (1.0, 0.0)
    with pytest.raises(OptionError, match="is 1 and cannot be 0"):
        gibbs(network, fix={0: 0})


def test_capped_capacities_have_other_sums():
    capped = from_min_cut(3, [[0, 1], [1, 2]], [np.inf, 3.0], source=0, sink=2)
    with pytest.raises(UnsupportedProblemError, match="capped"):
        gibbs(capped)


def test_constraints_of_a_conversion_have_other_sums():
    from dataclasses import replace

    model = from_qubo({("a", "b"): -1.0})
    within = replace(model, constraints=(one_of([0, 1]),))
    with pytest.raises(UnsupportedProblemError, match="1 constraints"):
        gibbs(within)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gibbs([0.0, 0.0], fix={2: 1}), OptionError, "there are 0 to 1"),
        (lambda: gibbs([0.0, 0.0], fix={1: 2}), OptionError, "it has 0 to 1"),
        (lambda: gibbs([0.0], uniforms=[0.5], method="trw"), OptionError, "draws no samples"),
        (
            lambda: labels.gibbs([[0.0, 0.0]], uniforms=[[0.5]], method="trw"),
            OptionError,
            "draws no samples",
        ),
        (lambda: labels.gibbs([[0.0, 0.0]], method="enumeration"), OptionError, "'exact' or one"),
        (lambda: gibbs(from_qubo({("a", "b"): 1.0}), fix=[1, 0]), OptionError, "{name: value}"),
        (lambda: gibbs(from_qubo({("a", "b"): 1.0}), fix={"c": 0}), OptionError, "is no variable"),
        (
            lambda: gibbs(from_qubo({("a", "b"): 1.0}), edges=[[0, 1]]),
            ProblemError,
            "a Conversion has its pairs",
        ),
        (
            lambda: gibbs(from_qubo({("a", "b"): 1.0}), method="trw").entropy,
            OptionError,
            "come from exact sums",
        ),
        (
            lambda: gibbs(from_qubo({("a", "a"): 1.0, ("b", "b"): 1.0})).pair("a", "b"),
            OptionError,
            "share no term",
        ),
        (lambda: gibbs(from_qubo({("a", "b"): 1.0})).pair("a", "x"), OptionError, "no variable"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_completed_variable_is_free():
    found = gibbs([0.0, 0.0, 0.0], fix={1: 1})
    with pytest.raises(ProblemError, match="variable 1 is fixed"):
        found.completions(np.full((1, 3), 0.5), [0, 1])


def test_sums_of_problems_are_of_the_callers_kind():
    torch = pytest.importorskip("torch")
    problem = Problem.from_arrays(torch.zeros(2, 3), torch.ones(2, 1), edges=[[0, 1]])
    for method in ("auto", "elimination", "trw"):
        found = gibbs(problem, fix={0: 1}, method=method)
        for array in (found.log_partition, found.unary_marginals, found.pairwise_marginals):
            assert isinstance(array, torch.Tensor)
        assert found.unary_marginals.shape == (2, 3)
    assert isinstance(gibbs(problem).entropy, torch.Tensor)
    many = Problem.from_arrays(np.zeros((2, 3, 4)))
    found = gibbs(many, fix={0: 1}, method="trw")
    assert found.log_partition.shape == found.converged.shape == (2, 3)


def test_uniforms_have_the_shape_that_the_problem_wants():
    label_problem = LabelProblem.from_arrays(np.zeros((2, 3, 4)))
    assert uniforms_shape(label_problem, 5) == (5, 2, 3)
    conversion = from_factors([2, 2, 2], [((0, 1, 2), np.zeros((2, 2, 2)))])
    assert uniforms_shape(conversion, 5) == (5, conversion.problem.n)
    many = Problem.from_arrays(np.zeros(30))
    assert uniforms_shape(many, 5) == (5, 30)
    assert uniforms_shape(many, 5, fix=dict.fromkeys(range(12), 0)) == (5,)


def dense_bits(n, batch=()):
    """Scores of bits over all pairs, which exact sums take long for."""
    random = np.random.default_rng(0)
    pairwise = np.triu(random.normal(size=(*batch, n, n)), 1)
    return random.normal(size=(*batch, n)), pairwise


LONG_SUMS = {
    "one kernel": lambda **options: gibbs(*dense_bits(24), **options),
    "tables that do not fit": lambda **options: gibbs(*dense_bits(28), **options),
    "a batch by enumeration": lambda **options: gibbs(
        *dense_bits(18, (12000,)), threads=1, **options
    ),
    "labels": lambda **options: labels.gibbs(
        np.zeros((11, 5)), potts=np.ones(55), edges=np.stack(np.triu_indices(11, 1), 1), **options
    ),
    "labels in little memory": lambda **options: labels.gibbs(
        np.zeros((11, 5)),
        potts=np.ones(55),
        edges=np.stack(np.triu_indices(11, 1), 1),
        memory=10**5,
        **options,
    ),
    "a conversion": lambda **options: gibbs(
        from_qubo({(i, j): 1.0 for i in range(24) for j in range(i + 1)}), **options
    ),
}


@pytest.mark.parametrize("kind", LONG_SUMS)
def test_sums_end_soon_after_their_time_limit(kind):
    gibbs(np.zeros(30), np.zeros(29), edges=np.stack([np.arange(29), np.arange(1, 30)], 1))
    begin = time.process_time()
    with pytest.raises(TimeLimitError, match=r"time_limit=0\.02 seconds.*method='trw'"):
        LONG_SUMS[kind](time_limit=0.02)
    assert time.process_time() - begin < 2.0


def test_sums_end_at_a_deadline():
    for kind in ("one kernel", "labels"):
        with pytest.raises(TimeLimitError, match="longer than the deadline allows"):
            LONG_SUMS[kind](time_limit=Deadline.after(0.01))
    assert gibbs(*dense_bits(21), time_limit=Deadline.after(60.0)).bound == "exact"


def test_sums_within_their_time_limit_are_the_same():
    problem = Problem.from_arrays(*dense_bits(21))
    assert gibbs(problem, time_limit=60.0).log_partition == gibbs(problem).log_partition
    assert gibbs(problem, time_limit=float("inf")).bound == "exact"


@pytest.mark.parametrize("limit", [0, -1.0, "soon", float("nan")])
def test_a_time_limit_of_sums_is_positive(limit):
    for sums in (gibbs, labels.gibbs):
        with pytest.raises(OptionError, match="time_limit must be positive"):
            sums([[0.0, 0.0]], time_limit=limit)


def test_estimates_and_later_sums_have_no_limit_of_an_earlier_call():
    with pytest.raises(TimeLimitError):
        gibbs(*dense_bits(24), time_limit=0.01)
    assert gibbs(*dense_bits(24), method="trw").bound == "upper"
    assert gibbs(*dense_bits(21)).bound == "exact"


def test_a_free_variable_is_drawn_with_its_own_uniforms():
    """Bit 2 has no pairs, so its uniform alone decides it, whatever is known of bit 0."""
    random = np.random.default_rng(0)
    unary = random.normal(size=4)
    uniforms = random.random((200, 4))
    problem = Problem.from_arrays(unary, [0.5], edges=[[1, 3]])
    states = gibbs(problem, fix={0: 1}, method="elimination").sample(uniforms)
    np.testing.assert_array_equal(states[:, 2], uniforms[:, 2] < 1 / (1 + np.exp(-unary[2])))
