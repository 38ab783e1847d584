r"""
A VAE over permutations
=======================

In this VAE, a code is a permutation of four elements, written as a 4 x 4 matrix of zeros and ones.
The sum over all permutations is a permanent, which takes exponential time for large matrices. The
best permutation is a linear assignment, which is fast. So we train with two estimators that need
only an argmax: direct optimization and implicit MLE.
"""

# %%
# Training through an argmax
# --------------------------
#
# ``Assignments(4)`` is the set of permutation matrices. The encoder has a score for each of the 16
# entries. Each model trains for 150 steps.

import matplotlib.pyplot as plt
import torch

from models import paper_vae
from structured_vae import (
    Assignments,
    Direct,
    ImplicitMLE,
    elbo_recipe,
    evaluate,
    load_dataset,
)

dataset = load_dataset("fashion-mnist-mini")
images = torch.from_numpy(dataset.train.images)
test = torch.from_numpy(dataset.test.images[:100])
space = Assignments(4)


def trained(estimator, steps=150):
    torch.manual_seed(0)
    vae = paper_vae("independent", n=16, space=space)
    noise = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(vae.parameters(), lr=3e-3)
    for step in range(steps):
        x = images[torch.randint(len(images), (50,), generator=noise)]
        q = estimator.posterior(vae.encoder(x))
        objective = elbo_recipe(vae, x, q, estimator.kl)
        estimate = estimator(q, objective.cost, noise, step)
        adam.zero_grad()
        (estimate.surrogate + objective.kl).mean().backward()
        adam.step()
    return vae.eval()


estimators = {"direct": Direct(sides=2), "implicit MLE": ImplicitMLE()}
models = {name: trained(estimator) for name, estimator in estimators.items()}

# %%
# What is exact, and what is a bound
# ----------------------------------
#
# Both estimators sample a code as the argmax of noisy scores. The probability of such a code is not
# known, so the KL is estimated from the frequencies of 200 samples. In expectation this estimate is
# not below the KL, so the printed bound is valid. There are only 24 permutations of four elements,
# so :math:`-\log p(x)` is an exact sum. Lower is better. After 150 steps, direct optimization is
# ahead.

for name, vae in models.items():
    generator = torch.Generator().manual_seed(0)
    quantities = evaluate(vae, [(test,)], estimators[name].posterior, generator, 200).quantities
    for key in ("reconstruction", "kl", "bound", "minus_log_p"):
        print(f"{name:13} {key:15} {quantities[key].value:6.1f} nats, {quantities[key].kind}")

# %%
# All 24 images
# -------------
#
# Each picture is the mean image of one of the 24 permutations, under the model that direct
# optimization trained.

states = space.states(16, test)
with torch.no_grad():
    means = models["direct"].decoder.mean(states)
figure, grid = plt.subplots(2, 12, figsize=(9, 1.7))
for axes, image in zip(grid.flat, means, strict=True):
    axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])
