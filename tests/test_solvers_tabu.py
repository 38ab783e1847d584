"""Tabu search on the host and on devices: honest, reproducible, and right on small problems."""

from dataclasses import replace
from math import comb

import array_api_strict
import numpy as np
import pytest
from optional import optional

from solvers import Deadline, Problem
from solvers.algorithms.local_search.device_tabu import device_tabu
from solvers.algorithms.local_search.tabu import tabu_search

torch = optional("torch")

KINDS = (
    "float",
    "integer",
    "sparse",
    "ties",
    "huge",
    "tiny",
    "mixed",
    "single",
    "zero",
    "spin",
    "grid",
)


def instances(kind, n, batch, rng):
    edges = np.stack(np.triu_indices(n, 1), 1)
    if kind in ("sparse", "mixed"):
        edges = edges[rng.random(len(edges)) < 2.5 / n]
    if kind == "grid":
        edges = edges[(edges[:, 1] - edges[:, 0] == 1) | (edges[:, 1] - edges[:, 0] == 4)]
    edges = rng.permutation(edges)
    shapes = (batch, n), (batch, len(edges))
    if kind in ("integer", "sparse", "grid"):
        u, w = (rng.integers(-9, 10, shape).astype(float) for shape in shapes)
    elif kind == "ties":
        u, w = (rng.integers(-1, 2, shape).astype(float) for shape in shapes)
    elif kind == "zero":
        u, w = (np.zeros(shape) for shape in shapes)
    else:
        u, w = (rng.normal(size=shape) for shape in shapes)
    if kind == "spin":
        u, w = np.zeros(shapes[0]), np.sign(w)
        for side in (0, 1):
            np.add.at(u.T, edges[:, side], -w.T / 2)
    if kind in ("huge", "tiny"):
        u, w = (array * {"huge": 1e200, "tiny": 1e-200}[kind] for array in (u, w))
    if kind == "mixed":
        u, w = (array * 10.0 ** rng.integers(-6, 7, array.shape) for array in (u, w))
    if kind == "single":
        u, w = u.astype(np.float32), w.astype(np.float32)
    return u, w, edges


def best_scores(unary, pairwise, edges):
    z = (np.arange(2 ** unary.shape[1])[:, None] >> np.arange(unary.shape[1]) & 1).astype(float)
    both = z[:, edges[:, 0]] * z[:, edges[:, 1]]
    return (unary.astype(float) @ z.T + pairwise.astype(float) @ both.T).max(axis=1)


def check(problem, z, best, share=1.0):
    score = problem.to_host().score_flat(np.asarray(z))
    rounding = 4 * problem.to_host().rounding
    assert set(np.unique(z)) <= {0, 1}
    assert z.shape == (problem.batch, problem.n)
    assert np.all(score <= best + rounding)
    assert (score >= best - rounding).mean() >= share


@pytest.mark.spread(18)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 12])
def test_host_search_finds_small_maxima(kind, n):
    rng = np.random.default_rng([n, KINDS.index(kind)])
    unary, pairwise, edges = instances(kind, n, 60, rng)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    z = tabu_search(problem.unary, problem.pairwise, problem.edges, starts=8, seed=1, flips=100)
    assert z.dtype == np.int8
    check(problem, z, best_scores(unary, pairwise, edges))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [33, 70])
def test_host_search_is_reproducible_and_ignores_threads(kind, n):
    unary, pairwise, edges = instances(kind, n, 9, np.random.default_rng(n))
    one = tabu_search(unary, pairwise, edges, starts=20, seed=5, threads=1)
    two = tabu_search(unary, pairwise, edges, starts=20, seed=5, threads=3)
    alone = tabu_search(unary[:2], pairwise[:2], edges, starts=20, seed=5, threads=1)
    assert np.array_equal(one, two)
    assert np.array_equal(one[:2], alone)


@pytest.mark.parametrize("kind", KINDS)
def test_host_search_beats_no_flip_and_scales(kind):
    """No single flip improves the answer, and a power of two changes nothing."""
    unary, pairwise, edges = instances(kind, 40, 9, np.random.default_rng(4))
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    z = tabu_search(unary, pairwise, edges, starts=4, seed=0)
    score = problem.score_flat(z)
    for i in range(problem.n):
        other = z.copy()
        other[:, i] ^= 1
        # int32 gains may call a flip even that is better by 40 units of 2^-30 of a variable's
        # scores.
        assert np.all(problem.score_flat(other) <= score + 1e-7 * problem.magnitude)
    assert np.array_equal(z, tabu_search(unary * 4, pairwise * 4, edges, starts=4, seed=0))


def test_host_search_needs_no_edges_and_takes_a_time_limit():
    unary = np.array([[1.0, -2.0, 3.0]])
    nothing = np.zeros((1, 0)), np.zeros((0, 2), np.int64)
    assert tabu_search(unary, *nothing).tolist() == [[1, 0, 1]]
    assert tabu_search(unary, *nothing, deadline=Deadline.after(0.0)).tolist() == [[1, 0, 1]]
    assert tabu_search(unary, *nothing, deadline=Deadline.after(0.02)).tolist() == [[1, 0, 1]]


def test_host_search_starts_from_even_random_states():
    """Without scores an answer is the first state, or its complement: the one with fewer ones."""
    batch, n = 400, 50
    z = tabu_search(np.zeros((batch, n)), np.zeros((batch, 0)), np.zeros((0, 2), np.int64), 1, 3)
    fewer = np.minimum(np.arange(n + 1), n - np.arange(n + 1))
    share = np.array([comb(n, ones) for ones in range(n + 1)]) / 2.0**n
    mean = share @ fewer
    deviation = np.sqrt(share @ (fewer - mean) ** 2 / batch)
    assert abs(z.sum(axis=1).mean() - mean) < 5 * deviation


@pytest.mark.slow
def test_host_search_on_fifty_variables():
    """A short search finds what a long one does."""
    rng = np.random.default_rng(6)
    unary, pairwise, edges = instances("float", 50, 100, rng)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    long = problem.score_flat(tabu_search(unary, pairwise, edges, starts=60, seed=9, flips=1000))
    short = problem.score_flat(tabu_search(unary, pairwise, edges, starts=4, seed=0))
    assert np.all(short <= long + problem.rounding)
    assert (short >= long - problem.rounding).mean() >= 0.97


@pytest.mark.spread(24)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n", "asarray"),
    [
        *((n, np.asarray) for n in (1, 2, 6, 12)),
        *((n, torch.asarray) for n in (1, 6)),
        (6, array_api_strict.asarray),
    ],
)
def test_device_search_finds_small_maxima(kind, n, asarray):
    unary, pairwise, edges = instances(kind, n, 20, np.random.default_rng([n, KINDS.index(kind)]))
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    if asarray is not np.asarray:
        problem = replace(problem, unary=asarray(problem.unary), pairwise=asarray(problem.pairwise))
    z = device_tabu(problem, starts=6, seed=1, rounds=2)
    assert type(z) is type(problem.unary)
    z = np.asarray(z) if asarray is not array_api_strict.asarray else np.from_dlpack(z)
    check(
        Problem.from_arrays(unary, pairwise, edges=edges),
        z,
        best_scores(unary, pairwise, edges),
        0.95,
    )


def test_device_search_is_reproducible_and_takes_a_time_limit():
    unary, pairwise, edges = instances("float", 40, 5, np.random.default_rng(0))
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    one, two = (device_tabu(problem, starts=4, seed=3, rounds=2) for _ in range(2))
    assert np.array_equal(one, two)
    forever = device_tabu(
        problem, starts=4, flips=10**6, rounds=10**6, deadline=Deadline.after(0.05)
    )
    assert (problem.score_flat(forever) > 0).all()
    assert device_tabu(problem, starts=4, deadline=Deadline.after(0.05)).shape == (5, 40)


def test_device_and_host_agree_on_fifty_variables():
    unary, pairwise, edges = instances("float", 50, 30, np.random.default_rng(6))
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    host = problem.score_flat(tabu_search(unary, pairwise, edges, starts=30, seed=9, flips=500))
    device = problem.score_flat(device_tabu(problem, starts=8, rounds=2))
    assert (np.abs(device - host) <= problem.rounding).mean() >= 0.95
