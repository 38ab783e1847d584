"""Samples drawn variable by variable, and their completions, against conditional probabilities by brute force."""

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from test_solvers_gibbs import METHODS, SEEDS, brute_force, drawn, features

from solvers import ProblemError, gibbs, uniforms_shape
from solvers.algorithms.elimination.plan import cached_plan
from solvers.algorithms.elimination.schedule import VARIABLE

MAGNITUDES = st.sampled_from([0.0, 1e-12, 0.1, 1.0, 10.0, 100.0, 2000.0])
FAR = 1e-9
"""Of a probability from a uniform number that must lie on the same side of it."""


def order_of(found):
    """In which variables are drawn."""
    if found.method == "enumeration":
        return list(range(found.problem.n))[::-1]
    plan = found.problem.topology.recall(cached_plan)
    return [int(step[VARIABLE]) for step in plan.schedule.steps[::-1]]


def given_those_before(probability, phi, z, before, v):
    """P(z_v = 1 | before) and its gradient; None where states that agree have no probability to speak of."""
    agree = (phi[:, before] == z[before]).all(axis=1)
    weight = np.where(agree, probability, 0.0)
    if weight.sum() < 1e-250:
        return None, 0.0
    weight = weight / weight.sum()
    one = weight @ phi[:, v]
    return one, (weight * (phi[:, v] - one)) @ phi


@pytest.mark.parametrize("method", METHODS)
@examples(40)
@given(n=st.integers(1, 11), seed=SEEDS, magnitude=MAGNITUDES, samples=st.integers(1, 3))
def test_completions_and_their_derivative_are_those_of_brute_force(
    method, n, seed, magnitude, samples
):
    unary, pairwise, edges = drawn(n, seed, magnitude)
    generator = np.random.default_rng(seed)
    found = gibbs(unary, pairwise, edges=edges, method=method)
    uniforms = generator.random((samples, 2, n))
    completions = found.completions(uniforms)
    if method == "elimination":
        np.testing.assert_array_equal(completions.samples, found.sample(uniforms))
    changes = generator.normal(size=(samples, 2, n))
    derivative = np.concatenate(completions.derivative(changes), axis=1)
    order, phi = order_of(found), features(n, edges)
    for b, probability in enumerate(brute_force(unary, pairwise, edges)[1]):
        expected = np.zeros(phi.shape[1])
        for k in range(samples):
            u, z = uniforms[k, b], completions.samples[k, b]
            for place, v in enumerate(order):
                one, slope = given_those_before(probability, phi, z, order[:place], v)
                np.testing.assert_allclose(completions.conditionals[k, b, v], one, rtol=0, atol=FAR)
                expected += changes[k, b, v] * slope
                assert abs(u[v] - one) < FAR or z[v] == (u[v] < one)
                other = completions.completed[k, v, b]
                assert other[v] == 1 - z[v]
                np.testing.assert_array_equal(other[order[:place]], z[order[:place]])
                for later in range(place + 1, n):
                    w = order[later]
                    one, _ = given_those_before(probability, phi, other, order[:later], w)
                    assert one is None or abs(u[w] - one) < FAR or other[w] == (u[w] < one)
        np.testing.assert_allclose(
            derivative[b], expected, rtol=0, atol=1e-9 * max(1.0, np.abs(changes).sum())
        )


@pytest.mark.parametrize(
    ("n", "method"), [(6, "enumeration"), (12, "enumeration"), (30, "elimination")]
)
def test_some_variables_are_those_of_all(n, method):
    chain = np.stack((np.arange(n - 1), np.arange(1, n)), axis=1)
    generator = np.random.default_rng(n)
    scores = generator.normal(size=(3, n)), generator.normal(size=(3, n - 1))
    found = gibbs(*scores, edges=chain, method=method)
    uniforms = generator.random((2, 3, n))
    every = found.completions(uniforms)
    chosen = generator.integers(0, n, (2, 3, 4))
    some = found.completions(uniforms, chosen)
    np.testing.assert_array_equal(some.samples, every.samples)
    for k, b, c in np.ndindex(chosen.shape):
        np.testing.assert_array_equal(
            some.completed[k, c, b], every.completed[k, chosen[k, b, c], b]
        )
    changes, scattered = generator.normal(size=chosen.shape), np.zeros((2, 3, n))
    np.add.at(scattered, (*np.indices(chosen.shape)[:2], chosen), changes)
    for one, other in zip(some.derivative(changes), every.derivative(scattered), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    shared = found.completions(uniforms, [1, 3])
    np.testing.assert_array_equal(shared.completed, every.completed[:, [1, 3]])


@pytest.mark.parametrize("method", METHODS)
@examples(20)
@given(
    n=st.integers(1, 11),
    seed=SEEDS,
    magnitude=MAGNITUDES,
    samples=st.integers(0, 2),
    scales=st.sampled_from([(1.0, 1.0), (1e-290, 1.0), (1.0, 0.0), (0.0, 1.0), (1e290, 1e289)]),
)
def test_a_direction_of_the_marginals_adds_its_own_derivative(
    method, n, seed, magnitude, samples, scales
):
    unary, pairwise, edges = drawn(n, seed, magnitude)
    generator = np.random.default_rng(seed)
    found = gibbs(unary, pairwise, edges=edges, method=method)
    completions = found.completions(generator.random((samples, 2, n)))
    changes = scales[0] * generator.normal(size=(samples, 2, n))
    ones, pairs = (scales[1] * generator.normal(size=part.shape) for part in (unary, pairwise))
    both, apart = completions.derivative(changes, ones, pairs), completions.derivative(changes)
    beside = found.covariance_product(ones, pairs)
    scale = max(np.abs(part).max(initial=0.0) for part in (*apart, *beside, changes, ones))
    for one, first, second in zip(both, apart, beside, strict=True):
        np.testing.assert_allclose(one, first + second, rtol=0, atol=1e-11 * scale)
    np.testing.assert_array_equal(
        completions.derivative(changes, pairwise=pairs)[0],
        completions.derivative(changes, 0.0, pairs)[0],
    )


def test_enumeration_and_elimination_have_the_same_expected_derivative():
    """The derivative of E[cost], whatever the order in which variables are drawn."""
    generator, n = np.random.default_rng(3), 5
    unary, pairwise, edges = drawn(n, 8, 1.0, batch=1)
    (probability,), phi = brute_force(unary, pairwise, edges)[1], features(n, edges)
    cost = generator.normal(size=2**n)
    expected = (probability * (cost - probability @ cost)) @ phi
    repeated = 40_000
    unary, pairwise = unary.repeat(repeated, axis=0), pairwise.repeat(repeated, axis=0)
    place = 2 ** np.arange(n)
    for method in METHODS:
        found = gibbs(unary, pairwise, edges=edges, method=method)
        completions = found.completions(generator.random((1, repeated, n)))
        z, completed = completions.samples, completions.completed
        moved = (cost[completed @ place] - cost[z @ place][:, None]).swapaxes(1, 2)
        gradients = np.concatenate(completions.derivative(moved * (1 - 2 * z)), axis=1)
        error = gradients.std(axis=0) / repeated**0.5
        assert (np.abs(gradients.mean(axis=0) - expected) / error).max() < 4.5
        assert (np.abs(1.1 * gradients.mean(axis=0) - expected) / error).max() > 4.5


def test_shapes_and_kinds_are_the_callers():
    torch = pytest.importorskip("torch")
    unary = torch.zeros(2, 3, 4)
    found = gibbs(unary, torch.ones(2, 3, 1), edges=[[0, 2]])
    assert uniforms_shape(found.problem, 5) == (5, 2, 3)
    completions = found.completions(torch.full((5, 2, 3, 4), 0.5, dtype=torch.float64), [0, 3])
    assert completions.samples.shape == (5, 2, 3, 4)
    assert completions.completed.shape == (5, 2, 2, 3, 4)
    assert completions.variables.shape == completions.conditionals.shape == (5, 2, 3, 2)
    assert completions.conditionals.dtype == torch.float64
    ones, pairs = completions.derivative(torch.ones(5, 2, 3, 2))
    assert ones.shape == (2, 3, 4)
    assert pairs.shape == (2, 3, 1)


def test_bad_requests():
    found = gibbs(np.zeros((2, 3)))
    uniforms = np.zeros((4, 2, 3))
    with pytest.raises(ProblemError, match=r"must be \[samples, 2, 3\]"):
        found.completions(np.zeros((4, 2)))
    for variables in (np.zeros(2), np.zeros((2, 2), int), 1):
        with pytest.raises(
            ProblemError, match=r"variables must be whole numbers \[m\] or \(4, 2, 'm'\)"
        ):
            found.completions(uniforms, variables)
    with pytest.raises(ProblemError, match="below n = 3; they go from 0 to 3"):
        found.completions(uniforms, [0, 3])
    completions = found.completions(uniforms)
    with pytest.raises(ProblemError, match=r"changes must be real numbers \(4, 2, 3\)"):
        completions.derivative(np.zeros(3))
    with pytest.raises(ProblemError, match="changes must be finite"):
        completions.derivative(np.full((4, 2, 3), np.nan))
    with pytest.raises(ProblemError, match="the unary direction must be finite"):
        completions.derivative(np.zeros((4, 2, 3)), np.nan)
    with pytest.raises(ProblemError, match=r"the unary direction must be \(2, 3\)"):
        completions.derivative(np.zeros((4, 2, 3)), np.zeros(4))
