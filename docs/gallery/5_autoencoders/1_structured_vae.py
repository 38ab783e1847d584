r"""
A structured VAE in a few seconds
=================================

A variational auto-encoder whose latent space is 15 bits, with a score for each of their 105 pairs.
"""

# %%
# Data and networks
# -----------------
#
# 5,000 images of Fashion-MNIST come with the package.

import matplotlib.pyplot as plt
import torch

from models import paper_vae
from structured_vae import Gibbs, ScoreFunction, elbo_recipe, evaluate, load_dataset

dataset = load_dataset("fashion-mnist-mini")
images = torch.from_numpy(dataset.train.images)
torch.manual_seed(0)
vae = paper_vae("general", pixels=dataset.pixels, n=15)

# %%
# Training
# --------
#
# The encoder's scores stand for a Gibbs distribution over all 32,768 states. Four exact samples an
# image give an unbiased gradient. ``elbo_recipe`` joins the KL, so that the whole bound is trained.
# To train through the argmax instead, put ``Direct("exhaustive")`` in the place of
# ``ScoreFunction(4)``: all estimators have one signature. For a run that leaves checkpoints and can
# be resumed there is ``structured_vae.train``.

estimator = ScoreFunction(4)
adam = torch.optim.Adam(vae.parameters(), lr=3e-3)
noise = torch.Generator().manual_seed(0)
costs = []
for _ in range(8):
    for x in images[torch.randperm(len(images), generator=noise)].split(100):
        q = estimator.posterior(vae.encoder(x))
        objective = elbo_recipe(vae, x, q, estimator.kl)
        estimate = estimator(q, objective.cost, noise, len(costs))
        adam.zero_grad()
        (estimate.surrogate + objective.kl).mean().backward()
        adam.step()
        costs.append(estimate.cost.mean().item())

figure, axes = plt.subplots(figsize=(6, 3))
axes.plot(costs, linewidth=1)
axes.set(xlabel="step", ylabel="cost of the samples (nats)")

# %%
# Reconstructions
# ---------------
#
# Test images, and what their 15 bits decode to.

# sphinx_gallery_thumbnail_number = 3

vae.eval()
test = torch.from_numpy(dataset.test.images)


def show(rows, names=()):
    _, grid = plt.subplots(
        len(rows), len(rows[0]), figsize=(8, 8.5 * len(rows) / len(rows[0])), squeeze=False
    )
    for axes, row in zip(grid, rows, strict=True):
        for place, image in zip(axes, row, strict=True):
            place.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
            place.set(xticks=[], yticks=[])
    for axes, name in zip(grid, names, strict=False):
        axes[0].set_ylabel(name)


with torch.no_grad():
    shown = test[::97][:10]
    z = Gibbs(vae.encoder(shown)).sample(noise)[0]
    show([shown, vae.decoder(z).sigmoid()], ["image", "decoded"])

# %%
# Samples
# -------
#
# The prior is uniform: any 15 bits are an image.

with torch.no_grad():
    show(vae.sample(40, noise).reshape(5, 8, -1))

# %%
# One bit at a time
# -----------------
#
# The first image is what the encoder chose, the others differ from it in one bit each.

with torch.no_grad():
    flipped = z[9].repeat(10, 1)
    rows = torch.arange(1, 10)
    flipped[rows, rows - 1] = 1 - flipped[rows, rows - 1]
    show([vae.decoder(flipped).sigmoid()])

# %%
# What it is worth
# ----------------
#
# With 15 bits every sum over states is exact: the bound of the Gibbs posterior, and
# :math:`-\log p(x)` itself. Longer training on all images gives far lower numbers: see the
# reproduction pages.

evaluation = evaluate(vae, [(test[:500],)], Gibbs, torch.Generator().manual_seed(0))
for name in ("bound", "minus_log_p", "gap"):
    quantity = evaluation.quantities[name]
    print(f"{name:12} {quantity.value:6.1f} nats, {quantity.kind}")
