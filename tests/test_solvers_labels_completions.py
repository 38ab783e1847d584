"""Samples of labels drawn variable by variable, and completions, against conditional probabilities by brute force."""

import itertools

import array_api_strict
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from solvers import ProblemError
from solvers.labels import LabelProblem, gibbs
from solvers.labels.algorithms.buckets import buckets_of

torch = optional("torch")

FAR = 1e-9
"""Of a cumulative probability from a uniform number that must lie on the same side of it."""


def problem_of(n, k, seed, scale):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < 0.7]
    unary, pairwise = random.normal(size=(2, n, k)), random.normal(size=(2, len(edges), k, k))
    return scale * unary, scale * pairwise, edges


def features_of(n, k, edges):
    """All assignments, and of each the values of variables and of pairs as indicators, `[states, n k + e k k]`."""
    states = np.array(list(itertools.product(range(k), repeat=n)))
    hot = np.eye(k)[states]
    pairs = np.einsum("sea,seb->seab", hot[:, edges[:, 0]], hot[:, edges[:, 1]])
    return states, np.concatenate(
        [hot.reshape(len(states), -1), pairs.reshape(len(states), -1)], axis=1
    )


@examples(30)
@given(
    n=st.integers(1, 4),
    k=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 0.1, 1.0, 10.0, 100.0]),
    samples=st.integers(1, 3),
)
def test_completions_and_their_derivative_are_those_of_brute_force(n, k, seed, scale, samples):
    unary, pairwise, edges = problem_of(n, k, seed, scale)
    random = np.random.default_rng(seed)
    found = gibbs(unary, pairwise, edges=edges)
    uniforms = random.random((samples, 2, n))
    completions = found.completions(uniforms)
    np.testing.assert_array_equal(completions.samples, found.sample(uniforms))
    costs = random.normal(size=(samples, 2, n, k))
    of_variables, of_pairs = completions.derivative(costs)
    order = [step.variable for step in buckets_of(found.problem).steps[::-1]]
    states, phi = features_of(n, k, edges)
    for b in range(2):
        score = phi @ np.concatenate([unary[b].ravel(), pairwise[b].ravel()])
        probability = np.exp(score - score.max())
        expected = np.zeros(phi.shape[1])
        for s, (place, v) in itertools.product(range(samples), enumerate(order)):
            z, before = completions.samples[s, b], order[:place]
            weight = np.where((states[:, before] == z[before]).all(axis=1), probability, 0.0)
            weight /= weight.sum()
            mean = weight @ phi
            expected_shares = [weight[states[:, v] == a].sum() for a in range(k)]
            np.testing.assert_allclose(
                completions.conditionals[s, b, v], expected_shares, atol=1e-9
            )
            for a in range(k):
                here = np.where(states[:, v] == a, weight, 0.0)
                expected += costs[s, b, v, a] * (here @ phi - here.sum() * mean)
            for r in range(k - 1):
                other = completions.completed[s, v, r, b]
                assert other[v] == (z[v] + 1 + r) % k
                np.testing.assert_array_equal(other[before], z[before])
                check_draws(other, uniforms[s, b], order, place + 1, states, probability)
        found_here = np.concatenate([of_variables[b].ravel(), of_pairs[b].ravel()])
        np.testing.assert_allclose(found_here, expected, atol=1e-9)


def check_draws(z, uniforms, order, start, states, probability):
    """Variables from a place of the order on are the inverse of their conditional cumulative probabilities."""
    for place in range(start, len(order)):
        v, before = order[place], order[:place]
        weight = np.where((states[:, before] == z[before]).all(axis=1), probability, 0.0)
        if weight.sum() < 1e-250:
            return
        shares = np.bincount(states[:, v], weight / weight.sum())
        cumulative = np.concatenate([[0.0], np.cumsum(shares)])
        assert cumulative[z[v]] - FAR <= uniforms[v] <= cumulative[z[v] + 1] + FAR


def test_some_variables_have_the_completions_that_they_have_among_all():
    unary, pairwise, edges = problem_of(4, 3, 5, 1.0)
    found, random = gibbs(unary, pairwise, edges=edges), np.random.default_rng(0)
    uniforms, chosen = random.random((3, 2, 4)), random.integers(4, size=(3, 2, 3))
    whole, some = found.completions(uniforms), found.completions(uniforms, chosen)
    for s, b, place in itertools.product(range(3), range(2), range(3)):
        expected = whole.completed[s, chosen[s, b, place], :, b]
        np.testing.assert_array_equal(some.completed[s, place, :, b], expected)
        shares = whole.conditionals[s, b, chosen[s, b, place]]
        np.testing.assert_array_equal(some.conditionals[s, b, place], shares)
    costs = random.normal(size=(3, 2, 3, 3))
    spread = np.zeros((3, 2, 4, 3))
    for s, b, place in itertools.product(range(3), range(2), range(3)):
        spread[s, b, chosen[s, b, place]] += costs[s, b, place]
    for ours, theirs in zip(some.derivative(costs), whole.derivative(spread), strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_a_batch_in_parts_is_the_whole_one(limits):
    unary, pairwise, edges = problem_of(4, 3, 5, 1.0)
    uniforms, costs = (
        np.random.default_rng(0).random((2, 2, 4)),
        np.random.default_rng(1).normal(size=(2, 2, 4, 3)),
    )
    whole = gibbs(unary, pairwise, edges=edges).completions(uniforms)
    limits(part_bytes=1)
    parts = gibbs(unary, pairwise, edges=edges).completions(uniforms)
    np.testing.assert_array_equal(parts.completed, whole.completed)
    for ours, theirs in zip(parts.derivative(costs), whole.derivative(costs), strict=True):
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("place", [lambda given: torch.asarray(given), array_api_strict.asarray])
def test_completions_are_of_the_callers_kind(place):
    unary, pairwise, edges = problem_of(3, 3, 1, 1.0)
    uniforms, costs = (
        np.random.default_rng(0).random((2, 2, 3)),
        np.random.default_rng(1).normal(size=(2, 2, 3, 3)),
    )
    expected = gibbs(unary, pairwise, edges=edges).completions(uniforms)
    found = gibbs(place(unary), place(pairwise), edges=edges).completions(uniforms)
    assert type(found.completed) is type(place(unary)) is type(found.derivative(costs)[0])
    assert found.completed.shape == (2, 3, 2, 2, 3)
    np.testing.assert_array_equal(np.from_dlpack(found.completed), expected.completed)
    np.testing.assert_allclose(
        np.from_dlpack(found.derivative(costs)[1]), expected.derivative(costs)[1]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found: found.completions([[[0.5]]]), "uniforms must be"),
        (lambda found: found.completions(np.zeros((1, 2, 3)), [3]), "below n = 3"),
        (
            lambda found: found.completions(np.zeros((1, 2, 3)), [[0]]),
            "variables must be whole numbers",
        ),
        (
            lambda found: found.completions(np.zeros((1, 2, 3))).derivative(np.zeros((1, 2, 3))),
            "costs must be real",
        ),
        (
            lambda found: found.completions(np.zeros((1, 2, 3))).derivative(
                np.full((1, 2, 3, 2), np.nan)
            ),
            "costs must be finite",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    unary, pairwise, edges = problem_of(3, 2, 1, 1.0)
    with pytest.raises(ProblemError, match=message):
        call(gibbs(unary, pairwise, edges=edges))


def test_variables_of_fewer_values_than_others_have_no_completions():
    problem = LabelProblem.from_arrays(np.zeros((2, 3)), sizes=[3, 2])
    with pytest.raises(ProblemError, match="as many values each; here they have 2 to 3"):
        gibbs(problem).completions(np.zeros((1, 2)))
