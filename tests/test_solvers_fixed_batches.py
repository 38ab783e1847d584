"""Batches whose instances fix different variables, of bits and of labels, against enumeration."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from solvers import (
    InfeasibleError,
    OptionError,
    Problem,
    SolveInterrupted,
    gibbs,
    instances,
    interrupt_solves,
    solve,
    uniforms_shape,
)
from solvers.constraints import at_most, cardinality, one_of
from solvers.labels import LabelProblem

torch = optional("torch")

few = examples(40)
SEEDS = st.integers(0, 2**32 - 1)
KINDS = st.sampled_from(["bits", "labels"])
METHODS = st.sampled_from(["auto", "elimination"])


@dataclass
class Batch:
    """Problems, values to fix, and the scores `[batch, states]` of all states `[states, n]`.

    Scores of states with other values are minus infinity.
    """

    problem: Any
    values: np.ndarray
    states: np.ndarray
    scores: np.ndarray


def drawn(kind, seed, batch=4, n=5):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < random.choice([0.3, 0.7, 1.0])]
    k = 3
    if kind == "bits":
        k = 2
        unary = random.normal(size=(batch, n))
        pairwise = random.normal(size=(batch, len(edges)))
        problem = Problem.from_arrays(unary, pairwise, edges=edges)
        tables = np.zeros((batch, len(edges), k, k))
        tables[:, :, 1, 1] = pairwise
        unary = np.stack([np.zeros_like(unary), unary], axis=-1)
    else:
        unary = random.normal(size=(batch, n, k))
        tables = random.normal(size=(batch, len(edges), k, k))
        problem = LabelProblem.from_arrays(unary, tables, edges=edges)
    states = np.array(list(itertools.product(range(k), repeat=n)))
    scores = unary[:, np.arange(n), states].sum(axis=-1)
    for edge, (i, j) in enumerate(edges):
        scores += tables[:, edge, states[:, i], states[:, j]]
    share = random.choice([0.2, 0.5, 0.9])
    values = np.where(random.random((batch, n)) < share, random.integers(0, k, (batch, n)), -1)
    agree = ((values[:, None] < 0) | (values[:, None] == states)).all(axis=2)
    return Batch(problem, values, states, np.where(agree, scores, -np.inf))


@few
@given(SEEDS, KINDS)
def test_each_instance_keeps_the_values_of_its_variables(seed, kind):
    batch = drawn(kind, seed)
    solution = solve(batch.problem, fix=batch.values)
    assert ((batch.values < 0) | (solution.z == batch.values)).all()
    np.testing.assert_allclose(solution.score, batch.scores.max(axis=1), atol=1e-12)
    np.testing.assert_allclose(solution.score, batch.problem.score(solution.z), rtol=1e-14)
    assert solution.optimal.all()
    assert (solution.bound >= batch.scores.max(axis=1) - 1e-12).all()
    assert (solution.gap < 1e-9).all()


@few
@given(SEEDS, st.sampled_from(["exhaustive", "branch_and_bound", "elimination", "local_search"]))
def test_solvers_of_bits_take_instances_that_fix_different_variables(seed, solver):
    batch = drawn("bits", seed)
    limit = None
    if solver == "local_search":
        limit = 0.05
    solution = solve(batch.problem, fix=batch.values, solver=solver, time_limit=limit)
    assert ((batch.values < 0) | (solution.z == batch.values)).all()
    assert (solution.bound >= batch.scores.max(axis=1) - 1e-12).all()
    assert solution.optimal.all() or solver == "local_search"


@few
@given(SEEDS, KINDS, st.integers(1, 12))
def test_the_best_states_of_each_instance_keep_its_values(seed, kind, count):
    batch = drawn(kind, seed)
    solution = solve(batch.problem, fix=batch.values, k_best=count)
    best = -np.sort(-batch.scores, axis=1)[:, :count]
    np.testing.assert_allclose(solution.score, best, atol=1e-12)
    assert solution.optimal.all()
    exists = best > -np.inf
    assert (solution.z[~exists] == -1).all()
    agree = (batch.values[:, None] < 0) | (batch.values[:, None] == solution.z)
    assert agree.all(axis=2)[exists].all()


@few
@given(SEEDS, KINDS, st.sampled_from([None, 3]))
def test_constraints_hold_for_the_values_of_each_instance(seed, kind, count):
    batch = drawn(kind, seed)
    if kind == "bits":
        constraints = [at_most(3, range(5))]
        allowed = batch.states.sum(axis=1) <= 3
    else:
        constraints = [at_most(2, [(variable, 1) for variable in range(5)])]
        allowed = (batch.states == 1).sum(axis=1) <= 2
    scores = np.where(allowed, batch.scores, -np.inf)
    arguments = {"fix": batch.values, "constraints": constraints, "k_best": count}
    if np.isinf(scores).all(axis=1).any():
        with pytest.raises(InfeasibleError):
            solve(batch.problem, **arguments)
        return
    solution = solve(batch.problem, **arguments)
    best = -np.sort(-scores, axis=1)[:, : count or 1]
    np.testing.assert_allclose(solution.score, best if count else best[:, 0], atol=1e-12)
    assert solution.optimal.all()


@few
@given(SEEDS, KINDS, METHODS)
def test_sums_are_over_the_states_that_agree_with_each_instance(seed, kind, method):
    batch = drawn(kind, seed)
    if kind == "labels":
        method = "exact"
    sums = gibbs(batch.problem, fix=batch.values, method=method)
    log_z = np.logaddexp.reduce(batch.scores, axis=1)
    p = np.exp(batch.scores - log_z[:, None])
    np.testing.assert_allclose(sums.log_partition, log_z, atol=1e-11)
    entropy = -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)
    np.testing.assert_allclose(sums.entropy, entropy, atol=1e-9)
    first, second = batch.problem.edges.T
    if kind == "bits":
        ones = batch.states
        pairs = ones[:, first] * ones[:, second]
    else:
        ones = np.eye(3)[batch.states]
        pairs = ones[:, first, :, None] * ones[:, second, None, :]
    for features, marginals in ((ones, sums.unary_marginals), (pairs, sums.pairwise_marginals)):
        np.testing.assert_allclose(marginals, np.tensordot(p, features, 1), atol=1e-11)
    # The derivative of a mean in a direction is a covariance.
    random = np.random.default_rng(seed)
    along = [random.normal(size=features[0].shape) for features in (ones, pairs)]
    flat = [features.reshape(len(features), -1) for features in (ones, pairs)]
    change = sum(features @ part.ravel() for features, part in zip(flat, along, strict=True))
    mean = p @ change
    products = sums.covariance_product(*along)
    for features, product in zip((ones, pairs), products, strict=True):
        expected = np.tensordot(p * (change - mean[:, None]), features, 1)
        np.testing.assert_allclose(product, expected, atol=1e-9)


@few
@given(SEEDS)
def test_samples_of_bits_are_those_of_each_instance_alone(seed):
    batch = drawn("bits", seed)
    uniforms = np.random.default_rng(seed).random((6, 4))
    samples = gibbs(batch.problem, fix=batch.values, uniforms=uniforms).samples
    for b in range(4):
        alone = batch.problem.instances(slice(b, b + 1))
        of_one = gibbs(alone, fix=batch.values[b], uniforms=uniforms[:, b : b + 1]).samples
        np.testing.assert_array_equal(samples[:, b], of_one[:, 0])


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["bits", "labels"])
def test_samples_have_the_probabilities_of_their_instance(kind):
    batch = drawn(kind, 4)
    method = "exact" if kind == "labels" else "elimination"
    shape = uniforms_shape(batch.problem, 20_000, method, fix=batch.values)
    uniforms = np.random.default_rng(0).random(shape)
    samples = gibbs(batch.problem, fix=batch.values, method=method, uniforms=uniforms).samples
    assert ((batch.values < 0) | (samples == batch.values)).all()
    p = np.exp(batch.scores - np.logaddexp.reduce(batch.scores, axis=1)[:, None])
    p_of_ones = p @ (batch.states == 1)
    error = np.sqrt(p_of_ones * (1 - p_of_ones) / len(samples))
    assert (np.abs((samples == 1).mean(axis=0) - p_of_ones) <= 4.5 * error + 1e-12).all()


@few
@given(SEEDS, KINDS, METHODS)
def test_completions_keep_the_values_of_each_instance(seed, kind, method):
    batch = drawn(kind, seed)
    if kind == "labels":
        method = "exact"
    sums = gibbs(batch.problem, fix=batch.values, method=method)
    random = np.random.default_rng(seed)
    completions = sums.completions(random.random((2, 4, 5)))
    free = np.flatnonzero((batch.values < 0).all(axis=0))
    assert (completions.variables == free).all()
    for states in (completions.samples, np.moveaxis(completions.completed, -2, 0)):
        values = batch.values
        if states.ndim > 3:
            values = values.reshape(4, *(1 for _ in states.shape[1:-1]), 5)
        assert ((values < 0) | (states == values)).all()


@few
@given(SEEDS, KINDS)
def test_bounds_on_log_z_hold_for_each_instance(seed, kind):
    batch = drawn(kind, seed)
    log_z = np.logaddexp.reduce(batch.scores, axis=1)
    below, above = (gibbs(batch.problem, fix=batch.values, method=m) for m in ("mean_field", "trw"))
    assert (below.log_partition <= log_z + 1e-10).all()
    assert (above.log_partition >= log_z - 1e-10).all()


def test_evidence_of_all_variables_in_one_instance_leaves_the_others_free():
    problem = Problem.from_arrays([[1.0, 2.0], [0.0, 0.0]], [[5.0], [0.0]], edges=[[0, 1]])
    values = [[1, 1], [-1, -1]]
    assert solve(problem, fix=values).z[0].tolist() == [1, 1]
    sums = gibbs(problem, fix=values)
    np.testing.assert_allclose(sums.log_partition, [8.0, 2 * np.log(2)])
    np.testing.assert_allclose(sums.unary_marginals, [[1.0, 1.0], [0.5, 0.5]])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_certificates_do_not_depend_on_the_size_of_scores(scale):
    batch = drawn("bits", 3)
    problem = Problem.from_arrays(
        scale * batch.problem.unary, scale * batch.problem.pairwise, edges=batch.problem.edges
    )
    solution = solve(problem, fix=batch.values)
    assert solution.optimal.all()
    assert (solution.gap <= problem.rounding).all()
    np.testing.assert_allclose(solution.score, scale * batch.scores.max(axis=1), rtol=1e-12)


def test_a_start_and_a_callback_are_those_of_the_whole_batch():
    batch = drawn("bits", 2, batch=3, n=9)
    allowed = np.where(batch.states.sum(axis=1) == 4, batch.scores, -np.inf)
    best = allowed.max(axis=1)
    start = batch.states[allowed.argmax(axis=1)]
    assert (best > -np.inf).all()
    seen = []
    arguments = {"constraints": [cardinality(4)], "solver": "branch_and_bound"}
    solution = solve(
        batch.problem, fix=batch.values, start=start, callback=seen.append, **arguments
    )
    assert solution.stats["start"] == "used"
    np.testing.assert_allclose(solution.score, best, atol=1e-12)
    assert solution.z.shape == (3, 9)
    for progress in seen:
        assert (progress.score <= best + 1e-12).all()
        assert (progress.bound >= best - 1e-12).all()


def test_a_callback_hears_of_the_instances_of_a_group_by_their_numbers():
    problem = instances.dense(150, 3, np.random.default_rng(0)).problem()
    values = np.full((3, 150), -1)
    values[0] = np.arange(150) % 2  # the other instances are a group
    heard = []

    def stop(progress):
        heard.append(progress)
        return len(heard) > 2

    solution = solve(problem, fix=values, k_best=2, callback=stop)
    assert len(heard) == 3
    exact = problem.score(np.where(values < 0, 0, values))[0]
    assert solution.score[0, 0] == pytest.approx(exact)
    assert solution.z.shape == (3, 2, 150)
    assert (solution.bound[1:, 0] >= solution.score[1:, 0]).all()
    for progress in heard:
        np.testing.assert_allclose(problem.score(progress.z), progress.score)
        assert (progress.z[0] == values[0]).all()


@pytest.mark.parametrize(
    "options", [{"k_best": 2}, {"constraints": [at_most(75, range(150))]}], ids=["k_best", "rows"]
)
def test_an_interrupt_has_the_states_of_all_groups(options):
    problem = instances.dense(150, 3, np.random.default_rng(0)).problem()
    values = np.full((3, 150), -1)
    values[1, :2] = 1
    values[2, 2:4] = 1
    with pytest.raises(SolveInterrupted) as stopped:
        solve(problem, fix=values, callback=lambda progress: interrupt_solves(), **options)
    solution = stopped.value.solution
    z = solution.z.reshape(3, -1, 150)
    assert (z >= 0).all()
    assert ((values[:, None] < 0) | (z == values[:, None])).all()
    for place in range(z.shape[1]):
        scores = solution.score.reshape(3, -1)[:, place]
        np.testing.assert_allclose(scores, problem.score(z[:, place]))
        assert (solution.bound.reshape(3, -1)[:, place] >= scores).all()
    assert solve(problem, fix=values, time_limit=0.01).z.shape == (3, 150)  # later calls go on


def test_two_leading_dimensions_and_tensors_come_back():
    batch = drawn("bits", 7, batch=6)
    unary, pairwise, edges = batch.problem.unary, batch.problem.pairwise, batch.problem.edges
    arrays = (torch.tensor(unary).reshape(2, 3, -1), torch.tensor(pairwise).reshape(2, 3, -1))
    values = batch.values.reshape(2, 3, -1)
    for count in (None, 2):
        solution = solve(*arrays, edges=edges, fix=torch.tensor(values), k_best=count)
        assert isinstance(solution.z, torch.Tensor)
        best = solution.score if count is None else solution.score[..., 0]
        np.testing.assert_allclose(best.reshape(-1), batch.scores.max(axis=1), atol=1e-12)


@pytest.mark.parametrize(
    ("fix", "message"),
    {
        "another batch": (np.full((3, 5), -1), "free variable"),
        "too few variables": (np.full((4, 2), -1), "free variable"),
        "a value that a variable does not have": (np.full((4, 5), 3), "variable 0 the value 3"),
        "a fraction": (np.full((4, 5), 0.5), "variable 0 the value 0.5"),
        "no number": (np.full((4, 5), np.nan), "variable 0 the value nan"),
        "below the mark of a free variable": (np.full((4, 5), -2), "variable 0 the value -2"),
        "complex numbers": (np.full((4, 5), 1j), "free variable"),
    }.values(),
)
@pytest.mark.parametrize("kind", ["bits", "labels"])
def test_values_that_cannot_be_fixed_are_refused(kind, fix, message):
    problem = drawn(kind, 0).problem
    for call in (solve, gibbs):
        with pytest.raises(OptionError, match=message):
            call(problem, fix=fix)
    for options in ({"k_best": 2}, {"constraints": [one_of([(0, 1), (1, 1)])]}):
        if kind == "bits" and "constraints" in options:
            options = {"constraints": [one_of([0, 1])]}
        with pytest.raises(OptionError, match=message):
            solve(problem, fix=fix, **options)
