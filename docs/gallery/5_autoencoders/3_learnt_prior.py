r"""
A prior that is learnt
======================

With a uniform prior any 15 bits are an image, also those that no image uses. A prior of scores for
bits and pairs learns with the networks which are used; log Z, samples and the KL stay exact.
"""

# %%
# Two models
# ----------
#
# The same networks and data, once with the uniform prior and once with a Gibbs prior over all pairs
# of bits.

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
    found = evaluate(vae, [(test,)], Gibbs, torch.Generator().manual_seed(0)).quantities
    for key in ("bound", "kl", "minus_log_p"):
        print(f"{name:8} {key:12} {found[key].value:6.1f} nats")

# %%
# Samples of both
# ---------------
#
# Two rows of each: mean images of states that the prior draws.

figure, grid = plt.subplots(4, 10, figsize=(8, 3.6))
for half, (name, vae) in zip((grid[:2], grid[2:]), models.items(), strict=True):
    drawn = vae.sample(20, torch.Generator().manual_seed(1))
    half[0, 0].set_ylabel(name)
    for axes, image in zip(half.flat, drawn, strict=True):
        axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])

# %%
# What it has learnt
# ------------------
#
# The scores of pairs under the prior: red pairs are used together, blue ones are not.

prior = models["gibbs"].prior
matrix = torch.zeros(12, 12)
matrix[prior.edges[:, 0], prior.edges[:, 1]] = prior.pairwise.detach()
largest = matrix.abs().max()
figure, axes = plt.subplots(figsize=(4, 3.2))
drawing = axes.imshow(matrix + matrix.T, cmap="RdBu_r", vmin=-largest, vmax=largest)
axes.set(xlabel="bit", ylabel="bit")
figure.colorbar(drawing)
