"""The argmax by torch, which serves devices, against the solvers of the host."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import structured_vae.spaces.bits
from models import CategoricalPotentials, Potentials, traced
from models.host_edges import HostEdges
from solvers import solve
from solvers.labels import solve as solve_labels
from structured_vae.spaces import Bits
from structured_vae.spaces.device_argmax import device_argmax, table_argmax, torch_argmax
from structured_vae.spaces.sums.forest_sums import forest_argmax


def bits(edges, n, samples=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    unary = 2 * torch.randn(samples, 4, n, generator=generator)
    pairwise = 3 * torch.randn(4, len(pairs), generator=generator)
    return Potentials(unary, pairwise, torch.from_numpy(pairs), host_edges=HostEdges(pairs))


def tree(n):
    return [(max(0, i - 1 - i % 3), i) for i in range(1, n)]


def assert_best(h, z):
    best = solve(h.unary, h.pairwise, edges=h.edge_array())
    assert best.optimal.all()
    assert z.shape == h.unary.shape
    torch.testing.assert_close(h.score(z.float()).double(), best.score, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [2, 11, 70])
def test_the_argmax_on_a_forest_is_optimal(n):
    h = bits(tree(n), n)
    assert_best(h, forest_argmax(h))


@pytest.mark.parametrize("edges", [tree(12), [(0, 1), (1, 2), (0, 2)]], ids=["forest", "cycle"])
def test_torch_finds_the_optimum_of_bits(edges):
    h = bits(edges, 12)
    z = torch_argmax(h, Bits().argmax)
    assert z.dtype == h.unary.dtype
    assert_best(h, z)
    assert device_argmax(h, Bits().argmax) is None  # on the host, solvers are faster


def test_a_table_has_the_optimum_of_labels():
    generator = torch.Generator().manual_seed(0)
    edges = torch.tensor([[0, 1], [1, 2]])
    unary = torch.randn(5, 9, generator=generator)
    pairwise = torch.randn(5, 18, generator=generator)
    h = CategoricalPotentials(unary, pairwise, edges, 3)
    best = solve_labels(h.apart(unary), h.tables(), edges=edges)
    score = h.score(table_argmax(h).float())
    torch.testing.assert_close(score.double(), best.score, rtol=1e-5, atol=1e-5)


def test_large_problems_without_a_forest_are_left_to_solvers():
    h = bits([*tree(21), (19, 20), (5, 20)], 21)
    assert torch_argmax(h, Bits().argmax) is None


@pytest.mark.parametrize("edges", [None, [(0, 1)], tree(12)], ids=["none", "table", "forest"])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_scores_that_are_not_finite_are_left_to_solvers_or_give_nan(monkeypatch, edges, bad):
    h = bits(edges or [], 12)
    if edges is None:
        h = h.unary_alone()
    h.unary[1, 2, 3] = bad
    assert torch_argmax(h, Bits().argmax) is None  # a solver names the score
    monkeypatch.setattr(traced, "may_wait", lambda values: False)
    z = torch_argmax(h, Bits().argmax)
    assert z[1, 2].isnan().all()
    z[1, 2] = 0
    assert z.isfinite().all()


def test_forbidden_bits_are_off(monkeypatch):
    monkeypatch.setattr(structured_vae.spaces.bits, "device_argmax", torch_argmax)
    forbidden = torch.zeros(4, 12, dtype=torch.bool)
    forbidden[:, ::2] = True
    z = Bits().maximise(replace(bits(tree(12), 12), forbidden=forbidden))
    assert not z[..., ::2].any()
    assert z[..., 1::2].any()
