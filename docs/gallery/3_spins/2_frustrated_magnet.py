r"""
A frustrated magnet in dimod
============================

This example is for code that uses D-Wave's `dimod <https://docs.dwavequantum.com/>`_. We build an
Ising model on a lattice with dimod, and solve it with ``ArgmaxSampler``, a sampler of this library.
Unlike other samplers, it proves that its sample has the lowest energy.
"""

# %%
# The model
# ---------
#
# Neighbours have random couplings of +1 or -1. In dimod, energies are minimised. A positive
# coupling is therefore satisfied if its two spins differ, and a negative one if they are equal.

import dimod
import matplotlib.pyplot as plt
import numpy as np

from solvers.adapters.dimod import ArgmaxSampler

SIDE = 14
random = np.random.default_rng(3)
places = [(row, column) for row in range(SIDE) for column in range(SIDE)]
pairs = [(p, (p[0] + down, p[1] + 1 - down)) for p in places for down in (0, 1)]
couplings = {pair: random.choice([-1.0, 1.0]) for pair in pairs if pair[1] in set(places)}
model = dimod.BinaryQuadraticModel({}, couplings, 0.0, "SPIN")

# %%
# Two samplers
# ------------
#
# All samplers of dimod have the same interface. dimod's ``RandomSampler`` draws random states; it
# shows how far a typical state is from the optimum. The ``info`` of our sample set has the
# certificate.

drawn = dimod.RandomSampler().sample(model, num_reads=1000, seed=0)
sampled = ArgmaxSampler().sample(model)
best = sampled.first
print(f"best of 1,000 random samples: {drawn.first.energy:.0f}")
print(f"lowest energy: {best.energy:.0f}")
print(f"proved: {sampled.info['optimal']}, by {sampled.info['solver']}")

# %%
# Unsatisfied couplings
# ---------------------
#
# Red lines are couplings that the best state does not satisfy. A square of four spins is
# *frustrated* if it has an odd number of positive couplings. No state satisfies all four couplings
# of such a square, so at least one of its sides is red.

figure, axes = plt.subplots(figsize=(5, 5))
spins = best.sample
for (p, q), coupling in couplings.items():
    broken = coupling * spins[p] * spins[q] > 0
    style = {"color": "0.8", "linewidth": 1}
    if broken:
        style = {"color": "tab:red", "linewidth": 3}
    axes.plot((p[1], q[1]), (p[0], q[0]), zorder=1, **style)
colors = ["tab:blue" if spins[p] > 0 else "white" for p in places]
axes.scatter(
    [p[1] for p in places], [p[0] for p in places], c=colors, edgecolors="tab:blue", s=60, zorder=2
)
axes.set_axis_off()
axes.set_title(f"{len(couplings)} couplings, lowest energy {best.energy:.0f}")
plt.show()
