"""Graphs of networkx and of igraph: weights alone, parallel edges, directions and cuts."""

import itertools

import numpy as np
import pytest
from optional import optional

from solvers import ProblemError, solve
from solvers.conversions import from_igraph, from_networkx

networkx = optional("networkx")
igraph = optional("igraph")
torch = optional("torch")

EDGES = [("a", "b", 2.0), ("b", "c", -1.0), ("a", "b", 3.0), ("b", "a", 0.5), ("c", "c", 4.0)]


def cut_of(state, directed):
    """The weight between the two sides; from the side of a alone if directed."""
    total = 0.0
    for u, v, weight in EDGES:
        if directed:
            total += weight * (state[u] and not state[v])
        else:
            total += weight * (state[u] != state[v])
    return total


def graph_of_igraph(directed, attribute="weight", names=True):
    places = {"a": 0, "b": 1, "c": 2}
    graph = igraph.Graph(3, [(places[u], places[v]) for u, v, _ in EDGES], directed=directed)
    graph.es[attribute] = [
        abs(weight) if attribute == "capacity" else weight for *_, weight in EDGES
    ]
    if names:
        graph.vs["name"] = ["a", "b", "c"]
    return graph


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_every_class_of_graph_adds_its_parallel_edges(kind):
    graph = getattr(networkx, kind)()
    graph.add_weighted_edges_from(EDGES)
    kept = list(graph.edges(data="weight"))
    scores = from_networkx(graph)  # weights alone are scores
    cut = from_networkx(graph, kind="max_cut")
    for state in itertools.product((0, 1), repeat=3):
        z = dict(zip("abc", state, strict=True))
        assert scores.objective(state) == sum(w * z[u] * z[v] for u, v, w in kept)
        assert cut.objective(state) == sum(w for u, v, w in kept if z[u] != z[v])


@pytest.mark.parametrize("directed", [False, True])
def test_graphs_of_igraph_are_those_of_networkx(directed):
    graph = graph_of_igraph(directed)
    cut = from_igraph(graph, kind="max_cut")
    scores = from_igraph(graph)
    assert tuple(cut.names) == ("a", "b", "c")
    for state in itertools.product((0, 1), repeat=3):
        z = dict(zip("abc", state, strict=True))
        assert cut.objective(state) == cut_of(z, directed=False)
        assert scores.objective(state) == sum(w * z[u] * z[v] for u, v, w in EDGES)
    graph.vs["unary"] = [1.0, -1.0, 0.0]
    assert from_igraph(graph).objective([1, 1, 0]) == 5.5
    graph.es["weight"] = None
    assert from_igraph(graph, kind="max_cut").objective([1, 0, 0]) == 3.0


@pytest.mark.parametrize("directed", [False, True])
def test_minimum_cuts_of_igraph_are_those_of_its_own_flow(directed):
    generator = np.random.default_rng(0)
    graph = igraph.Graph.Full(7, directed=directed)
    graph.es["capacity"] = generator.integers(1, 20, graph.ecount()).tolist()
    answer = solve(from_igraph(graph, kind="min_cut", source=0, sink=6))
    assert answer.value == graph.maxflow_value(0, 6, capacity="capacity")
    assert answer.optimal


def test_an_edge_without_a_capacity_is_never_cut():
    graph = igraph.Graph([(0, 1), (1, 2)], directed=True)
    graph.es["capacity"] = [None, 3.0]
    answer = solve(from_igraph(graph, kind="min_cut", source=0, sink=2))
    assert (answer.value, answer.assignment[1]) == (3.0, 1)


def test_faults_of_graphs_of_igraph_are_named():
    with pytest.raises(ProblemError, match="expected an igraph graph"):
        from_igraph(networkx.path_graph(3))
    graph = graph_of_igraph(False)
    graph.vs["name"] = ["a", "a", "b"]
    with pytest.raises(ProblemError, match="two vertices have one name"):
        from_igraph(graph)
    graph.vs["name"] = ["a", "b", "c"]
    graph.es["weight"] = [1.0, None, 1.0, 1.0, 1.0]
    with pytest.raises(ProblemError, match=r"\(b, c\).*has no score"):
        from_igraph(graph)
    with pytest.raises(ProblemError, match="from_igraph"):
        solve(graph)


def test_an_attribute_that_is_no_number_is_refused():
    graph = networkx.path_graph(3)
    networkx.set_node_attributes(graph, torch.zeros((), device="meta"), "unary")
    with pytest.raises(ProblemError, match="unary"):
        from_networkx(graph)
