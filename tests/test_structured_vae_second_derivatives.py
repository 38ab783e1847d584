"""Second derivatives: right against differences, or refused, and never zero without a word."""

import pytest
import torch
from enumeration import seeded
from torch.autograd import gradgradcheck

from models import CategoricalPotentials, Potentials
from structured_vae import (
    ArgmaxLayer,
    DirectLoss,
    Gibbs,
    GibbsLikelihood,
    ImplicitMLELoss,
    KOfN,
    LinearChainCRF,
    PairwiseCRF,
    PairwiseLabels,
    PerturbedFenchelYoung,
    StructuredHinge,
)
from structured_vae.errors import EstimatorError

TRIANGLE = torch.tensor([[0, 1], [1, 2], [0, 2]])
TARGET = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], dtype=torch.float64)


def leaf(*shape, seed=0):
    return torch.randn(shape, generator=seeded(seed), dtype=torch.float64).requires_grad_()


def penalised(loss, scores):
    """The gradient of a loss with a gradient penalty, less that of the loss alone."""
    (gradient,) = torch.autograd.grad(loss, scores, create_graph=True)
    (total,) = torch.autograd.grad(loss + gradient.square().sum(), scores)
    return total - gradient


def of_bits(quantity):
    return lambda unary, pairwise: quantity(Gibbs(Potentials(unary, pairwise, TRIANGLE)))


BITS = {
    "likelihood": lambda unary, pairwise: GibbsLikelihood()(
        unary, pairwise, edges=TRIANGLE, target=TARGET
    ),
    "log Z": of_bits(lambda q: q.log_partition),
    "marginals": of_bits(lambda q: q.marginals),
    "entropy": of_bits(lambda q: q.entropy()),
    "KL": of_bits(lambda q: q.kl().value),
    "log_prob": of_bits(lambda q: q.log_prob(TARGET)),
    "both": of_bits(lambda q: (q.log_partition.square(), *q.marginals)),
}


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", BITS)
def test_second_derivatives_of_coupled_bits_are_right(name):
    assert gradgradcheck(BITS[name], (leaf(2, 3), leaf(2, 3, seed=1)))


def test_second_derivatives_of_coupled_categories_are_right():
    def sums(unary, pairwise):
        q = Gibbs(CategoricalPotentials(unary, pairwise, torch.tensor([[0, 1]]), variables=2))
        return q.log_partition, *q.marginals, q.entropy()

    assert gradgradcheck(sums, (leaf(2, 6), leaf(2, 9, seed=1)))


def chain(n):
    return torch.tensor([[i, i + 1] for i in range(n - 1)])


def test_the_likelihood_of_a_long_chain_has_second_derivatives():
    edges, target = chain(30), (leaf(1, 30, seed=2) > 0).double()

    def loss(unary, pairwise):
        return GibbsLikelihood()(unary, pairwise, edges=edges, target=target)

    assert gradgradcheck(loss, (leaf(1, 30), leaf(1, 29, seed=1)))


def test_a_penalty_on_the_gradient_of_a_likelihood_has_an_effect():
    for edges, couplings in ((None, None), (TRIANGLE, leaf(2, 3, seed=1))):
        scores = leaf(2, 3)
        loss = GibbsLikelihood()(scores, couplings, edges=edges, target=TARGET).sum()
        assert penalised(loss, scores).abs().max() > 0.01


def test_compiled_likelihoods_have_second_derivatives_too():
    torch.compiler.reset()
    pairs, likelihood = TRIANGLE.tolist(), GibbsLikelihood()

    def loss(unary, pairwise):
        return likelihood(unary, pairwise, edges=pairs, target=TARGET).sum()

    scores, couplings = leaf(2, 3), leaf(2, 3, seed=1)
    compiled = torch.compile(loss, backend="eager")
    plain = penalised(loss(scores, couplings), scores)
    torch.testing.assert_close(penalised(compiled(scores, couplings), scores), plain)


def test_crfs_have_second_derivatives():
    crf = LinearChainCRF(3, batch_first=True).double()
    tags = torch.zeros((2, 3), dtype=torch.long)
    assert gradgradcheck(lambda scores: crf(scores, tags, reduction="none"), (leaf(2, 3, 3),))
    assert gradgradcheck(crf.marginals, (leaf(2, 3, 3),))
    graph = PairwiseCRF(3, 2, [[0, 1], [1, 2]]).double()
    assert gradgradcheck(lambda scores: graph(scores, tags, "none"), (leaf(2, 3, 2),))


def third(log_partition, scores):
    (first,) = torch.autograd.grad(log_partition(scores).sum(), scores, create_graph=True)
    return penalised(first.square().sum(), scores)


REFUSED = {
    "layer": lambda u: ArgmaxLayer(seed=None)(u).square().sum(),
    "layer of a structure": lambda u: ArgmaxLayer(KOfN(1), seed=None)(u).square().sum(),
    "perturbed": lambda u: PerturbedFenchelYoung()(u, target=TARGET, generator=seeded()).sum(),
    "direct": lambda u: DirectLoss()(u, target=TARGET).sum(),
    "implicit MLE": lambda u: ImplicitMLELoss()(u, target=TARGET).sum(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sampled_gradients_refuse_a_derivative(name):
    scores = leaf(2, 3)
    loss = REFUSED[name](scores)
    (gradient,) = torch.autograd.grad(loss, scores, create_graph=True)
    with pytest.raises(EstimatorError, match="has no derivative: leave out gradient penalties"):
        (loss + gradient.square().sum()).backward()


def test_sums_of_many_states_refuse_what_they_cannot_differentiate():
    edges, couplings, scores = chain(30), leaf(1, 29, seed=1), leaf(1, 30)
    entropy = Gibbs(Potentials(scores, couplings, edges)).entropy().sum()
    with pytest.raises(EstimatorError, match="has no derivative"):
        penalised(entropy, scores)
    labels, scores = PairwiseLabels(2, 2, [[0, 1]]), leaf(2, 8)
    with pytest.raises(EstimatorError, match="PairwiseLabels has no derivative"):
        third(lambda u: labels.gibbs(u).log_partition, scores)


def test_piecewise_linear_losses_have_a_second_derivative_of_zero():
    scores = leaf(2, 3)
    loss = StructuredHinge()(scores, target=TARGET).sum() + scores.square().sum()
    plain = penalised(scores.square().sum(), scores)
    assert plain.any()
    (gradient,) = torch.autograd.grad(loss, scores, create_graph=True)
    (found,) = torch.autograd.grad(gradient.sum(), scores)
    assert torch.equal(found, torch.full_like(scores, 2.0))
