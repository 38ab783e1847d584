"""
The largest cut of a graph
==========================

This example splits the vertices of a graph into two sides, so that as many edges as possible join
the two. This is the *maximum cut*. ``solve`` proves the maximum cut of a small graph. On a large
graph, it finds a good cut, and an upper bound on the maximum.
"""

# %%
# A proved maximum
# ----------------
#
# The graph has 60 vertices with three edges each. ``select_solver`` names the solver for a problem
# and says why it was chosen.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from solvers import select_solver, solve
from solvers.conversions import from_max_cut

graph = nx.random_regular_graph(3, 60, seed=1)
cut = from_max_cut(60, list(graph.edges))
selection = select_solver(cut.problem)
print(f"{selection.solver.name}: {selection.reason}")

answer = solve(cut)
print(f"{answer.value:g} of {graph.number_of_edges()} edges cut, proved: {answer.optimal}")

# %%
# The colours are the two sides. Red edges join vertices of the same side, so they are not cut.

side = answer.assignment
figure, axes = plt.subplots(figsize=(6, 5))
nx.draw_networkx(
    graph,
    pos=nx.spring_layout(graph, iterations=300, seed=3),
    ax=axes,
    with_labels=False,
    node_size=90,
    node_color=["tab:orange" if side[vertex] else "tab:blue" for vertex in graph],
    edge_color=["tab:red" if side[a] == side[b] else "0.75" for a, b in graph.edges],
    width=[2.0 if side[a] == side[b] else 1.0 for a, b in graph.edges],
)
axes.axis("off")

# %%
# Too large for a proof
# ---------------------
#
# The second graph is random, with 800 vertices and about 19,000 edges. Within five seconds,
# ``solve`` finds a good cut, but no proof. A semidefinite relaxation gives an upper bound on all
# cuts. A random cut has half of the edges on average. We print how much larger our cut is, and how
# much larger the maximum can be at most.

random = np.random.default_rng(0)
pairs = np.argwhere(np.triu(random.random((800, 800)) < 0.06, 1))
large = from_max_cut(800, pairs)
half = len(pairs) / 2
answer = solve(large, time_limit=5.0)
print(f"cut: {100 * (answer.value / half - 1):.1f} % larger than a random cut")
print(f"maximum: at most {100 * (answer.bound / half - 1):.1f} % larger")
print(f"proved: {answer.optimal}, by {answer.solution.solver}")
