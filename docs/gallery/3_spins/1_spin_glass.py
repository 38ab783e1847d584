r"""
The ground state of a spin glass
================================

Spins on a grid, with couplings of random sign: no state pleases all of them. The state of lowest
energy is found and proved by eliminating variables, and the same elimination draws exact samples at
any temperature.
"""

# %%
# An Ising model
# --------------
#
# Energies are minimised and spins are -1 and 1. Here scores are maximised and variables are 0 and
# 1. A conversion takes the one to the other and back.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.colors import ListedColormap

from solvers import gibbs, solve, uniforms_shape
from solvers.conversions import from_ising

side = 16
random = np.random.default_rng(0)
grid = nx.grid_2d_graph(side, side)
couplings = {pair: random.standard_normal() for pair in grid.edges}
model = from_ising(dict.fromkeys(grid, 0.0), couplings)  # minimise sum J s s

problem = model.problem
unary, pairwise, edges = problem.unary[0], problem.pairwise[0], problem.edges
solution = solve(unary, pairwise, edges=edges)
energy = model.value(solution.score)
print(f"{problem.n} spins by {solution.solver}: energy {float(energy) / problem.n:.4f} a spin")
print("proved:", bool(solution.optimal))

# %%
# Where it is frustrated
# ----------------------
#
# A coupling is unsatisfied when its two spins cost energy instead of saving it. In the ground state
# some have to be, and they are weak ones. Each line is a coupling, as wide as it is strong; the red
# ones are unsatisfied.

spins = model.assignment(solution.z)
unsatisfied = {pair: couplings[pair] * spins[pair[0]] * spins[pair[1]] > 0 for pair in grid.edges}
figure, axes = plt.subplots(figsize=(6, 6))
nx.draw_networkx(
    grid,
    pos={spin: spin for spin in grid},
    ax=axes,
    with_labels=False,
    node_size=60,
    node_color=["black" if spins[spin] > 0 else "white" for spin in grid],
    edgecolors="black",
    edge_color=["tab:red" if unsatisfied[pair] else "tab:gray" for pair in grid.edges],
    width=[2.5 * abs(couplings[pair]) for pair in grid.edges],
)
axes.set_aspect("equal")
axes.axis("off")
strengths = {
    kind: [abs(couplings[pair]) for pair in couplings if unsatisfied[pair] == kind]
    for kind in (True, False)
}
print(f"{len(strengths[True])} of {len(couplings)} couplings are unsatisfied")
print(
    f"mean strength {np.mean(strengths[True]):.2f}, of the others {np.mean(strengths[False]):.2f}"
)

# %%
# From hot to cold
# ----------------
#
# ``gibbs`` samples :math:`p(z) \propto e^{\beta\,\mathrm{score}(z)}` exactly. A spin is blue where
# it agrees with the ground state, and orange where it does not. Without a field the mirror image
# has the same energy, so both colours are as good: what is cold has large parts of one colour, and
# walls between them that cost little.

betas = (0.1, 0.5, 1.0, 2.0, 8.0)
uniforms = random.random(uniforms_shape(problem, samples=1))
colours = ListedColormap(["tab:orange", "tab:blue"])
figure, row = plt.subplots(1, len(betas), figsize=(8.5, 2.1))
for axes, beta in zip(row, betas, strict=True):
    state = gibbs(beta * unary, beta * pairwise, edges=edges, uniforms=uniforms).samples[0]
    axes.imshow((state == solution.z).reshape(side, side), cmap=colours, vmin=0, vmax=1)
    energy = model.value(problem.score(state))
    axes.set(
        title=rf"$\beta$ = {beta:g}, energy {float(energy) / problem.n:.2f}", xticks=[], yticks=[]
    )
    axes.title.set_fontsize(9)
