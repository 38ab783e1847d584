"""Calls that users of torch try: tensors without numbers, wrong shapes, transforms."""

import copy

import pytest
import torch
from enumeration import seeded

from solvers import ProblemError, solve
from structured_vae import (
    ArgmaxLayer,
    ConfigError,
    DirectLoss,
    ImplicitMLELoss,
    LinearChainCRF,
    PairwiseCRF,
    StructuredHinge,
)
from structured_vae.errors import EstimatorError, StructureError

UNARY = torch.randn(4, 3, generator=seeded())
TARGET = torch.ones(4, 3)
META = torch.ones(4, 3, device="meta")
HINGE = StructuredHinge()

WITHOUT_NUMBERS = {
    "mask": lambda: ArgmaxLayer()(UNARY, mask=META > 0),
    "target": lambda: HINGE(UNARY, target=META),
    "sparse target": lambda: HINGE(UNARY, target=TARGET.to_sparse()),
    "sample_weight": lambda: HINGE(UNARY, target=TARGET, sample_weight=META[:, 0]),
    "class_weight": lambda: HINGE(UNARY, target=TARGET, class_weight=META[0, :2]),
    "weights": lambda: StructuredHinge(weights=META[0]),
}


@pytest.mark.parametrize("name", WITHOUT_NUMBERS)
def test_tensors_without_numbers_are_named(name):
    argument = name.removeprefix("sparse ")
    with pytest.raises(ValueError, match=f"{argument} must be a dense tensor with numbers"):
        WITHOUT_NUMBERS[name]()


@pytest.mark.parametrize("shape", [(2,), (5, 3), (2, 4, 3)])
@pytest.mark.parametrize("kind", [StructuredHinge, DirectLoss])
def test_weights_of_another_shape_are_named(kind, shape):
    loss = kind(weights=torch.ones(shape))
    with pytest.raises(ConfigError, match=r"weights must be \[3\], or broadcast to \[4, 3\]; got"):
        loss(UNARY, target=TARGET)


def test_a_loss_of_states_that_is_no_function_or_returns_no_tensor_is_named():
    with pytest.raises(ConfigError, match="loss must be a function of states and targets; got 3"):
        ImplicitMLELoss(loss=3)
    with pytest.raises(ConfigError, match=r"loss must return a tensor.*; it returned None"):
        ImplicitMLELoss(loss=lambda z, y: None)(UNARY, target=TARGET)


def test_certificates_inside_of_torch_func_get_an_error_of_ours():
    layer = ArgmaxLayer(seed=None)
    with pytest.raises(EstimatorError, match=r"ArgmaxLayer.solve"):
        torch.func.vmap(lambda unary: layer.solve(unary)[0])(UNARY)
    with pytest.raises(ProblemError, match="call the solver outside of it"):
        torch.func.vmap(lambda unary: solve(unary).z)(UNARY)


@pytest.mark.parametrize(
    ("crf", "shape"),
    [
        (LinearChainCRF(3, batch_first=True), (2, 4, 3)),
        (PairwiseCRF(4, 3, edges=[[0, 1], [2, 3]]), (2, 4, 3)),
    ],
)
def test_random_fields_on_the_meta_device_say_what_to_do(crf, shape):
    moved = copy.deepcopy(crf).to("meta")
    scores = torch.randn(shape, generator=seeded())
    labels = torch.zeros(shape[:2], dtype=torch.long)
    for call in (lambda: moved(scores, labels), lambda: moved.decode(scores)):
        with pytest.raises(StructureError, match=r"parameters of .* call to_empty"):
            call()
