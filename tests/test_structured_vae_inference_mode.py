"""Marginals are gradients of log Z, and are computed in `torch.inference_mode` too."""

import pytest
import torch

from models import Potentials
from structured_vae import (
    Arborescences,
    Gibbs,
    GibbsLikelihood,
    Knapsack,
    KOfN,
    LinearChainCRF,
    PairwiseCRF,
    Paths,
    SpanningTrees,
)

EDGES = [[0, 1], [1, 2]]
TAGS = torch.tensor([[0, 1, 2], [2, 1, 0]])
MASK = torch.tensor([[True, True, True], [False, True, True]])
STRUCTURES = {
    "subset": lambda: KOfN(2),
    "knapsack": lambda: Knapsack([1, 2, 1], capacity=3),
    "trees": lambda: SpanningTrees([[0, 1], [1, 2], [0, 2]]),
    "arborescences": lambda: Arborescences([[0, 1], [0, 2], [1, 2]]),
    "paths": lambda: Paths([[0, 1], [1, 2], [0, 2]], 0, 2),
}


def check(compute, *arrays):
    """Compare the values in inference mode, of tensors made there and outside, with the usual."""
    expected = compute(*arrays)
    with torch.inference_mode():
        outside = compute(*arrays)
        inside = compute(*(array.clone() for array in arrays))
    torch.testing.assert_close(outside, expected.detach())
    torch.testing.assert_close(inside, expected.detach())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_marginals_of_chains(dtype):
    crf = LinearChainCRF(3, batch_first=True).to(dtype)
    emissions = torch.randn(2, 3, 3, dtype=dtype)
    check(crf.marginals, emissions)
    check(crf.marginals, emissions, MASK)
    check(crf.pair_marginals, emissions, MASK)
    check(lambda *arrays: crf(*arrays, label_smoothing=0.3), emissions, TAGS, MASK)


def test_marginals_of_graphs():
    crf = PairwiseCRF(3, 3, EDGES)
    torch.nn.init.normal_(crf.pairwise)
    unary = torch.randn(2, 3, 3)
    check(crf.marginals, unary)
    check(crf.pair_marginals, unary)
    check(lambda *arrays: crf(*arrays, label_smoothing=0.3), unary, TAGS)


@pytest.mark.parametrize("make", STRUCTURES.values(), ids=STRUCTURES.keys())
def test_marginals_of_structures_made_anywhere(make):
    structure = make()
    scores = torch.randn(2, 3)
    check(lambda x: structure.gibbs(x).marginals, scores)
    check(lambda x: make().gibbs(x).marginals, scores)
    check(structure.argmax, scores)
    target = structure.argmax(scores)
    check(lambda x: GibbsLikelihood(structure)(x, target=target), scores)
    check(lambda x: Gibbs(Potentials(x), structure=structure).kl().value, scores)
