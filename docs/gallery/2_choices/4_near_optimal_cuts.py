"""
The best cuts, and how they differ
==================================

A largest cut is one answer among many that are nearly as good. ``k_best`` gives as many of them as
are asked for, in order, with the proof that none was left out. Among those, some that differ as
much as possible show what is settled and what is open.
"""

# %%
# The 300 best cuts
# -----------------
#
# Forty vertices, whose edges have weights from 1 to 9. A cut and its mirror image are the same, so
# one vertex keeps its side.

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
print(
    f"best {values[0]:g}, number {len(ranked)} has {values[-1]:g}, all proved: {all(a.optimal for a in ranked)}"
)
print(
    f"{(values == values[0]).sum()} have the largest value, {(values >= 0.99 * values[0]).sum()} are within 1 % of it"
)

# %%
# Four that differ
# ----------------
#
# Greedily: the best one, then each time the cut that is farthest from those before it, among all
# within 1 %. The distance is the number of vertices on another side.

sides = np.array([[answer.assignment[node] for node in graph] for answer in ranked])[
    values >= 0.99 * values[0]
]
chosen = [0]
while len(chosen) < 4:
    distance = np.array([(sides != sides[k]).sum(axis=1) for k in chosen]).min(axis=0)
    chosen.append(int(distance.argmax()))
differing = (sides[chosen] != sides[0]).sum(axis=1)
settled = (sides == sides[0]).mean(axis=0)
print(f"{(settled == 1).sum()} of {len(graph)} vertices are on the same side in all of them")

# %%
# Vertices on another side than in the best cut have a red rim.

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
    panel.set_title(f"number {k + 1}: {values[k]:g}, {moved} moved")
    panel.axis("off")

# %%
# How soon the values fall says how firm the answer is.

figure, axes = plt.subplots(figsize=(6, 2.6))
axes.step(np.arange(1, len(values) + 1), values, where="mid")
axes.set_xlabel("rank")
axes.set_ylabel("weight of the cut")
