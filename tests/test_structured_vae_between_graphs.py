"""Calls that return more than tensors, inside of compiled code: between two graphs."""

import pytest
import torch
from enumeration import seeded

from structured_vae import ArgmaxLayer, Assignments, LinearChainCRF, Matchings, PairwiseCRF
from structured_vae.errors import ConfigError
from structured_vae.spaces import PairwiseLabels

LAYER = ArgmaxLayer(seed=None, epsilon=1.0)
CHAIN = LinearChainCRF(3)
RING = PairwiseCRF(4, 3, edges=[[0, 1], [1, 2], [2, 3], [3, 0]])
ASSIGNMENTS = Assignments(4, 3)
MATCHINGS = Matchings(4, 3)
LABELS = PairwiseLabels(4, 3)


def certificate(scores):
    z, solution = LAYER.solve(scores[..., 0])
    return z, solution.score, solution.optimal


def cost(scores):
    estimate = LAYER(scores[..., 0], cost=lambda z: (z.sum(dim=-1) - 2).abs())
    return estimate.surrogate, estimate.cost


CALLS = {
    "solve": certificate,
    "cost": cost,
    "decode a chain": lambda scores: torch.tensor(CHAIN.decode(scores)),
    "solve a chain": lambda scores: CHAIN.solve(scores).score,
    "decode a ring": lambda scores: RING.decode(scores),
    "solve a ring": lambda scores: RING.solve(scores).bound,
    "assign": lambda scores: ASSIGNMENTS.argmax(scores.flatten(1)),
    "match": lambda scores: MATCHINGS.argmax(scores.flatten(1)),
    "label": lambda scores: LABELS.argmax(scores.flatten(1)),
}
every_call = pytest.mark.parametrize("name", CALLS)


def scores():
    return torch.randn(2, 4, 3, generator=seeded(0), dtype=torch.float64, requires_grad=True)


@pytest.mark.spread(2)
@pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor:UserWarning"
)  # of torch's compiler
@every_call
def test_compiled_code_breaks_its_graph_at_the_call(name):
    torch.compiler.reset()
    graphs = []

    def counted(graph, inputs):
        graphs.append(graph)
        return graph.forward

    def function(values):
        return CALLS[name](2 * values)

    values = scores()
    result = torch.compile(function, backend=counted)(values)
    expected = function(values)
    torch.testing.assert_close(result, expected)
    assert graphs, "the code around the call is compiled"
    if isinstance(result, tuple) and result[0].requires_grad:
        gradients = [torch.autograd.grad(each[0].sum(), values)[0] for each in (result, expected)]
        torch.testing.assert_close(*gradients)


@every_call
def test_a_full_graph_raises_an_error_that_says_what_to_do(name):
    torch.compiler.reset()
    compiled = torch.compile(CALLS[name], backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="leave out fullgraph=True"):
        compiled(scores())


@pytest.mark.filterwarnings("ignore:.torch.jit.trace. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", ["solve", "cost"])
def test_a_trace_is_still_refused(name):
    with pytest.raises(ConfigError, match="cannot be exported or traced"):
        torch.jit.trace(CALLS[name], scores())
