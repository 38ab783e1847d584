r"""
A VAE over subsets
==================

In this VAE, a code is a choice of 3 parts out of 12: exactly three of its twelve bits are 1. The
encoder scores the parts. Prior, posterior and KL refer only to the 220 possible subsets. The
example compares three gradient estimators that can train such a VAE.
"""

# %%
# Three estimators
# ----------------
#
# *RAM* decodes both values of each bit, and the score function decodes four samples. Both need sums
# over all subsets, which ``KOfN`` computes exactly. Direct optimization needs only the best subset,
# which has the three highest scores. See :doc:`/estimators` for all three.

import matplotlib.pyplot as plt
import torch

from models import paper_vae
from structured_vae import RAM, Direct, KOfN, ScoreFunction, elbo_recipe, evaluate, load_dataset

dataset = load_dataset("fashion-mnist-mini")
images = torch.from_numpy(dataset.train.images)
test = torch.from_numpy(dataset.test.images[:200])


def trained(estimator, epochs=2):
    torch.manual_seed(0)
    vae = paper_vae("independent", n=12, space=KOfN(3))
    noise = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(vae.parameters(), lr=3e-3)
    for step in range(epochs * 50):
        x = images[torch.randint(len(images), (100,), generator=noise)]
        q = estimator.posterior(vae.encoder(x))
        objective = elbo_recipe(vae, x, q, estimator.kl)
        estimate = estimator(q, objective.cost, noise, step)
        adam.zero_grad()
        (estimate.surrogate + objective.kl).mean().backward()
        adam.step()
    return vae.eval()


estimators = {"ram": RAM(), "score function": ScoreFunction(4), "direct": Direct(sides=2)}
models = {name: trained(estimator) for name, estimator in estimators.items()}
for name, vae in models.items():
    generator = torch.Generator().manual_seed(0)
    quantities = evaluate(vae, [(test,)], estimators[name].posterior, generator).quantities
    for key in ("bound", "kl", "minus_log_p"):
        print(f"{name:15} {key:12} {quantities[key].value:6.1f} nats, {quantities[key].kind}")

# %%
# What each part stands for
# -------------------------
#
# Each picture belongs to one part. It is the mean of the images of 40 subsets that contain this
# part.

vae = models["ram"]
states = KOfN(3).states(12, test)
figure, grid = plt.subplots(1, 12, figsize=(9, 1.1))
for part, axes in enumerate(grid):
    with torch.no_grad():
        mean = vae.decoder.mean(states[states[:, part] == 1][:40]).mean(dim=0)
    axes.imshow(mean.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[], xlabel=part)

# %%
# Samples of the prior
# --------------------
#
# The prior is uniform over the 220 subsets. Each picture is the mean image of one subset.

figure, grid = plt.subplots(2, 10, figsize=(8, 1.8))
for axes, image in zip(grid.flat, vae.sample(20, torch.Generator().manual_seed(1)), strict=True):
    axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])
