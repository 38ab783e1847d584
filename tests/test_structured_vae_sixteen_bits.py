"""Scores in 16 bits: sums and differences are taken in more, and gradients that overflow reach the loss scale."""

from dataclasses import replace

import pytest
import torch
from enumeration import seeded

from models import CategoricalPotentials, Potentials
from structured_vae import (
    ArgmaxLayer,
    CostOfBits,
    Direct,
    DirectLoss,
    Gibbs,
    GibbsLikelihood,
    ImplicitMLE,
    ImplicitMLELoss,
    KOfN,
    LinearChainCRF,
    PairwiseCRF,
    PerturbedFenchelYoung,
    Relative,
    StructuredHinge,
    StructuredPerceptron,
)
from structured_vae.spaces import PairwiseLabels

HALVES = [torch.float16, torch.bfloat16]
every_half = pytest.mark.parametrize("dtype", HALVES)


# --- reductions and losses ------------------------------------------------------------------------


@pytest.mark.spread(6)
@every_half
@pytest.mark.parametrize("reduction", ["none", "mean", "token_mean", "sum"])
@pytest.mark.parametrize("masked", [False, True])
def test_chains_reduce_in_float64(dtype, reduction, masked):
    crf = LinearChainCRF(3, batch_first=True)
    scores, tags = torch.full((300, 400, 3), 2.0), torch.zeros((300, 400), dtype=torch.long)
    lengths = torch.randint(1, 401, (300, 1), generator=seeded())
    mask = torch.arange(400) < lengths if masked else None
    wanted = crf(scores, tags, mask, reduction)
    found = crf(scores.to(dtype), tags, mask, reduction)
    assert found.dtype == dtype
    # minus infinity where a sum is beyond the type
    torch.testing.assert_close(found, wanted.to(dtype))
    if reduction != "sum":
        assert found.isfinite().all()


@pytest.mark.spread(2)
@every_half
@pytest.mark.parametrize("reduction", ["none", "mean", "token_mean", "sum"])
def test_graphs_reduce_in_float64(dtype, reduction):
    crf = PairwiseCRF(6, 3, [[i, i + 1] for i in range(5)])
    scores, target = torch.full((30_000, 6, 3), 2.0), torch.zeros((30_000, 6), dtype=torch.long)
    wanted = crf(scores, target, reduction)
    found = crf(scores.to(dtype), target, reduction)
    assert found.dtype == dtype
    torch.testing.assert_close(found, wanted.to(dtype))
    assert reduction == "sum" or found.isfinite().all()


LOSSES = {
    "perceptron": StructuredPerceptron(),
    "hinge": StructuredHinge(),
    "perturbed": PerturbedFenchelYoung(sigma=1e-4),
    "direct": DirectLoss(),
    "implicit MLE": ImplicitMLELoss(seed=None),
    "likelihood": GibbsLikelihood(),
}


@every_half
@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_the_same_scores_in_float64(dtype, name):
    unary = (200 * torch.randn(8, 12, generator=seeded())).to(dtype)
    pairwise = (200 * torch.randn(8, 12, 12, generator=seeded(1)).triu(1)).to(dtype)
    target = ArgmaxLayer(seed=None)(
        unary + 100 * torch.randn(8, 12, generator=seeded(2)).to(dtype), pairwise
    )
    values = []
    for kind in (dtype, torch.float64):
        value = LOSSES[name](
            unary.to(kind), pairwise.to(kind), target=target.to(kind), generator=seeded()
        )
        values.append(value)
    assert values[0].dtype == dtype
    torch.testing.assert_close(values[0], values[1].to(dtype), atol=0.05, rtol=0.01)


def test_partial_sums_may_leave_the_range_of_the_type():
    """Scores of variables add up to 98,304 and those of pairs to -98,304."""
    unary = torch.full((1, 4), 24_576.0, dtype=torch.float16)
    edges = [[i, j] for i in range(4) for j in range(i)]
    pairwise = torch.full((1, 6), -16_384.0, dtype=torch.float16)
    loss = StructuredPerceptron()(unary, pairwise, edges=edges, target=torch.ones(1, 4))
    assert loss.tolist() == [32_768.0]


@every_half
def test_the_likelihood_of_a_structure_keeps_its_small_differences(dtype):
    scores = torch.full((1, 100), 30.0).to(dtype)
    target = (torch.arange(100) < 50).double()[None]
    found = GibbsLikelihood(KOfN(50))(scores, target=target)
    wanted = GibbsLikelihood(KOfN(50))(scores.double(), target=target)
    torch.testing.assert_close(found, wanted.to(dtype))


# --- gradients that are not finite ----------------------------------------------------------------


def layer_of(solver, compiled):
    layer = ArgmaxLayer(solver, seed=None)
    if not compiled:
        return layer
    torch.compiler.reset()
    return torch.compile(lambda scores: layer(2 * scores), fullgraph=True, backend="aot_eager")


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    ("bad", "compiled"),
    [(torch.inf, False), (-torch.inf, False), (torch.nan, False), (torch.inf, True)],
)
@pytest.mark.parametrize("solver", ["auto", KOfN(2)], ids=["bits", "structure"])
def test_a_gradient_that_is_not_finite_is_passed_on(bad, solver, compiled):
    scores, coming = torch.randn(4, 6, generator=seeded()), torch.randn(4, 6, generator=seeded(1))
    grads = []
    for number in (bad, 0.0):
        leaf, gradient = scores.clone().requires_grad_(), coming.clone()
        gradient[1] = torch.tensor([0.0, number, 0, 0, 0, 0])
        layer_of(solver, compiled)(leaf).backward(gradient)
        grads.append(leaf.grad)
    assert not grads[0][1].isfinite().all()
    others = [0, 2, 3]
    assert torch.equal(grads[0][others], grads[1][others])
    assert grads[0][others].any()


def test_pairs_of_such_an_instance_get_nan():
    pairwise = torch.randn(3, 5, 5, generator=seeded(1)).triu(1).requires_grad_()
    z = ArgmaxLayer()(torch.randn(3, 5, generator=seeded(), requires_grad=True), pairwise)
    z.backward(torch.tensor([[1.0] * 5, [torch.inf] * 5, [1.0] * 5]))
    assert pairwise.grad.isfinite().all(dim=(1, 2)).tolist() == [True, False, True]


class Overflows:
    """A cost whose changes overflow for the second image."""

    def __call__(self, z):
        return (z - 0.5).sum(-1) * torch.tensor([1.0, 1e38, 1.0]) * torch.tensor([1.0, 1e5, 1.0])

    def around(self, z):
        slope = torch.ones_like(z)
        slope[..., 1, :] = torch.nan
        return replace(CostOfBits(lambda states: states.sum(-1)).around(z), slope=slope)

    def table(self, states):
        return states.sum(-1)


@pytest.mark.parametrize(
    "estimator",
    [
        Direct(),
        Direct(sides=2),
        Direct(KOfN(2)),
        Direct(epsilon=Relative()),
        ImplicitMLE(),
        "layer",
    ],
    ids=["direct", "two-sided", "structure", "relative", "implicit MLE", "layer"],
)
def test_estimators_pass_on_what_a_cost_overflows_to(estimator):
    unary = torch.randn(3, 5, generator=seeded(), requires_grad=True)
    if estimator == "layer":
        estimate = ArgmaxLayer()(unary, cost=Overflows())
    else:
        estimate = estimator(Potentials(unary), Overflows(), seeded())
    estimate.surrogate.sum().backward()
    assert unary.grad.isfinite().all(dim=1).tolist() == [True, False, True]


def test_marginals_pass_it_on_too():
    unary, pairwise = (
        torch.randn(2, 3, generator=seeded(seed), requires_grad=True) for seed in (0, 1)
    )
    q = Gibbs(Potentials(unary, pairwise, torch.tensor([[0, 1], [1, 2], [0, 2]])))
    coming = torch.tensor([[1.0, 2, 3], [torch.inf, 0, 0]])
    found = torch.autograd.grad(q.marginals[0], (unary, pairwise), coming)
    assert [part.isfinite().all(dim=1).tolist() for part in found] == [[True, False]] * 2
    scores = torch.randn(2, 8, generator=seeded(), requires_grad=True)
    marginals = PairwiseLabels(2, 2, [[0, 1]]).gibbs(scores).marginals
    (found,) = torch.autograd.grad(marginals, scores, torch.tensor([[1.0] * 8, [torch.nan] * 8]))
    assert found.isfinite().all(dim=1).tolist() == [True, False]


@pytest.mark.parametrize("solver", ["auto", KOfN(2)], ids=["bits", "structure"])
def test_a_loss_scale_that_is_too_large_is_halved(solver):
    torch.manual_seed(0)
    network = torch.nn.Linear(8, 6)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    x, layer, start = torch.randn(16, 8), ArgmaxLayer(solver), scaler.get_scale()
    before = network.weight.detach().clone()
    for _ in range(10):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = 4 * (layer(network(x)) - 1).square().mean(0).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() < start
    assert network.weight.isfinite().all()
    assert not torch.equal(network.weight, before)


@pytest.mark.parametrize("categories", [False, True])
def test_conditionals_of_completions_pass_it_on_too(categories):
    edges = torch.tensor([[0, 1]])
    scores = [torch.randn(2, 4, generator=seeded(seed), requires_grad=True) for seed in (0, 1)]
    if categories:
        h = CategoricalPotentials(*scores, edges, variables=2)
        found = Gibbs(h).completions(seeded(), samples=3)
    else:
        found = Gibbs(Potentials(scores[0], scores[1][:, :1], edges)).completions(
            seeded(), samples=3
        )
    coming = torch.ones_like(found.conditionals)
    coming[2, 1] = torch.inf
    gradients = torch.autograd.grad(found.conditionals, scores, coming)
    assert [bool(part[0].isfinite().all()) for part in gradients] == [True, True]
    assert not gradients[0][1].isfinite().all()
