"""Calls of solvers inside of code that `torch.compile` compiles: they run between two graphs."""

import pytest
import torch
from enumeration import seeded

from solvers import gibbs, prepare, solve, solve_labels
from solvers.graph_breaks import between_graphs

EDGES = [[0, 1], [1, 2], [2, 3]]
PREPARED = prepare(edges=EDGES, n=4)

CALLS = {
    "edges": lambda u, w: solve(u, w, edges=EDGES).z,
    "matrix": lambda u, w: solve(u, torch.diag_embed(w, 1)).score,
    "numpy": lambda u, w: torch.from_numpy(solve(u.numpy()).z),
    "prepared": lambda u, w: PREPARED(u, w).z,
    "prepare": lambda u, w: prepare(edges=EDGES, n=4)(u, w).z,
    "gibbs": lambda u, w: gibbs(u, w, edges=EDGES).log_partition,
    "labels": lambda u, w: solve_labels(torch.stack([u, -u], dim=-1)).labels,
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", CALLS)
def test_compiled_code_breaks_its_graph_at_the_call(name):
    torch.compiler.reset()
    graphs = []

    def counted(graph, inputs):
        graphs.append(graph)
        return graph.forward

    def function(unary, pairwise):
        return CALLS[name](2 * unary, pairwise) + unary.sum()

    unary = torch.randn(2, 4, generator=seeded(0), dtype=torch.float64)
    pairwise = torch.randn(2, 3, generator=seeded(1), dtype=torch.float64)
    result = torch.compile(function, backend=counted)(unary, pairwise)
    assert torch.equal(result, function(unary, pairwise))
    assert len(graphs) <= 4, "torch compiles the code around the call, and no solver"


def test_a_full_graph_raises_an_error_that_says_what_to_do():
    """The call is wrapped anew, since the first compiled call differs from later ones."""
    new = between_graphs(solve.__wrapped__)

    def function(unary):
        return new(unary).z + 1

    def refused():
        torch.compiler.reset()
        with pytest.raises(torch._dynamo.exc.Unsupported, match="leave out fullgraph=True"):
            torch.compile(function, backend="eager", fullgraph=True)(torch.ones(3))

    refused()
    assert torch.compile(function, backend="eager")(torch.ones(3)).tolist() == [2, 2, 2]
    refused()
