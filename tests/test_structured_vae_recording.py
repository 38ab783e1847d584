"""Exports and traces: a layer, a loss, a structure or a CRF refuses to lose its solver."""

import logging
import tempfile

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from structured_vae import (
    ArgmaxLayer,
    ConfigError,
    DirectLoss,
    GibbsLikelihood,
    ImplicitMLELoss,
    KOfN,
    LinearChainCRF,
    PairwiseCRF,
    StructuredHinge,
)

SCORES = torch.tensor([[1.0, -1.0, 2.0, 0.5], [0.3, 0.2, -0.4, 1.0]])
TARGET = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]])


class Network(torch.nn.Module):
    """A linear map, and then what is asked about its scores."""

    def __init__(self, head, last):
        super().__init__()
        self.linear, self.head, self.last = torch.nn.Linear(4, 4), head, last

    def forward(self, x):
        return self.last(self.head, self.linear(x))


class Structured(torch.nn.Module):
    """A structure as a module."""

    def __init__(self, structure):
        super().__init__()
        self.structure = structure

    def forward(self, x):
        return self.structure.argmax(x)


def tags(scores):
    return torch.zeros(scores.shape[:2], dtype=torch.long)


HEADS = {
    "layer": (ArgmaxLayer(seed=None), lambda layer, x: layer(x)),
    "layer with noise": (ArgmaxLayer(), lambda layer, x: layer(x)),
    "straight through": (ArgmaxLayer(estimator="straight_through"), lambda layer, x: layer(x)),
    "layer of a structure": (ArgmaxLayer(KOfN(2)), lambda layer, x: layer(x)),
    "layer with a cost": (
        ArgmaxLayer(),
        lambda layer, x: layer(x, cost=lambda z: z.sum(-1)).surrogate,
    ),
    "solve": (ArgmaxLayer(), lambda layer, x: layer.solve(x)[0]),
    "hinge": (StructuredHinge(), lambda loss, x: loss(x, target=TARGET)),
    "direct": (DirectLoss(), lambda loss, x: loss(x, target=TARGET)),
    "implicit MLE": (ImplicitMLELoss(), lambda loss, x: loss(x, target=TARGET)),
    "likelihood": (GibbsLikelihood(), lambda loss, x: loss(x, target=TARGET)),
    "structure": (Structured(KOfN(2)), lambda structure, x: structure(x)),
    "chain": (
        LinearChainCRF(2, batch_first=True),
        lambda crf, x: crf(x.reshape(2, 2, 2), tags(x[:, :2])),
    ),
    "chain's solution": (
        LinearChainCRF(2, batch_first=True),
        lambda crf, x: crf.solve(x.reshape(2, 2, 2)).labels,
    ),
    "graph": (PairwiseCRF(2, 2, [[0, 1]]), lambda crf, x: crf.decode(x.reshape(2, 2, 2))),
}

WAYS = {
    "export": lambda network: torch.export.export(network, (SCORES,)),
    "draft_export": lambda network: torch.export.draft_export(network, (SCORES,)),
    "trace": lambda network: torch.jit.trace(network, (SCORES,), check_trace=False),
    "make_fx": lambda network: make_fx(network)(SCORES),
    "symbolic_trace": torch.fx.symbolic_trace,
}


@pytest.fixture
def closed_logs(tmp_path, monkeypatch):
    """Close the log of `draft_export`, which torch leaves open where an export fails.

    Garbage collection would find the open file later, and fail the test that runs by then.
    """
    handlers = []
    add_handler = logging.Logger.addHandler

    def remember(logger, handler):
        handlers.append(handler)
        add_handler(logger, handler)

    monkeypatch.setattr(logging.Logger, "addHandler", remember)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where torch writes the log
    yield
    for handler in handlers:
        handler.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.usefixtures("closed_logs")
@pytest.mark.filterwarnings("ignore")  # torch's, of what it records
def test_recordings_are_refused(head, way):
    with pytest.raises(ConfigError, match=r"cannot be exported or traced.*export the network"):
        WAYS[way](Network(*HEADS[head]))


@pytest.mark.filterwarnings("ignore")
def test_strict_export_and_scripts_are_refused_in_our_words():
    with pytest.raises(Exception, match="ArgmaxLayer cannot be exported"):
        torch.export.export(Network(*HEADS["layer"]), (SCORES,), strict=True)
    for network in (ArgmaxLayer(), torch.nn.Sequential(torch.nn.Linear(4, 4), StructuredHinge())):
        with pytest.raises(ConfigError, match=r"torch\.jit\.script"):
            torch.jit.script(network)


def test_a_number_of_another_process_finds_no_solver_here():
    layers = [ArgmaxLayer(KOfN(1), seed=None) for _ in range(100)]
    for number in range(200):  # as programs have them that were exported before this was refused
        with pytest.raises(ConfigError, match="exported with a layer or a loss inside"):
            torch.ops.structured_vae.argmax(SCORES, None, None, number)
    numbers = {layer._number for layer in layers}
    assert len(numbers) == 100
    assert min(numbers) > 2**40
