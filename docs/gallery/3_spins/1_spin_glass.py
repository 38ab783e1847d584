r"""
The ground state of a spin glass
================================

A *spin glass* is an Ising model whose couplings have random signs, so no state satisfies all of
them. This example finds the state of lowest energy on a grid, its *ground state*, and proves it. It
then draws exact samples at several temperatures. Both calls eliminate one variable after the other;
see :doc:`/choose_a_solver`.
"""

# %%
# An Ising model
# --------------
#
# In physics, energies are minimised and spins are -1 or 1. In this library, scores are maximised
# and variables are 0 or 1. ``from_ising`` converts the model, and converts the answers back.

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

answer = solve(model)
print(f"{len(grid)} spins by {answer.solution.solver}, proved: {answer.optimal}")
print(f"energy per spin: {answer.value / len(grid):.4f}")

# %%
# Unsatisfied couplings
# ---------------------
#
# A coupling is *unsatisfied* if its two spins increase the energy. The ground state has some
# unsatisfied couplings, and most of them are weak. In the picture, each line is a coupling. A wide
# line is a strong coupling, and a red line is an unsatisfied one.

spins = answer.assignment
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
print(f"mean strength of these: {np.mean(strengths[True]):.2f}")
print(f"mean strength of the others: {np.mean(strengths[False]):.2f}")

# %%
# From hot to cold
# ----------------
#
# ``gibbs`` draws exact samples of :math:`p(z) \propto e^{\beta\,\mathrm{score}(z)}`, where
# :math:`\beta` is the inverse temperature. A spin is blue if it agrees with the ground state, and
# orange if it does not. There is no external field, so a state has the same energy after all its
# spins are flipped. Both colours are therefore equally good.
#
# At high temperature (left) the colours are mixed. At low temperature (right) large regions have
# one colour. The walls between them cross weak couplings, and cost little energy. The last sample
# has only one colour: it is the ground state, or the ground state with all spins flipped.

betas = (0.1, 0.5, 1.0, 2.0, 8.0)
problem = model.problem
unary, pairwise = problem.unary[0], problem.pairwise[0]
uniforms = random.random(uniforms_shape(problem, samples=1))
ground_state = answer.solution.z
colours = ListedColormap(["tab:orange", "tab:blue"])
figure, row = plt.subplots(1, len(betas), figsize=(8.5, 2.1))
for axes, beta in zip(row, betas, strict=True):
    state = gibbs(beta * unary, beta * pairwise, edges=problem.edges, uniforms=uniforms).samples[0]
    axes.imshow((state == ground_state).reshape(side, side), cmap=colours, vmin=0, vmax=1)
    energy = float(model.value(problem.score(state))) / problem.n
    axes.set(title=rf"$\beta$ = {beta:g}, energy {energy:.2f}", xticks=[], yticks=[])
    axes.title.set_fontsize(9)
