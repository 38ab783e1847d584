"""Modules without numbers, on the device meta, and their numbers afterwards."""

import copy

import pytest
import torch
from enumeration import seeded
from torch import nn

from models import gibbs_prior, paper_vae, quantised_vae
from models.priors import (
    MADE,
    AutoregressivePrior,
    CausalLinear,
    FlowPrior,
    MixturePrior,
    gaussian_network,
)
from structured_vae import (
    ArgmaxLayer,
    DirectLoss,
    LinearChainCRF,
    PairwiseCRF,
    StructuredHinge,
    tag_rules,
)
from structured_vae.errors import ConfigError

IMAGES = torch.rand((2, 6), generator=seeded(0))
SCORES = torch.randn((2, 4, 3), generator=seeded(1))
BITS = (torch.rand((5, 3), generator=seeded(2)) < 0.5).float()
PAIRS = torch.tensor([[0, 1], [1, 2]])
WEIGHTS = torch.tensor([1.0, 2.0, 3.0])
EDGES = [[0, 1], [1, 2], [2, 3]]
RULES = tag_rules(["O", "B-x", "I-x"], "BIO")


def potentials(vae):
    encoded = vae.encoder(IMAGES)
    return encoded.score((encoded.unary > 0).float())


def log_prob(prior):
    return prior.log_prob(BITS)


def loss_of(module):
    target = torch.ones(1, 3)
    return module(torch.zeros(1, 3), target=target)


MODULES = {
    "chain with rules": (
        lambda: LinearChainCRF(3, batch_first=True, rules=RULES),
        lambda crf: crf.log_partition(SCORES),
    ),
    "graph": (
        lambda: PairwiseCRF(4, 3, EDGES, groups=[0, 1, 0]),
        lambda crf: crf.marginals(SCORES),
    ),
    "bits with pairs": (lambda: paper_vae("general", n=3, hidden=4, pixels=6), potentials),
    "categories": (
        lambda: paper_vae("categorical", variables=2, k=3, hidden=4, pixels=6, couplings="general"),
        potentials,
    ),
    "quantised": (
        lambda: quantised_vae(n=4, hidden=4),
        lambda vae: vae.eval().decoder(torch.ones(1, 4)),
    ),
    "prior of pairs": (lambda: gibbs_prior(3, PAIRS), lambda prior: prior.potentials().score(BITS)),
    "linear prior": (lambda: AutoregressivePrior(CausalLinear(3, 1), "linear"), log_prob),
    "prior with a hidden layer": (
        lambda: AutoregressivePrior(MADE(3, 1, hidden=8), "made"),
        log_prob,
    ),
    "flow": (lambda: FlowPrior([gaussian_network(3)], "linear"), log_prob),
    "mixture": (lambda: MixturePrior(MADE(3, 1, hidden=8, outputs=6), "mixture"), log_prob),
    "layer": (lambda: ArgmaxLayer(seed=None), lambda layer: layer(SCORES[..., 0])),
    "hinge": (lambda: StructuredHinge(weights=WEIGHTS), loss_of),
    "direct loss": (lambda: DirectLoss(weights=WEIGHTS), loss_of),
}


def scrambled(module):
    """Return the module with other parameters, as after some training."""
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(torch.randn(parameter.shape, generator=seeded(number)))
    return module


@pytest.mark.parametrize("start", ["moved to meta", "made on meta"])
@pytest.mark.parametrize("name", MODULES)
def test_a_module_on_meta_is_right_once_its_state_dict_is_loaded(name, start):
    make, call = MODULES[name]
    module = scrambled(make())
    if start == "moved to meta":
        empty = copy.deepcopy(module).to("meta")
    else:
        with torch.device("meta"):
            empty = make()
    filled = empty.to_empty(device="cpu")
    filled.load_state_dict(module.state_dict())
    torch.testing.assert_close(call(filled), call(module))
    # `to_empty` leaves whatever lay in memory before, and that may be right by chance.
    for place, values in module.named_buffers():
        assert torch.equal(filled.get_buffer(place), values)


@pytest.mark.parametrize("name", MODULES)
def test_copies_in_another_precision_are_right(name):
    make, call = MODULES[name]
    module = scrambled(make())
    result = call(copy.deepcopy(module).double().float())
    torch.testing.assert_close(result, call(module))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", ["chain with rules", "graph"])
def test_a_random_field_is_not_scripted(name):
    make, _ = MODULES[name]
    with pytest.raises(ConfigError, match=r"compiled by torch\.jit\.script"):
        torch.jit.script(nn.Sequential(make()))


@pytest.mark.parametrize("name", ["chain with rules", "graph", "bits with pairs", "mixture"])
def test_a_state_dict_holds_no_constants(name):
    make, _ = MODULES[name]
    module = make()
    assert module.state_dict().keys() == dict(module.named_parameters()).keys()
