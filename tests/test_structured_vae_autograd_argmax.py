"""Structures whose argmax is a gradient of a dynamic program, wherever they are asked."""

import pytest
import torch
from enumeration import seeded

from models import Potentials
from structured_vae import (
    ArgmaxLayer,
    Direct,
    DirectLoss,
    Hamming,
    ImplicitMLE,
    ImplicitMLELoss,
    PerturbedFenchelYoung,
    StructuredHinge,
    StructuredPerceptron,
)
from structured_vae.estimators import PerturbedArgmax


class NoNeighbours:
    """States without two neighbouring ones, by the gradient of the best score."""

    def argmax(self, scores):
        leaf = scores.detach().double().requires_grad_()
        without, with_last = torch.zeros_like(leaf[..., 0]), torch.full_like(leaf[..., 0], -1e9)
        for score in leaf.unbind(dim=-1):
            without, with_last = torch.maximum(without, with_last), without + score
        (z,) = torch.autograd.grad(torch.maximum(without, with_last).sum(), leaf)
        return z.to(scores)


TARGET = torch.tensor([[1.0, 0, 1, 0, 0], [0, 0, 1, 0, 1], [0, 1, 0, 0, 1]])
SCORES = torch.randn(3, 5, generator=seeded())
S = NoNeighbours()

USES = {
    "layer": lambda u: (ArgmaxLayer(S, seed=None)(u) - TARGET).square().sum(),
    "layer with noise": lambda u: (ArgmaxLayer(S)(u) - TARGET).square().sum(),
    "straight through": lambda u: (ArgmaxLayer(S, "straight_through")(u) - TARGET).square().sum(),
    "layer with a cost": lambda u: ArgmaxLayer(S)(u, cost=Hamming(TARGET)).surrogate.sum(),
    "perceptron": lambda u: StructuredPerceptron(S)(u, target=TARGET).sum(),
    "hinge": lambda u: StructuredHinge(S)(u, target=TARGET).sum(),
    "perturbed": lambda u: PerturbedFenchelYoung(S)(u, target=TARGET, generator=seeded()).sum(),
    "direct loss": lambda u: DirectLoss(S)(u, target=TARGET).sum(),
    "implicit MLE loss": lambda u: ImplicitMLELoss(S)(u, target=TARGET).sum(),
}

ESTIMATORS = {
    "direct": Direct(S),
    "implicit MLE": ImplicitMLE(S),
    "perturbed argmax": PerturbedArgmax(S),
}


def best_scores(scores):
    """The highest score of a state without neighbouring ones, by trying all."""
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 5)
    allowed = states[(states[:, 1:] * states[:, :-1]).sum(dim=1) == 0]
    return (scores @ allowed.T).amax(dim=-1)


@pytest.mark.parametrize("use", USES)
def test_layers_and_losses_learn_through_it(use):
    leaf = SCORES.clone().requires_grad_()
    USES[use](leaf).backward()
    assert leaf.grad.isfinite().all()
    assert leaf.grad.any()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_learn_through_it(name):
    leaf = SCORES.clone().requires_grad_()
    estimate = ESTIMATORS[name](Potentials(leaf), lambda z: (z - TARGET).square().sum(-1), seeded())
    estimate.surrogate.sum().backward()
    assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_it_is_asked_in_any_mode(mode):
    with mode():
        z = ArgmaxLayer(S, seed=None)(SCORES.clone())
    torch.testing.assert_close((z * SCORES).sum(dim=-1), best_scores(SCORES))


@pytest.mark.spread(1)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "module", [StructuredHinge(S), ImplicitMLELoss(S, seed=None), DirectLoss(S)]
)
def test_compiled_code_asks_it_too(backend, module):
    torch.compiler.reset()
    grads = []

    def loss(scores):
        return module(scores, target=TARGET).sum()

    for function in (loss, torch.compile(loss, backend=backend, fullgraph=True)):
        leaf = SCORES.clone().requires_grad_()
        function(leaf).backward()
        grads.append(leaf.grad)
    torch.testing.assert_close(*grads)
    assert grads[0].any()
