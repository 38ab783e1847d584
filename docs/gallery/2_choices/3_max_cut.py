"""
The largest cut of a graph
==========================

Split the vertices of a graph in two so that as much weight as possible runs between the parts. The
small graph is solved with a proof; the large one by local search, with a bound on how far from the
maximum it can be.
"""

# %%
# A proved maximum
# ----------------
#
# Sixty vertices with three edges each. ``select_solver`` says which backend the problem will be
# given to, and why.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from solvers import select_solver, solve
from solvers.conversions import from_max_cut

graph = nx.random_regular_graph(3, 60, seed=1)
cut = from_max_cut(60, list(graph.edges))
problem = cut.problem
print(select_solver(problem).solver.name, "-", select_solver(problem).reason)

solution = solve(problem.unary[0], problem.pairwise[0], edges=problem.edges)
print(
    f"{float(cut.value(solution.score)):g} of {graph.number_of_edges()} edges cut, proved: {bool(solution.optimal)}"
)

# %%
# The edges that are not cut join vertices of the same colour.

side = solution.z
kept = [side[a] == side[b] for a, b in graph.edges]
figure, axes = plt.subplots(figsize=(6, 5))
nx.draw_networkx(
    graph,
    pos=nx.spring_layout(graph, iterations=300, seed=3),
    ax=axes,
    with_labels=False,
    node_size=90,
    node_color=["tab:blue" if part else "tab:orange" for part in side],
    edge_color=["tab:red" if same else "0.75" for same in kept],
    width=[2.0 if same else 1.0 for same in kept],
)
axes.axis("off")

# %%
# Too large for a proof
# ---------------------
#
# A random graph of 800 vertices and some 19,000 edges. ``local_search`` gives the best cut that it
# finds, and says ``optimal`` only where there is a proof, so never here. A longer time limit helps
# a little. These are a tenth of a second, and half a second:

random = np.random.default_rng(0)
pairs = np.argwhere(np.triu(random.random((800, 800)) < 0.06, 1))
large = from_max_cut(800, pairs)
half = len(pairs) / 2
for seconds in (0.1, 0.5):
    found = solve(
        large.problem.unary[0],
        large.problem.pairwise[0],
        edges=large.problem.edges,
        solver="local_search",
        time_limit=seconds,
    )
    share = float(large.value(found.score)) / half - 1
    print(f"{100 * share:.1f} % above a random cut; proved: {bool(found.optimal)}")
