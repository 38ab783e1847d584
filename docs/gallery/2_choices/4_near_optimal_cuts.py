"""
The best cuts, and how they differ
==================================

A graph often has many cuts that are nearly as good as the best one. This example finds the 300 best
cuts with ``k_best``. They come in order, with a proof that none is missing. It then compares four
good cuts that differ much, to see which vertices are on the same side in all of them.
"""

# %%
# The 300 best cuts
# -----------------
#
# The graph has 40 vertices, and edges with weights from 1 to 9. The weight of a cut is the sum over
# its edges. If all vertices change sides, the cut stays the same. To count it once, ``fix={0: 0}``
# keeps vertex 0 on its side.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from solvers import solve
from solvers.conversions import from_networkx

graph = nx.random_regular_graph(3, 40, seed=4)
random = np.random.default_rng(0)
for a, b in graph.edges:
    graph.edges[a, b]["weight"] = int(random.integers(1, 10))
cut = from_networkx(graph, kind="max_cut")

ranked = solve(cut, k_best=300, fix={0: 0})
values = np.array([answer.value for answer in ranked])
proved = all(answer.optimal for answer in ranked)
near = values >= 0.99 * values[0]
print(f"weight of cut 1: {values[0]:g}, of cut {len(ranked)}: {values[-1]:g}, all proved: {proved}")
largest = (values == values[0]).sum()
print(f"{largest} cuts have the largest weight, {near.sum()} are within 1 % of it")

# %%
# Four cuts that differ
# ---------------------
#
# We choose four cuts among those within 1 % of the best one. The first is the best cut. Each next
# one is the cut that is farthest from all chosen before. The distance of two cuts is the number of
# vertices that change sides.

sides = np.array([[answer.assignment[node] for node in graph] for answer in ranked])[near]
chosen = [0]
while len(chosen) < 4:
    distance = np.array([(sides != sides[k]).sum(axis=1) for k in chosen]).min(axis=0)
    chosen.append(int(distance.argmax()))
differing = (sides[chosen] != sides[0]).sum(axis=1)
settled = (sides == sides[0]).mean(axis=0)
print(f"{(settled == 1).sum()} of {len(graph)} vertices are on the same side in all near cuts")

# %%
# Each panel shows one of the four cuts, with its rank and its weight. A red rim marks a vertex that
# is not on the same side as in the best cut. Vertices without a rim in all panels are settled.

place = nx.spring_layout(graph, iterations=300, seed=3)
figure, axes = plt.subplots(1, 4, figsize=(11, 3.2))
for panel, k, moved in zip(axes, chosen, differing, strict=True):
    nx.draw_networkx(
        graph,
        pos=place,
        ax=panel,
        with_labels=False,
        node_size=45,
        node_color=["tab:blue" if side else "tab:orange" for side in sides[k]],
        edgecolors=[
            "tab:red" if side != best else "none"
            for side, best in zip(sides[k], sides[0], strict=True)
        ],
        linewidths=1.6,
        edge_color=["0.85" if sides[k][a] != sides[k][b] else "0.3" for a, b in graph.edges],
    )
    panel.set_title(f"rank {k + 1}: weight {values[k]:g}, {moved} moved", fontsize=9)
    panel.axis("off")

# %%
# The curve shows the weight of each of the 300 cuts. If one cut were clearly the best, the curve
# would fall at once. Here it falls slowly: many cuts are almost as good.

figure, axes = plt.subplots(figsize=(6, 2.6))
axes.step(np.arange(1, len(values) + 1), values, where="mid")
axes.set_xlabel("rank")
axes.set_ylabel("weight of the cut")
