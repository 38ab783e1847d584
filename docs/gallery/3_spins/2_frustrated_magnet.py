r"""
A frustrated magnet, for code that speaks dimod
===============================================

Spins on a lattice want to agree with some neighbours and to differ from others, and cannot satisfy
all. The model is one of `dimod <https://docs.dwavequantum.com/>`_; its sample comes with a proof
that none has a lower energy.
"""

# %%
# The model
# ---------
#
# Couplings of +1 and -1 between neighbours, in dimod's convention: a positive one is satisfied by
# different spins.

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
# Any sampler of dimod takes the model. dimod's own draws samples at random; ours proves that it has
# the best.

drawn = dimod.RandomSampler().sample(model, num_reads=1000, seed=0).first
found = ArgmaxSampler().sample(model)
print(f"best of 1,000 random samples: {drawn.energy:.0f}")
print(
    f"lowest energy: {found.first.energy:.0f}, proved: {found.info['optimal']}, by {found.info['solver']}"
)

# %%
# What stays unsatisfied
# ----------------------
#
# Red couplings are broken by the best state. Around every frustrated square an odd number of them
# is.

figure, axes = plt.subplots(figsize=(5, 5))
spins = found.first.sample
for (p, q), coupling in couplings.items():
    broken = coupling * spins[p] * spins[q] > 0
    axes.plot(
        (p[1], q[1]),
        (p[0], q[0]),
        color="tab:red" if broken else "0.8",
        linewidth=3 if broken else 1,
        zorder=1,
    )
colors = ["tab:blue" if spins[p] > 0 else "white" for p in places]
axes.scatter(
    [p[1] for p in places], [p[0] for p in places], c=colors, edgecolors="tab:blue", s=60, zorder=2
)
axes.set_axis_off()
axes.set_title(f"energy {found.first.energy:.0f} of {len(couplings)} couplings, proved")
plt.show()
