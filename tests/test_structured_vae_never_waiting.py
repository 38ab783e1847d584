"""Training steps that a CUDA graph can record: on a device, the host never waits for a value."""

from dataclasses import replace

import pytest
import torch
from waiting import WaitsError, never_waiting, step_of

from structured_vae import TrainConfig
from structured_vae.runs.assembly import initialised, training_of

PIXELS = 6
SMALL = TrainConfig(
    hidden=2, recipe="paper", epsilon=TrainConfig().epsilon, picture_every=0, logger="none"
)
COUPLED = ("direct", "score_function", "ram", "rodeo", "unordered_set", "vimco", "exact")
INDEPENDENT = (*COUPLED, "nvil", "muprop", "double_cv", "implicit_mle", "perturbed_argmax")
INDEPENDENT += ("adaptive_implicit_mle", "stochastic_softmax", "ovis", "reweighted_wake_sleep")
INDEPENDENT += ("arm", "disarm", "arms", "rebar", "relax", "gumbel_softmax", "gumbel_rao")
INDEPENDENT += ("straight_through", "reinmax", "reinmax_rao", "reinmax_cv", "local_disarm")
BITS = {"encoder": "independent", "n": 4}
CHAIN = {"bandwidth": 1, "n": 50, "recipe": "elbo"}
CATEGORIES = {"encoder": "categorical", "k": 4}
CHANGES = {
    **{f"{name}, independent": {**BITS, "estimator": name} for name in INDEPENDENT},
    **{f"{name}, general": {"estimator": name, "n": 4} for name in COUPLED},
    **{
        f"{name}, chain": {**CHAIN, "estimator": name}
        for name in ("direct", "ram", "score_function")
    },
    "direct, supermodular": {"encoder": "supermodular"},
    "direct, two sides": {"sides": 2},
    "direct, some flips": {**BITS, "completions": 2},
    "ram, some completions": {"estimator": "ram", "completions": 2},
    "direct, dropout": {"dropout": 0.2},
    "direct, adaptive": {"epsilon_rule": "adaptive", "n": 4},
    "score_function, autoregressive": {
        "estimator": "score_function",
        "posterior": "autoregressive",
        "recipe": "elbo",
        "n": 4,
    },
    "score_function, prior": {
        "estimator": "score_function",
        "prior": "gibbs",
        "recipe": "elbo",
        "n": 4,
    },
    **{
        f"{name}, categories": {**CATEGORIES, "estimator": name}
        for name in ("direct", "table_direct", "relax", "carms")
    },
    "direct, labels": {**CATEGORIES, "variables": 2, "couplings": "potts"},
    "ram, labels": {**CATEGORIES, "variables": 2, "couplings": "general", "estimator": "ram"},
    "gaussian": {"encoder": "gaussian"},
}


def training(change):
    config = replace(SMALL, **change)
    return training_of(config, initialised(config, PIXELS))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_training_step_never_waits_for_the_device(change):
    step_of(training(change), torch.zeros(2, PIXELS))


def test_a_step_with_labelled_images_never_waits_for_the_device():
    config = TrainConfig(model="mixture", labels=20, recipe="paper", picture_every=0, logger="none")
    images = torch.zeros(2, 784)
    classes = torch.zeros(2, dtype=torch.long)
    step_of(training_of(config, initialised(config, 784)), images, images, classes)


def test_a_step_that_waits_is_noticed():
    with pytest.raises(RuntimeError, match="meta"):
        step_of(training({"estimator": "sparse_map"}), torch.zeros(2, PIXELS))


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + torch.ones(3),
        lambda x: torch.eye(3).to(x),
        lambda x: torch.tensor([1.0], device=x.device),
        lambda x: x[[0, 1]],
        lambda x: x[torch.tensor([0, 1])],
        lambda x: torch.nn.functional.one_hot(x.long(), 4),
        lambda x: x.new_tensor([1.0]),
        lambda x: x[x > 0],
        lambda x: x.cpu(),
        lambda x: x.tolist(),
        lambda x: bool(x.sum() > 0),
        lambda x: x.nonzero(),
    ],
)
def test_operations_that_wait_raise(operation):
    x = torch.zeros(3, device="meta")
    with pytest.raises((WaitsError, RuntimeError, NotImplementedError)), never_waiting():
        operation(x)
