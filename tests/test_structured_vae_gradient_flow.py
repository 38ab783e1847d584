"""Custom networks that do not learn are noticed in the first step of a training."""

import warnings

import pytest
import torch
from own_networks import Scores
from torch import nn

from models import DiscreteVAE, Potentials
from models.errors import NetworkError
from structured_vae import train
from structured_vae.errors import FrozenWarning

PIXELS, N = 9, 3
SMALL = {"epochs": 1, "picture_every": 0, "progress": False, "batch_size": 10, "logger": "none"}
IMAGES = {name: torch.rand(10, PIXELS) for name in ("train", "validation", "test")}


class Detached(nn.Module):
    """Returns the output of a network without its gradient."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        with torch.no_grad():
            return self.network(x)


class InAList(nn.Module):
    """Keeps its layer in a list, where torch does not look for parameters."""

    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(N, PIXELS)]

    def forward(self, z):
        return self.layers[0](z)


class Fixed(nn.Module):
    """Takes the first pixels as scores, and has no parameters."""

    def forward(self, x):
        return Potentials(x[:, :N])


def encoder():
    return Scores(PIXELS, N)


def decoder():
    return nn.Linear(N, PIXELS)


def weights(network):
    return torch.cat([weight.detach().flatten().clone() for weight in network.parameters()])


@pytest.mark.parametrize("estimator", ["direct", "score_function"])
def test_an_encoder_without_a_gradient_is_an_error_of_the_first_step(tmp_path, estimator):
    model = DiscreteVAE(Detached(encoder()), decoder())
    before = weights(model)
    with pytest.raises(NetworkError, match=r"encoder \(Detached\) got a gradient.*detach\(\)"):
        train(model=model, data=IMAGES, folder=tmp_path / "run", estimator=estimator, **SMALL)
    assert torch.equal(weights(model), before)


def test_a_decoder_without_a_gradient_is_an_error_of_the_first_step(tmp_path):
    model = DiscreteVAE(encoder(), Detached(decoder()))
    with pytest.raises(NetworkError, match=r"decoder \(Detached\) got a gradient"):
        train(model=model, data=IMAGES, folder=tmp_path / "run", **SMALL)


def test_networks_that_both_pass_no_gradient_are_an_error(tmp_path):
    model = DiscreteVAE(Detached(encoder()), Detached(decoder()))
    with pytest.raises(NetworkError, match="loss depends on no parameter"):
        train(model=model, data=IMAGES, folder=tmp_path / "run", estimator="exact", **SMALL)


def test_a_frozen_encoder_stays_as_it_is_with_a_warning(tmp_path):
    model = DiscreteVAE(encoder(), decoder())
    model.encoder.requires_grad_(False)
    before = weights(model.encoder), weights(model.decoder)
    with pytest.warns(FrozenWarning, match=r"encoder \(Scores\).*model\.encoder\.requires_grad_"):
        train(model=model, data=IMAGES, folder=tmp_path / "run", **SMALL)
    assert torch.equal(weights(model.encoder), before[0])
    assert not torch.equal(weights(model.decoder), before[1])


def test_layers_in_a_list_are_noticed(tmp_path):
    model = DiscreteVAE(encoder(), InAList())
    with pytest.warns(FrozenWarning, match=r"decoder \(InAList\) has no parameters.*ModuleList"):
        train(model=model, data=IMAGES, folder=tmp_path / "run", **SMALL)


def test_networks_without_parameters_are_an_error(tmp_path):
    model = DiscreteVAE(Fixed(), InAList())
    with pytest.raises(NetworkError, match="encoder and decoder have no parameters"):
        train(model=model, data=IMAGES, folder=tmp_path / "run", **SMALL)


def test_one_trainable_layer_is_enough(tmp_path):
    trunk = nn.Linear(PIXELS, PIXELS).requires_grad_(False)
    model = DiscreteVAE(nn.Sequential(trunk, encoder()), decoder())
    with warnings.catch_warnings():
        warnings.simplefilter("error", FrozenWarning)
        train(model=model, data=IMAGES, folder=tmp_path / "run", **SMALL)
