r"""
Learn the prior
===============

A VAE with a uniform prior also draws codes that no training image uses. This example compares it
with a VAE whose prior is learnt. The learnt prior has a score for each of 12 bits and for each pair
of them. The prior learns which codes are frequent, together with the networks. With 12 bits, log Z,
samples and the KL are exact.
"""

# %%
# Two models
# ----------
#
# Both models have the same networks, data and number of steps. Only the prior differs. For each
# model we print the bound, its KL, and :math:`-\log p(x)`, all in nats per test image. Lower is
# better.

import matplotlib.pyplot as plt
import torch

from models import paper_vae
from structured_vae import Gibbs, ScoreFunction, elbo_recipe, evaluate, load_dataset

dataset = load_dataset("fashion-mnist-mini")
images = torch.from_numpy(dataset.train.images)
test = torch.from_numpy(dataset.test.images[:200])


def trained(prior, epochs=4):
    torch.manual_seed(0)
    vae = paper_vae("general", n=12, prior=prior)
    estimator, noise = ScoreFunction(4), torch.Generator().manual_seed(0)
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


models = {name: trained(name) for name in ("uniform", "gibbs")}
for name, vae in models.items():
    quantities = evaluate(vae, [(test,)], Gibbs, torch.Generator().manual_seed(0)).quantities
    for key in ("bound", "kl", "minus_log_p"):
        print(f"{name:8} {key:12} {quantities[key].value:6.1f} nats")

# %%
# The learnt prior lowers the KL and the bound by more than a nat. In this short training,
# :math:`-\log p(x)` is about the same for both. Longer trainings with more bits gain more; see
# :doc:`/learnt_priors`.

# %%
# Samples
# -------
#
# The upper two rows are samples of the model with the uniform prior. The lower two rows are samples
# of the model with the learnt prior. Each picture is the mean image of a code from the prior.

figure, grid = plt.subplots(4, 10, figsize=(8, 3.6))
for half, (name, vae) in zip((grid[:2], grid[2:]), models.items(), strict=True):
    drawn = vae.sample(20, torch.Generator().manual_seed(1))
    half[0, 0].set_ylabel(name)
    for axes, image in zip(half.flat, drawn, strict=True):
        axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])

# %%
# The scores of the learnt prior
# ------------------------------
#
# Each square is the score of a pair of bits. If it is red, the prior favours codes in which both
# bits are 1. If it is blue, the prior avoids them.

prior = models["gibbs"].prior
matrix = torch.zeros(12, 12)
matrix[prior.edges[:, 0], prior.edges[:, 1]] = prior.pairwise.detach()
largest = matrix.abs().max()
figure, axes = plt.subplots(figsize=(4, 3.2))
drawing = axes.imshow(matrix + matrix.T, cmap="RdBu_r", vmin=-largest, vmax=largest)
axes.set(xlabel="bit", ylabel="bit", xticks=range(0, 12, 2), yticks=range(0, 12, 2))
figure.colorbar(drawing)
